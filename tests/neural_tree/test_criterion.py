"""The criterion by which regions and steps are chosen: several outputs tell more than one."""

from __future__ import annotations

import numpy as np
import pytest

from structnet.neural_tree import NeuralTreeClassifier
from structnet.neural_tree.growth.criterion import Criterion
from structnet.neural_tree.growth.regions import find_regions
from structnet.neural_tree.growth.steps import find_steps
from structnet.neural_tree.growth.sums import find_sum


def test_outputs_are_counted_as_far_as_they_vary_apart() -> None:
    rng = np.random.default_rng(0)
    y, weights = rng.normal(size=(4000, 6)), rng.choice([0.5, 1.0, 2.0], size=4000)
    for residuals, outputs in (
        (y, 6),
        (y[:, :1], 1),
        (y[:, :1] * [1, -1], 1),  # of two classes
        (np.repeat(y[:, :3], 2, axis=1), 3),
        (1e-9 * y, 6),
        (0 * y, 1),
    ):
        found = Criterion.of(residuals, weights)
        assert found.outputs == pytest.approx(outputs, rel=0.01)
        assert found.number == pytest.approx(weights.sum())


def test_of_one_output_it_is_that_of_least_squares() -> None:
    """The Bayesian criterion of Gaussians, n log(mean square) + log(n) for each number."""
    found = Criterion.of(np.ones((500, 1)), np.ones(500))
    left = np.array([500.0, 100.0, 20.0])
    expected = 500 * np.log(left / 500) - 500 * np.log(left[0] / 500)
    np.testing.assert_allclose(found.values(left), expected)
    log = np.log(500)
    assert found.price_of_line(3) == pytest.approx(5 * log)  # four numbers, and a place
    assert found.price_of_constant(4) == pytest.approx(2 * log + 2 * np.log(4))
    assert found.price_of_step(4) == pytest.approx(log + 2 * np.log(4))


def outputs(seed: int, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Eight noisy numbers, all of which rise or fall a little at one threshold."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(600, 4))
    y = rng.normal(size=(600, 8)) + height * np.outer(x[:, 1] > 0.2, rng.choice([-1, 1], 8))
    return x, y - y.mean(0)


@pytest.mark.parametrize("seed", range(5))
def test_what_all_outputs_tell_a_little_is_found(seed: int) -> None:
    x, y = outputs(seed, height=0.28)  # it explains 2 % of the squares
    found = find_steps(x, y, np.ones(600), most=8, least=8)
    assert found.cuts[0] is not None and found.cuts[0].axis == 1
    assert abs(found.cuts[0].threshold - 0.2) < 0.1
    assert [step.column for step in find_sum(x, y, np.ones(600), most=8, least=8).steps] == [1]


@pytest.mark.parametrize("seed", range(5))
def test_noise_in_many_outputs_has_no_regions(seed: int) -> None:
    x, y = outputs(seed, height=0.0)
    assert find_steps(x, y, np.ones(600), most=8, least=8).children == [()]
    found = find_regions(x, y, np.ones(600), most=8, least=24)
    assert found is not None and found.children == [()]
    assert not find_sum(x, y, np.ones(600), most=8, least=8).steps


def test_what_lines_leave_of_many_classes_is_learned_by_regions() -> None:
    def scored(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng, rule = np.random.default_rng(seed), np.random.default_rng(7)
        x = rng.normal(size=(size, 6))
        scores = np.column_stack([x, np.sin(2 * x[:, :3])]) @ rule.normal(size=(9, 12))
        return x, (scores + rng.gumbel(0, 0.3, (size, 12))).argmax(1)

    how = {"random_state": 0, "transformers": False, "refine_epochs": 5}
    several = NeuralTreeClassifier(**how).fit(*scored(1000, 0))
    single = NeuralTreeClassifier(**how, max_leaves=1).fit(*scored(1000, 0))
    test = scored(4000, 1)
    assert several.score(*test) > single.score(*test) + 0.04
