"""Trees that are the model: a sample's way down is a product of choices along a path.

Eq. (2) of adaptive neural trees, and any product of branches along a path, in log space:

what stands on the way                             ->  ``Topology``
how probable each node and each leaf is            ->  ``node_log_prob``, ``leaf_log_prob``
the score of one label's path                      ->  ``log_prob_at``
one branch a level: which leaf a sample reaches    ->  ``follow``, ``hard_route``
the same as DGL messages from parent to child      ->  ``backend="dgl"`` of these

Whatever keeps the protocol ``RoutedTree`` can be told and drawn:

how much of the samples comes where                ->  ``shares``, ``reach``, ``leaf_of``
why one sample is predicted so                     ->  ``explain``
what the tree is, in a table or in text            ->  ``summary``, ``export_text``
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
