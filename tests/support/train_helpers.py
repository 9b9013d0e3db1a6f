"""Small models and data for the tests of the training loop."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import torch
from torch import nn

from structnet.training.fitting import fit
from structnet.training.history import History


class Rows:
    """Feature rows with classes: the least that counts as data, and as a batch."""

    def __init__(self, inputs: torch.Tensor, targets: torch.Tensor):
        self.inputs, self.targets = inputs, targets

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, indices: np.ndarray) -> Rows:
        assert isinstance(indices, np.ndarray) and indices.dtype == np.int64
        return Rows(self.inputs[indices], self.targets[indices])

    def to(self, device: torch.device) -> Rows:
        return Rows(self.inputs.to(device), self.targets.to(device))


def rows(count: int, seed: int = 0) -> Rows:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(count, 4, generator=generator, dtype=torch.float64)
    return Rows(inputs, (inputs[:, 0] * inputs[:, 1] > 0).long())


class Classifier(nn.Module):
    """Two layers with dropout and, if wanted, batch normalisation; float64."""

    def __init__(self, hidden_size: int = 6, dropout: float = 0.2, norm: bool = False):
        super().__init__()
        torch.manual_seed(5)
        self.first = nn.Linear(4, hidden_size)
        self.norm = nn.BatchNorm1d(hidden_size) if norm else nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.last = nn.Linear(hidden_size, 2)
        self.double()

    def forward(self, batch: Rows) -> torch.Tensor:
        return self.last(self.dropout(torch.tanh(self.norm(self.first(batch.inputs)))))

    def loss(self, batch: Rows) -> torch.Tensor:
        return nn.functional.cross_entropy(self(batch), batch.targets)

    def predict(self, batch: Rows) -> torch.Tensor:
        return self(batch).argmax(1)


class Noisy(Classifier):
    """Uses the global generators of Python and numpy, too."""

    def loss(self, batch: Rows) -> torch.Tensor:
        return super().loss(batch) * (1 + 0.1 * random.random() + 0.1 * np.random.rand())


class Scripted(nn.Module):
    """Its weight counts the steps; its validation loss is read from a list, an epoch an entry."""

    def __init__(self, losses: list[float]):
        super().__init__()
        self.losses = losses
        self.weight = nn.Parameter(torch.zeros(()))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.steps += 1
            return -self.weight  # SGD with a rate of 1 adds 1 a step
        return torch.tensor(self.losses[int(self.steps) - 1])

    def predict(self, batch: torch.Tensor) -> torch.Tensor:
        return batch


def scripted_fit(losses: list[float], **options) -> tuple[Scripted, History]:
    model = Scripted(losses)
    data = torch.zeros(3)
    sgd = partial(torch.optim.SGD, lr=1.0)
    options = {"epochs": len(losses), "batch_size": 3, "optimizer": sgd} | options
    return model, fit(model, data, torch.zeros(2), **options)


def broken_rows() -> Rows:
    data = rows(23)
    data.inputs[7, 2] = torch.nan
    return data
