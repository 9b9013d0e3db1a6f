"""For which models there are kernels for a GPU."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from structnet.tensor_tree import (
    CP,
    ChildSum,
    FullTensor,
    TensorTrain,
    TreeLSTM,
    Tucker,
    WeightedSum,
)
from structnet.tensor_tree.aggregators.base import Aggregator
from structnet.tensor_tree.gpu.sizes import sizes_of, why_no_kernels


def aggregator(kind, arity: int = 3, hidden_size: int = 5, num_types: int = 2, **how) -> Aggregator:
    return TreeLSTM(hidden_size, num_types, arity, torch.eye(3), kind, **how).aggregator


@pytest.mark.parametrize(
    ("given", "rank", "left", "right"),
    [
        ((WeightedSum, 200, 64), 1, 16, 16),
        ((ChildSum, 200, 64), 1, 16, 16),
        ((partial(Tucker, rank=3), 5, 20), 3, 64, 16),
        ((partial(Tucker, rank=20), 2, 100), 20, 32, 32),
        ((partial(CP, rank=40), 5, 20), 1, 16, 16),
        ((FullTensor, 5, 5), 5, 64, 64),  # of 6^3 and 6^2
    ],
)
def test_sizes(given: tuple, rank: int, left: int, right: int):
    a = aggregator(*given)
    assert why_no_kernels(a, "child") == ""
    sizes = sizes_of(a)
    assert (rank, left, right) == (sizes.RANK, sizes.LEFT, sizes.RIGHT)
    assert sizes.slots >= rank * -(-sizes.ARITY // 2)


@pytest.mark.parametrize(
    ("given", "forget", "reason"),
    [
        ((TensorTrain,), "child", "TensorTrain has no kernels"),
        ((WeightedSum,), "all", "forget='all' has no kernels"),
        ((WeightedSum, 3, 5, 0), "child", "there are no types"),
        ((partial(CP, rank=3), 40), "child", "40 children are too many for the kernels of CP"),
        ((FullTensor, 2, 90), "child", "the cores of FullTensor are too large"),
        ((partial(Tucker, rank=1), 14), "child", "the cores of Tucker are too large"),
    ],
)
def test_other_models_are_left_to_the_general_path(given: tuple, forget: str, reason: str):
    assert reason in why_no_kernels(aggregator(*given, forget=forget), forget)
