"""The commands on label trees and language models."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from commands import Done, call, ran, refused
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

from structnet.datasets import read_fasttext
from structnet.label_tree.features import Features
from structnet.label_tree.settings import LabelTreeSettings
from structnet.recipes.label_tree.data import LabelledLines, _split, load_data, wanted_labels
from structnet.recipes.label_tree.paper import members
from structnet.recipes.label_tree.settings import Choice, LabelTreeRunSettings
from structnet.recipes.label_tree.work import open as open_run
from structnet.recipes.language_model.settings import LanguageModelRunSettings
from structnet.recipes.language_model.settings import Rows as LanguageRows
from structnet.recipes.language_model.work import load as load_text
from structnet.recipes.recipe import Place
from structnet.recipes.run import Run
from structnet.training.checkpoint import load_model, save_model

PLANTED = ["--data", "planted", "--train-size", "3000", "--planted-depth", "3", "--epochs", "4"]
QUICK = [*PLANTED, "--arity", "4", "--tree", "learned", "--learning-rate", "0.1"]
WORDS = ["cat", "dog", "owl", "cow", "hen", "fox"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("runs") / "run"
    done = ran("train", "label-tree", *QUICK, "--out", folder)
    return folder, done


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines of labelled text: a label and words that tell it, and one that tells nothing."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("text") / "lines.txt"
    kinds = rng.integers(6, size=600)
    path.write_text(
        "".join(
            f"__label__{WORDS[k]} {'__label__pet ' if k < 2 else ''}the {WORDS[k]}s are{i % 7}\n"
            for i, k in enumerate(kinds)
        )
    )
    return path


def test_train(run: tuple[Path, Done]) -> None:
    folder, done = run
    assert done.json["test"]["accuracy"] > 0.3
    assert done.json["details"]["nodes"] == 21
    there = {path.name for path in folder.iterdir()}
    assert {"tree.png", "learning.png", "history.png", "tree.txt", "model.safetensors"} <= there
    assert (folder / "tree.txt").read_text().count("\n") == 1 + 4 + 16


def test_what_a_run_is_asked(run: tuple[Path, Done]) -> None:
    folder, done = run
    again = call("evaluate", folder, "--top", "3")
    assert again.json["test"]["accuracy"] == done.json["test"]["accuracy"]
    assert again.json["test"]["recall_at_3"] <= done.json["test"]["recall_at_5"]
    asked = call("predict", folder, "0", "7", "--top", "2")
    assert len(asked.json["answers"]) == 2 and "test example 7, in truth " in asked.out
    assert "numbers of test examples" in call("predict", folder, "x").err
    assert call("plot", folder).status == 0


def test_who_gets_no_tree_is_told(tmp_path: Path) -> None:
    shape = ["--planted-arity", "100", "--planted-depth", "1"]  # labels without a hierarchy
    quick = ["--train-size", "3000", "--epochs", "4", "--learning-rate", "0.3"]
    how = ["train", "label-tree", "--data", "planted", *shape, *quick]
    done = call(*how, "--out", tmp_path / "untold")
    assert "a single node of all labels, better held out than a tree (--arity 20)" in done.out
    assert done.json["details"]["objective"] is None  # which no JSON would hold if it were NaN
    assert done.json["test"]["nodes_visited"] == 1
    told = call(*how, "--arity", "20", "--out", tmp_path / "told")
    assert " tree of arity 20, 4 epochs" in told.out and told.json["test"]["nodes_visited"] > 1


def test_a_run_without_a_pass(tmp_path: Path) -> None:
    """Of rows around centres, a discriminant analysis knows all that there is to know."""
    shape = ["--planted-arity", "100", "--planted-depth", "1", "--train-size", "3000"]
    done = call("train", "label-tree", "--data", "planted", *shape, "--out", tmp_path)
    assert (
        "a single node of all labels, better held out than a tree (--arity 20), solved" in done.out
    )
    assert done.json["details"]["chosen"]["epochs"] == 0 and done.json["test"]["accuracy"] > 0.8
    assert call("evaluate", tmp_path).json["test"] == done.json["test"]
    assert call("plot", tmp_path).status == 0


def test_what_begins_with_nothing_makes_a_pass(tmp_path: Path) -> None:
    told = refused("train", "label-tree", *QUICK, "--epochs", "0", "--out", tmp_path / "run")
    assert "'epochs' parameter must be 1 or more" in told and "with a tree of nodes" in told


def test_a_run_that_was_killed_goes_on(run: tuple[Path, Done], tmp_path: Path) -> None:
    from structnet.label_tree import Training

    _folder, done = run
    whole, part = Training.run, tmp_path / "part"

    def killed(self, examples, until=None, after_epoch=lambda training: None):
        whole(self, examples, until=2 * len(examples), after_epoch=after_epoch)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "run", killed)
        stopped = call("train", "label-tree", *QUICK, "--out", part)
    assert "--resume" in stopped.err
    again = call("train", "--resume", part)
    assert "going on after 2 of 4 epochs" in again.out
    assert again.json["test"] == done.json["test"]


def test_n_jobs_are_the_threads_that_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from structnet.label_tree import Training

    whole, threads = Training.run, []

    def watched(self, *examples, **how):
        threads.append(self.threads)
        return whole(self, *examples, **how)

    monkeypatch.setattr(Training, "run", watched)
    ran("train", "label-tree", *QUICK, "--n-jobs", "2", "--out", tmp_path / "two")
    ran("train", "label-tree", *QUICK, "--threads", "1", "--out", tmp_path / "one")
    assert threads[-1] == 1 and 2 in threads
    refused = call("train", "--resume", tmp_path / "one", "--n-jobs", "2", "--seed", "5")
    assert "keeps its settings except n-jobs; got seed 5" in refused.err
    assert call("train", "--resume", tmp_path / "one", "--n-jobs", "2").status == 0


def test_labelled_text(lines: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    how = ["--epochs", "30", "--vector-size", "8", "--word-pairs", "--char-ngrams", "3"]
    how += ["--tree", "learned", "--arity", "3", "--learning-rate", "0.2"]
    done = call("train", "label-tree", "--data", lines, *how, "--out", folder)
    assert "lines of 600 have several labels: one of each is drawn" in done.out
    assert done.json["test"]["recall_at_5"] > 0.9
    asked = call("predict", folder, "the owls are2", "unheard words", "--top", "1")
    assert list(asked.json["answers"][0]["labels"]) == ["owl"]
    assert not (folder / "learning.png").exists()  # labels were grouped once: there is no course
    other = tmp_path / "other.txt"
    other.write_text("__label__owl the owls\n__label__bat the bats\n")
    tested = call("evaluate", folder, "--data", other)
    assert "1 label that it does not know" in tested.out
    assert tested.json["test"]["accuracy"] == 0.5


def test_words_of_labelled_text_have_the_weights_of_tf_idf(lines: Path, tmp_path: Path) -> None:
    data = load_data(LabelTreeRunSettings(str(lines)), print)
    read = read_fasttext(lines)
    texts = [[read.words[word] for word in each] for each in np.split(read.ids, read.offsets[1:-1])]
    learn, _, test = _split(len(texts), LabelTreeRunSettings(str(lines)))
    tf_idf = TfidfVectorizer(analyzer=list, vocabulary=data.text.words)
    tf_idf.fit([texts[i] for i in learn])
    expected = tf_idf.transform([texts[i] for i in test]).toarray()
    np.testing.assert_allclose(data.test.features.to_csr().toarray(), expected, atol=1e-6)
    folder = tmp_path / "run"
    done = ran("train", "label-tree", "--data", lines, "--out", folder)
    assert done.json["details"]["chosen"]["vector_size"] == 0
    assert call("evaluate", folder).json["test"] == pytest.approx(done.json["test"])
    opened = open_run(Run(folder), Place())
    np.testing.assert_array_equal(
        opened.text.of([texts[i] for i in test]).weights, data.test.features.weights
    )
    assert call("predict", folder, "unheard words").json["answers"][0]["labels"]
    how = ["--data", lines, "--start", "naive_bayes", "--out", tmp_path / "bayes"]
    assert ", naive Bayes\n" in ran("train", "label-tree", *how).out


@pytest.mark.parametrize(
    ("told", "direct"),
    [
        ({"vector_size": 50}, False),
        ({"start": "huffman"}, False),
        ({"rebuilds": 7}, False),
        ({"tree": "learned"}, True),
        ({"start": "naive_bayes"}, True),
    ],
)
def test_words_that_get_vectors_have_equal_weights(
    told: dict[str, Any], direct: bool, lines: Path
) -> None:
    settings = LabelTreeRunSettings(str(lines), training=LabelTreeSettings(**told))
    assert bool(len(load_data(settings, print).train.features.weights)) == direct


def test_all_labels_of_a_line_are_measured(lines: Path, tmp_path: Path) -> None:
    folder, other = tmp_path / "run", tmp_path / "other.txt"
    how = ["--epochs", "30", "--vector-size", "8", "--tree", "huffman"]
    call("train", "label-tree", "--data", lines, *how, "--learning-rate", "0.3", "--out", folder)
    # "cats" are cats and pets: both are the two likeliest labels, whichever line is asked.
    other.write_text("__label__cat __label__pet __label__cat the cats\n" * 20)
    found = call("evaluate", folder, "--data", other, "--top", "2").json["test"]
    assert found["accuracy"] == found["precision_at_2"] == found["recall_at_2"] == 1
    assert found["perplexity"] < 3
    other.write_text("__label__cat __label__pet __label__sphinx the cats\n__label__owl the owls\n")
    found = call("evaluate", folder, "--data", other, "--top", "2").json["test"]
    assert (found["accuracy"], found["recall_at_2"], found["precision_at_2"]) == (1, 0.75, 0.75)


def test_words_of_the_test_part_are_not_known(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("".join(f"__label__{'ab'[i % 2]} word{i}\n" for i in range(200)))
    settings = LabelTreeRunSettings(str(file))
    data = load_data(settings, lambda line: None)
    assert data.text is not None and len(data.text.words) == len(data.train) == 160
    assert len(data.train.features.ids) == 160
    assert len(data.test) == 20 and not len(data.test.features.ids)


def test_a_language_model_knows_the_words_of_the_training_part_alone(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("".join(f"the word{i} .\n" for i in range(200)))
    settings = LanguageModelRunSettings(str(file), LanguageRows(min_count=1))
    told: list[str] = []
    data = load_text(settings, told.append)
    known = len(data.train) + len(["the", ".", "<unk>"])
    assert told[-1].endswith(f"; {known} known words") and known < 203


def test_the_table_compares_trees_by_the_papers_method_and_groups() -> None:
    made = {(each.key, each.folder): each.settings.training for each in members(Choice(), 3)}
    ways = {key: (told.tree, told.start) for (key, _), told in made.items() if told.arity == 5}
    assert ways == {
        ("huffman", 5): ("huffman", "huffman"),
        ("learned", 5): ("learned", "huffman"),
        ("groups", 5): ("learned", "groups"),
    }
    assert len({folder for _, folder in made}) == len(made) == 6


@pytest.mark.parametrize("unit", [1, 1e-60, 1e60])
def test_sparse_rows(unit: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=300)
    file = tmp_path / "rows.svm"
    lines = [f"{k} {k + 1}:{unit} {rng.integers(6, 20)}:{unit / rng.integers(2, 5)}\n" for k in y]
    file.write_text("".join(lines))
    folder = tmp_path / "run"
    done = call("train", "label-tree", "--data", file, "--epochs", "30", "--out", folder)
    assert done.json["test"]["accuracy"] > 0.9
    assert call("evaluate", folder, "--data", file).json["test"]["accuracy"] > 0.9
    told = ran("predict", folder, file, "--top", "1")
    found = [next(iter(each["labels"])) for each in told.json["answers"]]
    assert np.mean(np.array(found, int) == y) > 0.9
    assert told.out.startswith(f"row 1: {found[0]} ")
    assert "expected FILE.svm, as the run was" in refused("predict", folder, "x.csv")
    assert "expected one file, or rows, or numbers" in refused("predict", folder, file, "0")
    learnt = load_data(LabelTreeRunSettings(data=str(file)), print).train.features.weights
    assert np.square(learnt).mean() == pytest.approx(1, rel=1e-6)  # of no other rows
    file.write_text("".join(lines).replace(f":{unit} ", f":{2 * unit} "))
    assert "other x_scale than" in refused("evaluate", folder)


def test_a_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=300)
    x = 9 * np.eye(5)[y] + rng.normal(size=(300, 5))
    rows = [f"{','.join(map(str, row))},kind {k}\n" for row, k in zip(x.round(3), y, strict=True)]
    file, folder = tmp_path / "rows.csv", tmp_path / "run"
    file.write_text("a,b,c,d,e,kind\n" + "".join(rows))
    done = call("train", "label-tree", "--data", file, "--epochs", "30", "--out", folder)
    assert done.json["test"]["accuracy"] > 0.9
    turned = tmp_path / "turned.csv"  # other columns are told apart by their names
    turned.write_text(
        "kind,e,d,c,b,a\n"
        + "".join(
            f"kind {k},{','.join(map(str, row[::-1]))}\n"
            for row, k in zip(x.round(3), y, strict=True)
        )
    )
    for each in (file, turned):
        assert call("evaluate", folder, "--data", each).json["test"]["accuracy"] > 0.9
        found = call("predict", folder, each, "--top", "1").json["answers"]
        said = np.array([next(iter(each["labels"])) for each in found])
        assert (said == np.char.add("kind ", y.astype(str))).mean() > 0.9
    typed = call("predict", folder, "9,0,0,0,0", "--top", "1").json["answers"]
    assert list(typed[0]["labels"]) == ["kind 0"]
    assert "test example 0" in call("predict", folder, "0").out
    assert call("evaluate", folder).json["test"] == pytest.approx(done.json["test"])
    asked = "train", "label-tree", "--data", file, "--out", tmp_path / "other"
    assert "expected FILE.csv, as the run was" in refused("predict", folder, "x.svm")
    assert "--data must be FILE.csv, like " in refused("evaluate", folder, "--data", "x.svm")
    assert "has no column 'f'" in refused(*asked, "--target", "f")
    assert "has numbers to predict" in refused(*asked, "--target", "a", "--without", "kind")
    assert "--target is for a table" in refused("train", "label-tree", *PLANTED, "--target", "a")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; expected lines like"),
        ("__label__a b\n" * 3 + "no label\n", "line 4: no label"),
        ("__label__a b\n__label__c\n", "line 2: a label without words"),
        ("__label__a b\n" * 20, "has only one label, 'a'"),
        ("__label__a b\n__label__c d\n", "expected at least 10"),
        ("__label__a \xff\n", "line 1: the text is not UTF-8"),
    ],
)
def test_bad_files(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(text.encode("latin-1"))
    assert said in refused("train", "label-tree", "--data", file, "--out", tmp_path / "run")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--arity", "1"], "--arity must be an int in the range [2, inf). Got 1"),
        (["--arity", "2", "--max-depth", "3", "--tree", "random"], "do not fit into a tree"),
        (["--learning-rate", "1e9"], "training collapsed in epoch"),
    ],
)
def test_bad_settings(flags: list[str], said: str, tmp_path: Path) -> None:
    words = [*PLANTED, "--learning-rate", "0.1", "--tree", "learned", *flags]
    assert said in refused("train", "label-tree", *words, "--out", tmp_path / "run")


def test_a_language_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    text = tmp_path / "text.txt"
    text.write_text(
        "".join(f"the {a} sees {b} .\n" for a, b in rng.choice(WORDS, (600, 2)).tolist())
    )
    folder = tmp_path / "run"
    small = ["--vector-size", "8", "--arity", "3", "--max-depth", "4", "--epochs", "3"]
    done = ran("train", "language-model", "--data", text, *small, "--out", folder)
    # Of the four words behind others, two are one of six and two are certain.
    assert 6**0.5 * 0.95 < done.json["test"]["perplexity"] < 6**0.5 * 1.3
    assert (folder / "neighbours.txt").read_text().count("\n") > 1
    (folder / "result.json").unlink()  # as where the run was stopped after its last epoch
    resumed = call("train", "--resume", folder).json
    assert resumed["test"] == done.json["test"]
    assert done.json["details"]["ms_training_batch"] > 0
    assert resumed["details"]["ms_training_batch"] is None
    told = done.json["test"]
    assert told["perplexity_without_ngrams"] > done.json["test"]["perplexity"] * 0.99
    assert told["perplexity_of_ngrams"] == pytest.approx(6**0.5, rel=0.1)
    assert call("evaluate", folder).json["test"] == pytest.approx(done.json["test"])
    again = call("evaluate", folder, "--data", text)
    assert again.json["test"]["perplexity"] < 6**0.5 * 1.3
    asked = call("predict", folder, "the cat", "--top", "1")
    assert list(asked.json["answers"][0]["words"]) == ["sees"]
    table = ["reproduce", "language-model", "--table", "2", "--data", "pydoc", "--train-size", "60"]
    table += ["--epochs", "1", "--only", "random,flat,adaptive,clusters,huffman"]
    made = ran(*table, "--out", tmp_path / "table")
    rows = made.json["rows"]
    assert all(0 < row["perplexity"]["ours"] < 1500 for row in rows.values())
    members = (tmp_path / "table").glob("*/result.json")
    assert all("ngrams" not in str(json.loads(each.read_text())["details"]) for each in members)
    assert all(row["ms a training batch"]["ours"] > 0 for row in rows.values())
    has_depth = {name for name, row in rows.items() if row["mean depth"]["ours"] is not None}
    assert has_depth == {"random", "clusters", "huffman"}
    wrong = call("train", "language-model", "--data", text, "--arity", "2", "--max-depth", "2")
    assert "do not fit into a tree of arity 2 and depth 2" in wrong.err


def test_each_unknown_label_of_a_line_counts() -> None:
    wanted = csr_matrix(np.array([[2, 1, 0], [0, 0, 1]]))  # the first column: those not known
    features = Features.from_csr(csr_matrix(np.eye(2)))
    lines = LabelledLines(features, np.array([0, 1]), wanted=wanted)
    found = zip(*map(np.ndarray.tolist, wanted_labels(lines)), strict=True)
    assert sorted(found) == [(0, -1), (0, -1), (0, 0), (1, 1)]


def test_a_file_of_a_larger_tree_than_it_holds_is_refused(
    run: tuple[Path, Done], tmp_path: Path
) -> None:
    folder = shutil.copytree(run[0], tmp_path / "run")
    weights, content = load_model(folder / "model.safetensors")
    stored: Any = SimpleNamespace(state_dict=lambda: weights)
    save_model(folder / "model.safetensors", stored, content | {"size": 10**10})
    assert "larger than all that the file holds together" in refused("predict", folder, "0")


def test_of_three_labels_at_most_three_are_asked_and_a_solution_takes_time(tmp_path: Path) -> None:
    file, rng = tmp_path / "points.csv", np.random.default_rng(0)
    kinds = rng.permutation(np.repeat(["ant", "bee", "cow"], 100))
    centres = {"ant": (0, 0), "bee": (4, 0), "cow": (0, 4)}
    rows = [(*np.add(centres[kind], rng.normal(size=2)).tolist(), kind) for kind in kinds]
    file.write_text("a,b,kind\n" + "".join(f"{a},{b},{kind}\n" for a, b, kind in rows))
    done = call(
        "train", "label-tree", "--data", file, "--target", "kind", "--out", tmp_path / "run"
    ).json
    assert done["test"]["recall_at_3"] == 1 and "recall_at_5" not in done["test"]
    assert done["test"]["precision_at_3"] == pytest.approx(1 / 3)
    assert done["details"]["chosen"]["epochs"] == 0 and done["seconds"] > 0
