"""The tables of the paper on neural trees, at tiny sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import Done, call
from neural_tree_runs import SIZES, mnist, of_run, trained
from tree_lstm_runs import is_picture

from structnet.recipes import execution
from structnet.recipes.neural_tree.answers import of_ensemble, output
from structnet.recipes.run import Run


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> tuple[list, Path, Done]:
    folder = tmp_path_factory.mktemp("reproduced")
    given = ["--data-dir", mnist(folder / "data"), *SIZES, "--epochs", "1", "--refine-epochs", "1"]
    given += ["--out", folder / "out"]
    done = call("reproduce", "neural-tree", "--table", "6", "--seeds", "2", *given)
    return given, folder / "out", done


def test_reproduce_compares_with_the_paper(reproduced: tuple[list, Path, Done]) -> None:
    _, out, done = reproduced
    assert done.status == 0, done.err
    row = done.json["rows"]["ANT-MNIST-C"]["error, least likely leaf"]
    assert row["paper"] == 0.9884
    results = [Run(out / f"mnist_c-full-{seed}").result for seed in (0, 1)]
    assert row["seeds"] == pytest.approx(
        [1 - result["test"]["accuracy_least_likely"] for result in results]
    )
    assert row["ours"] == pytest.approx(np.mean(row["seeds"]))
    assert row["deviation"] == pytest.approx(np.std(row["seeds"], ddof=1))
    text = (out / "table6-mnist.md").read_text()
    assert "| 98.84 |" in text and "180 examples to train on" in text
    assert is_picture(out / "table6-mnist.png")


def test_reproduce_trains_only_what_is_missing(
    reproduced: tuple[list, Path, Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = reproduced[0]
    trained, carry_out = [], execution.carry_out
    monkeypatch.setattr(
        execution,
        "carry_out",
        lambda recipe, of, *args: (trained.append(of.folder.name), carry_out(recipe, of, *args)),
    )
    only = ["--only", "full,no-routers"]
    done = call("reproduce", "neural-tree", "--table", "4", *only, *given)
    assert done.status == 0, done.err
    assert trained == ["mnist_c-no-routers-0"]
    rows = done.json["rows"]
    assert rows["ANT-MNIST-C: no routers (CNN)"]["error, all leaves"]["paper"] == 0.0371
    assert rows["ANT-MNIST-C: no routers (CNN)"]["leaves"]["ours"] == 1
    differing = call("reproduce", "neural-tree", "--table", "6", *given, "--epochs", "2")
    assert differing.status == 2 and "was trained with epochs 1, not 2" in differing.err


@pytest.mark.parametrize("number", [3, 7, 8])
def test_the_tables_share_their_trees(reproduced: tuple[list, Path, Done], number: int) -> None:
    given, out, _ = reproduced
    done = call("reproduce", "neural-tree", "--table", number, "--seeds", "2", *given)
    assert done.status == 0, done.err
    assert done.out.count("done already") == 2
    folders = [out / f"mnist_c-full-{seed}" for seed in (0, 1)]
    details = [Run(folder).result["details"] for folder in folders]
    if number == 3:
        sizes = done.json["rows"]["ANT-MNIST-C"]["parameters, one path"]
        assert sizes["paper"] == 7956
        assert sizes["seeds"] == [each["path_parameters"] for each in details]
    if number == 7:
        flops = done.json["rows"]["ANT-MNIST-C"]["multiply-adds, all leaves"]["seeds"]
        assert flops == [each["flops"] / 2 for each in details]
    if number == 8:
        test, data = of_run(folders[0]).test, Run(folders[0]).config["data"]
        outputs = [output(trained(folder), test) for folder in folders]
        proba = sum(each.exp() for each in outputs)
        wrong = (proba.argmax(1) != test.targets).double().mean().item()
        row = done.json["rows"]["ANT-MNIST-C: 2 trees together"]["error, all leaves"]
        assert row["ours"] == pytest.approx(wrong)
        assert 1 - of_ensemble(outputs, test.targets, data) == pytest.approx(wrong)
