"""The recipe of neural trees, on images and tables."""

from __future__ import annotations

from typing import ClassVar

from structnet.recipes.neural_tree.curves import FIGURES
from structnet.recipes.neural_tree.paper import TABLES, Choice
from structnet.recipes.neural_tree.settings import (
    AskOfTree,
    NeuralTreeRunSettings,
    table_of_defaults,
)
from structnet.recipes.protocol import Recipe


class NeuralTreeRecipe(Recipe):
    """Adaptive neural trees on images and tables."""

    name = "neural-tree"
    module = "structnet.recipes.neural_tree.work"
    examples: ClassVar = {
        "train": f"""\
  structnet train neural-tree --data digits --out runs/digits
  structnet train neural-tree --data houses.csv --target price --width 32
  structnet train neural-tree --data mnist --data-dir data --primitives mnist_c --refine-epochs 30
  structnet train --resume runs/digits

defaults of the data sets:
{table_of_defaults()}""",
        "reproduce": """\
  structnet reproduce neural-tree --table 4 --data mnist --data-dir data
  structnet reproduce neural-tree --table 6 --data mnist --data-dir data
  structnet reproduce neural-tree --table 3 --data sarcos --data-dir data --seeds 3""",
    }
    Settings = NeuralTreeRunSettings
    Ask = AskOfTree
    Choice = Choice
    tables = TABLES | FIGURES
