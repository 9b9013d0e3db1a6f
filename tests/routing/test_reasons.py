"""Why a sample takes a branch: what is told agrees with what the tree does, in every family."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from scipy.special import logit

from structnet import (
    LabelTreeClassifier,
    NeuralTreeClassifier,
    NeuralTreeRegressor,
    SoftmaxTreeClassifier,
)
from structnet.estimators.counts import CountStandardizer
from structnet.label_tree import LabelTree
from structnet.neural_tree import NeuralTree, presets
from structnet.neural_tree.clipped import Clipped
from structnet.routing import explain
from structnet.routing.reasons import reason

NAMES = ["age", "height", "debt", "rent"]


def router(weights: list[float], bias: float) -> NeuralTree:
    """A tree of one linear router of its inputs."""
    tree = NeuralTree(presets.table(num_outputs=2), shape=(len(weights),)).double()
    tree.split(0)
    tree.nodes[0].router.weight.data = torch.tensor([weights], dtype=torch.float64)
    tree.nodes[0].router.bias.data = torch.tensor([bias], dtype=torch.float64)
    return tree


def in_units(x: np.ndarray) -> np.ndarray:
    return 100 + 10 * x


@pytest.mark.parametrize(
    ("weights", "x", "units", "said"),
    [
        ([0, 2.0], [9, 0.5], None, "height = 0.5 > -0.5"),
        ([0, 2.0], [9, -0.6], None, "height = -0.6 < -0.5"),
        ([0, 2.0], [9, -0.6], in_units, "height = 94 < 95"),
        ([0.1, 2.0], [-4, 0.5], in_units, "height = 105 > about 95"),
        ([0, 2.0], [9, -0.500001], None, "height = -0.500001 < -0.5"),
        ([0, 2.0], [9, -0.5], None, "height = -0.5 >= -0.5"),
        ([2.0, -1.5], [1, 0.5], None, "age = 1 (+2), all else (+0.25)"),
        ([2.0, -1.5], [1, 0.5], in_units, "age = 110 (+2), all else (+0.25)"),
        # The column that decides for most samples is outvoted.
        ([0.5, 2.0], [-8, 0.5], in_units, "age = 20 (+4), all else (-2)"),
        ([0, 0], [1, 1], None, ""),
        # Both are 0, as words that do not occur are.
        ([-3.0, 1.0], [0, 0], None, "age = 0 (+0), all else (+1)"),
    ],
)
def test_a_choice_in_words(weights: list, x: list, units: object, said: str) -> None:
    tree = router(weights, 1.0)
    [choice] = explain(tree, np.array(x), feature_names=NAMES, units=units).choices
    assert choice.reason == said
    assert str(choice).endswith(f" %, as {said}" if said else " %")


def test_what_columns_add_is_the_log_odds() -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        weights = torch.randn(4, generator=generator, dtype=torch.float64).tolist()
        x = torch.randn(4, generator=generator, dtype=torch.float64)
        [choice] = explain(router(weights, 0.3), x, feature_names=NAMES).choices
        told = [float(each) for each in re.findall(r"\(([+-].*?)\)", choice.reason)]
        assert sum(told) == pytest.approx(logit(choice.probability), abs=0.02)
        assert len(told) > 1


@pytest.mark.parametrize("arity", [2, 3])
def test_a_child_against_another(arity: int) -> None:
    tree = LabelTree(4, 9, arity=arity).double()
    with torch.no_grad():
        tree.softmax.weight.normal_(generator=torch.Generator().manual_seed(0))
        tree.softmax.bias.normal_(generator=torch.Generator().manual_seed(1))
    x = np.random.default_rng(0).normal(size=(5, 4))
    for visit in tree.visits(x):
        if visit.branch is None:
            assert tree.plane(visit.node) is None
            continue
        for one in range(visit.branch.shape[1]):
            weight, bias = tree.plane(visit.node, one, one - 1)
            odds = np.log(visit.branch[:, one] / visit.branch[:, one - 1])
            np.testing.assert_allclose(x @ weight + bias, odds, atol=1e-8)
    found = explain(tree, x[0])
    for choice, line in zip(found.choices, str(found).splitlines(), strict=False):
        several = len(tree.topology.children_of(choice.node)) > 2
        assert (f", rather than {choice.other}, as " in line) == several


def test_rows_represented_by_vectors_have_no_reason() -> None:
    tree = LabelTree(4, 9, 3, arity=3)
    assert [each.reason for each in explain(tree, np.ones(4)).choices] == ["", ""]


@pytest.mark.parametrize("sparse", [False, True])
def test_thresholds_of_a_softmax_tree_hold_for_the_row(sparse: bool) -> None:
    """Sparse rows that are no counts, as few of their numbers are 1, keep their units."""
    X = np.random.default_rng(0).integers(0, 50, (300, 4)).astype(float)
    y = np.where(X[:, 2] > 30, "ill", np.where(X[:, 0] > 20, "well", "fine"))
    model = SoftmaxTreeClassifier(depth=2, random_state=0).fit(csr_matrix(X) if sparse else X, y)
    seen = 0
    for row in X[:30]:
        for choice in model.explain(csr_matrix(row) if sparse else row).choices:
            found = re.fullmatch(r"feature (\d) = (\S+) ([<>])=? (?:about )?(\S+)", choice.reason)
            if found is None:
                continue
            column, value, sign, edge = found.groups()
            assert float(value) == row[int(column)]
            assert (float(value) > float(edge)) == (sign == ">")
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("family", [SoftmaxTreeClassifier, LabelTreeClassifier])
def test_counts_are_told_as_the_user_gave_them(family: type) -> None:
    """A scaled count depends on its row's length, so it has no threshold in counts."""
    rng = np.random.default_rng(0)
    X = (rng.random((600, 60)) < 0.05).astype(float)
    X[::2] += rng.random((300, 60)) < 0.4  # long rows
    X[:, 0] = rng.choice([0, 0, 1, 3, 8], 600)
    y = (X[:, 0] >= 3).astype(int)
    one_word = {"depth": 1, "k": 1, "decision_penalty": 100.0}
    settings = one_word if family is SoftmaxTreeClassifier else {"arity": 2}
    model = family(random_state=0, **settings).fit(csr_matrix(X), y)
    assert isinstance(model.input_scale_, CountStandardizer)
    assert re.search(r"\([\w ]+: (high|low) feature 0[,)]", model.export_text())
    seen = 0
    for row in X[:40]:
        [choice] = model.explain(csr_matrix(row)).choices
        told = re.findall(r"feature (\d+) = (\S+) \(", choice.reason)
        assert [float(value) for _, value in told] == [row[int(column)] for column, _ in told]
        assert ">" not in choice.reason and "<" not in choice.reason
        seen += "feature 0 = " in choice.reason
    assert seen > 15


