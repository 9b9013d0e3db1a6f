"""The linear model that a tree of a table begins as: its optimum, and what keeps it small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from structnet.neural_tree import (
    Categorical,
    GaussianMixture,
    Growth,
    NeuralTree,
    NeuralTreeClassifier,
    NeuralTreeRegressor,
    NeuralTreeSettings,
    SquaredError,
    Trained,
    from_sequential,
    linear,
    presets,
    train,
)
from structnet.neural_tree.linear import fit_linear, is_linear_model
from structnet.neural_tree.linear_start import start_linear
from structnet.routing import Samples
from structnet.training.metrics import evaluate


def rows(size: int = 60, columns: int = 8) -> Samples:
    """A noisy table of numbers, each row with a weight."""
    x, y = make_regression(size, columns, n_informative=3, noise=30.0, random_state=0)
    x, y, w = (torch.from_numpy(part).float() for part in (x, y, np.linspace(0.5, 1.5, size)))
    return Samples(x, (y / y.std())[:, None], w)


def check_optimum(tree: NeuralTree, samples: Samples) -> None:
    """A linear model is fitted; at its optimum the loss pulls against the penalty alone."""
    fit_linear(tree, samples, seed=0)
    slope, weights = slope_and_weights(tree, samples)
    strength = -(slope @ weights) / (weights @ weights)
    assert strength > 0 and torch.allclose(slope, -strength * weights, atol=1e-3)


def slope_and_weights(tree: NeuralTree, samples: Samples) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradient of the loss of a linear model, and what it was taken at."""
    solver = tree.nodes[0].end
    assert isinstance(solver, nn.Linear)
    loss = tree.loss(samples)
    return torch.autograd.grad(loss, solver.weight)[0].flatten(), solver.weight.detach().flatten()


@pytest.mark.parametrize("numbers", [2**22, 80])
def test_at_the_optimum_the_loss_pulls_against_the_penalty_alone(
    numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "NUMBERS", numbers)  # in a table's batch: 80 are 10 rows
    samples = rows()
    tree = NeuralTree(presets.table(1), (8,), SquaredError())
    check_optimum(tree, samples)


@pytest.mark.parametrize("size", [30, 6])
def test_its_strength_is_the_best_of_models_fitted_without_each_sample(size: int) -> None:
    samples = replace(rows(60, 8), targets=torch.cat([rows().targets, rows().x[:, :1] ** 2], 1))
    samples = samples[np.arange(size)]
    tree = NeuralTree(presets.table(2), (8,), SquaredError())
    strength, every = fit_linear(tree, samples, seed=0), np.arange(size)

    def fitted(strength: float, places: np.ndarray) -> Ridge:
        model = Ridge(strength * size, solver="cholesky")  # of two targets, whose mean is lost
        x, y = samples.x.double(), samples.targets.double()
        return model.fit(x[places], y[places], samples.counts()[places])

    def unseen(strength: float) -> float:
        models = [fitted(strength, np.delete(every, i)) for i in every]
        said = [m.predict(samples.x[i : i + 1])[0] for i, m in zip(every, models, strict=True)]
        missed = (np.array(said) - samples.targets.numpy()) ** 2
        return float(samples.counts() @ missed.mean(1))

    spread = samples.x.double().var(0, correction=0).sum().item()
    strengths = linear._strengths(samples, spread)
    assert strength == pytest.approx(min(strengths, key=unseen))
    solver, best = tree.nodes[0].end, fitted(strength, every)
    assert isinstance(solver, nn.Linear)
    assert np.allclose(solver.weight.detach(), best.coef_, atol=1e-4)
    assert np.allclose(solver.bias.detach(), best.intercept_, atol=1e-4)


def test_a_table_too_large_to_decompose_is_descended(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, found = rows(200), []
    for most in (linear.COMPUTED, 200 * 8 * 8 - 1):
        monkeypatch.setattr(linear, "COMPUTED", most)
        tree = NeuralTree(presets.table(1), (8,), SquaredError())
        fit_linear(tree, samples, seed=0)
        found.append(tree.output(samples.x).detach())
    assert not torch.equal(*found) and torch.allclose(*found, atol=0.05)


def test_classes_have_an_optimum_too() -> None:
    x, y = make_classification(80, 6, random_state=0)
    samples = Samples(torch.from_numpy(x).float(), torch.from_numpy(y))
    tree = NeuralTree(presets.table(2), (6,), Categorical())
    check_optimum(tree, samples)


def wide_numbers() -> tuple[np.ndarray, np.ndarray]:
    return make_regression(400, 600, n_informative=10, noise=20.0, random_state=0)


def wide_classes() -> tuple[np.ndarray, np.ndarray]:
    return make_classification(500, 300, n_informative=8, n_redundant=0, random_state=0)


def many_numbers() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 100))
    return x, x @ rng.normal(size=(100, 100)) / 10 + rng.normal(size=(800, 100))


