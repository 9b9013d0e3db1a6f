"""Labels move: against slow forms, under both limits, and without losing a label or a node."""

from __future__ import annotations

import numpy as np
import pytest
from label_trees import best_sum, slow_greedy
from reference.label_tree import objective
from scipy.optimize import linear_sum_assignment

from structnet.label_tree import LabelCodes, Statistics, huffman, node_report, random_tree, reassign
from structnet.label_tree._assignment_kernels import assigned, greedy, optimal
from structnet.label_tree._kernels import EMPTY, scores_of
from structnet.label_tree.codes import least_nodes
from structnet.label_tree.reassignment import GAINS, best_objective
from structnet.label_tree.shapes import least_depth


def random_scores(rng: np.random.Generator, most: int) -> tuple[np.ndarray, int]:
    arity, labels = rng.integers(2, 8), rng.integers(2, most)
    scores = rng.normal(size=(labels, arity))
    if rng.random() < 0.5:
        scores = np.rint(scores)  # ties
    depth = least_depth(labels, arity) - 1
    return scores, int(rng.choice([labels, arity**depth]))


def test_greedy_is_the_slow_greedy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        scores, capacity = random_scores(rng, 25)
        assert greedy(scores, capacity).tolist() == slow_greedy(scores, capacity)


def test_optimal_is_the_best_of_all_choices() -> None:
    rng = np.random.default_rng(1)
    for labels, arity in [(9, 2), (9, 3), (7, 4), *[(5, 3), (6, 2), (6, 3), (4, 4)] * 8]:
        scores = rng.normal(size=(labels, arity))
        capacity = int(rng.choice([len(scores), scores.shape[1] ** 3]))
        found = optimal(scores, capacity, 1000)
        total = scores[range(len(scores)), found].sum()
        assert total == pytest.approx(best_sum(scores, capacity))


def test_the_assignment_is_that_of_scipy() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        rows = int(rng.integers(1, 9))
        value = rng.normal(size=(rows, rows + int(rng.integers(5))))
        chosen = assigned(value)
        assert len(set(chosen.tolist())) == rows
        best = value[linear_sum_assignment(value, maximize=True)].sum()
        assert value[range(rows), chosen].sum() == pytest.approx(best)


def test_lemma_1_is_false_greedy_is_not_optimal() -> None:
    q = np.array([0.3, 0.3, 0.4])
    p = np.array([[0.55, 0.3, 0.15], [0.2, 0.35, 0.45], [0.05, 0.45, 0.5]])
    scores = scores_of(GAINS["paper"], q, p)
    sums = [scores[range(3), way].sum() for way in (greedy(scores, 3), optimal(scores, 3, 100))]
    assert sums == pytest.approx([0.162, 0.318], abs=5e-4)


def check(codes: LabelCodes, labels: int, arity: int, depth: int | None = None) -> None:
    """Every label has one path, no node is lost or left over, and the depth is kept."""
    values = codes.children[codes.children != EMPTY]
    number = least_nodes(labels, arity)
    assert codes.num_nodes == number
    assert sorted(values) == list(range(1, number + labels)) if number else not len(values)
    assert len({tuple(codes.code(label)) for label in range(labels)}) == labels
    assert depth is None or codes.depth.max(initial=0) <= depth


def noise(codes: LabelCodes, rng: np.random.Generator) -> Statistics:
    rows = len(codes.nodes)
    seen = rng.integers(0, 4, rows).astype(np.float64)
    p = rng.dirichlet(np.full(codes.arity, 0.5), rows) if rows else np.zeros((0, codes.arity))
    return Statistics((p * seen[:, None]).astype(np.float32), seen)


