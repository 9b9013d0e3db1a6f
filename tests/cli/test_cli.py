"""The commands, run in this process at tiny sizes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from commands import Done, call

from structnet.cli import data, training
from structnet.cli.models import AGGREGATORS
from structnet.cli.recipes import PAPER, RECIPES
from structnet.cli.settings import settings_of
from structnet.cli.tasks import RELATION_NAMES
from structnet.cli.train import speaker
from structnet.datasets import DownloadError, listops, lrt
from structnet.datasets.truth import RELATIONS
from structnet.training.checkpoint import load_model
from structnet.training.history import History

ROOT = Path(__file__).parents[2]
EXPRESSION = "[MAX 2 9 [MIN 4 7 ] 0 ]"
SIZES = ["--train-size", "120", "--test-size", "40"]
SMALL = [*SIZES, "--hidden-size", "4", "--rank", "2", "--epochs", "3", "--batch-size", "30"]
TASKS = {
    "listops": ["train", "listops", "--max-depth", "4", *SMALL],
    "lrt": ["train", "lrt", "--generate", *SMALL],
}
TRIAL = ["reproduce", "lrt", "--generate", *SIZES, "--epochs", "1", "--only", "sum,cp"]


class Trained(NamedTuple):
    task: str
    folder: Path
    done: Done


@pytest.fixture(scope="module", params=TASKS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp(request.param) / "run"
    return Trained(request.param, folder, call(*TASKS[request.param], "--out", folder))


@pytest.fixture(scope="module")
def listops_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("listops") / "run"
    assert call(*TASKS["listops"], "--out", folder).status == 0
    return folder


def without_times(result: dict) -> dict:
    return {name: value for name, value in result.items() if name not in ("seconds", "run")}


def is_picture(path: Path) -> bool:
    return path.read_bytes()[:4] == b"\x89PNG"


def interrupt_in(monkeypatch: pytest.MonkeyPatch, epoch: int) -> None:
    """Makes the training stop as by Ctrl-C before it has written this epoch's checkpoint."""
    tell = training._tell_epoch

    def interrupted(model, history, **options):
        tell(model, history, **options)
        if len(history) == epoch:
            raise KeyboardInterrupt

    monkeypatch.setattr(training, "_tell_epoch", interrupted)


def test_help_is_silent_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from structnet.cli import main; main(['train', '--help']); "
        "sys.exit(bool({'torch', 'dgl', 'numba', 'numpy', 'matplotlib'} & set(sys.modules)))"
    )
    for arguments in (["-m", "structnet", "--help"], ["-c", code]):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "usage: structnet" in done.stdout


@pytest.mark.parametrize(
    "command", ["train", "evaluate", "predict", "plot", "data", "reproduce", None]
)
def test_every_command_has_help_with_examples(command: str | None) -> None:
    done = call(*([command] if command else []), "--help")
    assert done.status == 0
    assert "  structnet " in done.out


def test_the_run_folder(trained: Trained) -> None:
    task, folder, done = trained
    assert (done.status, done.err) == (0, "")
    assert done.progress[-1].startswith("epoch 3/3, loss ")
    names = {path.name for path in folder.iterdir()}
    pictures = {"history.png", "tree.png"} | ({"by_operators.png"} if task == "lrt" else set())
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
    assert done.json["test_size"] == 40


def test_config_says_everything_that_rebuilds_the_model(trained: Trained) -> None:
    config = json.loads((trained.folder / "config.json").read_text())
    assert config["settings"].keys() == settings_of({"task": trained.task}).keys()
    assert config["settings"]["hidden_size"] == 4
    assert config["vocabulary"]["arity"] == (5 if trained.task == "listops" else 2)
    assert config["data"]["origin"] == "generated"
    assert load_model(trained.folder / "model.safetensors")[1] == config


