"""The targets of trees: classes, numbers, or labels in the trees, which must be hidden there."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, get_args

from structnet.datasets.csv_file import is_number
from structnet.datasets.table import MAX_CLASSES, few_whole_numbers
from structnet.trees.tree import Tree

Kind = Literal["classification", "regression", "nodes"]
KINDS: tuple[str, ...] = get_args(Kind)
ROOT, NODES = "root-label", "node-labels"
WHOLE = re.compile(r"(-?\d+)\.0")
HIDDEN = "*"  # replaces a label that is the target


def hide_root(tree: Tree, needed: bool = False) -> tuple[Tree, Hashable | None]:
    """A tree with ``*`` for the label of its root, and that label; None if it was ``*`` already.

    Args:
        tree: tree whose root is labelled by the target.
        needed: True for a tree to learn from, where ``*`` is a label like any other.

    Example:
        >>> hide_root(Tree("3", [Tree("2", [Tree("It")]), Tree("3", [Tree("works")])]))
        (<Tree (* (2 It) (3 works))>, '3')
    """
    label = None if tree.label == HIDDEN and not needed else tree.label
    return Tree(HIDDEN, tree.children, tree.token), label


def hide_nodes(tree: Tree, needed: bool = False) -> tuple[Tree, list[Hashable | None] | None]:
    """A tree with ``*`` for the labels of its nodes, and these in preorder; None if there are none.

    A leaf without a token keeps its label, which is the input of a model there. Its target is None,
    as is the target of a node whose label was ``*`` already.

    Args:
        tree, needed: arguments of :func:`hide_root`.

    Example:
        >>> hide_nodes(Tree("3", [Tree("2", [Tree("It")]), Tree("3", [Tree("works")])]))
        (<Tree (* (* It) (* works))>, ['3', '2', None, '3', None])
    """
    labels = [
        node.label if has_target(node) and (needed or node.label != HIDDEN) else None
        for node in tree.preorder()
    ]
    known = any(label is not None for label in labels)
    return tree.fold(_hidden), labels if known else None


def has_target(node: Tree) -> bool:
    """True if the label of a node may be a target; that of a leaf without a token is an input."""
    return bool(node.children) or node.token is not None


def _hidden(node: Tree, children: list[Tree]) -> Tree:
    return Tree(HIDDEN, children, node.token) if has_target(node) else node


# The function that takes a target out of a tree, by the name of the target.
INSIDE: dict[str, Callable[[Tree, bool], tuple[Tree, Any]]] = {ROOT: hide_root, NODES: hide_nodes}


def text_of(value: Any) -> Any:
    """A target as text without blanks around it, or a list of such texts; None if it is missing.

    Example:
        >>> text_of(" good "), text_of(True), text_of(3.5), text_of(""), text_of(["NP", None, 2])
        ('good', 'true', '3.5', None, ['NP', None, '2'])
    """
    if isinstance(value, list):
        return [text_of(each) for each in value]
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).strip() or None


def class_of(target: Any) -> Any:
    """The class that a target names, or a list of classes; ``.0`` is cut off whole numbers.

    Example:
        >>> class_of("1.0"), class_of("1.5"), class_of("v1.0"), class_of(["2.0", None])
        ('1', '1.5', 'v1.0', ['2', None])
    """
    if isinstance(target, list):
        return [class_of(each) for each in target]
    match = None if target is None else WHOLE.fullmatch(target)
    return match[1] if match else target


def guess(targets: Sequence[Any]) -> tuple[Kind, str]:
    """The task that targets suggest, and why.

    A few texts among many different numbers are taken for misprints, not for classes.

    Args:
        targets: texts or lists, at least one.

    Example:
        >>> guess(["good", "bad"]), guess(["0.5", "2", "3"])
        (('classification', 'names'), ('regression', 'numbers'))
        >>> guess(["0", "1", "1", "0"]), guess([["NP", None]])
        (('classification', '2 different whole numbers'), ('nodes', 'a list for each tree'))
    """
    if isinstance(targets[0], list):
        return "nodes", "a list for each tree"
    numbers = [each for each in targets if not isinstance(each, list) and is_number(each)]
    slips = len(targets) - len(numbers)
    if slips and (10 * slips > len(targets) or len(set(numbers)) <= MAX_CLASSES):
        return "classification", "names"
    if not slips and few_whole_numbers(numbers):
        return "classification", f"{len(set(map(float, numbers)))} different whole numbers"
    return "regression", "numbers"
