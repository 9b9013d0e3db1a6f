"""The tree of softmaxes as a torch module: against plain autograd, DGL, and exhaustive search."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from label_trees import planted
from torch import Tensor
from tree_softmax import batch, made

from structnet.label_tree import LabelTree, TreeSoftmaxLoss, random_tree
from structnet.label_tree import rows as rows_module
from structnet.label_tree.codes import LabelCodes
from structnet.label_tree.features import Features
from structnet.routing import Samples, export_text, reach, summary


def padded_log_prob(loss: TreeSoftmaxLoss, x: Tensor, target: Tensor) -> Tensor:
    """Codes padded to one length with steps that cost nothing, by plain autograd."""
    codes = [loss.codes.code(int(label)) for label in target]
    longest = max(map(len, codes))
    bias, found = loss.bias.masked_fill(loss.mask, -torch.inf), []
    for r, code in zip(x, codes, strict=True):
        steps = [(loss.weight[n] @ r + bias[n]).log_softmax(0)[j] for n, j in code]
        found.append(torch.stack(steps + [r.new_zeros(())] * (longest - len(code))).sum())
    return torch.stack(found)


@pytest.mark.parametrize("few", [0, 10**9], ids=["node by node", "row by row"])
def test_ragged_codes_are_padded_ones(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "FEW", few)
    loss = made().double()
    x, target = batch()
    x = x.double().requires_grad_()
    inputs = [x, loss.weight, loss.bias]
    fast = loss(x, target).output
    slow = padded_log_prob(loss, x, target)
    torch.testing.assert_close(fast, slow)
    weights = torch.linspace(-1, 2, len(x), dtype=torch.float64)
    for ours, theirs in zip(
        torch.autograd.grad(fast @ weights, inputs),
        torch.autograd.grad(slow @ weights, inputs),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_sparse_gradients_are_those_of_nodes_that_were_met() -> None:
    dense, sparse = made(), made(sparse=True)
    x, target = batch(number=3)
    for loss in (dense, sparse):
        loss(x, target).loss.backward()
    assert sparse.weight.grad.is_sparse
    torch.testing.assert_close(sparse.weight.grad.to_dense(), dense.weight.grad)
    assert 0 < sparse.weight.grad._nnz() < len(dense.weight)


def test_gradcheck() -> None:
    loss = made(labels=7, size=3, arity=3).double().eval()
    x, target = batch(labels=7, size=3, number=5)
    assert torch.autograd.gradcheck(
        lambda x, w, b: rows_module.path_log_prob(x, w, b, *steps(loss, target))[0],
        (x.double().requires_grad_(), loss.weight, loss.bias.detach()),
    )


def test_second_derivatives_are_refused() -> None:
    loss, (x, target) = made(), batch()
    found = loss(x.requires_grad_(), target).loss
    said = "TreeSoftmaxLoss has no second derivatives; the loss of its log_prob has"
    with pytest.raises(RuntimeError, match=said):
        torch.autograd.grad(found, x, create_graph=True)
    plain = -loss.log_prob(x).gather(1, target[:, None]).mean()
    (slope,) = torch.autograd.grad(plain, x, create_graph=True)
    slope.square().sum().backward()
    assert loss.weight.grad.any()


@pytest.mark.parametrize("few", [0, 10**9], ids=["node by node", "row by row"])
def test_a_backward_pass_inside_autocast(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "FEW", few)
    found = []
    for enabled in (False, True):
        loss, (x, target) = made(), batch()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            loss(x.requires_grad_(), target).loss.backward()
        found.append((x.grad, loss.weight.grad, loss.bias.grad))
    assert all(map(torch.equal, *found))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(), (3,), (2, 4), (0,)])
def test_rows_are_added_as_torch_adds_them(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    places = torch.tensor([4, 0, 4, 1, 4])
    table, rows = (torch.randn(n, *shape, generator=generator).to(dtype) for n in (6, 5))
    expected = table.clone().index_add_(0, places, rows)
    found = rows_module.add_rows(table, places, rows)
    assert found is table
    torch.testing.assert_close(table, expected)


def steps(loss: TreeSoftmaxLoss, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The example, node and slot of each decision."""
    found = [(i, n, j) for i, t in enumerate(target) for n, j in loss.codes.code(int(t))]
    return tuple(torch.tensor(column) for column in zip(*found, strict=True))


