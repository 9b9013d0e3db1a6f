"""Pictures of trees and of training, drawn on matplotlib axes.

======================  ==========================================================================
``tree``                :func:`plot_tree`: a tree of data
``svg``                 :func:`.tree_svg`: the same for notebooks
``dependencies``        :func:`plot_dependencies`: a sentence with arcs from heads to dependents
``explanation``         :func:`plot_explanation`: a tree coloured by the effect of its parts, or
``sample_path``         the path of one sample through a model tree
``model_tree``          pictures of any tree that is a model
``growth``              :func:`plot_growth`: the losses while such a tree grew
``history``             :func:`plot_history`: losses and metrics, epoch by epoch
``accuracy``            :func:`plot_accuracy_by`: accuracy by depth or another group
``bars``                the numbers of a table as bars, the paper's beside ours
``tree_layout``         the places of a tree's nodes in levels, with the root on top
``outline``             the places of a tree's nodes in rows and columns
``levels``, ``page``    draw the boxes and lines of these two
``sentence_layout``     the places of words and arcs
``labels``, ``boxes``   the texts of nodes and their colours
``fonts``               finds fonts that have the letters of a text
``names``               shortens the names of classes
``style``, ``palette``  lines, letters and colours
======================  ==========================================================================

Every function draws on given axes or on new ones and returns them. None shows or saves a figure or
changes matplotlib's settings. Matplotlib is imported when something is first drawn.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
