"""The training of a neural tree as a whole: growth, refinement, pruning, and going on."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from growths import assert_same_weights, make_samples, make_tree, same_weights, untimed
from small_estimators import NARROW, SMALL, classifier, held_out, regressor
from torch import nn

from structnet.estimators.checked import seed_from
from structnet.neural_tree import (
    Categorical,
    Growth,
    NeuralTree,
    NeuralTreeSettings,
    SquaredError,
    Trained,
    finish,
    presets,
    prune,
    refine,
    train,
)
from structnet.neural_tree.training import go_on
from structnet.routing import Samples
from structnet.training.history import History
from structnet.training.metrics import accuracy, evaluate

SHORT = NeuralTreeSettings(
    max_leaves=3,
    min_samples=2,
    epochs=3,
    refine_epochs=3,
    batch_size=20,
    learning_rate=0.05,
    seed=4,
)
TRAIN, VALIDATION = make_samples(60, 60), make_samples(40, 40)


def trained(settings: NeuralTreeSettings = SHORT, **how) -> Trained:
    return train(make_tree(), settings, TRAIN, VALIDATION, **how)


def test_it_says_that_it_has_grown_and_goes_on(capsys: pytest.CaptureFixture) -> None:
    found = trained(progress=True)
    told = capsys.readouterr().err.splitlines()
    decided = [i for i, line in enumerate(told) if line.startswith("decision") and "; " in line]
    assert len(decided) == len(found.decisions)
    assert told[decided[-1] + 1] == "refinement of the whole tree: 3 epochs at most"
    trained(replace(SHORT, refine_epochs=0), progress=True)
    assert "refinement" not in capsys.readouterr().err


def sparing_routers(tree: NeuralTree) -> Callable:
    """An optimizer with weight decay of all but the routers, of which there are some."""
    routers = [node.router for node in tree.nodes if node.router is not None]
    assert routers
    return SHORT.adam(decay=0.1, spared=nn.ModuleList(routers).parameters())


def test_it_is_growth_then_refinement_then_pruning() -> None:
    settings = replace(SHORT, prune=0.05, weight_decay=0.1)
    found, tree = trained(settings), make_tree()
    growth = Growth(tree, TRAIN, VALIDATION, SHORT)
    growth.run()
    how = {"epochs": 3, "batch_size": 20, "seed": 4, "progress": False}
    refined = refine(tree, TRAIN, VALIDATION, optimizer=sparing_routers(tree), **how)
    assert_same_weights(found.tree, prune(tree, TRAIN, 0.05))
    assert untimed(found.growth) == untimed(growth.history)
    place = {"phase": "refine", "node": 0, "decision": len(growth.decisions)}
    assert untimed(found.refinement) == untimed([place | record for record in refined])
    assert list(found.history) == [*found.growth, *found.refinement]
    assert found.undecided == []


def test_last_all_samples_are_learnt_from(tmp_path: Path) -> None:
    settings = replace(SHORT, refine_epochs=5, prune=None, weight_decay=0.1)
    everything = make_samples(100, 60)
    refined = trained(settings)
    expected = deepcopy(refined.tree)
    expected.temper()  # temperatures are applied at the end
    how = {"epochs": 2, "batch_size": 20, "seed": 4, "progress": False}
    finished = finish(expected, everything, optimizer=sparing_routers(expected), **how)
    for folder in (None, tmp_path, tmp_path):  # anew, into a folder, and from there
        found = trained(settings, everything=everything, folder=folder)
        assert_same_weights(found.tree, expected)
        assert not same_weights(found.tree, refined.tree)
        place = {"phase": "finish", "node": 0, "decision": len(found.decisions)}
        assert untimed(found.history)[-2:] == untimed([place | record for record in finished])
        assert untimed(found.growth) == untimed(refined.growth)
        assert untimed(found.refinement) == untimed(refined.refinement)


@pytest.mark.parametrize(("lowest", "epochs"), [(1, 1), (2, 2), (3, 3), (6, 3)])
def test_all_samples_are_learnt_from_no_longer_than_it_helped(
    lowest: int, epochs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever epoch has the highest accuracy; and half of the epochs of refinement at most."""

    def told(*samples: Any, **options: Any) -> History:
        accuracies = {"validation_accuracy": 0.5, "best": False}
        return History(
            {"epoch": i, "loss": 1.0, "validation_loss": abs(i - lowest), **accuracies}
            for i in range(1, 7)
        )

    monkeypatch.setattr("structnet.neural_tree.training.refine", told)
    found = trained(replace(SHORT, refine_epochs=6), everything=make_samples(100, 60))
    assert [each["phase"] for each in found.history].count("finish") == epochs


