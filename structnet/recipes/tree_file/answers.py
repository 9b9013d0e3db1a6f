"""The answers of a model for trees in a file, or for trees that the user typed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from structnet import tensor_tree
from structnet.datasets.tree_file_formats import ANY, ENDINGS, FORMATS, Place
from structnet.datasets.tree_file_targets import KINDS, NODES, has_target
from structnet.parse.packed import kind_of
from structnet.recipes.recipe import Answer, Probabilities
from structnet.recipes.tree_file.data import read_like, read_typed
from structnet.routing.words import in_digits, percent
from structnet.training.checkpoint import CheckpointError
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from structnet.datasets import TreeFile
    from structnet.recipes.run import Run

SHOWN = 60  # characters of a tree that are printed
Shares = dict[str, float] | None  # probability of each class; None if there are none
KEYS = {"format", "target", "task", "pairs", "classes", "baseline"}


class Opened(NamedTuple):
    """A trained estimator, and its run's description of the data."""

    estimator: Any
    data: dict[str, Any]


def estimator(task: str | None) -> Any:
    """The estimator class for a task."""
    return {
        "classification": tensor_tree.TreeLSTMClassifier,
        "regression": tensor_tree.TreeLSTMRegressor,
        "nodes": tensor_tree.TreeLSTMNodeClassifier,
    }[str(task)]


def description_of(run: Run) -> dict[str, Any]:
    """A run's description of its data.

    Raises:
        CheckpointError: the description was edited.
    """
    data = run.config["data"]
    known = isinstance(data, dict) and data.keys() >= KEYS
    if not known or data["task"] not in KINDS or data["format"] not in FORMATS:
        raise CheckpointError(
            f"{run}/config.json was not written by structnet train: its data must have "
            f"{', '.join(sorted(KEYS))}"
        )
    return data


def trees_of(data: dict[str, Any], texts: Sequence[str]) -> TreeFile:
    """The trees to predict for.

    Args:
        data: description of the run's data.
        texts: path of a file or folder; or trees, of which a run on pairs takes the two of one.

    Raises:
        ValueError: they are not trees in the run's format.
        OSError: there is no such file.
    """
    files = [text for text in texts if _is_path(text)]
    if files and len(texts) > 1:
        raise ValueError(f"expected one file, or only trees; got {' '.join(texts)}")
    if files:
        return read_like(data, files[0], needed=False)
    return read_typed(data, "\t".join(texts) if data["pairs"] else texts)


def _is_path(text: str) -> bool:
    """Whether a text is the path of a file or folder, or looks like the name of a missing file."""
    try:  # an empty path would be the current folder
        there = bool(text.strip()) and Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or with a null character
        return False
    named = re.fullmatch(r"[\w./~-]+", text) is not None
    return there or (named and kind_of(Path(text)) in ENDINGS + ANY)


def answer(model: Opened, texts: Sequence[str], ask: object) -> list[Answer]:
    """The answers of a model for each tree of a file, or for typed trees.

    The words of the first begin with what was guessed about the format; examples that could not be
    read come last.
    """
    trees = trees_of(model.data, texts)
    predictions = predictions_of(model, trees)
    answers = [
        _answer(model, at, *each) for at, each in zip(trees.places, predictions, strict=True)
    ]
    guesses = (f"guessed {guess}\n" for guess in trees.guesses)
    answers[0] = answers[0]._replace(words="".join([*guesses, answers[0].words]))
    typed = len(texts) > 1 and not model.data["pairs"]
    for place, fault in trees.unreadable:  # the place of a typed tree is its number
        words, values = str(place), place.as_dict
        if typed:
            words, values = f"tree {place.line}", {"tree": texts[place.line - 1]}
        answers.append(Answer(f"{words}: not read: {fault}", values | {"fault": fault}))
    return answers


def predictions_of(model: Opened, trees: TreeFile) -> list[tuple[Any, Any, Shares, Any]]:
    """For each example its trees, the prediction, the probabilities, and the truth, if known."""
    predicted = model.estimator.predict(trees.trees)
    shares: list[Shares] = [None] * len(trees)
    if model.data["task"] == "classification":
        names = list(map(str, model.estimator.classes_))
        rows = model.estimator.predict_proba(trees.trees).tolist()
        shares = [dict(zip(names, row, strict=True)) for row in rows]
    true = trees.targets or [None] * len(trees)
    return list(zip(trees.trees, predicted, shares, true, strict=True))


def _answer(
    model: Opened,
    place: Place,
    example: Any,
    predicted: Any,
    shares: Shares,
    true: Any,
) -> Answer:
    """The answer for an example, which is named by its place if it is in a folder."""
    text = " and ".join(map(str, example)) if isinstance(example, tuple) else str(example)
    values: dict[str, Any] = place.as_dict if place.file else {"tree": text}
    shown = (
        str(place) if place.file else (text if len(text) <= SHOWN else f"{text[: SHOWN - 4]} ...")
    )
    if model.data["task"] == "nodes":
        nodes = list(zip(predicted, example.preorder(), strict=True))
        if model.data["target"] == NODES:  # words have no label of their own
            values["labels"] = [label if has_target(node) else None for label, node in nodes]
            labelled = relabelled(example, predicted)
        else:
            values["labels"] = predicted
            labelled = relabelled(example, [f"{node.label}={label}" for label, node in nodes], True)
        right = "" if true is None else f"\n  {_right(predicted, true)}"
        of = f"{place}: " if place.file else ""
        return Answer(f"{of}{labelled}{right}", values | ({} if true is None else {"true": true}))
    if model.data["task"] == "regression":
        values["number"] = float(predicted)
        words = f"{shown}: {in_digits(float(predicted), 6)}"
    else:
        probability = max((shares or {}).values())
        values |= {"class": str(predicted), "probability": probability}
        words = f"{shown}: {predicted}, {percent(probability, 1)}"
    if true is not None:
        values["true"] = true
        words += f"; true: {in_digits(true, 6) if isinstance(true, float) else true}"
    probabilities = Probabilities(list(shares), partial(dict, shares)) if shares else None
    return Answer(words, values, probabilities)


def _right(predicted: Sequence[Any], true: Sequence[Any]) -> str:
    pairs = [pair for pair in zip(predicted, true, strict=True) if pair[1] is not None]
    return f"{sum(a == b for a, b in pairs)} of {len(pairs)} nodes as in the file"


def relabelled(tree: Tree, labels: Sequence[Any], words: bool = False) -> Tree:
    """A tree with other labels at its nodes; words keep their own unless ``words``.

    Args:
        tree: the tree, its labels hidden.
        labels: labels of all nodes, in preorder.
        words: True if leaves without a token also get new labels.

    Example:
        >>> hidden = Tree("*", [Tree("*", [Tree("It")]), Tree("works")])
        >>> relabelled(hidden, ["S", "NP", "-", "-"])
        <Tree (S (NP It) works)>
    """
    labelled = [
        (label if words or has_target(node) else node.label, node)
        for label, node in zip(labels, tree.preorder(), strict=True)
    ]
    done: list[Tree] = []  # a stack of finished subtrees, the leftmost on top
    for label, node in reversed(labelled):
        arity = len(node.children)
        children = [done.pop() for _ in range(arity)]
        done.append(Tree(label, children, node.token))
    return done[0]
