"""Pictures of trees and of training, drawn on matplotlib axes.

Every function draws on the axes it is given, or on new ones, and returns them; none shows or saves
anything or changes matplotlib's settings. Matplotlib is imported when something is first drawn.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
