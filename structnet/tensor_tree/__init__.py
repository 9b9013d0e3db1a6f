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
our own      Eq. (4) of probabilities: few values        :class:`TreeAutomaton`
===========  ==========================================  =======================================

======================  ==========================================================================
``aggregators``         the forms of Eq. (4), one per file; the scale of their first weights
``tree_lstm``,          the encoder: an LSTM with any aggregator, the input vectors of its nodes,
``inputs``, ``gates``   its element-wise part
``recursive_network``   any aggregator and a tanh, without gates
``heads``               the paper's classifiers on top of an encoder
``child_sum_cell``,     an LSTM with one set of weights for all nodes; over label vectors, for trees
``child_sum_tree_lstm`` of any kind
``top_down_tree_lstm``  this LSTM from the roots down, over the states of nodes
``tree_automaton``,     nodes that have one of a few values; trained on small trees first, from
``small_first``,        several starts
``starts``
``number_embedding``    vectors computed from the values of numbers among labels
``readout``             pools the states of a tree's nodes, from the root's to attention over all
``predictor``           classes, labels or numbers of trees, classes of nodes
``counts``              what trees contain, and models of these counts beside the Tree-LSTM
``settings``            the hyper-parameters of a model for users' trees
``targets``             what is asked about trees, and samples with their answers
``reading``             what a model reads of trees: words, affixes, the labels it knows
``building``            builds a model for given labels and a given question
``training``,           from trees to a trained model; which cells are worth training
``cell_choice``
``explanation``,        how much each part of a tree matters to a prediction for it, and for one
``node_explanation``    of its nodes
``estimator``           the base of the scikit-learn estimators; ``samples`` checks their data
``classifier``,         classes or labels of trees, numbers of trees, classes of nodes
``regressor``,
``node_classifier``
``compiled``, ``gpu``   the same sweeps as compiled loops: on a CPU; of the default model on a GPU
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
