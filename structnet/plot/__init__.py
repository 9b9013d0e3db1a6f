"""Pictures of trees and of training, drawn on matplotlib axes.

Every function draws on the axes it is given, or on new ones, and returns them; none shows or saves
anything or changes matplotlib's settings. Matplotlib is imported when something is first drawn.
"""

from __future__ import annotations

from structnet.plot.accuracy import plot_accuracy_by
from structnet.plot.history import plot_history
from structnet.plot.layout import Collapsed, Layout, layout
from structnet.plot.tree import plot_tree

__all__ = [
    "Collapsed",
    "Layout",
    "layout",
    "plot_accuracy_by",
    "plot_history",
    "plot_tree",
]
