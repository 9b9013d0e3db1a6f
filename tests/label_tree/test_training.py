"""Training by compiled loops: against torch, interrupted, on several threads, and too fast."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from label_trees import planted
from scipy.sparse import csr_matrix

from structnet.label_tree import (
    CollapseError,
    Examples,
    Features,
    LabelCodes,
    LabelTree,
    LabelTreeSettings,
    Training,
    begin,
    choose,
    random_tree,
)
from structnet.label_tree.choice import filled_in
from structnet.routing import Samples
from structnet.training.seeding import epoch_order

SETTINGS = LabelTreeSettings("learned", 3, 0, 4, 0.1, "huffman", rebuilds=8)


def table(number: int = 3000, seed: int = 0) -> Examples:
    x, y, _ = planted(3, 3, 4, number, seed)
    return Examples(Features.from_table(x), y)


def bags(number: int = 300) -> Examples:
    rng = np.random.default_rng(0)
    lists = [rng.integers(30, size=rng.integers(1, 5)).tolist() for _ in range(number)]
    return Examples(Features.from_lists(lists, 30), np.array([one[0] % 9 for one in lists]))


def sparse(number: int = 300) -> Examples:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(number, 12)) * (rng.random((number, 12)) < 0.3)
    return Examples(Features.from_csr(csr_matrix(x)), rng.integers(9, size=number))


@pytest.mark.parametrize("make", [table, bags, sparse])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_example_at_a_time_is_sgd_of_torch(make: Any, weighted: bool) -> None:
    examples = make(60)
    if weighted:
        shares = np.random.default_rng(1).random(60).astype(np.float32)
        examples = replace(examples, shares=shares)
    labels = 27 if make is table else 9
    size = None if make is table else 5
    ours, theirs = (
        LabelTree(examples.features.size, labels, size, tree=random_tree(labels, 4))
        for _ in range(2)
    )
    settings = LabelTreeSettings("random", 4, size or 0, 1, 0.2)
    training = Training(ours, settings).run(examples)
    total = 0.0
    for step, i in enumerate(epoch_order(60, 0, 0)):
        x = examples.features[[i]]
        x = torch.from_numpy(x.table) if x.is_table else x.to_csr()
        loss = theirs.loss(Samples(x, torch.tensor([examples.labels[i]])))
        if weighted:
            loss = loss * float(shares[i])
        total += loss.item()
        theirs.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in theirs.parameters():
                if parameter.grad is not None:
                    parameter -= 0.2 * (1 - step / 60) * parameter.grad
    for name, value in ours.state_dict().items():
        other = theirs.state_dict()[name]
        if not (weighted and name in ("sums", "seen", "softmax.sums", "softmax.seen")):
            torch.testing.assert_close(value, other, atol=1e-5, rtol=1e-4, msg=name)
    assert training.epochs[0]["loss"] == pytest.approx(total / 60, rel=1e-4)


def dense(examples: Examples) -> Examples:
    return replace(examples, features=Features.from_table(examples.features.to_csr().toarray()))


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_are_learnt_as_dense_ones(weighted: bool) -> None:
    examples, settings = sparse(), LabelTreeSettings("random", 4, 0, 3, 0.2)
    if weighted:
        shares = np.random.default_rng(1).random(len(examples)).astype(np.float32)
        examples = replace(examples, shares=shares)
    found = [
        Training(LabelTree(12, 9, tree=random_tree(9, 4)), settings).run(each)
        for each in (examples, dense(examples))
    ]
    for name, value in found[0].tree.state_dict().items():
        torch.testing.assert_close(value, found[1].tree.state_dict()[name], atol=1e-5, rtol=1e-4)
    losses = [training.epochs[-1]["loss"] for training in found]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for tree in (training.tree for training in found):  # each has learnt from the other form
        rows = examples.features, dense(examples).features
        np.testing.assert_allclose(*map(tree.log_prob_of_all, rows), rtol=1e-5)
        answers = zip(*(tree.top_k(each, 3)[:2] for each in rows), strict=True)
        for ours, theirs in answers:
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_weights_lie_as_rows_ask_for_them() -> None:
    """However they lie, as in a pickle of before, they are the ones that learn."""
    examples, settings = sparse(), LabelTreeSettings("random", 4, 0, 1, 0.2)
    found = []
    for lies_as_before in (False, True):
        tree = LabelTree(12, 9, tree=random_tree(9, 4))
        parameter, training = tree.softmax.weight, Training(tree, settings)
        for _ in range(2):
            training.stream(examples)
            if lies_as_before:
                parameter.data = parameter.data.contiguous()
        assert tree.softmax.weight is parameter
        found.append(copy.deepcopy(tree).state_dict()["softmax.weight"])
    assert torch.equal(*found) and found[0].abs().max() > 0.1


def test_asking_leaves_an_optimizer_as_it_is() -> None:
    """Fused steps read weights and states side by side as they lie in memory."""
    rows, labels = sparse().features.to_csr(), torch.from_numpy(sparse().labels)
    table = torch.from_numpy(rows.toarray())
    found = []
    for asks in (False, True):
        tree = LabelTree(12, 9, tree=random_tree(9, 4))
        tree.softmax.arrays(by_feature=True, lay=True)
        optimizer = torch.optim.AdamW(tree.parameters(), lr=0.1, fused=True)
        for _ in range(4):
            optimizer.zero_grad()
            tree.softmax(table, labels).loss.backward()
            optimizer.step()
            if asks:
                tree.log_prob_of_all(rows), tree.log_prob_of_all(table.numpy())
                with torch.no_grad():
                    tree.eval().softmax(table, labels)
                tree.train()
        found.append(tree.softmax.weight)
    assert torch.equal(*found) and found[0].abs().max() > 0.1


def test_the_hierarchy_is_found() -> None:
    examples = table(20_000)
    held = table(20_000, seed=0)[np.arange(2_000)]
    kinds = {}
    for kind in ("learned", "huffman", "clusters", "random"):
        settings = replace(SETTINGS, tree=kind, rebuilds=30)
        tree = begin(examples, 27, settings)
        training = Training(tree, settings).run(examples)
        kinds[kind] = (tree.top_k(held.features)[1][:, 0] == held.labels).mean()
        if kind == "learned":
            quality = [each["objective"] for each in training.rebuilds]
            moved = [each["moved"] for each in training.rebuilds]
            assert np.mean(quality[-5:]) > np.mean(quality[:5]) + 0.1
            assert np.mean(moved[-10:]) < 0.1 < moved[0]
    assert min(kinds["learned"], kinds["clusters"]) > max(kinds["huffman"], kinds["random"]) + 0.1


def test_what_is_counted_stays_in_double_precision(double_precision: None) -> None:
    examples, settings = table(60), replace(SETTINGS, epochs=1)
    tree = Training(begin(examples, 27, settings), settings).run(examples).tree.softmax
    many = 2.0**24
    tree.seen += many
    tree.float().seen += 1
    found = {name: value.dtype for name, value in tree.state_dict().items()}
    assert found.pop("counts") == found.pop("seen") == torch.float64
    assert found.pop("layout") == torch.int32
    assert set(found.values()) == {torch.float32}
    assert (tree.seen >= many + 1).all()


@pytest.fixture
def double_precision() -> Iterator[None]:
    """As torch's default, while a test runs."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("start", ["huffman", "groups"])
