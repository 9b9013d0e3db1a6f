"""Label trees: very many classes, each a leaf of a tree that is learned with the classifier.

Each node has a softmax over its children, computed from the representation of an example. The
probability of a label is the product of those along its code. During training, labels move to the
children that their examples prefer, which makes the decisions of nodes balanced and pure.

==============  ================================================  ==================================
equation        what                                              where
==============  ================================================  ==================================
Eq. (1), (2)    log p(label) along its code                       :func:`.rows.path_log_prob`; all
                                                                  leaves:
                                                                  :func:`.routing.leaf_log_prob`
Eq. (6)         the objective J of a node, and its maximum        :func:`.node_report`
Def. 1, 2       balancedness, purity                              :func:`.node_report`
Eq. (10), (12)  value of moving a label to a child                ``_kernels.scores_of``
Algorithm 1     training, with statistics per (label, depth)      :class:`.Training`
Algorithm 2, 3  reassignment from the root down, depth limit      :func:`.reassign`
Sec. 5.2        the log-bilinear language model                   :class:`.LogBilinearLM`
==============  ================================================  ==================================

====================================  ==============================================================
``codes``, ``shapes``                 a tree as arrays; Huffman, complete, random, clustered trees
``reassignment``                      moves labels; measures the decision of each node
``softmax``, ``rows``                 :class:`TreeSoftmaxLoss`, for any torch model; its gradients
``recorded``, ``saved``               its statistics, alike in all processes that train it; a state
                                      of it, whose tree may have other sizes
``sparse_adagrad``                    Adagrad that only changes the rows of a batch
``arrays``                            a tree for the compiled loops: search, and scores of labels
``features``, ``tokens``, ``ngrams``  examples as rows or bags; lists of ids; pairs, pieces of words
``tree``, ``routed``                  :class:`LabelTree`, and its interface as a model tree
``settings``, ``beginning``,          all settings and defaults; the tree before the first step;
``training``                          training in threads
``touched``                           what a pass over examples changes, to undo it
``examples``, ``naive_bayes``         training data; the weights, or half of them, of a tree that is
                                      not learned, on sparse rows
``choice``, ``trials``                choose settings that are not given, on held-out examples
``cooling``                           how sure a tree of sparse rows is of its labels
``class_parts``, ``parted``           number of parts of a class; predictions of classes by parts
``estimator``, ``streaming``,         the scikit-learn class; its ``partial_fit``; the settings, and
``stream``                            the rate and the scale that follow from the samples so far
``_kernels``, ``_sgd_kernels``,       the compiled loops, and the vector instructions of training
``_node_kernels``,
``_assignment_kernels``,
``_grouping_kernels``, ``_vectors``
``language_model``,                   the next word as a leaf; its settings; the model with
``language_settings``,                scikit-learn's methods
``language_estimator``
``word_tree``                        its tree as a model tree, to be explained, told and drawn
====================================  ==============================================================

Differences from the paper:

- Steps follow the gradient of the log-likelihood. The gradient of p itself, which Algorithm 1
  prints, vanishes where p is small, so that training with it is poor.
- Eq. (10) ignores the effect of a label on the others through the mean; ``gain="exact"`` includes
  it. The default, ``"margin"``, is ``q_i (p_{j|i} - p_j)``: trees are shallower than with Eq. (12).
- CheckFull as printed gets stuck with 4 or more children; here a child is full only if its size is
  1 mod (M - 1). So a tree has ``ceil((K - 1) / (M - 1))`` nodes, however labels move.
- A label without statistics keeps its slot (``prior="anchored"``); the authors' program pulls it
  to the slot ``label mod M``, which destroys a tree that started as Huffman's.
- If vectors of features are learned, the tree is by default rebuilt only once (``start="groups"``,
  see :func:`.grouped`). Reassignments balance numbers of labels, which puts frequent words deep;
  grouping joins nodes of similar frequency, and the tree is nearly as shallow as Huffman's. On the
  next word of Brown, its perplexity is below Huffman's by 3 % with 5 children (test part, three
  seeds) and by 1 % with 20, the default (validation part, one seed); its accuracy is the same.
- A single node of all labels, the default if it is better on held-out samples, is a softmax
  regression: on dense rows it starts as a :func:`.discriminant` analysis, or of few rows half as
  a logistic regression (:func:`.solved`), and learns in minibatches.
- On sparse rows a single node, or each of a tree that is not learned, is naive Bayes, or the mean
  of that and of a trained one, if that is better on held-out samples, as where classes have few
  rows: :func:`.start_as_naive_bayes`, :func:`.averaged`.
- The scores of nodes on sparse rows are divided by a temperature, of 1 or more, that suits held-out
  samples: trained without a penalty, they end too sure.
- A label that moves takes the weights of its leaf along, and each label begins as likely as it is
  frequent.
- By default, statistics are halved at each reassignment, as they come from older weights.
- Lemma 1 (greedy is optimal) and Lemma 5 as printed are false; the tests have counterexamples.

Reference:
    Jernite, Choromanska, Sontag: Simultaneous Learning of Trees and Representations for Extreme
    Classification and Density Estimation, ICML 2017.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
