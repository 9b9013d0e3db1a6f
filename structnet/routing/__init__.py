"""Trees that are the model: a sample's way down is a product of choices along a path.

Eq. (2) of adaptive neural trees, and any product of branches along a path, in log space; with
``backend="dgl"`` as DGL messages from parent to child:

=================  ===============================================================================
``topology``       :class:`Topology`: what stands on the way
``path_log_prob``  :func:`leaf_log_prob`, :func:`node_log_prob`: how probable leaves and nodes
                   are; :func:`log_prob_at`: the score of one label's path
``hard_path``      :func:`follow`, :func:`hard_route`: one branch a level
``dgl_backend``    the reference of these
``samples``        :class:`Samples`: inputs, targets and weights as one thing
``on_demand``      inputs that a torch Dataset reads, or that are sparse, batch by batch
=================  ===============================================================================

Whatever keeps the protocol :class:`RoutedTree` (``protocol``) can be told and drawn:

=================  ===============================================================================
``batches``        :func:`ask`: many samples, a batch at a time
``visits``         :func:`shares`, :func:`reach`, :func:`leaf_of`: who comes where
``explanation``    :func:`explain`: why one sample is predicted so
``report``         :func:`summary`, :func:`export_text`: a table or text; the parameters visited
``asking``         what inner nodes ask and separate, in words
``leaves``         what leaves predict by themselves
``reading``        :func:`read`: a tree with its samples, or an estimator with the user's
``words``          numbers as people read them
=================  ===============================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
