"""The penalised optimum of squares: beside scikit-learn's, and with samples truly held out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge as Slow

from structnet.neural_tree.ridge import Ridge
from structnet.routing import Samples

STRENGTHS = [3.0, 0.1, 1e-3]


def table(size: int, columns: int, weighted: bool) -> Samples:
    """Two noisy targets of a table that lies far from 0."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(size, columns)) + 10
    y = x[:, :2] + rng.normal(size=(size, 2)) - 5
    weights = torch.from_numpy(rng.uniform(0, 2, size)) if weighted else None
    return Samples(torch.from_numpy(x), torch.from_numpy(y), weights)


def slow(samples: Samples, strength: float, places: np.ndarray) -> Slow:
    """The optimum for some samples, the penalty as strong as it is for all."""
    model = Slow(alpha=strength * len(samples) * samples.targets.shape[1] / 2, solver="cholesky")
    return model.fit(samples.x[places], samples.targets[places], samples.counts()[places])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("size", "columns"), [(30, 4), (12, 20)])
def test_optimum_and_unseen_loss_are_those_of_refitted_models(
    size: int, columns: int, weighted: bool
) -> None:
    samples, every = table(size, columns, weighted), np.arange(size)
    ridge = Ridge(lambda: [samples[every[:7]], samples[every[7:]]])
    unseen = ridge.unseen(STRENGTHS).tolist()
    for strength, loss in zip(STRENGTHS, unseen, strict=True):
        weights, biases = ridge.optimum(strength)
        model = slow(samples, strength, every)
        assert np.allclose(weights, model.coef_) and np.allclose(biases, model.intercept_)
        missed = [
            slow(samples, strength, np.delete(every, i)).predict(samples.x[i : i + 1])[0]
            - samples.targets[i].numpy()
            for i in every
        ]
        expected = np.mean(samples.counts() * np.square(missed).mean(1))
        assert loss == pytest.approx(expected, rel=1e-6)


def test_columns_that_say_the_same_share_a_weight() -> None:
    samples = table(30, 4, weighted=False)
    twice = Samples(torch.cat([samples.x, samples.x], dim=1), samples.targets)
    weights, _ = Ridge(lambda: [twice]).optimum(1e-6)
    assert torch.allclose(weights[:, :4], weights[:, 4:], atol=1e-8)


def test_numbers_that_no_float_can_hold_are_refused() -> None:
    samples = Samples(torch.tensor([[1e200], [-1e200]]).double(), torch.ones(2, 1))
    with pytest.raises(RuntimeError):
        Ridge(lambda: [samples])
