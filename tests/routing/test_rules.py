"""Steps of columns, told as rules with what each adds."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from structnet.neural_tree import (
    Categorical,
    GaussianMixture,
    Likelihood,
    NeuralTree,
    SquaredError,
    presets,
)
from structnet.plot import plot_model_tree
from structnet.plot.model_tree.key import rule_texts
from structnet.routing import Reading, Samples, export_text
from structnet.routing.asking import all_questions
from structnet.routing.rules import MOST, rule_lines

NAMES = ["income", "age"]


def tree_of(likelihood: Likelihood, effects: list[list[float]], split: bool = False) -> NeuralTree:
    """A tree whose first units are steps of income at 1, 2, ..., of the given effects."""
    tree = NeuralTree(presets.table(len(effects[0]), width=12), (2,), likelihood)
    tree.deepen(0)
    layer, clipped = tree.nodes[0].transformers[0]
    for part in tree.parameters():
        torch.nn.init.zeros_(part)
    if split:
        tree.split(0)
        tree.nodes[1].solver.weight.data.zero_()
    end = tree.nodes[0].end
    with torch.no_grad():
        end.weight.zero_()
        for unit, effect in enumerate(effects):
            layer.weight[unit, 0], layer.bias[unit] = 64.0, 0.5 - 64.0 * (unit + 1)
            clipped.most[unit] = 1.0
            end.weight[:, unit] = torch.tensor(effect[:1] if split else effect)
    return tree


def test_each_step_is_a_rule_and_the_largest_come_first() -> None:
    tree = tree_of(SquaredError(), [[0.5], [-2.0]])
    assert export_text(tree, feature_names=NAMES).splitlines()[1:] == [
        "|       income > 2: -2",
        "|       income > 1: +0.5",
    ]
    doubled = {"units": lambda x: 10 * x + 5, "target_units": lambda y: 100 * y + 7}
    assert rule_lines(tree, 0, NAMES, **doubled) == ["income > 25: -200", "income > 15: +50"]


def test_a_rule_adds_to_the_prediction_what_it_says() -> None:
    tree = tree_of(SquaredError(), [[0.5], [-2.0], [1.25]])
    low, high = tree.predicted(np.array([[2.5, 0.0], [3.5, 0.0]]))
    assert high - low == pytest.approx(1.25)
    assert rule_lines(tree, 0)[1] == "feature 0 > 3: +1.25"


def test_rules_of_classes_are_in_log_odds() -> None:
    tree = tree_of(Categorical(), [[-0.5, 1.0]])
    [line] = rule_lines(tree, 0, NAMES, class_names=["no", "yes"])
    assert line == "income > 1: log-odds of class yes +1.5"
    odds = np.diff(tree.predicted(np.array([[0.5, 0.0], [1.5, 0.0]])))[:, 0]
    assert odds[1] - odds[0] == pytest.approx(1.5)
    tree = tree_of(Categorical(), [[0.0, -3.0, 1.0]])
    [line] = rule_lines(tree, 0, NAMES, class_names=["a", "b", "c"])
    assert line == "income > 1: log-odds of class b -3.5"


def test_of_gaussians_rules_tell_the_means() -> None:
    [line] = rule_lines(tree_of(GaussianMixture(), [[2.0, 9.0]]), 0)
    assert line == "feature 0 > 1: +2"


def test_of_many_rules_the_largest_are_told() -> None:
    lines = rule_lines(tree_of(SquaredError(), [[float(i)] for i in range(1, 13)]), 0)
    assert len(lines) == MOST + 1 and lines[0].endswith("+12") and lines[-1] == "… 4 smaller"


def test_a_picture_tells_the_rules_of_a_single_leaf() -> None:
    tree = tree_of(SquaredError(), [[float(i)] for i in range(1, 8)])
    x = torch.tensor([[0.5, 0.0], [1.5, 0.0]])
    told = Reading(tree, Samples(x, x[:, :1]), feature_names=NAMES)
    said = " ".join(text.get_text() for text in plot_model_tree(told).texts[::-1])
    assert "node 0 adds up" in said and "income > 7: +7" in said
    assert "income > 5: +5" in said and "income > 4: +4" not in said
    steps = tree_of(SquaredError(), [[1.0]])
    assert len(rule_texts(Reading(steps))) == 1
    for leaf in steps.split(0):
        steps.nodes[leaf].solver.reset_parameters()
    assert rule_texts(Reading(steps)) == []


def test_a_router_may_ask_by_rules() -> None:
    tree = tree_of(SquaredError(), [[4.0], [-1.0]], split=True)
    x = torch.tensor([[0.5, 0.0], [1.5, 0.0]])
    told = Reading(tree, Samples(x, x[:, :1]), feature_names=NAMES)
    said = "income > 1: log-odds of left +4, income > 2: log-odds of left -1"
    assert all_questions(told)[0] == said
    assert said[:10] in " ".join(text.get_text() for text in plot_model_tree(told).texts)
    assert "income > 1: log-odds of left +4" in export_text(tree, feature_names=NAMES)
    assert rule_lines(tree, 1) == []  # no step has an effect there


def linear(weights: list[float], likelihood: Likelihood | None = None) -> NeuralTree:
    tree = NeuralTree(presets.table(1), (len(weights),), likelihood or SquaredError())
    tree.nodes[0].solver.weight.data = torch.tensor([weights])
    return tree


def test_a_linear_leaf_tells_what_each_column_adds() -> None:
    tree = linear([0.5, -2.0, 0.0])
    names, units = ["income", "age", "height"], lambda x: 10 * x + 5
    said = ["age from -5 to 15: -4", "income from -5 to 15: +1"]
    assert rule_lines(tree, 0, names, units) == said
    low, high = tree.predicted(np.array([[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]]))
    assert high - low == pytest.approx(-4)


def test_a_column_of_zeros_and_ones_is_told_by_its_one() -> None:
    tree, sd = linear([3.0, 0.1]), np.array([0.4, 1.0])
    names, units = ["city = Oslo", "age"], lambda x: x * sd + 0.2
    no, yes = ([(at - 0.2) / 0.4, 0.0] for at in (0, 1))
    low, high = tree.predicted(np.array([no, yes]))
    assert rule_lines(tree, 0, names, units)[0] == f"city is Oslo: {(high - low)[0]:+.4g}"


def test_a_line_hides_no_smaller_step_of_its_column() -> None:
    """The step alone has another sign than all that the column adds."""
    tree = tree_of(SquaredError(), [[-0.25]])
    layer = tree.nodes[0].transformers[0][0]
    with torch.no_grad():
        layer.bias[0] = 0.5 - 64.0 * 0.5  # a step at 0.5
        layer.weight[1, 0], layer.weight[2, 0] = 1.0, -1.0
        tree.nodes[0].solver.weight[0, 1:3] = torch.tensor([5.0, -5.0])
    low, high = tree.predicted(np.array([[-1.0, 0.0], [1.0, 0.0]]))
    assert high - low == pytest.approx(9.75)
    assert rule_lines(tree, 0, NAMES) == ["income from -1 to 1: +9.75"]
    with torch.no_grad():
        tree.nodes[0].solver.weight[0, 1:3] = torch.tensor([0.1, -0.1])
    said = ["income > 0.5: -0.25", "income from -1 to 1, besides its steps: +0.2"]
    assert rule_lines(tree, 0, NAMES) == said


def test_modules_of_other_kinds_tell_nothing() -> None:
    tree = tree_of(SquaredError(), [[1.0]])
    tree.deepen(0)
    assert rule_lines(tree, 0) == []
    tree = NeuralTree(presets.mlp(1), (2,), SquaredError())
    assert rule_lines(tree, 0) == [] and len(export_text(tree).splitlines()) == 1
