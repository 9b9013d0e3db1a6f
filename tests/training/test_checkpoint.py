"""Files of models and training states: round trips, and what happens to anything else."""

from __future__ import annotations

import json
import os
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from fresh_python import python
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import nn
from train_helpers import Classifier, rows

from structnet.training.checkpoint import (
    CheckpointError,
    _write,
    bounded,
    check_settings,
    describe,
    load_model,
    load_state,
    save_model,
    save_state,
)
from structnet.training.fitting import fit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "model.safetensors"


def assert_same(actual: object, expected: object) -> None:
    assert type(actual) is type(expected)
    if isinstance(expected, torch.Tensor):
        assert actual.dtype == expected.dtype
        assert torch.equal(actual, expected)
    elif isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for key, value in expected.items():
            assert_same(actual[key], value)
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_same(one, other)
    else:
        assert actual == expected


class Tied(nn.Module):
    """Two names for one weight, a view, a transposed buffer and an empty one."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.register_buffer("view", self.first.bias.detach()[1:])
        self.register_buffer("transposed", torch.arange(6.0).view(2, 3).t())
        self.register_buffer("empty", torch.zeros(0, 4))
        self.register_buffer("empty_too", torch.zeros(0, 4))


def test_a_model_comes_back(path: Path) -> None:
    model = Classifier(norm=True)
    config = {"hidden_size": 6, "labels": ["a", "ü"], "rank": None, "nested": {"share": True}}
    save_model(path, model, config)
    state, loaded = load_model(path)
    assert loaded == config
    assert_same(state, dict(model.state_dict()))
    Classifier(norm=True).load_state_dict(state)


def test_tied_and_oddly_shaped_tensors_come_back(path: Path) -> None:
    model = Tied()
    save_model(path, model, {})
    other = Tied()
    other.load_state_dict(load_model(path)[0])
    assert_same(dict(other.state_dict()), dict(model.state_dict()))
    assert other.first.weight is other.second.weight


def test_what_was_loaded_does_not_hang_on_the_file(path: Path) -> None:
    save_model(path, nn.Linear(2, 2), {})
    state, _ = load_model(path)
    before = state["weight"].clone()
    path.write_bytes(b"x")
    state["weight"].add_(0.0)
    assert torch.equal(state["weight"], before)


def test_a_model_is_read_in_another_process_without_pickle(path: Path) -> None:
    model = nn.Linear(2, 2)
    save_model(path, model, {"size": 2})
    program = (
        "import pickle, sys\n"
        "from structnet.training.checkpoint import load_model\n"
        "def refuse(*args, **kwargs): raise AssertionError('pickle')\n"
        "pickle.load = pickle.loads = pickle.Unpickler = refuse\n"
        "state, config = load_model(sys.argv[1])\n"
        "sys.stdout.write(repr((config, state['weight'].tolist())))\n"
    )
    done = python("-c", program, path)
    assert done.stdout == repr(({"size": 2}, model.weight.tolist())), done.stderr


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.sampled_from([torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16]).map(
        lambda dtype: torch.ones(2, 3, dtype=dtype)
    ),
    st.integers(0, 3).map(lambda size: torch.zeros(size)),
    st.just(torch.tensor(2.5)),
)
states = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers()), inner, max_size=3),
        st.dictionaries(st.integers(), st.integers(), max_size=3).map(Counter),
    ),
    max_leaves=8,
)


@given(state=st.dictionaries(st.text(max_size=3), states, max_size=3))
def test_any_state_comes_back(tmp_path_factory: pytest.TempPathFactory, state: dict) -> None:
    path = tmp_path_factory.getbasetemp() / "state.safetensors"
    save_state(path, state)
    assert_same(load_state(path), state)


def test_what_cannot_be_stored_is_refused_by_name(path: Path) -> None:
    with pytest.raises(TypeError, match="state/optimizer/groups/0 is a set"):
        save_state(path, {"optimizer": {"groups": [{1, 2}]}})
    with pytest.raises(TypeError, match=r"config.*set is not JSON"):
        save_model(path, nn.Linear(1, 1), {"labels": {1, 2}})

    class Extra(nn.Linear):
        def get_extra_state(self) -> dict:
            return {"a": 1}

    with pytest.raises(TypeError, match="'_extra_state' is a dict"):
        save_model(path, Extra(1, 1), {})
    assert not path.exists()


def test_a_failed_write_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_model(path, nn.Linear(2, 1), {"version": "old"})

    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        save_model(path, nn.Linear(2, 1), {"version": "new"})
    assert load_model(path)[1] == {"version": "old"}
    assert [file.name for file in path.parent.iterdir()] == [path.name]


class Bomb:
    """Would leave a file behind, if a pickle of it were loaded."""

    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self) -> tuple:
        return Path.touch, (self.target,)


@pytest.mark.parametrize("writer", [pickle.dump, torch.save])
def test_a_pickle_is_never_loaded(tmp_path: Path, writer) -> None:
    path, target = tmp_path / "model.pt", tmp_path / "exploded"
    with path.open("wb") as file:
        writer(Bomb(target), file)
    with pytest.raises(CheckpointError, match=r"model.pt: it looks like a pickle.*expected a mod"):
        load_model(path)
    assert not target.exists()


def test_a_file_cut_short_anywhere_is_refused(path: Path) -> None:
    save_model(path, nn.Linear(3, 2), {"a": 1})
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(CheckpointError, match=str(path)) as caught:
            load_model(path)
        assert "\n" not in str(caught.value)
    assert "damaged or cut short, at" in str(caught.value)


@pytest.mark.parametrize("kind", ["model", "checkpoint"])
def test_every_flipped_bit_is_noticed(path: Path, kind: str) -> None:
    """In the tensors, the names, the shapes, the JSON and the hash itself."""
    if kind == "model":
        save_model(path, nn.Linear(3, 2), {"classes": ["a", "b"]})
    else:
        save_state(path, {"model": nn.Linear(2, 1).state_dict(), "epoch": 3, "betas": (0.9, 0.99)})
    load = load_model if kind == "model" else load_state
    load(path)
    whole = bytearray(path.read_bytes())
    for place in range(len(whole)):
        for bit in range(8):
            whole[place] ^= 1 << bit
            path.write_bytes(whole)
            with pytest.raises(CheckpointError) as caught:
                load(path)
            assert str(path) in str(caught.value) and "\n" not in str(caught.value)
            whole[place] ^= 1 << bit


CONTENTS = [
    "", "[", "null", "7", "[" * 5000, "9" * 5000, '{"dict": 3}', '{"dict": [[1, 2, 3]]}', "{}",
    '{"dict": [["a", {"tensor": "b"}]]}', '{"dict": [[{}, 1]]}', '{"tensor": ["a"]}',
    '{"counter": ["ab", 3]}', '{"tuple": 5}', '{"a": 1, "b": 2}',
]  # fmt: skip


@pytest.mark.parametrize("content", CONTENTS, ids=lambda text: text[:20])
def test_headers_that_somebody_changed(tmp_path: Path, content: str) -> None:
    """Whoever changes a file on purpose also knows how to hash it."""
    path = tmp_path / "state"
    _write(path, "training checkpoint", {"a": torch.ones(1)}, content)
    with pytest.raises(CheckpointError, match=str(path)):
        load_state(path)
    _write(path, "model", {"a": torch.ones(1)}, content)
    try:
        assert isinstance(load_model(path)[1], dict)
    except CheckpointError as error:
        assert str(path) in str(error)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "is a safetensors file of another program; expected a model"),
        ({"structnet": "model", "version": "2"}, "has format version 2; this structnet reads 3"),
        ({"structnet": "model", "version": "3"}, "is damaged"),
    ],
)
def test_headers_that_lack_something(
    tmp_path: Path, metadata: dict[str, str], message: str
) -> None:
    save_file({"a": torch.ones(1)}, tmp_path / "model", metadata)
    with pytest.raises(CheckpointError, match=message):
        load_model(tmp_path / "model")


def test_other_files_are_refused_in_a_sentence(tmp_path: Path) -> None:
    expected = "expected a model written by save_model"
    files = {"empty": b"", "text": b"epoch,loss\n1,0.5\n", "json": json.dumps({"a": 1}).encode()}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CheckpointError, match=f"{name}: .*; {expected}"):
            load_model(tmp_path / name)
    with pytest.raises(CheckpointError, match=f"absent does not exist; {expected}"):
        load_model(tmp_path / "absent")
    with pytest.raises(CheckpointError, match=f"is a folder; {expected}"):
        load_model(tmp_path)
    save_file({"a": torch.ones(1)}, tmp_path / "foreign")
    with pytest.raises(CheckpointError, match=f"of another program; {expected}"):
        load_model(tmp_path / "foreign")
    save_state(tmp_path / "state", {"a": 1})
    with pytest.raises(CheckpointError, match=f"is a training checkpoint; {expected}"):
        load_model(tmp_path / "state")
    save_model(tmp_path / "model", nn.Linear(1, 1), {})
    with pytest.raises(CheckpointError, match="is a model; expected a training checkpoint"):
        load_state(tmp_path / "model")


def test_settings_name_the_first_differences() -> None:
    optimizer = torch.optim.AdamW(nn.Linear(2, 1).parameters(), lr=0.1, betas=(0.5, 0.9))
    saved = describe("optimizer", optimizer)
    assert saved["optimizer.0.betas.1"] == 0.9
    check_settings("here", json.loads(json.dumps(saved)), saved)
    with pytest.raises(CheckpointError, match=r"optimizer\.0\.lr is 0\.1 there and 0\.2 here;"):
        check_settings("here", saved, saved | {"optimizer.0.lr": 0.2})
    with pytest.raises(CheckpointError, match=r"absent here.*, and \d+ more"):
        check_settings("here", saved, {})
    with pytest.raises(CheckpointError, match=r"wrote: words differ, texts differ; expected"):
        check_settings(
            "here", {"words": "0a" * 32, "texts": None}, {"words": "0b" * 32, "texts": "0c" * 32}
        )
    with pytest.raises(CheckpointError, match="texts is absent there and told here, words is told"):
        check_settings("here", {"words": "0a" * 32}, {"texts": "0c" * 32})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"batch_size": 5}, "batch_size is 4 there and 5 here"),
        ({"seed": 1}, "seed is 0 there and 1 here"),
        ({"clip_norm": 1.0}, "clip_norm is None there and 1.0 here"),
        ({"optimizer": torch.optim.SGD}, "optimizer is Adam there and SGD here"),
        ({"data": rows(11)}, "examples is 12 there and 11 here"),
        (
            {"model": Classifier(hidden_size=7)},
            r"model.first.weight is float64\[6, 4\] there and float64\[7, 4\] here",
        ),
    ],
)
def test_resuming_another_training_is_refused(tmp_path: Path, changed: dict, message: str) -> None:
    options = {"model": Classifier(), "data": rows(12), "epochs": 1, "batch_size": 4}
    options |= {"checkpoint": tmp_path}
    fit(**options)
    before = (tmp_path / "checkpoint.safetensors").read_bytes()
    with pytest.raises(CheckpointError, match=message):
        fit(**options | changed, resume=True)
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        {"best": {"first.weight": torch.ones(2)}},
        {"best": [1]},
        {"settings": "none"},
        {"settings": [1]},
        {"optimizer": {}},
    ],
    ids=str,
)
def test_a_checkpoint_that_somebody_changed_is_refused(tmp_path: Path, change: dict) -> None:
    """Before the training goes on, not at its end."""
    options = {"data": rows(12), "validation": rows(4, 1), "batch_size": 4, "checkpoint": tmp_path}
    fit(Classifier(), **options, epochs=1)
    file = tmp_path / "checkpoint.safetensors"
    save_state(file, load_state(file) | change)
    with pytest.raises(CheckpointError, match=f"{file} does not hold such a training"):
        fit(Classifier(), **options, epochs=2, resume=True)
    assert len(load_state(file)["history"]) == 1


def test_a_damaged_checkpoint_is_not_resumed(tmp_path: Path) -> None:
    options = {"data": rows(12), "epochs": 1, "batch_size": 4, "checkpoint": tmp_path}
    fit(Classifier(), **options)
    file = tmp_path / "checkpoint.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="damaged or cut short"):
        fit(Classifier(), **options, resume=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(2000, 2000),
        lambda: torch.zeros((2000, 2000)),
        lambda: torch.ones(size=[2000, 2000]),
        lambda: torch.full((2000, 2000), 1.0),
        lambda: torch.ones(np.int64(2000), np.int64(2000)),
        lambda: torch.ones(size=torch.Size([2000, 2000])),
        lambda: nn.Linear(2000, 2000),
        lambda: nn.Embedding(2000, 2000),
        lambda: nn.Parameter(torch.randn(2000, 2000, dtype=torch.float64)),
    ],
)
def test_what_a_file_cannot_hold_is_not_made(make: Callable[[], object]) -> None:
    weights = {"weight": torch.zeros(100, 100)}
    with bounded(weights), pytest.raises(CheckpointError, match=r"\[2000, 2000\], larger than all"):
        make()
    with bounded({"weight": torch.zeros(1000, 1000)}):
        make()


def test_loading_takes_none_of_torchs_compiler() -> None:
    said = python(
        "-c",
        "import sys, torch\n"
        "from structnet.training.checkpoint import bounded\n"
        "with bounded({'weight': torch.zeros(3)}):\n"
        "    torch.nn.Linear(2, 3)\n"
        "print('torch._dynamo' in sys.modules)",
    )
    assert said.stdout.strip() == "False", said.stderr
