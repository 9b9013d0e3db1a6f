"""The pictures of a run on the user's trees: the confusions of classes, and one tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.datasets import TreeFile
from structnet.datasets.tree_file_targets import NODES
from structnet.plot import plot_explanation, plot_tree
from structnet.plot.names import cut, short_names
from structnet.plot.style import WRONG, as_written, one_axes, write_cells
from structnet.recipes.tree_file.answers import Opened, predictions_of, relabelled
from structnet.recipes.tree_lstm.trees import nearest_size
from structnet.routing.words import in_digits, percent
from structnet.training.checkpoint import CheckpointError
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_CLASSES = 30  # drawn, the most frequent ones
COUNTS_UP_TO = 15  # classes for which numbers are written into the cells
Nodes = list[list[Any]]  # label, number of children and token of each node, children first


def as_nodes(data: TreeFile) -> dict[str, Any]:
    """An example that makes a good picture, for JSON; :func:`from_nodes` reads it back."""
    place = nearest_size([sum(tree.size for tree in _trees(each)) for each in data.trees])
    trees = [
        [[node.label, len(node.children), node.token] for node in tree.postorder()]
        for tree in _trees(data.trees[place])
    ]
    return {"trees": trees, "target": data.targets[place] if data.targets else None}


def from_nodes(data: Mapping[str, Any], example: Mapping[str, Any]) -> TreeFile:
    """The example that :func:`as_nodes` wrote.

    Args:
        data: description of the run's data.
        example: content of ``example.json``.

    Raises:
        CheckpointError: the file was edited.
    """
    try:
        trees = [Tree.from_postorder(map(tuple, nodes)) for nodes in example["trees"]]
        shown: Any = [tuple(trees) if data["pairs"] else trees[0]]
        targets = None if example["target"] is None else [example["target"]]
        if targets and data["task"] == "nodes" and len(targets[0]) != trees[0].size:
            raise ValueError(f"{len(targets[0])} labels for {trees[0].size} nodes")
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"the run's example.json is damaged: {type(error).__name__}, {error}; expected a tree "
            "as structnet train wrote it, or no such file"
        ) from None
    kind = data["task"]
    return TreeFile(Path(), shown, targets, kind, data["format"], data["target"], [], ())


def draw_example(model: Opened, examples: TreeFile) -> Axes:
    """Draws the first example with the model's answer, which for nodes is written at each node.

    Raises:
        ValueError: there is no example.
    """
    tree, predicted, shares, true = predictions_of(model, examples[[0]])[0]
    if model.data["task"] == "nodes":
        return _draw_nodes(tree, predicted, true, model.data["target"] == NODES)
    ax = plot_tree(list(tree) if isinstance(tree, tuple) else tree)
    sure = "" if shares is None else f", {percent(max(shares.values()))} sure"
    shown = (
        in_digits(predicted, 6) if model.data["task"] == "regression" else cut(str(predicted), 60)
    )
    known = "" if true is None else f"\ntrue: {cut(str(true), 60)}"
    as_written(ax.set_title(f"predicted: {shown}{sure}{known}", fontsize=11))
    return ax


def draw_reasons(model: Opened, examples: TreeFile) -> Axes:
    """Draws the first example with the importance of each part for the model's answer.

    Of the answers for nodes, it is the one of which the model is least sure.
    """
    tree, which = examples.trees[0], {}
    if model.data["task"] == "nodes" and isinstance(tree, Tree):
        sure = model.estimator.predict_proba([tree])[0].max(axis=1)
        words = model.data["target"] == NODES  # at leaves, which have no label to predict
        inner = [i for i, node in enumerate(tree.preorder()) if node.children or not words]
        which = {"node": min(inner or [0], key=sure.__getitem__)}
    return plot_explanation(model.estimator.explain(tree, **which))


def _draw_nodes(
    tree: Tree, predicted: Sequence[Any], true: Sequence[Any] | None, hidden: bool
) -> Axes:
    """Draws a tree with the predicted label of each node, wrong ones in red."""
    texts, nodes = [], list(tree.preorder())  # the text at each node, and whether it is wrong
    for node, guess, truth in zip(nodes, predicted, true or [None] * len(nodes), strict=True):
        missed = truth is not None and str(guess) != str(truth)
        lines = ["" if hidden else str(node.label), f"{guess}, not {truth}" if missed else guess]
        texts.append(("\n".join(filter(None, map(str, lines))), missed))
    shown = relabelled(tree, texts, words=not hidden)

    def at(node: Tree) -> tuple[str, bool]:  # words keep their own label
        return node.label if isinstance(node.label, tuple) else (str(node.label), False)

    def label(node: Tree) -> str:
        return at(node)[0] + ("" if node.token is None else f"\n{node.token}")

    ax = plot_tree(shown, labels=label, colors=lambda node: WRONG if at(node)[1] else None)
    wrong = sum(missed for _, missed in texts)
    title = "labels that are predicted" + (f"; red: {wrong} wrong" if wrong else "")
    as_written(ax.set_title(title, fontsize=11))
    return ax


def draw_confusion(confusion: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draws the confusions of classes: shares as colours, also as numbers if there are few classes.

    Args:
        confusion: "classes", names; "counts", one row per true class, one column per predicted one.
        ax: axes to draw on; None for new ones.

    Example:
        >>> from matplotlib.figure import Figure
        >>> found = {"classes": ["a", "b"], "counts": [[3, 1], [0, 2]]}
        >>> ax = draw_confusion(found, Figure().add_subplot())
        >>> ax.images[0].get_array().tolist()
        [[0.75, 0.25], [0.0, 1.0]]
    """
    counts = np.array(confusion["counts"])
    kept = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_CLASSES])
    number, names = len(kept), short_names([confusion["classes"][i] for i in kept], 16)
    shares = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))[np.ix_(kept, kept)]
    counts = counts[np.ix_(kept, kept)]
    side = 2.2 + 0.36 * number
    ax = one_axes(ax, side + 0.5, side)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    ax.set_xticks(range(number), names, rotation=90 if max(map(len, names)) > 2 else 0)
    ax.set_yticks(range(number), names)
    as_written(*ax.get_xticklabels(), *ax.get_yticklabels())
    if number <= COUNTS_UP_TO:
        texts = [[f"{n:,}" if n else "" for n in row] for row in counts.tolist()]
        write_cells(ax, shares, texts)
    left = len(confusion["classes"]) - number
    ax.set_title(f"the {number} most frequent classes" if left else "")
    ax.set(xlabel="predicted", ylabel="true")
    return ax


def _trees(example: Any) -> tuple[Tree, ...]:
    return example if isinstance(example, tuple) else (example,)
