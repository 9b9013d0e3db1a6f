"""Backward through a sweep: again, in part, interleaved, in other precisions, without a trace."""

from __future__ import annotations

import gc
from types import FunctionType, ModuleType

import numpy as np
import pytest
import torch
from configurations import (
    AGGREGATORS,
    CONFIGURATIONS,
    Configuration,
    assert_equal,
    every_configuration,
    forest_for,
    gradients,
    some_configurations,
    values_and_gradients,
    with_gradients,
)
from random_trees import VOCABULARY
from torch import Tensor, nn
from torch.nn.utils import prune
from torch.utils.checkpoint import checkpoint

from structnet.tensor_tree import TreeLSTM, tree_lstm
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree


@pytest.fixture(params=["compiled", "general"])
def each_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same test once by the compiled sweep, once by the path that all cells can take."""
    if request.param == "general":
        monkeypatch.setattr(tree_lstm, "covers", lambda *_: False)


by_each_path = pytest.mark.usefixtures("each_path")


@by_each_path
@some_configurations
def test_backward_twice(configuration: Configuration):
    model = configuration.model()
    h = model(forest_for(configuration, 0))
    first, second = (gradients(h.square().sum(), model) for _ in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)


@by_each_path
@some_configurations
def test_backward_of_different_losses(configuration: Configuration):
    model = configuration.model()
    forest = forest_for(configuration, 0)
    for losses in (
        lambda s: [s["h"].square().sum(), s["c"].square().sum()],
        lambda s: [s["h"][0].sum(), s["h"][1:].exp().sum(), s["c"].sum()],
    ):
        states = model.states(forest)
        ours = [gradients(loss, model) for loss in losses(states)]
        truth = [
            gradients(losses(model.states(forest, backend="dgl"))[i], model)
            for i in range(len(ours))
        ]
        torch.testing.assert_close(ours, truth, rtol=1e-10, atol=1e-10)


@by_each_path
def test_backward_in_part_and_then_in_full():
    """What a first backward left for parameters that it was not asked for is not counted twice."""
    model = TreeLSTM(4, 2, 3, torch.eye(3)).double()
    forest = forest_for(CONFIGURATIONS[0], 0)
    truth = gradients(model(forest).square().sum(), model)
    loss = model(forest).square().sum()
    for parameter in (model.leaf_bias, model.aggregator.output):
        torch.autograd.grad(loss, parameter, retain_graph=True)
    torch.testing.assert_close(gradients(loss, model), truth)


def nodes_of(tensor: Tensor) -> list[object]:
    """All nodes of the autograd graph that a tensor comes from."""
    found = {tensor.grad_fn}
    waiting = [tensor.grad_fn]
    while waiting:
        new = {node for node, _ in waiting.pop().next_functions if node is not None} - found
        found |= new
        waiting += new
    return list(found)


@every_configuration
def test_the_reference_runs_nothing_written_by_hand(configuration: Configuration):
    """Else it would check a function by that function."""
    written = torch.autograd.function.BackwardCFunction
    model, forest = configuration.model(), forest_for(configuration, 0)
    assert any(isinstance(node, written) for node in nodes_of(model(forest).sum()))
    reference = nodes_of(model(forest, backend="dgl").sum())
    assert len(reference) > 100
    assert not any(isinstance(node, written) for node in reference)


@every_configuration
def test_second_derivatives_of_the_reference(configuration: Configuration):
    """A product with the Hessian, against differences of the first derivatives."""
    model, forest = configuration.model(hidden_size=2), forest_for(configuration, 0)
    parameters = list(model.parameters())
    direction = [torch.randn_like(p) for p in parameters]

    # A loss of constant slope: a function that autograd does not see through goes unnoticed there.
    first = torch.autograd.grad(
        model(forest, backend="dgl").sum(), parameters, create_graph=True, materialize_grads=True
    )
    along = sum((g * d).sum() for g, d in zip(first, direction, strict=True))
    found = torch.autograd.grad(along, parameters, materialize_grads=True)

    def slope(step: float) -> list[Tensor]:
        for p, d in zip(parameters, direction, strict=True):
            p.data += step * d
        return gradients(model(forest).sum(), model)

    step = 1e-6
    ahead, behind = slope(step), slope(-2 * step)
    wanted = [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]
    torch.testing.assert_close(list(found), wanted, rtol=1e-4, atol=1e-6)


@by_each_path
def test_second_derivatives_are_refused_elsewhere():
    model, forest = CONFIGURATIONS[0].model(), forest_for(CONFIGURATIONS[0], 0)
    with pytest.raises(RuntimeError, match="has no second derivatives; backend='dgl' has"):
        torch.autograd.grad(model(forest).sum(), list(model.parameters()), create_graph=True)


@by_each_path
def test_interleaved_sweeps():
    configuration = CONFIGURATIONS[0]
    model = configuration.model()
    forests = [forest_for(configuration, seed) for seed in (0, 1)]
    alone = [gradients(model(forest).square().sum(), model) for forest in forests]
    first, second = (model(forest) for forest in forests)
    for h, truth in ((first, alone[0]), (second, alone[1]), (first, alone[0])):
        torch.testing.assert_close(gradients(h.square().sum(), model), truth)
    both = gradients(first.square().sum() + second.square().sum(), model)
    torch.testing.assert_close(both, [a + b for a, b in zip(*alone, strict=True)])


@by_each_path
@some_configurations
def test_gradients_of_some_parameters(configuration: Configuration):
    model = configuration.model()
    forest = forest_for(configuration, 1)
    truth = values_and_gradients(model, forest)
    parameters = dict(model.named_parameters())

    def found(name: str) -> Tensor:
        states, generator = model.states(forest), torch.Generator().manual_seed(0)
        loss = sum(
            (state * torch.randn(state.shape, generator=generator, dtype=torch.float64)).sum()
            for state in states.values()
        )
        return torch.autograd.grad(loss / len(forest), parameters[name])[0]

    for name in parameters:
        if not truth["gradient of " + name].any():
            continue  # leaf parameters where every node has a type
        torch.testing.assert_close(found(name), truth["gradient of " + name])
        for other, parameter in parameters.items():
            parameter.requires_grad_(other == name)
        torch.testing.assert_close(found(name), truth["gradient of " + name])
        model.requires_grad_(True)


@by_each_path
def test_no_gradient_where_none_is_wanted():
    model = CONFIGURATIONS[0].model()
    forest = forest_for(CONFIGURATIONS[0], 0)
    truth = model(forest).detach()
    with torch.no_grad():
        h = model(forest)
    assert not h.requires_grad
    assert torch.equal(h, truth)
    with torch.inference_mode():
        assert torch.equal(model(forest), truth)
    model.requires_grad_(False)
    h = model(forest)
    assert not h.requires_grad
    torch.testing.assert_close(h, truth)


@by_each_path
def test_two_threads_of_gradients_add_up():
    """Gradients accumulate over calls, as everywhere in torch."""
    model = CONFIGURATIONS[0].model()
    forest = forest_for(CONFIGURATIONS[0], 0)
    once = gradients(model(forest).sum(), model)
    model.zero_grad()
    for _ in range(3):
        model(forest).sum().backward()
    torch.testing.assert_close([p.grad for p in model.parameters()], [3 * g for g in once])


def test_weights_computed_from_others():
    """Parametrised weights are no leaves of the autograd graph."""
    model = CONFIGURATIONS[0].model()
    forest = forest_for(CONFIGURATIONS[0], 1)
    nn.utils.parametrizations.weight_norm(model.aggregator, "weight")
    ours = values_and_gradients(model, forest)
    assert_equal(ours, values_and_gradients(model, forest, "dgl"), 1e-10)
    assert all(ours["gradient of " + name].any() for name, _ in model.named_parameters())


@pytest.mark.parametrize("configuration", CONFIGURATIONS[::3], ids=str)
def test_autocast(configuration: Configuration):
    model = configuration.model(hidden_size=8, dtype=torch.float32)
    forest = forest_for(configuration, 0)
    truth = values_and_gradients(model, forest)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        states = model.states(forest)
    ours = with_gradients(model, states)
    for name, value in truth.items():
        scale = value.abs().max()
        assert ours[name].isfinite().all(), name
        assert (ours[name].float() - value).abs().max() <= 0.1 * scale, name


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an accelerator")
def test_accelerator():
    for configuration in CONFIGURATIONS:
        model = configuration.model(dtype=torch.float32)
        forest = forest_for(configuration, 0)
        truth = values_and_gradients(model, forest)
        ours = values_and_gradients(model.cuda(), forest.to("cuda"))
        assert_equal({name: x.cpu() for name, x in ours.items()}, truth, 1e-4)


@by_each_path
def test_states_may_be_changed_in_place():
    """As ``nn.ReLU(inplace=True)`` on top of an encoder does."""
    model = CONFIGURATIONS[0].model()
    forest = forest_for(CONFIGURATIONS[0], 0)
    truth = gradients(torch.relu(model(forest)).sum(), model)
    torch.testing.assert_close(gradients(model(forest).relu_().sum(), model), truth)


def floats_kept(tensor: Tensor, model: nn.Module) -> list[tuple]:
    """Shapes of what floats an autograd graph keeps alive, but for the model's own."""
    own = {x.data_ptr() for x in [*model.parameters(), *model.buffers()]}
    found, seen = [], set()
    waiting: list[object] = [getattr(node, "__dict__", None) for node in nodes_of(tensor)]
    while waiting:
        x = waiting.pop()
        if x is None or id(x) in seen or isinstance(x, type | ModuleType | FunctionType):
            continue
        seen.add(id(x))
        if isinstance(x, np.ndarray):
            x = torch.from_numpy(x) if x.dtype.kind == "f" else None
        if not isinstance(x, Tensor):
            waiting += gc.get_referents(x)
        elif x.is_floating_point() and x.numel() and x.data_ptr() not in own:
            found.append(tuple(x.shape))
    return found


