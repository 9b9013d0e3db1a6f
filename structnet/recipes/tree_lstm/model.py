"""Builds, trains and evaluates the model of a Tree-LSTM's run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from structnet import tensor_tree
from structnet.recipes.run import Run
from structnet.recipes.tree_lstm.listops import ListOpsData
from structnet.recipes.tree_lstm.lrt import LRTData
from structnet.recipes.tree_lstm.settings import WARM_UP, TreeLSTMRunSettings
from structnet.recipes.tree_lstm.trees import Labelled, TreeData, TreeDataSet
from structnet.tensor_tree import TreeClassifier, TreePairClassifier
from structnet.training import accuracy, fit, predict_all
from structnet.training.history import History
from structnet.training.loop import steps_per_epoch
from structnet.training.metrics import evaluating
from structnet.training.schedules import one_cycle
from structnet.training.seeding import seeded
from structnet.trees.tree import Tree

OF_NAME: dict[str, TreeDataSet] = {each.name: each for each in (ListOpsData(), LRTData())}


@dataclass(frozen=True)
class Opened:
    """A trained model, with all that is needed to predict.

    Attributes:
        model: trained model, on the device.
        of: data set.
        classes: names of the classes, by the model's outputs.
        device: device.
    """

    model: TreeClassifier | TreePairClassifier
    of: TreeDataSet
    classes: list[str]
    device: torch.device

    def ask_all(self, examples: Labelled) -> list[str]:
        """The likeliest class of each example."""
        encoded = examples.encoded(self.of.vocabulary)
        predicted = predict_all(self.model, encoded)
        return [self.classes[number] for number in predicted.tolist()]

    def ask(self, trees: tuple[Tree, ...]) -> tuple[str, float]:
        """The likeliest class of one example, and its probability."""
        data = Labelled(trees, [0]).encoded(self.of.vocabulary).to(self.device)
        with evaluating(self.model):
            probability, number = self.model.predict_proba(data).max(-1)
        return self.classes[int(number)], probability.item()


def first_weights(settings: TreeLSTMRunSettings) -> TreeClassifier | TreePairClassifier:
    """The untrained model, its weights drawn with the run's seed.

    Raises:
        ValueError: settings exclude each other.
    """
    of = OF_NAME[settings.data]
    chosen: Any = settings.model  # resolved: only the rank may be None
    aggregator: Any = tensor_tree.AGGREGATORS[chosen.cell]
    if chosen.rank is not None:
        aggregator = partial(aggregator, rank=chosen.rank)
    head = tensor_tree.TreeClassifier if of.num_trees == 1 else tensor_tree.TreePairClassifier
    with seeded(settings.training.seed):
        encoder = tensor_tree.TreeLSTM(
            chosen.hidden_size,
            of.vocabulary.num_types,
            of.arity,
            of.inputs(),
            aggregator,
            chosen.forget,
            chosen.bottom,
            forget_bias=chosen.forget_bias,
        )
        return head(encoder, len(of.classes))


def fitted(model: nn.Module, settings: TreeLSTMRunSettings, data: TreeData, run: Run) -> History:
    """Trains a model in place, or resumes from the state in the run's folder."""
    vocabulary = OF_NAME[settings.data].vocabulary
    chosen: Any = settings.training  # resolved: only the patience may be None
    rate, decay = chosen.learning_rate, chosen.weight_decay
    how: dict[str, Any] = {"optimizer": partial(torch.optim.Adadelta, lr=rate, weight_decay=decay)}
    if chosen.optimizer == "adamw":
        steps = chosen.epochs * steps_per_epoch(len(data.train), chosen.batch_size)
        how = one_cycle(rate, decay, steps, WARM_UP)
    return fit(
        model,
        data.train.encoded(vocabulary),
        data.validation.encoded(vocabulary),
        epochs=chosen.epochs,
        batch_size=chosen.batch_size,
        patience=chosen.patience,
        monitor="accuracy",
        metrics={"accuracy": accuracy},
        seed=chosen.seed,
        device=settings.place.device,
        checkpoint=run.folder,
        resume=True,
        **how,
    )
