"""Trees that are models: they route each sample from the root to leaves, which predict.

The probability of a leaf is the product of the branches on its path: Eq. (2) of adaptive neural
trees. It is computed in log space, or by DGL messages from parent to child (``backend="dgl"``):

=================  ===============================================================================
``topology``       :class:`Topology`: the shape of the tree
``path_log_prob``  :func:`leaf_log_prob`, :func:`node_log_prob`: log-probabilities of leaves and
                   nodes
``hard_path``      :func:`follow`: one branch at each level
``dgl_backend``    the reference for these functions
``samples``        :class:`Samples`: inputs, targets and weights together
``on_demand``      inputs made batch by batch, from a torch Dataset or sparse rows
=================  ===============================================================================

Any tree with the methods of :class:`RoutedTree` (``protocol``) can be explained and drawn:

=================  ===============================================================================
``batches``        :func:`ask`: calls a model for many samples, batch by batch
``arrivals``       the same of the samples that a tree was trained on, for files
``visits``         :func:`shares`, :func:`reach`, :func:`leaf_of`: which samples reach which nodes
``explanation``    :func:`explain`: why a sample gets its prediction
``report``         :func:`summary`, :func:`export_text`: size and cost as a table, the tree as text
``asking``         what inner nodes ask and separate, in words
``formula``        :class:`Formula`: what a node computes of a row, as a sum
``rules``          what columns and steps add to the output of a node
``parts``          what each column of one sample adds to the prediction of a leaf
``sides``          the side of a plane in words
``reasons``        why one sample takes a branch, in words
``leaves``         what leaves predict on their own
``reading``        :func:`read`: a tree or an estimator with samples, names and units
``words``          numbers and tables as text
=================  ===============================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
