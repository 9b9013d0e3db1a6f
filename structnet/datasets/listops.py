"""ListOps: nested list operations on digits, with one of ten values.

The published files hold 90,000 and 10,000 trees. Without them, :func:`load` draws as many from the
grammar they were drawn from, which matches their statistics: a mean of 42.6 tokens (published:
42.8), a median of 16, and 22.5 % of trees with at most 7 tokens.

Reference:
    Nangia and Bowman, "ListOps: A Diagnostic Dataset for Latent Tree Learning", NAACL SRW 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from structnet import parse
from structnet.checks import check_integer
from structnet.datasets.source import Source, fetch, find, sources
from structnet.training.files import replacing
from structnet.trees.memory import collector_paused
from structnet.trees.tree import Tree

OPERATORS = ("MIN", "MAX", "MED", "SM")
ARITIES = (2, 3, 4, 5)

TRAIN, TEST = sources("listops")
PUBLISHED_DEPTH, PUBLISHED_TRAIN, PUBLISHED_TEST = 20, 90_000, 10_000


@dataclass(frozen=True)
class ListOps:
    """Trees and their values, for training and for testing; no tree is in both.

    Attributes:
        train_trees, test_trees: operators MIN, MAX, MED and SM over digits.
        train_labels, test_labels: the value of each tree, 0 to 9.
        origin: ``"published"`` or ``"generated"``.
    """

    train_trees: list[Tree]
    train_labels: list[int]
    test_trees: list[Tree]
    test_labels: list[int]
    origin: str


@collector_paused()
def load(
    data_dir: str | Path | None = None,
    num_train: int = PUBLISHED_TRAIN,
    num_test: int = PUBLISHED_TEST,
    seed: int = 0,
    max_depth: int = PUBLISHED_DEPTH,
    download: bool = False,
) -> ListOps:
    """The published trees if they lie at hand, and otherwise as many generated ones.

    Args:
        data_dir: a folder that may hold ``train_d20s.tsv`` and ``test_d20s.tsv``, directly or in a
            folder ``listops``; the cache is looked into as well.
        num_train, num_test: numbers of trees; fewer than published takes the first ones.
        seed: the generator's seed.
        max_depth: levels of the largest trees; another depth than 20 always generates.
        download: download the published files if they are not at hand.

    Raises:
        ValueError: more trees are asked for than the published files hold.
        WrongFileError: a file is not the published one.
        DownloadError: a download failed, or one of the two files lies there without the other.

    Example:
        >>> data = load(num_train=80, num_test=20, max_depth=5)
        >>> len(data.train_trees), len(data.test_labels), data.origin
        (80, 20, 'generated')
    """
    at_hand = any(find(source, data_dir) for source in (TRAIN, TEST))
    if max_depth == PUBLISHED_DEPTH and (at_hand or download):
        train = _published(TRAIN, PUBLISHED_TRAIN, num_train, data_dir, download)
        test = _published(TEST, PUBLISHED_TEST, num_test, data_dir, download)
        return ListOps(*train, *test, origin="published")
    return generated(num_train, num_test, seed, max_depth)


@collector_paused()
def generated(
    num_train: int = PUBLISHED_TRAIN,
    num_test: int = PUBLISHED_TEST,
    seed: int = 0,
    max_depth: int = PUBLISHED_DEPTH,
) -> ListOps:
    """Trees of our own making, as :func:`generate` draws them, and their values.

    Args:
        num_train, num_test, seed, max_depth: arguments of :func:`load`.

    Raises:
        ValueError: as of :func:`generate`.
    """
    trees = generate(num_train + num_test, seed, max_depth)
    labels = [evaluate_expression(tree) for tree in trees]
    train, test = slice(num_train), slice(num_train, None)
    return ListOps(trees[train], labels[train], trees[test], labels[test], "generated")


@collector_paused()
def generate(num_trees: int = 100_000, seed: int = 0, max_depth: int = 20) -> list[Tree]:
    """Distinct random trees, drawn until there are enough of them, in random order.

    Below the last level a node is an operator with probability 1/4 and a digit otherwise; on it,
    always a digit. Operators, digits and the number of operands, 2 to 5, are uniform. As only new
    trees are kept, the more of them are asked for, the larger they are.

    Args:
        num_trees: the number of trees.
        seed: the same seed gives the same trees.
        max_depth: levels of the largest trees; with 1, all trees are digits.

    Raises:
        ValueError: a number is not positive, or there are not that many trees of that depth.

    Example:
        >>> [str(tree) for tree in generate(3, seed=1, max_depth=2)]
        ['9', '(MED 9 5)', '0']
    """
    check_integer("num_trees", num_trees, 1, owner="generate")
    check_integer("max_depth", max_depth, 1, owner="generate")
    if _too_many(num_trees, max_depth):
        raise ValueError(f"there are fewer than {num_trees:,} trees of {max_depth} levels")
    grammar_seed, order_seed = np.random.SeedSequence(seed).spawn(2)
    sequences = _distinct(num_trees, grammar_seed, max_depth)
    order = np.random.default_rng(order_seed).permutation(num_trees)
    return [_build(sequences[i]) for i in order]


def evaluate_expression(tree: Tree) -> int:
    """The value of a tree: MED is the median cut to an integer, SM the sum modulo 10.

    Raises:
        ValueError: an operator or a leaf that ListOps does not have.

    Example:
        >>> evaluate_expression(parse.listops("[MED 5 0 [SM 7 8 ] 6 ]"))
        5
    """
    return tree.fold(_value)


@collector_paused()
def read_tsv(
    path: str | Path, errors: Literal["raise", "skip"] = "raise", verify: bool = False
) -> tuple[list[Tree], list[int]]:
    """Trees and values of a file of lines ``value<TAB>expression``, in either notation.

    Args:
        errors: "raise" or "skip" a bad line, as in :func:`structnet.parse.read_lines`.
        verify: also count a line as bad if its value is not the expression's.

    Raises:
        ParseError: the first bad line, if ``errors`` is "raise".
    """

    def read(line: str) -> tuple[Tree, int]:
        value, tab, expression = line.partition("\t")
        if not tab or value not in _DIGITS:
            raise ValueError(f"expected a value 0-9, a tab and an expression; got {line[:40]!r}")
        tree = parse.listops(expression)
        if verify and evaluate_expression(tree) != int(value):
            raise ValueError(
                f"the value is given as {value}; the expression's is {evaluate_expression(tree)}"
            )
        return tree, int(value)

    rows = parse.read_lines(path, read, errors).values
    return [tree for tree, _ in rows], [value for _, value in rows]


def write_tsv(
    path: str | Path, trees: Sequence[Tree], labels: Sequence[int], binary: bool = False
) -> None:
    """Writes what :func:`read_tsv` reads, one tree a line, replacing the file.

    Args:
        binary: in the published notation, with parentheses that pair the tokens up.

    Raises:
        ValueError: there are not as many labels as trees.
    """
    with replacing(path) as file:
        for tree, label in zip(trees, labels, strict=True):
            file.write(f"{label}\t{parse.to_listops(tree, binary)}\n".encode())


def _published(
    source: Source, size: int, wanted: int, data_dir: str | Path | None, download: bool
) -> tuple[list[Tree], list[int]]:
    if wanted > size:
        raise ValueError(f"{source.name} holds {size:,} trees; {wanted:,} were asked for")
    trees, labels = read_tsv(fetch(source, data_dir, download))
    assert len(trees) == size  # the hash has matched
    return trees[:wanted], labels[:wanted]


_DIGITS = frozenset("0123456789")
_LEAVES = [Tree(digit) for digit in sorted(_DIGITS)]
# A tree in preorder, one byte a node: a digit, or 10 + the place in _OPERATIONS. The table gives a
# digit with probability 3/4 and an operator and arity with 1/4, so one draw decides a whole node.
_OPERATIONS = [(operator, arity) for operator in OPERATORS for arity in ARITIES]
_GRAMMAR = np.repeat(np.arange(10 + len(_OPERATIONS)), [48] * 10 + [10] * len(_OPERATIONS))


def _too_many(num_trees: int, max_depth: int) -> bool:
    count = 10
    for _ in range(max_depth - 1):
        if count >= num_trees:  # before the count grows beyond all bounds
            break
        count = 10 + len(OPERATORS) * sum(count**arity for arity in ARITIES)
    return count < num_trees


def _stream(seed: np.random.SeedSequence, table: np.ndarray) -> Iterator[int]:
    rng = np.random.default_rng(seed)
    while True:
        yield from table[rng.integers(len(table), size=1 << 14)].tolist()


def _distinct(num_trees: int, seed: np.random.SeedSequence, max_depth: int) -> list[bytes]:
    """That many different trees in preorder, as they come."""
    grammar_seed, digit_seed = seed.spawn(2)
    codes = _stream(grammar_seed, _GRAMMAR)
    digits = _stream(digit_seed, np.arange(10))
    distinct: dict[bytes, None] = {}
    while len(distinct) < num_trees:
        distinct.setdefault(_draw(codes, digits, max_depth))  # a dict keeps the order of drawing
    return list(distinct)


def _draw(codes: Iterator[int], digits: Iterator[int], max_depth: int) -> bytes:
    """The nodes of one random tree in preorder."""
    nodes = []
    waiting = [1]  # per level, how many siblings are still to come
    while waiting:
        waiting[-1] -= 1
        code = next(codes if len(waiting) < max_depth else digits)
        nodes.append(code)
        if code >= 10:
            waiting.append(_OPERATIONS[code - 10][1])
        while waiting and not waiting[-1]:
            waiting.pop()
    return bytes(nodes)


def _build(nodes: bytes) -> Tree:
    """The tree whose nodes are given in preorder."""
    done: list[Tree] = []  # from the right: the top is the leftmost
    for code in reversed(nodes):
        if code < 10:
            done.append(_LEAVES[code])
            continue
        operator, arity = _OPERATIONS[code - 10]
        children = done[: -arity - 1 : -1]  # the top first: it is the leftmost operand
        del done[-arity:]
        done.append(Tree(operator, children))
    return done[0]


def _value(node: Tree, operands: list[int]) -> int:
    label = node.label
    if not operands:
        if label in _DIGITS:
            return int(label)
        raise ValueError(f"a leaf of a ListOps tree must be a digit '0' to '9'; got {label!r}")
    if label == "MAX":
        return max(operands)
    if label == "MIN":
        return min(operands)
    if label == "SM":
        return sum(operands) % 10
    if label == "MED":
        operands = sorted(operands)
        return (operands[(len(operands) - 1) // 2] + operands[len(operands) // 2]) // 2
    raise ValueError(f"unknown operator {label!r}; ListOps has {', '.join(OPERATORS)}")
