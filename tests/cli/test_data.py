"""``structnet data`` for images and rows."""

from __future__ import annotations

from pathlib import Path

import array_files as files
import numpy as np
import pytest
from commands import Done, call

from structnet.datasets import DownloadError, catalogue, listops, lrt, mnist, sarcos, source
from structnet.datasets.named import LOADERS

pytestmark = pytest.mark.usefixtures("cache")


def told(*argv: object) -> Done:
    return call("data", *argv)


def test_the_help_lists_what_there_is() -> None:
    status, out, *_ = told("--help")
    assert status == 0
    assert set(catalogue.ARRAY_SETS) == set(LOADERS)  # the help imports nothing to know them
    for name in (*LOADERS, "listops", "lrt", "FILE.csv", "FILE.svm", "FILE.txt"):
        assert f"\n  {name} " in out


def test_digits() -> None:
    done = told("digits")
    assert done.status == 0
    assert "comes with scikit-learn" in done.out
    found = done.json
    assert (found["train"], found["test"], found["inputs"]) == (1438, 359, [1, 8, 8])
    assert sum(found["classes"].values()) == 1797


def test_mnist_says_where_it_lies(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(mnist, "PUBLISHED_TRAIN", files.NUM_TRAIN)
    monkeypatch.setattr(mnist, "PUBLISHED_TEST", files.NUM_TEST)
    files.write_idx(tmp_path, files.mnist_arrays(), compressed=True)
    done = told("mnist", "--data-dir", tmp_path)
    assert done.status == 0
    assert f"{tmp_path}/train-images-idx3-ubyte.gz: checked by its form" in done.out
    assert "licence: CC BY-SA 3.0" in done.out
    assert [entry["published"] for entry in done.json["files"].values()] == [False] * 4
    np.savez(tmp_path / "mnist.npz", x_train=np.zeros(3))
    status, out, err, _ = told("mnist", "--data-dir", tmp_path)
    assert (status, out) == (2, "")
    assert err.startswith("structnet data: error: ") and "has no array 'y_train'" in err


def test_sarcos_without_its_training_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sarcos, "verify", lambda source, path: None)
    files.write_sarcos(tmp_path, sarcos_inv_test=files.sarcos_rows(10))
    done = told("sarcos", "--data-dir", tmp_path)
    assert done.status == 0
    assert "cannot download sarcos_inv.mat" in done.out
    assert [done.json[name] for name in ("train", "test", "classes")] == [8, 2, None]
    status, out, err, _ = told("sarcos")
    assert (status, out) == (1, "")
    assert "cannot download sarcos_inv.mat" in err


def test_a_published_file_is_known_by_its_hash(real_data: Path) -> None:
    if not (real_data / "sarcos").is_dir():
        pytest.skip("SARCOS is not at hand")
    status, out, *_ = told("sarcos", "--data-dir", real_data)
    assert status == 0
    assert "sarcos_inv_test.mat: the published file" in out


def test_a_table(tmp_path: Path) -> None:
    path = tmp_path / "trees.csv"
    path.write_text("1;2;oak\n2;3;elm\n" * 5)
    done = told(path, "--delimiter", ";", "--header", "no")
    assert done.status == 0
    assert f"{path}: not a published file\n" in done.out
    assert done.json["classes"] == {"elm": 5, "oak": 5}
    assert told(path, "--delimiter", ";", "--header", "yes").json["targets"] == ["oak"]
    path.write_text("1,2\n2,3\n" * 5)
    found = told(path, "--task", "regression", "--target", "1").json
    assert (found["task"], found["inputs"]) == ("regression", [1])
    path.write_text("1,2\n2,3\n" * 5 + "3,\n")
    out = told(path).out
    assert "left out: 1 row without a target" in out and "every row" not in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["digits", "--generate"], "--generate is for listops and lrt; the data set is digits"),
        (["mnist", "--num", "20"], "--num goes with --generate"),
        (["mnist", "--target", "3"], "--target is for a table, FILE.csv; the data set is mnist"),
        (["lrt", "--task", "regression"], "--task is for a table, FILE.csv; the data set is lrt"),
        (["digits", "--data-dir", "x"], "digits comes with scikit-learn"),
        (["minst"], "NAME must be one of listops, lrt, digits, mnist, cifar10, sarcos, brown"),
        (["nowhere.csv"], "nowhere.csv: No such file"),
    ],
)
def test_what_does_not_go_together(argv: list[str], message: str) -> None:
    status, out, err, _ = told(*argv)
    assert (status, out) == (2, "")
    assert message in err


