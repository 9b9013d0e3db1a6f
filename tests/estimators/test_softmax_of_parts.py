"""A softmax over parts of classes that is fitted to tell classes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from structnet.estimators import softmax_of_parts
from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import Shrinkage, discriminant, unit_of
from structnet.estimators.few_rows import regression, with_weights
from structnet.estimators.parts import parts_within
from structnet.estimators.softmax_of_parts import Division, fitted, parts_told

PENALTY = 0.3
HOW = Shrinkage(0, 0.1, 1.0)


def corners(number: int, seed: int = 0) -> Checked:
    """Rows of two classes, each of which lies in two opposite quadrants."""
    x = np.random.default_rng(seed).normal(size=(number, 2))
    return Checked(x, (x[:, 0] * x[:, 1] > 0).astype(np.int64), None)


def objective(rows: Checked, part_classes: np.ndarray, w: torch.Tensor) -> torch.Tensor:
    """The sum over rows, one by one, and the penalty."""
    total, x = torch.zeros(()), torch.as_tensor(rows.x / unit_of(rows.x))
    counts = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    for row, label, count in zip(x, rows.y, counts, strict=True):
        p = torch.softmax(w[:, :-1] @ row + w[:, -1], 0)
        total = total - count * torch.log(p[torch.as_tensor(part_classes == label)].sum())
    return total + PENALTY / 2 * (w[:, :-1] ** 2).sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_no_direction_leads_down_from_the_weights(weighted: bool) -> None:
    rows = corners(60)
    if weighted:
        rows = rows._replace(weights=np.random.default_rng(1).uniform(0.5, 2, size=60))
    place, part_classes = parts_within(rows, 2, 2)
    start = discriminant(rows._replace(y=place), len(part_classes), how=HOW)
    slopes, values = [], []
    for weight, bias in (start, fitted(rows, part_classes, start, PENALTY)):
        w = np.column_stack([weight * unit_of(rows.x), bias]).astype(np.float64)
        w = torch.tensor(w, requires_grad=True)
        value = objective(rows, part_classes, w)
        value.backward()
        values.append(value.item())
        slopes.append(w.grad.norm().item())
    assert values[1] < values[0] and slopes[1] < 0.02 * slopes[0]


def test_of_whole_classes_it_is_a_logistic_regression() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=90)
    rows = with_weights(Checked(rng.normal(size=(90, 3)) + np.eye(3)[y], y, None))
    weight, bias = fitted(rows, np.arange(3), discriminant(rows, 3, how=HOW), PENALTY)
    expected = regression(rows, 3, unit_of(rows.x), PENALTY)
    np.testing.assert_allclose(weight.T, expected[:-1] / unit_of(rows.x), atol=0.02)
    np.testing.assert_allclose(bias - bias.mean(), expected[-1] - expected[-1].mean(), atol=0.02)


def test_the_unit_of_rows_changes_nothing() -> None:
    rows = corners(80)
    told = [
        parts_told(rows._replace(x=unit * rows.x), 2, Division(2, HOW, PENALTY))
        for unit in (1.0, 1024.0)
    ]
    np.testing.assert_allclose(told[1].weight * 1024, told[0].weight, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(told[1].bias, told[0].bias, rtol=1e-3, atol=1e-3)


def test_parts_that_are_not_needed_have_hardly_any_weight() -> None:
    x = np.random.default_rng(0).normal(size=(200, 2))
    y = (x[:, 0] > 0).astype(np.int64)
    for penalty, least in ((0.0, 3), (3.0, 1)):
        told = parts_told(Checked(x, y, None), 2, Division(3, HOW, penalty))
        sizes = np.square(told.weight).sum(1)
        each = [sizes[told.part_classes == label] for label in (0, 1)]
        assert [(own > 0.01 * sizes.max()).sum() for own in each] == [least, least]


def test_rows_far_from_all_parts_of_their_class_count() -> None:
    """Their probability is 0 in double precision, where the fit starts."""
    rows = corners(40)
    start = np.array([[9e4, 0.0], [-9e4, 0.0]]), np.zeros(2)
    weight, bias = fitted(rows, np.arange(2), start, PENALTY)
    assert np.isfinite(weight).all() and np.isfinite(bias).all()
    assert np.abs(weight).max() < 9e4


def test_without_a_penalty_it_is_the_analysis() -> None:
    rows = corners(50)
    told = parts_told(rows, 2, Division(2, HOW))
    of_parts = rows._replace(y=told.place)
    for ours, theirs in zip(told[2:], discriminant(of_parts, 4, how=HOW), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("penalty", [0.0, 0.03])
def test_parts_that_are_badly_drawn_are_drawn_again(
    penalty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two classes in turn along a line; of the first, two clusters are one part, one is two."""
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(6), 30)
    x = np.stack([5.0 * cluster + rng.normal(size=180), rng.normal(size=180)], 1)
    y, part_classes = cluster % 2, np.array([0, 0, 0, 1, 1, 1])
    half = (cluster == 4) & (x[:, 1] > 0)
    bad = np.where(y, 3 + cluster // 2, np.where(half, 2, cluster // 4))
    rows, division = Checked(x, y, None), Division(3, HOW, penalty)
    draws: list[int] = []

    def badly_first(
        rows: Checked, num_classes: int, number: int, seed: int
    ) -> tuple[np.ndarray, np.ndarray]:
        draws.append(seed)
        first = len(draws) == 1
        return (bad, part_classes) if first else parts_within(rows, num_classes, number, seed)

    monkeypatch.setattr(softmax_of_parts, "parts_within", badly_first)
    told = parts_told(rows, 2, division)
    others = [parts_within(rows, 2, 3, seed)[0] for seed in draws[1:]]
    assert any(np.array_equal(told.place, other) for other in others)
    start = discriminant(rows._replace(y=bad), 6, how=HOW)
    alone = fitted(rows, part_classes, start, penalty) if penalty else start
    wrong = [
        (part_classes[(x @ weight.T + bias).argmax(1)] != y).mean()
        for weight, bias in (alone, (told.weight, told.bias))
    ]
    parts = (x @ told.weight.T + told.bias).argmax(1)
    assert (parts == told.place).mean() > 0.95
    assert wrong[0] > 0.1 and wrong[1] < 0.03
