"""Trains models of users' trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from structnet.tensor_tree.building import build, new_model
from structnet.tensor_tree.cell_choice import (
    Settled,
    best_of,
    cells,
    stop_when_settled,
    without_mistakes,
)
from structnet.tensor_tree.counts.beside import Beside, with_counts
from structnet.tensor_tree.predictor import Answers, NodePredictor, TreePredictor, losses_of
from structnet.tensor_tree.reading import Reading, read_by
from structnet.tensor_tree.settings import CELLS, TreeLSTMSettings
from structnet.tensor_tree.small_first import SmallFirst
from structnet.tensor_tree.starts import BATCH, Starts, best_accuracy
from structnet.tensor_tree.targets import Question, Targets
from structnet.training.fitting import fit
from structnet.training.gains import is_better
from structnet.training.history import History
from structnet.training.loop import steps_per_epoch
from structnet.training.metrics import accuracy, batch_starts, evaluating
from structnet.training.modules import device_of
from structnet.training.schedules import one_cycle
from structnet.training.seeding import random_states_kept
from structnet.trees.vocabulary import Vocabulary

SURE = 2  # standard errors by which the loss of held-out examples must be below that of no tree
KNOWN = 1e-3  # share of the variance below which counts leave nothing to learn
PATIENCE = 8  # epochs without a new best after which a training without counts ends
ALONE = "alone"  # folder of the training without counts, in that of the training with them
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
        tells: False if held-out examples are predicted no better than without their trees.
    """

    model: Any
    vocabulary: Vocabulary
    question: Question
    settings: TreeLSTMSettings
    history: History
    affixes: bool = False
    tells: bool = True

    def config(self) -> dict[str, Any]:
        """Everything but the weights, for JSON; :meth:`from_config` builds the model from it.

        Raises:
            TypeError: the cell is an aggregator of the user's, which JSON cannot hold.
        """
        if not isinstance(self.settings.cell, str):
            raise TypeError(
                f"To be saved, the 'cell' parameter must be one of {list(CELLS)}. Got "
                f"{self.settings.cell_name}; use pickle for an aggregator of your own."
            )
        return {
            "vocabulary": self.vocabulary.to_dict(),
            "question": asdict(self.question),
            "settings": asdict(self.settings),
            "history": list(self.history),
            "known": self.model.known if self.settings.bag else {},
            "affixes": self.affixes,
            "tells": self.tells,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Trained:
        """The model that :meth:`config` described, with new weights."""
        vocabulary = Vocabulary.from_dict(config["vocabulary"])
        question = Question(**config["question"])
        settings = TreeLSTMSettings(**config["settings"])
        history = History(config["history"])
        with random_states_kept(torch.device("cpu")):
            model: Answers = build(settings, vocabulary, question)
        if settings.bag:
            model = with_counts(model, vocabulary, question, **config["known"])
        more = config["affixes"], config["tells"]
        return cls(model, vocabulary, question, settings, history, *more)


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
    to_try: tuple[Any, ...] = ("child-sum",) if settings.cell is None else (settings.cell,)
    if settings.cell is None and vectors is None and validation is not None:
        to_try = cells(settings, learn.trees, validation.trees, question.kind)
    places = [folder, *(Path(folder, cell) if folder is not None else None for cell in to_try[1:])]
    found: dict[Any, _Candidate] = {}
    for cell, place in zip(to_try, places, strict=True):
        given, others = replace(settings, cell=cell), list(found.values())
        found[cell] = _candidate(given, question, learn, validation, place, others, **how)
        if validation is not None and found[cell].makes_no_mistakes():
            break
    chosen = to_try[0]
    if len(found) > 1:
        chosen = best_of({cell: each.losses() for cell, each in found.items()})
    best = found[chosen]
    if question.kind == "numbers" and validation is not None and best.adds_nothing():
        patience = settings.patience or PATIENCE
        alone = replace(settings, cell=chosen, bag=False, patience=patience)
        place = None if folder is None else Path(folder, ALONE)
        other = _candidate(alone, question, learn, validation, place, [], **how)
        pair = best.losses(), other.losses()
        best = other if is_better(*pair, SURE, groups=validation.groups) else best
    tells = best.tells() if validation is not None else True
    if refit and validation is not None:
        best.refit()
    return replace(best.trained, tells=tells)


class _Counts(NamedTuple):
    """Models of counts, fitted, which suit every cell that reads the same.

    Attributes:
        read: samples in the form that they read.
        beside: models, beside the predictor that they were first fitted for.
        guess: array that :meth:`.Beside.fit_bag` returned.
    """

    read: Reading
    beside: Beside
    guess: np.ndarray | None


@dataclass(frozen=True)
class _Candidate:
    """A trained model, the samples in the form it reads, and the models of counts before mixing."""

    trained: Trained
    learn: Targets
    validation: Targets | None
    counts: _Counts | None

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
                found.append(model.losses_as_weighed(batch).cpu().double().numpy())
        return np.concatenate(found)

    def makes_no_mistakes(self) -> bool:
        """Whether the classes of enough held-out trees are all predicted correctly."""
        trained, held = self.trained, self.validation
        assert held is not None
        return trained.question.kind == "classes" and without_mistakes(trained.history, len(held))

    def adds_nothing(self) -> bool:
        """Whether numbers of held-out trees are predicted by counts alone, which leave much open.

        What they leave open may be harder to learn than the whole: of a sum of products they find
        what each factor adds by itself, and in the rest no factor alone tells anything.
        """
        model = self.trained.model
        if not isinstance(model, Beside) or model.shares[0] > 0:
            return False
        assert self.validation is not None
        y, weights = (
            each.double() for each in model.targets_and_weights(self._examples(self.validation))
        )
        spread = weights @ (y - weights @ y / weights.sum()).square().mean(-1)
        return bool(self.losses().sum() > KNOWN * spread)

    def tells(self) -> bool:
        """Whether held-out trees are surely predicted better than by the same outputs for all."""
        assert self.validation is not None
        kind = self.trained.question.kind
        if kind not in ("classes", "numbers"):
            return True
        (y, count), (held, weights) = (
            self.trained.model.targets_and_weights(self._examples(each))
            for each in (self.learn, self.validation)
        )
        if kind == "classes":
            total = torch.bincount(y, count, self.trained.question.num_outputs)
        else:
            total = count @ y.to(count)
        same = (total / count.sum()).expand(len(held), -1)
        before = (
            losses_of(kind, same.clamp(1e-12).log() if kind == "classes" else same, held) * weights
        )
        return is_better(before.numpy(), self.losses(), SURE)

    def refit(self) -> None:
        """Fits the model of counts beside the Tree-LSTM to the validation examples too."""
        assert self.validation is not None
        trained, every = self.trained, self.learn.with_others(self.validation)
        if trained.settings.bag:
            trained.model.refit_bag(self._examples(every), trained.settings.seed)


def _candidate(
    settings: TreeLSTMSettings,
    question: Question,
    learn: Targets,
    validation: Targets | None,
    folder: str | Path | None,
    others: Sequence[_Candidate],
    *,
    device: str | torch.device,
    progress: bool,
    vectors: str | Path | None,
    train_vectors: bool,
) -> _Candidate:
    """A model of one cell with the weights of its best epoch; errors as for :func:`train`.

    Automata end when they are clearly behind the others or make no mistakes.
    """
    read = read_by(settings, question, learn, validation, vectors)
    question, given = read.question, read.settings
    examples = read.learn.examples(question, read.vocabulary)
    held_out = None
    if read.validation is not None:
        held_out = read.validation.examples(question, read.vocabulary)
    model = new_model(read, examples.forest, device, train_vectors)
    given = replace(given, bag=given.bag and not (held_out is None and question.kind == "nodes"))
    mixed, counts, to_learn, to_judge = None, None, examples, held_out
    if given.bag:
        known = (each.counts for each in others if each.counts and each.counts.read.counts_as(read))
        counts = next(known, None) or _fitted_counts(read, model, examples, held_out)
        mixed = counts.beside.with_tree(model)
        to_learn, to_judge = mixed.left_open(examples, held_out, counts.guess)
    assert given.epochs and given.batch_size and given.weight_decay is not None  # as resolved
    steps = given.epochs * steps_per_epoch(len(examples), given.batch_size)
    history = History()
    shown: Any = to_learn
    patience = None if held_out is None else given.patience
    judged = {} if held_out is None else judged_by(question)
    how = one_cycle(given.learning_rate, given.weight_decay, steps, RISE) | judged
    starts = None
    if given.cell == "automaton":
        shown = SmallFirst(to_learn, given.epochs, history)
        patience = patience and max(patience, shown.partial_epochs)
        if isinstance(model, TreePredictor) and Starts.suit(model):
            starts = Starts(model, given.seed)
            how["clip_norm"] = None  # it would let one start slow down the others
            if held_out is not None:  # all at once, as another may be the best of each batch
                how |= {"metrics": {"accuracy": best_accuracy}}
                how |= {"validation_batch_size": len(held_out)}
    callbacks = []
    if starts is not None and held_out is not None:
        rival = max(
            (max(each.trained.history["validation_accuracy"]) for each in others), default=0.0
        )
        callbacks = [stop_when_settled(len(held_out), given.epochs, rival)]
    with suppress(Settled):
        fit(
            starts or model,
            shown,
            to_judge,
            epochs=given.epochs,
            batch_size=given.batch_size,
            patience=patience,
            seed=given.seed,
            device=device,
            checkpoint=folder,
            resume=folder is not None,
            callbacks=callbacks,
            progress=progress,
            history=history,
            **how,
        )
    if starts is not None:
        model.load_state_dict(starts.best(to_judge or to_learn).state_dict())
    if mixed is not None and held_out is not None:
        with evaluating(mixed):
            mixed.to(device).choose(held_out.to(device))
    trained = Trained(mixed or model, read.vocabulary, question, given, history, read.affixes)
    return _Candidate(trained, read.learn, read.validation, counts)


def _fitted_counts(read: Reading, model: Answers, examples: Any, held_out: Any) -> _Counts:
    """Models of counts for a model that reads these examples."""
    made = with_counts(model, read.vocabulary, read.question, examples.forest, read.chosen.letters)
    by = read.settings.seed, read.learn.groups, read.chosen.forms
    return _Counts(read, made, made.fit_bag(examples, held_out, *by))


def judged_by(question: Question) -> dict[str, Any]:
    """The measure that chooses the best epoch: the accuracy if there is one, else the loss."""
    if question.kind == "classes":
        return {"monitor": "accuracy", "metrics": {"accuracy": accuracy}}
    if question.kind == "nodes":
        return {"monitor": "accuracy", "metrics": {"accuracy": NodePredictor.accuracy}}
    return {}
