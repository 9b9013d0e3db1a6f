"""What a model says of trees: of those in a file, or of those that somebody typed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from structnet import tensor_tree
from structnet.datasets.tree_file_formats import ANY, ENDINGS, FORMATS, Place
from structnet.datasets.tree_file_targets import KINDS, NODES, has_target
from structnet.recipes.recipe import Answer, is_file
from structnet.recipes.tree_file.data import read_like, read_typed
from structnet.routing.words import percent
from structnet.training.checkpoint import CheckpointError
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from structnet.datasets import TreeFile
    from structnet.recipes.run import Run

SHOWN = 60  # characters of a tree
TOLD = {"format", "target", "task", "pairs", "classes", "baseline"}


class Opened(NamedTuple):
    """A trained estimator, and what its run says of the data."""

    estimator: Any
    told: dict[str, Any]


def estimator(task: str | None) -> Any:
    """The class of estimators for a task."""
    return {
        "classification": tensor_tree.TreeLSTMClassifier,
        "regression": tensor_tree.TreeLSTMRegressor,
        "nodes": tensor_tree.TreeNodeClassifier,
    }[str(task)]


def told_of(run: Run) -> dict[str, Any]:
    """What a run says of its data.

    Raises:
        CheckpointError: somebody edited it.
    """
    told = run.config["data"]
    known = isinstance(told, dict) and told.keys() >= TOLD
    if not known or told["task"] not in KINDS or told["format"] not in FORMATS:
        raise CheckpointError(
            f"{run}/config.json is not one that structnet train wrote: its data must say "
            f"{', '.join(sorted(TOLD))}"
        )
    return told


def asked(told: dict[str, Any], texts: Sequence[str]) -> TreeFile:
    """The trees that are asked about.

    Args:
        told: description of the run's data.
        texts: path of a file or folder; or trees, of a run on pairs the two of one.

    Raises:
        ValueError: they are no trees of the run's format.
        OSError: there is no such file.
    """
    files = [text for text in texts if _is_path(text)]
    if files and len(texts) > 1:
        raise ValueError(f"expected one file, or trees, not both; got {' '.join(texts)}")
    if files:
        return read_like(told, files[0], needed=False)
    return read_typed(told, "\t".join(texts) if told["pairs"] else texts)


def _is_path(text: str) -> bool:
    """Is it that of a file or folder, or the name of a file that is not there?"""
    try:  # the path of nothing is the folder we are in
        there = bool(text.strip()) and Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or with a null character
        return False
    return there or (re.fullmatch(r"[\w./~-]+", text) is not None and is_file(text, ENDINGS + ANY))


def answer(model: Opened, texts: Sequence[str], ask: object) -> list[Answer]:
    """What a model says of each tree of a file, or of those that were typed, in words and values;
    before these in words what was guessed, and at last what could not be read."""
    trees = asked(model.told, texts)
    said = said_of(model, trees)
    found = [_answer(model, at, *each) for at, each in zip(trees.places, said, strict=True)]
    guesses = (f"guessed {guess}\n" for guess in trees.guesses)
    found[0] = found[0]._replace(words="".join([*guesses, found[0].words]))
    typed = len(texts) > 1 and not model.told["pairs"]
    for place, fault in trees.unreadable:  # of several that were typed, each is a place
        words, values = str(place), place.said
        if typed:
            words, values = f"tree {place.line}", {"tree": texts[place.line - 1]}
        found.append(Answer(f"{words}: not read: {fault}", values | {"fault": fault}))
    return found


def said_of(model: Opened, trees: TreeFile) -> list[tuple[Any, Any, float | None, Any]]:
    """Of each example its trees, the prediction, its probability and the truth, if known."""
    predicted = model.estimator.predict(trees.trees)
    probabilities: list[float | None] = [None] * len(trees)
    if model.told["task"] == "classification":
        probabilities = model.estimator.predict_proba(trees.trees).max(axis=1).tolist()
    true = trees.targets or [None] * len(trees)
    return list(zip(trees.trees, predicted, probabilities, true, strict=True))


def _answer(
    model: Opened,
    place: Place,
    example: Any,
    predicted: Any,
    probability: float | None,
    true: Any,
) -> Answer:
    """What is said of an example, which is told by its file where it has one of its own."""
    text = " and ".join(map(str, example)) if isinstance(example, tuple) else str(example)
    values: dict[str, Any] = place.said if place.file else {"tree": text}
    shown = (
        str(place) if place.file else (text if len(text) <= SHOWN else f"{text[: SHOWN - 4]} ...")
    )
    if model.told["task"] == "nodes":
        nodes = list(zip(predicted, example.preorder(), strict=True))
        if model.told["target"] == NODES:  # of which words have none
            values["labels"] = [label if has_target(node) else None for label, node in nodes]
            labelled = relabelled(example, predicted)
        else:
            values["labels"] = predicted
            labelled = relabelled(example, [f"{node.label}={label}" for label, node in nodes], True)
        right = "" if true is None else f"\n  {_right(predicted, true)}"
        of = f"{place}: " if place.file else ""
        return Answer(f"{of}{labelled}{right}", values | ({} if true is None else {"true": true}))
    if model.told["task"] == "regression":
        values["number"] = float(predicted)
        words = f"{shown}: {float(predicted):.4g}"
    else:
        values |= {"class": str(predicted), "probability": probability}
        words = f"{shown}: {predicted}, {percent(probability or 0, 1)}"
    if true is not None:
        values["true"] = true
        words += f"; true: {true:g}" if isinstance(true, float) else f"; true: {true}"
    return Answer(words, values)


def _right(predicted: Sequence[Any], true: Sequence[Any]) -> str:
    pairs = [pair for pair in zip(predicted, true, strict=True) if pair[1] is not None]
    return f"{sum(a == b for a, b in pairs)} of {len(pairs)} nodes as in the file"


def relabelled(tree: Tree, labels: Sequence[Any], words: bool = False) -> Tree:
    """A tree with other labels at its nodes; words keep their own, unless they have one, too.

    Args:
        tree: the tree, its labels hidden.
        labels: labels of all nodes, in preorder.
        words: do leaves without a token take theirs, too?

    Example:
        >>> hidden = Tree("*", [Tree("*", [Tree("It")]), Tree("works")])
        >>> relabelled(hidden, ["S", "NP", "-", "-"])
        <Tree (S (NP It) works)>
    """
    found = [
        (label if words or has_target(node) else node.label, node)
        for label, node in zip(labels, tree.preorder(), strict=True)
    ]
    done: list[Tree] = []  # from the right: the top is the leftmost
    for label, node in reversed(found):
        arity = len(node.children)
        children = [done.pop() for _ in range(arity)]
        done.append(Tree(label, children, node.token))
    return done[0]
