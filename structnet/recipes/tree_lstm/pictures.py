"""The pictures of a Tree-LSTM's run, and of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from structnet.plot import plot_accuracy_by, plot_tree
from structnet.plot.style import WRONG
from structnet.recipes.tree_lstm.trees import Labelled
from structnet.routing.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from structnet.recipes.tree_lstm.model import Opened
    from structnet.trees.tree import Tree

MAX_TRAINED_OPERATORS = 4  # in the training sentences of lrt


def draw_tree(model: Opened, trees: Sequence[Tree]) -> Axes:
    """Draws an example, with the model's prediction and the true value.

    For a listops expression, the predictions for all its parts are drawn, as these are expressions
    too.
    """
    predicted, probability = model.ask(tuple(trees))
    words, true = model.of.in_words, model.of.truth(tuple(trees))
    title = f"predicted: {words(predicted)}, {percent(probability)} sure\ntrue: {words(true)}"
    if len(trees) > 1:
        ax = plot_tree(list(trees))
    else:
        ax, wrong = _draw_parts(model, trees[0])
        title += "\nred: the value of that part is predicted wrong" if wrong else ""
    ax.set_title(title, fontsize=11)
    return ax


def _draw_parts(model: Opened, tree: Tree) -> tuple[Axes, list[Tree]]:
    """Draws an expression with predictions at its operators; also returns those that are wrong."""
    inner = list({id(node): node for node in tree.preorder() if node.children}.values())
    values = model.ask_all(Labelled(inner, [0] * len(inner))) if inner else []
    predicted, wrong = dict(zip(inner, values, strict=True)), []
    # True values are needed of drawn nodes only, but several times.
    truth = cache(lambda node: model.of.truth((node,)))

    def label(node: Tree) -> str:
        if not node.children:
            return str(node.label)
        value = f"{node.label}\n{predicted[node]}"
        if predicted[node] == truth(node):
            return value
        wrong.append(node)
        return f"{value}, not {truth(node)}"

    def color(node: Tree) -> str | None:
        return WRONG if node.children and predicted[node] != truth(node) else None

    return plot_tree(tree, labels=label, colors=color), wrong


def draw_by_operators(results: Mapping[str, Mapping[str, Sequence[float]]]) -> Axes:
    """Draws the accuracy of some models over the number of operators in the sentences.

    Args:
        results: model -> number of operators, as a string -> accuracy and number of examples.
    """
    groups = {
        model: {int(n): (accuracy, int(count)) for n, (accuracy, count) in by.items()}
        for model, by in results.items()
    }
    largest = max(n for by in groups.values() for n in by)
    trained = MAX_TRAINED_OPERATORS if largest > MAX_TRAINED_OPERATORS else None
    return plot_accuracy_by(groups, "operators in the longer sentence", trained_up_to=trained)


def draw_curves(results: Mapping[str, Mapping[int, float]]) -> Axes:
    """Draws the validation accuracy of some models over the epochs."""
    ax = plot_accuracy_by(results, "epoch")
    ax.set_ylabel("validation accuracy")
    return ax
