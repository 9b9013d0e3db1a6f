"""LRT for a run: which of seven relations holds between two sentences of propositional logic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from structnet import parse
from structnet.datasets import find, lrt, num_operators, relation
from structnet.datasets.lrt_generator import MAX_OPERATORS, Pair
from structnet.datasets.source import Source
from structnet.datasets.truth import VARIABLES
from structnet.recipes.arrays import drawn
from structnet.recipes.tree_lstm.settings import Sizes
from structnet.recipes.tree_lstm.trees import DATA_SEED, Labelled, TreeData, TreeDataSet
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

# Of the generated pairs at least 1 in 6 is a training pair, and 15 % are test pairs.
PAIRS_PER_TRAIN, PAIRS_PER_TEST = 6, 7

RELATION_NAMES = {  # in the order of the classes
    "=": "equivalence",
    "<": "entailment",
    ">": "reverse entailment",
    "^": "negation",
    "|": "alternation",
    "v": "cover",
    "#": "independence",
}


class LRTData(TreeDataSet):
    """LRT, with operators as types and variables as tokens."""

    name, unit, num_trees = "lrt", "pairs", 2
    classes = tuple(RELATION_NAMES)
    typed = "two sentences, each in quotation marks"
    from_text, to_text = staticmethod(parse.logic), staticmethod(parse.to_logic)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The operators and variables."""
        return Vocabulary(["and", "or", "not"], VARIABLES, 2)

    def inputs(self) -> Tensor:
        """One-hot vectors of the variables, ``[6, 6]``."""
        return torch.eye(len(self.vocabulary.tokens))

    def load(self, sizes: Sizes, data_dir: Path | None) -> TreeData:
        train_size, test_size = sizes.train_size, sizes.test_size
        at_hand = any(find(source, data_dir) for source in self.sources())
        if at_hand and not sizes.generate:
            data = lrt.load(data_dir, seed=DATA_SEED)
        else:
            pairs = PAIRS_PER_TRAIN * (train_size or 0), PAIRS_PER_TEST * (test_size or 0)
            num_pairs = max(pairs) if train_size and test_size else lrt.GENERATED
            data = lrt.generated(max(num_pairs, 100), seed=DATA_SEED)
        train = _chosen(data.train, train_size, "training pairs")
        # A small run must not spend most of its time on validation.
        held_out = min(len(data.validation), len(train))
        validation = _chosen(data.validation, held_out, "validation pairs")
        pairs_by_size = [pair for n in sorted(data.test) for pair in data.test[n]]
        test = _chosen(pairs_by_size, test_size, "test pairs")
        learn, choose, ask = map(self._labelled, (train, validation, test))
        return TreeData(learn, choose, ask, data.origin, self.known)

    def sources(self) -> Sequence[Source]:
        return list(lrt.SOURCES.values())

    def generate(self, out: Path, num: int | None, seed: int) -> list[Path]:
        data = lrt.generated(num or lrt.GENERATED, seed=seed)
        test = [pair for n in sorted(data.test) for pair in data.test[n]]
        parts = {"train": data.train, "validation": data.validation, "test": test}
        paths = {out / f"{part}.tsv": pairs for part, pairs in parts.items()}
        for path, pairs in paths.items():
            lrt.write_tsv(path, pairs)
        return list(paths)

    def read(self, path: str | Path) -> Labelled:
        return self._labelled(lrt.read_tsv(path))

    def _labelled(self, pairs: Sequence[Pair]) -> Labelled:
        number = {name: i for i, name in enumerate(self.classes)}
        trees = [tree for pair in pairs for tree in (pair.left, pair.right)]
        return Labelled(trees, [number[pair.relation] for pair in pairs])

    def truth(self, trees: Sequence[Tree]) -> str:
        return relation(*trees)

    def in_words(self, name: str) -> str:
        return f"{name} ({RELATION_NAMES[name]})"

    def groups(self, data: Labelled) -> list[int]:
        """The number of operators in each pair's longer sentence; 12 means 12 or more."""
        count = [num_operators(tree) for tree in data.trees]
        pairs = zip(count[0::2], count[1::2], strict=True)
        return [min(max(pair), MAX_OPERATORS) for pair in pairs]


def _chosen(pairs: Sequence[Pair], size: int | None, what: str) -> list[Pair]:
    """``size`` of the pairs, always the same random ones; all of them for None."""
    if size is None:
        return list(pairs)
    return [pairs[i] for i in drawn(len(pairs), size, DATA_SEED, what).tolist()]