def test_of_a_table_the_loss_has_a_say_in_the_choice_of_the_epoch() -> None:
    """A share of 0.3 of right predictions counts as much as a nat of loss."""

    def worth(loss: float, accuracy: float) -> float:
        return accuracy - 0.3 * loss

    rng = torch.Generator().manual_seed(2)
    x = torch.randn(400, 2, generator=rng)
    y = (x[:, 0].abs() > 0.7) ^ (torch.rand(400, generator=rng) < 0.15)
    parts = Samples(x[:200], y[:200].long()), Samples(x[200:], y[200:].long())
    root = NeuralTree(presets.table(2, width=5), (2,))
    settings = replace(SHORT, epochs=20, refine_epochs=9)
    found = train(root, settings, *parts)
    assert found.strength is not None and found.tree.num_leaves > 1
    each = [(r["validation_loss"], r["validation_accuracy"]) for r in found.refinement]
    told = [record["validation_sure_accuracy"] for record in found.refinement]
    assert told == pytest.approx([worth(*one) for one in each])
    kept = evaluate(found.tree, parts[1], metrics={"accuracy": accuracy})
    assert worth(**kept) == pytest.approx(max(told)) and found.refinement.best is not None
    best = int(np.argmax(told))
    assert np.argmin(each, axis=0)[0] != best != np.argmax(each, axis=0)[1]
    other = trained(replace(settings, refine_epochs=1))  # it began as no linear model
    assert other.strength is None and "validation_sure_accuracy" not in other.refinement[0]


def test_refinement_stops_without_a_new_best_unless_it_is_to_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = replace(SHORT, refine_epochs=60, prune=None)
    monkeypatch.setattr(NeuralTreeSettings, "waits", lambda self, size, steps=0: 2)
    found = trained(settings, everything=make_samples(100, 60))
    best = [record["epoch"] for record in found.refinement if record["best"]]
    assert len(found.refinement) == max(best, default=0) + 2 < 60
    whole = trained(replace(settings, stop_refinement=False), everything=make_samples(100, 60))
    assert len(whole.refinement) == 60


def test_going_on_stops_where_the_training_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NeuralTreeSettings, "waits", lambda self, size, steps=0: 2)
    settings = replace(SHORT, max_leaves=1, refine_epochs=60, prune=None)
    first = trained(replace(settings, refine_epochs=0))
    again = go_on(first, settings, TRAIN, VALIDATION)
    best = [record["epoch"] for record in again.refinement if record["best"]]
    assert len(again.refinement) == max(best, default=0) + 2 < 60
    whole = go_on(first, replace(settings, stop_refinement=False), TRAIN, VALIDATION)
    assert len(whole.refinement) == 60


def test_the_rate_of_the_last_epochs_falls() -> None:
    history = finish(make_tree(), TRAIN, epochs=4, batch_size=20, progress=False)
    assert history["learning_rate"] == pytest.approx([1e-3, 7.5e-4, 5e-4, 2.5e-4])


def test_without_epochs_of_refinement_the_tree_stays_as_it_grew(tmp_path: Path) -> None:
    found = trained(replace(SHORT, refine_epochs=0), folder=tmp_path)
    assert len(found.refinement) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["growth.safetensors"]


@pytest.mark.parametrize("stop", [1, 3, "refine"])
def test_an_interrupted_training_goes_on_to_the_same_tree(tmp_path: Path, stop: int | str) -> None:
    def interrupt(so_far: Trained) -> None:
        if stop in (len(so_far.decisions), so_far.history[-1]["phase"]):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(folder=tmp_path, callbacks=[interrupt])
    resumed, whole = trained(folder=tmp_path), trained()
    assert_same_weights(resumed.tree, whole.tree)
    assert untimed(resumed.history) == untimed(whole.history)


def test_callbacks_hear_of_every_decision_and_epoch() -> None:
    heard: list[tuple[int, int, str]] = []

    def listen(so_far: Trained) -> None:
        heard.append((len(so_far.decisions), len(so_far.undecided), so_far.history[-1]["phase"]))

    found = trained(callbacks=[listen])
    decisions = len(found.decisions)
    assert [number for number, _, _ in heard[:decisions]] == list(range(1, decisions + 1))
    assert heard[0] == (1, 1, "root")
    assert heard[decisions:] == [(decisions, 0, "refine")] * 3


def test_the_seed_decides() -> None:
    assert_same_weights(trained().tree, trained().tree)
    assert not same_weights(trained().tree, trained(replace(SHORT, seed=5)).tree)


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_an_estimator_and_the_training_give_the_same_tree(
    task: str, blobs: tuple, lines: tuple
) -> None:
    X, y = blobs if task == "classes" else lines
    held = (X[::4], y[::4])
    model = (classifier if task == "classes" else regressor)(prune=0.05)
    model.fit(X, y, **held_out(held))
    likelihood = Categorical() if task == "classes" else SquaredError()
    seed = int(np.random.SeedSequence([seed_from(0), 0]).generate_state(2)[1])
    torch.manual_seed(seed)
    root = NeuralTree(NARROW(model.tree_.num_outputs), X.shape[1:], likelihood)
    given = {name: value for name, value in SMALL.items() if name != "random_state"}
    settings = NeuralTreeSettings(**given, prune=0.05, seed=seed)
    trained = train(root, settings, model.samples(X, y), model.samples(*held))
    assert_same_weights(trained.tree, model.tree_)
    assert untimed(trained.history) == untimed(model.history_)
    assert model.get_n_leaves() > 1