@some_configurations
def test_a_loss_before_its_backward_keeps_no_copies_of_weights(configuration: Configuration):
    model = configuration.model()
    assert floats_kept(model(forest_for(configuration, 0)).square().sum(), model) == []


@by_each_path
@some_configurations
def test_a_kept_loss_keeps_nothing(configuration: Configuration):
    """Neither copies of the weights nor what the backward worked in."""
    model = configuration.model()
    loss = model(forest_for(configuration, 0)).square().sum()
    loss.backward()
    assert floats_kept(loss, model) == []


@by_each_path
@some_configurations
def test_checkpointing(configuration: Configuration):
    model, forest = configuration.model(), forest_for(configuration, 0)
    truth = gradients(model(forest).square().sum(), model)
    loss = checkpoint(model, forest, use_reentrant=False).square().sum()
    model.zero_grad(set_to_none=True)
    loss.backward()
    torch.testing.assert_close([p.grad for p in model.parameters()], truth)


@by_each_path
@some_configurations
def test_double_precision_as_the_default(configuration: Configuration):
    torch.set_default_dtype(torch.float64)
    try:
        learned, fixed = (configuration.model(learned=x) for x in (True, False))
        single = torch.ones(3, 2, dtype=torch.float32)
        model = TreeLSTM(4, 2, 3, single, AGGREGATORS[configuration.aggregator])
    finally:
        torch.set_default_dtype(torch.float32)
    for each in (learned, fixed, model):
        assert {x.dtype for x in each.state_dict().values()} == {torch.float64}
    forest = forest_for(CONFIGURATIONS[0], 0)
    torch.testing.assert_close(model(forest), model(forest, backend="dgl"))


