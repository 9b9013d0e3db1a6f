"""The recipe of Tree-LSTMs, on ListOps and LRT."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from structnet.recipes.protocol import Recipe
from structnet.recipes.tree_file.recipe import TreeFileRecipe
from structnet.recipes.tree_lstm.paper import TABLES
from structnet.recipes.tree_lstm.paper import Choice as TableChoice
from structnet.recipes.tree_lstm.settings import (
    DATA_SETS,
    TreeLSTMRunSettings,
    table_of_defaults,
)


class TreeLSTMRecipe(Recipe):
    """Tree-LSTMs that classify listops expressions and pairs of logical sentences."""

    name = "tree-lstm"
    module = "structnet.recipes.tree_lstm.work"
    examples: ClassVar = {
        "train": f"""\
  structnet train tree-lstm --data listops --train-size 40000 --max-depth 5 --out runs/first
  structnet train tree-lstm --data lrt --data-dir data --cell sum --out runs/sum
  structnet train --resume runs/first
  torchrun --nproc-per-node 2 -m structnet train tree-lstm --data listops --out runs/two
  structnet train tree-lstm --data my-trees.tsv --out runs/own

Your own trees (LABEL<TAB>TREE lines, treebanks, source code) have other settings, which
'structnet train tree-lstm --data FILE --help' explains; those below are for listops and lrt.

defaults (the sizes of tucker, sum and full are the paper's):
{table_of_defaults()}""",
        "reproduce": """\
  structnet reproduce tree-lstm --table 1 --seeds 3
  structnet reproduce tree-lstm --table 2 --data-dir data --only tucker,sum
  structnet reproduce tree-lstm --table 1 --epochs 1 --train-size 2000 --out runs/trial
  structnet reproduce tree-lstm --table own --seeds 3 --treebank wsj.mrg""",
    }
    parallel = True
    draws_inputs = True
    Settings = TreeLSTMRunSettings
    Choice = TableChoice
    tables = TABLES

    def of_data(self, data: str) -> Recipe:
        """The recipe for some data: this one for the named data sets, another for users' trees."""
        own = data not in DATA_SETS and ("." in data or "/" in data or Path(data).is_dir())
        return TreeFileRecipe() if own else self
