"""Evaluation, metrics and the records of a training."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from train_helpers import Classifier, Rows, rows

from structnet.naru import RoutedNetwork, Wiring
from structnet.naru.next_word import NextWord
from structnet.naru.sentences import Sentences
from structnet.routing.samples import Samples
from structnet.tensor_tree import ChildSumTreeLSTM, NodePredictor
from structnet.text.words import Encoded
from structnet.training.fitting import fit
from structnet.training.history import History
from structnet.training.metrics import OfScores, accuracy, accuracy_by, evaluate, predict_all
from structnet.trees.examples import NodeExamples
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

# ---- evaluation and metrics


def test_evaluation_does_not_depend_on_the_batch_size() -> None:
    model, data = Classifier(), rows(23)
    results = [
        evaluate(model, data, batch_size=size, metrics={"accuracy": accuracy})
        for size in (1, 4, 23, 100)
    ]
    for result in results:
        assert result == pytest.approx(results[0], rel=1e-12)
    right = predict_all(model, data, batch_size=4) == data.targets
    assert results[0]["accuracy"] == pytest.approx(right.double().mean().item())


def test_a_metric_of_scores_takes_no_further_run_of_the_model() -> None:
    model, runs = Classifier(), list[int]()
    model.first.register_forward_hook(lambda *_: runs.append(1))

    def less(scores: Mapping[str, float]) -> float:
        assert list(scores) == ["loss", "accuracy"]  # those before it
        return scores["accuracy"] - scores["loss"]

    metrics = {"accuracy": accuracy, "less": OfScores(less), "again": accuracy}
    found = evaluate(model, rows(23), batch_size=5, metrics=metrics)
    assert found["less"] == pytest.approx(found["accuracy"] - found["loss"])
    assert found["again"] == found["accuracy"] and list(found) == ["loss", *metrics]
    assert len(runs) == 5 * 3  # batches, each for the loss and twice for the accuracy


def test_batches_weigh_by_the_labelled_nodes_in_them() -> None:
    trees = [Tree("a", [Tree("b"), Tree("c")]), Tree("b"), Tree("a", [Tree("c"), Tree("c")])]
    vocabulary = Vocabulary.from_trees(trees)
    labels = [[0, 1, 1], [-1], [1, -1, -1]]
    data = NodeExamples(Forest.from_trees(trees, vocabulary), labels)
    torch.manual_seed(0)
    sizes = vocabulary.num_types, vocabulary.num_tokens
    model = NodePredictor(ChildSumTreeLSTM(3, *sizes), 2)
    results = [
        evaluate(model, data, batch_size=size, metrics={"accuracy": NodePredictor.accuracy})
        for size in (1, 2, 3)
    ]
    for result in results:
        assert result == pytest.approx(results[-1], rel=1e-6)
    nothing = data[[1]]  # without a labelled node
    assert evaluate(model, nothing)["loss"] == 0


def test_batches_weigh_by_the_sentences_of_several_words() -> None:
    text = Encoded(np.array([0, 1, 2, 1, 0, 2, 2, 1]), np.array([0, 4, 5, 6, 8]))
    torch.manual_seed(0)
    model = NextWord(RoutedNetwork(Wiring((1, 2, 1), (3, 4, 3))), torch.randn(3, 3))
    data = Sentences(text)
    losses = [evaluate(model, data, batch_size=size)["loss"] for size in (1, 2, 4)]
    assert losses == pytest.approx([losses[-1]] * 3, rel=1e-6)


def test_accuracy_counts_each_example_by_its_weight() -> None:
    class Fixed(nn.Module):
        def predict(self, batch: Samples) -> torch.Tensor:
            return torch.tensor([0, 1, 2])

    targets, weights = torch.tensor([0, 1, 0]), torch.tensor([0.5, 0.25, 2.25])
    assert accuracy(Fixed(), Samples(targets, targets)) == pytest.approx(2 / 3)
    assert accuracy(Fixed(), Samples(targets, targets, weights)) == pytest.approx(0.75 / 3)


def test_evaluation_puts_every_mode_back() -> None:
    model = Classifier().train()
    model.dropout.eval()
    modes = [module.training for module in model.modules()]
    seen = []

    def look(model: nn.Module, batch: Rows) -> float:
        seen.append((model.training, torch.is_grad_enabled()))
        return 0.0

    evaluate(model, rows(5), metrics={"look": look})
    assert seen == [(False, False)]
    assert [module.training for module in model.modules()] == modes


def test_batches_go_where_the_model_is() -> None:
    class Elsewhere(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 1, device="meta")  # a device that every machine has

        def loss(self, batch: torch.Tensor) -> torch.Tensor:
            assert batch.device == self.layer.weight.device
            return torch.tensor(3.0)

        def predict(self, batch: torch.Tensor) -> torch.Tensor:
            assert batch.device == self.layer.weight.device
            return torch.full((len(batch),), 7)

    data = torch.zeros(5, 2)
    assert evaluate(Elsewhere(), data, batch_size=2) == {"loss": 3.0}
    assert predict_all(Elsewhere(), data, batch_size=2).tolist() == [7] * 5


def test_accuracy_refuses_to_broadcast() -> None:
    class Column(Classifier):
        def predict(self, batch: Rows) -> torch.Tensor:
            return super().predict(batch)[:, None]

    with pytest.raises(ValueError, match=r"gave shape \[5, 1\] for targets of shape \[5\]"):
        accuracy(Column(), rows(5))


def test_accuracy_by_group() -> None:
    predictions, targets = torch.tensor([0, 1, 2, 2]), np.array([0, 1, 1, 2])
    assert accuracy_by(predictions, targets, ["b", "a", "a", "c"]) == {
        "a": (0.5, 2),
        "b": (1.0, 1),
        "c": (1.0, 1),
    }
    assert accuracy_by([], [], []) == {}
    with pytest.raises(ValueError, match="4 predictions, 4 targets and 1 groups"):
        accuracy_by(predictions, targets, [1])


# ---- history


def test_a_history_survives_a_torn_last_line(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    history = History([{"epoch": 1, "loss": 1.5}, {"epoch": 2, "loss": math.inf}])
    history.save(path)
    whole = path.read_bytes()
    assert History.load(path).records == history.records
    first = whole.index(b"\n") + 1
    for size in range(first, len(whole) - 2):
        path.write_bytes(whole[:size])
        assert History.load(path).records == history.records[:1]
    path.write_bytes(b'{"epoch":\n' + whole)
    with pytest.raises(ValueError, match=r"history.jsonl, line 1: expected one JSON object"):
        History.load(path)


def test_history_columns() -> None:
    history = History([{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.0, "best": True}])
    assert history["best"] == [None, True] and History()["loss"] == []
    assert history[0]["loss"] == 2.0 and len(list(history)) == 2
    with pytest.raises(KeyError, match="no record has a field 'accuracy'; the fields are epoch"):
        history["accuracy"]
    assert History().best is None


def test_the_record_of_an_epoch(tmp_path: Path) -> None:
    fit(
        Classifier(),
        rows(8),
        rows(4),
        epochs=1,
        batch_size=4,
        metrics={"accuracy": accuracy},
        checkpoint=tmp_path,
    )
    (line,) = (tmp_path / "history.jsonl").read_text().splitlines()
    assert list(json.loads(line)) == [
        "epoch",
        "loss",
        "validation_loss",
        "validation_accuracy",
        "best",
        "learning_rate",
        "seconds",
        "examples_per_second",
    ]


@pytest.mark.parametrize("measure", [fit, evaluate, predict_all])
def test_data_that_give_items_one_by_one_are_refused(measure) -> None:
    class Items(Dataset):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, place: int) -> tuple[float, int]:
            return [0.1, 0.2, 0.3][place], 0

    how = {"epochs": 1, "batch_size": 2, "progress": False} if measure is fit else {}
    for data in (Items(), DataLoader(Items())):
        with pytest.raises(TypeError, match=f"Got {type(data).__name__}, which gives items one by"):
            measure(Classifier(), data, **how)


def test_data_that_are_broken_say_so_themselves() -> None:
    class Broken(Rows):
        def __getitem__(self, indices: np.ndarray) -> Rows:
            raise ValueError("the file is gone")

    data = rows(4)
    with pytest.raises(ValueError, match="the file is gone"):
        evaluate(Classifier(), Broken(data.inputs, data.targets))


def test_data_that_fail_in_one_batch_are_not_taken_for_single_items() -> None:
    class Damaged(Rows):
        def __getitem__(self, indices: np.ndarray | int) -> Rows:
            if 3 in np.ravel(indices):
                raise ValueError("row 3 is damaged")
            return Rows(self.inputs[indices], self.targets[indices])

    data = rows(4)
    with pytest.raises(ValueError, match="row 3 is damaged"):
        evaluate(Classifier(), Damaged(data.inputs, data.targets))
