"""What is measured of a trained model."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from structnet.cli.run import Trained
from structnet.cli.tasks import Labelled
from structnet.training.metrics import accuracy_by, evaluating, predict_all
from structnet.trees.tree import Tree


def measure(trained: Trained, data: Labelled, batch_size: int = 1000) -> dict[str, Any]:
    """The accuracy on some examples; for lrt also by operators, and the mean over these groups.

    Args:
        trained: the model.
        data: the examples.
        batch_size: how many are computed at once.

    Raises:
        ValueError: there are no examples, or they hold what the model does not know.
    """
    examples = data.encoded(trained.vocabulary)
    predicted = predict_all(trained.model, examples, batch_size=batch_size, device=trained.device)
    right = (predicted == examples.targets).double()
    result: dict[str, Any] = {"accuracy": right.mean().item()}
    if trained.task.grouped:
        groups = accuracy_by(predicted, examples.targets, trained.task.groups(data))
        result["accuracy_mean_over_operators"] = float(np.mean([a for a, _ in groups.values()]))
        result["accuracy_by_operators"] = {str(n): list(group) for n, group in groups.items()}
    return result


def ask(trained: Trained, trees: tuple[Tree, ...]) -> tuple[str, float]:
    """The likeliest class of one example, and its probability.

    Raises:
        VocabularyError: a label, or a number of operands, that the model does not know.
    """
    data = Labelled(trees, [0]).encoded(trained.vocabulary).to(trained.device)
    with evaluating(trained.model):
        probability, number = trained.model.predict_proba(data).max(-1)
    return trained.classes[number.item()], probability.item()


def ask_all(trained: Trained, trees: list[Tree]) -> list[str]:
    """The likeliest class of each tree, where an example is one tree."""
    data = Labelled(trees, [0] * len(trees)).encoded(trained.vocabulary)
    predicted: torch.Tensor = predict_all(trained.model, data, device=trained.device)
    return [trained.classes[number] for number in predicted.tolist()]
