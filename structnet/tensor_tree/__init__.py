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
beyond it    canonical polyadic, tensor train            :class:`CP`, :class:`TensorTrain`
Tai et al.   labels as vectors, shared weights           :class:`ChildSumTreeLSTM`
Miwa et al.  what stands above nodes                     :class:`TopDownTreeLSTM`
===========  ==========================================  =======================================

======================  ==========================================================================
``aggregators``         one form of Eq. (4) a file; the homogeneous form, the first weights' scale
``tree_lstm``           the encoder: any aggregator in an LSTM
``recursive_network``   any aggregator and a tanh, without gates
``inputs``              the vectors that leaves carry, and other nodes
``gates``               its element-wise part, plain and with the backward written out
``heads``               the classifiers on top, as the paper has them
``child_sum_cell``      one set of weights for all nodes, in an LSTM
``child_sum_tree_lstm`` the same over vectors of labels, for trees of any kind
``top_down_tree_lstm``  the same from the roots down, over the states of nodes
``readout``             what is read of a tree's nodes, from the root to attention over all
``number_embedding``,   numbers at leaves: vectors that follow from their values, and sums of them
``number_sums``         for the linear model
``predictor``           classes, labels or numbers of trees, classes of nodes
``counted``             what is counted in trees
``label_bag``           counts of labels and pairs, and a linear model of them
``logistic``            its weights where it says classes, in few steps
``bag_occlusion``       what that says of a tree with each of its subtrees hidden
``row_space``           wide rows by as many coordinates as there are rows
``label_table``         how often nodes with a label have each class, beside what is said of nodes
``rare_labels``         which labels of few trees are worth a vector of their own
``cell_choice``         which cells are worth a training, and which of them is the best
``word_choice``         whether the words of texts at leaves say anything of the answers
``settings``            the hyper-parameters of a model of users' trees
``building``            a model for the labels of trees and for what is to be said of them
``training``            from trees to a trained model
``explanation``         how much each part of a tree matters to what is said of it
``estimator``           the same for users of scikit-learn; ``samples`` checks what they give
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
