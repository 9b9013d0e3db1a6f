"""Logical relations: pairs of sentences of propositional logic and the relation between them.

A sentence is built from the variables a to f with ``and``, ``or`` and ``not``. It stands for the
set of worlds in which it is true, out of 2^6 = 64 truth assignments. No sentence is true in all
worlds or in none. Two such sets A and B are in one of seven relations, written as in the files:

=======  ====================  =======================================
``=``    equivalence           A = B
``<``    entailment            A is a proper subset of B
``>``    reverse entailment    B is a proper subset of A
``^``    negation              disjoint, and every world is in one
``|``    alternation           disjoint, and some world is in neither
``v``    cover                 overlapping, and every world is in one
``#``    independence          none of these
=======  ====================  =======================================

Files and test sets are numbered by the larger number of operators of the two sentences. The
published files number 12 also hold the pairs with more operators, up to 19.

Reference:
    Bowman, Potts and Manning, "Recursive Neural Networks Can Learn Logical Semantics", CVSC 2015.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from structnet import parse
from structnet.checks import wrong
from structnet.datasets.lrt_generator import MAX_OPERATORS, Pair, generate
from structnet.datasets.source import fetch, sources
from structnet.datasets.truth import RELATIONS, num_operators
from structnet.datasets.truth import relation as relation
from structnet.training.files import replacing
from structnet.trees.memory import collector_paused
from structnet.trees.tree import Tree

PUBLISHED_TRAIN, PUBLISHED_TEST, PUBLISHED_UP_TO_4 = 211_702, 37_367, 68_425
GENERATED, TEST_SHARE = 250_000, 0.15  # pairs by default, and how many of them are for testing
TRAIN_OPERATORS, VALIDATION_SHARE = 4, 0.1  # as in the experiments with the published pairs

SOURCES = {source.name: source for source in sources("lrt")}


@dataclass(frozen=True)
class LogicalRelations:
    """Pairs for training, for validation and, by number of operators, for testing.

    Attributes:
        train: pairs to train on, with few operators.
        validation: pairs with any number of operators; none of them is in ``train``.
        test: test pairs by number of operators.
        origin: ``"published"`` or ``"generated"``.
    """

    train: list[Pair]
    validation: list[Pair]
    test: dict[int, list[Pair]]
    origin: str


@collector_paused()
def load(
    data_dir: str | Path | None = None,
    max_train_operators: int = TRAIN_OPERATORS,
    validation_fraction: float = VALIDATION_SHARE,
    seed: int = 0,
    download: bool = False,
) -> LogicalRelations:
    """The published pairs, split as in the experiments with them.

    Args:
        data_dir: folder to search first, and in it ``lrt``, for ``train0`` to ``train12`` and
            ``test0`` to ``test12``; the cache is searched next.
        max_train_operators: largest number of operators of a training pair.
        validation_fraction: share of the pairs in all training files, drawn at random, to validate
            on instead of training on them.
        seed: seed of the draw.
        download: True to download files that are not found.

    Raises:
        DownloadError: a file is not found, or its download failed.
        WrongFileError: a file is not the published one.
        ValueError: the share is not in [0, 1).
    """
    known: dict[str, Tree] = {}  # most sentences with few operators occur many times
    numbers = range(MAX_OPERATORS + 1)
    train = {n: _read(fetch(SOURCES[f"train{n}"], data_dir, download), known) for n in numbers}
    test = {n: _read(fetch(SOURCES[f"test{n}"], data_dir, download), known) for n in numbers}
    assert sum(map(len, train.values())) == PUBLISHED_TRAIN  # since the hashes match
    assert sum(map(len, test.values())) == PUBLISHED_TEST
    assert sum(len(train[n]) for n in range(5)) == PUBLISHED_UP_TO_4
    return split(train, test, max_train_operators, validation_fraction, seed, "published")


@collector_paused()
def generated(
    num_pairs: int = GENERATED,
    max_operators: int = MAX_OPERATORS,
    max_train_operators: int = TRAIN_OPERATORS,
    validation_fraction: float = VALIDATION_SHARE,
    seed: int = 0,
) -> LogicalRelations:
    """Pairs from :func:`generate`, split like the published ones.

    Args:
        num_pairs, max_operators, seed: arguments of :func:`generate`.
        max_train_operators, validation_fraction: arguments of :func:`load`.

    Raises:
        ValueError: the share is not in [0, 1), or an argument is wrong, as in :func:`generate`.

    Example:
        >>> data = generated(1000, max_operators=6)
        >>> sum(map(len, data.test.values())), data.origin
        (150, 'generated')
    """
    pairs = generate(num_pairs, max_operators, seed)
    num_test = round(TEST_SHARE * num_pairs)
    return split(
        _by_operators(pairs[num_test:], max_operators),
        _by_operators(pairs[:num_test], max_operators),
        max_train_operators,
        validation_fraction,
        seed,
        "generated",
    )


def split(
    train: Mapping[int, list[Pair]],
    test: Mapping[int, list[Pair]],
    max_train_operators: int,
    validation_fraction: float,
    seed: int,
    origin: str,
) -> LogicalRelations:
    """Sets random validation pairs aside; the remaining pairs with few operators are for training.

    Args:
        train, test: pairs by number of operators.
        max_train_operators, validation_fraction, seed: arguments of :func:`load`.
        origin: "published" or "generated".

    Raises:
        ValueError: the share is not in [0, 1).
    """
    if not 0 <= validation_fraction < 1:
        raise wrong("validation_fraction", "in [0, 1)", validation_fraction)
    # The draw is over all pairs, whatever their number of operators.
    pairs = [(n, pair) for n in sorted(train) for pair in train[n]]
    order = np.random.default_rng(seed).permutation(len(pairs))
    held_out = order[: round(validation_fraction * len(pairs))]
    kept = np.sort(order[len(held_out) :])
    return LogicalRelations(
        train=[pair for n, pair in (pairs[i] for i in kept) if n <= max_train_operators],
        validation=[pairs[i][1] for i in held_out],
        test={n: list(test[n]) for n in sorted(test)},
        origin=origin,
    )


@collector_paused()
def read_tsv(path: str | Path) -> list[Pair]:
    """The pairs in a file of lines ``relation<TAB>left<TAB>right``.

    Raises:
        ParseError: a line is bad; the error shows the first one.
    """
    return _read(path, {})


def write_tsv(path: str | Path, pairs: Iterable[Pair]) -> None:
    """Writes a file for :func:`read_tsv`, one pair on each line; replaces the file if it exists."""
    with replacing(path) as file:
        for pair in pairs:
            left, right = parse.to_logic(pair.left), parse.to_logic(pair.right)
            file.write(f"{pair.relation}\t{left}\t{right}\n".encode())


def _read(path: str | Path, known: dict[str, Tree]) -> list[Pair]:
    """As read_tsv; ``known`` has the sentences read so far, so that each tree is built once."""

    def sentence(text: str) -> Tree:
        tree = known.get(text)
        if tree is None:
            tree = known[text] = parse.logic(text)
        return tree

    def read(line: str) -> Pair:
        fields = line.split("\t")
        if len(fields) != 3 or fields[0] not in RELATIONS:
            raise ValueError(
                f"expected a relation ({' '.join(RELATIONS)}), a tab, a sentence, a tab and a "
                f"sentence; got {line[:40]!r}"
            )
        return Pair(fields[0], sentence(fields[1]), sentence(fields[2]))

    return parse.read_lines(path, read).values


def _by_operators(pairs: Iterable[Pair], max_operators: int) -> dict[int, list[Pair]]:
    groups: dict[int, list[Pair]] = {n: [] for n in range(max_operators + 1)}
    for pair in pairs:
        groups[max(num_operators(pair.left), num_operators(pair.right))].append(pair)
    return groups
