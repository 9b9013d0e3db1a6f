"""Trees that are the model: a sample's way down is a product of choices along a path.

======================  ==========================================================================
``topology``            :class:`Topology`: the shape of one tree, as arrays, from and to a graph
``path_log_prob``       how probable each node and each leaf is
``hard_path``           one branch a level: which leaf a sample reaches
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
