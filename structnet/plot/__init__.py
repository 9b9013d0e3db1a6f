"""Pictures of trees and of training, drawn on matplotlib axes.

======================  ==========================================================================
``tree``                :func:`plot_tree`: a tree of data
``svg``                 :func:`.tree_svg`: the same for notebooks
``dependencies``        :func:`plot_dependencies`: a sentence with arcs from heads to dependents
``explanation``         :func:`plot_explanation`: a tree coloured by what matters in it
``model_tree``          pictures of any tree that is a model
``growth``              :func:`plot_growth`: how such a tree grew
``history``             :func:`plot_history`: losses and metrics, epoch by epoch
``accuracy``            :func:`plot_accuracy_by`: accuracy by depth, or by another group
``bars``                a table's numbers as bars, the paper's beside ours
``tree_layout``         where the nodes of a tree stand, the root on top
``outline``             where they stand as rows in columns
``levels``, ``page``    the boxes of these two, and the lines between them
``sentence_layout``     where words and arcs stand
``labels``, ``boxes``   what is written on a node, and in which colours
``fonts``               fonts that have the letters of a text
``style``, ``palette``  lines, letters and colours
======================  ==========================================================================

Every function draws on the axes it is given, or on new ones, and returns them; none shows or saves
anything or changes matplotlib's settings. Matplotlib is imported when something is first drawn.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
