"""One branch a level, against walks written as loops."""

from __future__ import annotations

import random

import pytest
import torch
from forests import exactly
from hypothesis import given
from hypothesis import strategies as st
from paths import FIVE, permuted, walk
from tree_shapes import SMALL, numbered, shapes, turned

from structnet.routing.hard_path import follow, hard_route
from structnet.routing.path_log_prob import leaf_log_prob, log_prob_at
from structnet.routing.topology import Topology


@given(shapes, st.integers(0, 1000))
def test_hard_routes_on_graphs(shape: tuple, seed: int) -> None:
    rng = random.Random(seed)
    children = turned(numbered(shape, rng), rng)
    # What stands at leaves is not read.
    draws = [[rng.randrange(len(each)) if each else 99 for each in children] for _ in range(6)]
    found = hard_route(permuted(children, rng), torch.tensor(draws))
    assert found.dtype == torch.int64
    assert found.tolist() == [walk(children, place) for place in draws]


def test_the_likeliest_route_of_saturated_branches_is_the_likeliest_leaf() -> None:
    rng = random.Random(0)
    for shape in SMALL:
        children = numbered(shape, rng)
        place = torch.randint(0, 2, (5, len(children)))
        branches = torch.zeros(5, len(children))
        for v, each in enumerate(children):
            for j, u in enumerate(each):
                branches[:, u] = torch.where(place[:, v] == j, 0.0, -1000.0)
        topology = Topology(children)
        likeliest = leaf_log_prob(topology, branches).argmax(1)
        assert torch.equal(hard_route(topology, place), torch.tensor(topology.leaves)[likeliest])


def test_routes_of_no_samples_and_through_one_node() -> None:
    assert hard_route(FIVE, torch.zeros(0, 5, dtype=torch.int64)).shape == (0,)
    assert hard_route(Topology([()]), torch.full((3, 1), 7)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("shape", [(5,), (2, 4), (1, 2, 5)])
def test_places_of_another_shape(shape: tuple[int, ...]) -> None:
    message = "place must be [n, 5] of int64, one place for each node. Got "
    message += f"{list(shape)} of torch.int64."
    with pytest.raises(ValueError, match=exactly(message)):
        hard_route(FIVE, torch.zeros(shape, dtype=torch.int64))


@pytest.mark.parametrize("backend", ["arrays", "dgl"])
def test_places_and_nodes_are_whole_numbers(backend: str) -> None:
    with pytest.raises(ValueError, match=r"of int64, .* Got \[1, 5\] of torch.float32"):
        hard_route(FIVE, torch.zeros(1, 5), backend)
    with pytest.raises(ValueError, match=r"node \[n\] of int64\. Got .* of torch.float32"):
        log_prob_at(FIVE, torch.zeros(1, 5), torch.zeros(1), backend)


@pytest.mark.parametrize("backend", ["arrays", "dgl"])
@pytest.mark.parametrize("place", [2, -1, -7, 99])
def test_places_in_which_there_is_no_child(place: int, backend: str) -> None:
    places = torch.tensor([[0] * 5, [1, 9, place, 9, 9]])
    message = f"sample 1 goes to place {place} from node 2, which has 2 children"
    with pytest.raises(ValueError, match=exactly(message)):
        hard_route(FIVE, places, backend)


def test_a_place_that_only_wider_nodes_have() -> None:
    topology = Topology([(1, 2, 3), (4,), (), (), ()])
    with pytest.raises(ValueError, match="sample 0 goes to place 1 from node 1, which has 1 child"):
        hard_route(topology, torch.tensor([[0, 1, 0, 0, 0]]))


@pytest.mark.parametrize("backend", ["arrays", "dgl"])
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int32])
def test_places_of_other_whole_numbers(dtype: torch.dtype, backend: str) -> None:
    places = torch.tensor([[0] * 5, [1] * 5], dtype=dtype)
    assert hard_route(FIVE, places, backend).tolist() == [1, 4]


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
