"""Pictures of trees that are models: who goes where, and what the leaves say.

======================  ==========================================================================
``picture``             the tree with its samples' ways, growing and refined
``leaves``              what arrives at each leaf: classes, or means
``partition``           the regions of the input that the leaves take
``panels``, ``sheet``   how nodes, captions and keys are laid out and drawn
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
