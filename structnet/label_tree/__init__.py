"""Label trees: very many classes, each a leaf of a tree that is learned with the classifier.

A node has a softmax over its children, computed from the representation of an example; a label's
probability is the product along its code. During training, labels move to the children that their
examples prefer, so that the nodes' decisions become balanced and pure.

==============  ================================================  ==================================
equation        what                                              where
==============  ================================================  ==================================
Eq. (1), (2)    log p(label) along its code                       :func:`.rows.path_log_prob`; all
                                                                  leaves:
                                                                  :func:`.routing.leaf_log_prob`
Eq. (6)         the objective J of a node, and its maximum        ``decision_quality``
Def. 1, 2       balancedness, purity                              ``decision_quality``
Eq. (10), (12)  what a label gains a node by going to a child     :func:`.decision_quality.gains`
Algorithm 1     training with statistics a (label, depth)         :class:`.Training`
Algorithm 2, 3  reassignment from the root down, depth limit      :func:`.reassign`
Sec. 5.2        the log-bilinear language model                   :class:`.LogBilinearLM`
==============  ================================================  ==================================

====================================  ==============================================================
``codes``, ``shapes``                 a tree as arrays; Huffman, complete, random, clustered trees
``decision_quality``                  how balanced and pure a node's decision is
``reassignment``                      labels move; what each node decides, in numbers
``softmax``, ``rows``                 :class:`TreeSoftmaxLoss`, for any torch model; its gradients
``sparse_adagrad``                    Adagrad that only changes the rows of a batch
``arrays``                            the same for the compiled loops: a search, and scores
``features``, ``ngrams``              forms of examples: rows, bags; pairs and pieces of words
``tree``, ``routed``                  :class:`LabelTree`, and its interface as a model tree
``settings``, ``training``            every default, once; example by example, in threads
``examples``,                         training data;
``discriminant_analysis``             the start of a single node of all labels
``choice``, ``trials``                settings that are not given, by held-out examples
``estimator``                         the scikit-learn class
``_kernels``, ``_sgd_kernels``,       the compiled loops, and the instructions of the training's
``_node_kernels``,
``_assignment_kernels``,
``_grouping_kernels``, ``_vectors``
``language_model``,                   the next word as a leaf; its settings; counts of words
``language_settings``,                behind words, mixed with what it says
``ngram_mixture``
====================================  ==============================================================

Differences from the paper:

- Steps follow the gradient of the log-likelihood; that of p itself, as Algorithm 1 prints it,
  vanishes where p is small, and trains badly.
- Eq. (10) ignores the effect of a label on the others by moving the mean; ``gain="exact"`` has it.
  The default, ``"margin"``, is ``q_i (p_{j|i} - p_j)``: shallower trees than Eq. (12).
- CheckFull as printed gets stuck with 4 children or more; here a child is full only if its size is
  1 mod (M - 1). So a tree has ``ceil((K - 1) / (M - 1))`` nodes, whatever moves.
- A label without statistics keeps its slot (``prior="anchored"``); the authors' program pulls it
  to the slot ``label mod M``, which destroys a Huffman start.
- If vectors of features are learned, the default makes the tree once (``start="groups"``, see
  :func:`.grouped`): reassignments balance numbers of labels, which puts frequent words deep; there,
  nodes of similar frequency are joined, and the tree is nearly as shallow as Huffman's. On the next
  word of Brown its perplexity is below Huffman's by 3 % with 5 children (test part, three seeds)
  and by 1 % with 20, the default (validation part, one seed); its accuracy is the same.
- A single node of all labels, which the default takes if it is better on held-out samples, is a
  softmax regression: on dense rows it starts as a :func:`.discriminant` analysis and learns in
  minibatches.
- Half of the statistics are dropped at each reassignment, as they come from older weights.
- Lemma 1 (greedy is optimal) and Lemma 5 as printed are false; the tests have counterexamples.

Reference:
    Jernite, Choromanska, Sontag: Simultaneous Learning of Trees and Representations for Extreme
    Classification and Density Estimation, ICML 2017.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
