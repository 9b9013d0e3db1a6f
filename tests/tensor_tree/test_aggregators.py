"""Aggregators: each against its dense tensor, in value and gradient; shapes, counts, from_full."""

from __future__ import annotations

import re

import pytest
import torch
from aggregators import aggregated, contracted, data, every_aggregator, made, with_and_without_input
from forests import exactly
from sentences import no_int

from structnet.tensor_tree import (
    CP,
    ChildSum,
    FullTensor,
    TensorTrain,
    Tucker,
    WeightedSum,
)


@with_and_without_input
@every_aggregator
def test_dense_twin_in_value_and_gradient(name: str, input_size: int):
    aggregator = made(name, input_size)
    h, x = data(aggregator)
    inputs = [h, *([] if x is None else [x]), *aggregator.parameters()]
    for tensor in inputs:
        tensor.requires_grad_()
    for t in range(aggregator.num_types):
        ours = aggregated(aggregator, t, h, x)
        theirs = contracted(aggregator, t, h, x)
        assert ours.shape == (5, 2, 3)
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
        weight = torch.randn_like(ours)
        torch.testing.assert_close(
            torch.autograd.grad((ours * weight).sum(), inputs),
            torch.autograd.grad((theirs * weight).sum(), inputs),
            rtol=1e-10,
            atol=1e-10,
        )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tucker(0, 2, 1), no_int("hidden_size", "Tucker", 1, "0")),
        (lambda: CP(2, 0, 1), no_int("arity", "CP", 1, "0")),
        (lambda: FullTensor(2, 2, -1), no_int("num_types", "FullTensor", 0, "-1")),
        (lambda: WeightedSum(2, 2, 1, gates=0), no_int("gates", "WeightedSum", 1, "0")),
        (
            lambda: ChildSum(2, 2, 1, input_size=-1),
            no_int("input_size", "ChildSum", 0, "-1"),
        ),
        (lambda: WeightedSum(2.0, 2, 1), no_int("hidden_size", "WeightedSum", 1, "2.0")),
        (lambda: Tucker(2, 2, 1, rank=0), no_int("rank", "Tucker", 1, "0")),
        (lambda: CP(2, 2, 1, rank=1.5), no_int("rank", "CP", 1, "1.5")),
        (
            lambda: TensorTrain(2, 2, 1, rank="3"),
            no_int("rank", "TensorTrain", 1, "'3'"),
        ),
        (
            lambda: FullTensor.from_full(torch.ones(1, 1, 3, 3, 4)),
            "a full tensor has shape [num_types, gates, (input_size + 1,) (c + 1) a child, c]; "
            "got [1, 1, 3, 3, 4] with input_size=0",
        ),
        (
            lambda: Tucker.from_full(torch.ones(1, 1, 3, 3, 2), rank=2, input_size=4),
            "a full tensor has shape [num_types, gates, (input_size + 1,) (c + 1) a child, c]; "
            "got [1, 1, 3, 3, 2] with input_size=4",
        ),
    ],
)
def test_arguments_out_of_range(make, message: str):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()


def test_a_bool_is_no_size():
    with pytest.raises(ValueError, match=exactly(no_int("hidden_size", "Tucker", 1, "True"))):
        Tucker(True, 2, 1)


def test_a_numpy_integer_is_a_size():
    import numpy as np

    assert Tucker(np.int64(3), 2, 1).hidden_size == 3