def test_lrt_is_told_by_operators(trained: Trained) -> None:
    if trained.task != "lrt":
        assert "test_accuracy_by_operators" not in trained.done.json
        return
    groups = trained.done.json["test_accuracy_by_operators"].values()
    assert sum(count for _, count in groups) == 40
    overall = sum(accuracy * count for accuracy, count in groups) / 40
    assert trained.done.json["test_accuracy"] == pytest.approx(overall)
    mean = sum(accuracy for accuracy, _ in groups) / len(groups)
    assert trained.done.json["test_accuracy_mean_over_operators"] == pytest.approx(mean)


def test_evaluate_on_the_runs_own_test_data(trained: Trained) -> None:
    done = call("evaluate", trained.folder, "--batch-size", 7)
    assert done.status == 0
    assert done.json["size"] == 40
    assert done.json["accuracy"] == trained.done.json["test_accuracy"]


def test_evaluate_on_a_file_agrees_with_predict(trained: Trained, tmp_path: Path) -> None:
    example = trained.done.json["example"]
    predicted = call("predict", trained.folder, *example)
    assert predicted.status == 0
    file = tmp_path / "examples.tsv"
    file.write_text("\t".join([predicted.json["class"], *example]) + "\n")
    done = call("evaluate", trained.folder, "--data", file)
    assert (done.json["accuracy"], done.json["size"]) == (1.0, 1)


def test_predict(trained: Trained) -> None:
    typed = [EXPRESSION] if trained.task == "listops" else ["( a ( and b ) )", "a"]
    done = call("predict", trained.folder, *typed)
    assert done.json["expression"] == typed
    assert done.json["true"] == ("9" if trained.task == "listops" else "<")
    assert 0 < done.json["probability"] <= 1
    assert done.out.startswith(f"predicted {done.json['class']}")


def test_plot(trained: Trained, tmp_path: Path) -> None:
    done = call("plot", trained.folder, "--out", tmp_path, *trained.done.json["example"])
    assert done.status == 0
    assert set(done.json) >= {"history", "tree"}
    assert ("by_operators" in done.json) == (trained.task == "lrt")
    assert all(is_picture(tmp_path / Path(path).name) for path in done.json.values())


def test_a_picture_that_fails_does_not_lose_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("no room for it")

    monkeypatch.setattr(training, "draw_tree", fail)
    done = call(*TASKS["listops"], "--out", tmp_path)
    assert done.status == 0
    assert done.json == json.loads((tmp_path / "result.json").read_text())
    expected = "structnet: warning: tree.png was not drawn: RuntimeError: no room for it; "
    assert done.err == f"{expected}try again with: structnet plot {tmp_path}\n"
    assert is_picture(tmp_path / "history.png")


