"""Trains models of users' trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from structnet.estimators.hyper_parameters import settings_of_file
from structnet.tensor_tree.building import (
    Question,
    Targets,
    bag_sizes,
    build,
    child_sum,
    fit_number_scale,
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
from structnet.tensor_tree.reading import Reading, read_by
from structnet.tensor_tree.settings import RARE, Cell, TreeLSTMSettings
from structnet.training.fitting import fit
from structnet.training.history import History
from structnet.training.loop import steps_per_epoch
from structnet.training.metrics import accuracy, batch_starts, evaluating
from structnet.training.modules import device_of
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
        question = Question(**config["question"])
        settings = settings_of_file(TreeLSTMSettings, config["settings"])
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
        device = device_of(model)
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
            seed = self.trained.settings.seed
            _fit_bag(model, self._examples(every), seed, every.groups, chosen=True)


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
    read = read_by(settings, question, learn, validation, vectors)
    question, given = read.question, read.settings
    examples = read.learn.examples(question, read.vocabulary)
    held_out = None
    if read.validation is not None:
        held_out = read.validation.examples(question, read.vocabulary)
    model = _untrained(read, examples, device, train_vectors)
    given = replace(given, bag=given.bag and not (held_out is None and question.kind == "nodes"))
    mixed = _beside(model, read, examples) if given.bag else None
    to_learn, to_judge = examples, held_out
    if isinstance(mixed, BesideBag):
        to_learn, to_judge = _left_open(mixed, examples, held_out, read)
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
    trained = Trained(mixed or model, read.vocabulary, question, given, history, read.affixes)
    return _Candidate(trained, read.learn, read.validation)


def _untrained(
    read: Reading, examples: Any, device: str | torch.device, train_vectors: bool
) -> TreePredictor | NodePredictor:
    """A new model, which knows the vectors of words and the scale of numbers."""
    given, known = read.settings, read.vectors
    with random_states_kept(torch.device(device)):
        torch.manual_seed(given.seed)
        model = build(given, read.vocabulary, read.question)
        fit_number_scale(model, examples.forest)
        if known is not None:
            child_sum(model).set_vectors(*known, frozen=not train_vectors)
    if given.cell == "child-sum" and given.label_dropout is None:
        types, tokens = labels_of_trees(examples.forest, read.vocabulary)
        if known is not None:
            tokens[known[1]] = np.inf  # its vector is known
        child_sum(model).drop_rare_labels(types, tokens, RARE)
    return model


def _beside(
    model: TreePredictor | NodePredictor, read: Reading, examples: Any
) -> BesideBag | BesideTable:
    """The model beside a linear one, which is not fitted yet; or beside a table, which is."""
    if isinstance(model, NodePredictor):
        table = LabelTable(**table_sizes(read.vocabulary, read.question))
        table.fit(examples, model.class_weight)
        return BesideTable(model, table)
    sizes = bag_sizes(read.vocabulary, read.question)
    return BesideBag(model, LabelBag.knowing(examples.forest, read.letters, **sizes))


def _left_open(
    mixed: BesideBag, examples: Any, held_out: Any, read: Reading
) -> tuple[TreeExamples, TreeExamples | None]:
    """Fits the linear model; returns the examples with the targets that are left to the tree.

    For numbers these are the residuals of the linear model, each predicted without learning from
    its example: the residuals of examples it has learned from are too small.
    """
    seed, groups = read.settings.seed, read.learn.groups
    guess = _fit_bag(mixed, examples, seed, groups, held_out, forms=read.forms)
    if guess is None:
        return examples, held_out
    rest = examples.targets.numpy() - guess
    unit = max(rest.std(), 1e-12)
    mixed.shares.copy_(torch.tensor([unit, 1.0]))

    def with_rest(of: TreeExamples, rest: np.ndarray) -> TreeExamples:
        targets = (rest / unit).astype(np.float32)
        return TreeExamples(of.forest, targets, of.weights, of.roots_per_example)

    if held_out is None:
        return with_rest(examples, rest), None
    lacking = (held_out.targets - mixed.bag(held_out.forest)).numpy()
    return with_rest(examples, rest), with_rest(held_out, lacking)


def _fit_bag(
    mixed: BesideBag,
    examples: Any,
    seed: int,
    groups: np.ndarray | None,
    held_out: Any = None,
    **how: Any,
) -> np.ndarray | None:
    """Fits the linear model; for numbers, returns cross-validated predictions of the examples.

    Args:
        how: further arguments of :meth:`.LabelBag.fit_numbers`.
    """
    if mixed.kind == "classes":
        mixed.bag.fit_classes(examples, held_out, seed)
        return None
    weights = None if examples.weights is None else examples.weights.double().numpy()
    targets = examples.targets.double().numpy()
    given = examples.forest, targets, weights, seed
    return mixed.bag.fit_numbers(*given, groups=groups, **how)


def judged_by(question: Question) -> dict[str, Any]:
    """The measure that chooses the best epoch: the accuracy if there is one, else the loss."""
    if question.kind == "classes":
        return {"monitor": "accuracy", "metrics": {"accuracy": accuracy}}
    if question.kind == "nodes":
        return {"monitor": "accuracy", "metrics": {"accuracy": NodePredictor.accuracy}}
    return {}
