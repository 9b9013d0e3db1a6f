"""Pictures of trees and of training, drawn on matplotlib axes.

======================  ==========================================================================
``tree``                :func:`plot_tree`: a tree of data
``model_tree``          pictures of any tree that is a model
``growth``              :func:`plot_growth`: how such a tree grew
``history``             :func:`plot_history`: losses and metrics, epoch by epoch
``accuracy``            :func:`plot_accuracy_by`: accuracy by depth, or by another group
``bars``                a table's numbers as bars, the paper's beside ours
``tree_layout``         where the nodes of a tree stand
``style``, ``palette``  lines, letters and colours
======================  ==========================================================================

Every function draws on the axes it is given, or on new ones, and returns them; none shows or saves
anything or changes matplotlib's settings. Matplotlib is imported when something is first drawn.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
