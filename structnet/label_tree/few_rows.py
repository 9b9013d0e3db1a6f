"""A softmax over all labels of dense rows, solved directly; of few rows, in two ways together."""

from __future__ import annotations

import numpy as np

from structnet.estimators.logistic import logistic_regression
from structnet.label_tree.discriminant_analysis import UNSEEN, discriminant, losses_of, unit_of
from structnet.label_tree.examples import Examples, tenths

WORK = 300_000  # rows times columns times labels up to which both methods take less than a second
PENALTIES = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)  # for rows of mean square 1
USUAL = 1.0  # penalty if no rows can be held out


def solved(examples: Examples, num_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The weights and biases of a softmax over all labels of dense rows, without training.

    They are those of a :func:`.discriminant` analysis. If rows are few, they are the means of these
    and of those of a logistic regression, whose penalty of squared weights is chosen by
    cross-validation. The former is better where the rows of a label are distributed normally, the
    latter where they are not. Few rows do not show which it is; but as their errors differ, those
    of the mean are about as rare as those of the better one.

    Args:
        examples: examples with dense rows.
        num_classes: number of labels.
        seed: seed of the choice of held-out rows.

    Shapes:
        weights ``[num_classes, columns]``; biases ``[num_classes]``; float32.

    Example:
        >>> from structnet.label_tree import Features
        >>> table, labels = np.array([[0.0], [2.0], [8.0], [10.0]] * 9), np.array([0, 0, 1, 1] * 9)
        >>> weight, bias = solved(Examples(Features.from_table(table), labels), 2)
        >>> middle = (bias[0] - bias[1]) / (weight[1] - weight[0])
        >>> middle.round(1).tolist()  # where both are equally likely
        [5.0]
    """
    if len(examples.shares):
        examples = examples[examples.shares > 0]
    weight, bias = discriminant(examples, num_classes, seed)
    if examples.features.values.size * num_classes > WORK or not weight.any():
        return weight, bias
    unit = unit_of(examples)
    losses: dict[float, float] = {}
    parts, ways = list(tenths(examples, seed)), dict[int, np.ndarray]()
    for penalty in PENALTIES if parts else []:
        losses[penalty] = 0.0
        for place, (learn, held) in enumerate(parts):
            ways[place] = _regression(learn, num_classes, unit, penalty, ways.get(place))
            logits = held.features.table @ (ways[place][:-1] / unit) + ways[place][-1]
            losses[penalty] += held.weighed(losses_of(logits, held.labels, len(learn)))
        if losses[penalty] > min(losses.values()):  # less of it is worse, and takes longer
            break
    best = min(losses, key=lambda penalty: losses[penalty], default=USUAL)
    found = _regression(examples, num_classes, unit, best).astype(np.float32)
    return (weight + found[:-1].T / np.float32(unit)) / 2, (bias + found[-1]) / 2


def _regression(
    examples: Examples,
    num_classes: int,
    unit: float,
    penalty: float,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Weights, of rows in some unit, and biases. ``[columns + 1, num_classes]``."""
    labels, table = examples.labels, examples.features.table / unit
    there = np.unique(labels)
    found = np.zeros((table.shape[1] + 1, num_classes))
    found[-1] = np.log(UNSEEN / examples.weight)
    begin = None if start is None else start[:, there]
    shares = examples.shares if len(examples.shares) else None
    labels = np.searchsorted(there, labels)
    found[:, there] = logistic_regression(table, labels, penalty, shares, begin)
    return found
