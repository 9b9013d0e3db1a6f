"""The pictures of a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from structnet.cli.measure import ask, ask_all
from structnet.cli.run import Run, Trained
from structnet.cli.tasks import Labelled
from structnet.cli.words import percent
from structnet.plot import plot_accuracy_by, plot_history, plot_tree
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WRONG = "#F4A6A0"
FITTING = range(15, 31)  # nodes of an expression that makes a good picture
MAX_TRAINED_OPERATORS = 4  # of lrt


def draw_history(run: Run, folder: Path) -> Path:
    """``history.png``, the losses and the validation accuracy over the epochs."""
    return save(plot_history(run.history)[0], folder / "history.png")


def draw_tree(trained: Trained, trees: Sequence[Tree], folder: Path) -> Path:
    """``tree.png``, an example with the model's prediction beside the true value.

    A listops expression has predictions for all its parts, which are expressions too.
    """
    predicted, probability = ask(trained, tuple(trees))
    words = trained.task.in_words
    true = trained.task.truth(tuple(trees))
    title = f"predicted: {words(predicted)}, {percent(probability)} sure\ntrue: {words(true)}"
    if len(trees) == 1:
        parts = _Parts(trained, trees[0])
        ax = plot_tree(trees[0], labels=parts.label, colors=parts.color)
        if parts.any_wrong:
            title += "\nred: the value of that part is predicted wrong"
    else:
        ax = plot_tree(list(trees))
    ax.set_title(title, fontsize=11)
    return save(ax, folder / "tree.png")


def draw_by_operators(results: Mapping[str, Mapping[str, Sequence[float]]], folder: Path) -> Path:
    """``by_operators.png``, the accuracy of some models over the operators of the sentences.

    Args:
        results: model -> number of operators, as JSON has it -> accuracy and examples.
        folder: where the picture goes.
    """
    groups = {
        model: {int(n): (accuracy, int(count)) for n, (accuracy, count) in by.items()}
        for model, by in results.items()
    }
    largest = max(n for by in groups.values() for n in by)
    trained = MAX_TRAINED_OPERATORS if largest > MAX_TRAINED_OPERATORS else None
    ax = plot_accuracy_by(groups, "operators in the longer sentence", trained_up_to=trained)
    return save(ax, folder / "by_operators.png")


def draw_curves(results: Mapping[str, Mapping[int, float]], folder: Path) -> Path:
    """``validation.png``, the validation accuracy of some models over the epochs."""
    ax = plot_accuracy_by(results, "epoch")
    ax.set_ylabel("validation accuracy")
    return save(ax, folder / "validation.png")


def choose_example(data: Labelled) -> tuple[Tree, ...]:
    """The first example with a fitting number of nodes, or else the one nearest to that."""
    middle = (FITTING[0] + FITTING[-1]) // 2
    best, distance = data.example(0), float("inf")
    for i in range(len(data)):
        trees = data.example(i)
        size = sum(tree.size for tree in trees)
        if size in FITTING:
            return trees
        if abs(size - middle) < distance:
            best, distance = trees, abs(size - middle)
    return best


class _Parts:
    """What the model predicts for each operator of an expression."""

    def __init__(self, trained: Trained, tree: Tree):
        inner = list({id(node): node for node in tree.preorder() if node.children}.values())
        self.predicted: dict[Tree, str] = {}
        if inner:
            self.predicted = dict(zip(inner, ask_all(trained, inner), strict=True))
        # Only of drawn nodes, and of each several times, is the true value asked for.
        self.truth = cache(lambda node: trained.task.truth((node,)))
        self.any_wrong = False

    def is_wrong(self, node: Tree) -> bool:
        return self.predicted[node] != self.truth(node)

    def label(self, node: Tree) -> str:
        if not node.children:
            return str(node.label)
        value = self.predicted[node]
        if not self.is_wrong(node):
            return f"{node.label}\n{value}"
        self.any_wrong = True
        return f"{node.label}\n{value}, not {self.truth(node)}"

    def color(self, node: Tree) -> str | None:
        return WRONG if node.children and self.is_wrong(node) else None


@contextmanager
def optional(picture: str, run: Run) -> Iterator[None]:
    """Lets a picture of a run fail with a warning: the training that it is of may have taken days.

    Args:
        picture: the name of its file.
        run: whose result it is not to be in the way of.
    """
    try:
        yield
    except Exception as error:
        print(
            f"structnet: warning: {picture} was not drawn: {type(error).__name__}: {error}; "
            f"try again with: structnet plot {run}",
            file=sys.stderr,
        )


def save(ax: Axes, path: Path) -> Path:
    """Writes the figure of an axes to a file, and closes it."""
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    ax.figure.savefig(path, dpi=150, bbox_inches="tight")
    plt.close(ax.figure)
    return path


def named(paths: Sequence[Path]) -> dict[str, str]:
    """The paths for a JSON object, name by name."""
    return {path.stem: str(path) for path in paths}