def test_resuming_changes_nothing(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        interrupt_in(patch, epoch=2)
        stopped = call(*TASKS[trained.task], "--out", folder)
    assert stopped.status == 130
    assert f"continue with: structnet train --resume {folder}" in stopped.err
    assert len(History.load(folder / "history.jsonl")) == 1
    done = call("train", "--resume", folder)
    assert done.status == 0
    assert without_times(done.json) == without_times(trained.done.json)
    weights, _ = load_model(trained.folder / "model.safetensors")
    for name, value in load_model(folder / "model.safetensors")[0].items():
        assert torch.equal(value, weights[name]), name


def test_an_interrupted_run_has_no_model_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_in(monkeypatch, epoch=2)
    assert call(*TASKS["listops"], "--out", tmp_path).status == 130
    done = call("predict", tmp_path, EXPRESSION)
    assert done.status == 2
    assert f"structnet train --resume {tmp_path}" in done.err
    assert set(call("plot", tmp_path).json) == {"history"}


def test_the_papers_optimizer(tmp_path: Path) -> None:
    options = ["--optimizer", "adadelta", "--weight-decay", "0.01", "--patience", "1"]
    done = call(*TASKS["listops"], *options, "--aggregator", "cp", "--out", tmp_path)
    assert done.status == 0
    rates = History.load(tmp_path / "history.jsonl")["learning_rate"]
    assert set(rates) == {1.0}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["RUN", "[MAX 2 [MIN 4 7 ]"], "line 1, column 1: 1 unclosed '['\n    [MAX 2"),
        (["RUN", "[MAX 2 x ]"], "unknown token 'x'"),
        (["RUN", "[MAXX 2 3 ]"], "unknown inner label 'MAXX'; did you mean 'MAX'?"),
        (["RUN", "[MAX 1 2 3 4 5 6 ]"], "has 6 children"),
        (["RUN", EXPRESSION, EXPRESSION], "expected one expression"),
        (["nowhere", EXPRESSION], "nowhere holds no run"),
        (["RUN", EXPRESSION, "--path", "greedy"], "--path is for neural trees"),
        (["RUN", "--colour", EXPRESSION], "unrecognized arguments: --colour"),
        (["RUN"], "required: expression"),
    ],
)
def test_what_predict_says_of_bad_input(
    listops_run: Path, arguments: list[str], expected: str
) -> None:
    done = call("predict", *(str(listops_run) if a == "RUN" else a for a in arguments))
    assert (done.status, done.out) == (2, "")
    assert expected in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "name a task, listops or lrt, or a run to continue with --resume"),
        (["chess"], "invalid choice: 'chess'"),
        (["listops", "--epochs", "0"], "--epochs: must be a whole number of at least 1; got '0'"),
        (["listops", "--learning-rate", "nan"], "must be a number above 0; got 'nan'"),
        (["listops", "--aggregator", "sum", "--rank", "3"], "sum has no rank; got --rank 3"),
        (["lrt", "--max-depth", "5"], "--max-depth is for listops"),
        (["listops", "--aggregator", "child-sum", "--forget", "all"], "forget='child'"),
        (["listops", "--device", "abacus"], "'abacus'"),
        (["listops", "--train-size", "50", "--max-depth", "1"], "fewer than 10,050 trees"),
        (["--resume", "nowhere"], "nowhere holds no run"),
        (["--resume", "RUN", "--epochs", "7"], "was started with epochs 3"),
        (["lrt", "--resume", "RUN"], "was started with task listops"),
        (["--resume", "RUN", "--out", "elsewhere"], "leave out --out"),
        (["listops", "--out", "RUN"], "holds a run already"),
    ],
)
def test_what_train_says_of_bad_input(
    listops_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)  # where nothing may appear
    before = (listops_run / "config.json").read_bytes()
    done = call("train", *(str(listops_run) if a == "RUN" else a for a in arguments))
    assert done.status == 2
    assert expected in done.err
    assert "Traceback" not in done.err
    assert not list(tmp_path.iterdir())
    assert (listops_run / "config.json").read_bytes() == before


def test_a_resumed_run_may_repeat_its_settings(listops_run: Path) -> None:
    again = call("train", "listops", "--resume", listops_run, "--epochs", 3, "--threads", 1)
    assert again.status == 0
    assert again.json["epochs"] == 3


def test_a_loss_that_is_not_finite_is_a_failure(tmp_path: Path) -> None:
    done = call(*TASKS["listops"], "--learning-rate", "1e38", "--out", tmp_path)
    assert done.status == 1
    assert "is not finite in epoch 1" in done.err


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("config.json", b"{", "config.json is damaged"),
        ("config.json", b"{}", "it lacks settings"),
        ("model.safetensors", b"\x80pickle!!", "never loaded"),
        ("model.safetensors", None, "training has not ended"),
    ],
)
def test_damaged_runs(
    listops_run: Path, tmp_path: Path, name: str, content: bytes | None, expected: str
) -> None:
    for file in listops_run.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    done = call("evaluate", tmp_path)
    assert (done.status, done.out) == (2, "")
    assert expected in done.err


def test_evaluate_names_the_bad_line(listops_run: Path, tmp_path: Path) -> None:
    file = tmp_path / "bad.tsv"
    file.write_text(f"9\t{EXPRESSION}\n9\t[MAX 9\n")
    done = call("evaluate", listops_run, "--data", file)
    assert done.status == 2
    assert "bad.tsv, line 2, column 3: 1 unclosed '['" in done.err
    missing = call("evaluate", listops_run, "--data", tmp_path / "missing.tsv")
    assert missing.status == 2
    assert "missing.tsv: No such file" in missing.err