RIDGE = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 5, 15)))
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
ALONE = NeuralTreeRegressor(max_leaves=1, max_transformers=0, random_state=0)


def test_classes_in_memory_have_the_optimum_that_batches_descend_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    weights = torch.rand(300, generator=torch.Generator().manual_seed(0)) + 0.5
    samples = Samples(torch.tensor(x, dtype=torch.float32), torch.tensor(y), weights)
    samples.weights[7] = 0.0
    samples.targets[7] = 3  # a class of no sample that counts
    whole, batched = (NeuralTree(presets.table(4), (6,), Categorical()) for _ in range(2))
    strength = fit_linear(whole, samples, seed=0)
    monkeypatch.setattr(linear, "NUMBERS", 600)  # 100 samples at a time
    assert fit_linear(batched, samples, seed=0) == pytest.approx(strength)
    first, second = (tree.output(samples.x).softmax(1) for tree in (whole, batched))
    assert (first - second).abs().max() < 0.02


@pytest.mark.parametrize("counting", [1, 2, 20])
def test_a_single_class_is_the_likeliest(counting: int) -> None:
    x = torch.linspace(-1, 1, 20)[:, None]
    samples = Samples(x, torch.ones(20, dtype=torch.int64), (torch.arange(20) < counting).float())
    tree = NeuralTree(presets.table(3), (1,), Categorical())
    assert fit_linear(tree, samples, seed=0) is not None
    assert (tree.output(x).argmax(1) == 1).all()


@pytest.mark.parametrize(
    ("table", "size", "model", "other", "least"),
    [
        (wide_numbers, 200, NeuralTreeRegressor(random_state=0), RIDGE, 0),
        (wide_classes, 150, NeuralTreeClassifier(random_state=0), LOGISTIC, 0.5),
        (many_numbers, 400, ALONE, RIDGE, 0.1),
    ],
)
def test_it_predicts_as_well_as_the_linear_models_of_scikit_learn(
    table: Callable, size: int, model: Any, other: Any, least: float
) -> None:
    x, x_test, y, y_test = train_test_split(*table(), train_size=size, random_state=0)
    score = model.fit(x, y).score(x_test, y_test)
    assert score > other.fit(x, y).score(x_test, y_test) - 0.02 > least


@pytest.mark.parametrize("unit", [1e-6, 1e10])
def test_targets_may_have_any_unit(unit: float) -> None:
    samples = rows()
    trees = [NeuralTree(presets.table(1), (8,), SquaredError()) for _ in range(2)]
    for tree, times in zip(trees, (1.0, unit), strict=True):
        told = Samples(samples.x, (samples.targets + 5) * times, samples.weights)
        fit_linear(tree, told, seed=0)
        fit_linear(tree, told, seed=0)  # where it begins plays no part
    one, other = (tree.output(samples.x).detach() for tree in trees)
    assert one.std() > 0.5 and torch.allclose(other / unit, one, atol=1e-2)


def knowing() -> tuple[nn.Linear, NeuralTree, Samples, Samples]:
    """What is true, a tree that knows it, samples of the contrary, and true ones to decide by."""
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    known = nn.Linear(3, 1)
    right = Samples(x[20:], known(x[20:]).detach())
    wrong = Samples(x[:20], -known(x[:20]).detach())
    tree = from_sequential(nn.Sequential(known), presets.table(1), (3,), SquaredError())
    return known, tree, wrong, right


def test_a_network_that_knows_better_is_left_as_it_is() -> None:
    known, tree, wrong, right = knowing()
    Growth(tree, wrong, right, NeuralTreeSettings(max_leaves=1, max_transformers=0)).run()
    solver = tree.nodes[0].end
    assert isinstance(solver, nn.Linear) and torch.equal(solver.weight, known.weight)


def test_a_network_that_knows_better_learns_from_all_samples_by_epochs() -> None:
    known, tree, wrong, right = knowing()
    few = NeuralTreeSettings(max_leaves=1, max_transformers=0, refine_epochs=4, learning_rate=1e-5)
    trained = train(tree, few, wrong, right, right)
    assert {record["phase"] for record in trained.history} == {"root", "refine", "finish"}
    assert trained.strength is None
    solver = trained.tree.nodes[0].end
    assert isinstance(solver, nn.Linear)
    assert torch.allclose(solver.weight, known.weight, atol=1e-2)


