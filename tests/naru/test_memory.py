"""Networks whose bundles remember: they read themselves, and of the others who elected them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from naru_networks import BACKENDS, LENGTHS, sentences
from reference import naru as reference

from structnet import CheckpointError
from structnet.naru import (
    NaruSettings,
    NextWord,
    RoutedLanguageModel,
    RoutedNetwork,
    RoutingStats,
    Wiring,
    message_passing,
)
from structnet.naru.balance import imbalance

every_backend = pytest.mark.parametrize("backend", BACKENDS)
MEMORIES = [(), (1,), (0, 1, 2, 3)]
every_memory = pytest.mark.parametrize("memory", MEMORIES, ids=str)
TEXT = ["the cat sees the dog .", "a dog sees the cat .", "the owl hears a cat ."] * 20


def remembering(memory: tuple[int, ...], **options) -> RoutedNetwork:
    torch.manual_seed(0)
    wiring = Wiring((1, 3, 4, 1), (3, 4, 5, 2), max_cone=3, memory=memory)
    network = RoutedNetwork(wiring, **options).double()
    with torch.no_grad():  # so that gates and weights differ, and choices vary
        for name, parameter in network.named_parameters():
            if "bundles" in name or "common" in name:
                parameter.normal_(0, 3 if "gate" in name else 1)
    return network


@every_backend
@every_memory
def test_a_batch_is_one_word_after_the_other(backend: str, memory: tuple[int, ...]) -> None:
    network, x = remembering(memory), sentences()
    routed = network.route(x, LENGTHS, backend)
    chosen = set()
    for i, length in enumerate(LENGTHS.tolist()):
        predictions, paths = reference.remembering(network, x[i, :length])
        ours = routed.predictions[i, : max(length - 1, 0)].detach().numpy()
        assert ours == pytest.approx(predictions[: max(length - 1, 0)].reshape(-1, 2), abs=1e-10)
        for k, path in enumerate(paths.tolist()):
            found = [int(routed.record[i, k + p, p]) for p in range(4 if k < length - 1 else 3)]
            assert found == path[: len(found)]
            chosen.add(tuple(path))
    assert len(chosen) > 5


def loss_of(network: RoutedNetwork, x: torch.Tensor, backend: str) -> torch.Tensor:
    """A number that depends on every prediction and every gate, each in its own way."""
    torch.manual_seed(3)
    routed = network.route(x, LENGTHS, backend)
    both = routed.predictions.square(), *routed.gates
    return sum((each * torch.randn_like(each)).sum() for each in both) + imbalance(network, routed)


@every_memory
@pytest.mark.parametrize("gate_noise", [0.0, 0.5])
def test_the_sweep_goes_back_as_autograd_does(memory: tuple[int, ...], gate_noise: float) -> None:
    found = []
    for backend in BACKENDS:
        network, x = remembering(memory, gate_noise=gate_noise), sentences().requires_grad_()
        loss_of(network, x, backend).backward()
        grads = [x.grad, *(each.grad for each in network.parameters())]
        found.append([torch.zeros(()) if grad is None else grad for grad in grads])
    assert sum(bool(grad.any()) for grad in found[0]) > 20
    for swept, plain in zip(*found, strict=True):
        torch.testing.assert_close(swept + 0 * plain, plain + 0 * swept, rtol=1e-9, atol=1e-11)


def test_gradcheck() -> None:
    torch.manual_seed(3)
    network = RoutedNetwork(Wiring((1, 2, 2, 1), (2, 3, 2, 2), memory=(1, 2))).double()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "gate" in name:
                parameter.normal_()
    x = torch.randn(3, 5, 2, dtype=torch.float64, requires_grad=True)
    used = [each for each in network.parameters() if each.numel()]

    def function(x: torch.Tensor, *parameters: torch.Tensor) -> tuple[torch.Tensor, ...]:
        routed = network.route(x, torch.tensor([5, 2, 4]))
        return routed.predictions, *routed.gates[1:]  # the first bundle reads nothing

    assert torch.autograd.gradcheck(function, (x, *used), atol=1e-6)


@every_backend
def test_a_word_has_a_say_in_its_own_path(backend: str) -> None:
    network, x = remembering((1,)), sentences(lengths=torch.full((30,), 9))
    other = x.clone()
    other[:, 4] = sentences(lengths=torch.full((30,), 9))[:, 5]
    records = [network.route(each, backend=backend).record for each in (x, other)]
    for token, differs in ((3, False), (4, True)):
        paths = [torch.stack([record[:, token + p, p] for p in range(4)]) for record in records]
        assert torch.equal(*paths) != differs


@pytest.mark.parametrize(("memory", "heard"), [((), False), ((1,), True)])
def test_words_before_are_heard_by_memory_alone(memory: tuple[int, ...], heard: bool) -> None:
    torch.manual_seed(0)
    network = RoutedNetwork(Wiring((1, 1, 1, 1), (3, 4, 5, 2), memory=memory)).double()
    x = sentences(lengths=torch.tensor([8]))
    other = x.clone()
    other[0, 3] += 0.5
    changed = (network(x) != network(other)).any(2)[0].tolist()
    assert changed == [False] * 3 + [True] + [heard] * 3


def test_dgl_takes_the_same_steps() -> None:
    network, x = remembering((1, 3), input_layer=False), sentences()[3]
    predictions, paths = reference.remembering(network, x)
    graph, wiring = network.graph, network.wiring
    assert graph.num_edges() == wiring.num_connections == 3 + 9 + 3 + 4 + 1
    states = [torch.zeros(n, d).double() for n, d in zip(wiring.sizes, wiring.dims, strict=True)]
    active, electors, record, found = [0, -1, -1, -1], [-1] * 4, [], []
    for step in range(len(x) + 2):
        record.append(active)
        token, here = x[step] if step < len(x) else None, active[-1] >= 0
        states, following = message_passing.step(graph, states, active, token, electors)
        found += [states[-1][0].detach().numpy()] * here
        active, electors = [0 if step + 1 < len(x) else -1, *following[1:]], active
    assert [[record[k + p][p] for p in range(4)] for k in range(len(x) - 1)] == paths[:-1].tolist()
    assert np.array(found) == pytest.approx(predictions[:-1], abs=1e-10)


def test_new_networks_spread_the_words() -> None:
    torch.manual_seed(0)
    network = RoutedNetwork(Wiring((1, 1, 6, 1), (50, 128, 64, 50), memory=(1,)))
    routed = network.route(torch.randn(40, 20, 50))
    sizes = routed.predictions.detach().square().mean((0, 2)).sqrt()
    assert sizes.min() > 0.03 and sizes.max() < 3
    share = torch.bincount(routed.record[..., 2][routed.record[..., 2] >= 0], minlength=6) / 800
    assert share.max() < 0.5 and (share > 0.02).sum() >= 4


def test_what_one_path_learns_is_known_to_all() -> None:
    network, x = remembering((1,)), sentences()[:1, :2]
    routed = network.route(x)
    routed.predictions.sum().backward()
    visited = set(routed.record[0, :, 1].tolist())
    idle = [bundle for b, bundle in enumerate(network.bundles[1]) if b not in visited]
    assert idle and all(bundle.weight.grad is None for bundle in idle)
    assert network.common["1"].grad.any()
    network.freeze_path([0, max(visited), 0, 0])
    assert not network.common["1"].requires_grad and idle[0].weight.requires_grad


def test_balance_is_pulled_at_through_the_gates() -> None:
    network = remembering((1,))
    value = imbalance(network, network.route(sentences(), LENGTHS))
    assert value > 1
    value.backward()
    assert network.bundles[1][0].read_gate.grad.abs().max() > 0
    even = RoutedNetwork(Wiring((1, 1, 1), (3, 4, 3), memory=(1,)))
    assert imbalance(even, even.route(torch.randn(2, 5, 3))) == 1


@pytest.mark.parametrize("memory", [(4,), (1, 1), (-1,), "1", 1, (0.5,)])
def test_capsules_that_are_not_there_do_not_remember(memory: object) -> None:
    with pytest.raises(ValueError, match="'memory' parameter of Wiring must be"):
        Wiring((1, 3, 4, 1), (3, 4, 5, 2), memory=memory)


def test_a_model_that_remembers_is_saved(tmp_path: Path) -> None:
    small = {"dims": (8, 5), "vector_size": 6, "epochs": 1, "random_state": 0}
    model = RoutedLanguageModel(**small).fit(TEXT)
    assert model.memory == NaruSettings().memory == (1,)
    model.save(tmp_path / "model")
    again = RoutedLanguageModel.load(tmp_path / "model")
    assert again.memory == (1,)
    np.testing.assert_array_equal(again.predict_proba(TEXT), model.predict_proba(TEXT))
    with pytest.raises(CheckpointError):
        RoutedLanguageModel.load(tmp_path / "none")
    assert isinstance(again.model_, NextWord)


@every_memory
def test_the_digraph_has_counts_but_no_gates_that_nothing_was_read_through(
    memory: tuple[int, ...],
) -> None:
    network = remembering(memory)
    routed = network.route(sentences(), LENGTHS)
    stats = RoutingStats(network.wiring.sizes)
    stats.add(routed.record, routed.gates)
    edges = network.to_networkx(stats).edges(data=True)
    assert sum(facts["count"] for *_, facts in edges) > 0
    assert not any("gate" in facts for *_, facts in edges)


def test_what_is_not_a_sequence_is_refused_in_one_sentence() -> None:
    with pytest.raises((ValueError, TypeError), match="memory"):
        RoutedLanguageModel(memory=1).fit(TEXT)
    bundle = remembering((1,)).capsule(2)[0]
    with pytest.raises(IndexError):
        bundle.connection(len(bundle.reads))
