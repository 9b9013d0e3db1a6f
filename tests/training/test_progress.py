"""What is said of a training: a bar where somebody watches, lines in time where nobody does."""

from __future__ import annotations

import sys

import pytest
from growths import grow
from train_helpers import Classifier, rows, scripted_fit

from structnet.training import fit
from structnet.training.progress import Progress


class Clock:
    """Goes on by some seconds whenever it is read."""

    def __init__(self, seconds: float):
        self.now, self.seconds = 0.0, seconds

    def __call__(self) -> float:
        self.now += self.seconds
        return self.now


def lines(capsys: pytest.CaptureFixture) -> list[str]:
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


def watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a terminal of the standard error."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


@pytest.mark.parametrize(
    ("seconds", "epochs"), [(10, [1, 2, 3, 4, 5, 6]), (4, [1, 4, 6]), (0.1, [1, 6])]
)
def test_a_line_an_epoch_at_most_every_ten_seconds(
    seconds: float, epochs: list[int], capsys: pytest.CaptureFixture
) -> None:
    progress = Progress(clock=Clock(seconds))
    history = fit(Classifier(), rows(8), rows(4), epochs=6, batch_size=4, progress=progress)
    shown = lines(capsys)
    assert [line.split(",")[0] for line in shown] == [f"epoch {epoch}/6" for epoch in epochs]
    losses = f", loss {history['loss'][-1]:.3g}, val loss {history['validation_loss'][-1]:.3g}"
    assert losses in shown[-1] and shown[-1].endswith(" s")


def test_the_last_line_is_that_of_an_early_stop(capsys: pytest.CaptureFixture) -> None:
    _, history = scripted_fit([5, 6, 7, 4], patience=2, progress=Progress(clock=Clock(0)))
    assert len(history) == 3
    assert lines(capsys)[-1].startswith("epoch 3/4, ")


def test_nothing_is_said_if_nothing_is_wanted(capsys: pytest.CaptureFixture) -> None:
    for progress in (False, Progress(shown=False)):
        fit(Classifier(), rows(8), epochs=2, batch_size=4, progress=progress)
    assert lines(capsys) == []


def test_a_terminal_has_the_bar_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    watch(monkeypatch)
    progress = Progress(clock=Clock(100))
    fit(Classifier(), rows(8), rows(4), epochs=3, batch_size=4, progress=progress)
    shown = capsys.readouterr().err
    assert "epoch 3/3 100%" in shown and "epoch 3/3, " not in shown
    assert ", loss 0." in shown and ", val loss 0." in shown


def test_a_growth_has_a_line_for_epochs_and_decisions(capsys: pytest.CaptureFixture) -> None:
    growth = grow(progress=Progress(clock=Clock(10)))
    shown = lines(capsys)
    assert shown[0].startswith("decision 0, root of node 0, epoch 1/")
    decided = [line for line in shown if "epoch" not in line]
    assert [line.rpartition("; ")[0] for line in decided] == list(map(str, growth.decisions))
    assert decided[-1].endswith("; 0 to decide")
    assert len(shown) == len(decided) + len(growth.history)


def test_every_decision_of_a_growth_has_a_line(capsys: pytest.CaptureFixture) -> None:
    growth = grow(progress=Progress(clock=Clock(0)))
    first, *others = lines(capsys)
    assert first.startswith("decision 0, root of node 0, epoch 1/")
    assert len(others) == len(growth.decisions) and not any("epoch" in line for line in others)
    for line, decision in zip(others, growth.decisions, strict=True):
        assert line.startswith(f"decision {decision.number}, node {decision.node}: ")
        for kind, loss in decision.candidates.items():
            assert f"{kind} {loss:.4f} ± {decision.errors[kind]:.4f}" in line
    assert " -> keep; " in others[-1] and f", {growth.tree.num_leaves} leaves, " in others[-1]


def test_the_bar_of_a_growth_says_node_candidate_and_decision(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    watch(monkeypatch)
    growth = grow(progress=True)
    shown = capsys.readouterr().err
    for part in ("decision 0, root of node 0", "decision 1, split of node 0"):
        assert f"{part}, epoch 2/2 100%" in shown
    assert all(str(decision) in shown for decision in growth.decisions)
