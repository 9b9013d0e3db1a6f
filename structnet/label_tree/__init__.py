"""Label trees: very many classes, each a leaf of a tree that is learned with the classifier.

A node has a softmax over its children on the representation of an example; a label's probability
is the product along its code. While it trains, labels move to the children that their examples
prefer, so that the nodes' decisions become balanced and pure.

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
``sparse_adagrad``                    Adagrad that changes the rows that were met, and no more
``arrays``                            the same for the compiled loops: a search, and scores
``features``, ``ngrams``              what an example is: a row, a bag; pairs and pieces of words
``tree``, ``routed``                  :class:`LabelTree`, and what it answers as any model tree
``settings``, ``training``            every default, once; example by example, in threads
``examples``,                         what is learnt from;
``discriminant_analysis``             where a single node of all begins
``choice``, ``trials``                what is left open, by held-out examples
``estimator``                         the scikit-learn class
``_kernels``, ``_sgd_kernels``,       the compiled loops, and the instructions of the training's
``_node_kernels``,
``_assignment_kernels``,
``_grouping_kernels``, ``_vectors``
``language_model``,                   the next word as a leaf; its settings; counts of words
``language_settings``,                behind words, mixed with what it says
``ngram_mixture``
====================================  ==============================================================

Where this is not the paper:

- Steps follow the gradient of the log-likelihood; that of p itself, as Algorithm 1 prints it,
  vanishes where p is small, and trains badly.
- Eq. (10) leaves out what a label does to the others by moving the mean; ``gain="exact"`` has it.
  The default, ``"margin"``, is ``q_i (p_{j|i} - p_j)``: shallower trees than Eq. (12).
- CheckFull as printed gets stuck for 4 children and more: a child is full only where its size is
  1 mod (M - 1). With that, a tree has ``ceil((K - 1) / (M - 1))`` nodes, whatever moves.
- A label without statistics keeps its slot (``prior="anchored"``); the authors' program draws it
  to the slot ``label mod M``, which throws a Huffman start away.
- Where the features are learned, the default makes the tree once (``start="groups"``, see
  :func:`.grouped`): reassignments balance numbers of labels, which puts frequent words deep; what
  is joined there is about as frequent, and the tree nearly as shallow as Huffman's. On the next
  word of Brown its perplexity is below Huffman's by 3 % with 5 children (test part, three seeds)
  and by 1 % with 20, the default (validation part, one seed); its accuracy is the same.
- A single node of all labels, which the default takes where it is better held out, is a softmax
  regression: of dense rows it begins at a :func:`.discriminant` analysis and learns in minibatches.
- Half of the statistics are forgotten at each reassignment: they are of older weights.
- Lemma 1 (greedy is optimal) and Lemma 5 as printed are false; the tests have counterexamples.

Reference:
    Jernite, Choromanska, Sontag: Simultaneous Learning of Trees and Representations for Extreme
    Classification and Density Estimation, ICML 2017.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
