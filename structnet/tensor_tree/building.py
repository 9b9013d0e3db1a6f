"""Builds models for the labels of users' trees and for the question about them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from structnet.checks import wrong
from structnet.tensor_tree.aggregators.names import AGGREGATORS
from structnet.tensor_tree.child_sum_tree_lstm import ChildSumTreeLSTM
from structnet.tensor_tree.counts.rare_labels import labels_of_trees
from structnet.tensor_tree.number_embedding import NumberEmbedding
from structnet.tensor_tree.predictor import NodePredictor, TreePredictor
from structnet.tensor_tree.reading import Reading
from structnet.tensor_tree.readout import TreeReadout
from structnet.tensor_tree.settings import RARE, TreeLSTMSettings
from structnet.tensor_tree.starts import Starts
from structnet.tensor_tree.targets import Question
from structnet.tensor_tree.tree_automaton import TreeAutomaton
from structnet.tensor_tree.tree_lstm import TreeLSTM
from structnet.training.seeding import random_states_kept
from structnet.trees.forest import Forest
from structnet.trees.number_tokens import FIRST, values_of
from structnet.trees.vocabulary import Vocabulary

RANK = 3


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
    model = TreePredictor(readout, question.kind)
    if isinstance(encoder, TreeAutomaton) and Starts.suit(model):
        encoder.name_states(readout.output)
    return model


def new_model(
    read: Reading, forest: Forest, device: str | torch.device, train_vectors: bool
) -> TreePredictor | NodePredictor:
    """A new model, which knows vectors of words, the scale of numbers and which labels are rare.

    Args:
        read: samples in the form that the model reads, with the choices that follow from it.
        forest: trees to learn from.
        device: device of the training.
        train_vectors: True to train given vectors further.

    Raises:
        ValueError: see :func:`build`.
    """
    given, known = read.settings, read.vectors
    with random_states_kept(torch.device(device)):
        torch.manual_seed(given.seed)
        model = build(given, read.vocabulary, read.question)
        _fit_number_scale(model, forest)
        if known is not None:
            child_sum(model).set_vectors(*known, frozen=not train_vectors)
    if given.cell == "child-sum" and given.label_dropout is None:
        types, tokens = labels_of_trees(forest, read.vocabulary)
        if known is not None:
            tokens[known[1]] = np.inf  # its vector is known
        child_sum(model).drop_rare_labels(types, tokens, RARE)
    return model


def _fit_number_scale(model: nn.Module, forest: Forest) -> None:
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
) -> ChildSumTreeLSTM | TreeLSTM | TreeAutomaton:
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
    if isinstance(settings.cell, str) and settings.cell != "automaton":
        aggregator = AGGREGATORS[settings.cell]
        if aggregator.ranked:
            aggregator = partial(aggregator, rank=settings.rank or RANK)
    for name in ("dropout", "label_dropout"):
        if getattr(settings, name):
            raise wrong(name, f"0 for the cell {settings.cell_name!r}", getattr(settings, name))
    if settings.cell == "automaton" and question.carried:
        raise wrong("cell", "not 'automaton' for nodes with tokens", settings.cell)
    try:
        if settings.cell == "automaton":
            return TreeAutomaton(c, num_types, num_tokens)
        assert vocabulary.arity is not None  # as it is counted for these cells
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
