"""The recipe of label trees, on text, sparse rows and planted points."""

from __future__ import annotations

from typing import ClassVar

from structnet.recipes.label_tree.paper import TABLES
from structnet.recipes.label_tree.settings import AskOfLabels, Choice, LabelTreeRunSettings
from structnet.recipes.protocol import Recipe


class LabelTreeRecipe(Recipe):
    """Label trees on text, sparse rows and planted points."""

    name = "label-tree"
    module = "structnet.recipes.label_tree.work"
    refused = ("device",)  # always computed on the CPU
    examples: ClassVar = {
        "train": """\
  structnet train label-tree --data planted --arity 4 --out runs/planted
  structnet train label-tree --data lines.txt --arity 5 --epochs 5
  structnet train label-tree --data brown --data-dir data --tree learned --learning-rate 0.05
  structnet train label-tree --resume runs/planted""",
        "reproduce": """\
  structnet reproduce label-tree --table 1 --data pydoc
  structnet reproduce label-tree --table 1 --data brown --data-dir data --seeds 3""",
    }
    Settings = LabelTreeRunSettings
    Ask = AskOfLabels
    Choice = Choice
    tables = TABLES
