"""Equations by hand, the golden trace, and the rules of the dynamics."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from naru_networks import BACKENDS, LENGTHS, SMALL, sentences, small
from reference import naru as reference
from torch import Tensor

from structnet.naru import Bundle, RoutedNetwork, Wiring

every_backend = pytest.mark.parametrize("backend", BACKENDS)


def golden() -> RoutedNetwork:
    """The network of the golden trace, whose parameters follow one formula."""
    network = RoutedNetwork(Wiring((1, 2, 2, 1), (2, 2, 2, 2), max_cone=2)).double()
    k = 2  # the input layer's are 0 and 1
    with torch.no_grad():
        network.input_layer.weight.copy_(torch.eye(2))
        network.input_layer.bias.zero_()
        for bundle in (bundle for bundles in network.bundles for bundle in bundles):
            for c in range(len(bundle.reads)):
                for part in bundle.connection(c):
                    i = torch.arange(part.numel())
                    part.copy_((((5 * k**2 + 7 * k + 3 * i) % 11 - 5) / 2).reshape(part.shape))
                    k += 1
    return network


def test_equations_by_hand() -> None:
    b, h = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    W, w_gb, w_gh = np.array([[1, 0], [0.5, -1]]), np.array([0.2, -0.1]), np.array([0.4, 0.3])
    g, c = reference.connection(h, b, W, w_gb, w_gh)
    assert g == pytest.approx(0.4875026035157896, abs=1e-15)
    assert c == pytest.approx([0.9750052070315792, -0.9750052070315792], abs=1e-15)
    bundle = reference.mish((c + np.array([-1, 1])) / 2)
    assert bundle == pytest.approx([-0.007448428604721268, 0.007548384715148256], abs=1e-15)


@every_backend
def test_golden_trace(backend: str) -> None:
    tokens = [(1, -0.5), (0.25, 2), (-1, 0.75), (2, 1), (-0.5, -1.5)]
    x = torch.tensor([tokens], dtype=torch.float64)
    routed = golden().route(x, backend=backend)
    none = -1
    assert routed.record[0].tolist() == [
        [0, none, none, none],
        [0, 0, none, none],
        [0, 0, 0, none],
        [0, 0, 1, 0],
        [0, 1, 1, 0],
        [none, 0, 1, 0],
        [none, none, 0, 0],
    ]
    expected = [
        (0.0109310839, 0.0176893511),
        (0.0234197085, 0.0214818413),
        (0.0175027946, 0.0247487763),
        (0.0078481681, 0.0172514964),
    ]
    found = routed.predictions[0].detach().numpy()
    assert found == pytest.approx(np.array(expected), abs=1e-9)


@every_backend
@pytest.mark.parametrize("input_layer", [True, False])
def test_a_batch_is_the_paper_one_sentence_at_a_time(backend: str, input_layer: bool) -> None:
    network, x = small(input_layer=input_layer), sentences()
    assert (network.input_layer is not None) == input_layer
    routed = network.route(x, LENGTHS, backend)
    chosen = set()
    for i, length in enumerate(LENGTHS.tolist()):
        predictions, record, _ = reference.sentence(network, x[i, :length])
        steps = len(record)
        assert np.array_equal(routed.record[i, :steps], record.reshape(steps, SMALL.depth))
        assert (routed.record[i, steps:] == -1).all()
        ours = routed.predictions[i].detach().numpy()
        assert ours[: len(predictions)] == pytest.approx(predictions, abs=1e-10)
        assert not ours[len(predictions) :].any()
        chosen |= {tuple(step) for step in record.tolist()}
    assert len(chosen) > 10  # the paths do differ


def test_the_order_of_the_capsules_is_irrelevant() -> None:
    network, x = small(), sentences()[3]
    for one, other in zip(
        reference.sentence(network, x), reference.sentence(network, x, reverse=True), strict=True
    ):
        for a, b in zip(one, other, strict=True):
            assert all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))


def test_only_active_states_change() -> None:
    network, x = small(), sentences()[3]
    _, record, history = reference.sentence(network, x)
    before = [np.zeros_like(each) for each in history[0]]
    for active, after in zip(record, history, strict=True):
        for p, (old, new) in enumerate(zip(before, after, strict=True)):
            changed = (old != new).any(1).nonzero()[0]
            assert set(changed) <= {active[p]} - {-1}
        before = after


def test_the_first_of_the_largest_gates_is_elected() -> None:
    network, x = small(), sentences()
    routed, lengths = network.route(x, LENGTHS), LENGTHS.tolist()
    for i, length in enumerate(lengths):
        for p in range(SMALL.depth - 2):  # the last but one has no choice
            for k in range(length):
                a = routed.record[i, k + p, p]
                targets = SMALL.routes_of(p, a)
                gates = routed.gates[p][i, k + p, : len(targets)].detach().numpy()
                assert routed.record[i, k + p + 1, p + 1] == targets[gates.argmax()]


@every_backend
def test_a_path_depends_on_the_tokens_before_it(backend: str) -> None:
    network, x = small(), sentences(lengths=torch.full((30,), 9))
    other = x.clone()
    other[:, 4] = sentences(lengths=torch.full((30,), 9))[:, 5]
    records = [network.route(each, backend=backend).record for each in (x, other)]
    for token, differs in ((4, False), (5, True)):
        paths = [
            torch.stack([record[:, token + p, p] for p in range(SMALL.depth)]) for record in records
        ]
        assert torch.equal(*paths) != differs


def test_ties_go_to_the_first_route() -> None:
    wiring = Wiring((1, 3, 1), (2, 2, 2), targets=[[(2, 0, 1)], [(0,)] * 3])
    network = RoutedNetwork(wiring)
    for bundle in network.bundles[0]:
        torch.nn.init.zeros_(bundle.own_gate)
        torch.nn.init.zeros_(bundle.read_gate)
    record = network.route(torch.randn(1, 4, 2)).record
    assert record[0, 1:5, 1].tolist() == [2] * 4


@every_backend
def test_noise_changes_elections_in_training_alone(backend: str) -> None:
    changed = []
    for noise in (1e-9, 0.1, 100.0):
        network, x = small(gate_noise=noise), sentences(lengths=torch.full((30,), 9))
        plain = network.eval().route(x, backend=backend).record
        assert torch.equal(network.route(x, backend=backend).record, plain)
        torch.manual_seed(0)
        noisy = network.train().route(x, backend=backend).record
        changed.append((noisy != plain).double().mean().item())
        torch.manual_seed(0)
        [other] = {*BACKENDS} - {backend}
        assert torch.equal(network.route(x, backend=other).record, noisy)
    assert 0 < changed[0] < changed[1] < changed[2]  # the least decides ties
    elected = torch.bincount(noisy[:, 2:10, 2].flatten(), minlength=4)  # almost by chance
    assert elected.min() > 0.5 * elected.double().mean()


@every_backend
def test_noise_is_in_elections_alone(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is the same for all gates changes no election, and nothing that is read."""
    network, x = small(gate_noise=1.0), sentences()
    plain = network.eval().route(x, LENGTHS, backend)
    monkeypatch.setattr(
        torch, "randn", lambda *size: torch.arange(1.0, 1 + size[0])[:, None].expand(size)
    )
    noisy = network.train().route(x, LENGTHS, backend)
    assert torch.equal(noisy.record, plain.record)
    assert torch.equal(noisy.predictions, plain.predictions)
    assert all(map(torch.equal, noisy.gates, plain.gates))