def test_generated_data_are_what_they_say(tmp_path: Path) -> None:
    found = told("listops", "--generate", "--num", 50, "--out", tmp_path).json["files"]
    sizes = {Path(path).name: content["size"] for path, content in found.items()}
    assert sizes == {"train.tsv": 45, "test.tsv": 5}
    trees, labels = listops.read_tsv(tmp_path / "train.tsv")
    assert [listops.evaluate_expression(tree) for tree in trees] == labels
    assert len(trees) == 45
    told("lrt", "--generate", "--num", 60, "--seed", 3, "--out", tmp_path / "lrt")
    pairs = lrt.read_tsv(tmp_path / "lrt" / "test.tsv")
    assert all(pair.relation == lrt.relation(*pair[1:]) for pair in pairs)
    assert len(pairs) == 9
    assert told("lrt", "--num", 60).status == 2  # would be ignored without --generate


def test_published_data_that_are_not_the_published_ones(tmp_path: Path) -> None:
    (tmp_path / "train_d20s.tsv").write_text("9\t[MAX 9 1 ]\n")
    done = told("listops", "--data-dir", tmp_path)
    assert (done.status, "hash" in done.err) == (2, True)


def test_a_failed_download_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(of, data_dir):
        raise DownloadError(f"cannot download {of.name}")

    monkeypatch.setattr(source, "fetch", fail)
    monkeypatch.setattr("structnet.datasets.fetch", fail, raising=False)
    status, out, err, _ = told("listops")
    assert (status, out) == (1, "")
    assert err == "structnet data: error: cannot download train_d20s.tsv\n"


def test_a_text_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "own.txt"
    file.write_text("the cat sat .\n" * 20, encoding="utf-8")
    done = told(file)
    assert done.status == 0 and "4 different words" in done.out
    assert done.json["train"] == {"sentences": 16, "tokens": 64}
    assert told("pydoc").status == 0
    assert "put train.txt, valid.txt" in told("brown", "--data-dir", tmp_path).err


def test_sparse_rows(tmp_path: Path) -> None:
    path = tmp_path / "trees.svm"
    path.write_text("5 1:3.5 4:1\n7 2:4.5\n" * 10)
    found = told(path).json
    assert (found["train"], found["inputs"], found["classes"]) == (16, [4], {"5": 10, "7": 10})


def test_a_text_in_the_folder_of_data(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("it purrs\n" * 10)
    assert told("mine.txt", "--data-dir", tmp_path).json["words"] == 2


def test_labelled_text(tmp_path: Path) -> None:
    path = tmp_path / "animals.txt"
    text = "__label__cat it purrs\n__label__dog __label__pet it barks\n__label__cat mew\n"
    path.write_text(text, encoding="utf-8-sig")
    done = told(path)
    assert "labelled text as for fastText: 3 lines, 1 of them with several labels\n" in done.out
    assert "3 labels; the most frequent: cat 2, dog 1, pet 1\n5 words, 4 different\n" in done.out
    names = "lines", "lines_with_several_labels", "labels", "words", "tokens"
    assert [done.json[name] for name in names] == [3, 1, 3, 4, 5]
    assert told(path.name, "--data-dir", tmp_path).json["labels"] == 3
    path.write_text("__label__cat it purrs\nit barks\n")
    assert "line 2: no label; expected one that begins with __label__" in told(path).err


@pytest.mark.parametrize("name", ["LINES.TXT", "lines.ft", "lines.FT"])
def test_labelled_text_of_any_name_that_a_label_tree_learns_from(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("__label__cat it purrs\n__label__dog it barks\n")
    assert told(tmp_path / name).json["labels"] == 2
    (tmp_path / "plain.ft").write_text("it purrs\n")
    assert "line 1: no label; expected one that begins with" in told(tmp_path / "plain.ft").err


def test_large_numbers_to_predict_have_all_digits_of_their_whole_part(tmp_path: Path) -> None:
    path = tmp_path / "own.tsv"
    rows = [f"{1_234_567 + 1_000 * i}.25\t(P (A x) (A y{i}))\n" for i in range(41)]
    path.write_text("".join(rows))
    said = "numbers to predict: 1234567 to 1274567, half of them at most 1254567; mean 1254567, "
    assert said in told(path, "--task", "regression").out


def test_the_target_that_a_training_would_guess(tmp_path: Path) -> None:
    word = "1\tred\t_\tADJ\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "own.conllu").write_text(f"# mood = good\n{word}# mood = bad\n{word}" * 3)
    done = told(tmp_path / "own.conllu")
    assert "target: the comment '# mood = ...'" in done.out
    assert done.json["classes"] == {"bad": 3, "good": 3}
    (tmp_path / "own.conllu").write_text(word * 3)
    done = told(tmp_path / "own.conllu")
    assert (done.json["trees"], done.json["target"]) == (3, None)
