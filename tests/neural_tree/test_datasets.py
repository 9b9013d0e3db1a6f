"""A torch Dataset or DataLoader as the samples: read batch by batch, never all at once."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from growths import assert_same_growth, grow, growth_on, make_samples, make_tree, scripted
from torch import Tensor
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
)

from structnet.neural_tree import (
    Growth,
    NeuralTree,
    NeuralTreeSettings,
    SquaredError,
    presets,
    prune,
    refine,
    train,
)
from structnet.neural_tree.growth.candidate import cached
from structnet.plot import plot_leaf_means
from structnet.routing import Samples, shares
from structnet.training.metrics import evaluate


class Files(Dataset):
    """Images in files, and how many of them were open, and how many there were at once."""

    def __init__(self, folder: Path, count: int):
        self.files = [folder / f"{i}.npy" for i in range(count)]
        rng = np.random.default_rng(0)
        for i, file in enumerate(self.files):
            np.save(file, rng.normal(size=(1, 6, 6)).astype(np.float32) + i % 3)
        self.opened = self.there = self.most = 0

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = torch.from_numpy(np.load(self.files[index]))
        self.opened += 1
        self.there += 1
        self.most = max(self.most, self.there)
        weakref.finalize(image, self._gone)
        return image, index % 3

    def _gone(self) -> None:
        self.there -= 1


def image_tree() -> NeuralTree:
    torch.manual_seed(0)
    return NeuralTree(presets.conv(3, width=2, kernel=3), (1, 6, 6))


ANY = {"min_gain": -1e9, "gain_errors": 0.0, "prune": None, "max_leaves": 2, "max_transformers": 1}
SHORT = {**ANY, "epochs": 8, "batch_size": 8, "patience": None}


def test_images_in_files_are_never_there_all_at_once(tmp_path: Path) -> None:
    files = Files(tmp_path, 120)
    learn, held = Subset(files, range(90)), Subset(files, range(90, 120))
    opened = []
    for cache_bytes in (0, 1e6):
        settings = NeuralTreeSettings(**SHORT, cache_bytes=cache_bytes)
        tree, before = image_tree(), files.opened
        both = DataLoader(learn, batch_size=4), DataLoader(held, batch_size=4)
        growth = Growth(tree, *both, settings)
        growth.run()
        opened.append(files.opened - before)
        refine(tree, *both, epochs=2, batch_size=8, progress=False)
        assert [decision.action for decision in growth.decisions][:2] == ["root", "split"]
    assert 0 < files.most <= 32  # which a cache is tried with; steps have 8
    epochs = len(growth.history.records)
    # Without room for what reaches a leaf, the files are opened at every step; else for the root.
    assert opened[0] > epochs * 120 > opened[1]


def test_a_dataset_grows_the_tree_of_its_tensors() -> None:
    def data(wrap: Any) -> tuple:
        both = (make_samples(n, n) for n in (60, 40))
        return tuple(wrap(Dataset64(samples)) for samples in both)

    expected = grow(kind=scripted("split", "deepen"))
    for wrap in (lambda data: data, DataLoader, workers):
        growth = growth_on(make_tree(), *data(wrap), scripted("split", "deepen"))
        growth.run()
        if wrap is not DataLoader:  # which asks for one at a time, as its batch size says
            assert_same_growth(growth, expected)
        assert growth.tree.config() == expected.tree.config()


class Dataset64(Dataset):
    def __init__(self, samples: Samples):
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.samples.x[index], int(self.samples.targets[index])


def workers(data: Dataset) -> DataLoader:
    return DataLoader(data, batch_size=64, num_workers=1, multiprocessing_context="fork")


def test_what_is_read_again_differently_is_not_cached() -> None:
    class Noisy(Dataset64):
        def __getitem__(self, index: int) -> tuple[Tensor, int]:
            x, y = super().__getitem__(index)
            return x + 0.1 * torch.randn_like(x), y

    how = {"batch_size": 16, "max_bytes": 1e9}
    tree = make_tree()
    for kind, expected in ((Dataset64, True), (Noisy, False)):
        samples = Samples.from_dataset(kind(make_samples()))
        assert (cached(tree, 0, samples, **how) is not None) == expected


def test_numbers_are_targets_too() -> None:
    x = torch.linspace(-1, 1, 100)[:, None]
    data = TensorDataset(x, x[:, 0].abs())
    samples = Samples.from_dataset(data)
    assert samples.targets.shape == (100, 1) and samples.targets.dtype == torch.float32
    root = NeuralTree(presets.mlp(1).without(transformers=True), (1,), SquaredError())
    settings = NeuralTreeSettings(max_leaves=2, epochs=20, batch_size=10, learning_rate=0.05)
    trained = train(root, settings, data, data)
    assert trained.tree.num_leaves == 2
    assert evaluate(trained.tree, samples)["loss"] < 0.01
    assert prune(trained.tree, samples, 0.01).num_leaves == 2


def test_pixels_that_are_integers_become_numbers() -> None:
    data = [(torch.full((2,), i, dtype=torch.uint8), i % 2) for i in range(4)]
    samples = Samples.from_dataset(data)
    assert samples[np.array([3])].x.tolist() == [[3.0, 3.0]]
    assert samples.x[2].tolist() == [2.0, 2.0] and samples.x[1:3].shape == (2, 2)


def test_samples_of_a_dataset_count_by_their_weights() -> None:
    data, weights = make_samples(), torch.arange(len(make_samples())).float()
    samples = Samples.from_dataset(Dataset64(data), weights)
    assert torch.equal(samples[np.array([3, 1])].weights, weights[[3, 1]])
    tree, plain = make_tree(), Samples(data.x, data.targets, weights)
    assert evaluate(tree, samples) == pytest.approx(evaluate(tree, plain))
    with pytest.raises(ValueError, match="there are 2 weights for"):
        Samples.from_dataset(Dataset64(data), weights[:2])


def test_what_needs_all_at_once_is_told_to_take_some() -> None:
    samples = Samples.from_dataset([(torch.rand(1, 6, 6), i % 3) for i in range(20)])
    tree = image_tree()
    with pytest.raises(
        TypeError, match=r"20 inputs that are made batch by batch .* samples\[:500\]"
    ):
        plot_leaf_means(tree, samples)
    assert len(plot_leaf_means(tree, samples[:10]).images) == 1
    assert shares(tree, samples).tolist() == [1.0]


class Stream(IterableDataset):
    def __iter__(self) -> Iterator[int]:
        return iter(range(3))


PAIRS = [(torch.zeros(2), 0)] * 5
HEAVY = WeightedRandomSampler([1.0] * 5, 5)


@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        (Stream(), TypeError, "a length and items by number, or a DataLoader of one. Got Stream."),
        (DataLoader(Stream()), TypeError, "or a DataLoader of one. Got Stream."),
        (torch.zeros(3, 2), TypeError, "Got Tensor."),
        ([], ValueError, "the Dataset has 0 items; expected at least 1"),
        ([{"image": 0, "label": 1}], TypeError, "pairs of an input and a target, .* Got dict."),
        ([(torch.zeros(2), 0, 1)], TypeError, "Got list of 3"),
        (
            [(torch.zeros(2), 0)] * 64 + [(torch.zeros(3), 0)],
            ValueError,
            r"from 64 to 64 have shape \[3\]; expected \[2\], the shape of the first",
        ),
        (DataLoader(PAIRS, sampler=HEAVY), ValueError, "has a WeightedRandomSampler, .* weights"),
        (DataLoader(PAIRS, batch_sampler=[[0]]), ValueError, "has a list, but training orders"),
    ],
)
def test_what_is_no_dataset_is_told_what_to_give(source: Any, error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        Growth(make_tree(), source, source)


def test_whole_numbers_may_be_targets() -> None:
    data = TensorDataset(torch.rand(40, 6), torch.arange(40) % 5)
    trained = train(
        NeuralTree(presets.mlp(1), (6,), SquaredError()),
        NeuralTreeSettings(max_leaves=1, epochs=1, refine_epochs=1),
        data,
        data,
    )
    assert len(trained.history) == 2


class Jittered(Dataset):
    """Items that are read a little differently each time."""

    def __len__(self) -> int:
        return 80

    def __getitem__(self, place: int) -> tuple[Tensor, int]:
        return torch.full((6,), place / 80) + 0.1 * torch.rand(6), place % 5


def test_growth_on_random_items_follows_its_seed_alone() -> None:
    found = []
    for state in (1, 2):
        torch.manual_seed(0)
        tree = NeuralTree(presets.table(5), (6,))
        torch.manual_seed(state)  # the caller's, which must not matter
        settings = NeuralTreeSettings(max_leaves=2, epochs=2, min_samples=0, gain_errors=0.0)
        growth = Growth(tree, Jittered(), Jittered(), settings)
        growth.run()
        found.append([decision.candidates for decision in growth.decisions])
    assert found[0] == found[1] and any(found[0])
