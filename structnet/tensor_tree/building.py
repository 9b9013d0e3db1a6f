"""Builds models for the labels of users' trees and for the question about them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from structnet.checks import wrong
from structnet.estimators.checked import counting_places, mean_one
from structnet.tensor_tree.aggregators.full_tensor import FullTensor
from structnet.tensor_tree.aggregators.names import AGGREGATORS
from structnet.tensor_tree.child_sum_tree_lstm import ChildSumTreeLSTM
from structnet.tensor_tree.number_embedding import NumberEmbedding
from structnet.tensor_tree.predictor import NodePredictor, TreePredictor
from structnet.tensor_tree.readout import TreeReadout
from structnet.tensor_tree.settings import TreeLSTMSettings
from structnet.tensor_tree.tree_lstm import TreeLSTM
from structnet.text.vectors import read_vectors
from structnet.text.words import Words
from structnet.trees.examples import NodeExamples, TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.label_words import with_words
from structnet.trees.number_tokens import FIRST, values_of
from structnet.trees.spelling import with_affixes
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

RANK = 3
SIZE = 64  # of a node's state
MOST = 2_000_000  # parameters of a full tensor of that size; a step with 20 million takes 0.3 s


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


def label_sizes(vocabulary: Vocabulary) -> dict[str, Any]:
    """The arguments with the sizes of the vocabulary, for models that look single labels up."""
    return {
        "num_types": vocabulary.num_types,
        "num_tokens": vocabulary.num_tokens,
        "numbers": vocabulary.any_numbers,
    }


def bag_sizes(vocabulary: Vocabulary, question: Question) -> dict[str, Any]:
    """The arguments of the linear model for a question, except ``num_pairs`` and ``num_values``."""
    return {
        **label_sizes(vocabulary),
        "num_outputs": question.num_outputs,
        "roots": question.roots,
        "form": "logarithm" if question.kind == "classes" else "count",
        "alike": question.roots == 2,
    }


def table_sizes(vocabulary: Vocabulary, question: Question) -> dict[str, Any]:
    """The arguments of the table for a question about nodes."""
    return {**label_sizes(vocabulary), "num_classes": question.num_outputs}


def default_size(settings: TreeLSTMSettings, vocabulary: Vocabulary, question: Question) -> int:
    """The length of a node's state if the settings name none.

    Example:
        >>> wide, asked = Vocabulary("pqrst", "abc", arity=3), Question("classes", 2)
        >>> [default_size(TreeLSTMSettings(cell=name), wide, asked) for name in ("tucker", "full")]
        [64, 18]
    """
    if settings.cell != "full":
        return SIZE
    assert vocabulary.arity is not None  # as it is counted for this cell
    modes = vocabulary.arity + question.carried  # an input vector is one more

    def parameters(c: int) -> int:
        return vocabulary.num_types * FullTensor.count(c, modes, gates=3)

    return next((c for c in range(SIZE, 1, -1) if parameters(c) <= MOST), 1)


def build(
    settings: TreeLSTMSettings, vocabulary: Vocabulary, question: Question
) -> TreePredictor | NodePredictor:
    """The untrained model.

    Args:
        settings: hyper-parameters, resolved.
        vocabulary: numbers of the labels.
        question: question that the model answers.

    Raises:
        ValueError: the cell cannot have parameters for so many labels and places.
    """
    encoder = _encoder(settings, vocabulary, question)
    if question.kind == "nodes":
        given, down = question.class_weight, bool(settings.top_down)
        weight = None if given is None else torch.tensor(given, dtype=torch.get_default_dtype())
        return NodePredictor(encoder, question.num_outputs, top_down=down, class_weight=weight)
    assert settings.pools is not None  # as resolved
    readout = TreeReadout(encoder, question.num_outputs, settings.pools, question.roots)
    return TreePredictor(readout, question.kind)


def known_vectors(
    path: str | Path, vocabulary: Vocabulary, settings: TreeLSTMSettings
) -> tuple[np.ndarray, np.ndarray]:
    """The vectors in a file for the tokens of a vocabulary, and a mask of the tokens that have one.

    Shapes:
        ``[num_tokens, size]``; ``[num_tokens]``, bool.

    Raises:
        ValueError: the cell has no label vectors, or the file has none of the words.
        TextError: the file does not contain vectors.
    """
    if settings.cell != "child-sum":
        raise wrong("vectors", "None for all cells but 'child-sum'", str(path))
    tokens = [token if isinstance(token, str) else None for token in vocabulary.tokens]
    words = [token for token in tokens if token is not None]
    read, found = read_vectors(path, Words(words, [1] * len(words)))
    if not found.any():
        raise ValueError(f"{path} has a vector for none of the {len(words)} words of the trees")
    vectors = np.zeros((vocabulary.num_tokens, read.shape[1]))
    which = np.zeros(vocabulary.num_tokens, bool)
    places = [i for i, token in enumerate(tokens) if token is not None]
    vectors[places], which[places] = read, found
    return vectors, which


def labels_of_trees(forest: Forest, vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """The number of trees of a forest that have each type, and each token.

    Shapes:
        ``[num_types]``, ``[num_tokens]``, float64.
    """
    order = forest.preorder()
    tree = order.trees

    entry, words = forest.words_at(order.nodes)

    def counted(tree: np.ndarray, label: np.ndarray, size: int) -> np.ndarray:
        there = (label >= 0) & (label < FIRST)
        once = np.unique(tree[there] * size + label[there]) % size
        return np.bincount(once, minlength=size).astype(float)

    tokens = np.concatenate((forest.tokens[order.nodes], words))
    return (
        counted(tree, forest.types[order.nodes], vocabulary.num_types),
        counted(np.concatenate((tree, tree[entry])), tokens, vocabulary.num_tokens),
    )


def fit_number_scale(model: nn.Module, forest: Forest) -> None:
    """Fits the scale of numbers to those of a forest, in a model that reads numbers."""
    # Numbers as stored, once per parent: there may be too many shared trees to go through.
    tokens = forest.tokens[np.concatenate((forest.children, forest.roots))]
    numbers = tokens[tokens >= FIRST]
    for table in model.modules():
        if isinstance(table, NumberEmbedding) and len(numbers):
            table.fit_scale(values_of(numbers))


def child_sum(model: nn.Module) -> ChildSumTreeLSTM:
    """The Child-Sum encoder of a model that has one."""
    return next(part for part in model.modules() if isinstance(part, ChildSumTreeLSTM))


def _encoder(
    settings: TreeLSTMSettings, vocabulary: Vocabulary, question: Question
) -> ChildSumTreeLSTM | TreeLSTM:
    c, num_types, num_tokens = settings.hidden_size, vocabulary.num_types, vocabulary.num_tokens
    assert c is not None  # as resolved
    if settings.cell == "child-sum":
        return ChildSumTreeLSTM(
            c,
            num_types,
            num_tokens,
            question.input_size,
            dropout=settings.dropout,
            label_dropout=settings.label_dropout or 0.0,
            numbers=vocabulary.any_numbers,
        )
    assert settings.cell is not None  # as resolved
    aggregator: Any = settings.cell
    if isinstance(settings.cell, str):
        aggregator = AGGREGATORS[settings.cell]
        if aggregator.ranked:
            aggregator = partial(aggregator, rank=settings.rank or RANK)
    assert vocabulary.arity is not None  # as it is counted for these cells
    for name in ("dropout", "label_dropout"):
        if getattr(settings, name):
            raise wrong(name, f"0 for the cell {settings.cell_name!r}", getattr(settings, name))
    try:
        return TreeLSTM(
            c,
            num_types,
            vocabulary.arity,
            (NumberEmbedding if vocabulary.any_numbers else nn.Embedding)(num_tokens, c),
            aggregator,
            inner_inputs=question.carried,
        )
    except ValueError as error:
        raise ValueError(
            f"the cell {settings.cell_name!r} cannot be made for {num_types} labels of nodes with "
            f"up to {vocabulary.arity} children: {error}; cell='child-sum' fits any tree"
        ) from error
