"""LRT for a run: how two sentences of propositional logic are related, one of seven ways."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from structnet.recipes.trees import (
    DATA_SEED,
    Labelled,
    TreeDataSet,
    Wanted,
    check_number,
    get_files,
)

if TYPE_CHECKING:
    from torch import Tensor

    from structnet.datasets.lrt import Pair
    from structnet.trees.tree import Tree

# Of the generated pairs at least 1 in 6 is a training pair, and 15 % are test pairs.
PAIRS_PER_TRAIN, PAIRS_PER_TEST, ALL_PAIRS = 6, 7, 250_000

RELATION_NAMES = {
    "=": "equivalence",
    "<": "entailment",
    ">": "reverse entailment",
    "^": "negation",
    "|": "alternation",
    "v": "cover",
    "#": "independence",
}


def data_set() -> TreeDataSet:
    """The data set, with operators as types and variables as tokens."""
    from structnet.datasets import lrt, relation
    from structnet.datasets.truth import RELATIONS, VARIABLES
    from structnet.trees.vocabulary import Vocabulary

    return TreeDataSet(
        "lrt",
        "pairs",
        2,
        RELATIONS,
        Vocabulary(["and", "or", "not"], VARIABLES, 2),
        inputs,
        load,
        lambda data_dir: get_files(list(lrt.SOURCES.values()), data_dir),
        write_generated,
        lambda path: labelled(lrt.read_tsv(path)),
        parse_sentences,
        write_sentences,
        lambda trees: relation(*trees),
        lambda name: f"{name} ({RELATION_NAMES[name]})",
        groups,
    )


def inputs() -> Tensor:
    """One-hot vectors of the variables, ``[6, 6]``."""
    import torch

    from structnet.datasets.truth import VARIABLES

    return torch.eye(len(VARIABLES))


def load(wanted: Wanted) -> tuple[Labelled, Labelled, Labelled, str]:
    """The data of a run, split as the paper splits them."""
    from structnet.datasets import find, lrt

    train_size, test_size = wanted.train_size, wanted.test_size
    at_hand = any(find(source, wanted.data_dir) for source in lrt.SOURCES.values())
    if at_hand and not wanted.generate:
        data = lrt.load(wanted.data_dir, seed=DATA_SEED)
    else:
        pairs = PAIRS_PER_TRAIN * (train_size or 0), PAIRS_PER_TEST * (test_size or 0)
        num_pairs = max(pairs) if train_size and test_size else ALL_PAIRS
        data = lrt.generated(max(num_pairs, 100), seed=DATA_SEED)
    train = chosen(data.train, train_size, "training")
    # A small run is not to spend its time on validation.
    validation = chosen(data.validation, min(len(data.validation), len(train)), "validation")
    test = chosen([p for n in sorted(data.test) for p in data.test[n]], test_size, "test")
    return labelled(train), labelled(validation), labelled(test), data.origin


def write_generated(out: Path, num: int | None, seed: int) -> list[Path]:
    """Writes generated pairs to ``train.tsv``, ``validation.tsv`` and ``test.tsv``."""
    from structnet.datasets import lrt

    data = lrt.generated(num or ALL_PAIRS, seed=seed)
    test = [pair for n in sorted(data.test) for pair in data.test[n]]
    parts = {"train": data.train, "validation": data.validation, "test": test}
    for part, pairs in parts.items():
        lrt.write_tsv(out / f"{part}.tsv", pairs)
    return [out / f"{part}.tsv" for part in parts]


def parse_sentences(texts: Sequence[str]) -> tuple[Tree, ...]:
    """The two sentences that a user typed.

    Raises:
        ParseError: one is none.
        ValueError: there are not two.
    """
    from structnet import parse

    check_number(texts, 2, "two sentences, each in quotation marks")
    return tuple(map(parse.logic, texts))


def write_sentences(trees: Sequence[Tree]) -> list[str]:
    """The trees of an example as a user would type them."""
    from structnet import parse

    return [parse.to_logic(tree) for tree in trees]


def groups(data: Labelled) -> list[int]:
    """The operators of each pair's longer sentence; as in the files, 12 is 12 or more."""
    from structnet.datasets import num_operators
    from structnet.datasets.lrt_generator import MAX_OPERATORS

    count = [num_operators(tree) for tree in data.trees]
    pairs = zip(count[0::2], count[1::2], strict=True)
    return [min(max(pair), MAX_OPERATORS) for pair in pairs]


def labelled(pairs: Sequence[Pair]) -> Labelled:
    """Pairs as trees, two an example, with the numbers of their relations."""
    from structnet.datasets.truth import RELATIONS

    number = {name: i for i, name in enumerate(RELATIONS)}
    trees = [tree for pair in pairs for tree in (pair.left, pair.right)]
    return Labelled(trees, [number[pair.relation] for pair in pairs])


def chosen(pairs: Sequence[Pair], size: int | None, what: str) -> list[Pair]:
    """So many of the pairs, at random but always the same; all of them for None.

    Raises:
        ValueError: there are fewer.
    """
    import numpy as np

    if size is None:
        return list(pairs)
    if size > len(pairs):
        raise ValueError(f"there are {len(pairs):,} {what} pairs; {size:,} were asked for")
    order = np.random.default_rng(DATA_SEED).permutation(len(pairs))
    return [pairs[i] for i in order[:size].tolist()]
