"""Runs of Tree-LSTMs by the commands, in this process at tiny sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from alike import assert_same_model
from commands import Done, call, ran, refused
from tree_lstm_runs import EXPRESSION, SIZES, TRAIN, is_picture, without_times

from structnet import tensor_tree
from structnet.datasets.truth import RELATIONS
from structnet.recipes import execution, run
from structnet.recipes.recipe import values_of
from structnet.recipes.tree_lstm import lrt, work
from structnet.recipes.tree_lstm.paper import PAPER
from structnet.recipes.tree_lstm.settings import AGGREGATORS, DEFAULTS, TreeLSTMRunSettings
from structnet.training.checkpoint import load_model
from structnet.training.history import History
from structnet.training.progress import Progress

TRIAL = ["reproduce", "tree-lstm", "--table", "2", "--generate", *SIZES, "--epochs", "1"]
TRIAL += ["--only", "sum,cp"]


class Trained(NamedTuple):
    data: str
    folder: Path
    done: Done


@pytest.fixture(scope="module", params=TRAIN)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp(request.param) / "run"
    return Trained(request.param, folder, call(*TRAIN[request.param], "--out", folder))


def interrupt_in(monkeypatch: pytest.MonkeyPatch, epoch: int) -> None:
    """Makes the training stop as by Ctrl-C before it has written this epoch's checkpoint."""
    say_when_due, ended = Progress.say_when_due, []

    def interrupted(progress: Progress, text: str, last: bool) -> None:
        say_when_due(progress, text, last)
        ended.append(text)
        if len(ended) == epoch:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "say_when_due", interrupted)


def test_the_run_folder(trained: Trained) -> None:
    data, folder, done = trained
    assert (done.status, done.err) == (0, "")
    assert done.progress[-1].startswith("epoch 3/3, loss ")
    assert "loss" not in done.out.rpartition("\n{")[0]
    names = {path.name for path in folder.iterdir()}
    pictures = {"history.png", "tree.png"} | ({"by_operators.png"} if data == "lrt" else set())
    assert names == pictures | {
        "checkpoint.safetensors",
        "config.json",
        "history.jsonl",
        "model.safetensors",
        "result.json",
    }
    assert all(is_picture(folder / name) for name in pictures)
    assert len(History.load(folder / "history.jsonl")) == 3
    assert done.json == json.loads((folder / "result.json").read_text())
    assert done.json["sizes"]["test"] == 40


def test_results_have_one_form(trained: Trained) -> None:
    result = trained.done.json
    keys = ["model", "data", "sizes", "test", "settings", "seconds", "run", "details"]
    assert list(result) == keys
    assert (result["model"], result["data"]) == ("tree-lstm", trained.data)
    assert 0 <= result["test"]["accuracy"] <= 1
    evaluated = call("evaluate", trained.folder).json
    assert list(evaluated) == keys[:-1]
    assert (evaluated["data"], evaluated["sizes"]) == (trained.data, {"test": 40})
    assert evaluated["test"] == result["test"]


def test_config_says_everything_that_rebuilds_the_model(trained: Trained) -> None:
    config = json.loads((trained.folder / "config.json").read_text())
    settings = TreeLSTMRunSettings(trained.data)
    assert config["settings"].keys() == values_of(settings).keys()
    assert config["settings"]["hidden_size"] == 4
    assert config["data"]["vocabulary"]["arity"] == (5 if trained.data == "listops" else 2)
    assert config["data"]["origin"] == "generated"
    assert load_model(trained.folder / "model.safetensors")[1] == config


def test_lrt_is_told_by_operators(trained: Trained) -> None:
    tested = trained.done.json["test"]
    if trained.data != "lrt":
        assert "accuracy_by_operators" not in tested
        return
    groups = tested["accuracy_by_operators"].values()
    assert sum(count for _, count in groups) == 40
    overall = sum(accuracy * count for accuracy, count in groups) / 40
    assert tested["accuracy"] == pytest.approx(overall)
    mean = sum(accuracy for accuracy, _ in groups) / len(groups)
    assert tested["accuracy_mean_over_operators"] == pytest.approx(mean)


def test_evaluate_on_a_file_agrees_with_predict(trained: Trained, tmp_path: Path) -> None:
    example = trained.done.json["details"]["example"]
    predicted = ran("predict", trained.folder, *example)
    file = tmp_path / "examples.tsv"
    file.write_text("\t".join([predicted.json["answers"][0]["class"], *example]) + "\n")
    done = call("evaluate", trained.folder, "--data", file)
    assert (done.json["test"]["accuracy"], done.json["sizes"]) == (1.0, {"test": 1})
    assert done.json["data"] == str(file.resolve())


def test_predict(trained: Trained) -> None:
    typed = [EXPRESSION] if trained.data == "listops" else ["( a ( and b ) )", "a"]
    done = call("predict", trained.folder, *typed, "--threads", 1)
    [answer] = done.json["answers"]
    assert answer["expression"] == typed
    assert answer["true"] == ("9" if trained.data == "listops" else "<")
    assert 0 < answer["probability"] <= 1
    assert done.out.startswith(f"predicted {answer['class']}")
    assert call("predict", trained.folder, "--threads", 1, *typed).json["answers"] == [answer]


def test_plot(trained: Trained, tmp_path: Path) -> None:
    done = ran("plot", trained.folder, "--out", tmp_path, *trained.done.json["details"]["example"])
    assert set(done.json) >= {"history", "tree"}
    assert ("by_operators" in done.json) == (trained.data == "lrt")
    assert all(is_picture(tmp_path / Path(path).name) for path in done.json.values())