@pytest.mark.parametrize("family", [SoftmaxTreeClassifier, NeuralTreeClassifier])
def test_small_values_of_a_bent_column_are_told_as_they_are(family: type) -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=1200)
    X = np.stack([noise, np.floor(np.exp(9 + 2.5 * rng.normal(size=1200)))], axis=1)
    y = (X[:, 1] > 8000) ^ (noise > 0)
    settings = {"depth": 2} if family is SoftmaxTreeClassifier else {"epochs": 10}
    model = family(random_state=0, **settings).fit(X, y)
    seen = 0
    X.setflags(write=False)  # as rows of data frames are
    for row in map(X.__getitem__, np.argsort(X[:, 1])[:30]):
        for choice in model.explain(row).choices:
            for value in re.findall(r"feature 1 = (\S+)", choice.reason):
                assert float(value) == pytest.approx(row[1], rel=1e-3, abs=0)
                seen += 1
    assert seen > 20


def test_a_label_tree_of_two_asks_questions() -> None:
    X = np.random.default_rng(0).normal(size=(400, 2)) * [1, 0.01]
    y = (X[:, 0] > 0.5).astype(int)
    model = LabelTreeClassifier(arity=2, random_state=0).fit(X, y)
    assert re.search(r"\(child \d: feature 0 [<>] about 0\.", model.export_text())
    assert "feature 0 = " in model.explain(X[0]).choices[0].reason


