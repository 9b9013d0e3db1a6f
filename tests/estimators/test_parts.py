"""Classes of several parts: their division, the sums over them, and trees of parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.cluster import KMeans

from structnet.estimators.checked import Checked
from structnet.estimators.parts import LEAST, _distances, of_classes, parts_within


def clusters(number: int, parts: int, rows: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Rows in clusters that are far apart, with their classes and clusters."""
    rng = np.random.default_rng(seed)
    which = np.repeat(np.arange(number * parts), rows)
    centres = 20.0 * rng.permutation(number * parts)[:, None] * [1, 0] + [0, 5]
    return centres[which] + rng.normal(size=(len(which), 2)), which // parts, which


def test_clusters_that_are_far_apart_become_parts() -> None:
    x, y, which = clusters(5, 3, 12)
    part, classes = parts_within(Checked(x, y, None), 5, 3)
    assert classes.tolist() == np.repeat(np.arange(5), 3).tolist()
    np.testing.assert_array_equal(classes[part], y)
    assert len({*zip(part.tolist(), which.tolist(), strict=True)}) == 15  # one part per cluster


def test_parts_are_about_as_compact_as_those_of_another_k_means() -> None:
    x, number = np.random.default_rng(1).normal(size=(300, 3)), 6
    part, _ = parts_within(Checked(x, np.zeros(300, np.int64), None), 1, number)
    inertia = sum(((x[part == p] - x[part == p].mean(0)) ** 2).sum() for p in range(number))
    assert inertia < 1.05 * KMeans(number, n_init=5, random_state=0).fit(x).inertia_


@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 40), st.integers(0, 99))
def test_each_class_has_a_part_and_each_row_one_of_its_class(
    classes: int, number: int, rows: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(3, size=(rows, 2)).astype(float), rng.integers(classes, size=rows)
    weights = rng.choice([0.5, 1.0, 3.0], size=rows)
    part, of = parts_within(Checked(x, y, weights), classes, number)
    np.testing.assert_array_equal(of[part], y)
    counts = np.bincount(of, minlength=classes)
    most = np.clip(np.bincount(y, minlength=classes) // LEAST, 1, number)
    assert (counts >= 1).all() and (counts <= most).all() and (np.diff(of) >= 0).all()


def test_a_row_of_much_weight_counts_as_often() -> None:
    x, y = np.random.default_rng(2).normal(size=(60, 2)), np.zeros(60, np.int64)
    weights = np.ones(60)
    weights[0] = 1e6
    part, _ = parts_within(Checked(x, y, weights), 1, 2)
    near = ((x - x[0]) ** 2).sum(1).argsort()[1]
    assert np.isfinite(part).all() and len(set(part)) == 2 and part[near] == part[0]


@pytest.mark.parametrize("scale", [1.0, 500.0])
def test_a_class_is_as_likely_as_its_parts_together(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_p = log_softmax(scale * np.random.default_rng(0).normal(size=(7, 6)), axis=1)
    classes = np.array([0, 0, 1, 2, 2, 2])
    expected = np.stack(
        [np.logaddexp.reduce(log_p[:, classes == c], axis=1) for c in range(3)], axis=1
    )
    whole = of_classes(lambda rows: log_p[rows], 7, classes)
    np.testing.assert_allclose(whole, np.minimum(expected, 0), atol=1e-12)
    monkeypatch.setattr("structnet.estimators.parts.CELLS", 12)  # two rows at a time
    np.testing.assert_array_equal(of_classes(lambda rows: log_p[rows], 7, classes), whole)


def test_the_number_that_was_found_gives_the_same_parts() -> None:
    for seed in range(30):
        random = np.random.default_rng(seed)
        x, y = random.integers(0, 3, (60, 2)).astype(float), np.arange(60) % 2
        part, classes = parts_within(Checked(x, y, None), 2, 16, seed)
        found = int(np.bincount(classes).max())
        again, same = parts_within(Checked(x, y, None), 2, found, seed)
        np.testing.assert_array_equal(again, part)
        np.testing.assert_array_equal(same, classes)


@pytest.mark.parametrize("size", [50, 500])
def test_distances_are_those_of_differences(size: int) -> None:
    random = np.random.default_rng(0)
    x, y = 1e3 + random.normal(size=(size, 3)), np.arange(size) % 4
    centres, most = 1e3 + random.normal(size=(4, 3, 3)), np.array([3, 1, 2, 3])
    for k, number in enumerate(most):
        centres[k, number:] = np.inf  # which it lacks
    found = _distances(x, y, centres, most)
    for row, k, each in zip(x, y, found, strict=True):
        expected = np.square(row - centres[k, : most[k]]).sum(1)
        np.testing.assert_allclose(each[: most[k]], expected, rtol=1e-9)
        assert np.isinf(each[most[k] :]).all()
