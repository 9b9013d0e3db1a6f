"""Pictures of trees that are models: who goes where, and what the leaves say.

======================  ==========================================================================
``picture``             the tree with its samples' ways, growing and refined
``leaves``              what arrives at each leaf: classes, or means
``partition``           the regions of the input that the leaves take
``region_words``        what is written in them
``folding``             which nodes are drawn, and the marks that stand for others
``sheet``               where nodes stand
``panels``              nodes: what arrives, how probably, and where it goes on
``captions``, ``key``   what is written at nodes, and above the tree
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
