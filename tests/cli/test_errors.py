"""What the commands say of bad input: one line, with what was wrong and what would be right."""

from __future__ import annotations

import io
import json
import shlex
import shutil
from pathlib import Path

import pytest
from commands import assert_told, call, edit_config, ran, refused
from disks import files_of_at_most, held
from fresh_python import python
from tree_lstm_runs import EXPRESSION, TRAIN

from structnet.cli import data
from structnet.cli.names import COMMANDS
from structnet.recipes.tree_lstm import work


@pytest.fixture(scope="module")
def listops_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("listops") / "run"
    assert call(*TRAIN["listops"], "--out", folder).status == 0
    return folder


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["RUN", "[MAX 2 [MIN 4 7 ]"], "line 1, column 1: 1 unclosed '['\n    [MAX 2"),
        (["RUN", "[MAX 2 x ]"], "unknown token 'x'"),
        (["RUN", "[MAXX 2 3 ]"], "unknown inner label 'MAXX'; did you mean 'MAX'?"),
        (["RUN", "[MAX 1 2 3 4 5 6 ]"], "has 6 children"),
        (["RUN", EXPRESSION, EXPRESSION], "expected one expression"),
        (["nowhere", EXPRESSION], "nowhere holds no run"),
        (["RUN", EXPRESSION, "--path", "greedy"], "unknown flag --path"),
        (["RUN", "--colour", EXPRESSION], "unknown flag --colour"),
        (["RUN"], "there is nothing to predict"),
    ],
)
def test_what_predict_says_of_bad_input(
    listops_run: Path, arguments: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    done = call("predict", *(str(listops_run) if a == "RUN" else a for a in arguments))
    assert (done.status, done.out) == (2, "")
    assert expected in done.err
    assert "Traceback" not in done.err


def test_predict_reads_what_is_not_named(
    listops_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{EXPRESSION}\n"))
    assert call("predict", listops_run).json == call("predict", listops_run, EXPRESSION).json


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--epochs", "3"], "name the model first, one of tree-lstm, neural-tree"),
        (["chess"], "there is no model 'chess'; expected one of tree-lstm, neural-tree"),
        (["tree-lstm"], "--data is missing: listops, to predict the value (0-9) of a list expr"),
        (["LISTOPS", "--epochs", "0"], "--epochs must be an int in the range [1, inf). Got 0"),
        (["LISTOPS", "--epochs", "three"], "--epochs: must be a whole number; got 'three'"),
        (["LISTOPS", "--epochs"], "--epochs needs a value"),
        (["LISTOPS", "--learning-rate", "nan"], "in the range (0, inf). Got nan instead."),
        (["LISTOPS", "--cell", "sum", "--rank", "3"], "sum has no rank; got rank 3"),
        (["LRT", "--max-depth", "5"], "--max-depth is for listops"),
        (["LISTOPS", "--cell", "child-sum", "--forget", "all"], "forget='child'"),
        (["LISTOPS", "--cell", "tuker"], "got 'tuker'; did you mean 'tucker'?"),
        (["LISTOPS", "--device", "abacus"], "--device must name a device of this machine"),
        (["LISTOPS", "--forget", "chld"], "got 'chld'; did you mean 'child'?"),
        (["LISTOPS", "--train-size", "50", "--max-depth", "1"], "fewer than 10,050 trees"),
        (["LISTOPS", "extra"], "unexpected argument 'extra'"),
        (["tree-lstm", "--data", "listop"], "or the path of a file or folder of trees; got '"),
        (["tree-lstm", "--data", "mine.txt", "--epochs", "0"], "--epochs must be an int in the ra"),
        (["tree-lstm", "--data", "mine.txt", "--pools", "roots"], "'attention']. Got ('roots',)"),
        (["tree-lstm", "--data", "mine.txt", "--target"], "--target needs a value"),
        (["tree-lstm", "--data", "mine.txt", "--max-depth", "3"], "unknown flag --max-depth"),
        (["--resume", "nowhere"], "nowhere holds no run"),
        (["--resume"], "--resume needs the folder of a run; got nothing after it"),
        (["--resume", "RUN", "--epochs", "7"], "except patience; got epochs 7"),
        (["LRT", "--resume", "RUN"], "was started with data listops"),
        (["neural-tree", "--resume", "RUN"], "is a run of tree-lstm, not of neural-tree"),
        (["--resume", "RUN", "--out", "elsewhere"], "leave out --out"),
        (["LISTOPS", "--out", "RUN"], "already has a run; choose another folder"),
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
    meant = {"RUN": [str(listops_run)]}
    meant |= {name.upper(): ["tree-lstm", "--data", name] for name in ("listops", "lrt")}
    assert expected in refused("train", *(word for a in arguments for word in meant.get(a, [a])))
    assert not list(tmp_path.iterdir())
    assert (listops_run / "config.json").read_bytes() == before


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("train listops", "train tree-lstm --data listops"),
        ("train lrt", "train tree-lstm --data lrt"),
        ("train digits", "train neural-tree --data digits"),
        ("train houses.csv", "train neural-tree --data houses.csv"),
        ("train tree-lstm lrt", "train tree-lstm --data lrt"),
        ("train neural-tree houses.csv", "train neural-tree --data houses.csv"),
        ("reproduce listops", "reproduce tree-lstm --table 1"),
        ("reproduce lrt", "reproduce tree-lstm --table 2"),
        ("reproduce sarcos", "reproduce neural-tree --table 3 --data sarcos"),
    ],
)
def test_a_suggestion_works(
    typed: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refused(*typed.split()).endswith(f"did you mean: structnet {meant}\n")
    # Followed, it comes as far as the device, which is asked for before anything is read.
    monkeypatch.chdir(tmp_path)
    assert "'abacus'" in refused(*shlex.split(meant), "--device", "abacus")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("trian tree-lstm", "did you mean 'train'?"),
        ("train tree-lst", "did you mean 'tree-lstm'?"),
        ("reproduce neural-tre", "did you mean 'neural-tree'?"),
        ("train tree-lstm --data listop", "did you mean 'listops'?"),
        ("train tree-lstm --data lrt --epoch 3", "did you mean --epochs?"),
        ("train neural-tree --data digits --no-router", "did you mean --no-routers?"),
        ("train neural-tree --data digitz", "did you mean 'digits'?"),
        ("reproduce tree-lstm --table 1 --only tuker", "did you mean 'tucker'?"),
        ("data minst", "did you mean 'mnist'?"),
        ("data x.csv --task clasification", "did you mean 'classification'?"),
    ],
)
def test_a_slip_gets_a_suggestion(typed: str, meant: str) -> None:
    assert meant in refused(*typed.split())


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("evaluate", "usage: structnet evaluate RUN"),
        ("evaluate --device cpu", "name the run first"),
        ("reproduce tree-lstm", "--table is missing: number of the table in the paper"),
        ("reproduce tree-lstm --table 3", "--table must be one of 1, 2, own; got 3"),
        ("reproduce tree-lstm 1", "'1' must be given as a flag"),
        ("reproduce tree-lstm --table 1 --seeds 0", "--seeds must be an int in the range [1"),
        ("data", "NAME must be one of listops, lrt, digits"),
    ],
)
def test_what_is_left_out_is_said(typed: str, expected: str) -> None:
    done = call(*typed.split())
    assert expected in (done.out if expected.startswith("usage") else done.err)


