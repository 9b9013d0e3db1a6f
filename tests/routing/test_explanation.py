"""Why one sample is predicted so: the greedy path, against the paper's recursion."""

from __future__ import annotations

import math

import pytest
import torch
from reference import neural_tree as reference
from reports import constant, draw, tree_of
from tree_shapes import LEFT_LEAF, SMALL

from structnet.neural_tree.likelihood import GaussianMixture, SquaredError
from structnet.routing.explanation import Choice, explain


@pytest.mark.parametrize("shape", SMALL[::7], ids=str)
def test_explanations_are_the_greedy_path(shape: tuple) -> None:
    tree = tree_of(shape)
    for x in draw(5):
        found = explain(tree, x)
        path = reference.greedy(tree, x)
        leaves = {leaf.node: leaf for leaf in reference.leaves(tree, x)}
        assert [choice.node for choice in found.choices] == path[:-1]
        assert found.leaf == path[-1]
        for choice, v in zip(found.choices, path[1:], strict=True):
            side = tree.topology.children_of(choice.node).index(v)
            assert choice.side == ("left", "right")[side]
            assert 0.5 <= choice.probability <= 1
        product = math.prod(choice.probability for choice in found.choices)
        assert found.probability == pytest.approx(product, rel=1e-10)
        assert found.probability == pytest.approx(leaves[found.leaf].pi.item(), rel=1e-10)
        prediction = reference.prediction(tree, leaves[found.leaf].output)
        assert found.prediction == pytest.approx(prediction.tolist(), rel=1e-10)
        assert found.mixture == pytest.approx(reference.mixture(tree, x).tolist(), rel=1e-10)


@pytest.mark.parametrize("likelihood", [SquaredError(), GaussianMixture()])
def test_explanations_of_numbers(likelihood: object) -> None:
    tree, x = tree_of(likelihood=likelihood), draw(1)[0]
    found = explain(tree, x)
    assert found.class_names is None
    assert found.mixture == pytest.approx(reference.mixture(tree, x).tolist(), rel=1e-10)
    means = ", ".join(f"{mean:.4g}" for mean in found.mixture)
    assert str(found).splitlines()[-1] == f"of all leaves: {means}"


def test_a_tree_in_bfloat16_is_explained() -> None:
    tree, x = tree_of(), draw(1)[0]
    wanted, found = explain(tree, x), explain(tree.bfloat16(), x.bfloat16())
    assert found.prediction == pytest.approx(wanted.prediction, abs=0.03)
    assert found.mixture == pytest.approx(wanted.mixture, abs=0.03)


def test_an_explanation_in_other_units() -> None:
    tree, x = tree_of(likelihood=SquaredError()), draw(1)[0]
    plain, found = explain(tree, x), explain(tree, x, to_units=lambda means: means * 100 + 7)
    assert found.choices == plain.choices
    for name in ("prediction", "mixture"):
        expected = [mean * 100 + 7 for mean in getattr(plain, name)]
        assert getattr(found, name) == pytest.approx(expected, rel=1e-10)
    means = ", ".join(f"{mean:.4g}" for mean in found.prediction)
    assert str(found).splitlines()[-2] == f"its prediction: {means}"


def test_an_explanation_as_text() -> None:
    tree = constant(tree_of((((), ()), LEFT_LEAF)), -math.log(3))
    right = tree.topology.children_of(0)[1]
    far = tree.topology.children_of(right)[1]
    reached = tree.topology.children_of(far)[1]
    with torch.no_grad():
        for leaf in tree.topology.leaves:
            tree.nodes[leaf].solver.bias[1 if leaf == reached else 0] = 1000.0
    found = explain(tree, draw(1)[0], class_names=["ant", "bee", "cat", "dog"])
    assert found.choices[0] == Choice(0, "right", pytest.approx(0.75))
    assert str(found).splitlines() == [
        "node 0: right, 75.0 %",
        f"node {right}: right, 75.0 %",
        f"node {far}: right, 75.0 %",
        f"leaf {reached}, reached with 42.2 %",
        "its prediction: class bee, 100.0 %",
        "of all leaves: class ant, 57.8 %",
    ]


def test_one_half_is_explained_as_left() -> None:
    found = explain(constant(tree_of(), 0.0), draw(1)[0])
    assert found.choices == (Choice(0, "left", 0.5),)
