"""Trains models of users' trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from structnet.tensor_tree.building import (
    Question,
    Targets,
    bag_sizes,
    build,
    child_sum,
    fit_number_scale,
    known_vectors,
    labels_of_trees,
    table_sizes,
)
from structnet.tensor_tree.cell_choice import best_of, cells
from structnet.tensor_tree.label_bag import LabelBag
from structnet.tensor_tree.label_table import BesideTable, LabelTable
from structnet.tensor_tree.predictor import (
    BesideBag,
    NodeAnswers,
    NodePredictor,
    TreePredictor,
    losses_of,
)
from structnet.tensor_tree.rare_labels import known_labels
from structnet.tensor_tree.settings import FEW, RARE, Cell, TreeLSTMSettings
from structnet.tensor_tree.word_choice import affixes_help, letters_tell, words_tell
from structnet.training.fitting import fit
from structnet.training.history import History
from structnet.training.loop import steps_per_epoch
from structnet.training.metrics import accuracy, batch_starts, evaluating
from structnet.training.schedules import one_cycle
from structnet.training.seeding import random_states_kept
from structnet.trees.examples import TreeExamples
from structnet.trees.vocabulary import Vocabulary

BATCH = 500  # held-out examples that are predicted at once
RISE = 0.1  # share of the steps in which the learning rate rises


@dataclass(frozen=True)
class Trained:
    """A trained model, with what was used to train it.

    Attributes:
        model: the model.
        vocabulary: numbers of the labels, with one for labels that were not seen.
        question: question that the model answers.
        settings: hyper-parameters that were used; None only stands for no limit, no rank, or a
            dropout of labels by how rare they are.
        history: one record per epoch.
        affixes: True if words at leaves are read with their affixes.
    """

    model: TreePredictor | BesideBag | NodePredictor | BesideTable
    vocabulary: Vocabulary
    question: Question
    settings: TreeLSTMSettings
    history: History
    affixes: bool = False

    def config(self) -> dict[str, Any]:
        """Everything but the weights, for JSON; :meth:`from_config` builds the model from it."""
        bag = self.model.bag if isinstance(self.model, BesideBag) else None
        return {
            "vocabulary": self.vocabulary.to_dict(),
            "question": asdict(self.question),
            "settings": asdict(self.settings),
            "history": list(self.history),
            "pairs": len(bag.pairs) if bag else 0,
            "values": len(bag.values) if bag else 0,
            "pieces": len(bag.pieces.codes) if bag and bag.pieces is not None else 0,
            "form": bag.form if bag else None,
            "alike": bag is not None and bag.alike,
            "affixes": self.affixes,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Trained:
        """The model that :meth:`config` described, with new weights."""
        vocabulary = Vocabulary.from_dict(config["vocabulary"])
        question, settings = Question(**config["question"]), TreeLSTMSettings(**config["settings"])
        rest = question, settings, History(config["history"]), config["affixes"]
        with random_states_kept(torch.device("cpu")):
            model = build(settings, vocabulary, question)
        if settings.bag and isinstance(model, NodePredictor):
            table = LabelTable(**table_sizes(vocabulary, question))
            return cls(BesideTable(model, table), vocabulary, *rest)
        if settings.bag:
            sizes = bag_sizes(vocabulary, question)
            sizes |= {name: config[name] for name in ("form", "alike")}
            sizes |= {f"num_{each}": config[each] for each in ("pairs", "values", "pieces")}
            bag = LabelBag(**sizes)
            assert isinstance(model, TreePredictor)
            return cls(BesideBag(model, bag), vocabulary, *rest)
        return cls(model, vocabulary, *rest)


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
    refit: bool = False,
) -> Trained:
    """Trains a model of trees and keeps the weights of its best epoch on the validation examples.

    Args:
        settings: hyper-parameters.
        question: question that the model answers.
        learn, validation: examples.
        device: device to train on.
        folder: folder for the state after each epoch, from which another call resumes.
        progress: True to show a progress bar.
        vectors: file of word vectors in the text format of GloVe and word2vec.
        train_vectors: True to train these vectors further.
        refit: True to fit the linear model to the validation examples too, once its weight is
            chosen; for validation examples that were held out of those to learn from.

    Raises:
        ValueError: the settings do not suit the trees.
        TextError: the file does not contain vectors.
    """
    how: dict[str, Any] = {"device": device, "progress": progress}
    how |= {"vectors": vectors, "train_vectors": train_vectors}
    asked: tuple[Cell, ...] = ("child-sum",) if settings.cell is None else (settings.cell,)
    if settings.cell is None and vectors is None and validation is not None:
        asked = cells(settings, learn.trees, validation.trees)
    places = [folder, *(Path(folder, cell) if folder is not None else None for cell in asked[1:])]
    found = {
        cell: _candidate(replace(settings, cell=cell), question, learn, validation, place, **how)
        for cell, place in zip(asked, places, strict=True)
    }
    best = found[asked[0]]
    if len(found) > 1:
        best = found[best_of({cell: each.losses() for cell, each in found.items()})]
    if refit and validation is not None:
        best.refit()
    return best.trained


@dataclass(frozen=True)
class _Candidate:
    """A trained model, and the samples in the form it reads."""

    trained: Trained
    learn: Targets
    validation: Targets | None

    def _examples(self, targets: Targets) -> Any:
        return targets.examples(self.trained.question, self.trained.vocabulary)

    def losses(self) -> np.ndarray:
        """The weighted loss of each held-out example, or of all nodes of a tree, ``[n]``."""
        assert self.validation is not None
        model, examples, found = self.trained.model, self._examples(self.validation), []
        device = next(model.parameters()).device
        with evaluating(model):
            for start in batch_starts(examples, BATCH):
                batch = examples[slice(start, start + BATCH)].to(device)
                outputs, kind = model(batch.forest), self.trained.question.kind
                if isinstance(model, NodeAnswers):
                    losses = losses_of("classes", outputs, batch.labels.clamp(min=0))
                    each = (losses * model.counts(batch)).cpu().numpy()
                    found.append(np.add.reduceat(each, batch.order.offsets[:-1]))
                    continue
                losses = losses_of(kind, outputs, batch.targets)
                losses = losses if batch.weights is None else losses * batch.weights
                found.append(losses.cpu().double().numpy())
        return np.concatenate(found)

    def refit(self) -> None:
        """Fits the linear part beside the Tree-LSTM to the validation examples too."""
        assert self.validation is not None
        model, every = self.trained.model, self.learn.with_others(self.validation)
        if isinstance(model, BesideTable):
            model.table.fit(self._examples(every), model.tree.class_weight)
        elif isinstance(model, BesideBag):
            _fit_bag(model, self._examples(every), self.trained.settings.seed, every.groups)


def _candidate(
    settings: TreeLSTMSettings,
    question: Question,
    learn: Targets,
    validation: Targets | None,
    folder: str | Path | None,
    *,
    device: str | torch.device,
    progress: bool,
    vectors: str | Path | None,
    train_vectors: bool,
) -> _Candidate:
    """A model of one cell with the weights of its best epoch; errors as for :func:`train`."""
    if vectors is not None and settings.words is None:
        settings = replace(settings, words=False)  # a whole label has a known meaning
    if settings.reads_words(question.kind):
        read, held = learn.with_words(), validation and validation.with_words()
        asked = settings.words is None and question.kind != "nodes"
        if asked and not words_tell(read, held, question, settings.seed):
            settings = replace(settings, words=False)
        else:
            learn, validation = read, held
    letters = (
        settings.bag
        and question.kind != "nodes"
        and settings.reads_words(question.kind)
        and letters_tell(learn, validation, question, settings.seed)
    )
    affixes = affixes_help(learn.trees, settings, question)
    if affixes:
        learn, validation = learn.with_affixes(), validation and validation.with_affixes()
    carried = any(
        node.token is not None for tree in learn.trees for node in tree.postorder(once=True)
    )
    question = replace(question, carried=carried)
    vocabulary, given = _labels_of(learn, settings, question, vectors is not None)
    if letters:
        vocabulary = vocabulary.with_letters()
    known = None if vectors is None else known_vectors(vectors, vocabulary, given)
    if known is not None:
        question = replace(question, input_size=known[0].shape[1])
    examples = learn.examples(question, vocabulary)
    held_out = None if validation is None else validation.examples(question, vocabulary)
    with random_states_kept(torch.device(device)):
        torch.manual_seed(given.seed)
        model = build(given, vocabulary, question)
        fit_number_scale(model, examples.forest)
        if known is not None:
            child_sum(model).set_vectors(*known, frozen=not train_vectors)
    if given.cell == "child-sum" and given.label_dropout is None:
        types, tokens = labels_of_trees(examples.forest, vocabulary)
        if known is not None:
            tokens[known[1]] = np.inf  # its vector is known
        child_sum(model).drop_rare_labels(types, tokens, RARE)
    mixed: BesideBag | BesideTable | None = None
    to_learn, to_judge = examples, held_out
    if isinstance(model, NodePredictor):
        # Without held-out examples, the weight of the table could not be chosen.
        given = replace(given, bag=given.bag and held_out is not None)
        if given.bag:
            mixed = BesideTable(model, LabelTable(**table_sizes(vocabulary, question)))
            mixed.table.fit(examples, model.class_weight)
    elif given.bag:
        bag = LabelBag.knowing(examples.forest, letters, **bag_sizes(vocabulary, question))
        mixed = BesideBag(model, bag)
        to_learn, to_judge = _left_open(mixed, examples, held_out, given.seed, learn.groups)
    assert given.epochs and given.batch_size and given.weight_decay is not None  # as resolved
    steps = given.epochs * steps_per_epoch(len(examples), given.batch_size)
    history = fit(
        model,
        to_learn,
        to_judge,
        epochs=given.epochs,
        batch_size=given.batch_size,
        patience=None if held_out is None else given.patience,
        seed=given.seed,
        device=device,
        checkpoint=folder,
        resume=folder is not None,
        progress=progress,
        **one_cycle(given.learning_rate, given.weight_decay, steps, RISE),
        **(judged_by(question) if held_out is not None else {}),
    )
    if mixed is not None and held_out is not None:
        with evaluating(mixed):
            mixed.to(device).choose(held_out.to(device))  # type: ignore[arg-type]  # of trees
    trained = Trained(mixed or model, vocabulary, question, given, history, affixes=affixes)
    return _Candidate(trained, learn, validation)


def _labels_of(
    learn: Targets, settings: TreeLSTMSettings, question: Question, vectors: bool
) -> tuple[Vocabulary, TreeLSTMSettings]:
    """The vocabulary, and the settings completed with choices made from the data.

    Args:
        vectors: True if a file gives vectors, which also say what a word of a single tree means.
    """

    def listed(least: int) -> Vocabulary:
        return Vocabulary.from_trees(
            learn.trees,
            unknown=True,
            min_count=least,
            any_arity=settings.cell == "child-sum",
            numbers=settings.numbers,
        )

    least = settings.min_count or 2
    vocabulary = listed(least)
    every = listed(1) if vectors and settings.min_count is None else vocabulary
    size = every.num_types + every.num_tokens
    given = settings.resolved(len(learn.y), size, question.kind)
    given = replace(given, numbers=vocabulary.numbers, min_count=least)
    # Without dropout by rarity, the unknown label's vector is only learned from labels left out.
    if settings.min_count is not None or given.label_dropout is not None:
        return vocabulary, given
    vocabulary = listed(1)
    if question.kind != "nodes" and not vectors:
        vocabulary = _worth_knowing(vocabulary, learn, question)
    return vocabulary, replace(given, min_count=1)


def _worth_knowing(every: Vocabulary, learn: Targets, question: Question) -> Vocabulary:
    """The labels of a vocabulary that tell enough about the answers to get their own vectors."""
    examples = learn.examples(question, every)
    assert isinstance(examples, TreeExamples)
    known = known_labels(
        examples.forest, examples.targets.numpy(), every.num_types, every.num_tokens
    )
    if every.num_types + every.num_tokens > FEW:  # more vectors take time
        counts = labels_of_trees(examples.forest, every)
        known = known[0] & (counts[0] != 1), known[1] & (counts[1] != 1)
    types, tokens = (
        [label for label, kept in zip(labels, which, strict=False) if kept]
        for labels, which in zip((every.types or (), every.tokens), known, strict=True)
    )
    return Vocabulary(types, tokens, every.arity, unknown=True, numbers=every.numbers)


def _left_open(
    mixed: BesideBag, examples: Any, held_out: Any, seed: int, groups: np.ndarray | None
) -> tuple[TreeExamples, TreeExamples | None]:
    """Fits the linear model; returns the examples with the targets that are left to the tree.

    For numbers these are the residuals of the linear model, each predicted without learning from
    its example: the residuals of examples it has learned from are too small.
    """
    guess = _fit_bag(mixed, examples, seed, groups, held_out)
    if guess is None:
        return examples, held_out
    rest = examples.targets.numpy() - guess
    unit = max(rest.std(), 1e-12)
    mixed.shares.copy_(torch.tensor([unit, 1.0]))

    def with_rest(of: TreeExamples, rest: np.ndarray) -> TreeExamples:
        return TreeExamples(of.forest, (rest / unit).astype(np.float32), of.weights)

    if held_out is None:
        return with_rest(examples, rest), None
    lacking = (held_out.targets - mixed.bag(held_out.forest)).numpy()
    return with_rest(examples, rest), with_rest(held_out, lacking)


def _fit_bag(
    mixed: BesideBag, examples: Any, seed: int, groups: np.ndarray | None, held_out: Any = None
) -> np.ndarray | None:
    """Fits the linear model; for numbers, returns cross-validated predictions of the examples."""
    if mixed.kind == "classes":
        mixed.bag.fit_classes(examples, held_out, seed)
        return None
    weights = None if examples.weights is None else examples.weights.double().numpy()
    targets = examples.targets.double().numpy()
    return mixed.bag.fit_numbers(examples.forest, targets, weights, seed, groups=groups)


def judged_by(question: Question) -> dict[str, Any]:
    """The measure that chooses the best epoch: the accuracy if there is one, else the loss."""
    if question.kind == "classes":
        return {"monitor": "accuracy", "metrics": {"accuracy": accuracy}}
    if question.kind == "nodes":
        return {"monitor": "accuracy", "metrics": {"accuracy": NodePredictor.accuracy}}
    return {}