def test_debug_shows_where_an_error_came_from() -> None:
    with pytest.raises(ValueError, match="holds no run"):
        call("predict", "nowhere", EXPRESSION, "--debug")


def test_generated_data_are_what_they_say(tmp_path: Path) -> None:
    done = call("data", "listops", "--generate", "--num", 50, "--out", tmp_path)
    sizes = {Path(path).name: content["size"] for path, content in done.json["files"].items()}
    assert sizes == {"train.tsv": 45, "test.tsv": 5}
    assert len(listops.read_tsv(tmp_path / "train.tsv", verify=True)[0]) == 45
    done = call("data", "lrt", "--generate", "--num", 60, "--seed", 3, "--out", tmp_path / "lrt")
    assert len(lrt.read_tsv(tmp_path / "lrt" / "test.tsv", verify=True)) == 9
    assert call("data", "lrt", "--num", 60).status == 2  # would be ignored without --generate


def test_published_data_that_are_not_the_published_ones(tmp_path: Path) -> None:
    (tmp_path / "train_d20s.tsv").write_text("9\t[MAX 9 1 ]\n")
    done = call("data", "listops", "--data-dir", tmp_path)
    assert done.status == 2
    assert "hash" in done.err


def test_a_failed_download_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source, data_dir):
        raise DownloadError(f"cannot download {source.name}")

    monkeypatch.setattr(data, "fetch", fail)
    done = call("data", "listops")
    assert (done.status, done.out) == (1, "")
    assert done.err == "structnet data: error: cannot download train_d20s.tsv\n"


def test_reproduce_continues_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = training._finish
    with monkeypatch.context() as patch:
        calls = []

        def stop_at_the_second(run, *arguments):
            calls.append(run)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return finished(run, *arguments)

        patch.setattr(training, "_finish", stop_at_the_second)
        stopped = call(*TRIAL, "--out", tmp_path)
    assert stopped.status == 130
    assert not (tmp_path / "table.md").exists()
    first = (tmp_path / "sum-0" / "result.json").stat().st_mtime_ns
    done = call(*TRIAL, "--runs", 2, "--out", tmp_path)
    assert done.status == 0
    assert "done already: " in done.out
    assert (tmp_path / "sum-0" / "result.json").stat().st_mtime_ns == first
    check_table(tmp_path, done)
    other = call(*TRIAL, "--epochs", 2, "--out", tmp_path)
    assert (other.status, other.err.count("epochs 1, not 2")) == (2, 1)


def check_table(folder: Path, done: Done) -> None:
    assert done.json == json.loads((folder / "table.json").read_text())
    by_name = {row["model"]: row for row in done.json["models"]}
    assert by_name["sum"]["parameters"] == 20000
    assert (by_name["sum"]["paper"], by_name["cp"]["paper"]) == (91.0, None)
    assert by_name["cp"]["runs"] == 2
    results = [json.loads((folder / f"cp-{n}/result.json").read_text()) for n in (0, 1)]
    mean = 50 * sum(result["test_accuracy"] for result in results)
    assert by_name["cp"]["accuracy"] == pytest.approx(mean, abs=0.01)
    text = (folder / "table.md").read_text()
    assert "| weighted sum | 100 |  | 20,000 | one child |" in text
    assert all(is_picture(folder / f"{name}.png") for name in ("by_operators", "validation"))


def test_only_the_first_process_speaks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    speaker()("a line")
    assert capsys.readouterr().out == ""


def test_recipes_are_complete() -> None:
    for task, recipes in RECIPES.items():
        assert set(recipes) == set(AGGREGATORS)
        assert set(PAPER[task]) <= set(recipes)


def test_relations_have_names() -> None:
    assert set(RELATION_NAMES) == set(RELATIONS)
