"""The tables of the paper on neural trees, at tiny sizes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from commands import Done, call, ran, refused
from matplotlib.figure import Figure
from neural_tree_runs import SIZES, mnist, of_run, trained
from tree_lstm_runs import is_picture

from structnet.neural_tree import NeuralTree, presets
from structnet.neural_tree.cost import count_parameters
from structnet.recipes import execution
from structnet.recipes.neural_tree import curves, one_path, paper
from structnet.recipes.neural_tree.answers import measured, of_ensemble, output
from structnet.recipes.neural_tree.runs import GROWN, tree_of
from structnet.recipes.run import Run
from structnet.routing import Samples


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
    # Trees of one leaf, to which all ways lead, have one accuracy.
    assert [list(result["test"]) for result in results] == [["accuracy"]] * 2
    assert row["seeds"] == pytest.approx([1 - each["test"]["accuracy"] for each in results])
    assert row["ours"] == pytest.approx(np.mean(row["seeds"]))
    assert row["deviation"] == pytest.approx(np.std(row["seeds"], ddof=1))
    text = (out / "table6-mnist.md").read_text()
    assert "| 98.84 |" in text and "180 examples to train on" in text
    assert is_picture(out / "table6-mnist.png")


def test_each_way_through_several_leaves_has_its_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    tree = NeuralTree(presets.mlp(3, width=3), shape=(4,))
    tree.split(0)
    samples = Samples(torch.randn(90, 4), torch.arange(90) % 3)
    test = measured(tree, samples, {"classes": ["a", "b", "c"]})
    runs = [SimpleNamespace(ended={"test": test, "details": {"leaves": tree.num_leaves}})]
    names = "accuracy", "accuracy_greedy", "accuracy_most_likely", "accuracy_least_likely"
    assert paper.ours(runs, paper.ERRORS) == {
        quantity: [1 - test[name]] for quantity, name in zip(paper.ERRORS, names, strict=True)
    }
    assert test["accuracy_greedy"] != test["accuracy_least_likely"]
    monkeypatch.setitem(paper.ERRORS, paper.LEAST, "_least")
    with pytest.raises(KeyError, match="accuracy_least"):
        paper.ours(runs, paper.ERRORS)


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
    done = ran("reproduce", "neural-tree", "--table", "4", *only, *given)
    assert trained == ["mnist_c-no-routers-0"]
    rows = done.json["rows"]
    assert rows["ANT-MNIST-C: no routers (CNN)"]["error, all leaves"]["paper"] == 0.0371
    assert rows["ANT-MNIST-C: no routers (CNN)"]["leaves"]["ours"] == 1
    err = refused("reproduce", "neural-tree", "--table", "6", *given, "--epochs", "2")
    assert "was trained with epochs 1, not 2" in err


@pytest.mark.parametrize("number", [3, 5, 7, 8])
def test_the_tables_share_their_trees(reproduced: tuple[list, Path, Done], number: int) -> None:
    given, out, _ = reproduced
    done = ran(
        "reproduce", "neural-tree", "--table", number, "--seeds", "2", "--only", "full", *given
    )
    assert done.out.count("done already") == 2
    folders = [out / f"mnist_c-full-{seed}" for seed in (0, 1)]
    details = [Run(folder).result["details"] for folder in folders]
    if number == 3:
        sizes = done.json["rows"]["ANT-MNIST-C"]["parameters, one path"]
        assert sizes["paper"] == 7956
        assert sizes["seeds"] == [each["path_parameters"] for each in details]
    if number == 5:
        epochs = done.json["rows"]["ANT-MNIST-C"]["growth, epochs"]["seeds"]
        assert epochs == [each["growth_epochs"] for each in details]
    if number == 7:
        flops = done.json["rows"]["ANT-MNIST-C"]["multiply-adds, all leaves"]["seeds"]
        assert flops == [each["flops"] / 2 for each in details]
    if number == 8:
        test, data = of_run(folders[0]).test, Run(folders[0]).config["data"]
        outputs = [output(trained(folder), test.x) for folder in folders]
        proba = sum(each.exp() for each in outputs)
        wrong = (proba.argmax(1) != test.targets).double().mean().item()
        row = done.json["rows"]["ANT-MNIST-C: 2 trees together"]["error, all leaves"]
        assert row["ours"] == pytest.approx(wrong)
        assert 1 - of_ensemble(outputs, test.targets, data) == pytest.approx(wrong)


def test_the_network_of_one_path_is_trained_beside_its_tree(
    reproduced: tuple[list, Path, Done],
) -> None:
    given, out, _ = reproduced
    done = ran("reproduce", "neural-tree", "--table", "3", "--only", "one-path", *given)
    assert done.out.count("done already") == 1  # its tree
    tree, run = trained(out / "mnist_c-full-0"), Run(out / "mnist_c-one-path-0")
    leaf = one_path.longest_path(tree, of_run(out / "mnist_c-full-0").train)
    chain = [module for v in tree.topology.path(leaf) for module in tree.nodes[v].transformers]
    count = sum(map(count_parameters, (*chain, tree.nodes[leaf].end)))
    row = done.json["rows"]["ANT-MNIST-C: its root-to-leaf network"]
    assert row["parameters, all leaves"]["ours"] == count
    assert row["error, all leaves"]["seeds"] == [1 - run.result["test"]["accuracy"]]
    assert paper.OF_PATH in done.json["notes"]


def test_the_longest_path_is_that_of_most_transformers_then_of_most_samples() -> None:
    tree = NeuralTree(presets.mlp(2, width=3), shape=(4,))
    left, right = tree.split(0)
    x = torch.rand(20, 4)
    with torch.no_grad():
        tree.nodes[0].router.bias.fill_(100.0)  # all go left
    samples = Samples(x, torch.arange(20) % 2)
    assert one_path.longest_path(tree, samples) == left
    tree.deepen(right)
    assert one_path.longest_path(tree, samples) == right


def test_a_model_of_which_the_paper_says_nothing_has_its_own_figures(
    reproduced: tuple[list, Path, Done],
) -> None:
    runs = [Run(reproduced[1] / "mnist_c-full-0")]
    (row,) = paper.rows_of(paper.KINDS[3], "cifar10", "linear", runs)
    assert row.paper == {}
    assert row.ours == {
        paper.MULTI: [1 - runs[0].result["test"]["accuracy"]],
        paper.SIZE: [runs[0].result["details"]["parameters"]],
    }


def test_the_figure_of_sizes_has_all_models_on_the_same_validation(
    reproduced: tuple[list, Path, Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    given, out, _ = reproduced
    monkeypatch.setattr(curves, "LEARN", (50, 25_000))
    done = ran("reproduce", "neural-tree", "--table", "figure3", *given)
    assert done.out.count("done already") == 1  # the tree of the tables
    rows = done.json["rows"]
    assert list(rows) == ["50 examples", "180 examples"]
    few, whole = (Run(out / f"mnist_c-full-0{end}") for end in ("-of-50", ""))
    assert rows["50 examples"]["error, tree"]["ours"] == pytest.approx(
        1 - few.result["test"]["accuracy"]
    )
    assert few.config["data"] == whole.config["data"] | {"train": 50}
    linear = Run(out / "mnist-linear-0-of-50").result
    assert rows["50 examples"]["error, linear model"]["seeds"] == [1 - linear["test"]["accuracy"]]
    assert linear["sizes"] == {"train": 50, "validation": 20, "test": 60}
    assert all(is_picture(out / name) for name in ("figure3-mnist.png", "figure3-mnist-epochs.png"))


def test_the_figure_of_patience_draws_growth_and_refinement(
    reproduced: tuple[list, Path, Done],
) -> None:
    given, out, _ = reproduced
    done = ran("reproduce", "neural-tree", "--table", "figure4", *given)
    assert list(done.json["rows"]) == ["patience 1", "patience 5", "patience 15"]
    assert is_picture(out / "figure4-mnist.png")
    run = Run(out / "mnist_c-full-0")
    growth, refinement = curves.trajectory(run)
    phases = list(run.history["phase"])
    assert growth[-1][0] == phases.index("refine") and [n for n, _ in refinement] == [len(phases)]
    assert refinement[0][1] == run.history[-1]["validation_accuracy"]
    grown, data = tree_of(run, GROWN), of_run(run.folder)
    right = (output(grown, data.validation.x).argmax(1) == data.validation.targets).double().mean()
    assert growth[-1][1] == pytest.approx(right.item())
    ax = curves.draw_trajectories({"one": [run]}, Figure().add_subplot())
    dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
    assert [line.get_xdata()[0] for line in dotted] == [refinement[0][0]]
    assert "one kind of tree; got mnist_a,mnist_b" in refused(
        "reproduce", "neural-tree", "--table", "figure4", *given, "--primitives", "mnist_a,mnist_b"
    )
