"""The data of a run on trees, and the interface of a data set of trees."""

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

# The seed of generating and splitting data in all runs, which are thus tested on the same trees.
DATA_SEED = 0


@dataclass(frozen=True)
class Labelled:
    """Trees and the numbers of their classes, before they become a forest.

    Attributes:
        trees: trees of all examples, those of one example next to each other.
        labels: number of each example's class.
    """

    trees: Sequence[Tree]
    labels: Sequence[int]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, indices: Iterable[int]) -> Labelled:
        trees = [tree for i in indices for tree in self.example(i)]
        return Labelled(trees, [self.labels[i] for i in indices])

    @property
    def roots(self) -> int:
        """The number of trees of each example."""
        return len(self.trees) // max(len(self.labels), 1) or 1

    def example(self, i: int) -> tuple[Tree, ...]:
        """The trees of one example."""
        k = self.roots
        return tuple(self.trees[k * i : k * (i + 1)])

    def encoded(self, vocabulary: Vocabulary) -> TreeExamples:
        """The same examples as one forest with targets."""
        forest = Forest.from_trees(self.trees, vocabulary)
        return TreeExamples(forest, list(self.labels), roots_per_example=self.roots)


@dataclass(frozen=True)
class TreeData:
    """The data of a run.

    Attributes:
        train, validation, test: examples; those for validation decide which epoch is best.
        origin: "published" or "generated".
        known: vocabulary and classes, as in ``config.json``.
    """

    train: Labelled
    validation: Labelled
    test: Labelled
    origin: str
    known: dict[str, Any]

    def describe(self) -> dict[str, Any]:
        """The description in ``config.json``: origin, sizes, vocabulary and classes."""
        return {"origin": self.origin, **sizes_of(self), **self.known}


class TreeDataSet(ABC):
    """A data set whose examples are trees with a class.

    Attributes:
        name: name of the data set.
        unit: plural noun for its examples.
        num_trees: number of trees in one example.
        classes: names of the classes.
        typed: description of the inputs that a user types.
        from_text, to_text: functions from a tree's text to the tree, and back.
        groups: function that returns a number for each example, by which the accuracy is also
            reported; None for no groups.
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
        """The vocabulary and the classes, as in ``config.json``."""
        return {"vocabulary": self.vocabulary.to_dict(), "classes": list(self.classes)}

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """The vocabulary, from labels of nodes to types and tokens."""

    @property
    def arity(self) -> int:
        """The largest number of children of a node."""
        assert self.vocabulary.arity is not None  # since the operators are known
        return self.vocabulary.arity

    @abstractmethod
    def inputs(self) -> Tensor:
        """The input vectors of the tokens, ``[tokens, size]``."""

    @abstractmethod
    def load(self, sizes: Sizes, data_dir: Path | None) -> TreeData:
        """The data of a run, read or generated.

        Raises:
            ValueError: there are fewer examples than asked for.
        """

    @abstractmethod
    def sources(self) -> Sequence[Source]:
        """The published files."""

    @abstractmethod
    def generate(self, out: Path, num: int | None, seed: int) -> list[Path]:
        """Generates examples, by default as many as are published, into files in a folder.

        Args:
            out: folder for the files.
            num: number of examples; None for the default.
            seed: seed of the generator.

        Returns:
            The paths of the files.
        """

    @abstractmethod
    def read(self, path: str | Path) -> Labelled:
        """The examples of a file."""

    def parse(self, texts: Sequence[str]) -> tuple[Tree, ...]:
        """The trees that a user typed.

        Raises:
            ValueError: the texts are not those of one example.
        """
        if len(texts) != self.num_trees:
            raise ValueError(f"expected {self.typed}; got {len(texts)}")
        return tuple(map(self.from_text, texts))

    def write(self, trees: Sequence[Tree]) -> list[str]:
        """The trees of an example in the form that a user types."""
        return list(map(self.to_text, trees))

    @abstractmethod
    def truth(self, trees: Sequence[Tree]) -> str:
        """The true class of an example."""

    def in_words(self, name: str) -> str:
        """A class as it is shown to the user."""
        return name


FITTING = range(15, 31)  # numbers of nodes that make a good picture


def nearest_size(sizes: Sequence[int]) -> int:
    """The place of the first example of a fitting size, or else of the nearest size.

    Example:
        >>> nearest_size([3, 200, 20, 21]), nearest_size([3, 200, 9])
        (2, 2)
    """
    middle = (FITTING[0] + FITTING[-1]) // 2
    return min(
        range(len(sizes)), key=lambda i: 0 if sizes[i] in FITTING else abs(sizes[i] - middle)
    )
