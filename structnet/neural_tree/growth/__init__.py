"""Algorithm 1: a leaf is split, deepened or kept, whichever serves validation samples best.

======================  ==========================================================================
``growth``              :class:`Growth`: leaf after leaf, as an object that is stepped
``beginning``           the root and the samples that it begins with
``proposal``            :func:`propose`: trains the candidates of one leaf
``candidate``           a split or a deepening beside the frozen tree, whose part is cached
``lookahead``           not in the paper: a split that begins with several routers at once
``regions``             :func:`find_regions`: the regions that it begins with
``planes``              :func:`plane_of`: two columns, across which their axes may be turned
``decision``            :func:`choose`, the rule that splits, deepens or keeps; :class:`Decision`
``measures``            how many samples a leaf gets, and whether it may gain
``pace``                ends the training of a candidate that would not get where it must
``router_start``        :func:`balance`: a new router's first scale, with samples going both ways
``state``               growth on disk, to go on from
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
