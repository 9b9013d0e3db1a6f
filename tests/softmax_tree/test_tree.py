"""A trained tree and what it is asked: rows full and sparse, alone and together, are the same."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from softmax_trees import clusters, objective, points_of, thinned

from structnet.errors import GraphError
from structnet.routing import Samples
from structnet.routing.dgl_backend import hard_route
from structnet.routing.explanation import explain
from structnet.routing.report import export_text, summary
from structnet.routing.visits import reach, shares
from structnet.softmax_tree import SoftmaxTree, measured, tree_from_networkx, with_weights
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Hyperplane, Leaf
from structnet.softmax_tree.optimisation import alternate
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.start import complete_draft


def trained(points: Points, depth: int = 3, k: int = 4) -> SoftmaxTree:
    draft = alternate(complete_draft(points, depth, k, "clusters", 0), points, objective(), 2)
    return SoftmaxTree.from_draft(draft, points.num_features, points.num_classes)


@pytest.fixture(params=[False, True], ids=["full weights", "sparse weights"])
def tree(request: pytest.FixtureRequest) -> SoftmaxTree:
    return trained(points_of(sparse=request.param, features=13))


@pytest.fixture
def x() -> np.ndarray:
    return thinned(clusters(200, features=13, seed=1)[0]).toarray()


def by_hand() -> SoftmaxTree:
    """One hyperplane of 2 weights; leaves of 1 and 3 classes, the latter with 4 weights."""
    few = Leaf(np.array([1]), np.zeros((3, 1), np.float32), np.zeros(1, np.float32), 1)
    weight = np.array([[1, 0, 0], [0, -2, 0], [3, 4, 0]], np.float32)
    many = Leaf(np.array([0, 2, 3]), weight, np.float32([0, 1, 2]), 3)
    plane = Hyperplane(np.float32([1, 0, -1]), 0.5)
    return SoftmaxTree.from_draft(Draft([(1, 2), (), ()], [plane, few, many]), 3, 4)


def test_a_tree_by_hand() -> None:
    tree, x = by_hand(), np.array([[0.0, 0, 1], [1, 1, 0], [-0.5, 0, 0]])
    assert tree.leaves_of(x).tolist() == [1, 2, 2]  # a row on the hyperplane goes right
    scores = np.array([[1, -1, 2], [-0.5, 1, 2]])
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    prob = tree.predict_proba(x).numpy()
    assert prob[0].tolist() == [0, 1, 0, 0]
    np.testing.assert_allclose(prob[1:][:, [0, 2, 3]], expected, rtol=1e-6)
    assert tree.predict(x).tolist() == tree.classes_of(x).tolist() == [1, 3, 3]
    places, top = tree.choices(x).top(2)
    assert places.tolist() == [[1, 0], [3, 0], [3, 2]] and top[0].tolist() == [1, 0]


def test_costs_by_hand() -> None:
    tree, x = by_hand(), np.array([[0.0, 0, 1], [1, 1, 0], [-0.5, 0, 0], [2, 0, 0]])
    found = measured([tree], Samples(x, torch.tensor([1, 3, 1, 0])))
    # A path costs 2, and 4 more in the leaf of three classes.
    assert (found.flops, found.nonzeros) == (2 + 4 * 3 / 4, 6)
    assert found.dense_flops == 3 * (1 + (1 + 3 + 3 + 3) / 4)
    assert (found.depth, found.leaves, found.leaf_classes) == (1, 2, 2)
    assert (found.path_classes, found.coverage) == (2.5, 0.75)
    assert found.error == pytest.approx(0.25) and "coverage" in str(found)
    own = np.log(tree.predict_proba(x).numpy()[[0, 1, 3], [1, 3, 0]])
    assert found.perplexity == pytest.approx(np.exp(-own.mean()))
    size = summary(tree)
    assert (size.leaves, size.flops, size.path_flops) == (2, 2 * 6, 2 * (2 + 6) / 2)


def test_a_leaf_alone_costs_all_classes() -> None:
    points = points_of()
    tree = trained(points, depth=0, k=12)
    found = measured([tree], Samples(points.x, torch.from_numpy(points.y)))
    assert (found.dense_flops, found.depth, found.coverage) == (6 * 12, 0, 1)


def test_full_and_sparse_alone_and_together(tree: SoftmaxTree, x: np.ndarray) -> None:
    sparse, ask = csr_matrix(x.astype(np.float32)), tree.predictor()
    ours, theirs = tree.choices(x), tree.choices(sparse)
    for one, other in zip(ours, theirs, strict=True):
        assert np.array_equal(one, other)
    classes = tree.classes_of(x)
    assert np.array_equal(classes, tree.classes_of(sparse))
    assert np.array_equal(classes, tree.predict(x).numpy())
    for i, row in enumerate(x.astype(np.float32)):
        here = slice(sparse.indptr[i], sparse.indptr[i + 1])
        thin = sparse.indices[here], sparse.data[here]
        assert ask.class_of(row) == ask.class_of_sparse(*thin) == classes[i]
        alone = tree.choices(x[i : i + 1])
        mine = slice(ours.starts[i], ours.starts[i + 1])
        assert np.array_equal(alone.log_prob, ours.log_prob[mine])
        for found in (ask.probabilities(row), ask.probabilities(*thin)):
            assert np.array_equal(found[0], ours.classes[mine])
            assert np.array_equal(found[1], np.exp(ours.log_prob[mine]))


def test_rows_of_any_numbers(tree: SoftmaxTree, x: np.ndarray) -> None:
    whole, ask = np.round(4 * x), tree.predictor()
    classes, sparse = tree.classes_of(whole), csr_matrix(whole)
    for dtype in ("f8", "i8", "i2", ">f4", "f2"):
        rows = whole.astype(dtype)
        assert [ask.class_of(row) for row in rows] == classes.tolist()
        assert [ask.class_of(row) for row in rows.tolist()] == classes.tolist()
        assert [ask.class_of(row) for row in np.asfortranarray(rows)] == classes.tolist()
        ends = zip(sparse.indptr, sparse.indptr[1:], strict=False)
        values = sparse.data.astype(dtype)
        rows = [(sparse.indices[a:b].astype("i8"), values[a:b]) for a, b in ends]
        assert [ask.class_of_sparse(*row) for row in rows] == classes.tolist()


@pytest.mark.parametrize(
    ("row", "got"),
    [
        (["a"] * 13, r"\[13\] of <U1"),
        (np.zeros(12), r"\[12\] of float64"),
        (np.zeros((1, 13), np.float32), r"\[1, 13\] of float32"),
        (np.zeros((13, 1)), r"\[13, 1\] of float64"),
        (np.array(["a"] * 13), r"\[13\] of <U1"),
        (None, "NoneType"),
    ],
)
def test_what_is_no_row(tree: SoftmaxTree, row: object, got: str) -> None:
    for ask in (tree.predictor().class_of, tree.predictor().probabilities):
        with pytest.raises(ValueError, match=rf"^x must be an array \[13\], .*Got {got}\.$"):
            ask(row)


@pytest.mark.parametrize(
    ("columns", "values", "message"),
    [
        ([0, 13], [1.0, 1.0], r"must ascend, from 0 to 12 at most\. Got \[0, 13\]"),
        ([3, 2], [1.0, 1.0], r"must ascend.*Got \[3, 2\]"),
        ([-1, 2], [1.0, 1.0], r"must ascend.*Got \[-1, 2\]"),
        ([1, 2], [1.0], r"one of as many numbers\. Got \[2\] of int64 and \[1\] of float64"),
        ([1.0], [1.0], r"Got \[1\] of float64 and \[1\] of float64"),
    ],
)
def test_what_is_no_sparse_row(
    tree: SoftmaxTree, columns: list, values: list, message: str
) -> None:
    for ask in (tree.predictor().class_of_sparse, tree.predictor().probabilities):
        with pytest.raises(ValueError, match=rf"^columns .*{message}\.$"):
            ask(np.array(columns), np.array(values))


def test_probabilities_of_a_leaf_sum_to_one(tree: SoftmaxTree, x: np.ndarray) -> None:
    found = tree.choices(x)
    sums = np.add.reduceat(np.exp(found.log_prob), found.starts[:-1])
    np.testing.assert_allclose(sums, 1, rtol=1e-12)
    prob = np.exp(found.dense(12))
    assert (np.count_nonzero(prob, axis=1) == np.diff(found.starts)).all()
    np.testing.assert_array_equal(found.matrix(12).toarray(), prob)


def test_an_empty_row(tree: SoftmaxTree) -> None:
    nothing = csr_matrix((1, 13), dtype=np.float32)
    assert np.array_equal(tree.classes_of(nothing), tree.classes_of(np.zeros((1, 13))))


def test_the_same_leaves_by_messages_from_parent_to_child(tree: SoftmaxTree, x: np.ndarray) -> None:
    draft, points = tree.draft(), Points.made(x, np.zeros(len(x)), 12)
    place = torch.zeros(len(x), tree.topology.num_nodes, dtype=torch.int64)
    for node in np.flatnonzero(tree.topology.inner):
        right = draft.plane(node).goes_right(points, np.arange(len(x)))
        place[:, node] = torch.from_numpy(right)
    leaves = hard_route(tree.topology, place)
    assert leaves.tolist() == tree.leaves_of(x).tolist()


def test_as_any_model_tree(tree: SoftmaxTree, x: np.ndarray) -> None:
    x = x.astype(np.float32)
    samples = Samples(x, torch.from_numpy(tree.classes_of(x)))
    found = reach(tree, samples)
    leaves = tree.leaves_of(x)
    assert found.share[tree.topology.leaves].sum() == pytest.approx(1)
    assert found.classes.sum() == pytest.approx(tree.topology.depth[leaves].sum() + len(x))
    np.testing.assert_allclose(shares(tree, csr_matrix(x)), found.share)
    told = explain(tree, x[0])
    best = int(np.argmax(told.prediction))
    assert (told.leaf, best) == (leaves[0], tree.classes_of(x[:1])[0])
    np.testing.assert_allclose(told.prediction, told.mixture, atol=1e-6)
    text = export_text(tree, samples)
    assert text.count("classes") + text.count("1 class,") >= len(tree.topology.leaves)
    sparse = explain(tree, csr_matrix(x)[0])
    assert sparse.leaf == told.leaf and str(sparse) == str(told)


def test_networkx_and_back(tree: SoftmaxTree, x: np.ndarray) -> None:
    digraph = with_weights(tree)
    graphml = nx.parse_graphml("\n".join(nx.generate_graphml(digraph)))  # nodes "0", "1", ...
    text = json.dumps(nx.node_link_data(digraph, edges="links"))
    for each in (digraph, graphml, nx.node_link_graph(json.loads(text), edges="links")):
        again = tree_from_networkx(each)
        assert np.array_equal(tree.choices(x).log_prob, again.choices(x).log_prob)
    for own in ("weights", "[1]", '{"other": 1}'):
        broken = digraph.copy()
        broken.nodes[0]["own"] = own
        with pytest.raises(GraphError, match="does not hold a softmax tree"):
            tree_from_networkx(broken)
    del digraph.nodes[1]["own"]
    with pytest.raises(GraphError, match="node 1 has no 'own'"):
        tree_from_networkx(digraph)


def test_config_and_weights_make_the_same_tree(tree: SoftmaxTree, x: np.ndarray) -> None:
    again = SoftmaxTree.from_config(tree.config())
    again.load_state_dict(tree.state_dict())
    assert np.array_equal(tree.choices(x).log_prob, again.choices(x).log_prob)
    draft = tree.draft()
    third = SoftmaxTree.from_draft(draft, 13, 12)
    assert np.array_equal(tree.choices(x).log_prob, third.choices(x).log_prob)


def test_the_loss_is_that_of_the_leaves(tree: SoftmaxTree, x: np.ndarray) -> None:
    y = clusters(200, features=13, seed=1)[1]
    points = Points.made(x, y, 12)
    expected = tree.draft().losses(points, 2 * np.log(12)).mean()
    for rows in (x.astype(np.float32), torch.from_numpy(x).float(), csr_matrix(x)):
        assert tree.loss(Samples(rows, torch.from_numpy(y))).item() == pytest.approx(expected, 1e-5)


@pytest.mark.parametrize("shape", [(3,), (3, 12), (3, 13, 1)])
def test_samples_of_another_shape(tree: SoftmaxTree, shape: tuple) -> None:
    with pytest.raises(ValueError, match=r"x must be \[n, 13\]\. Got "):
        tree.classes_of(np.zeros(shape))


def test_a_leaf_alone_says_what_it_does_as_the_end_of_a_path(
    tree: SoftmaxTree, x: np.ndarray
) -> None:
    ends = tree.leaves_of(x)
    for rows in (x, torch.from_numpy(x), csr_matrix(x)):
        for leaf in np.unique(ends):
            here = ends == leaf
            said, expected = tree.predicted_at(rows, leaf)[here], tree.predicted(rows)[here]
            np.testing.assert_allclose(said, expected, rtol=1e-4, atol=1e-6)