@pytest.mark.parametrize(("labels", "arity"), [(1, 3), (2, 2), (23, 4), (64, 4), (50, 7)])
def test_leaf_probabilities_sum_to_one(labels: int, arity: int) -> None:
    loss = made(labels, arity=arity)
    x, target = batch(labels)
    log_p = loss.log_prob(x)
    torch.testing.assert_close(log_p.exp().sum(1), torch.ones(len(x)), atol=1e-5, rtol=0)
    torch.testing.assert_close(loss(x, target).output, log_p.gather(1, target[:, None])[:, 0])
    exact = loss.arrays().scored_all(Features.from_table(x.numpy()))
    np.testing.assert_allclose(exact, log_p.detach(), atol=1e-5)
    own = loss.arrays().scored(Features.from_table(x.numpy()), target.numpy())
    assert (own == exact[range(len(x)), target]).all()


@pytest.mark.parametrize("labels", [2, 11, 30])
def test_the_distribution_as_messages(labels: int) -> None:
    loss = made(labels, arity=3)
    x, _ = batch(labels)
    plain, messages = loss.log_prob(x), loss.log_prob(x, backend="dgl")
    torch.testing.assert_close(plain, messages)
    ours, theirs = (
        torch.autograd.grad(each[:, 0].sum(), loss.weight) for each in (plain, messages)
    )
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("arity", [3, 50])
@pytest.mark.parametrize("k", [1, 3, 50])
def test_branch_and_bound_is_exhaustive(k: int, arity: int) -> None:
    loss = made(50, arity=arity)
    x, _ = batch(50)
    features = Features.from_table(x.numpy())
    values, labels, visited = loss.arrays().searched(features, k)
    everything = loss.arrays().scored_all(features)
    order = np.argsort(-everything, axis=1, kind="stable")[:, :k]
    assert (labels == order).all()
    assert (values == np.take_along_axis(everything, order, 1)).all()
    assert visited <= loss.codes.num_nodes and (k < 50 or visited == loss.codes.num_nodes)


def test_ties_go_to_the_lowest_label() -> None:
    loss = TreeSoftmaxLoss(3, 27, 3, tree=random_tree(27, 3, seed=5))
    assert loss.top_k(torch.randn(2, 3), 27)[1].tolist() == [list(range(27))] * 2
    assert loss.top_k(torch.randn(2, 3), 5)[1].tolist() == [list(range(5))] * 2
    assert loss.predict(torch.randn(4, 3)).tolist() == [0] * 4


def test_beams_and_thresholds() -> None:
    loss = made(50, arity=3)
    x, _ = batch(50)
    exact, labels = loss.top_k(x, 5)
    wide = loss.top_k(x, 5, beam=50)
    assert torch.equal(labels, wide[1])
    narrow, _ = loss.top_k(x, 5, beam=1)
    assert (narrow[:, 0] <= exact[:, 0]).all() and (narrow[:, 3:] == -torch.inf).all()
    sure, chosen = loss.top_k(x, 5, threshold=0.1)
    assert ((sure >= np.log(0.1)) == (exact >= np.log(0.1))).all()
    assert ((chosen == -1) == (sure == -torch.inf)).all()


@pytest.mark.parametrize("arity", [3, 100])
@pytest.mark.parametrize("how", [{}, {"beam": 1}, {"beam": 2}, {"threshold": 0.2}], ids=str)
def test_a_few_labels_are_the_first_of_many(how: dict, arity: int) -> None:
    loss = made(100, arity=arity)
    x, _ = batch(100)
    many = loss.top_k(x, 100, **how)  # too many for a bound: the whole queue in order
    for k in (1, 5, 64):
        few = loss.top_k(x, k, **how)
        assert all(torch.equal(a, b[:, :k]) for a, b in zip(few, many, strict=True))


def test_a_drop_in_for_the_adaptive_softmax() -> None:
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(6, 23, [5, 10], div_value=1.0)
    ours = made()
    x, target = batch()
    for head in (ours, theirs):
        found = head(x, target)
        assert found.output.shape == (40,) and found.loss.shape == ()
        torch.testing.assert_close(found.loss, -found.output.mean())
        assert head.log_prob(x).shape == (40, 23)
        assert torch.equal(head.predict(x), head.log_prob(x).argmax(1))
    one = ours(x[0], target[0])
    torch.testing.assert_close(one.output, ours(x, target).output[0])


def test_what_is_ignored() -> None:
    loss, (x, target) = made(), batch()
    target[::2] = -100
    found = loss(x, target)
    assert (found.output[::2] == 0).all()
    torch.testing.assert_close(found.loss, -found.output[1::2].mean())


