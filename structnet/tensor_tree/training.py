"""Models of users' trees: built for their labels, and trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from structnet.checks import wrong
from structnet.tensor_tree.aggregators.names import AGGREGATORS
from structnet.tensor_tree.child_sum_tree_lstm import ChildSumTreeLSTM
from structnet.tensor_tree.label_bag import LabelBag
from structnet.tensor_tree.predictor import BesideBag, NodePredictor, TreePredictor
from structnet.tensor_tree.readout import TreeReadout
from structnet.tensor_tree.settings import TreeLSTMSettings
from structnet.tensor_tree.tree_lstm import TreeLSTM
from structnet.text.vectors import read_vectors
from structnet.text.words import Words
from structnet.training.fitting import fit
from structnet.training.history import History
from structnet.training.loop import steps_per_epoch
from structnet.training.metrics import accuracy, evaluating
from structnet.training.seeding import random_states_kept
from structnet.trees.examples import NodeExamples, TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

RISE, CLIP_NORM = 0.1, 1.0  # the share of the steps in which the rate rises; the longest gradient
RANK = 3


@dataclass(frozen=True)
class Question:
    """What is to be said of trees.

    Attributes:
        kind: "classes", "labels" or "numbers" of examples, or the classes of "nodes".
        num_outputs: classes, labels or numbers.
        roots: trees an example.
        carried: do nodes carry tokens beside their labels?
        input_size: numbers in a label's vector; None for those in a state.
    """

    kind: str
    num_outputs: int
    roots: int = 1
    carried: bool = False
    input_size: int | None = None


@dataclass(frozen=True)
class Targets:
    """Examples and their answers.

    Attributes:
        trees: ``roots * n`` trees, those of one example next to each other.
        answers: ``[n]`` or ``[n, outputs]``; of nodes, a list of classes in preorder a tree.
        weights: count of each example, ``[n]``, of mean 1; None counts all alike.
    """

    trees: Sequence[Tree]
    answers: Any
    weights: np.ndarray | None = None

    def examples(self, question: Question, vocabulary: Vocabulary) -> TreeExamples | NodeExamples:
        """The same in numbers."""
        forest = Forest.from_trees(self.trees, vocabulary)
        if question.kind == "nodes":
            return NodeExamples(forest, self.answers)
        dtype = np.int64 if question.kind == "classes" else np.float32
        weights = None if self.weights is None else self.weights.astype(np.float32)
        return TreeExamples(forest, np.asarray(self.answers, dtype), weights)


@dataclass(frozen=True)
class Trained:
    """A model, and how it came to be.

    Attributes:
        model: the model.
        vocabulary: the numbers of labels, with one for those that were not seen.
        question: the kind of thing that it says of trees.
        settings: hyper-parameters that were used, without None but for limits.
        history: a record an epoch.
    """

    model: TreePredictor | BesideBag | NodePredictor
    vocabulary: Vocabulary
    question: Question
    settings: TreeLSTMSettings
    history: History

    def config(self) -> dict[str, Any]:
        """All but the weights, as JSON, from which :meth:`from_config` builds it again."""
        return {
            "vocabulary": self.vocabulary.to_dict(),
            "question": asdict(self.question),
            "settings": asdict(self.settings),
            "history": list(self.history),
            "pairs": len(self.model.bag.pairs) if isinstance(self.model, BesideBag) else 0,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Trained:
        """The same again, with new weights."""
        vocabulary = Vocabulary.from_dict(config["vocabulary"])
        question, settings = Question(**config["question"]), TreeLSTMSettings(**config["settings"])
        history = History(config["history"])
        with random_states_kept(torch.device("cpu")):
            model = build(settings, vocabulary, question)
        if settings.bag:
            bag = LabelBag(**bag_sizes(vocabulary, question), num_pairs=config["pairs"])
            assert isinstance(model, TreePredictor)
            return cls(BesideBag(model, bag), vocabulary, question, settings, history)
        return cls(model, vocabulary, question, settings, history)


def train(
    settings: TreeLSTMSettings,
    question: Question,
    learn: Targets,
    validation: Targets | None = None,
    *,
    device: str | torch.device = "cpu",
    folder: str | Path | None = None,
    progress: bool = False,
    vectors: str | Path | None = None,
    train_vectors: bool = True,
) -> Trained:
    """Trains a model of trees; it keeps the weights of its best epoch on the validation examples.

    Args:
        settings: hyper-parameters.
        question: the kind of thing that is to be said of trees.
        learn, validation: examples.
        device: place of the training.
        folder: place of its state after each epoch, from which it goes on when called again.
        progress: show a bar.
        vectors: file of words' vectors, as GloVe and word2vec write them as text.
        train_vectors: train these further.

    Raises:
        ValueError: settings that do not fit the trees.
        TextError: the file does not hold vectors.
    """
    carried = any(node.token is not None for tree in learn.trees for node in tree.preorder())
    question = replace(question, carried=carried)
    vocabulary = Vocabulary.from_trees(
        learn.trees,
        unknown=True,
        min_count=settings.min_count,
        any_arity=settings.cell == "child-sum",
    )
    labels = vocabulary.num_types + vocabulary.num_tokens
    given = settings.resolved(len(learn.answers), labels, question.kind)
    known = None if vectors is None else known_vectors(vectors, vocabulary, given)
    if known is not None:
        question = replace(question, input_size=known[0].shape[1])
    examples = learn.examples(question, vocabulary)
    held_out = None if validation is None else validation.examples(question, vocabulary)
    with random_states_kept(torch.device(device)):
        torch.manual_seed(given.seed)
        model = build(given, vocabulary, question)
        if known is not None:
            _child_sum(model).set_vectors(*known, frozen=not train_vectors)
    assert given.epochs is not None and given.batch_size is not None  # as resolved
    steps = max(given.epochs * steps_per_epoch(len(examples), given.batch_size), 1)
    if steps * RISE == 1:  # by the steps of the rise, less one, torch divides
        steps += 1
    mixed, left = None, (examples, held_out)
    if given.bag:
        bag = LabelBag.knowing(examples.forest, **bag_sizes(vocabulary, question))
        mixed = BesideBag(model, bag)  # type: ignore[arg-type]  # of trees
        left = _left_open(mixed, examples, held_out, given.seed)
    history = fit(
        model,
        *left,
        epochs=given.epochs,
        batch_size=given.batch_size,
        optimizer=partial(
            torch.optim.AdamW,
            lr=given.learning_rate,
            weight_decay=given.weight_decay,
            fused=True,
        ),
        schedule=partial(
            torch.optim.lr_scheduler.OneCycleLR,
            max_lr=given.learning_rate,
            total_steps=steps,
            pct_start=RISE,
        ),
        schedule_per="batch",
        clip_norm=CLIP_NORM,
        patience=None if held_out is None else given.patience,
        seed=given.seed,
        device=device,
        checkpoint=folder,
        resume=folder is not None,
        progress=progress,
        **(judged_by(question) if held_out is not None else {}),
    )
    if mixed is not None and held_out is not None:
        with evaluating(mixed):
            mixed.to(device).choose(held_out.to(device))  # type: ignore[arg-type]  # of trees
    return Trained(mixed or model, vocabulary, question, given, history)


def _left_open(
    mixed: BesideBag, examples: Any, held_out: Any, seed: int
) -> tuple[TreeExamples, TreeExamples | None]:
    """Fits the linear model; the examples with what is left to the tree as their targets.

    Of numbers that is what the linear model lacks, as it says it of examples that it has not
    learnt from: of those that it has, it lacks too little.
    """
    weights = None if examples.weights is None else examples.weights.double().numpy()
    targets = examples.targets.numpy()
    if mixed.kind == "classes":
        mixed.bag.fit_classes(examples.forest, targets, weights)
        return examples, held_out
    guess = mixed.bag.fit_numbers(examples.forest, targets.astype(np.float64), weights, seed)
    rest = targets - guess
    unit = max(rest.std(), 1e-12)
    mixed.shares.copy_(torch.tensor([unit, 1.0]))
    found = [TreeExamples(examples.forest, (rest / unit).astype(np.float32), examples.weights)]
    if held_out is None:
        return found[0], None
    rest = (held_out.targets - mixed.bag(held_out.forest)).numpy()
    return found[0], TreeExamples(
        held_out.forest, (rest / unit).astype(np.float32), held_out.weights
    )


def bag_sizes(vocabulary: Vocabulary, question: Question) -> dict[str, Any]:
    """The arguments of the linear model of a question, but for its pairs."""
    return {
        "num_types": vocabulary.num_types,
        "num_tokens": vocabulary.num_tokens,
        "num_outputs": question.num_outputs,
        "roots": question.roots,
        "logarithm": question.kind == "classes",
    }


def judged_by(question: Question) -> dict[str, Any]:
    """What says which epoch is best: the accuracy where there is one."""
    if question.kind == "classes":
        return {"monitor": "accuracy", "metrics": {"accuracy": accuracy}}
    if question.kind == "nodes":
        return {"monitor": "accuracy", "metrics": {"accuracy": NodePredictor.accuracy}}
    return {}


def build(
    settings: TreeLSTMSettings, vocabulary: Vocabulary, question: Question
) -> TreePredictor | NodePredictor:
    """The untrained model.

    Args:
        settings: hyper-parameters, resolved.
        vocabulary: the numbers of labels.
        question: the kind of thing that is to be said of trees.

    Raises:
        ValueError: the cell cannot have parameters for so many labels and places.
    """
    encoder = _encoder(settings, vocabulary, question)
    if question.kind == "nodes":
        return NodePredictor(encoder, question.num_outputs)
    assert settings.pools is not None  # as resolved
    readout = TreeReadout(encoder, question.num_outputs, settings.pools, question.roots)
    return TreePredictor(readout, question.kind)


def known_vectors(
    path: str | Path, vocabulary: Vocabulary, settings: TreeLSTMSettings
) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of a file for the tokens of a vocabulary, and which tokens have one.

    Shapes:
        ``[num_tokens, size]``; ``[num_tokens]``, bool.

    Raises:
        ValueError: the cell has no vectors of its own, or the file none of the words.
        TextError: the file does not hold vectors.
    """
    if settings.cell != "child-sum":
        raise wrong("vectors", "None, but for the cell 'child-sum'", str(path))
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


