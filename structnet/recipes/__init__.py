"""The models that the command knows: how a run of each is described, trained, asked and drawn.

:class:`structnet.recipes.recipe.Recipe` says what a recipe is. A new family adds a module with its
recipe and a function here; the command needs nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structnet.recipes.recipe import Recipe


def _tree_lstm() -> Recipe:
    """Tree-LSTMs, which read parses (listops, lrt)"""
    from structnet.recipes.tree_lstm import TreeLSTMRecipe

    return TreeLSTMRecipe()


def _neural_tree() -> Recipe:
    """neural trees, which grow a network of their own (images and tables)"""
    from structnet.recipes.neural_tree import NeuralTreeRecipe

    return NeuralTreeRecipe()


# The word after `structnet train` -> what imports the recipe and gives it. Nothing is imported
# before one is called, so that a help page costs the same however many families there are.
RECIPES: dict[str, Callable[[], Recipe]] = {
    "tree-lstm": _tree_lstm,
    "neural-tree": _neural_tree,
}

EXAMPLES = """\
  structnet train tree-lstm --data listops --train-size 40000 --max-depth 5 --out runs/first
  structnet evaluate runs/first
  structnet predict runs/first "[MAX 2 9 [MIN 4 7 ] 0 ]"
  structnet train neural-tree --data digits --out runs/digits"""
