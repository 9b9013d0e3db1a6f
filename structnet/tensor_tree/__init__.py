"""Tensor Tree-LSTMs: a node's gates are multilinear in the states of its children.

===========  ==========================================  =======================================
equation     what                                        where
===========  ==========================================  =======================================
Eq. (4)      full-tensor aggregation                     :class:`FullTensor`
Eq. (5)      weighted sum of the children                :class:`WeightedSum`, :class:`ChildSum`
Eq. (10)     Tucker form of the tensor                   :class:`Tucker`
Eq. (2)      the plain recursive network                 :class:`RecursiveNetwork`
Eq. (11)     gates, cell state, hidden state             :class:`TreeLSTM`, ``gates.lstm_state``
Sec. IV      number of parameters                        :meth:`Aggregator.count`
Sec. V       classifiers                                 :class:`TreeClassifier`, \
:class:`TreePairClassifier`
our own      canonical polyadic, tensor train            :class:`CP`, :class:`TensorTrain`
Tai et al.   labels as vectors, shared weights           :class:`ChildSumTreeLSTM`
Miwa et al.  states from the root down                   :class:`TopDownTreeLSTM`
===========  ==========================================  =======================================

======================  ==========================================================================
``aggregators``         the forms of Eq. (4), one per file; the scale of their first weights
``tree_lstm``           the encoder: an LSTM with any aggregator
``recursive_network``   any aggregator and a tanh, without gates
``inputs``              the input vectors of leaves and other nodes
``gates``               the element-wise part of the LSTM, plain and with its backward written out
``heads``               the paper's classifiers on top of an encoder
``child_sum_cell``      an LSTM with one set of weights for all nodes
``child_sum_tree_lstm`` this LSTM over label vectors, for trees of any kind
``top_down_tree_lstm``  this LSTM from the roots down, over the states of nodes
``readout``             pools the states of a tree's nodes, from the root's to attention over all
``number_embedding``,   numbers among labels: vectors computed from their values, their sums
``number_sums``         for the linear model
``predictor``           classes, labels or numbers of trees, classes of nodes
``counted``             the counts of things that occur in trees
``label_bag``           counts of labels and pairs, and a linear model on them
``piece_counts``        counts of pieces of words, for words that no training tree has
``bag_occlusion``       outputs of this linear model for a tree with each of its subtrees hidden
``ridge``               ridge regression whose penalty is chosen by cross-validation
``row_space``           wide rows as coordinates, at most as many as there are rows
``label_table``         how often nodes with a label have each class, mixed into a node predictor
``rare_labels``         which labels of few trees are worth a vector of their own
``cell_choice``         which cells are worth training, and which of them is best
``word_choice``         whether the words of texts at leaves, and their letters, help to predict
``settings``            the hyper-parameters of a model for users' trees
``building``            builds a model for given labels and a given question
``reading``             what a model reads of trees: words, affixes, the labels it knows
``training``            from trees to a trained model
``explanation``,        how much each part of a tree matters to a prediction for it, and for one
``node_explanation``    of its nodes
``estimator``           the base of the scikit-learn estimators; ``samples`` checks their data
``classifier``,         classes or labels of trees, numbers of trees, classes of nodes
``regressor``,
``node_classifier``
``compiled``            the same sweep as compiled loops, on a CPU
``gpu``                 the sweep of the default model on a GPU
``parameters``          parameters of known shapes, made only if they fit in memory
======================  ==========================================================================

Reference:
    Castellana and Bacciu, "Generalising Recursive Neural Models by Tensor Decomposition", IJCNN
    2020; Tai, Socher and Manning, "Improved Semantic Representations From Tree-Structured Long
    Short-Term Memory Networks", ACL 2015; Miwa and Bansal, "End-to-End Relation Extraction using
    LSTMs on Sequences and Tree Structures", ACL 2016.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
