"""Routed language models through the command: train, resume, ask, draw, and the thesis' figures."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from commands import Done, call, ran, refused

from structnet import RoutedLanguageModel
from structnet.datasets import load_text
from structnet.naru import Sentences, Wiring, preparation
from structnet.recipes.naru.paper import Choice
from structnet.recipes.naru.settings import NaruRunSettings
from structnet.recipes.naru.text import load_data
from structnet.recipes.naru.work import open as open_run
from structnet.recipes.recipe import Place, settings_from
from structnet.recipes.run import Run
from structnet.text import learn_vectors

SMALL = ["--sizes", "1,2,2,1", "--dims", "6,6", "--vector-size", "5"]
TEXT = ["the cat sees the dog .", "a dog hears the cat .", "the owl sees a cat ."] * 20


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "animals.txt"
    path.write_text("\n".join(TEXT), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(file: Path) -> tuple[Path, Done]:
    folder = file.parent / "run"
    words = ["train", "naru", "--data", file, *SMALL, "--loss", "squared_error"]
    done = ran(*words, "--epochs", "3", "--out", folder)
    return folder, done


def test_a_run(run: tuple[Path, Done], file: Path) -> None:
    folder, done = run
    assert set(done.json["test"]) == {"accuracy", "perplexity", "words"}
    assert done.json["sizes"] == {"train": 48, "validation": 6, "test": 6}
    details = done.json["details"]
    assert details["mean_vector_loss"] > 0
    model = open_run(Run(folder), Place())
    test = Sentences(model.words_.encode(load_text(file, seed=0).test))
    loss = model.model_.loss(test).item()
    assert (
        details["trained"]["vector_loss"]
        == pytest.approx(loss)
        != pytest.approx(details["untrained"]["vector_loss"])
    )
    names = {path.name for path in folder.iterdir()}
    pictures = {"history.png", "utilisation.png", "route_changes.png", "bias.png", "network.png"}
    assert pictures | {"routing.json", "routing.npz", "vectors.safetensors"} <= names
    assert 0 < details["following_words"]["accuracy"] <= details["trained"]["accuracy"]
    assert details["untrained"]["perplexity"] != details["following_words"]["perplexity"]
    routing = json.loads((folder / "routing.json").read_text())
    assert routing["sentences"] == 6


def test_it_goes_on(run: tuple[Path, Done], file: Path) -> None:
    folder, done = run
    assert call("train", "--resume", folder).json["test"] == done.json["test"]
    wrong = call("train", "--resume", folder, "--sizes", "1,3,2,1")
    assert "was started with sizes 1,2,2,1" in wrong.err


def test_it_answers(run: tuple[Path, Done], file: Path) -> None:
    folder, done = run
    asked = call("predict", folder, "the cat", "an xyzzy", "--top", "2").json["answers"]
    assert [len(each["words"]) for each in asked] == [2, 2]
    assert asked[1]["unknown_words"] == ["an", "xyzzy"]
    call("predict", folder, "the cat", "--top", "2", "--out", folder / "words.csv")
    header, row = (folder / "words.csv").read_text().splitlines()
    first, second = asked[0]["words"]
    columns = "input,text,unknown_words,path,word,probability,probability of "
    assert header == f"{columns}{first},probability of {second}"
    assert f",{first},{asked[0]['words'][first]}," in row
    assert asked[0]["path"][0] == asked[0]["path"][-1] == 0
    assert call("evaluate", folder).json["test"] == pytest.approx(done.json["test"])
    assert call("evaluate", folder, "--data", file).json["sizes"] == {"test": 60}
    err = call("evaluate", folder, "--top=3").err
    assert f"--top is for structnet predict, as {folder} is of naru" in err
    assert "--top" not in call("evaluate", folder, "--help").out
    assert "the text has no words; expected the beginning" in call("predict", folder, " ").err
    drawn = call("plot", folder, "--out", folder / "pictures").json
    assert set(drawn) == {"history", "utilisation", "route_changes", "bias", "network"}
    assert "leave out 'cat'" in call("plot", folder, "cat").err


def test_it_answers_lines(
    run: tuple[Path, Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, lines = run[0], tmp_path / "beginnings.txt"
    lines.write_text("the cat\n\n an owl sees\n", encoding="utf-8")
    expected = call("predict", folder, "the cat", "an owl sees").json["answers"]
    assert call("predict", folder, lines).json["answers"] == expected
    monkeypatch.setattr("sys.stdin", io.StringIO(lines.read_text(encoding="utf-8")))
    piped = call("predict", folder).json["answers"]
    assert [each["words"] for each in piped] == [each["words"] for each in expected]
    missing = call("predict", folder, tmp_path / "missing.txt")
    assert "missing.txt: No such file or directory" in missing.err


def test_a_text_without_known_words_has_no_perplexity(
    run: tuple[Path, Done], tmp_path: Path
) -> None:
    (tmp_path / "other.txt").write_text("quick brown foxes\n", encoding="utf-8")
    done = call("evaluate", run[0], "--data", tmp_path / "other.txt")
    assert "none of the words to predict is known" in done.out
    assert done.json["test"] == {"accuracy": 0.0, "words": 0}


def test_it_says_that_counts_answer_alone(run: tuple[Path, Done]) -> None:
    folder, done = run
    for out in done.out, call("evaluate", folder).out:
        assert out.count("the network adds nothing sure to the counts of following words") == 1
    model = open_run(Run(folder), Place())
    assert not model.uses_network_
    model.model_.variance.fill_(1.0)
    assert model.uses_network_


def test_the_command_and_python_train_the_same_model(file: Path) -> None:
    folder, seed = file.parent / "same", 3
    cut = ["--max-length", "4", "--epochs", "2", "--seed", seed]  # counts are of whole sentences
    ran("train", "naru", "--data", file, *SMALL, *cut, "--out", folder)
    text = load_text(file, seed=seed)
    small = {"sizes": (1, 2, 2, 1), "dims": (6, 6), "vector_size": 5, "max_length": 4, "epochs": 2}
    model = RoutedLanguageModel(**small, random_state=seed).fit(text.train, X_val=text.validation)
    trained = RoutedLanguageModel.load(folder / "model.safetensors")
    np.testing.assert_array_equal(trained.predict_proba(text.test), model.predict_proba(text.test))
    assert trained.measure(text.test) == model.measure(text.test)
    assert len(text.train[0]) > 4 and model.model_.following is not None


def test_a_folder_of_refused_settings_is_free(file: Path) -> None:
    words = ["train", "naru", "--data", file, *SMALL[:2], "--epochs", "1"]
    folder = file.parent / "again"
    said = "one number per capsule between the first and the last, 2 in all"
    assert said in refused(*words, "--dims", "6", "--out", folder)
    assert not folder.exists()


def test_the_baseline(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, learned = file.parent / "gru", []
    command = ["train", "naru", "--data", file, *SMALL, "--epochs", "2", "--network", "gru"]
    monkeypatch.setattr(
        preparation, "learn_vectors", lambda *given: learned.append(1) or learn_vectors(*given)
    )
    done = call(*command, "--out", folder)
    assert len(learned) == 1  # the untrained network has the same vectors
    assert "utilisation" not in done.json["details"]["trained"]
    assert (folder / "history.png").exists() and not (folder / "network.png").exists()
    assert "path" not in call("predict", folder, "the cat").json["answers"][0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--data", "browm"], "did you mean 'brown'?"),
        (["--data", "text.csv"], "or a file whose name ends in .txt; got 'text.csv'"),
        (["--data", "pydoc", "--sizes", "1,x,1"], "--sizes: must be a whole number; got 'x'"),
        (["--data", "pydoc", "--batch-size", "0"], "--batch-size must be an int"),
        (["--data", "pydoc", "--dims", "4"], "one number per capsule"),
        (["--data", "pydoc", "--sizes", "1,2,3,2", "--dims", "4,4"], "1 at both ends"),
        (["--data", "pydoc", "--sizes", "1,12,1", "--dims", "4"], "at most 6 can be reached"),
    ],
)
def test_bad_words_are_refused(words: list[str], said: str, tmp_path: Path) -> None:
    err = refused("train", "naru", *words, "--out", tmp_path / "run", "--train-size", "20")
    assert said in err


@pytest.mark.parametrize("model", ["naru", "language-model"])
def test_fewer_sentences_than_to_train_on_are_refused(
    model: str, file: Path, tmp_path: Path
) -> None:
    words = ["--data", file, "--train-size", "49", "--out", tmp_path / "run"]
    said = "there are only 48 training sentences; got a size of 49"
    assert said in refused("train", model, *words)


def test_sizes_of_sentences_are_drawn(file: Path) -> None:
    told = {"data": str(file), "train_size": 20, "validation_size": 4, "test_size": 9}
    whole = load_data(NaruRunSettings(str(file)))
    data = load_data(settings_from(NaruRunSettings, told))
    assert [len(part) for part in (data.train, data.validation, data.test)] == [20, 4, 6]
    place = np.sort(np.random.default_rng(0).permutation(48)[:20])
    assert data.train == [whole.train[i] for i in place] != whole.train[:20]


def test_the_figures_of_the_thesis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [line.split() for line in TEXT]
    monkeypatch.setattr("structnet.datasets.text.pydoc_sentences", lambda: few)
    command = ["reproduce", "naru", "--data", "pydoc", "--train-size", "30", "--epochs", "2"]
    for number, rows, more in (
        (20, {"NARU, untrained", "NARU, trained"}, "--table"),
        (18, {"NARU, untrained", "NARU, trained"}, "--figure"),
        (19, {"NARU"}, "--figure"),
        (17, {"mean vector", "NARU, untrained", "NARU", "GRU"}, "--figure"),
    ):
        done = ran(*command, more, number, "--out", tmp_path)
        assert set(done.json["rows"]) == rows
        assert (tmp_path / f"figure{number}-pydoc.md").exists()
        assert len(done.json["pictures"]) == 2
    assert Choice().settings("naru", 0).training.wiring(50) == Wiring()  # the thesis's
    assert "must be one of 17, 18, 19, 20" in call("reproduce", "naru", "--figure", "7").err
    wrong = call("reproduce", "naru", "--figure", "19", "--epochs", "1", "--out", tmp_path / "x")
    assert "--epochs must be at least 2 for a figure that compares epochs; got 1" in wrong.err
    assert not (tmp_path / "x").exists()
