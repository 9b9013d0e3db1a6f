"""Pictures of trees and of training, drawn on matplotlib axes.

Every function draws on the axes it is given, or on new ones, and returns them; none shows or saves
anything or changes matplotlib's settings. Matplotlib is imported when something is first drawn.
"""

from __future__ import annotations

from structnet.plot.accuracy import plot_accuracy_by
from structnet.plot.growth import plot_growth
from structnet.plot.history import plot_history
from structnet.plot.layout import Collapsed, Layout, layout
from structnet.plot.leaves import plot_leaf_classes, plot_leaf_means
from structnet.plot.neural_tree import plot_neural_tree, plot_refinement
from structnet.plot.partition import plot_partition
from structnet.plot.tree import plot_tree

__all__ = [
    "Collapsed",
    "Layout",
    "layout",
    "plot_accuracy_by",
    "plot_growth",
    "plot_history",
    "plot_leaf_classes",
    "plot_leaf_means",
    "plot_neural_tree",
    "plot_partition",
    "plot_refinement",
    "plot_tree",
]
