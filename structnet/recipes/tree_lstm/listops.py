"""ListOps for a run: the value of a list expression, 0 to 9."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from structnet import parse
from structnet.datasets import evaluate_expression, listops
from structnet.datasets.source import Source
from structnet.recipes.tree_lstm.settings import Sizes
from structnet.recipes.tree_lstm.trees import DATA_SEED, Labelled, TreeData, TreeDataSet
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

EXAMPLE = "[MAX 2 9 [MIN 4 7 ] 0 ]"
VALIDATION_SHARE, MAX_VALIDATION = 0.05, 5000  # there is no validation file
TEST_SHARE = 0.1  # of the expressions that `structnet data` generates


class ListOpsData(TreeDataSet):
    """ListOps, with operators as types and digits as tokens."""

    name, unit, num_trees = "listops", "expressions", 1
    classes = tuple("0123456789")
    typed = f"one expression, in quotation marks, such as {EXAMPLE!r}"
    from_text, to_text = staticmethod(parse.listops), staticmethod(parse.to_listops)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The operators and digits."""
        return Vocabulary(listops.OPERATORS, self.classes, max(listops.ARITIES))

    def inputs(self) -> Tensor:
        """The input vector of each digit k, with 1 in the first k + 1 entries. ``[10, 10]``."""
        return torch.tril(torch.ones(10, 10))

    def load(self, sizes: Sizes, data_dir: Path | None) -> TreeData:
        num_train = sizes.train_size or listops.PUBLISHED_TRAIN
        num_test = sizes.test_size or listops.PUBLISHED_TEST
        depth = sizes.max_depth or listops.PUBLISHED_DEPTH
        if sizes.generate:
            data = listops.generated(num_train, num_test, DATA_SEED, depth)
        else:
            data = listops.load(data_dir, num_train, num_test, DATA_SEED, depth)
        known = Labelled(data.train_trees, data.train_labels)
        order = np.random.default_rng(DATA_SEED).permutation(num_train).tolist()
        held_out = min(max(round(VALIDATION_SHARE * num_train), 1), MAX_VALIDATION)
        test = Labelled(data.test_trees, data.test_labels)
        train, validation = known[order[held_out:]], known[order[:held_out]]
        return TreeData(train, validation, test, data.origin, self.known)

    def sources(self) -> Sequence[Source]:
        return listops.TRAIN, listops.TEST

    def generate(self, out: Path, num: int | None, seed: int) -> list[Path]:
        total = num or listops.PUBLISHED_TRAIN + listops.PUBLISHED_TEST
        num_test = max(round(TEST_SHARE * total), 1)
        data = listops.generated(total - num_test, num_test, seed)
        paths = [out / "train.tsv", out / "test.tsv"]
        listops.write_tsv(paths[0], data.train_trees, data.train_labels)
        listops.write_tsv(paths[1], data.test_trees, data.test_labels)
        return paths

    def read(self, path: str | Path) -> Labelled:
        return Labelled(*listops.read_tsv(path))

    def truth(self, trees: Sequence[Tree]) -> str:
        return str(evaluate_expression(trees[0]))
