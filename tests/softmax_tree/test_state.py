"""A training that is interrupted goes on as if it had not been."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from softmax_trees import clusters, thinned

from structnet.softmax_tree import GrowthSettings, SoftmaxTreeSettings, train
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.state import State, facts_of
from structnet.training import CheckpointError, History, save_model

GROWTH = GrowthSettings(alpha=0.8, rho=0.99, start_depth=1, max_rounds=2)


class Interrupted(Exception):
    pass


def training(growth: GrowthSettings | None, sparse: bool, **how: Any) -> Any:
    x, y = clusters(240)
    x = thinned(x) if sparse else x
    settings = SoftmaxTreeSettings(
        depth=None if growth else 2,
        max_leaf_classes=None if growth else 6,
        start="clusters",
        decision_penalty=0.1,
        leaf_penalty=0.1,
        max_iter=3,
        tol=0.01,
        solver_steps=10,
    )
    validation = (x[180:], y[180:]) if growth else None
    return train(x[:180], y[:180], settings, growth, validation=validation, refit=True, **how)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("growth", [None, GROWTH])
def test_interruptions(growth: GrowthSettings | None, sparse: bool, tmp_path: Path) -> None:
    whole = training(growth, sparse)
    number = len(whole.history)
    assert number > 2
    for stop in {1, number // 2, number - 1, number}:
        file = tmp_path / str(stop)

        def interrupt(history: History, stop: int = stop) -> None:
            if len(history) == stop:
                raise Interrupted

        with pytest.raises(Interrupted):
            training(growth, sparse, callbacks=[interrupt], state_file=file)
        again = training(growth, sparse, state_file=file)
        for one, other in zip(again.tree.arrays, whole.tree.arrays, strict=True):
            assert np.array_equal(one, other)
        assert again.trials == whole.trials and again.growth == whole.growth
        untimed = [
            [{k: v for k, v in record.items() if k != "seconds"} for record in each.history]
            for each in (again, whole)
        ]
        assert untimed[0] == untimed[1]


def test_leaves_keep_the_most_classes_that_they_may_have(tmp_path: Path) -> None:
    training(None, False, state_file=tmp_path / "state")
    x, y = clusters(240)
    data = facts_of(Points.made(x[:180], y[:180], int(y[:180].max()) + 1), None)
    draft = State.load(tmp_path / "state", data).draft
    leaves = [draft.leaf(v) for v, below in enumerate(draft.children) if not below]
    assert {leaf.k for leaf in leaves} == {6} and min(len(leaf.classes) for leaf in leaves) < 6


def test_a_file_of_something_else(tmp_path: Path) -> None:
    save_model(tmp_path / "tree", training(None, False).tree, {"trees": {}})
    with pytest.raises(CheckpointError, match="tree holds no state of a softmax tree: "):
        training(None, False, state_file=tmp_path / "tree")


def test_the_tree_in_the_end_learns_from_the_validation_samples() -> None:
    first, second = training(GROWTH, False), training(GROWTH, False)
    assert "validation_error" not in first.history[-1]
    least = min(r["validation_error"] for r in first.history if "validation_error" in r)
    x, y = clusters(240)
    assert (first.tree.classes_of(x[180:]) != y[180:]).mean() <= least
    assert np.array_equal(first.tree.arrays.weights, second.tree.arrays.weights)


def test_a_tree_of_both_forms_is_refused() -> None:
    sparse, full = (training(None, sparse).tree.draft() for sparse in (True, False))
    with pytest.raises(ValueError, match="the nodes of a tree must be all sparse or all dense"):
        Draft(full.children, [sparse.nodes[0], *full.nodes[1:]]).packed  # noqa: B018


def test_a_state_of_other_data_is_refused(tmp_path: Path) -> None:
    x, y = clusters(180)
    told: Any = {"settings": SoftmaxTreeSettings(1, 6, 0.1, 0.1, max_iter=1, start="clusters")}
    told |= {"state_file": tmp_path / "state"}
    held, weights = (x[:9], y[:9]), np.ones(180)
    train(x, y, validation=held, weights=weights, **told)
    train(x.copy(), y.tolist(), validation=held, **told)
    other, fewer = x + (np.arange(x.size).reshape(x.shape) == 700), weights.copy()
    fewer[3] = 2
    for rows, answers, more, what in (
        (x[:, 1:], y, {}, rf"features is {x.shape[1]} there and {x.shape[1] - 1} here"),
        (x, y + 1, {}, rf"classes is {y.max() + 1} there and {y.max() + 2} here"),
        (csr_matrix(x), y, {}, "rows is full there and sparse here"),
        (other, y, {}, "wrote: inputs of the data differ; expected the same model, data"),
        (x, np.roll(y, 1), {}, "wrote: targets of the data differ; expected"),
        (x, y, {"weights": fewer}, "wrote: weights of the data differ; expected"),
        (x[9:], y[9:], {"weights": fewer[9:]}, "samples of the data is 180 there and 171 here"),
        (x, y, {"validation": (x[9:18], y[:9])}, "wrote: inputs of the validation data differ; ex"),
        (x, y, {"validation": None}, "wrote: validation data is told there and None here"),
    ):
        with pytest.raises(CheckpointError, match=what):
            train(rows, answers, **{"validation": held, **more}, **told)
