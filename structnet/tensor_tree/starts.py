"""Trains several automata side by side and keeps the one that predicts held-out trees best.

Which tables a training finds depends on the first ones, and on the number of states: with many, it
learns trees by heart; with few, it cannot tell values apart. The time of a step is that of many
small operations, so that four automata take hardly more than twice as long as one.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structnet.tensor_tree.predictor import TreePredictor
from structnet.tensor_tree.tree_automaton import TreeAutomaton, states_side_by_side
from structnet.training.metrics import batch_starts, evaluating
from structnet.training.modules import device_of
from structnet.training.seeding import random_states_kept
from structnet.trees.examples import TreeExamples

STARTS = 4
BATCH = 500  # examples that are predicted at once


class Starts(nn.Module):
    """Models of classes that read the root's state of an automaton, each with other first tables.

    Args:
        model: model, one like which is trained from each start; the last start is its own.
        seed: seed of the tables.
        starts: number of starts. Their numbers of states rise evenly, in their logarithms, from
            one more than there are classes to all of the model's.
    """

    def __init__(self, model: TreePredictor, seed: int, starts: int = STARTS):
        super().__init__()
        most = model.readout.encoder.hidden_size
        sizes = np.geomspace(min(model.num_outputs + 1, most), most, starts).round()
        copies = [copy.deepcopy(model) for _ in sizes[:-1]]
        with random_states_kept(torch.device("cpu")):
            for i, (each, used) in enumerate(zip(copies, sizes, strict=False)):
                (own,) = np.random.SeedSequence([seed, i]).generate_state(1)
                torch.manual_seed(int(own))
                encoder = each.readout.encoder
                assert isinstance(encoder, TreeAutomaton)
                encoder.reset_parameters(int(used))
                each.readout.output.reset_parameters()
                encoder.name_states(each.readout.output)
        self.models = nn.ModuleList([*copies, model])

    @staticmethod
    def suit(model: TreePredictor) -> bool:
        """Does the model predict classes from an automaton's states of roots alone?"""
        return model.kind == "classes" and model.readout.pools == ("root",)

    def outputs(self, batch: TreeExamples) -> Tensor:
        """The logits of each model, ``[starts, n, outputs]``."""
        models: list[Any] = list(self.models)
        automata = [each.readout.encoder for each in models]
        h = states_side_by_side(automata, batch.forest, batch.forest.roots)
        return torch.stack([each.readout.of_roots(h[:, i]) for i, each in enumerate(models)])

    def loss(self, batch: TreeExamples) -> Tensor:
        """The mean of the models' losses, ``[]``; its gradients are their own but for a factor."""
        models: list[Any] = list(self.models)
        pairs = zip(models, self.outputs(batch), strict=True)
        return torch.stack([each.loss_at(outputs, batch) for each, outputs in pairs]).mean()

    def accuracies(self, batch: TreeExamples) -> Tensor:
        """The weighted share of examples that each model predicts correctly, ``[starts]``."""
        right = self.outputs(batch).argmax(-1) == batch.targets
        return (right * batch.counts()).double().mean(1)

    def best(self, examples: Any) -> nn.Module:
        """The model that predicts most examples correctly, of equal ones that of fewest states."""
        device, found = device_of(self), []
        with evaluating(self):
            for start in batch_starts(examples, BATCH):
                batch = examples[slice(start, start + BATCH)].to(device)
                found.append(self.accuracies(batch) * len(batch))
        return self.models[int(torch.stack(found).sum(0).argmax())]


def best_accuracy(starts: Starts, batch: TreeExamples) -> float:
    """The accuracy of the best start, which is a measure of training."""
    return starts.accuracies(batch).max().item()