def test_a_router_of_units_tells_what_each_column_adds() -> None:
    tree = NeuralTree(presets.table(num_outputs=2), shape=(2,)).double()
    tree.split(0)
    layer = torch.nn.Sequential(torch.nn.Linear(2, 2), Clipped(2)).double()
    layer[0].weight.data = torch.tensor([[1000.0, 0], [0, -1000.0]]).double()
    layer[0].bias.data = torch.tensor([-500.0, 500.0]).double()
    layer[1].most.fill_(1.0)
    tree.nodes[0].transformers.append(layer)
    tree.nodes[0].router.weight.data = torch.tensor([[3.0, 2.0]]).double()
    tree.nodes[0].router.bias.data = torch.tensor([-0.5]).double()
    for x, said in (
        ([1, 0], "age = 1 (+3), all else (+1.5)"),
        ([1, 1], "age = 1 (+3), height = 1 (-2), all else (+1.5)"),
        ([0, 1], "height = 1 (+2), all else (-1.5)"),
    ):
        found = explain(tree, np.array(x, float), feature_names=NAMES)
        assert found.choices[0].reason == said
        parts = [float(part) for part in re.findall(r"\(([+-].*?)\)", said)]
        [probability] = {found.choices[0].probability}
        assert sum(parts) == pytest.approx(np.log(probability / (1 - probability)))


def test_a_column_of_yes_and_no_is_no_cause_where_both_values_take_the_branch() -> None:
    tree = NeuralTree(presets.table(num_outputs=2), shape=(2,))
    tree.split(0)
    mean, deviation = np.array([0.2, 30.0]), np.array([0.4, 9.0])  # a fifth is in Oslo
    router = tree.nodes[0].router
    for bias, zero, one in (
        (0.7, "city = Oslo = 0 > about -0.5", "city = Oslo = 1 > about -0.5"),
        (-0.1, "city is not Oslo", "city is Oslo"),
    ):
        router.weight.data, router.bias.data = torch.tensor([[0.4, 0.05]]), torch.tensor([bias])
        for value, said in ((0.0, zero), (1.0, one)):
            x = (np.array([value, 30.0]) - mean) / deviation
            taken = int(router(torch.tensor(x[None]).float()).item() < 0)
            found = reason(
                tree, 0, taken, 1 - taken, x, ["city = Oslo", "age"], lambda x: x * deviation + mean
            )
            assert found == said


def test_values_about_a_large_mean_are_told_in_digits_that_differ() -> None:
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 2, 600) + 0.0, 1.7e9 + rng.uniform(0, 1000, 600)]
    y = (X[:, 1] > 1.7e9 + 500) * 1
    model = SoftmaxTreeClassifier(depth=1, k=1, random_state=0).fit(X, y)
    [told] = re.findall(r"feature 1 [<>] (?:about )?(\S+)\)", model.export_text())
    assert float(told) == pytest.approx(1.7e9 + 500, rel=0, abs=20)
    [choice] = model.explain(X[0]).choices
    found = re.fullmatch(r"feature 1 = (\S+) [<>] (?:about )?(\S+)", choice.reason)
    assert found is not None and float(found[2]) == float(told)
    assert float(found[1]) == pytest.approx(X[0, 1], rel=0, abs=1)
    rows = NeuralTreeRegressor(max_leaves=1, random_state=0).fit(X, 3.0 * X[:, 1] - 5e9)
    [line] = re.findall(r"feature 1 from (\S+) to (\S+): ", rows.export_text())
    low, high = map(float, line)
    assert high - low == pytest.approx(2 * X[:, 1].std(), rel=0.05)
    [value] = [part.name for part in rows.explain(X[0]).parts if part.name.startswith("feature 1")]
    assert float(value.split(" = ")[1]) == pytest.approx(X[0, 1], rel=0, abs=1)