def begun(samples: Samples, **how: Any) -> Growth:
    """A growth whose root is trained."""
    tree = NeuralTree(presets.table(1), samples.x.shape[1:], SquaredError())
    growth = Growth(tree, samples, samples, NeuralTreeSettings(epochs=2), **how)
    if not growth.decisions:
        assert growth.strength is None  # nothing has been chosen yet
        growth.step()
    return growth


def test_at_its_optimum_nothing_is_learnt_by_epochs() -> None:
    samples = rows(200, 20)
    root, tree = (NeuralTree(presets.table(1), (20,), SquaredError()) for _ in range(2))
    growth = Growth(root, samples, samples, NeuralTreeSettings(epochs=2))
    start_linear(tree, samples, samples, seed=growth._seed("linear"))
    growth.step()
    solver, other = root.nodes[0].end, tree.nodes[0].end
    assert isinstance(solver, nn.Linear) and isinstance(other, nn.Linear)
    assert torch.equal(solver.weight, other.weight) and not len(growth.history)
    assert growth.loss == pytest.approx(evaluate(root, samples)["loss"])
    gaussian = NeuralTree(presets.table(2), (20,), GaussianMixture())
    own = Growth(gaussian, samples, samples, NeuralTreeSettings(epochs=2))
    own.step()
    assert len(own.history)  # deviations are to be learnt
    assert len(begun(rows(200, 16)).history)  # few columns are not penalised any more


def test_what_grows_from_it_is_penalised_as_it_is(tmp_path: Path) -> None:
    first = begun(rows(200, 20), folder=tmp_path, resume=True)
    again = begun(rows(200, 20), folder=tmp_path, resume=True)
    assert again.strength == first.strength is not None
    parts = [part for module in again.tree.new_deepening(0) for part in module.parameters()]
    told = {
        part: (group["weight_decay"], group["lr"])
        for group in again.optimizer(parts).param_groups
        for part in group["params"]
    }
    rates = {1: 0.01, 20: 0.01 * 16 / 20, 128: 0.01 * 16 / 128}  # by the number of inputs
    for part in parts:
        inputs = part.shape[1] if part.dim() > 1 else 1
        assert told[part] == (first.strength if inputs > 1 else 0, pytest.approx(rates[inputs]))


def test_of_lines_that_explain_nothing_the_penalty_is_one_of_weights_that_explain_all() -> None:
    samples = rows(200, 20)
    bent = Samples(samples.x, samples.x[:, :1].abs())
    most = float(samples.x.square().sum(1).mean()) / 200
    assert begun(bent).strength == pytest.approx(most)
    few = Samples(samples.x[:, :16], bent.targets)
    assert begun(few).strength == 0


def test_refinement_keeps_the_penalty_and_goes_on_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float | None] = []
    adam = NeuralTreeSettings.adam

    def noted(self: NeuralTreeSettings, strength: float | None = None, *others: Any) -> Any:
        told.append(strength)
        return adam(self, strength, *others)

    monkeypatch.setattr(NeuralTreeSettings, "adam", noted)
    monkeypatch.setattr(Growth, "choose", lambda self, gains: next(reversed(gains), "keep"))
    x, y = make_regression(100, 20, noise=30.0, random_state=0)
    few = {"max_leaves": 1, "max_transformers": 1, "epochs": 2, "refine_epochs": 2}
    model = NeuralTreeRegressor(**few, random_state=0).fit(x, y)
    [member] = model.members_
    assert [each.action for each in member.decisions] == ["root", "deepen", "keep"]
    assert member.strength and told[-2:] == [member.strength] * 2  # refined, and finished
    told.clear()
    [after] = model.set_params(warm_start=True).fit(x, y).members_
    assert told == [member.strength] and after.strength == member.strength
    assert model.settings_.strength == member.strength
    again = Trained.from_config(member.config(), presets.table(1), SquaredError())
    assert again.strength == member.strength


def test_gaussians_of_a_wide_table_tell_more_than_their_mean_and_deviation_alone() -> None:
    x, x_test, y, y_test = train_test_split(*wide_numbers(), train_size=200, random_state=0)
    model = NeuralTreeRegressor(loss="gaussian", random_state=0).fit(x, y)
    mean, deviation = model.predict(x_test, return_std=True)

    def loss(mean: np.ndarray, deviation: np.ndarray) -> float:
        return float(np.mean(np.log(deviation) + np.square((y_test - mean) / deviation) / 2))

    assert loss(mean, deviation) < loss(y.mean(), y.std())


