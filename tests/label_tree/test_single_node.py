"""A single node of all labels: where it begins, its steps, its answers, and when it is chosen."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from label_trees import around_centres, table
from scipy.sparse import csr_matrix
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from torch.nn.functional import cross_entropy

from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import discriminant
from structnet.label_tree import (
    Examples,
    Features,
    LabelCodes,
    LabelTree,
    LabelTreeClassifier,
    LabelTreeSettings,
    Training,
    begin,
)
from structnet.label_tree._node_kernels import SHARE
from structnet.label_tree.arrays import NEAR, WIDE
from structnet.label_tree.choice import DIRECT
from structnet.label_tree.stream import for_stream
from structnet.training.seeding import epoch_order


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_its_steps_are_those_of_minibatches_in_torch(weighted: bool, bias: bool) -> None:
    """Examples of a batch step by the gradient at its beginning, each at its own rate."""
    examples, labels, rate = table(70), 35, 0.2
    shares = np.random.default_rng(1).random(70).astype(np.float32)
    if weighted:
        examples = replace(examples, shares=shares)
    tree = LabelTree(4, labels, arity=labels, bias=bias)
    settings = LabelTreeSettings("huffman", labels, 0, 1, rate, bias=bias)
    w, b = torch.zeros(labels, 4, requires_grad=True), torch.zeros(labels)
    if bias:  # all labels are as likely as each other
        b -= np.log(labels)
    b.requires_grad_()
    found = Training(tree, settings).run(examples).epochs[0]["loss"]
    order, loss, batch = epoch_order(70, 0, 0), 0.0, labels // SHARE
    for start in range(0, 70, batch):
        rows = order[start : start + batch]
        x, y = examples.features.table[rows], torch.from_numpy(examples.labels[rows])
        losses = cross_entropy(torch.from_numpy(x) @ w.T + b, y, reduction="none")
        if weighted:
            losses = losses * torch.from_numpy(shares[rows])
        rates = rate * (1 - (start + torch.arange(len(rows))) / 70)
        changes = torch.autograd.grad((losses * rates).sum(), (w, b))
        with torch.no_grad():
            w -= changes[0]
            b -= changes[1] * bias
        loss += losses.sum().item()
    slots = torch.from_numpy(tree.codes.slots).long()
    torch.testing.assert_close(tree.softmax.weight[0, slots], w, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(tree.softmax.bias[0, slots], b, atol=1e-5, rtol=1e-4)
    assert found == pytest.approx(loss / 70, rel=1e-4)


def test_it_begins_as_a_linear_discriminant_analysis() -> None:
    """Of many rows around equally many centres of one covariance: that of scikit-learn."""
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=20_000)
    shape = rng.normal(size=(3, 3)) + 2 * np.eye(3)
    x = (2 * rng.normal(size=(6, 3))[y] + rng.normal(size=(20_000, 3)) @ shape).astype(np.float32)
    examples = Examples(Features.from_table(x), y)
    tree = begin(examples, 6, LabelTreeSettings("huffman", 6, 0))
    theirs = LinearDiscriminantAnalysis().fit(x, y).predict_log_proba(x)
    ours = tree.log_prob_of_all(x)
    assert np.abs(np.exp(ours) - np.exp(theirs)).mean() < 0.01
    assert (ours.argmax(1) == theirs.argmax(1)).mean() > 0.97


def test_rows_count_by_their_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{discriminant.__module__}.tenths", lambda *_: [])  # of both, others
    examples = table(38)[np.arange(19)]
    twice = examples[np.tile(np.arange(19), 2)]
    weighted = replace(examples, shares=np.full(19, 2, np.float32))
    for ours, theirs in zip(
        discriminant(weighted.checked, 27), discriminant(twice.checked, 27), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [0.0, 1.0])
@pytest.mark.parametrize("middle", [0.0, 1e4])
def test_it_begins_whatever_the_rows_are(scale: float, middle: float) -> None:
    """One row a label, a label without rows, more columns than rows, columns that are constant."""
    rng = np.random.default_rng(0)
    rows = np.full((25, 60), middle)
    rows[:, :50] += scale * rng.normal(size=(25, 50))
    for each in (1, 3):
        labels = np.repeat(np.arange(25), each)
        examples = Examples(Features.from_table(np.repeat(rows, each, axis=0)), labels)
        weight, bias = discriminant(examples.checked, 26)
        assert np.isfinite(weight).all() and np.isfinite(bias).all()
        if not scale:
            assert not weight.any()


def test_where_rows_say_nothing_it_begins_with_the_shares_of_the_labels() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [500, 300, 200])
    rows = rng.normal(size=(1000, 40)).astype(np.float32)
    tree = begin(Examples(Features.from_table(rows), labels), 3, LabelTreeSettings("huffman", 3, 0))
    p = np.exp(tree.log_prob_of_all(rng.normal(size=(100, 40)).astype(np.float32)))
    np.testing.assert_allclose(p, np.tile([0.5, 0.3, 0.2], (100, 1)), atol=0.1)


def test_of_many_labels_without_a_hierarchy_as_many_are_right_as_by_the_nearest_centre() -> None:
    x, y = around_centres(800, 12, 24, 0.8, seed=5)
    learn = np.arange(len(y)) < 8000
    model = LabelTreeClassifier(random_state=0).fit(x[learn], y[learn])
    known = np.unique(y[learn])
    centres = np.stack([x[learn][y[learn] == k].mean(0) for k in known])
    nearest = (x[~learn] @ centres.T - (centres**2).sum(1) / 2).argmax(1)
    right = (known[nearest] == y[~learn]).mean()
    assert model.settings_.arity == len(known)
    assert model.score(x[~learn], y[~learn]) > right - 0.01


@pytest.mark.parametrize("is_own", [False, True])
def test_its_answers_agree(is_own: bool) -> None:
    x, y = around_centres(WIDE + 1, 4, 8, 0.8, seed=0)
    assert len(x) > NEAR // len(x)  # which are not all asked at once
    examples, codes = Examples(Features.from_table(x), y), None
    if is_own:  # slots in another order
        order = np.random.default_rng(1).permutation(WIDE + 1).tolist()
        codes = LabelCodes.from_nested(order, WIDE + 20)
    settings = LabelTreeSettings("huffman", WIDE + 20, epochs=2, learning_rate=0.1)  # empty slots
    tree = Training(begin(examples, WIDE + 1, settings, codes), settings).run(examples).tree
    features, x = examples.features, torch.from_numpy(examples.features.table)
    expected = tree.predict_log_proba(x).detach().double().numpy()
    np.testing.assert_allclose(tree.log_prob_of_all(features), expected, atol=1e-5)
    rows = np.arange(len(x))
    found = tree.log_prob_of(features, examples.labels)
    np.testing.assert_allclose(found, expected[rows, examples.labels], atol=1e-5)
    values, best, nodes = tree.top_k(features)
    assert (best[:, 0] == expected.argmax(1)).all() and nodes == 1
    np.testing.assert_allclose(values[:, 0], expected.max(1), atol=1e-5)
    np.testing.assert_allclose(tree.top_k(features, 3)[0][:, :1], values, atol=1e-5)
    alone = [tree.top_k(x[row : row + 1])[0][0, 0] for row in range(20)]
    np.testing.assert_allclose(alone, values[:20, 0], atol=1e-5)
    values, best, _ = tree.top_k(features, threshold=0.5)
    is_likely = expected.max(1) >= np.log(0.5)
    assert ((best[:, 0] >= 0) == is_likely).all() and 0 < is_likely.mean() < 1
    assert (np.isfinite(values[:, 0]) == is_likely).all()


def test_of_equal_labels_the_lowest_is_told() -> None:
    codes = LabelCodes.from_nested(list(range(WIDE, -1, -1)))
    tree = LabelTree(4, WIDE + 1, tree=codes)
    assert (tree.top_k(np.zeros((3, 4), np.float32))[1] == 0).all()


@pytest.mark.parametrize("tree", ["huffman", "learned"])
def test_its_rate_falls_to_zero(tree: Any) -> None:
    settings = LabelTreeSettings(tree, 27, 0, 4, 0.3, "clusters")
    examples = table()
    training = Training(begin(examples, 27, settings), settings).run(examples)
    rates = [record["learning_rate"] for record in training.epochs]
    assert rates == pytest.approx([0.225, 0.15, 0.075, 0.0])


def test_a_single_node_keeps_no_statistics_which_would_be_the_square_of_its_labels() -> None:
    examples = table()
    settings = LabelTreeSettings("huffman", arity=27, epochs=1, learning_rate=0.3)
    tree = Training(begin(examples, 27, settings), settings).run(examples).tree
    assert sum(each.numel() for each in tree.state_dict().values()) < 27 * 10
    report = tree.softmax.node_report()
    assert (report.labels, report.share) == (27, 1) and np.isnan(report.relative).all()
    assert tree.softmax.reassign().moved == 0  # there is nowhere to go


@pytest.mark.parametrize("start", ["huffman", "groups"])
def test_of_a_single_node_no_reassignment_is_recorded(start: Any) -> None:
    examples, untold = table(), {"arity": 27, "epochs": 4, "learning_rate": 0.3}
    learned = LabelTreeSettings("learned", start=start, **untold)
    training = Training(begin(examples, 27, learned), learned).run(examples)
    assert not training.stream(examples).rebuilds
    json.dumps(training.state(), allow_nan=False)


def test_rows_in_any_order_and_of_any_size() -> None:
    """What the analysis is taken from is drawn at random, in units of the rows."""
    rng = np.random.default_rng(0)
    y = np.arange(24_000) % 4
    centres, spread = np.array([[0, 0], [4, 0], [0, 4], [4, 4]]), (y > 0)[:, None]
    x = centres[y] + spread * rng.normal(size=(len(y), 2))
    scores = []
    for unit in (1.0, 1e18, 1e-18):
        weight, bias = discriminant(Checked((x * unit).astype(np.float32), y, None), 4)
        scores.append(((x * unit) @ weight.astype(np.float64).T + bias).argmax(1) == y)
    assert np.mean(scores[0]) > 0.95
    assert np.array_equal(scores[0], scores[1]) and np.array_equal(scores[0], scores[2])


def test_rows_that_single_precision_hardly_holds_say_nothing() -> None:
    """Weights for them would be infinite, and all probabilities NaN."""
    examples = table(300)
    share = examples.counts(27) / 300
    for unit in (1e-38, 1e-45):
        rows = examples.features.table * np.float32(unit)
        tiny = replace(examples, features=Features.from_table(rows))
        tree = begin(tiny, 27, LabelTreeSettings("huffman", 27, 0))
        np.testing.assert_allclose(np.exp(tree.log_prob_of_all(rows[:1]))[0], share, atol=0.01)


def test_an_analysis_takes_about_three_times_the_memory_of_its_rows() -> None:
    x = np.random.default_rng(0).normal(size=(20_000, 100)).astype(np.float32)
    examples = Examples(Features.from_table(x), np.arange(20_000) % 100)
    tracemalloc.start()
    try:
        discriminant(examples.checked, 100)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.5 * x.nbytes


def test_very_many_columns_vary_alike() -> None:
    y = np.repeat(np.arange(3), 20)
    x = np.random.default_rng(0).normal(size=(60, 1200)) + np.eye(3)[y].repeat(400, 1)
    weight, bias = discriminant(Checked(x.astype(np.float32), y, None), 3)
    assert ((x @ weight.T + bias).argmax(1) == y).all()


def test_held_out_rows_that_do_not_count_choose_nothing() -> None:
    examples = replace(table(60), shares=np.zeros(60, np.float32))
    examples.shares[:20] = 1
    for seed in range(5):
        assert np.isfinite(discriminant(examples.checked, 27, seed)[0]).all()


def test_without_biases_a_node_begins_with_nothing() -> None:
    tree = begin(table(70), 27, LabelTreeSettings("huffman", 27, 0, 1, 0.1, bias=False))
    assert not tree.softmax.weight.any()


def test_sectors_of_a_plane_are_learnt() -> None:
    """No two classes are normal around a mean, so that an analysis is but a beginning."""
    x = np.random.default_rng(0).normal(size=(3000, 2))
    y = ((np.arctan2(x[:, 1], x[:, 0]) / np.pi + 1) * 12.5).astype(int) % 25
    model = LabelTreeClassifier(random_state=0).fit(x[:2000], y[:2000])
    assert model.score(x[2000:], y[2000:]) > 0.85


@pytest.mark.parametrize("sparse", [False, True])
def test_a_stream_of_many_classes_is_a_single_node_as_long_as_that_is_fast(sparse: bool) -> None:
    """Of 2,000 classes with 10 rows each, it has learned far more than a tree."""
    rng, classes = np.random.default_rng(0), np.arange(2000)
    y = rng.permutation(np.repeat(classes, 11))
    x = (rng.normal(size=(2000, 64))[y] + rng.normal(size=(len(y), 64))).astype(np.float32)
    if sparse:
        x[abs(x) < 1.5] = 0
        x = csr_matrix(x)
    right = []
    for arity in (None, 45):
        model = LabelTreeClassifier(arity=arity, random_state=0)
        for start in range(0, 20_000, 1000):
            part = slice(start, start + 1000)
            model.partial_fit(x[part], y[part], classes=classes)
        assert model.settings_.arity == (arity or 2000)
        right.append(model.score(x[20_000:], y[20_000:]))
    assert right[0] > right[1] + (0.3 if sparse else 0.1)
    wide = Features.from_csr(csr_matrix((2, DIRECT // 2000 + 1), dtype=np.float32))
    settings = for_stream(Examples(wide, np.arange(2)), 2000, LabelTreeSettings())
    assert settings.vector_size and settings.arity == 45  # of too many weights


def test_nothing_moves_in_a_single_node_that_was_asked_for() -> None:
    x, y = np.eye(3, dtype=np.float32), np.arange(3)
    model = LabelTreeClassifier(arity=3).partial_fit(x, y, classes=y)
    assert model.settings_.tree == "huffman" and not model.trained_.rebuilds
