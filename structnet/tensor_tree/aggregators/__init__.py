"""How the children's hidden states become one vector a gate; one form a file.

======================  ==========================================================================
``base``                :class:`Aggregator`, what all share: the homogeneous form ``[h; 1]``; the
                        initial scale (``HIDDEN_MOMENT``, :func:`homogeneous_moments`)
``full_tensor``         Eq. (4): one dense tensor
``weighted_sum``        Eq. (5): :class:`WeightedSum`, a matrix a place, and :class:`ChildSum`
``tucker``              Eq. (10): a small core between projections
``cp``                  beyond the paper: a sum of r products of one number a child
``tensor_train``        beyond the paper: a chain of r x r matrices, one a child
``low_rank``            :class:`LowRank`, what the last three share: r numbers a gate, mapped out;
                        :class:`WithOnes`, what the last two share
``contraction``         a dense core times one vector a child
``names``               :data:`AGGREGATORS`, each by its name; Sec. IV: the number of parameters
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
