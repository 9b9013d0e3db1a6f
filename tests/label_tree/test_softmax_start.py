"""How likely labels are before a tree of softmaxes learns, and after its tree has changed."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from tree_softmax import batch, made

from structnet.label_tree import TreeSoftmaxLoss, random_tree
from structnet.label_tree.shapes import log_shares


@pytest.mark.parametrize("arity", [None, 2, 3, 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_labels_begin_as_likely_as_they_are_frequent(arity: int | None, dtype: torch.dtype) -> None:
    counts = torch.arange(1.0, 24.0)
    for given in (counts, None):
        loss = TreeSoftmaxLoss(6, 23, arity, counts=given, dtype=dtype)
        share = counts / counts.sum() if given is not None else torch.full((23,), 1 / 23)
        found = loss.log_prob(torch.randn(2, 6, dtype=dtype)).exp()
        torch.testing.assert_close(found, share.to(dtype).expand(2, 23))


def test_without_biases_there_are_none() -> None:
    loss = TreeSoftmaxLoss(6, 23, 4, counts=range(23), bias=False)
    assert not loss.bias.any() and not loss.bias.requires_grad


def test_the_number_of_children_follows_that_of_labels() -> None:
    assert [TreeSoftmaxLoss(4, n).arity for n in (1, 15, 900, 50_000)] == [2, 15, 30, 128]
    assert TreeSoftmaxLoss(4, 900, max_depth=1).codes.num_nodes == 1


def test_counts_as_tensors() -> None:
    counts = torch.arange(1.0, 24.0)
    for given in (counts.clone().requires_grad_(), counts.bfloat16(), counts.long()):
        assert torch.equal(TreeSoftmaxLoss(6, 23, counts=given).counts, counts.double())
    for given in ({0: 3}, ["many"] * 23):
        with pytest.raises(ValueError, match=r"counts must be \[23\], a number for each class"):
            TreeSoftmaxLoss(6, 23, counts=given)


def test_all_parameters_can_be_reset() -> None:
    loss, fresh = made(counts=range(23)), TreeSoftmaxLoss(6, 23, 4, counts=range(23))
    loss.requires_grad_(False).reset_parameters()
    assert torch.equal(loss.weight, fresh.weight) and torch.equal(loss.bias, fresh.bias)


def test_another_tree_begins_anew() -> None:
    loss, (x, target) = made(sparse=True), batch()
    loss(x, target)
    other = random_tree(23, 4, seed=3)
    loss.replant(other)
    assert loss.codes.to_nested() == other.to_nested() and loss.statistics.seen.sum() == 0
    torch.testing.assert_close(loss.log_prob(x).exp(), torch.full((40, 23), 1 / 23))
    with pytest.raises(ValueError, match=r"must be \(23, 8, 4\). Got \(9, 4, 3\)"):
        loss.replant(random_tree(9, 3))


def test_labels_that_move_take_their_weights_along() -> None:
    loss = made(300, arity=4, tree="random", prior_weight=0.5)
    optimizers = [torch.optim.Adam([each], lr=0.01) for each in loss.parameters()]
    for seed in range(3):
        x = torch.randn(900, 6, generator=torch.Generator().manual_seed(seed))
        loss(x, torch.arange(900) % 300).loss.backward()
        for optimizer in optimizers:
            optimizer.step()
    before = copy.deepcopy(loss)
    first = [optimizer.state[p]["exp_avg"].clone() for optimizer, p in parts(loss, optimizers)]
    found = loss.reassign(*optimizers)
    assert 0.2 < found.moved < 1 and 0 < found.is_new.sum() < len(found.is_new)
    old, new = (divmod(each.codes.leaves, 4) for each in (before, loss))
    values = [before.weight, *first]
    now = [loss.weight, *(o.state[p]["exp_avg"] for o, p in parts(loss, optimizers))]
    for one, other in zip(values, now, strict=True):
        torch.testing.assert_close(other[new], one[old], rtol=0, atol=0)
    begins = found.source < 0
    assert begins.any() and not loss.weight[begins].any() and not now[1][begins].any()
    shares = [torch.from_numpy(log_shares(e.codes, np.ones(300))) for e in (before, loss)]
    learned = [each.bias - share for each, share in zip((before, loss), shares, strict=True)]
    torch.testing.assert_close(learned[1][new], learned[0][old], rtol=0, atol=1e-6)
    torch.testing.assert_close(loss.bias[begins], shares[1][begins].float())
    stays = (found.source == np.arange(begins.size).reshape(begins.shape)) & ~found.is_new[:, None]
    assert torch.equal(loss.weight[stays], before.weight[stays])


def test_what_is_no_optimizer_is_refused_before_a_label_moves() -> None:
    loss = made(30, arity=3, tree="random", prior_weight=0.5)
    adam = torch.optim.Adam(loss.parameters())
    loss(torch.randn(90, 6), torch.arange(90) % 30)
    before = copy.deepcopy(loss.state_dict())
    for wrong in ([adam], torch.optim.lr_scheduler.StepLR(adam, 1)):
        with pytest.raises(TypeError, match=f"one after the other. Got {type(wrong).__name__}"):
            loss.reassign(wrong)  # type: ignore[arg-type]  # that is refused
    assert all(torch.equal(value, before[name]) for name, value in loss.state_dict().items())
    assert loss.reassign(None, adam).moved > 0


def parts(loss: TreeSoftmaxLoss, optimizers: list) -> list:
    """Each optimizer with its parameter."""
    return list(zip(optimizers, loss.parameters(), strict=True))
