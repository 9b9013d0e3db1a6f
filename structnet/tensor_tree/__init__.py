"""Tensor Tree-LSTMs (Castellana and Bacciu, IJCNN 2020).

===========  ==========================================  =======================================
equation     what                                        where
===========  ==========================================  =======================================
Eq. (4)      full-tensor aggregation                     :class:`FullTensor`
Eq. (5)      weighted sum of the children                :class:`WeightedSum`, :class:`ChildSum`
Eq. (10)     Tucker form of the tensor                   :class:`Tucker`
Eq. (11-13)  gates, cell state, hidden state             :class:`TreeLSTM`
Sec. IV      number of parameters                        :meth:`Aggregator.count`
Sec. V       classifiers                                 :class:`TreeClassifier`, \
:class:`TreePairClassifier`
beyond it    canonical polyadic, tensor train            :class:`CP`, :class:`TensorTrain`
===========  ==========================================  =======================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