def test_an_interrupted_training_is_the_same(start: str) -> None:
    examples, settings = table(), replace(SETTINGS, start=start)
    whole = Training(begin(examples, 27, settings), settings).run(examples)
    for until in (700, 4000, 6500, 8900):
        first = Training(begin(examples, 27, settings), settings).run(examples, until=until)
        assert 0 < first.done < whole.done
        tree = LabelTree(4, 27, arity=3)
        tree.load_state_dict(first.tree.state_dict())
        again = Training.of(tree, settings, first.state()).run(examples)
        for name, value in whole.tree.state_dict().items():
            other = again.tree.state_dict()[name]
            assert value.dtype == other.dtype and torch.equal(value, other), (until, name)
        assert again.rebuilds == whole.rebuilds
        for ours, theirs in zip(again.epochs, whole.epochs, strict=True):
            assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-12)


def kinds_of_words(number: int = 2000) -> Examples:
    """9 labels of 3 kinds: a word of the label's own, and 4 of 8 that its kind has."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(number) % 9)
    lists = [[k, *(9 + 8 * (k % 3) + rng.integers(8, size=4))] for k in labels]
    return Examples(Features.from_lists(lists, 9 + 3 * 8), labels)


def share_that_moved(*trees: LabelCodes) -> float:
    ways = (
        [[slot for _, slot in codes.code(k)] for k in range(codes.num_labels)] for codes in trees
    )
    return np.mean([before != after for before, after in zip(*ways, strict=True)])


def test_groups_of_labels_whose_examples_are_alike() -> None:
    examples = kinds_of_words()
    settings = LabelTreeSettings("learned", 3, 8, 10, 0.5, "groups")
    start = begin(examples, 9, settings).codes
    training = Training(begin(examples, 9, settings), settings).run(examples)
    (record,), codes = training.rebuilds, training.tree.codes
    assert record["examples"] == len(examples) * 10 // 5
    last = codes.nodes[codes.offsets[1:] - 1]
    kinds = {tuple(np.flatnonzero(last == node) % 3) for node in last}
    assert kinds == {(0, 0, 0), (1, 1, 1), (2, 2, 2)}
    assert record["moved"] == share_that_moved(start, codes) > 0.5
    assert training.epochs[-1]["loss"] < training.epochs[2]["loss"]


def test_who_speaks_of_reassignments_gets_them() -> None:
    told = {"rebuilds": 5, "gain": "exact", "prior": "uniform", "prior_weight": 3.0, "memory": 0.9}
    assert LabelTreeSettings(vector_size=8).begins == "groups"
    for name, value in told.items():
        assert LabelTreeSettings(vector_size=8, **{name: value}).begins == "huffman"
        assert LabelTreeSettings(vector_size=8, start="groups", **{name: value}).begins == "groups"
        assert LabelTreeSettings(vector_size=0, **{name: value}).begins == "clusters"


def test_who_is_given_another_way_than_the_default_is_told() -> None:
    settings = LabelTreeSettings("learned", 3, 8, 1, 0.1)
    with pytest.warns(UserWarning, match="gain, memory: these settings concern reassignments"):
        found = choose(bags(), 9, replace(settings, memory=0.9, gain="exact"))
    assert found.start == "huffman"
    for told in ({}, {"start": "huffman", "memory": 0.9}, {"tree": "huffman", "memory": 0.9}):
        choose(bags(), 9, replace(settings, **told))  # pytest makes errors of warnings


def test_of_many_labels_a_node_has_so_many_children_that_two_decide() -> None:
    settings = LabelTreeSettings("huffman", epochs=1, learning_rate=0.3)
    for number, arity in ((3, 3), (27, 20), (1000, 32), (100_000, 128)):
        examples = Examples(table().features, np.arange(3000) % number)
        assert begin(examples, number, settings).codes.arity == arity
        assert filled_in(examples, number, settings).arity == arity


def test_groups_that_are_too_deep_are_clusters() -> None:
    labels = np.repeat(np.arange(12), 2 ** np.arange(12))  # Huffman's tree is a comb
    x = np.random.default_rng(0).normal(size=(len(labels), 3)).astype(np.float32)
    examples = Examples(Features.from_table(x), labels)
    settings = LabelTreeSettings("learned", 2, 0, 2, 0.1, "groups")
    comb = begin(examples, 12, settings).codes
    for limit, most in ((None, 11), (5, 5)):
        own = replace(settings, max_depth=limit)
        training = Training(begin(examples, 12, own), own).run(examples)
        codes = training.tree.codes
        assert codes.depth.max() == most
        if limit is None:  # nothing is about as frequent as another label
            assert training.rebuilds[0]["moved"] == share_that_moved(comb, codes) < 0.5


def test_same_seed_same_tree_and_threads_learn_too() -> None:
    examples = table()
    trees = [Training(begin(examples, 27, SETTINGS), SETTINGS).run(examples).tree for _ in range(2)]
    for name, value in trees[0].state_dict().items():
        assert torch.equal(value, trees[1].state_dict()[name])
    training = Training(begin(examples, 27, SETTINGS), SETTINGS, threads=2).run(examples)
    assert training.epochs[-1]["loss"] < 0.7 * training.epochs[0]["loss"]


def test_a_stream() -> None:
    examples = table()
    settings = replace(SETTINGS, epochs=1)
    training = Training(begin(examples[:500], 27, settings), settings)
    for start in range(0, 3000, 500):
        training.stream(examples[start : start + 500])
    assert training.tree.softmax.counts.sum() == 3000
    assert training.epochs[-1]["loss"] < training.epochs[0]["loss"]


def test_a_stream_counts_on_after_a_training_without_passes() -> None:
    examples, settings = table(), LabelTreeSettings("huffman", 27, 0, 0, 0.1)
    training = Training(begin(examples[:500], 27, settings), settings).run(examples[:500])
    for start in (500, 1000):
        training.stream(examples[start : start + 500])
    assert training.tree.softmax.counts.sum() == 1500


@pytest.mark.parametrize("rate", [1e4, 30.0])
def test_a_rate_at_which_training_collapses(rate: float) -> None:
    settings = replace(SETTINGS, learning_rate=rate)
    examples = table()
    examples = replace(examples, features=Features.from_table(10 * examples.features.table))
    with pytest.raises(CollapseError, match=f"expected a learning rate below {rate:g}"):
        Training(begin(examples, 27, settings), settings).run(examples)


def test_a_training_that_collapses_before_labels_are_grouped_says_so() -> None:
    settings = replace(SETTINGS, tree="learned", start="groups", learning_rate=1e38)
    for size in (0, 5):
        settings = replace(settings, vector_size=size)
        with pytest.raises(CollapseError, match="training collapsed in epoch 1: the loss is nan"):
            Training(begin(table(), 27, settings), settings).run(table())


def test_features() -> None:
    lists = [[3, 1], [0], [2, 2, 2]]
    features = Features.from_lists(lists)
    assert features.shape == (3, 4)
    assert features.to_csr().toarray()[2].tolist() == [0, 0, 1, 0]
    assert features[[2, 0]].ids.tolist() == [2, 2, 2, 3, 1]
    with pytest.raises(ValueError, match="example 1 has the feature 9; expected one from 0 to 4"):
        Features.from_lists([[1], [9]], size=5)
    with pytest.raises(ValueError, match="example 0 has the feature -4294967293; expected"):
        Features.from_lists([[3 - 2**32]], size=5)
    with pytest.raises(ValueError, match=r"below 2\*\*31, which is .* Got 1099511627776"):
        Features.from_lists([[2**40]])
    with pytest.raises(ValueError, match="must be whole numbers"):
        Features.from_lists([[0.5]])
