"""Pictures of trees that are models: the paths of samples and the predictions of leaves.

======================  ==========================================================================
``picture``             the tree with the paths of samples, also before and after refinement
``leaves``              the classes or the mean images that reach each leaf
``partition``           the regions of the input that belong to the leaves
``region_words``        the texts in these regions
``folding``             chooses the nodes to draw, and the marks that stand for others
``sheet``               the places of nodes
``panels``              nodes, with panels for classes, probabilities and routing
``captions``, ``key``   the texts at nodes, and above the tree
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
