"""A family of one number gets every command through its recipe alone."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import Done, call, ran, refused
from torch import nn

from structnet.plot import plot_history
from structnet.recipes import RECIPES
from structnet.recipes.paper import Member, PaperTable, Row, Table, values_in
from structnet.recipes.protocol import Recipe
from structnet.recipes.recipe import Answer, Ask, Outcome, Place
from structnet.recipes.run_settings import RunSettings
from structnet.training import History, fit

# ---- the family, and its recipe


class Mean(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.guess = nn.Parameter(torch.zeros(()))

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        return (batch - self.guess).square().mean()


@dataclass(frozen=True)
class ToySettings(RunSettings):
    """Learns the mean of some numbers.

    Args:
        data: ones or twos
        epochs: passes through them
    """

    DATA_SETS = ("ones", "twos")

    data: str
    epochs: int = 3
    place: Place = field(default_factory=Place)


class Numbers:
    def __init__(self, size: int, value: float):
        self.train = self.validation = self.test = torch.full((size,), value)

    def describe(self) -> dict[str, Any]:
        return {"mean": self.train.mean().item()}


@dataclass(frozen=True)
class Choice:
    """Compares with the paper."""

    epochs: int = 3


def members(choice: Choice, seed: int) -> list[Member]:
    return [Member("mean", f"ones-{seed}", ToySettings("ones", choice.epochs))]


def make(choice: Choice, runs: Mapping) -> Table:
    ours = values_in(runs["mean"], {"error": "test.mse"})
    return Table("Table 1: means", ["error"], [Row("mean", {"error": 0.5}, ours)], ["Toys."])


class ToyWork:
    def load(self, settings, say):
        return Numbers(8, 1.0 + (settings.data == "twos"))

    def train(self, settings, data, run, say):
        how = {"checkpoint": run.folder, "resume": True, "epochs": settings.epochs}
        history = fit(model := Mean(), data.train, data.validation, batch_size=4, **how)
        run.save_model(model)
        return Outcome(sum(history["seconds"]), {"epochs": len(history)})

    def open(self, run, place):
        return run.load_model(lambda content: Mean())

    def read(self, run, file, place):
        return torch.ones(5)

    def measure(self, model, examples, ask):
        return {"mse": model.loss(examples).item()}

    def answer(self, model, texts, ask):
        return [Answer(f"{text}? {model.guess.item():.3f}", {}) for text in texts]

    def pictures(self, run, data, texts, place):
        return {"history.png": lambda: plot_history(run.history)[0]}


class ToyRecipe(Recipe):
    name, Settings, Ask, Choice, work = "toy", ToySettings, Ask, Choice, ToyWork()
    examples = dict.fromkeys(("train", "reproduce"), "  structnet train toy --data ones")
    tables = {1: PaperTable(["ones"], lambda choice: "table1", members, make)}  # noqa: RUF012


# ---- what it gets


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "toy", ToyRecipe)


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, Done]:
    folder = tmp_path / "run"
    done = ran("train", "toy", "--data", "ones", "--out", folder)
    return folder, done


def test_train(run: tuple[Path, Done]) -> None:
    folder, done = run
    assert done.json["test"]["mse"] < 1
    assert done.json["sizes"] == {"train": 8, "validation": 8, "test": 8}
    assert {"config.json", "result.json", "model.safetensors", "history.png"} <= {
        path.name for path in folder.iterdir()
    }


def test_a_picture_that_fails_does_not_lose_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("no room for it")

    drawn = {
        "bad.png": fail,
        "history.png": lambda: plot_history(History([{"epoch": 1, "loss": 1.0}]))[0],
    }
    monkeypatch.setattr(ToyWork, "pictures", lambda *_, **__: drawn)
    done = ran("train", "toy", "--data", "ones", "--out", tmp_path)
    assert done.json == json.loads((tmp_path / "result.json").read_text())
    expected = "structnet: warning: bad.png was not drawn: RuntimeError: no room for it; "
    assert done.err == f"{expected}try again with: structnet plot {tmp_path}\n"
    assert (tmp_path / "history.png").exists() and not (tmp_path / "bad.png").exists()
    with pytest.raises(RuntimeError, match="no room for it"):
        call("plot", tmp_path)


def test_an_interruption_of_a_compiled_loop_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        stop = SystemError("returned a result with an exception set")
        stop.__cause__ = KeyboardInterrupt()
        raise SystemError("returned a result with an exception set") from stop

    monkeypatch.setattr(ToyWork, "train", stopped)
    done = call("train", "toy", "--data", "ones", "--out", tmp_path)
    said = f"interrupted; continue with: structnet train --resume {tmp_path}\n"
    assert (done.status, done.err) == (130, f"structnet train: {said}")
    monkeypatch.setattr(ToyWork, "load", stopped)
    done = call("train", "--resume", tmp_path)
    assert (done.status, done.err) == (130, "structnet train: interrupted\n")


@pytest.mark.parametrize(("number", "told"), [(errno.ENOSPC, True), (errno.EIO, False)])
def test_a_training_goes_on_after_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, told: bool
) -> None:
    def failed(*_: object) -> None:
        raise OSError(number, "cannot be written", "state")

    with monkeypatch.context() as full:
        full.setattr(ToyWork, "train", failed)
        done = call("train", "toy", "--data", "ones", "--out", tmp_path)
    then = f"; with more room, continue with: structnet train --resume {tmp_path}" * told
    assert (done.status, done.err) == (
        1,
        f"structnet train: error: state: cannot be written{then}\n",
    )
    assert call("train", "--resume", tmp_path).status == 0


def test_another_system_error_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(*_: object) -> None:
        raise SystemError("no interruption")

    monkeypatch.setattr(ToyWork, "train", failed)
    with pytest.raises(SystemError, match="no interruption"):
        call("train", "toy", "--data", "ones", "--out", tmp_path)


def test_resume(run: tuple[Path, Done]) -> None:
    folder, done = run
    again = call("train", "--resume", folder, "--threads", "1")
    assert again.json["test"] == done.json["test"]
    for flags, said in (
        (["--epochs", "9"], "was started with epochs 3"),
        (["--data", "twos"], "was started with data ones"),
    ):
        assert said in refused("train", "toy", "--resume", folder, *flags)


def test_evaluate_and_predict(run: tuple[Path, Done]) -> None:
    folder, done = run
    assert call("evaluate", folder).json["test"] == done.json["test"]
    assert call("evaluate", folder, "--data", "five").json["sizes"] == {"test": 5}
    asked = call("predict", folder, "what", "--threads", "1")
    assert asked.json["asked"]["threads"] == 1
    assert asked.out.startswith("what? 0.") and len(asked.json["answers"]) == 1


def test_plot(run: tuple[Path, Done], tmp_path: Path) -> None:
    done = call("plot", run[0], "--out", tmp_path / "pictures")
    assert done.json == {"history": str(tmp_path / "pictures" / "history.png")}


def test_reproduce(tmp_path: Path) -> None:
    command = ["reproduce", "toy", "--table", "1", "--out", tmp_path]
    row = call(*command, "--seeds", "2").json["rows"]["mean"]["error"]
    assert row["paper"] == 0.5 and len(row["seeds"]) == 2
    assert "done already" in call(*command).out
    assert {path.suffix for path in tmp_path.glob("table1*")} == {".md", ".json", ".png"}
    assert "epochs 3, not 4" in call(*command, "--epochs", "4").err


def test_help() -> None:
    for command in ("train", "reproduce"):
        assert "toy " in call(command, "--help").out
        assert "--epochs INT" in call(command, "toy", "--help").out
    assert "toy" in call("--help").out
