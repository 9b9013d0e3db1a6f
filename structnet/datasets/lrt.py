"""Logical relations: pairs of sentences of propositional logic and how they are related.

A sentence is built from the variables a to f with ``and``, ``or`` and ``not``. It stands for a set
of worlds: those of the 2^6 = 64 truth assignments that make it true. No sentence is true in all
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

Files and test sets are numbered by operators: the larger of the numbers that the two sentences
have. Number 12 also holds the pairs with more, up to 19.

Reference:
    Bowman, Potts and Manning, "Recursive Neural Networks Can Learn Logical Semantics", CVSC 2015.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from structnet import parse
from structnet.datasets.lrt_generator import MAX_OPERATORS, Pair, generate
from structnet.datasets.source import Source, fetch
from structnet.datasets.truth import RELATIONS, num_operators, relation
from structnet.trees.memory import collector_paused
from structnet.trees.tree import Tree

PUBLISHED_TRAIN, PUBLISHED_TEST, PUBLISHED_UP_TO_4 = 211_702, 37_367, 68_425

_FOLDER = "https://raw.githubusercontent.com/sleepinyourhat/vector-entailment/master"
_HASHES = {
    "train0": "6b7679d24a5121e747bbb6e1606c33773ef2803d2f1e3e5961f396bfe6d5ead1",
    "train1": "b18140de23966481c20d6d4cac1f014322f760d6f891f643ff4beca48df1d347",
    "train2": "b08cfe4e89fa941d053b7ba229f3743d25d0a73235c628bf45da645336ecc22a",
    "train3": "ab0dd5694b97815ed29d2be7016790ba78b5173b68df5702ed4d0f9cad087041",
    "train4": "ca53b91edcb966330ca6a4241ca313932f3dd897ce7af18b2446e6c551bb63fc",
    "train5": "8c6db46c7527aea7f685400075c2cebad2a36acb4904371c052827f3769baa00",
    "train6": "ab507a99dcd2f7a2c4a3c81fbdbf0e55e1169d48f1be177ee8278778f34cf141",
    "train7": "939a58dfb0ca552eedf479c4db414e115da88d9a5e665cf101a35dfa735d1d51",
    "train8": "469f3e45b28a63ddc48f687d9b8a6813f431f8cd38366c90facf8ea6e677dc34",
    "train9": "b65a324de9862d74de4165696b5570342f5e323eb95ceccb679959a71978d769",
    "train10": "dd50e0c545773f84767c4ecde1a4d331217e7a8cc2ecfb487a80525d05b73e1a",
    "train11": "18012480bb981a6d03cb3225b0e5761b84df9e4e2a659b5fdf911e0d0b35993e",
    "train12": "cfeced4bcf2c4364fec121b1c97cbd59a535a377d6123bd280400d627da9ec4c",
    "test0": "0f0f47ea2699b52c8e49d84466afdae457111320669b328e752b690d21dab0ef",
    "test1": "d846fd8e2e10c44b95796cd31a3ea9056bd2ab7e510447e92172d252b5a4ebcf",
    "test2": "74d3b9346bbdff39e9f6bd81bb84446309b3918e4d6dbae820280958c935fb82",
    "test3": "c22eb4b2120fd2599eea1772ff2983e44b5e5501f17bfedc7f526ab6ddea9557",
    "test4": "171a5b9ff84c8c8972662d7ee84d9bae88a0b0caf121c779e1898d08ff23d056",
    "test5": "4456aab62f4189a95645822d7fd22b8b12ebadc15679fb37ed93921d1ee11004",
    "test6": "b99fa4c2b48db710213cbfcf948ab08fdaf327c07f5e7fa978747f1cf73c53d0",
    "test7": "9951b19945ea6b7b388118b05ac497b197aba7e24fbd501c5d9cf71f57433da5",
    "test8": "8b653190922c9b5902339714e79d22654e0f34e61d691e0d592589a92882bc30",
    "test9": "6d404315b4e0b15e70084f621f7e9677deebf7378016b0df95fbb63487851ed5",
    "test10": "bb3b3d312bb3223bdad030695d6004dc9d1d6131fe26a5531f2e54cc1bd1e780",
    "test11": "f6ee99fac9b1459448f6b2dc0a263fab7493d9a1e05ed1d32e0674031aa4fda5",
    "test12": "37d63e62b894cd2f25977d3092c71da23244cbadcfa12909183f57da938abb9f",
}
SOURCES = {
    name: Source(
        name,
        folder="lrt",
        url=f"{_FOLDER}/propositionallogic/{name}",
        licence="none stated; research use",
        sha256=sha256,
    )
    for name, sha256 in _HASHES.items()
}


@dataclass(frozen=True)
class LogicalRelations:
    """Pairs for training, for validation and, by number of operators, for testing.

    Attributes:
        train: the pairs to train on, of few operators.
        validation: pairs of any number of operators; none of them is in ``train``.
        test: number of operators -> pairs.
        origin: ``"published"`` or ``"generated"``.
    """

    train: list[Pair]
    validation: list[Pair]
    test: dict[int, list[Pair]]
    origin: str


@collector_paused()
def load(
    data_dir: str | Path | None = None,
    max_train_operators: int = 4,
    validation_share: float = 0.1,
    seed: int = 0,
    download: bool = False,
) -> LogicalRelations:
    """The published pairs, split as the experiments with them are.

    Args:
        data_dir: a folder that may hold ``train0`` to ``train12`` and ``test0`` to ``test12``,
            directly or in a folder ``lrt``; the cache is looked into as well.
        max_train_operators: pairs with more operators are not trained on.
        validation_share: this share of all training files, drawn at random, becomes the validation
            pairs; what they hold is not trained on.
        seed: the same seed draws the same pairs.
        download: download files that are not at hand.

    Raises:
        DownloadError: a file is not at hand, or its download failed.
        WrongFileError: a file is not the published one.
        ValueError: the share is not in [0, 1).
    """
    known: dict[str, Tree] = {}  # most sentences of few operators occur many times
    numbers = range(MAX_OPERATORS + 1)
    train = {n: _read(fetch(SOURCES[f"train{n}"], data_dir, download), known) for n in numbers}
    test = {n: _read(fetch(SOURCES[f"test{n}"], data_dir, download), known) for n in numbers}
    assert sum(map(len, train.values())) == PUBLISHED_TRAIN  # the hashes have matched
    assert sum(map(len, test.values())) == PUBLISHED_TEST
    assert sum(len(train[n]) for n in range(5)) == PUBLISHED_UP_TO_4
    return split(train, test, max_train_operators, validation_share, seed, "published")


@collector_paused()
def generated(
    num_pairs: int = 250_000,
    max_operators: int = MAX_OPERATORS,
    max_train_operators: int = 4,
    validation_share: float = 0.1,
    test_share: float = 0.15,
    seed: int = 0,
) -> LogicalRelations:
    """Pairs of our own making, split like the published ones.

    Args:
        num_pairs, max_operators, seed: arguments of :func:`generate`.
        max_train_operators, validation_share: arguments of :func:`load`.
        test_share: the share of all pairs that is set aside for testing.

    Raises:
        ValueError: as :func:`generate`, or a share is not in [0, 1).

    Example:
        >>> data = generated(1000, max_operators=6)
        >>> sum(map(len, data.test.values())), data.origin
        (150, 'generated')
    """
    _check_share("test_share", test_share)
    pairs = generate(num_pairs, max_operators, seed)
    num_test = round(test_share * num_pairs)
    return split(
        _by_operators(pairs[num_test:], max_operators),
        _by_operators(pairs[:num_test], max_operators),
        max_train_operators,
        validation_share,
        seed,
        "generated",
    )


def split(
    train: Mapping[int, list[Pair]],
    test: Mapping[int, list[Pair]],
    max_train_operators: int = 4,
    validation_share: float = 0.1,
    seed: int = 0,
    origin: str = "generated",
) -> LogicalRelations:
    """Sets validation pairs aside, and trains on the remaining pairs of few operators.

    Args:
        train, test: number of operators -> pairs.
        max_train_operators, validation_share, seed: arguments of :func:`load`.
        origin: "published" or "generated".

    Raises:
        ValueError: the share is not in [0, 1).
    """
    _check_share("validation_share", validation_share)
    # The draw is over all pairs, whatever their number of operators.
    pairs = [(n, pair) for n in sorted(train) for pair in train[n]]
    order = np.random.default_rng(seed).permutation(len(pairs))
    held_out = order[: round(validation_share * len(pairs))]
    is_held_out = np.zeros(len(pairs), bool)
    is_held_out[held_out] = True
    return LogicalRelations(
        train=[
            pair
            for (n, pair), out in zip(pairs, is_held_out.tolist(), strict=True)
            if n <= max_train_operators and not out
        ],
        validation=[pairs[i][1] for i in held_out],
        test={n: list(test[n]) for n in sorted(test)},
        origin=origin,
    )


@collector_paused()
def read_tsv(
    path: str | Path, errors: Literal["raise", "skip"] = "raise", verify: bool = False
) -> list[Pair]:
    """The pairs of a file of lines ``relation<TAB>left<TAB>right``.

    Args:
        path: the file.
        errors: "raise" or "skip" a bad line, as in :func:`structnet.parse.read_lines`.
        verify: also count a line as bad if its relation is not the one of its sentences.

    Raises:
        ParseError: the first bad line, if ``errors`` is "raise".
    """
    return _read(path, {}, errors, verify)


def write_tsv(path: str | Path, pairs: Iterable[Pair]) -> None:
    """Writes what :func:`read_tsv` reads, replacing the file.

    Args:
        path: the file.
        pairs: one a line.
    """
    with Path(path).open("w", encoding="utf-8") as file:
        for pair in pairs:
            left, right = parse.to_logic(pair.left), parse.to_logic(pair.right)
            file.write(f"{pair.relation}\t{left}\t{right}\n")


def _read(
    path: str | Path,
    known: dict[str, Tree],
    errors: Literal["raise", "skip"] = "raise",
    verify: bool = False,
) -> list[Pair]:
    """As read_tsv; ``known`` holds the sentences read so far, each built only once."""

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
        pair = Pair(fields[0], sentence(fields[1]), sentence(fields[2]))
        if verify and pair.relation != relation(pair.left, pair.right):
            raise ValueError(
                f"the relation is given as {pair.relation}; the sentences' is "
                f"{relation(pair.left, pair.right)}"
            )
        return pair

    return parse.read_lines(path, read, errors).values


def _check_share(name: str, share: float) -> None:
    if not 0 <= share < 1:
        raise ValueError(f"The {name!r} parameter must be in [0, 1). Got {share!r}.")


def _by_operators(pairs: Iterable[Pair], max_operators: int) -> dict[int, list[Pair]]:
    groups: dict[int, list[Pair]] = {n: [] for n in range(max_operators + 1)}
    for pair in pairs:
        groups[max(num_operators(pair.left), num_operators(pair.right))].append(pair)
    return groups
