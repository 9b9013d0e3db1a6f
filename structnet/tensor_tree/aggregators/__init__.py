"""How the children's hidden states become one vector a gate; one form a file.

======================  ==========================================================================
``base``                :class:`Aggregator`, what all share: the homogeneous form ``[h; 1]``, the
                        scale of the first weights
``full_tensor``         Eq. (4): one dense tensor
``weighted_sum``        Eq. (5): :class:`WeightedSum`, a matrix a place, and :class:`ChildSum`
``tucker``              Eq. (10): a small core between projections
``cp``, ``tensor_train``  beyond the paper: sums and chains of products
``contraction``         the products of vectors that the dense ones share
``count``               Sec. IV: the number of parameters
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
