"""Samples that take one branch at each level, against walks written as loops."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from forests import exactly
from hypothesis import given
from hypothesis import strategies as st
from paths import FIVE, permuted, route, walk
from tree_shapes import numbered, shapes, turned

from structnet.routing.dgl_backend import hard_route
from structnet.routing.hard_path import follow
from structnet.routing.topology import Topology

both_ways = pytest.mark.parametrize("way", [route, hard_route])


@given(shapes, st.integers(0, 1000))
def test_hard_routes_on_graphs(shape: tuple, seed: int) -> None:
    rng = random.Random(seed)
    children = turned(numbered(shape, rng), rng)
    # What stands at leaves is not read.
    draws = [[rng.randrange(len(each)) if each else 99 for each in children] for _ in range(6)]
    found = route(permuted(children, rng), torch.tensor(draws))
    assert found.dtype == torch.int64
    assert found.tolist() == [walk(children, place) for place in draws]
    assert torch.equal(hard_route(Topology(children), torch.tensor(draws)), found)


def test_routes_of_no_samples_and_through_one_node() -> None:
    assert route(FIVE, torch.zeros(0, 5, dtype=torch.int64)).shape == (0,)
    assert route(Topology([()]), torch.full((3, 1), 7)).tolist() == [0, 0, 0]


@both_ways
@pytest.mark.parametrize("place", [2, -1, -7, 99])
def test_places_in_which_there_is_no_child(place: int, way: Callable) -> None:
    places = torch.tensor([[0] * 5, [1, 9, place, 9, 9]])
    message = f"sample 1 goes to place {place} from node 2, which has 2 children"
    with pytest.raises(ValueError, match=exactly(message)):
        way(FIVE, places)


def test_a_place_that_only_wider_nodes_have() -> None:
    topology = Topology([(1, 2, 3), (4,), (), (), ()])
    with pytest.raises(ValueError, match="sample 0 goes to place 1 from node 1, which has 1 child"):
        route(topology, torch.tensor([[0, 1, 0, 0, 0]]))


@both_ways
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int32])
def test_places_of_other_whole_numbers(dtype: torch.dtype, way: Callable) -> None:
    assert way(FIVE, torch.tensor([[0] * 5, [1] * 5], dtype=dtype)).tolist() == [1, 4]


@pytest.mark.parametrize(
    ("values", "places", "message"),
    [
        (3, torch.zeros(1).long(), "a step returns places [3] of int64 .* node 0. Got [1] of"),
        (3, torch.zeros(3, 1).long(), "a step returns places [3] of int64 .* Got [3, 1] of"),
        (3, torch.zeros(3), "a step returns places [3] of int64 .* Got [3] of torch.float32."),
        (1, None, "a step returns one value for each of the 3 samples at node 0. Got 1."),
    ],
)
def test_a_step_answers_for_each_sample(values: int, places, message: str) -> None:
    pattern = message.replace("[", r"\[").replace("]", r"\]")
    with pytest.raises(ValueError, match=pattern):
        follow(FIVE, torch.arange(3), lambda node, rows, x: (x[:values], places))