@pytest.mark.parametrize("sparse", [False, True])
def test_a_batch_in_which_nothing_counts(sparse: bool) -> None:
    loss, (x, _) = made(sparse=sparse), batch()
    for number in (3, 0):
        loss.zero_grad()
        rows = x[:number].clone().requires_grad_()
        found = loss(rows, torch.full((number,), -100))
        assert found.output.tolist() == [0] * number and found.loss == 0
        found.loss.backward()
        for part in (rows, loss.weight, loss.bias):
            assert not part.grad.to_dense().any()
        with torch.no_grad():
            assert loss.eval()(rows, torch.full((number,), -100)).loss == 0


def test_leading_axes() -> None:
    loss, (x, target) = made(), batch()
    flat = loss(x, target)
    cube, square = x.reshape(5, 8, 6), target.reshape(5, 8)
    found = loss(cube, square)
    torch.testing.assert_close(found.loss, flat.loss)
    assert torch.equal(found.output.flatten(), flat.output)
    assert torch.equal(loss.log_prob(cube), loss.log_prob(x).reshape(5, 8, 23))
    assert torch.equal(loss.predict(cube), loss.predict(x).reshape(5, 8))
    for many, each in zip(loss.top_k(x, 3), loss.top_k(cube, 3), strict=True):
        assert torch.equal(each, many.reshape(5, 8, 3))
    assert loss.predict(x[0]).shape == () and loss.log_prob(x[0]).shape == (23,)
    assert loss.top_k(x[0], 2)[0].shape == (2,)


def test_axes_in_another_order_are_refused() -> None:
    loss, (x, target) = made(), batch()
    with pytest.raises(ValueError, match=r"same leading axes. Got \[5, 8, 6\] and \[8, 5\]"):
        loss(x.reshape(5, 8, 6), target.reshape(8, 5))
    for function in (loss.log_prob, loss.predict, lambda x: loss.top_k(x, 2)):
        with pytest.raises(ValueError, match=r"input must be \[\.\.\., 6\]. Got \[6, 40\]"):
            function(x.T)


@pytest.mark.parametrize("labels", [1, 3])
def test_more_answers_than_labels(labels: int) -> None:
    values, numbers = made(labels).double().top_k(torch.zeros(2, 6).double(), 5)
    assert values.dtype == torch.float64 and values.shape == numbers.shape == (2, 5)
    assert (numbers[:, :labels] >= 0).all() and values[:, :labels].isfinite().all()
    assert (numbers[:, labels:] == -1).all() and (values[:, labels:] == -torch.inf).all()


def test_a_label_that_never_occurs_is_not_at_the_bottom() -> None:
    depth = TreeSoftmaxLoss(6, 23, 3, counts=[0] * 12 + [1] * 10 + [200]).codes.depth
    assert depth[22] == 1 and depth[:12].mean() == pytest.approx(depth[12:22].mean(), abs=0.5)
    for given, used in (([0, 2, 5], [2, 2, 5]), ([0, 0], [0, 0])):
        assert TreeSoftmaxLoss(6, len(given), counts=given).counts.tolist() == used


