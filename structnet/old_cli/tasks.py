"""The two tasks: their classes, their data, and what a user may type for them.

An example of a task is ``num_trees`` trees in a row, as in
:class:`~structnet.trees.examples.TreeExamples`: one expression of listops, two sentences of lrt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet import parse
from structnet.datasets import evaluate_expression, find, listops, lrt, num_operators, relation
from structnet.datasets.lrt_generator import MAX_OPERATORS
from structnet.datasets.truth import RELATIONS, VARIABLES
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

# Data are made and split with this seed whatever the run's: all runs are tested on the same trees.
DATA_SEED = 0
VALIDATION_SHARE, MAX_VALIDATION = 0.05, 5000  # of listops, which has no validation file
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


@dataclass(frozen=True)
class Labelled:
    """Trees and the numbers of their classes, before they become a forest.

    Attributes:
        trees: those of one example next to each other.
        labels: one number an example.
    """

    trees: Sequence[Tree]
    labels: Sequence[int]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, indices: Iterable[int]) -> Labelled:
        k = len(self.trees) // max(len(self.labels), 1)
        trees = [tree for i in indices for tree in self.trees[k * i : k * (i + 1)]]
        return Labelled(trees, [self.labels[i] for i in indices])

    def example(self, i: int) -> tuple[Tree, ...]:
        """The trees of one example."""
        k = len(self.trees) // len(self.labels)
        return tuple(self.trees[k * i : k * (i + 1)])

    def encoded(self, vocabulary: Vocabulary) -> TreeExamples:
        """The same as one forest with targets."""
        return TreeExamples(Forest.from_trees(self.trees, vocabulary), list(self.labels))


@dataclass(frozen=True)
class TaskData:
    """What a run trains on, selects its best epoch by, and is tested on at the end.

    Attributes:
        train, validation, test: examples.
        origin: "published" or "generated".
    """

    train: Labelled
    validation: Labelled
    test: Labelled
    origin: str

    def describe(self) -> dict[str, Any]:
        """Where the data come from and how many they are, for ``config.json``."""
        sizes = {name: len(getattr(self, name)) for name in ("train", "validation", "test")}
        return {"origin": self.origin, **sizes}


class ListOpsTask:
    """The value of a list expression, 0 to 9."""

    name, unit, num_trees = "listops", "expressions", 1
    example = "[MAX 2 9 [MIN 4 7 ] 0 ]"
    classes = tuple("0123456789")
    grouped = False  # is the accuracy told by number of operators, too?

    def vocabulary(self) -> Vocabulary:
        """Operators as types, digits as tokens."""
        return Vocabulary(listops.OPERATORS, self.classes, max(listops.ARITIES))

    def inputs(self) -> Tensor:
        """The input vector of each digit k: 1 in the first k + 1 of 10 entries."""
        return torch.tril(torch.ones(10, 10))

    def load(self, settings: Mapping[str, Any]) -> TaskData:
        """The data of a run; validation is a part of what the run may train on."""
        num_train = settings["train_size"] or listops.PUBLISHED_TRAIN
        num_test = settings["test_size"] or listops.PUBLISHED_TEST
        if settings["generate"]:
            data = self.generate(num_train, num_test, settings["max_depth"])
        else:
            data = listops.load(
                settings["data_dir"], num_train, num_test, DATA_SEED, settings["max_depth"]
            )
        known = Labelled(data.train_trees, data.train_labels)
        order = np.random.default_rng(DATA_SEED).permutation(num_train)
        held_out = min(max(round(VALIDATION_SHARE * num_train), 1), MAX_VALIDATION)
        return TaskData(
            known[order[held_out:].tolist()],
            known[order[:held_out].tolist()],
            Labelled(data.test_trees, data.test_labels),
            data.origin,
        )

    def published_wanted(self, settings: Mapping[str, Any]) -> bool:
        """Would the published files be used if they were at hand?"""
        published_depth = settings["max_depth"] == listops.PUBLISHED_DEPTH
        return published_depth and not settings["generate"]

    def generate(
        self, num_train: int, num_test: int, max_depth: int = 20, seed: int = DATA_SEED
    ) -> listops.ListOps:
        """As ``listops.load`` does where the published files are not at hand."""
        trees = listops.generate(num_train + num_test, seed, max_depth)
        labels = [evaluate_expression(tree) for tree in trees]
        train, test = slice(num_train), slice(num_train, None)
        return listops.ListOps(trees[train], labels[train], trees[test], labels[test], "generated")

    def read(self, path: str | Path) -> Labelled:
        """The examples of a file of lines ``value<TAB>expression``."""
        return Labelled(*listops.read_tsv(path))

    def parse(self, texts: Sequence[str]) -> tuple[Tree, ...]:
        """The expression that a user typed.

        Raises:
            ParseError: it is none.
            ValueError: there is more than one.
        """
        _check_number(texts, 1, f"one expression, in quotation marks, such as {self.example!r}")
        return (parse.listops(texts[0]),)

    def write(self, trees: Sequence[Tree]) -> list[str]:
        """The trees of an example as a user would type them."""
        return [parse.to_listops(tree) for tree in trees]

    def truth(self, trees: Sequence[Tree]) -> str:
        """The true class of an example."""
        return str(evaluate_expression(trees[0]))

    def in_words(self, name: str) -> str:
        """A class as a reader knows it."""
        return name


class LogicTask:
    """How two sentences of propositional logic are related, one of seven ways."""

    name, unit, num_trees = "lrt", "pairs", 2
    classes = RELATIONS
    grouped = True

    def vocabulary(self) -> Vocabulary:
        """Operators as types, variables as tokens."""
        return Vocabulary(["and", "or", "not"], VARIABLES, 2)

    def inputs(self) -> Tensor:
        """One-hot vectors of the variables."""
        return torch.eye(len(VARIABLES))

    def load(self, settings: Mapping[str, Any]) -> TaskData:
        """The data of a run, split as the paper splits them."""
        train_size, test_size = settings["train_size"], settings["test_size"]
        at_hand = any(find(source, settings["data_dir"]) for source in lrt.SOURCES.values())
        if at_hand and not settings["generate"]:
            data = lrt.load(settings["data_dir"], seed=DATA_SEED)
        else:
            wanted = PAIRS_PER_TRAIN * (train_size or 0), PAIRS_PER_TEST * (test_size or 0)
            num_pairs = max(wanted) if train_size and test_size else ALL_PAIRS
            data = lrt.generated(max(num_pairs, 100), seed=DATA_SEED)
        train = _chosen(data.train, train_size, "training")
        # A small run is not to spend its time on validation.
        validation = _chosen(data.validation, min(len(data.validation), len(train)), "validation")
        test = _chosen([p for n in sorted(data.test) for p in data.test[n]], test_size, "test")
        return TaskData(*map(self._labelled, (train, validation, test)), data.origin)

    def published_wanted(self, settings: Mapping[str, Any]) -> bool:
        """Would the published files be used if they were at hand?"""
        return not settings["generate"]

    def read(self, path: str | Path) -> Labelled:
        """The examples of a file of lines ``relation<TAB>left<TAB>right``."""
        return self._labelled(lrt.read_tsv(path))

    def parse(self, texts: Sequence[str]) -> tuple[Tree, ...]:
        """The two sentences that a user typed.

        Raises:
            ParseError: one is none.
            ValueError: there are not two.
        """
        _check_number(texts, 2, "two sentences, each in quotation marks")
        return tuple(map(parse.logic, texts))

    def write(self, trees: Sequence[Tree]) -> list[str]:
        """The trees of an example as a user would type them."""
        return [parse.to_logic(tree) for tree in trees]

    def truth(self, trees: Sequence[Tree]) -> str:
        """The true class of an example."""
        return relation(*trees)

    def in_words(self, name: str) -> str:
        """A class as a reader knows it."""
        return f"{name} ({RELATION_NAMES[name]})"

    def groups(self, data: Labelled) -> list[int]:
        """The operators of each pair's longer sentence; as in the files, 12 is 12 or more."""
        count = [num_operators(tree) for tree in data.trees]
        pairs = zip(count[0::2], count[1::2], strict=True)
        return [min(max(pair), MAX_OPERATORS) for pair in pairs]

    def _labelled(self, pairs: Sequence[lrt.Pair]) -> Labelled:
        number = {name: i for i, name in enumerate(self.classes)}
        trees = [tree for pair in pairs for tree in (pair.left, pair.right)]
        return Labelled(trees, [number[pair.relation] for pair in pairs])


Task = ListOpsTask | LogicTask
TASKS: dict[str, Task] = {task.name: task for task in (ListOpsTask(), LogicTask())}


def _chosen(pairs: Sequence[lrt.Pair], size: int | None, what: str) -> list[lrt.Pair]:
    """So many of the pairs, at random but always the same; all of them for None."""
    if size is None:
        return list(pairs)
    if size > len(pairs):
        raise ValueError(f"there are {len(pairs):,} {what} pairs; {size:,} were asked for")
    order = np.random.default_rng(DATA_SEED).permutation(len(pairs))
    return [pairs[i] for i in order[:size].tolist()]


def _check_number(texts: Sequence[str], number: int, expected: str) -> None:
    if len(texts) != number:
        raise ValueError(f"expected {expected}; got {len(texts)}")
