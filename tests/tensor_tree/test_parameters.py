"""Shapes and numbers of parameters, as documented and as the paper counts them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest
import torch
from aggregators import every_aggregator
from configurations import (
    AGGREGATORS,
    Configuration,
    both_backends,
    every_configuration,
    forest_for,
)
from torch import nn

from structnet.tensor_tree import AGGREGATORS as KINDS
from structnet.tensor_tree import CP, ChildSum, FullTensor, TreeLSTM, Tucker, count_aggregation

SHAPES = {  # T types 2, L 3, c 4, G 5, input 6, r 2
    "sum": {"weight": (6, 4, 20), "bias": (2, 20), "input_weight": (2, 6, 20)},
    "child-sum": {"weight": (2, 4, 20), "bias": (2, 20), "input_weight": (2, 6, 20)},
    "full": {"tensor": (2, 7, 5, 5, 5, 20)},
    "tucker": {
        "modes": (6, 4, 10),
        "input_modes": (2, 6, 10),
        "core": (2, 5, 3, 3, 3, 3, 2),
        "output": (2, 5, 2, 4),
        "bias": (2, 5, 4),
    },
    "cp": {
        "factors": (6, 4, 10),
        "ones": (6, 10),
        "input_factors": (2, 6, 10),
        "input_ones": (2, 10),
        "output": (2, 5, 2, 4),
        "bias": (2, 5, 4),
    },
    "tensor-train": {
        "cores": (6, 4, 20),
        "ones": (6, 20),
        "input_cores": (2, 6, 20),
        "input_ones": (2, 20),
        "start": (2, 5, 2),
        "output": (2, 5, 2, 4),
        "bias": (2, 5, 4),
    },
}


def test_every_aggregator_has_a_name_of_its_own_and_parameters_of_known_shapes():
    assert list(KINDS) == [kind.name for kind in KINDS.values()] == list(SHAPES)


@every_aggregator
def test_parameter_shapes(name: str):
    aggregator = AGGREGATORS[name](4, 3, 2, gates=5, input_size=6)
    found = {key: tuple(p.shape) for key, p in aggregator.named_parameters()}
    assert found == SHAPES[name]
    assert tuple(aggregator.to_full().shape) == (2, 5, 7, 5, 5, 5, 4)
    without = AGGREGATORS[name](4, 3, 2, gates=5)
    assert not any(key.startswith("input") for key, _ in without.named_parameters())
    assert tuple(without.to_full().shape) == (2, 5, 5, 5, 5, 4)
    assert f"{type(aggregator).__name__}(hidden_size=4, arity=3, num_types=2, gates=5" in repr(
        aggregator
    )


PAPER = [  # kind, L, c, r, count
    *[("full", 2, c, None, n) for c, n in ((3, 48), (5, 180), (10, 1210), (20, 8820))],
    *[("full", 2, c, None, n) for c, n in ((50, 130050), (100, 1020100))],
    *[("sum", 2, c, None, n) for c, n in ((3, 18), (5, 50), (10, 200), (20, 800))],
    *[("sum", 2, c, None, n) for c, n in ((50, 5000), (100, 20000))],
    *[("tucker", 2, c, r, n) for c, r, n in ((10, 7, 588), (20, 15, 4440))],
    *[("tucker", 2, c, r, n) for c, r, n in ((50, 30, 31830), (100, 20, 12820))],
    *[("full", 5, c, None, n) for c, n in ((3, 3072), (5, 38880), (7, 229376))],
    *[("sum", 5, c, None, n) for c, n in ((25, 3125), (88, 38720), (214, 228980))],
    *[("tucker", 5, c, 3, n) for c, n in ((10, 3222), (20, 3372), (50, 3822))],
]


@pytest.mark.parametrize(("kind", "arity", "c", "rank", "count"), PAPER)
def test_counts_of_the_paper(kind: str, arity: int, c: int, rank: int | None, count: int):
    assert count_aggregation(kind, c, arity, rank) == count


@pytest.mark.parametrize(("c", "arity", "rank"), [(4, 3, 2), (7, 2, 5), (1, 1, 1), (3, 5, 3)])
@every_aggregator
def test_full_counts_are_numbers_of_parameters(name: str, c: int, arity: int, rank: int):
    kind = AGGREGATORS[name]
    ranked = isinstance(kind, partial)
    kind = partial(kind.func, rank=rank) if ranked else kind
    aggregator = kind(c, arity, 1, gates=1)
    parameters = dict(aggregator.named_parameters())
    count = partial(count_aggregation, name, c, arity, rank if ranked else None)
    assert count(output=True) == sum(p.numel() for p in parameters.values())
    several = kind(c, arity, 1, gates=4)
    counted = several.count(c, arity, rank if ranked else None, gates=4, output=True)
    assert counted == sum(p.numel() for p in several.parameters())
    if name != "full":
        inner = [p.numel() for key, p in parameters.items() if key not in ("output", "bias")]
        assert count() == sum(inner)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("tree", 3, 2),
            "kind must be one of sum, child-sum, full, tucker, cp, tensor-train; got 'tree'",
        ),
        (("tucker", 3, 2), "tucker needs a rank; got None"),
        (("sum", 3, 2, 4), "sum has no rank; got 4"),
    ],
)
def test_counts_that_make_no_sense(arguments: tuple, message: str):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        count_aggregation(*arguments)


@both_backends
@every_configuration
def test_a_parameter_of_another_shape_is_refused(configuration: Configuration, backend: str):
    """Broadcast by torch, read out of bounds by compiled loops: neither."""
    forest = forest_for(configuration, 0)
    for path, _ in configuration.model().named_parameters():
        if path == "embedding.weight":  # torch looks up rows of it, and multiplies
            continue
        holder, _, name = path.rpartition(".")
        for change in (lambda p: p[:1], lambda p: torch.cat([p, p]), lambda p: p[..., :1]):
            model = configuration.model()
            owner = model.get_submodule(holder)
            was = getattr(owner, name)
            now = change(was.detach())
            if now.shape == was.shape:
                continue
            setattr(owner, name, nn.Parameter(now))
            message = (
                f"{name!r} of {type(owner).__name__} must have shape {list(was.shape)}; "
                f"got {list(now.shape)}"
            )
            with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
                model(forest, backend=backend)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tucker(4, 64, 1, rank=1), "a Tucker of these sizes, of whose parameters 'core'"),
        (
            lambda: FullTensor(50, 20, 1),
            "a FullTensor of these sizes, of whose parameters 'tensor'",
        ),
        (lambda: CP(10**9, 9, 9), "a CP of these sizes, of whose parameters 'factors'"),
        (
            lambda: TreeLSTM(10**7, 1, 1, torch.eye(1), ChildSum),
            "a ChildSum of these sizes, of whose parameters 'weight'",
        ),
    ],
)
def test_what_fits_in_no_memory_is_refused_before_it_is_made(make: Callable, message: str):
    size = r"([\d,]+|more than a million) GiB"
    tail = f" is the largest, needs {size} of memory; this machine has [\\d,.]+ GiB"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}{tail}$"):
        make()