@pytest.mark.parametrize("k", [0, 3, 6])
def test_a_token_first_changes_its_own_prediction(k: int) -> None:
    network, x = small(), sentences(lengths=torch.tensor([8]))
    other = x.clone()
    other[0, k] += 0.5
    ours, theirs = network(x)[0], network(other)[0]
    assert torch.equal(ours[:k], theirs[:k])
    assert not torch.isclose(ours[k], theirs[k], rtol=1e-14, atol=0).any()


def test_the_last_token_changes_nothing() -> None:
    network, x = small(), sentences(lengths=torch.tensor([8]))
    other = x.clone()
    other[0, 7] += 5
    assert torch.equal(network(x), network(other))


@every_backend
@pytest.mark.parametrize(("shape", "expected"), [((2, 1, 3), (2, 0, 2)), ((0, 5, 3), (0, 4, 2))])
def test_nothing_to_predict(backend: str, shape: tuple, expected: tuple) -> None:
    network = small()
    routed = network.route(torch.randn(shape, dtype=torch.float64), backend=backend)
    assert routed.predictions.shape == expected
    tokens = shape[0] * shape[1]
    assert (routed.record >= 0).sum() == max(SMALL.depth * tokens - shape[0], 0) * (shape[1] == 1)
    loss = routed.predictions.sum()
    if loss.requires_grad:
        loss.backward()  # goes nowhere, and fails not


def test_steps_and_evaluations() -> None:
    for tokens in (1, 2, 9):
        record = small().route(sentences(lengths=torch.tensor([tokens]))).record
        assert record.shape[1] == tokens + SMALL.depth - 2
        assert (record >= 0).sum() == SMALL.depth * tokens - 1