def test_a_neural_tree_grows_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for typed in ("train neural-tree --data digits", "reproduce neural-tree --table 3"):
        err = refused(*typed.split(), "--out", tmp_path / "run")
        assert err.endswith(": neural-tree trains in one process; leave out torchrun\n")
    assert not list(tmp_path.iterdir())


def test_the_version_is_said() -> None:
    from structnet import __version__

    done = call("--version")
    assert done[:3] == (0, f"structnet {__version__}\n", "")


def test_every_command_is_a_module_of_its_name() -> None:
    folder = Path(data.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} >= set(COMMANDS)


def test_a_flag_that_is_given_twice_is_told() -> None:
    words = ["--data", "listops", "--device", "cpu", "--epochs=3", "--epochs", 4]
    told = call("train", "tree-lstm", *words, "--device", "abacus").err
    assert "note: --epochs is given 2 times; the last one counts\n" in told
    assert told.count("note: ") == 2 and "abacus" in told
    once = call("train", "tree-lstm", "--data", "listops", "--device", "abacus").err
    assert "note: " not in once and "abacus" in once


def test_a_resumed_run_may_repeat_its_settings(listops_run: Path) -> None:
    words = ["tree-lstm", "--data", "listops", "--resume", listops_run, "--epochs", 3]
    again = ran("train", *words, "--threads", 1)
    assert again.json["details"]["epochs"] == 3
    assert call("train", f"--resume={listops_run}").json["test"] == again.json["test"]


def test_a_loss_that_is_not_finite_is_a_failure(tmp_path: Path) -> None:
    done = call(*TRAIN["listops"], "--learning-rate", "1e38", "--out", tmp_path)
    assert done.status == 1
    assert "is not finite in epoch 1" in done.err


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("config.json", b"{", "config.json is damaged"),
        ("config.json", b"{}", "it lacks model, settings, data"),
        ("model.safetensors", b"\x80pickle!!", "never loaded"),
        ("model.safetensors", None, "training has not ended"),
    ],
)
def test_damaged_runs(
    listops_run: Path, tmp_path: Path, name: str, content: bytes | None, expected: str
) -> None:
    shutil.copytree(listops_run, tmp_path, dirs_exist_ok=True)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    assert expected in refused("evaluate", tmp_path)


