"""Factorised forms of dense tensors: exact where they can be, else as good as promised."""

from __future__ import annotations

import itertools

import pytest
import torch
from aggregators import aggregated, data, made, with_and_without_input
from torch import Tensor

from structnet.tensor_tree import CP, Aggregator, FullTensor, TensorTrain, Tucker


def dense(c: int, arity: int, input_size: int = 0, types: int = 2, gates: int = 2) -> Tensor:
    sizes = [input_size + 1] * (input_size > 0) + [c + 1] * arity
    return torch.randn(types, gates, *sizes, c, dtype=torch.float64)


def error(aggregator: Aggregator, tensor: Tensor) -> float:
    return (aggregator.to_full() - tensor).norm().item()


# Enough rank for any tensor with c 2, L 3, with and without an input of size 3.
SUFFICIENT = [(Tucker, 0, 2), (Tucker, 3, 3), (TensorTrain, 0, 6), (TensorTrain, 3, 12)]


@pytest.mark.parametrize(("kind", "input_size", "rank"), SUFFICIENT)
def test_from_full_is_exact_at_sufficient_rank(kind: type, input_size: int, rank: int):
    tensor = dense(2, 3, input_size)
    for more in (0, 2):  # rank to spare does no harm
        aggregator = kind.from_full(tensor, rank + more, input_size=input_size)
        torch.testing.assert_close(aggregator.to_full(), tensor, rtol=1e-10, atol=1e-10)
        assert aggregator.to_full().dtype == torch.float64
    h, x = data(aggregator)
    truth = FullTensor.from_full(tensor, input_size)
    torch.testing.assert_close(aggregated(aggregator, 1, h, x), aggregated(truth, 1, h, x))


@with_and_without_input
def test_full_tensor_round_trip(input_size: int):
    tensor = dense(2, 3, input_size)
    assert torch.equal(FullTensor.from_full(tensor, input_size).to_full(), tensor)


def unfolding(tensor: Tensor, mode: int) -> Tensor:
    return tensor.movedim(mode, 0).flatten(1)


def tail(matrix: Tensor, rank: int) -> float:
    """The squared error of the best approximation of this rank."""
    return torch.linalg.svdvals(matrix)[rank:].square().sum().item()


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_tucker_is_as_good_as_truncated_svds_promise(rank: int):
    tensor = dense(4, 2, types=1, gates=1)
    inner = tensor[0, 0].clone()
    inner[-1, -1] = 0  # the bias holds it exactly
    promised = tail(unfolding(inner[:-1], 0), rank) + tail(unfolding(inner[:, :-1], 1), rank)
    promised += tail(unfolding(inner, 2), rank)
    assert error(Tucker.from_full(tensor, rank), tensor) ** 2 <= promised + 1e-9


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_tensor_train_is_as_good_as_truncated_svds_promise(rank: int):
    tensor = dense(4, 2, types=1, gates=1)
    promised = tail(tensor[0, 0].flatten(1), rank) + tail(tensor[0, 0].flatten(0, 1), rank)
    assert error(TensorTrain.from_full(tensor, rank), tensor) ** 2 <= promised + 1e-9


@pytest.mark.parametrize("kind", [Tucker, CP, TensorTrain])
def test_error_falls_with_rank(kind: type):
    tensor = dense(3, 2, types=1, gates=2)
    errors = [error(kind.from_full(tensor, rank), tensor) for rank in (1, 2, 3, 4)]
    assert all(after < before + 1e-9 for before, after in itertools.pairwise(errors))
    assert errors[3] < 0.9 * errors[0]


@pytest.mark.parametrize("name", ["cp", "tucker", "tensor-train"])
@with_and_without_input
def test_from_full_finds_a_tensor_of_its_own_form(name: str, input_size: int):
    source = made(name, input_size, types=1)
    if name == "cp":  # a bias would take a rank of its own
        source.bias.data.zero_()
    tensor = source.to_full().detach()
    if name == "tensor-train":  # start and bias take ranks too
        source.bias.data.zero_()
        tensor = source.to_full().detach()
    found = type(source).from_full(tensor, rank=source.rank, input_size=input_size)
    assert error(found, tensor) < 1e-6 * tensor.norm()


@pytest.mark.parametrize("kind", [Tucker, CP, TensorTrain, FullTensor])
def test_from_full_leaves_its_argument_and_trains(kind: type):
    tensor = dense(2, 2)
    before = tensor.clone()
    rank = {} if kind is FullTensor else {"rank": 2}
    aggregator = kind.from_full(tensor, **rank)
    h, x = data(aggregator)
    aggregated(aggregator, 0, h, x).sum().backward()
    torch.optim.SGD(aggregator.parameters(), lr=1.0).step()
    assert torch.equal(tensor, before)
    assert all(p.grad is not None for p in aggregator.parameters())


def test_from_full_of_a_matrix():
    with pytest.raises(ValueError, match="a full tensor has shape"):
        FullTensor.from_full(torch.ones(2, 2))


def test_several_starts_find_what_one_does_not():
    """Alternating least squares may end in a valley of its own."""
    torch.manual_seed(0)
    source = CP(5, 3, 2, gates=3, rank=4).double()
    for parameter in source.parameters():
        parameter.data.normal_()
    source.bias.data.zero_()
    tensor = source.to_full().detach()
    assert error(CP.from_full(tensor, 4, starts=1), tensor) > 0.01 * tensor.norm()
    assert error(CP.from_full(tensor, 4), tensor) < 1e-6 * tensor.norm()


def test_starts_of_which_there_are_none():
    with pytest.raises(
        ValueError, match=r"^The 'starts' parameter of CP\.from_full must be an int"
    ):
        CP.from_full(dense(2, 2), 2, starts=0)
