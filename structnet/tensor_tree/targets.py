"""What is asked about trees, and samples with their answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from structnet.estimators.checked import counting_places, mean_one
from structnet.trees.examples import NodeExamples, TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.label_words import with_words
from structnet.trees.spelling import with_affixes
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary


@dataclass(frozen=True)
class Question:
    """What a model predicts for trees.

    Attributes:
        kind: "classes", "labels" or "numbers" of examples, or the classes of "nodes".
        num_outputs: number of classes, labels or numbers.
        roots: number of trees in an example.
        carried: True if nodes carry tokens beside their labels.
        input_size: size of a label's vector; None for the size of a state.
        class_weight: weight of each class of nodes; None for equal weights.
    """

    kind: str
    num_outputs: int
    roots: int = 1
    carried: bool = False
    input_size: int | None = None
    class_weight: Sequence[float] | None = None


class Targets(NamedTuple):
    """Samples and their answers.

    Attributes:
        samples: trees of each sample, the same number in all samples.
        y: answers, ``[n]`` or ``[n, outputs]``; for nodes, a list of classes in preorder per tree.
        weights: weight of each sample, ``[n]``; for nodes, a list of weights of mean 1 per tree;
            None for equal weights.
        groups: group of each sample, such as its file, as a number from 0, ``[n]``; None if each
            is a group by itself. Samples are held out in whole groups.
    """

    samples: Sequence[tuple[Tree, ...]]
    y: Any
    weights: Any = None
    groups: np.ndarray | None = None

    @property
    def trees(self) -> list[Tree]:
        """The trees of all samples, with those of a sample next to each other."""
        return [tree for sample in self.samples for tree in sample]

    def take(self, places: np.ndarray) -> Targets:
        """The samples at some places. ``[m]``."""
        return Targets(*(_at(part, places) for part in self))

    def counting(self, least: int) -> Targets:
        """The samples whose weight is above 0.

        Raises:
            ValueError: there are fewer than ``least`` of them.
        """
        kept = counting_places(self.weights, least)
        return self if kept is None else self.take(kept)

    def with_others(self, others: Targets) -> Targets:
        """These samples and others of the same kind, whose weights have the same unit."""
        return Targets(*map(_joined, self, others))

    def with_words(self) -> Targets:
        """The samples with the words of texts and names below them, see :func:`.with_words`."""
        return self._replace(samples=[tuple(map(with_words, each)) for each in self.samples])

    def with_affixes(self) -> Targets:
        """The samples with the affixes of their words below them, see :func:`.with_affixes`."""
        return self._replace(samples=[tuple(map(with_affixes, each)) for each in self.samples])

    def digest(self) -> str:
        """A text that is different for different samples."""
        sha = hashlib.sha256()
        for sample in self.samples:
            sha.update(f"{len(sample)} trees\n".encode())
            for tree in sample:
                # Not the tree as text, in which 1 is "1", and the label "a b" two leaves.
                each = (
                    (type(x).__name__, x.label, len(x.children), x.token) for x in tree.preorder()
                )
                sha.update("\n".join(map(repr, each)).encode("utf-8", "surrogatepass"))
        of_nodes = isinstance(self.weights, list)
        for part in (self.y, self.weights if of_nodes else mean_one(self.weights)):
            values = part.tolist() if isinstance(part, np.ndarray) else part
            sha.update(json.dumps(values).encode())
        if self.groups is not None:
            sha.update(json.dumps(self.groups.tolist()).encode())
        return sha.hexdigest()

    def examples(self, question: Question, vocabulary: Vocabulary) -> TreeExamples | NodeExamples:
        """The samples as examples, whose labels are numbers of the vocabulary."""
        forest = Forest.from_trees(self.trees, vocabulary)
        if question.kind == "nodes":
            return NodeExamples(forest, self.y, self.weights)
        dtype = np.int64 if question.kind == "classes" else np.float32
        weights = mean_one(self.weights)
        weights = None if weights is None else weights.astype(np.float32)
        return TreeExamples(forest, np.asarray(self.y, dtype), weights, question.roots)


def carry_tokens(trees: Iterable[Tree]) -> bool:
    """True if some nodes have a token beside their label."""
    return any(node.token is not None for tree in trees for node in tree.postorder(once=True))


def _at(part: Any, places: np.ndarray) -> Any:
    """The entries of a part of samples at some places; None if there is no such part."""
    if part is None or isinstance(part, np.ndarray):
        return None if part is None else part[places]
    return [part[i] for i in places]


def _joined(one: Any, other: Any) -> Any:
    """The entries of the same part of two sets of samples; None if one lacks it."""
    if one is None or other is None:
        return None
    return np.concatenate((one, other)) if isinstance(one, np.ndarray) else [*one, *other]