@by_each_path
@pytest.mark.parametrize("name", AGGREGATORS)
def test_no_types(name: str):
    model = TreeLSTM(3, 0, 2, torch.eye(3), AGGREGATORS[name])
    forest = Forest.from_trees([Tree("x"), Tree("z")], VOCABULARY)
    h = model(forest)
    torch.testing.assert_close(h, model(forest, backend="dgl"))
    h.sum().backward()
    assert model.leaf_weight.grad.abs().sum() > 0


@by_each_path
@some_configurations
def test_pruned_weights(configuration: Configuration):
    """As ``torch.nn.utils.prune`` does it: by a hook before each call."""
    model, forest = configuration.model(), forest_for(configuration, 0)
    name = next(iter(model.aggregator.shapes))
    prune.random_unstructured(model.aggregator, name, amount=0.5)
    mask = getattr(model.aggregator, name + "_mask")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):  # the second time with other weights than the first
        optimizer.zero_grad()
        model(forest).square().sum().backward()
        optimizer.step()
        original = getattr(model.aggregator, name + "_orig")
        assert original.grad[mask == 0].abs().sum() == 0 < original.grad.abs().sum()
    after = model(forest)
    prune.remove(model.aggregator, name)
    torch.testing.assert_close(model(forest), after)
    assert (getattr(model.aggregator, name)[mask == 0] == 0).all()


@pytest.mark.parametrize("kind", ["forward", "full_backward", "full_backward_pre", "backward"])
def test_hooks_that_would_see_nothing(kind: str):
    model = CONFIGURATIONS[0].model()
    with pytest.raises(NotImplementedError, match="a hook on a WeightedSum would see nothing"):
        getattr(model.aggregator, f"register_{kind}_hook")(print)
