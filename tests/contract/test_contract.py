"""What every model of the library keeps, whatever its family; a new one is a line of CASES."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest
import torch
from configurations import AGGREGATORS
from random_trees import (
    ARITY,
    TOKENS,
    TYPES,
    VOCABULARY,
    random_dependency_tree,
    random_tree,
)
from torch import Tensor, nn

from structnet.neural_tree import NeuralTree, Primitives, presets
from structnet.neural_tree.tree import Mixture
from structnet.routing import Samples
from structnet.tensor_tree import TreeClassifier, TreeLSTM, TreePairClassifier
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest


class Case(NamedTuple):
    """A model and data for it.

    ``make_model(seed)`` gives a model with ``loss``, ``predict``, ``predict_proba`` and
    ``predict_log_proba``; ``make_batch(count)`` data that can be indexed by a list and that uses
    all of the model's parameters; ``inputs(batch)`` the tensors and arrays in it.
    """

    name: str
    make_model: Callable[[int], nn.Module]
    make_batch: Callable[[int], Any]
    num_classes: int
    inputs: Callable[[Any], list]

    def __str__(self) -> str:
        return self.name


def tree_model(head: type, classes: int, inner: bool, options: dict, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    inputs = nn.Embedding(len(TOKENS), 4)
    encoder = TreeLSTM(6, len(TYPES), ARITY, inputs, inner_inputs=inner, **options)
    return head(encoder, classes)


def tree_batch(roots: int, classes: int, inner: bool, count: int) -> TreeExamples:
    rng = random.Random(0)
    draw = random_dependency_tree if inner else random_tree
    trees = [draw(rng) for _ in range(count * roots)]
    if inner:  # a leaf with a token alone
        trees[0] = type(trees[0])("A", [type(trees[0])("x"), *trees[0].children[:2]], token="y")
    targets = [rng.randrange(classes) for _ in range(count)]
    return TreeExamples(Forest.from_trees(trees, VOCABULARY), targets)


def tree_inputs(batch: TreeExamples) -> list:
    forest, graph = batch.forest, batch.forest.graph
    arrays = ("types", "tokens", "height", "offsets", "children", "pos", "roots")
    return [
        batch.targets,
        *(getattr(forest, name) for name in arrays),
        *graph.edges(),
        *(graph.ndata[name] for name in graph.ndata),
        *(graph.edata[name] for name in graph.edata),
    ]


def tree_case(
    name: str, head: type, roots: int, classes: int, inner: bool = False, **options: Any
) -> Case:
    return Case(
        name,
        partial(tree_model, head, classes, inner, options),
        partial(tree_batch, roots, classes, inner),
        classes,
        tree_inputs,
    )


class ClassTree(NeuralTree):
    """A neural tree that gives the probabilities of classes as the other models do, and takes the
    same batch in either precision, as they do."""

    def forward(self, x: Tensor, keep: dict | None = None) -> Mixture:
        return super().forward(x.to(next(self.parameters()).dtype), keep)

    def predict_log_proba(self, batch: Samples) -> Tensor:
        return self.output(batch.x)

    def predict_proba(self, batch: Samples) -> Tensor:
        return self.predict_log_proba(batch).exp()


def neural_tree(primitives: Primitives, shape: tuple[int, ...], grown: str, seed: int) -> nn.Module:
    """A root, and what has been done to its newest leaf: "s" splits it, "d" deepens it."""
    torch.manual_seed(seed)
    tree, leaf = ClassTree(primitives, shape), 0
    for step in grown:
        if step == "s":
            leaf = tree.split(leaf)[1]
        else:
            tree.deepen(leaf)
    return tree


def neural_batch(classes: int, shape: tuple[int, ...], count: int) -> Samples:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(count, *shape, generator=generator)
    return Samples(x, torch.arange(count) % classes)


def neural_inputs(batch: Samples) -> list:
    return [batch.x, batch.targets]


def neural(name: str, grown: str, primitives: Primitives, shape: tuple[int, ...] = (6,)) -> Case:
    return Case(
        name,
        partial(neural_tree, primitives, shape, grown),
        partial(neural_batch, 3, shape),
        3,
        neural_inputs,
    )


single = partial(tree_case, head=TreeClassifier, roots=1, classes=4)
pair = partial(tree_case, head=TreePairClassifier, roots=2, classes=7)

CASES = [
    *(single(f"tree, {name}", aggregator=a) for name, a in AGGREGATORS.items()),
    *(pair(f"pair, {name}", aggregator=a) for name, a in AGGREGATORS.items()),
    single("tree, learned bottom", bottom="learned"),
    single("tree, forget all", forget="all"),
    single("tree, inner inputs", inner=True),
    pair("pair, inner inputs, all learned", inner=True, forget="all", bottom="learned"),
    neural("neural tree, a root", "", presets.mlp(3, width=5)),
    neural("neural tree, branches", "sdsdd", presets.mlp(3, width=5, router_width=4)),
    neural("neural tree, no transformers", "sss", presets.mlp(3).without(transformers=True)),
    neural("neural tree, a chain", "ddd", presets.mlp(3, width=5).without(routers=True)),
    neural("neural tree, images", "sdsd", presets.conv(3, width=4, kernel=3), (2, 12, 12)),
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
COUNT = 24


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def assert_same(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert torch.equal(ours[name], theirs[name]), name


@every_case
def test_probabilities_sum_to_one(case: Case):
    model, batch = case.make_model(0), case.make_batch(COUNT)
    prob = model.predict_proba(batch)
    assert prob.shape == (COUNT, case.num_classes)
    assert (prob >= 0).all()
    torch.testing.assert_close(prob.sum(-1), torch.ones(COUNT))
    torch.testing.assert_close(model.predict_log_proba(batch).exp(), prob)


@every_case
def test_predictions_are_the_likeliest_classes(case: Case):
    model, batch = case.make_model(0), case.make_batch(COUNT)
    predicted = model.predict(batch)
    assert predicted.shape == (COUNT,)
    assert predicted.dtype == torch.int64
    assert torch.equal(predicted, model.predict_proba(batch).argmax(-1))


@every_case
def test_a_batch_is_its_examples_one_by_one(case: Case):
    model, batch = case.make_model(0).double(), case.make_batch(COUNT)
    together = model.predict_log_proba(batch)
    alone = torch.cat([model.predict_log_proba(batch[[i]]) for i in range(COUNT)])
    torch.testing.assert_close(together, alone, rtol=1e-10, atol=1e-10)
    losses = torch.stack([model.loss(batch[[i]]) for i in range(COUNT)])
    torch.testing.assert_close(model.loss(batch), losses.mean(), rtol=1e-10, atol=1e-10)


@every_case
def test_the_order_of_a_batch_means_nothing(case: Case):
    model, batch = case.make_model(0).double(), case.make_batch(COUNT)
    order = torch.randperm(COUNT).tolist()
    turned = model.predict_log_proba(batch[order])
    torch.testing.assert_close(turned, model.predict_log_proba(batch)[order])


@every_case
def test_a_batch_of_one(case: Case):
    model, batch = case.make_model(0), case.make_batch(COUNT)[[3]]
    assert len(batch) == 1
    assert model.predict(batch).shape == (1,)
    assert model.predict_proba(batch).shape == (1, case.num_classes)
    loss = model.loss(batch)
    assert loss.shape == ()
    loss.backward()


@every_case
def test_same_seed_same_weights(case: Case):
    first, second, third = (weights(case.make_model(seed)) for seed in (0, 0, 1))
    assert_same(first, second)
    assert any(not torch.equal(first[name], third[name]) for name in first)


@every_case
def test_inputs_are_left_untouched(case: Case):
    model, batch = case.make_model(0), case.make_batch(COUNT)
    before = copy.deepcopy(case.inputs(batch))
    for backward in (True, False):
        loss = model.loss(batch)
        if backward:
            loss.backward()
        model.predict_proba(batch)
    after = case.inputs(batch)
    assert len(after) == len(before)  # no field of the graph came or went
    for now, then in zip(after, before, strict=True):
        assert (torch.as_tensor(now) == torch.as_tensor(then)).all()


@every_case
def test_state_dict_round_trip(case: Case):
    model, other, batch = case.make_model(0), case.make_model(1), case.make_batch(COUNT)
    other.load_state_dict(model.state_dict())
    assert_same(weights(other), weights(model))
    assert torch.equal(other.predict_log_proba(batch), model.predict_log_proba(batch))


@every_case
def test_all_parameters_are_in_the_state_dict(case: Case):
    model = case.make_model(0)
    assert {name for name, _ in model.named_parameters()} <= set(model.state_dict())


@every_case
def test_one_step_lowers_the_loss(case: Case):
    model, batch = case.make_model(0), case.make_batch(COUNT)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    before = model.loss(batch)
    before.backward()
    optimizer.step()
    assert model.loss(batch) < before


@every_case
def test_every_parameter_gets_a_gradient(case: Case):
    model, batch = case.make_model(0), case.make_batch(COUNT)
    model.loss(batch).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


@every_case
def test_predictions_in_evaluation_are_deterministic(case: Case):
    model, batch = case.make_model(0).eval(), case.make_batch(COUNT)
    first = model.predict_log_proba(batch)
    torch.rand(3)  # another state of the generator
    assert torch.equal(model.predict_log_proba(batch), first)
    with torch.no_grad():
        assert torch.equal(model.predict_log_proba(batch), first)


@every_case
def test_deep_copies_are_independent(case: Case):
    model, batch = case.make_model(0), case.make_batch(COUNT)
    model.loss(batch).backward()  # whatever a run leaves behind must copy too
    twin = copy.deepcopy(model)
    before = weights(model)
    assert torch.equal(twin.predict_log_proba(batch), model.predict_log_proba(batch))
    torch.optim.SGD(twin.parameters(), lr=1.0).step()
    assert_same(weights(model), before)


@every_case
def test_double_precision(case: Case):
    model, batch = case.make_model(0), case.make_batch(COUNT)
    single = model.predict_log_proba(batch)
    double = model.double().predict_log_proba(batch)
    assert double.dtype == torch.float64
    torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-5)