def test_a_model_knows_its_own_classes(listops_run: Path, tmp_path: Path) -> None:
    """Whatever config.json has been made to say since."""
    truth = call("predict", listops_run, EXPRESSION).json
    run = shutil.copytree(listops_run, tmp_path / "run")
    edit_config(run, "data", "classes", [*reversed("0123456789")])
    edit_config(run, "settings", "hidden_size", 10**9)
    assert call("predict", run, EXPRESSION).json == {**truth, "run": str(run)}


def test_a_setting_by_an_unknown_name_is_not_replaced_by_a_default(
    listops_run: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(listops_run, tmp_path / "run")
    edit_config(run, "settings", "aggregator", "sum")
    for file in ("model.safetensors", "result.json"):
        (run / file).unlink()
    said = refused("train", "--resume", run)
    assert f"{run} was made by another version of structnet; train it again" in said


EDITS = [
    ("settings", "hidden_size", 10**9), ("settings", "hidden_size", "ten"),
    ("settings", "rank", []),
    ("settings", "cell", 3), ("settings", "data", None), ("settings", "data", 7),
    ("settings", "train_size", -1), ("settings", "learning_rate", "fast"), ("settings", None, []),
    ("data", None, "listops"), ("data", "classes", None), ("model", None, 3), ("model", None, "x"),
    ("settings", "batch_size", 1e300), ("settings", "threads", "many"), ("settings", "bottom", {}),
]  # fmt: skip


@pytest.mark.parametrize(("part", "name", "value"), EDITS)
def test_configurations_that_somebody_edited(
    listops_run: Path, tmp_path: Path, part: str, name: str | None, value: object
) -> None:
    """One line, with the model's file or without: no traceback."""
    run = shutil.copytree(listops_run, tmp_path / "run")
    edit_config(run, part, name, value)
    for words in (["predict", run, EXPRESSION], ["train", "--resume", run]):
        assert_told(*words)
        for file in ("model.safetensors", "checkpoint.safetensors", "result.json"):
            (run / file).unlink(missing_ok=True)
        if part != "settings":
            break


def test_a_folder_that_cannot_be_written_into_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the data are generated."""
    monkeypatch.setattr(work, "load", lambda *_: pytest.fail("the data were read"))
    (tmp_path / "file").write_text("in the way")
    done = call(*TRAIN["listops"], "--out", tmp_path / "file" / "run")
    assert done.status == 1
    assert f"{tmp_path / 'file' / 'run'}: cannot be written: Not a directory" in done.err


def test_a_folder_in_which_another_process_works(tmp_path: Path) -> None:
    with held(tmp_path / "run") as other:
        done = call(*TRAIN["listops"], "--out", tmp_path / "run")
    assert done.status == 1
    assert f"is in use by process {other.pid} on " in done.err


def test_a_disk_that_gets_full(listops_run: Path, tmp_path: Path) -> None:
    """The file is named, what was there stays, and the run goes on when there is room again."""
    run = tmp_path / "run"
    with files_of_at_most(10_000):
        done = call(*TRAIN["listops"], "--out", run)
    assert done.status == 1
    assert f"{run}/checkpoint.safetensors: cannot be written: File too large" in done.err
    assert [file.name for file in run.iterdir()] == ["config.json"]
    again = ran("train", "--resume", run)
    assert again.json["test"] == call("evaluate", listops_run).json["test"]


def test_evaluate_names_the_bad_line(listops_run: Path, tmp_path: Path) -> None:
    file, missing = tmp_path / "bad.tsv", tmp_path / "missing.tsv"
    file.write_text(f"9\t{EXPRESSION}\n9\t[MAX 9\n")
    done = call("evaluate", listops_run, "--data", file)
    assert done.status == 2
    assert "bad.tsv, line 2, column 3: 1 unclosed '['" in done.err
    assert "missing.tsv: No such file" in refused("evaluate", listops_run, "--data", missing)


def test_debug_shows_where_an_error_came_from() -> None:
    with pytest.raises(ValueError, match="holds no run"):
        call("predict", "nowhere", EXPRESSION, "--debug")


def test_letters_that_the_terminal_does_not_know(tmp_path: Path) -> None:
    rows = ["é,b,y", *(f"{i},{i % 3},日{i % 2}" for i in range(40))]
    (tmp_path / "rows.csv").write_text("\n".join(rows), encoding="utf-8")
    short = ["--depth", "1", "--start", "rows", "--max-iter", "1", "--out", "run"]
    train = ["train", "softmax-tree", "--data", "rows.csv", *short]
    asked = ["predict", "run", "rows.csv"], ["predict", "run"]  # a file, then what is typed
    old = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    code = f"from structnet.cli import main; [main(words) for words in {[train, *asked]}]"
    typed = "\ufeff" + "\n".join(rows)
    done = python("-c", code, cwd=tmp_path, typed=typed, **old)
    assert done.returncode == 0, done.stderr
    expected = call("predict", tmp_path / "run", tmp_path / "rows.csv").json["answers"]
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [each["answers"] for each in told[1:]] == [expected] * 2, done.stderr
    assert done.stdout.count("\nrow 1: class \\u65e5") == 2 and done.stdout.isascii()
