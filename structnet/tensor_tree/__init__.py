"""Tensor Tree-LSTMs (Castellana and Bacciu, IJCNN 2020).

===========  ==========================================  =======================================
equation     what                                        where
===========  ==========================================  =======================================
Eq. (4)      full-tensor aggregation                     :class:`FullTensor`
Eq. (5)      weighted sum of the children                :class:`WeightedSum`, :class:`ChildSum`
Eq. (10)     Tucker form of the tensor                   :class:`Tucker`
Eq. (11-13)  gates, cell state, hidden state             :class:`TreeLSTM`
Sec. IV      number of parameters                        :func:`count_aggregation`
Sec. V       classifiers                                 :class:`TreeClassifier`, \
:class:`TreePairClassifier`
beyond it    canonical polyadic, tensor train            :class:`CP`, :class:`TensorTrain`
===========  ==========================================  =======================================
"""

from structnet.tensor_tree.aggregate import Aggregator
from structnet.tensor_tree.count import count_aggregation
from structnet.tensor_tree.cp import CP
from structnet.tensor_tree.full_tensor import FullTensor
from structnet.tensor_tree.heads import TreeClassifier, TreePairClassifier
from structnet.tensor_tree.tensor_train import TensorTrain
from structnet.tensor_tree.tree_lstm import TreeLSTM
from structnet.tensor_tree.tucker import Tucker
from structnet.tensor_tree.weighted_sum import ChildSum, WeightedSum

__all__ = [
    "Aggregator",
    "CP",
    "ChildSum",
    "FullTensor",
    "TensorTrain",
    "TreeClassifier",
    "TreeLSTM",
    "TreePairClassifier",
    "Tucker",
    "WeightedSum",
    "count_aggregation",
]
