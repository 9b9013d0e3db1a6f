"""Algorithm 1: each leaf is split, deepened or kept, by the loss on validation samples.

======================  ==========================================================================
``growth``              :class:`Growth`: visits the leaves, one decision for each step
``beginning``           checks the root and the samples with which a growth starts
``visit``               :class:`Visit`: trains the candidates for one leaf, and finds the best
``lighter``             a lighter penalty for what grows, where the line explains little
``proposal``            :func:`propose`: makes the candidates for one leaf
``candidate``           a split or a deepening to train, with the frozen tree's part cached
``lookahead``           not in the paper: a split that starts with several routers
``regions``             :func:`find_regions`: the regions with which such a split starts
``criterion``           :class:`Criterion`: how many regions or steps pay
``steps``               :func:`find_steps`: regions with hard borders, for rules with thresholds
``sums``                :func:`find_sum`: sums of thresholds, as which a deepening may start
``directions``          :func:`telling`: in which directions steps and sums explain classes
``codes``               :func:`find_codes`: regions among the steps of columns with few values
``planes``              :func:`plane_of`: the two columns whose axes may be rotated
``decision``            :func:`choose`, the rule that splits, deepens or keeps; :class:`Decision`
``judging``             :class:`Judge`: what a candidate gains on the validation samples
``parts``               further held-out parts, where one cannot tell if a table needs more
``merging``             :func:`merged`: leaves of a split that need not be told apart are one
``measures``            the number of samples at a leaf, and whether it can gain
``pace``                stops the training of a candidate that would not gain enough
``router_start``        :func:`balance`: scales a new router so that samples go both ways
``state``               saves a growth, and resumes it
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