def test_padding_and_companions_change_nothing() -> None:
    network, x = small(), sentences()
    expected = network(x, LENGTHS)
    padded = x.clone()
    for i, length in enumerate(LENGTHS.tolist()):
        padded[i, length:] = torch.nan
    assert torch.equal(network(padded, LENGTHS), expected)
    order = torch.tensor([3, 6, 0, 5, 2, 1, 4])
    turned = network(x[order], LENGTHS[order])
    torch.testing.assert_close(turned, expected[order], rtol=0, atol=1e-10)
    for i, length in enumerate(LENGTHS.tolist()):
        alone = network(x[i : i + 1, :length])[0]
        torch.testing.assert_close(alone, expected[i, : max(length - 1, 0)], rtol=0, atol=1e-10)


def test_sentences_of_1_to_60_tokens() -> None:
    lengths = torch.arange(1, 61)[torch.randperm(60)]
    network, x = small(), sentences(lengths=lengths)
    swept, plain = (network.route(x, lengths, backend) for backend in BACKENDS)
    assert torch.equal(swept.record, plain.record)
    torch.testing.assert_close(swept.predictions, plain.predictions, rtol=0, atol=1e-10)


def test_idle_bundles_cost_nothing() -> None:
    network, x = small(), sentences()
    few = network.route(x[:1, :2])
    with torch.no_grad():
        idle = 0
        for p, bundles in enumerate(network.bundles):
            for a, bundle in enumerate(bundles):
                if not (few.record[:, :, p] == a).any():
                    idle += 1
                    for parameter in bundle.parameters():
                        parameter.fill_(torch.nan)
    assert idle >= 3
    assert torch.equal(network(x[:1, :2]), few.predictions)


def test_table_2() -> None:
    network = RoutedNetwork()
    wiring = network.wiring
    assert wiring.num_connections == 600
    assert sum(parameter.numel() for parameter in network.parameters()) == 6_592_614
    assert wiring.multiply_adds == 588_904
    routes = [len(wiring.routes_of(p, 0)) for p in range(7)]
    assert routes == [6, 6, 6, 6, 6, 1, 0]
    assert [{len(each) for each in wiring.sources[p]} for p in range(7)] == [
        {0}, {1}, {3}, {4}, {9}, {12}, {6}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("x", "lengths", "said"),
    [
        (torch.zeros(2, 3), None, r"x must be \[sentences, tokens, 3\]. Got \[2, 3\]"),
        (torch.zeros(2, 3, 4), None, "Got \\[2, 3, 4\\]"),
        (torch.zeros(2, 3, 3).half(), None, "must have torch.float64, like the network"),
        (torch.zeros(2, 3, 3).double(), torch.tensor([1]), "2 whole numbers, one per sentence"),
        (torch.zeros(2, 3, 3).double(), torch.tensor([1, 4]), "from 0 to 3, .* Got 1 to 4"),
        (torch.zeros(2, 3, 3).double(), torch.tensor([1.0, 2]), "whole numbers"),
    ],
)
def test_what_does_not_fit_is_refused(x: Tensor, lengths: Tensor | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        small()(x, lengths)


def test_a_bundle_draws_weights_that_keep_the_size_of_states() -> None:
    bundle = Bundle(300, [200, 200])
    W, w_gb, w_gh = bundle.connection(0)
    assert W.std().item() == pytest.approx(2 * 2 / 200**0.5, rel=0.05)
    assert (w_gb > 0).all() and not w_gh.any()


def test_states_neither_vanish_nor_explode() -> None:
    torch.manual_seed(0)
    network = RoutedNetwork(Wiring(dims=(50, 25, 34, 43, 34, 25, 50)))
    x = torch.randn(20, 60, 50)
    sizes = network(x).detach().square().mean((0, 2)).sqrt()  # by token
    assert sizes[5:].min() > 0.03 and sizes.max() < 3
    assert len({tuple(step) for step in network.route(x).record[:, 30].tolist()}) > 10


@every_backend
def test_autocast_changes_nothing(backend: str) -> None:
    network, x, lengths = small().float(), sentences().float(), LENGTHS
    plain = network.route(x, lengths, backend)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = network.route(x, lengths, backend)
        half = network.route(x.bfloat16(), lengths, backend)
    assert torch.equal(plain.predictions, cast.predictions)
    assert torch.equal(plain.record, cast.record)
    assert half.predictions.dtype == plain.predictions.dtype


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_takes_the_way_of_accelerators(dtype: torch.dtype) -> None:
    network, x = small().to(dtype), sentences().to(dtype)
    found = network(x, LENGTHS)
    assert found.dtype == dtype and torch.equal(found, network(x, LENGTHS, backend="autograd"))
    found.float().sum().backward()
    assert network.bundles[0][0].weight.grad.isfinite().all()