def test_resuming_changes_nothing(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        interrupt_in(patch, epoch=2)
        stopped = call(*TRAIN[trained.data], "--out", folder)
    assert stopped.status == 130
    assert f"continue with: structnet train --resume {folder}" in stopped.err
    assert len(History.load(folder / "history.jsonl")) == 1
    done = ran("train", "--resume", folder)
    assert without_times(done.json) == without_times(trained.done.json)
    assert_same_model(folder, trained.folder)


def test_an_interrupted_run_has_no_model_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_in(monkeypatch, epoch=2)
    assert call(*TRAIN["listops"], "--out", tmp_path).status == 130
    assert f"structnet train --resume {tmp_path}" in refused("predict", tmp_path, EXPRESSION)
    assert set(call("plot", tmp_path).json) == {"history"}


def test_the_papers_optimizer(tmp_path: Path) -> None:
    options = ["--optimizer", "adadelta", "--weight-decay", "0.01", "--patience", "1"]
    ran(*TRAIN["listops"], *options, "--cell", "cp", "--out", tmp_path)
    rates = History.load(tmp_path / "history.jsonl")["learning_rate"]
    assert set(rates) == {1.0}


def test_the_model_is_built_once_before_the_first_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, first_weights = [], work.first_weights
    monkeypatch.setattr(
        work, "first_weights", lambda *args: (built.append(args), first_weights(*args))[1]
    )
    interrupt_in(monkeypatch, epoch=1)
    assert call(*TRAIN["listops"], "--out", tmp_path).status == 130
    assert len(built) == 1


def test_reproduce_continues_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = execution.result_of
    with monkeypatch.context() as patch:
        calls = []

        def stop_at_the_second(*arguments):
            calls.append(arguments)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return finished(*arguments)

        patch.setattr(execution, "result_of", stop_at_the_second)
        stopped = call(*TRIAL, "--out", tmp_path)
    assert stopped.status == 130
    assert not (tmp_path / "table2-lrt.md").exists()
    first = (tmp_path / "lrt-sum-0" / "result.json").stat().st_mtime_ns
    done = ran(*TRIAL, "--seeds", 2, "--out", tmp_path)
    assert "done already" in done.out
    assert (tmp_path / "lrt-sum-0" / "result.json").stat().st_mtime_ns == first
    check_table(tmp_path, done)
    other = call(*TRIAL, "--epochs", 2, "--out", tmp_path)
    assert (other.status, other.err.count("epochs 1, not 2")) == (2, 1)


def check_table(folder: Path, done: Done) -> None:
    assert done.json == json.loads((folder / "table2-lrt.json").read_text())
    rows = done.json["rows"]
    assert rows["weighted sum"]["parameters"] == "20,000"
    figures = {name: row["test accuracy"] for name, row in rows.items()}
    assert (figures["weighted sum"]["paper"], figures["CP"]["paper"]) == (0.91, None)
    results = [json.loads((folder / f"lrt-cp-{n}/result.json").read_text()) for n in (0, 1)]
    assert figures["CP"]["seeds"] == [result["test"]["accuracy"] for result in results]
    assert figures["CP"]["ours"] == pytest.approx(sum(figures["CP"]["seeds"]) / 2)
    text = (folder / "table2-lrt.md").read_text()
    assert "| weighted sum | 100 |  | one child | 1 |" in text and "| 91.00 |" in text
    pictures = ("lrt-by_operators", "lrt-validation", "table2-lrt")
    assert {Path(path).stem for path in done.json["pictures"]} == set(pictures)
    assert all(is_picture(folder / f"{name}.png") for name in pictures)


def test_a_table_of_other_data_is_refused(tmp_path: Path) -> None:
    assert call(*TRIAL, "--out", tmp_path).status == 0
    member = run.Run(tmp_path / "lrt-cp-0")
    config = member.config
    (member.folder / run.MODEL).unlink()  # which would know better
    member.write_config(config | {"data": config["data"] | {"origin": "published"}})
    assert "was trained on other data than" in refused(*TRIAL, "--out", tmp_path)


def test_the_papers_models_are_complete() -> None:
    for data, models in DEFAULTS.items():
        assert set(models) == set(AGGREGATORS) == set(tensor_tree.AGGREGATORS)
        assert set(PAPER[data]) <= set(models)


def test_relations_have_names() -> None:
    assert lrt.LRTData.classes == RELATIONS


def test_a_run_that_ended_goes_on_for_more_epochs(tmp_path: Path) -> None:
    words = [*TRAIN["listops"], "--optimizer", "adadelta"]
    whole = ran(*words, "--epochs", 5, "--out", tmp_path / "whole")
    ran(*words, "--epochs", 2, "--out", tmp_path / "run")
    more = ran("train", "--resume", tmp_path / "run", "--epochs", 5, "--patience", 9)
    assert (more.json["settings"]["epochs"], more.json["settings"]["patience"]) == (5, 9)
    assert more.json["details"]["epochs"] == 5
    assert more.json["test"] == whole.json["test"]
    again = ran("train", "--resume", tmp_path / "run")
    assert without_times(again.json) == without_times(more.json)
    wrong = refused("train", "--resume", tmp_path / "run", "--seed", 3)
    assert "keeps its settings except epochs and patience; got seed 3" in wrong


def test_an_interrupted_training_of_more_epochs_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(*TRAIN["listops"], "--optimizer", "adadelta", "--epochs", 1, "--out", tmp_path)

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("structnet.recipes.tree_lstm.work.fitted", stopped)
        assert call("train", "--resume", tmp_path, "--epochs", 3).status == 130
    assert ran("train", "--resume", tmp_path).json["details"]["epochs"] == 3
