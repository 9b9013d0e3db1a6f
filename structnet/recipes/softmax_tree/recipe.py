"""The recipes of softmax trees, with a fixed structure or grown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from structnet.recipes.protocol import Recipe
from structnet.recipes.softmax_tree.paper import TABLES, Choice
from structnet.recipes.softmax_tree.settings import AdaptiveRunSettings, SoftmaxTreeRunSettings


class SoftmaxTreeRecipe(Recipe):
    """Softmax trees with a fixed structure."""

    name = "softmax-tree"
    module = "structnet.recipes.softmax_tree.work"
    refused: ClassVar[Sequence[str]] = ("device",)  # always computed on the CPU
    examples: ClassVar = {
        "train": """\
  structnet train softmax-tree --data digits --out runs/digits
  structnet train softmax-tree --data pydoc --num-classes 500 --depth 5 --k 60
  structnet train softmax-tree --data words.svm --test-file words.test.svm --depth 6 --k 50""",
        "reproduce": """\
  structnet reproduce softmax-tree --table 1 --data uneven
  structnet reproduce softmax-tree --table 1 --data brown --data-dir data --seeds 3
  structnet reproduce softmax-tree --table defaults --data-dir data --seeds 3""",
    }
    Settings = SoftmaxTreeRunSettings
    Choice = Choice
    tables = TABLES


class AdaptiveSoftmaxTreeRecipe(SoftmaxTreeRecipe):
    """Softmax trees that grow."""

    name = "adaptive-softmax-tree"
    refused = (*SoftmaxTreeRecipe.refused, "depth", "k")  # those of a fixed tree
    examples: ClassVar = {
        "train": """\
  structnet train adaptive-softmax-tree --data uneven --out runs/uneven
  structnet train adaptive-softmax-tree --data digits --alpha 0.6 --rho 0.9 --start-depth 1""",
        "reproduce": "  structnet reproduce adaptive-softmax-tree --table 1 --data uneven",
    }
    Settings = AdaptiveRunSettings
