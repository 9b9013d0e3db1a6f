"""The models that the command knows: how a run of each is described, trained, evaluated and drawn.

:class:`structnet.recipes.protocol.Recipe` defines what a recipe is. A new family adds a folder with
its recipe, and a function here; the command needs nothing else. The families share these modules:

==========================  ====================================================================
``protocol``                the interface of a recipe
``recipe``                  what recipes share: settings as flags and as JSON, answers, outcomes
``run_settings``            the base of all families' settings: their data, and what goes with these
``run``                     the folder of a run
``execution``               carries out a run, and the runs of a paper's table
``paper``                   a paper's table, with our figures beside the paper's
``words``                   results in words, as the commands print them
``predictions``             where predictions are put: the standard output, or a CSV file
``letters``                 letters that the encoding of the terminal lacks
``arrays``, ``rows``        rows and images for a run; rows of a user's file, in the same units
``row_runs``                runs of trees of rows: what they are asked, and the reasons they give
``texts``                   sentences
``data_sets``               what ``structnet data`` reports; ``data_settings``: its flags
==========================  ====================================================================

A family's folder has its ``recipe`` and its ``settings``, which do not import torch, its ``work``,
which does what the commands ask for, and whatever else it needs:

==========================  ====================================================================
``tree_lstm``               Tree-LSTMs on ListOps and LRT
``tree_file``               Tree-LSTMs on the user's own trees
``neural_tree``             neural trees, on images and tables
``softmax_tree``            softmax trees, fixed and grown
``label_tree``              label trees
``language_model``          language models whose words are leaves of a tree
``naru``                    routed language models
==========================  ====================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structnet.recipes.protocol import Recipe


def _tree_lstm() -> Recipe:
    """Tree-LSTMs, for parses (listops, lrt, files of trees)"""
    from structnet.recipes.tree_lstm.recipe import TreeLSTMRecipe

    return TreeLSTMRecipe()


def _neural_tree() -> Recipe:
    """neural trees, which grow their own network (images and tables)"""
    from structnet.recipes.neural_tree.recipe import NeuralTreeRecipe

    return NeuralTreeRecipe()


def _softmax_tree() -> Recipe:
    """softmax trees, for many classes (tables, sparse rows, the next word)"""
    from structnet.recipes.softmax_tree.recipe import SoftmaxTreeRecipe

    return SoftmaxTreeRecipe()


def _adaptive_softmax_tree() -> Recipe:
    """softmax trees that grow where this lowers the loss (the same data)"""
    from structnet.recipes.softmax_tree.recipe import AdaptiveSoftmaxTreeRecipe

    return AdaptiveSoftmaxTreeRecipe()


def _naru() -> Recipe:
    """routed networks, which predict the next word of a text"""
    from structnet.recipes.naru.recipe import NaruRecipe

    return NaruRecipe()


def _label_tree() -> Recipe:
    """label trees, for very many classes (text, tables, sparse rows)"""
    from structnet.recipes.label_tree.recipe import LabelTreeRecipe

    return LabelTreeRecipe()


def _language_model() -> Recipe:
    """language models that predict the next word as a leaf of a tree (text)"""
    from structnet.recipes.language_model.recipe import LanguageModelRecipe

    return LanguageModelRecipe()


# The word after `structnet train` -> the function that imports and returns the recipe. Nothing is
# imported before it is called, so that a help page takes no longer with more families.
RECIPES: dict[str, Callable[[], Recipe]] = {
    "tree-lstm": _tree_lstm,
    "neural-tree": _neural_tree,
    "softmax-tree": _softmax_tree,
    "adaptive-softmax-tree": _adaptive_softmax_tree,
    "naru": _naru,
    "label-tree": _label_tree,
    "language-model": _language_model,
}


def recipe_for(name: str, data: object = None) -> Recipe:
    """The recipe of a model, or the one that it delegates to for some data.

    Args:
        name: name of a model in ``RECIPES``.
        data: data set, file or folder; None if it is not known.
    """
    recipe = RECIPES[name]()
    return recipe.of_data(data) if isinstance(data, str) else recipe


EXAMPLES = """\
  structnet train tree-lstm --data listops --train-size 40000 --max-depth 5 --out runs/first
  structnet evaluate runs/first
  structnet predict runs/first "[MAX 2 9 [MIN 4 7 ] 0 ]"
  structnet train tree-lstm --data my-trees.tsv
  structnet train neural-tree --data digits --out runs/digits"""