def test_gaussians_begin_at_the_optimum_of_their_means() -> None:
    samples = rows(200, 20)
    tree = NeuralTree(presets.table(2), (20,), GaussianMixture())
    alone = NeuralTree(presets.table(1), (20,), SquaredError())
    strength = fit_linear(alone, samples, seed=0)
    found = start_linear(tree, samples, samples, seed=0)
    solver, means = tree.nodes[0].end, alone.nodes[0].end
    assert isinstance(solver, nn.Linear) and isinstance(means, nn.Linear)
    assert torch.equal(solver.weight, torch.cat([means.weight, torch.zeros(1, 20)]))
    square = evaluate(alone, samples)["loss"]
    assert solver.bias.tolist() == pytest.approx([means.bias.item(), np.log(square) / 2])
    most = float(samples.x.square().sum(1).mean()) / 200
    assert strength is not None and found == pytest.approx(min(strength, most) / 2 / square)


def test_numbers_that_no_float_can_hold_leave_it_as_it_is() -> None:
    samples = rows()
    tree = NeuralTree(presets.table(1), (8,), SquaredError())
    before = [part.clone() for part in tree.parameters()]
    fit_linear(tree, Samples(samples.x * 1e25, samples.targets), seed=0)
    assert all(map(torch.equal, tree.parameters(), before))


def test_columns_that_say_nothing_leave_the_mean() -> None:
    samples = Samples(torch.zeros(60, 8), rows().targets)
    tree = NeuralTree(presets.table(1), (8,), SquaredError())
    fit_linear(tree, samples, seed=0)
    assert torch.allclose(tree.output(samples.x), samples.targets.mean(0), atol=1e-5)


def test_a_column_far_from_0_hides_no_other() -> None:
    samples = rows()
    years = torch.linspace(1990, 2020, 60)[:, None]
    far = replace(samples, x=torch.cat([samples.x, years], dim=1))
    losses = []
    for each in (samples, far):
        tree = NeuralTree(presets.table(1), (each.x.shape[1],), SquaredError())
        fit_linear(tree, each, seed=0)
        losses.append(tree.loss(each).item())
    assert losses[1] < 1.1 * losses[0] < 0.5


@pytest.mark.parametrize("shape", [(60,), (60, 1)])
def test_targets_that_do_not_fit_the_outputs_are_refused(shape: tuple[int, ...]) -> None:
    tree = NeuralTree(presets.table(3), (8,), SquaredError())
    samples = Samples(rows().x, rows().targets.view(shape))
    with pytest.raises(ValueError, match="targets must be numbers"):
        fit_linear(tree, samples, seed=0)


def test_a_line_without_a_bias_has_its_optimum_too() -> None:
    samples = rows()
    primitives = replace(presets.table(1), solver=lambda shape: nn.Linear(*shape, 1, bias=False))
    check_optimum(NeuralTree(primitives, (8,), SquaredError()), samples)


def test_what_is_no_linear_model_of_a_table() -> None:
    samples = rows()
    tree = NeuralTree(presets.table(1), (8,), SquaredError())
    assert is_linear_model(tree, samples)
    assert not is_linear_model(NeuralTree(presets.mlp(1), (8,), SquaredError()), samples)
    unbounded = NeuralTree(presets.table(2), (8,), GaussianMixture())
    assert not is_linear_model(unbounded, samples)
    assert not is_linear_model(tree, samples[np.arange(5)])  # too few to hold some out
    assert not is_linear_model(tree, Samples(samples.x, samples.targets, augment=torch.relu))
    pairs = list(zip(samples.x, samples.targets, strict=True))
    assert not is_linear_model(tree, Samples.from_dataset(pairs))
    tree.split(0)
    assert not is_linear_model(tree, samples)


@pytest.mark.parametrize("seed", [6, 23])  # with these, random weights happen to be better
def test_an_untrained_tree_is_not_better_by_chance(seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(150, 200, generator=rng)
    y = (torch.rand(150, generator=rng) < 0.5).long()
    train, validation = Samples(x[:120], y[:120]), Samples(x[120:], y[120:])
    torch.manual_seed(seed)
    tree = NeuralTree(presets.table(2), (200,))
    before = tree.loss(validation).item()
    assert start_linear(tree, train, validation, seed=0) is not None
    assert before < tree.loss(validation).item()
