"""The data of a run on trees, and what a data set of trees has to know of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from structnet.datasets.source import Source
from structnet.recipes.protocol import sizes_of
from structnet.recipes.tree_lstm.settings import Sizes
from structnet.trees import Forest, TreeExamples
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

# Data are made and split with this seed whatever the run's: all runs are tested on the same trees.
DATA_SEED = 0


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
        trees = [tree for i in indices for tree in self.example(i)]
        return Labelled(trees, [self.labels[i] for i in indices])

    def example(self, i: int) -> tuple[Tree, ...]:
        """The trees of one example."""
        k = len(self.trees) // len(self.labels)
        return tuple(self.trees[k * i : k * (i + 1)])

    def encoded(self, vocabulary: Vocabulary) -> TreeExamples:
        """The same as one forest with targets."""
        return TreeExamples(Forest.from_trees(self.trees, vocabulary), list(self.labels))


@dataclass(frozen=True)
class TreeData:
    """What a run trains on, selects its best epoch by, and is tested on at the end.

    Attributes:
        train, validation, test: examples.
        origin: "published" or "generated".
        known: vocabulary and classes, as ``config.json`` has them.
    """

    train: Labelled
    validation: Labelled
    test: Labelled
    origin: str
    known: dict[str, Any]

    def describe(self) -> dict[str, Any]:
        """Where the data come from, how many they are, and what they are made of."""
        return {"origin": self.origin, **sizes_of(self), **self.known}


class TreeDataSet(ABC):
    """A data set whose examples are trees with a class.

    Attributes:
        name: its name.
        unit: word for its examples.
        num_trees: trees of one example.
        classes: names of the classes.
        typed: inputs that a user types, in words.
        from_text, to_text: functions from what stands for a tree there to the tree, and back.
        groups: a number an example by which its accuracy is told too, if there is one.
    """

    name: str
    unit: str
    num_trees: int
    classes: tuple[str, ...]
    typed: str
    from_text: Callable[[str], Tree]
    to_text: Callable[[Tree], str]
    groups: Callable[[Labelled], list[int]] | None = None

    @property
    def known(self) -> dict[str, Any]:
        """Vocabulary and classes, as ``config.json`` has them."""
        return {"vocabulary": self.vocabulary.to_dict(), "classes": list(self.classes)}

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """Labels of nodes -> types and tokens."""

    @property
    def arity(self) -> int:
        """The most children of a node."""
        assert self.vocabulary.arity is not None  # as the operators are known
        return self.vocabulary.arity

    @abstractmethod
    def inputs(self) -> Tensor:
        """The input vectors of the tokens, ``[tokens, size]``."""

    @abstractmethod
    def load(self, sizes: Sizes, data_dir: Path | None) -> TreeData:
        """The data of a run, read or generated.

        Raises:
            ValueError: there are fewer than were asked for.
        """

    @abstractmethod
    def sources(self) -> Sequence[Source]:
        """The published files."""

    @abstractmethod
    def generate(self, out: Path, num: int | None, seed: int) -> list[Path]:
        """Writes examples, by default as many as are published, to a folder; gives the files."""

    @abstractmethod
    def read(self, path: str | Path) -> Labelled:
        """The examples of a file."""

    def parse(self, texts: Sequence[str]) -> tuple[Tree, ...]:
        """The trees that a user typed.

        Raises:
            ValueError: they are not those of one example.
        """
        if len(texts) != self.num_trees:
            raise ValueError(f"expected {self.typed}; got {len(texts)}")
        return tuple(map(self.from_text, texts))

    def write(self, trees: Sequence[Tree]) -> list[str]:
        """The trees of an example as a user would type them."""
        return list(map(self.to_text, trees))

    @abstractmethod
    def truth(self, trees: Sequence[Tree]) -> str:
        """The true class of an example."""

    def in_words(self, name: str) -> str:
        """A class as a reader knows it."""
        return name


FITTING = range(15, 31)  # nodes of an example that makes a good picture


def nearest_size(sizes: Sequence[int]) -> int:
    """The place of the first example of a fitting size, or else of the one nearest to that.

    Example:
        >>> nearest_size([3, 200, 20, 21]), nearest_size([3, 200, 9])
        (2, 2)
    """
    middle = (FITTING[0] + FITTING[-1]) // 2
    return min(
        range(len(sizes)), key=lambda i: 0 if sizes[i] in FITTING else abs(sizes[i] - middle)
    )
