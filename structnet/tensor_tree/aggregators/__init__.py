"""How the children's hidden states become one vector per gate; one form per file.

======================  ==========================================================================
``base``                :class:`Aggregator`, what all share: the homogeneous form ``[h; 1]``; the
                        initial scale (``HIDDEN_MOMENT``, :func:`homogeneous_moments`)
``full_tensor``         Eq. (4): one dense tensor
``weighted_sum``        Eq. (5): :class:`WeightedSum`, one matrix per place, and :class:`ChildSum`
``tucker``              Eq. (10): a small core between projections
``cp``                  not in the paper: a sum of r products of one number per child
``tensor_train``        not in the paper: a chain of r x r matrices, one per child
``low_rank``            :class:`LowRank`, the base of the last three: r numbers per gate, mapped to
                        c; :class:`WithOnes`, the base of the last two
``contraction``         a dense core times one vector per child
``names``               :data:`AGGREGATORS` by name; Sec. IV: the number of parameters
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
