"""Alternating optimisation: no update of any node raises the objective, whatever the data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from softmax_trees import clusters, objective, points_of, thinned, value_of

from structnet.softmax_tree import GrowthSettings, SoftmaxTreeSettings, training
from structnet.softmax_tree._decision_kernels import threshold
from structnet.softmax_tree.decision_update import better_plane
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Hyperplane
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.optimisation import alternate, updated
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.start import axes_draft, complete_draft
from structnet.training.one_thread import ONE_THREAD


def digits(number: int = 300) -> Points:
    x, y = load_digits(return_X_y=True)
    return Points.made(x[:number] / 16, y[:number], 10)


def duplicates() -> Points:
    x, y = clusters(60)
    x[:, 2] = 5  # a constant feature
    weights = np.random.default_rng(0).uniform(0.1, 3, 240)
    return Points.made(np.tile(x, (4, 1)), np.append(np.tile(y, 3), y[::-1]), 12, weights)


HARSH = [
    (digits, 3, 4, objective(classes=10)),
    (points_of, 3, 4, objective()),
    (lambda: points_of(sparse=True), 3, 4, objective()),
    (points_of, 3, 12, objective(decision=300, leaf=300)),
    (points_of, 3, 4, objective(steps=3)),
    (points_of, 4, 1, objective()),
    (duplicates, 3, 5, objective()),
    (points_of, 2, 6, objective(0, 0)),
    (points_of, 2, 6, objective(ridge=30)),
    (lambda: points_of(sparse=True), 3, 1, objective(decision=30, steps=3)),
]
NAMES = ["digits", "clusters", "sparse", "lambda 300", "3 steps", "k 1", "duplicates", "no penalty",
         "ridge", "sparse, harsh"]  # fmt: skip


@pytest.mark.parametrize(("make", "depth", "k", "aim"), HARSH, ids=NAMES)
def test_no_update_raises_the_objective(make, depth: int, k: int, aim: Objective) -> None:
    points = make()
    draft = complete_draft(points, depth, k, "centroids", 0)
    before, changed = value_of(draft, points, aim), 0
    first = before
    for _ in range(2):
        reach, depths = draft.reach(points), draft.topology.depth
        for node in sorted(reach, key=lambda v: -depths[v]):
            new = updated(draft, node, points, reach[node], aim)
            changed += new is not draft.nodes[node]
            draft.nodes[node] = new
            after = value_of(draft, points, aim)
            assert after <= before + 1e-6 * abs(before), node
            before = after
        assert aim.of(draft, points) == pytest.approx(before, rel=1e-5)
    assert changed and before < first


@pytest.mark.parametrize("sparse", [False, True])
def test_threads_train_the_same_tree(sparse: bool) -> None:
    points = points_of(sparse=sparse)
    start = complete_draft(points, 3, 4, "centroids", 0)
    one, *others = (alternate(start, points, objective(), 2, n_jobs=n) for n in (1, 2, -1))
    for other in others:
        for ours, theirs in zip(one.nodes, other.nodes, strict=True):
            assert np.array_equal(ours.weight, theirs.weight)
            assert np.array_equal(ours.bias, theirs.bias)


def test_the_start_is_left_as_it_is() -> None:
    points = points_of()
    start = complete_draft(points, 2, 4, "centroids", 0)
    nodes = list(start.nodes)
    told = []

    def keep(draft: Draft, value: float, settled: bool) -> None:
        told.append(value)

    alternate(start, points, objective(), 3, after_iteration=keep)
    assert all(a is b for a, b in zip(nodes, start.nodes, strict=True))
    assert told == sorted(told, reverse=True) and told


def test_scaling_a_hyperplane_changes_no_prediction() -> None:
    points = points_of()
    draft = alternate(complete_draft(points, 3, 4, "centroids", 0), points, objective(), 2)
    scaled = draft.copy()
    for v, node in enumerate(scaled.nodes):
        if isinstance(node, Hyperplane):
            scaled.nodes[v] = Hyperplane(8 * node.weight, 8 * node.bias)
    ours, theirs = draft.reach(points), scaled.reach(points)
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[v], theirs[v]) for v in ours)


def test_a_huge_penalty_leaves_one_leaf() -> None:
    points = points_of()
    draft = complete_draft(points, 3, 12, "centroids", 0)
    pruned = alternate(draft, points, objective(decision=1e6), 5).pruned(points)
    assert len(pruned.nodes) == 1 and pruned.children == [()]


# At 0.1, decisions keep as few features as at 3: those that make no mistake the fewer go.
@pytest.mark.parametrize(("which", "weak"), [("decision", 0.0), ("leaf", 0.1)])
def test_penalties_make_weights_zero(which: str, weak: float) -> None:
    points, counts = points_of(600), []
    for penalty in (weak, 3.0, 100.0):
        aim = objective(**{which: penalty})
        starts = (complete_draft(points, 2, 6, "centroids", seed) for seed in range(5))
        nodes = [node for start in starts for node in alternate(start, points, aim, 4).nodes]
        kind = [node for node in nodes if isinstance(node, Hyperplane) == (which[0] == "d")]
        counts.append(sum(np.count_nonzero(node.weight) for node in kind))
    assert counts[0] > counts[1] > counts[2]


@pytest.mark.parametrize("sparse", [False, True])
def test_pruning_keeps_every_prediction(sparse: bool) -> None:
    points = points_of(sparse=sparse)
    draft = complete_draft(points, 5, 2, "random", 0)
    nothing = np.zeros(0 if sparse else 6, np.float32)
    columns = np.zeros(0, np.int32) if sparse else None
    draft.nodes[0] = Hyperplane(nothing, 1.0, columns)  # nobody goes left
    pruned = draft.pruned(points)
    assert len(pruned.nodes) < len(draft.nodes) and len(pruned.nodes) % 2 == 1
    assert draft.losses(points, 9.0).tolist() == pruned.losses(points, 9.0).tolist()


def test_equal_points_come_to_one_leaf() -> None:
    points = Points.made(np.ones((10, 3)), np.arange(10) % 2, 2)
    assert complete_draft(points, 3, 2, "centroids", 0).children == [()]
    sparse = Points.made(csr_matrix((10, 3)), np.arange(10) % 2, 2)
    assert complete_draft(sparse, 3, 2, "centroids", 0).children == [()]


def test_the_start_parts_the_points_in_halves() -> None:
    points = points_of(400)
    draft = complete_draft(points, 3, 4, "centroids", 0)
    sizes = [len(rows) for v, rows in draft.reach(points).items() if not draft.children[v]]
    assert len(sizes) == 8 and max(sizes) - min(sizes) <= 2
    for node in draft.nodes:
        if not isinstance(node, Hyperplane):
            assert len(node.classes) <= 4 and np.exp(node.bias).sum() == pytest.approx(1)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_decision_tree_is_a_softmax_tree(sparse: bool) -> None:
    from sklearn.tree import DecisionTreeClassifier

    x, y = clusters(300)
    x = thinned(x) if sparse else x
    points = Points.made(x, y, 12)
    theirs = DecisionTreeClassifier(random_state=0).fit(x, y)
    draft = axes_draft(points, None, 12, 0)
    wrong = draft.mistakes(points)
    assert np.array_equal(wrong, theirs.predict(x) != y)
    other = thinned(clusters(200, seed=3)[0]) if sparse else clusters(200, seed=3)[0]
    guess = Points.made(other, theirs.predict(other), 12)
    assert not draft.mistakes(guess).any()


def test_a_decision_tree_of_many_classes_is_nearly_that_of_their_gini_impurity() -> None:
    from sklearn.tree import DecisionTreeClassifier

    x, y = clusters(4000, classes=200)
    theirs = DecisionTreeClassifier(max_depth=5, random_state=0).fit(x, y)
    ours = axes_draft(Points.made(x, y, 200), 5, 200, 0)
    wrong = ours.mistakes(Points.made(x, y, 200)).mean()
    assert abs(wrong - (theirs.predict(x) != y).mean()) < 0.02


def test_a_class_that_lacks_is_not_free() -> None:
    points = points_of()
    leaf = Draft([()], [complete_draft(points, 0, 1, "centroids", 0).nodes[0]])
    losses = leaf.losses(points, 7.0)
    assert set(losses.tolist()) == {0.0, 7.0}


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_parted_where_they_lie_apart(sparse: bool) -> None:
    rng = np.random.default_rng(0)
    far = np.arange(300) < 40  # a small cluster, of the same classes as the large one
    x = rng.normal(size=(300, 5)) + np.where(far, 20, -5)[:, None] * [1, 0, 1, 1, 0]
    points = Points.made(csr_matrix(x) if sparse else x, np.arange(300) % 3, 3)
    draft = complete_draft(points, 1, 3, "rows", 0)
    reach = draft.reach(points)
    assert sorted(len(reach[leaf]) for leaf in (1, 2)) == [40, 260]
    assert len({tuple(far[reach[leaf]]) for leaf in (1, 2)}) == 2
    alike = Points.made(np.ones((9, 2)), np.arange(9) % 3, 3)
    assert complete_draft(alike, 2, 3, "rows", 0).children == [()]


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_a_decision_keeps_few_features(form) -> None:
    first = points_of(400).x[:, :1]
    x = np.tile(first, (1, 16)) + 0.01 * np.arange(16, dtype=np.float32)
    gains = np.where(x.sum(axis=1) >= 0, 1.0, -1.0)
    points = Points.made(form(x), gains > 0, 2)
    begin = np.ones(16, np.float32), np.float32(0)
    weight, bias = better_plane(points, np.arange(len(x)), gains, begin, 0.1, 20)
    assert np.count_nonzero(weight) == 1 and ((x @ weight + bias >= 0) == (gains > 0)).all()


@pytest.mark.parametrize("values", [2, 5, 1000])
def test_no_threshold_is_better(values: int) -> None:
    """Nor is any on the opposite direction; with few values, many scores are equal."""
    rng = np.random.default_rng(values)
    for number in (1, 2, 60):
        x = rng.integers(-values, values, number).astype(np.float32) / 8
        gains = rng.standard_normal(number)
        cost, bias, opposite = threshold(x, gains)
        cuts = np.append(np.unique(x) - 0.01, x.max() + 1)
        sides = [side(x, cut) for cut in cuts for side in (np.greater_equal, np.less)]
        costs = [np.abs(gains[right != (gains > 0)]).sum() for right in sides]
        assert cost == pytest.approx(min(costs), abs=1e-12)
        wrong = ((-x if opposite else x) + bias >= 0) != (gains > 0)
        assert np.abs(gains[wrong]).sum() == pytest.approx(cost, abs=1e-12)


@pytest.mark.parametrize("start", ["centroids", "rows"])
@pytest.mark.parametrize("made", [np.asarray, csr_matrix])
@pytest.mark.parametrize("exponent", [-90, 40, 90])
def test_rows_of_another_size_begin_with_the_same_decisions(start, made, exponent: int) -> None:
    points = digits()
    sized = Points.made(made(np.ldexp(points.x, exponent)), points.y, 10)
    whole = Points.made(made(points.x), points.y, 10)
    first, other = (complete_draft(each, 3, 4, start, 0) for each in (whole, sized))
    assert other.children == first.children and len(first.children) > 7
    for one, two in zip(first.reach(whole).values(), other.reach(sized).values(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_all_of_a_training_takes_one_thread_for_its_products(monkeypatch) -> None:
    outside: dict[str, bool] = {}

    def noting(name: str, function: Callable) -> Callable:
        def call(*args: object, **kw: object) -> object:
            outside[name] = outside.get(name, False) or not ONE_THREAD.inside
            return function(*args, **kw)

        return call

    names = ("chosen", "best_draft", "first_draft", "same_shape", "trials", "updated", "smoothed")
    for name in names:
        monkeypatch.setattr(training, name, noting(name, getattr(training, name)))
    x, y = clusters(400, classes=12)
    settings = SoftmaxTreeSettings(depth=1, max_iter=1)
    tree = training.train(x, y, settings, GrowthSettings(start_depth=1, max_rounds=1)).tree
    training.retrained(tree, x, y, SoftmaxTreeSettings(1, 6, 1.0, 1.0))
    training.leaves_trained(x, y, settings, 12)
    assert outside == dict.fromkeys(names, False) and not ONE_THREAD.inside
