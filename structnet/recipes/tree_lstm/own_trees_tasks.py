"""Tasks on syntax trees of Python's library, on Boolean expressions, and on a treebank.

======================  ==========================================================================
``package``             which of eight packages a function is from
``package-by-file``     the same; no file has functions on both sides of the split
``package-bare``        the same, without names and constants
``loop``                is a loop inside a condition? (functions that have both)
``value``               the value of a Boolean expression
``root``                the hidden label of a sentence
``tag``                 the hidden tag of a hidden word; no sentence is on both sides
``next``                does a sentence follow another? no part of the text is on both sides
``nouns``               the number of nouns in a sentence
``nouns-hidden``        the same, with the words' tags hidden
``uses``                are names, attributes and the like read, written or deleted?
``tags``                the tag of each word, with all labels hidden
``phrases``             the label of each phrase, with all labels hidden
======================  ==========================================================================
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from structnet.datasets import python_functions
from structnet.parse import bracketed_many
from structnet.trees.tree import Tree

LEAST = 10  # examples that a class must have
HIDDEN = 4  # words of a sentence whose tag is asked for, each in an example of its own
TRACE = "-NONE-"  # the tag of a trace, which stands for words that are elsewhere

# Labels of leaves that belong to Python's grammar; others are the author's.
OPERATORS = """
Add Sub Mult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv MatMult And Or Not Invert UAdd
USub Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn Pass Break Continue arguments
"""
WORDS = set(OPERATORS.split())
# Nodes that are read, written or deleted, which the parser states in their last child.
USED = {"Name", "Attribute", "Subscript", "Starred", "List", "Tuple"}


class Task(NamedTuple):
    """Trees with their targets.

    Attributes:
        trees: the trees, or pairs of trees.
        y: classes, or float64 numbers, ``[n]``; for tasks on nodes, lists of the nodes' classes in
            preorder, with None for nodes without a class, ``[n]``.
        groups: file or sentence of each tree, which a split must keep together; None if trees can
            be split individually.
    """

    trees: list[Any]
    y: np.ndarray
    groups: Sequence[Any] | None = None

    @property
    def of_numbers(self) -> bool:
        """Whether the targets are numbers, not classes."""
        return self.y.dtype.kind == "f"

    @property
    def of_nodes(self) -> bool:
        """Whether the targets are classes of nodes, not of trees."""
        return self.y.dtype.kind == "O"

    def has_class(self, places: np.ndarray) -> np.ndarray:
        """A mask over all nodes of some trees of those that have a class, ``[nodes]``."""
        return np.array([label is not None for i in places for label in self.y[i]])

    def answers(self, places: np.ndarray) -> np.ndarray:
        """The targets of some trees, or of their nodes that have a class, ``[m]``."""
        if not self.of_nodes:
            return self.y[places]
        return np.array([label for i in places for label in self.y[i] if label is not None])


@lru_cache(maxsize=1)  # all models of a task are trained before those of the next
def task(name: str, treebank: Path | None = None) -> Task:
    """A task by its name.

    Args:
        name: name of the task.
        treebank: file of bracketed sentences; None for tasks without sentences.
    """
    if name in _OF_SENTENCES:
        assert treebank is not None
        return _OF_SENTENCES[name](list(bracketed_many(treebank.read_text(encoding="utf-8"))))
    return _OF_PROGRAMS[name]()


# Programs


def _package(by_file: bool = False, bare: bool = False) -> Task:
    functions = python_functions()
    trees = [_bare(tree) for tree in functions.trees] if bare else functions.trees
    return Task(trees, np.array(functions.packages), functions.files if by_file else None)


def _bare(tree: Tree) -> Tree:
    return tree.map(lambda n: n.label if n.children or n.label in WORDS else "x")


def _loop() -> Task:
    chosen, y = [], []
    for tree in python_functions(packages=None).trees:
        inside, both, stack = False, set(), [(tree, False)]
        while stack:
            node, below = stack.pop()
            kind = {"For": "loop", "While": "loop", "If": "if"}.get(str(node.label))
            if node.children and kind:
                both.add(kind)
                inside |= kind == "loop" and below
            stack += [(child, below or kind == "if") for child in node.children]
        if len(both) == 2:
            chosen.append(tree)
            y.append(inside)
    return Task(chosen, np.array(y))


RULES: Mapping[str, Callable[[Sequence[int]], int]] = {
    "and": min,
    "or": max,
    "xor": lambda of: of[0] ^ of[1],
    "not": lambda of: 1 - of[0],
}


def _value_at(node: Tree, of: Sequence[int]) -> int:
    return RULES[str(node.label)](of) if of else int(str(node.label))


def _value(count: int = 6000) -> Task:
    rng = random.Random(0)

    def draw(depth: int) -> Tree:
        if depth == 0 or (depth < 4 and rng.random() < 0.3):
            return Tree(rng.choice("01"))
        name = rng.choice(list(RULES))
        return Tree(name, [draw(depth - 1) for _ in range(1 if name == "not" else 2)])

    trees = [draw(rng.randint(2, 5)) for _ in range(count)]
    y = [tree.fold(_value_at) for tree in trees]
    return Task(trees, np.array(y))


def _uses() -> Task:
    return _of_nodes(python_functions(contexts=True).trees, _use_hidden)


def _use_hidden(node: Tree, of: Sequence[Tree]) -> tuple[Tree, str | None]:
    """A node without its use, which the parser states in the last child; and that use, or None."""
    has = bool(of) and node.label in USED  # a leaf with such a label is just a word
    use = str(of[-1].label) if has else None
    return Tree(node.label, of[:-1] if use else of), use


def _of_nodes(
    trees: list[Tree], hide: Callable[[Tree, Sequence[Tree]], tuple[Tree, str | None]]
) -> Task:
    """A task on nodes whose class is hidden by a function of a node and its new children."""

    def hidden(node: Tree, of: Sequence[tuple[Tree, list]]) -> tuple[Tree, list]:
        new, label = hide(node, [child for child, _ in of])
        return new, [label, *chain(*(below for _, below in of[: len(new.children)]))]

    shown, classes = [], np.empty(len(trees), object)
    for i, tree in enumerate(trees):
        new, classes[i] = tree.fold(hidden)
        shown.append(new)
    return Task(shown, classes)


# Sentences


def _is_tag(node: Tree) -> bool:
    return len(node.children) == 1 and not node.children[0].children


def _root(trees: list[Tree]) -> Task:
    return _frequent([Tree("?", tree.children) for tree in trees], [_kind(t) for t in trees])


def _tag(trees: list[Tree]) -> Task:
    rng, masked, y, groups = random.Random(0), [], [], []
    for i, tree in enumerate(trees):
        nodes = list(tree.postorder())
        tags = [k for k, n in enumerate(nodes) if _is_tag(n) and n.label != TRACE]
        for k in rng.sample(tags, min(HIDDEN, len(tags))):
            hidden = (k - 1, k)  # in postorder a word is just before its tag
            entries = (
                ("?" if j in hidden else n.label, len(n.children), n.token)
                for j, n in enumerate(nodes)
            )
            masked.append(Tree.from_postorder(entries))
            y.append(str(nodes[k].label))
            groups.append(i)
    return _frequent(masked, y, groups)


def _next(trees: list[Tree]) -> Task:
    """Pairs of each sentence with the next, or with a distant one in the same part of the text."""
    part = min(200, max(len(trees) // 8, 4))
    far = max(part // 6, 2)
    rng, pairs, y, groups = random.Random(0), [], [], []
    for i in range(len(trees) - 1):
        start = i - i % part
        within = range(start, min(start + part, len(trees)))
        is_next = rng.random() < 0.5
        others = [j for j in within if (j == i + 1 if is_next else abs(i - j) >= far)]
        if others:
            pairs.append((trees[i], trees[rng.choice(others)]))
            y.append(is_next)
            groups.append(start)
    return Task(pairs, np.array(y), groups)


def _nouns(trees: list[Tree], hidden: bool = False) -> Task:
    y = [sum(_is_tag(n) and str(n.label).startswith("NN") for n in t.preorder()) for t in trees]
    if hidden:
        trees = [tree.map(lambda n: "TAG" if _is_tag(n) else n.label) for tree in trees]
    return Task(trees, np.array(y, dtype=float))


def _tags(trees: list[Tree]) -> Task:
    return _of_nodes(trees, lambda n, of: _label_hidden(n, of, _is_tag(n) and n.label != TRACE))


def _phrases(trees: list[Tree]) -> Task:
    return _of_nodes(trees, lambda n, of: _label_hidden(n, of, bool(of) and not _is_tag(n)))


def _label_hidden(node: Tree, of: Sequence[Tree], has_class: bool) -> tuple[Tree, str | None]:
    """A phrase without its label, or a word in place of its tag; and that label or None."""
    new = of[0] if _is_tag(node) else Tree("?" if of else node.label, of)
    return new, _kind(node) if has_class else None


def _kind(phrase: Tree) -> str:
    """The label of a phrase without its function, such as "NP" for "NP-SBJ"."""
    return re.split("[-=]", str(phrase.label))[0] or str(phrase.label)


def _frequent(trees: list[Tree], y: list[str], groups: list[int] | None = None) -> Task:
    count = Counter(y)
    kept = [i for i, label in enumerate(y) if count[label] >= LEAST]
    of = None if groups is None else [groups[i] for i in kept]
    return Task([trees[i] for i in kept], np.array([y[i] for i in kept]), of)


_OF_PROGRAMS: Mapping[str, Callable[[], Task]] = {
    "package": _package,
    "package-by-file": lambda: _package(by_file=True),
    "package-bare": lambda: _package(bare=True),
    "loop": _loop,
    "value": _value,
    "uses": _uses,
}
_OF_SENTENCES: Mapping[str, Callable[[list[Tree]], Task]] = {
    "root": _root,
    "tag": _tag,
    "next": _next,
    "nouns": _nouns,
    "nouns-hidden": lambda trees: _nouns(trees, hidden=True),
    "tags": _tags,
    "phrases": _phrases,
}