def test_a_thousand_random_rebuilds() -> None:
    rng = np.random.default_rng(3)
    done = 0
    for labels in (1, 2, 3, 7, 10, 64, 65, 199, 200):
        for arity in (2, 3, 4, 5, 9, 20):
            counts = rng.choice([0, 1, 1, 50], labels).astype(float)
            if rng.random() < 0.3:
                counts[:] = rng.choice([0, 3])
            depth = least_depth(labels, arity) + int(rng.integers(2))
            limit = max(depth, 1) if rng.random() < 0.5 else None
            codes = random_tree(labels, arity) if limit else huffman(counts, arity)
            for _ in range(19):
                rules = {
                    "gain": rng.choice(["margin", "exact", "paper", "eq10"]),
                    "method": "optimal" if rng.random() < 0.1 and labels < 20 else "greedy",
                }
                before = codes
                found = reassign(codes, noise(codes, rng), counts, max_depth=limit, **rules)
                codes = found.codes
                check(codes, labels, arity, limit)
                moved = [before.code(k) != codes.code(k) for k in range(labels)]
                assert found.moved == pytest.approx(np.mean(moved))
                done += 1
    assert done >= 1000


def test_a_whole_subtree_migrates() -> None:
    codes = LabelCodes.from_nested([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], 12], arity=4)
    rows = Statistics.of(codes)
    rows.seen[:] = 100
    rows.sums[np.arange(len(rows.seen)), codes.slots] = 100
    for label in range(4):  # all that are in slot 0 prefer slot 3
        rows.sums[codes.offsets[label]] = [0, 0, 0, 100]
    rows.sums[codes.offsets[12]] = [100, 0, 0, 0]  # and the one there prefers slot 0
    found = reassign(codes, rows, np.ones(13))
    check(found.codes, 13, 4)
    assert all(found.codes.code(label)[0] == (0, 3) for label in range(4))
    (new,) = np.flatnonzero(found.is_new)  # the node of slot 0 went to slot 3
    assert found.codes.children[0, 3] == new == codes.children[0, 0]
    offsets = found.codes.offsets
    assert (found.statistics.seen[offsets[:4]] == 100).all()
    assert (found.statistics.seen[offsets[:4] + 1] == 0).all()


def test_an_anchored_start_stays_and_the_authors_prior_does_not() -> None:
    counts = 1.0 / np.arange(1, 301)
    codes = huffman(counts, 5)
    rows = Statistics.of(codes)
    assert reassign(codes, rows, counts).moved == 0
    assert reassign(codes, rows, counts, prior="index", max_depth=8).moved > 0.7


def test_labels_that_were_never_seen_stay_where_they_are() -> None:
    counts = np.zeros(2_000)
    counts[:50] = 100
    codes = huffman(np.ones(2_000), 5)
    found = reassign(codes, Statistics.of(codes), counts)
    assert found.codes.depth.max() <= codes.depth.max() + 1
    assert found.moved < 0.05


def test_frequencies_of_any_scale_give_one_tree() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, 60)
    start = huffman(counts, 4)
    rows = noise(start, rng)
    kinds = [reassign(start, rows, scale * counts).codes.children for scale in (1.0, 1e-9, 1e9)]
    for other in kinds[1:]:
        np.testing.assert_array_equal(other, kinds[0])


def test_a_prior_without_knowledge_is_warned_of() -> None:
    codes = huffman(np.ones(150), 2)
    with pytest.warns(UserWarning, match="decisions deep: with the prior 'uniform'"):
        reassign(codes, Statistics.of(codes), np.ones(150), prior="uniform")


def test_too_many_labels_for_a_depth_are_refused() -> None:
    codes = huffman(np.ones(10), 3)
    with pytest.raises(ValueError, match="10 labels do not fit into a tree of arity 3 and depth 2"):
        reassign(codes, Statistics.of(codes), np.ones(10), max_depth=2)


def test_the_report_of_a_node_is_the_objective_of_its_labels() -> None:
    rng = np.random.default_rng(4)
    counts = rng.integers(1, 30, 40).astype(float)
    codes = huffman(counts, 3)
    rows = noise(codes, rng)
    found = node_report(codes, rows, counts)
    p = rows.sums + np.eye(3)[codes.slots]
    p /= rows.seen[:, None] + 1
    for node in range(codes.num_nodes):
        here = codes.nodes == node
        q = counts[codes.labels[here]]
        assert found.share[node] == pytest.approx(q.sum() / counts.sum())
        value = objective(q / q.sum(), p[here])
        assert found.objective[node] == pytest.approx(value, abs=1e-6)
        assert found.relative[node] == pytest.approx(value / best_objective(3), abs=1e-6)