def _child_sum(model: nn.Module) -> ChildSumTreeLSTM:
    return next(part for part in model.modules() if isinstance(part, ChildSumTreeLSTM))


def _encoder(
    settings: TreeLSTMSettings, vocabulary: Vocabulary, question: Question
) -> ChildSumTreeLSTM | TreeLSTM:
    c, num_types, num_tokens = settings.hidden_size, vocabulary.num_types, vocabulary.num_tokens
    if settings.cell == "child-sum":
        return ChildSumTreeLSTM(
            c,
            num_types,
            num_tokens,
            question.input_size,
            dropout=settings.dropout,
            label_dropout=settings.label_dropout or 0.0,
        )
    aggregator: Any = AGGREGATORS[settings.cell]
    if aggregator.ranked:
        aggregator = partial(aggregator, rank=settings.rank or RANK)
    assert vocabulary.arity is not None  # as it is counted for these cells
    try:
        return TreeLSTM(
            c,
            num_types,
            vocabulary.arity,
            nn.Embedding(num_tokens, c),
            aggregator,
            inner_inputs=question.carried,
        )
    except ValueError as error:
        raise ValueError(
            f"the cell {settings.cell!r} cannot be made for {num_types} labels of nodes with up to "
            f"{vocabulary.arity} children: {error}; cell='child-sum' fits any tree"
        ) from error
