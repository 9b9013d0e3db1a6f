"""Classifiers on top of an encoder: their formulas, their losses, their errors."""

from __future__ import annotations

import math
import random
import re

import pytest
import torch
from random_trees import VOCABULARY, random_tree
from torch import Tensor, nn

from structnet.tensor_tree import TreeClassifier, TreeLSTM, TreePairClassifier
from structnet.training import TargetError, evaluate, fit
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest


def examples(count: int, roots: int = 1, classes: int = 3) -> TreeExamples:
    rng = random.Random(5)
    trees = [random_tree(rng) for _ in range(count * roots)]
    targets = [rng.randrange(classes) for _ in range(count)]
    return TreeExamples(Forest.from_trees(trees, VOCABULARY), targets, None, roots)


def encoder(size: int = 4) -> TreeLSTM:
    return TreeLSTM(size, 2, 3, torch.eye(3)).double()


class Fixed(nn.Module):
    """An encoder that gives the states it was given."""

    def __init__(self, states: Tensor):
        super().__init__()
        self.states, self.hidden_size = states, states.shape[1]
        self.backends: list[str] = []

    def forward(self, forest: Forest, backend: str = "levels") -> Tensor:
        self.backends.append(backend)
        return self.states


def test_classifier_has_two_hidden_layers_of_twenty():
    model = TreeClassifier(encoder(), num_classes=10)
    sizes = [(m.in_features, m.out_features) for m in model.layers if isinstance(m, nn.Linear)]
    assert sizes == [(4, 20), (20, 20), (20, 10)]
    assert [type(m).__name__ for m in model.layers] == ["Linear", "ReLU"] * 2 + ["Linear"]
    assert not TreeClassifier(encoder(), 3, hidden_sizes=()).layers[0].weight.shape[1] - 4


def test_kaiming_scale_of_hidden_layers():
    model = TreeClassifier(encoder(50), 3, hidden_sizes=(400, 400))
    for layer in (model.layers[0], model.layers[2]):
        wanted = math.sqrt(2 / layer.in_features)
        assert layer.weight.std().item() == pytest.approx(wanted, rel=0.05)


def test_an_odd_number_of_trees():
    model = TreePairClassifier(encoder(), 7).double()
    message = "pairs need an even number of trees; got 3"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model(examples(3).forest)


HEADS = {
    "tree": (lambda: TreeClassifier(encoder(), 3).double(), 1),
    "pair": (lambda: TreePairClassifier(encoder(), 3, combined_size=6).double(), 2),
}
both = pytest.mark.parametrize("name", HEADS)


@both
def test_the_loss_counts_each_example_by_its_weight(name: str):
    make, roots = HEADS[name]
    model, plain = make(), examples(6, roots)
    weights = torch.tensor([3.0, 0.0, 0.5, 0.0, 1.5, 1.0])
    batch = TreeExamples(plain.forest, plain.targets, weights, roots)
    picked = model(batch.forest).log_softmax(-1)[torch.arange(6), batch.targets]
    torch.testing.assert_close(model.loss(batch), -(picked * weights).mean())
    equal = TreeExamples(plain.forest, plain.targets, torch.ones(6), roots)
    torch.testing.assert_close(model.loss(equal), model.loss(plain))
    assert evaluate(model, batch, batch_size=2)["loss"] == pytest.approx(model.loss(batch).item())


@both
def test_backends(name: str):
    make, roots = HEADS[name]
    model, forest = make(), examples(4, roots).forest
    torch.testing.assert_close(model(forest), model(forest, backend="dgl"))
    fixed = Fixed(torch.zeros(4 * roots, 4, dtype=torch.float64))
    model.encoder = fixed
    model(forest, backend="dgl")
    assert fixed.backends == ["dgl"]


@both
def test_a_batch_of_none(name: str):
    """Nothing to encode is an error with a name, not a nan."""
    make, _ = HEADS[name]
    batch = examples(2, HEADS[name][1])[[]]
    with pytest.raises(ValueError, match=r"^the forest is empty; a sweep needs at least one node$"):
        make().loss(batch)


@both
@pytest.mark.parametrize("value", [-100, -1, 3, 10])
def test_a_target_that_is_no_class(name: str, value: int):
    """In a batch, in training and in evaluation: with the example, the batch and the value."""
    make, roots = HEADS[name]
    model, data = make(), examples(6, roots)
    data.targets[4] = value
    said = f"targets must be classes from 0 to 2; example 4 of {{}} has {value}"
    with pytest.raises(TargetError, match=f"^{re.escape(said.format('the batch'))}$"):
        model.loss(data)
    with pytest.raises(TargetError, match=re.escape(said.format("the data to evaluate on"))):
        evaluate(model, data, batch_size=2)
    where = said.format("the training data (epoch 1, batch ")
    where, _, end = where.partition(" has")
    with pytest.raises(TargetError, match=f"^{re.escape(where)}[1-3]\\) has{end}$") as caught:
        fit(model, data, epochs=1, batch_size=2, progress=False)
    assert (caught.value.example, caught.value.value) == (4, value)


@both
def test_targets_that_are_no_classes_at_all(name: str):
    make, roots = HEADS[name]
    data = examples(2, roots)
    data.targets = data.targets.double()
    with pytest.raises(
        ValueError, match=r"^targets must be classes \[n\], int64. Got float64 \[2\]"
    ):
        make().loss(data)
