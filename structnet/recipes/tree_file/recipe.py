"""The recipe of the user's own trees, which learns from files of trees."""

from __future__ import annotations

from typing import ClassVar

from structnet.recipes.protocol import Recipe
from structnet.recipes.tree_file.settings import TreeFileSettings
from structnet.recipes.tree_lstm.paper import TABLES
from structnet.recipes.tree_lstm.paper import Choice as TableChoice


class TreeFileRecipe(Recipe):
    """Tree-LSTMs that learn from files of trees."""

    name = "tree-lstm"
    module = "structnet.recipes.tree_file.work"
    examples: ClassVar = {
        "train": """\
  structnet train tree-lstm --data expressions.tsv --out runs/own
  structnet train tree-lstm --data wsj.mrg --format penn --target root-label
  structnet train tree-lstm --data functions.jsonl --format python --target package
  structnet train tree-lstm --data sst/train.txt --test-file sst/test.txt --target node-labels""",
        "reproduce": "  structnet reproduce tree-lstm --table own",
    }
    draws_inputs = True
    Settings = TreeFileSettings
    Choice = TableChoice
    tables = TABLES