def test_device_and_dtype() -> None:
    loss = TreeSoftmaxLoss(6, 23, device="cpu", dtype=torch.float64)
    assert loss(torch.zeros(2, 6).double(), torch.tensor([0, 22])).output.dtype == torch.float64
    assert TreeSoftmaxLoss(6, 23, device="meta").weight.is_meta


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arity": 1}, "'arity' parameter must be an int in the range"),
        ({"counts": [1.0]}, r"counts must be \[23\]"),
        ({"tree": "oak"}, "one of"),
        ({"tree": random_tree(5)}, "the tree has 5 labels; expected 23"),
        ({"max_depth": 2, "arity": 4}, "23 labels do not fit"),
        ({"memory": 2}, "'memory' parameter of TreeSoftmaxLoss"),
        ({"gain": "most"}, "'gain' parameter of TreeSoftmaxLoss"),
    ],
)
def test_bad_arguments(change: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TreeSoftmaxLoss(6, 23, **change)


@pytest.mark.parametrize("target", [23, -1])
def test_a_target_that_is_no_label(target: int) -> None:
    with pytest.raises(ValueError, match=f"target must be from 0 to 22. Got {target}."):
        made()(torch.zeros(1, 6), torch.tensor([target]))


def trained(learns: bool) -> tuple[TreeSoftmaxLoss, float]:
    """A random tree after some steps on a planted hierarchy, and its accuracy."""
    x, y, _ = planted(3, 3, 4, 20_000, seed=0)
    x, y = torch.from_numpy(x).float(), torch.from_numpy(y)
    loss = TreeSoftmaxLoss(4, 27, 3, tree="random")
    optimizer = torch.optim.Adagrad(loss.parameters(), lr=0.3)
    for step, part in enumerate(torch.arange(len(x)).split(100)):
        optimizer.zero_grad()
        loss(x[part], y[part]).loss.backward()
        optimizer.step()
        if learns and step % 10 == 9 and step < 150:
            loss.reassign(optimizer)
    return loss, float((loss.predict(x) == y).double().mean())


def test_a_tree_that_learns_and_its_state() -> None:
    (loss, learned), (_, fixed) = trained(True), trained(False)
    assert learned > fixed + 0.1
    twin = TreeSoftmaxLoss(4, 27, 3)
    twin.load_state_dict(loss.state_dict())
    assert twin.codes.to_nested() == loss.codes.to_nested()
    x = torch.rand(9, 4)
    assert torch.equal(twin.sums, loss.sums) and torch.equal(twin.log_prob(x), loss.log_prob(x))


def test_a_decay_of_the_weights_leaves_empty_slots_alone() -> None:
    loss, (x, target) = made(6, arity=4), batch(6)
    optimizer = torch.optim.SGD(loss.parameters(), lr=0.1, weight_decay=0.1)
    loss(x, target).loss.backward()
    optimizer.step()
    assert loss.bias.isfinite().all()
    torch.testing.assert_close(loss.log_prob(x).exp().sum(1), torch.ones(40))


# ---- as any model tree


def tree() -> LabelTree:
    found = LabelTree(6, 23, arity=4)
    found.softmax.load_state_dict(made().state_dict())
    return found


def test_it_is_a_model_tree() -> None:
    model, (x, target) = tree(), batch()
    told = reach(model, Samples(x, target))
    np.testing.assert_allclose(told.share[model.topology.leaves].sum(), 1)
    by_leaf = told.share[model.topology.leaves]
    labels = model.codes.numbering.label[model.topology.leaves]
    mean = model.predict_proba(x).mean(0).detach().numpy()
    np.testing.assert_allclose(by_leaf, mean[labels], atol=1e-6)
    assert export_text(model).count("label") == 23
    size = summary(model, x)
    assert size.leaves == 23 and size.parameters == 6 * 30 + 30
    rows = str(summary(model)).split("\n\n")[2].splitlines()
    assert rows[-1] == "and 23 without parameters"
    assert len(rows) - 2 == model.codes.num_nodes == len(size.rows) - 23
    assert str(size).split("\n\n")[2].count("label") == 23  # with samples, who comes where


def test_a_greedy_walk_comes_to_one_leaf() -> None:
    model, (x, _) = tree(), batch()
    ends = [v for v in model.visits(x, "greedy") if v.branch is None]
    np.testing.assert_allclose(sum(v.arriving for v in ends), np.ones(len(x)))
    with pytest.raises(ValueError, match="path"):
        list(model.visits(x, "best"))


def test_copies_are_independent() -> None:
    model = tree()
    twin = copy.deepcopy(model)
    model.softmax.sums += 1
    model.softmax.reassign()
    assert twin.softmax.sums.sum() == 0


def test_targets_that_are_no_whole_numbers() -> None:
    loss = TreeSoftmaxLoss(4, 6)
    for target in (torch.zeros(5), torch.zeros(5, dtype=torch.bool)):
        with pytest.raises(ValueError, match=r"must be whole numbers, as int64. Got torch\."):
            loss(torch.randn(5, 4), target)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_targets_of_any_whole_numbers(dtype: torch.dtype) -> None:
    loss, x, target = TreeSoftmaxLoss(4, 6), torch.randn(5, 4), torch.arange(5)
    torch.testing.assert_close(loss(x, target.to(dtype)).output, loss(x, target).output)


def test_what_moved_is_told_in_a_line() -> None:
    found = TreeSoftmaxLoss(4, 6, arity=2).reassign()
    assert repr(found) == "Reassigned(0.0% of 6 labels moved, 0 of 5 nodes are new)"


def test_a_tree_with_spare_nodes_stays_as_it_is() -> None:
    loss = TreeSoftmaxLoss(4, 6, tree=LabelCodes.from_nested([[0, 1], [2, 3], [4, 5]]))
    loss(torch.randn(5, 4), torch.arange(5)).loss.backward()
    with pytest.raises(ValueError, match="has 4 nodes; labels move in one of 3, the fewest for 6"):
        loss.reassign()
