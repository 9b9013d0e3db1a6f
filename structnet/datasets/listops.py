"""ListOps: nested list operations on digits, with one of ten values.

The published files hold 90,000 and 10,000 trees. Without them, :func:`load` generates as many from
the same grammar. Their statistics match: a mean of 42.6 tokens (published: 42.8), a median of 16,
and 22.5 % of trees with at most 7 tokens.

Reference:
    Nangia and Bowman, "ListOps: A Diagnostic Dataset for Latent Tree Learning", NAACL SRW 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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
        train_trees, test_trees: trees of the operators MIN, MAX, MED and SM over digits.
        train_labels, test_labels: value of each tree, 0 to 9.
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
    """The published trees if their files are found, otherwise as many generated ones.

    Args:
        data_dir: folder to search first, and in it ``listops``, for ``train_d20s.tsv`` and
            ``test_d20s.tsv``; the cache is searched next.
        num_train, num_test: numbers of trees; of the published ones, the first are taken.
        seed: seed of the generator.
        max_depth: number of levels of the largest trees; any other than 20 generates the trees.
        download: True to download the published files if they are not found.

    Raises:
        ValueError: the published files hold fewer trees, or generating fails as in
            :func:`generate`.
        WrongFileError: a file is not the published one.
        DownloadError: a download failed, or only one of the two files is found.

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
    """Trees from :func:`generate` and their values, never the published ones.

    Args:
        num_train, num_test, seed, max_depth: arguments of :func:`load`.

    Raises:
        ValueError: an argument is wrong, as in :func:`generate`.
    """
    trees = generate(num_train + num_test, seed, max_depth)
    labels = [evaluate_expression(tree) for tree in trees]
    train, test = slice(num_train), slice(num_train, None)
    return ListOps(trees[train], labels[train], trees[test], labels[test], "generated")


@collector_paused()
def generate(num_trees: int = 100_000, seed: int = 0, max_depth: int = 20) -> list[Tree]:
    """Draws distinct random trees until there are enough, and shuffles them.

    A node is an operator with probability 1/4 and a digit otherwise; on the last level it is always
    a digit. Operators, digits and the number of operands, 2 to 5, are uniform. Repeated trees are
    dropped, so the more trees are drawn, the larger they are on average.

    Args:
        num_trees: number of trees.
        seed: seed of the draw; the same seed gives the same trees.
        max_depth: number of levels of the largest trees; with 1, all trees are digits.

    Raises:
        ValueError: a number is not positive, or there are fewer trees of that depth.

    Example:
        >>> [str(tree) for tree in generate(3, seed=1, max_depth=2)]
        ['9', '(MED 9 5)', '0']
    """
    check_integer("num_trees", num_trees, 1, owner="generate")
    check_integer("max_depth", max_depth, 1, owner="generate")
    if _too_many(num_trees, max_depth):
        raise ValueError(
            f"there are fewer than {num_trees:,} trees of {max_depth} levels; expected a smaller "
            "num_trees or a larger max_depth"
        )
    grammar_seed, order_seed = np.random.SeedSequence(seed).spawn(2)
    sequences = _distinct(num_trees, grammar_seed, max_depth)
    order = np.random.default_rng(order_seed).permutation(num_trees)
    return [_build(sequences[i]) for i in order]


def evaluate_expression(tree: Tree) -> int:
    """The value of a tree: MED is the median rounded down, SM the sum modulo 10.

    Raises:
        ValueError: the tree has an operator or a leaf that ListOps does not have.

    Example:
        >>> evaluate_expression(parse.listops("[MED 5 0 [SM 7 8 ] 6 ]"))
        5
    """
    return tree.fold(_value)


@collector_paused()
def read_tsv(path: str | Path) -> tuple[list[Tree], list[int]]:
    """The trees and values in a file of lines ``value<TAB>expression``, in either notation.

    Raises:
        ParseError: a line is bad; the error shows the first one.
    """

    def read(line: str) -> tuple[Tree, int]:
        value, tab, expression = line.partition("\t")
        if not tab or value not in _DIGITS:
            raise ValueError(f"expected a value 0-9, a tab and an expression; got {line[:40]!r}")
        return parse.listops(expression), int(value)

    rows = parse.read_lines(path, read).values
    return [tree for tree, _ in rows], [value for _, value in rows]


def write_tsv(path: str | Path, trees: Sequence[Tree], labels: Sequence[int]) -> None:
    """Writes a file for :func:`read_tsv`, one tree on each line; replaces the file if it exists.

    Args:
        path: path of the file.
        trees, labels: trees and their values.

    Raises:
        ValueError: the numbers of trees and labels differ.
    """
    with replacing(path) as file:
        for tree, label in zip(trees, labels, strict=True):
            file.write(f"{label}\t{parse.to_listops(tree)}\n".encode())


def _published(
    source: Source, size: int, wanted: int, data_dir: str | Path | None, download: bool
) -> tuple[list[Tree], list[int]]:
    if wanted > size:
        raise ValueError(f"{source.name} holds {size:,} trees; {wanted:,} were requested")
    trees, labels = read_tsv(fetch(source, data_dir, download))
    assert len(trees) == size  # since the hash matches
    return trees[:wanted], labels[:wanted]


_DIGITS = frozenset("0123456789")
_LEAVES = [Tree(digit) for digit in sorted(_DIGITS)]
# A tree is one byte for each node in preorder: a digit, or 10 + the place in _OPERATIONS. An entry
# of the table is a digit with probability 3/4, else an operator with its arity: one draw a node.
_OPERATIONS = [(operator, arity) for operator in OPERATORS for arity in ARITIES]
_GRAMMAR = np.repeat(np.arange(10 + len(_OPERATIONS)), [48] * 10 + [10] * len(_OPERATIONS))


def _too_many(num_trees: int, max_depth: int) -> bool:
    count = 10
    for _ in range(max_depth - 1):
        if count >= num_trees:  # stop before the count becomes astronomically large
            break
        count = 10 + len(OPERATORS) * sum(count**arity for arity in ARITIES)
    return count < num_trees


def _stream(seed: np.random.SeedSequence, table: np.ndarray) -> Iterator[int]:
    rng = np.random.default_rng(seed)
    while True:
        yield from table[rng.integers(len(table), size=1 << 14)].tolist()


def _distinct(num_trees: int, seed: np.random.SeedSequence, max_depth: int) -> list[bytes]:
    """That many different trees as bytes in preorder, in the order in which they are drawn."""
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
    waiting = [1]  # for each level, the number of siblings still to draw
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
    """The tree with these nodes in preorder."""
    done: list[Tree] = []  # a stack filled from the right, so its top is the leftmost subtree
    for code in reversed(nodes):
        if code < 10:
            done.append(_LEAVES[code])
            continue
        operator, arity = _OPERATIONS[code - 10]
        children = done[: -arity - 1 : -1]  # from the top of the stack down: left to right
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
