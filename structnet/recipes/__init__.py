"""The models that the command knows: how a run of each is described, trained, asked and drawn.

:class:`structnet.recipes.protocol.Recipe` says what a recipe is. A new family adds a module with
its recipe and a function here; the command needs nothing else.

==========================  ====================================================================
``protocol``                what a recipe is
``recipe``                  what recipes share: settings as flags and as JSON, answers, outcomes
``run``, ``older``          the folder of a run; runs of before
``execution``               how a run's folder is filled, and those of a paper's table
``paper``                   a table of a paper beside ours
``words``                   numbers as the commands say them
``tree_lstm``               Tree-LSTMs: ``tree_lstm_settings``, ``tree_lstm_model``,
                            ``tree_lstm_paper`` and ``tree_lstm_pictures`` belong to it, and the
                            estimators untouched, ``own_trees_table`` on ``own_trees_tasks``
``tree_file``               Tree-LSTMs on users' own trees: ``tree_file_settings``,
                            ``tree_file_data``, ``tree_file_measures``, ``tree_file_answers`` and
                            ``tree_file_pictures`` belong to it
``trees``                   data sets of trees: ``listops``, ``lrt``
``neural_tree``             neural trees: ``neural_tree_settings``, ``neural_tree_runs``,
                            ``neural_tree_answers``, ``neural_tree_paper`` and
                            ``neural_tree_figures`` belong to it
``softmax_tree``            softmax trees, fixed and grown: ``softmax_tree_settings``,
                            ``softmax_tree_data``, ``softmax_tree_paper``,
                            ``softmax_tree_comparison`` (and its ``softmax_tree_baselines``),
                            ``softmax_tree_defaults`` and ``softmax_tree_pictures`` belong to it
``naru``                    routed language models: ``naru_settings``, ``naru_text``,
                            ``naru_figures``, ``naru_pictures`` and ``naru_paper`` belong to it
``label_tree``              label trees: ``label_tree_settings``, ``label_tree_data``,
                            ``label_tree_runs``, ``label_tree_paper`` and
                            ``label_tree_pictures`` belong to it
``language_model``          language models: ``language_model_settings``, ``language_model_runs``
                            and ``language_model_paper`` belong to it
``arrays``, ``baselines``   rows and images for a run; scikit-learn's models of the same rows
``tabular``                 neural trees beside scikit-learn's models, on ten small tables
``tabular_data``            those tables
``data_sets``               what ``structnet data`` tells; ``data_settings``: what it is told
==========================  ====================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structnet.recipes.protocol import Recipe


def _tree_lstm() -> Recipe:
    """Tree-LSTMs, which read parses (listops, lrt, files of trees)"""
    from structnet.recipes.tree_lstm import TreeLSTMRecipe

    return TreeLSTMRecipe()


def _neural_tree() -> Recipe:
    """neural trees, which grow a network of their own (images and tables)"""
    from structnet.recipes.neural_tree import NeuralTreeRecipe

    return NeuralTreeRecipe()


def _softmax_tree() -> Recipe:
    """softmax trees, for many classes (tables, sparse rows, the next word)"""
    from structnet.recipes.softmax_tree import SoftmaxTreeRecipe

    return SoftmaxTreeRecipe()


def _adaptive_softmax_tree() -> Recipe:
    """softmax trees that grow where it pays (the same data)"""
    from structnet.recipes.softmax_tree import AdaptiveSoftmaxTreeRecipe

    return AdaptiveSoftmaxTreeRecipe()


def _naru() -> Recipe:
    """routed networks, which predict the next word of a text"""
    from structnet.recipes.naru import NaruRecipe

    return NaruRecipe()


def _label_tree() -> Recipe:
    """label trees, for very many classes (text, sparse rows)"""
    from structnet.recipes.label_tree import LabelTreeRecipe

    return LabelTreeRecipe()


def _language_model() -> Recipe:
    """language models, whose next word is a leaf of a tree (text)"""
    from structnet.recipes.language_model import LanguageModelRecipe

    return LanguageModelRecipe()


# The word after `structnet train` -> what imports the recipe and gives it. Nothing is imported
# before one is called, so that a help page costs the same however many families there are.
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
    """The recipe of a model, or that which it hands over to for some data.

    Args:
        name: a model of ``RECIPES``.
        data: data set, file or folder; None if it is not known.
    """
    recipe = RECIPES[name]()
    hand_over = getattr(recipe, "of_data", None)
    return recipe if hand_over is None or not isinstance(data, str) else hand_over(data)


EXAMPLES = """\
  structnet train tree-lstm --data listops --train-size 40000 --max-depth 5 --out runs/first
  structnet evaluate runs/first
  structnet predict runs/first "[MAX 2 9 [MIN 4 7 ] 0 ]"
  structnet train tree-lstm --data my-trees.tsv
  structnet train neural-tree --data digits --out runs/digits"""
