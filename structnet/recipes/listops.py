"""ListOps for a run: the value of a list expression, 0 to 9."""

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

    from structnet.datasets.listops import ListOps
    from structnet.trees.tree import Tree

EXAMPLE = "[MAX 2 9 [MIN 4 7 ] 0 ]"
DIGITS = tuple("0123456789")
VALIDATION_SHARE, MAX_VALIDATION = 0.05, 5000  # there is no validation file
TEST_SHARE = 0.1  # of generated expressions


def data_set() -> TreeDataSet:
    """The data set, with operators as types and digits as tokens."""
    from structnet.datasets import evaluate_expression, listops
    from structnet.trees.vocabulary import Vocabulary

    return TreeDataSet(
        "listops",
        "expressions",
        1,
        DIGITS,
        Vocabulary(listops.OPERATORS, DIGITS, max(listops.ARITIES)),
        inputs,
        load,
        lambda data_dir: get_files((listops.TRAIN, listops.TEST), data_dir),
        write_generated,
        lambda path: Labelled(*listops.read_tsv(path)),
        parse_expression,
        write_expressions,
        lambda trees: str(evaluate_expression(trees[0])),
    )


def inputs() -> Tensor:
    """The input vector of each digit k: 1 in the first k + 1 of 10 entries. ``[10, 10]``."""
    import torch

    return torch.tril(torch.ones(10, 10))


def load(wanted: Wanted) -> tuple[Labelled, Labelled, Labelled, str]:
    """The data of a run; validation is a part of what the run may train on."""
    import numpy as np

    from structnet.datasets import listops

    num_train = wanted.train_size or listops.PUBLISHED_TRAIN
    num_test = wanted.test_size or listops.PUBLISHED_TEST
    depth = wanted.max_depth or listops.PUBLISHED_DEPTH
    if wanted.generate:
        data = generated(num_train, num_test, depth)
    else:
        data = listops.load(wanted.data_dir, num_train, num_test, DATA_SEED, depth)
    known = Labelled(data.train_trees, data.train_labels)
    order = np.random.default_rng(DATA_SEED).permutation(num_train)
    held_out = min(max(round(VALIDATION_SHARE * num_train), 1), MAX_VALIDATION)
    return (
        known[order[held_out:].tolist()],
        known[order[:held_out].tolist()],
        Labelled(data.test_trees, data.test_labels),
        data.origin,
    )


def generated(num_train: int, num_test: int, max_depth: int = 20, seed: int = DATA_SEED) -> ListOps:
    """As :func:`structnet.datasets.listops.load` does where no published files are at hand."""
    from structnet.datasets import evaluate_expression, listops

    trees = listops.generate(num_train + num_test, seed, max_depth)
    labels = [evaluate_expression(tree) for tree in trees]
    train, test = slice(num_train), slice(num_train, None)
    return listops.ListOps(trees[train], labels[train], trees[test], labels[test], "generated")


def write_generated(out: Path, num: int | None, seed: int) -> list[Path]:
    """Writes generated expressions to ``train.tsv`` and ``test.tsv``."""
    from structnet.datasets import listops

    total = num or listops.PUBLISHED_TRAIN + listops.PUBLISHED_TEST
    num_test = max(round(TEST_SHARE * total), 1)
    data = generated(total - num_test, num_test, seed=seed)
    paths = [out / "train.tsv", out / "test.tsv"]
    listops.write_tsv(paths[0], data.train_trees, data.train_labels)
    listops.write_tsv(paths[1], data.test_trees, data.test_labels)
    return paths


def parse_expression(texts: Sequence[str]) -> tuple[Tree, ...]:
    """The expression that a user typed.

    Raises:
        ParseError: it is none.
        ValueError: there is more than one.
    """
    from structnet import parse

    check_number(texts, 1, f"one expression, in quotation marks, such as {EXAMPLE!r}")
    return (parse.listops(texts[0]),)


def write_expressions(trees: Sequence[Tree]) -> list[str]:
    """The trees of an example as a user would type them."""
    from structnet import parse

    return [parse.to_listops(tree) for tree in trees]
