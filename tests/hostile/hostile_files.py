"""Files of models, trainings and estimators, damaged bit by bit, or changed on purpose.

Damage is noticed always. Whoever changes a file on purpose also writes the hash that fits, so all
that can be promised is a named error or an object of the file's kind, at no great cost.
"""

from __future__ import annotations

import hashlib
import json
import random
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from growths import make_growth, make_tree, scripted
from hostile_texts import HangError
from small_estimators import SMALL
from train_helpers import Noisy, rows

from structnet.label_tree import LabelTreeClassifier, LabelTreeLanguageModel
from structnet.naru import RoutedLanguageModel
from structnet.neural_tree.estimator import NeuralTreeClassifier
from structnet.softmax_tree import SoftmaxTreeClassifier
from structnet.tensor_tree import TreeLSTMClassifier
from structnet.training.checkpoint import CheckpointError, load_model, load_state, save_model
from structnet.training.fitting import fit

SECONDS = 5.0  # of the processor, to read a small file
MOST = 2**28  # bytes that reading a small file may add to what the process ever had
_HASH = b'"sha256":"'


@dataclass(frozen=True)
class Saved:
    """A file, and how it is read.

    Attributes:
        path: the file.
        load: reads it as its users do.
        read: reads all of it, and builds nothing of it.
    """

    path: Path
    load: Callable[[], object]
    read: Callable[[Path], object] = load_model


def _model(folder: Path) -> Saved:
    path = folder / "model.safetensors"
    save_model(path, Noisy(norm=True), {"classes": ["a", "b"], "hidden_size": 6})
    return Saved(path, lambda: load_model(path))


def _checkpoint(folder: Path) -> Saved:
    def load() -> object:
        """Goes on from the end of the training: all is read, nothing is learnt."""
        options = {"epochs": 2, "batch_size": 10, "progress": False, "checkpoint": folder}
        return fit(Noisy(hidden_size=2), rows(20), rows(5, seed=1), resume=True, **options)

    load()
    return Saved(folder / "checkpoint.safetensors", load, load_state)


def _growth(folder: Path) -> Saved:
    def begin() -> Any:
        tree, script = make_tree(), scripted("deepen", "split", "keep")
        return make_growth(tree, script, folder=folder, epochs=1, resume=True)

    begin().run()
    return Saved(folder / "growth.safetensors", begin)


def _estimator(model: Any, *data: Any) -> Callable[[Path], Saved]:
    def make(folder: Path) -> Saved:
        path = folder / "estimator.safetensors"
        model.fit(*data).save(path)
        return Saved(path, lambda: type(model).load(path))

    return make


_X = np.arange(24.0).reshape(12, 2) % 7
_Y = np.array(["a", "b", "c"] * 4)
_TREES = ["(+ 1 2)", "(- 1 2)", "(+ (- 1 2) 3)", "(- (+ 3 1) 2)"] * 3
_TEXT = ["the cat sees the dog .", "a dog sees the cat ."] * 5
_NARU = {"sizes": (1, 2, 1), "dims": (2,), "vector_size": 2, "epochs": 1, "random_state": 0}

MAKERS: dict[str, Callable[[Path], Saved]] = {
    "model": _model,
    "checkpoint": _checkpoint,
    "growth": _growth,
    "tree lstm": _estimator(
        TreeLSTMClassifier(hidden_size=2, epochs=1, random_state=0), _TREES, ["x", "y"] * 6
    ),
    "neural tree": _estimator(
        NeuralTreeClassifier("mlp", **SMALL | {"epochs": 1, "max_depth": 1}), _X, _Y
    ),
    "softmax tree": _estimator(
        SoftmaxTreeClassifier(
            depth=1,
            max_leaf_classes=2,
            leaf_penalty=1.0,
            max_iter=1,
            start="clusters",
            random_state=0,
        ),
        _X,
        _Y,
    ),
    "label tree": _estimator(
        LabelTreeClassifier(arity=2, epochs=1, learning_rate=0.1, tree="huffman", random_state=0),
        _X,
        _Y,
    ),
    "routed language model": _estimator(RoutedLanguageModel(**_NARU), _TEXT),
    "language model": _estimator(
        LabelTreeLanguageModel(vector_size=2, arity=2, max_depth=None, epochs=1, random_state=0),
        _TEXT,
    ),
}


def damaged(saved: Saved, start: int, end: int, step: int = 1) -> Iterator[tuple[int, Any]]:
    """The bits, of those from start to end, that can be flipped without a CheckpointError.

    One bit of each byte is tried as users read the file; that takes longer.
    """
    whole = saved.path.read_bytes()
    saved.load()
    try:
        for bit in range(start, min(end, 8 * len(whole)), step):
            data = bytearray(whole)
            data[bit // 8] ^= 1 << bit % 8
            saved.path.write_bytes(data)
            try:
                saved.load() if bit % 8 == bit // 8 % 8 else saved.read(saved.path)
                yield bit, "nothing was noticed"
            except CheckpointError as error:
                if str(saved.path) not in str(error):
                    yield bit, f"which file it is, is not said: {error}"
            except Exception as error:
                yield bit, error
    finally:
        saved.path.write_bytes(whole)


def changed(saved: Saved, seed: int, start: int, end: int) -> Iterator[tuple[int, Any]]:
    """The numbers of changes on purpose that end in something else than a CheckpointError."""
    whole = saved.path.read_bytes()
    before = signal.signal(signal.SIGVTALRM, _late)
    try:
        for number in range(start, end):
            rng = random.Random(f"{saved.path.name} {seed} {number}")
            saved.path.write_bytes(_changed(rng, whole))
            peak = _peak()
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    saved.load()
            except CheckpointError:
                pass
            except Exception as error:
                yield number, error
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            if _peak() - peak > MOST:
                yield number, f"{(_peak() - peak) >> 20} MiB were taken"
    finally:
        signal.signal(signal.SIGVTALRM, before)
        saved.path.write_bytes(whole)


def change(path: Path, seed: int, number: int) -> bytes:
    """The content of a file after the change of a number, to look at what failed."""
    return _changed(random.Random(f"{path.name} {seed} {number}"), path.read_bytes())


def _late(*_: object) -> None:
    raise HangError(f"no end after {SECONDS} s")


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _changed(rng: random.Random, whole: bytes) -> bytes:
    size = 8 + int.from_bytes(whole[:8], "little")
    if rng.random() < 0.3:  # a bit of the header or of the weights
        data = bytearray(whole)
        place = rng.randrange(8, rng.choice((size, len(whole))))
        data[place] ^= 1 << rng.randrange(8)
        return _hashed(bytes(data))
    header = json.loads(whole[8:size])
    content = json.loads(header["__metadata__"]["content"])
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        content = _other(rng, content)
    header["__metadata__"]["content"] = json.dumps(content)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return _hashed(len(text).to_bytes(8, "little") + text + whole[size:])


def _hashed(data: bytes) -> bytes:
    """The file with the hash that fits it; as it is, if it has no place for one."""
    place = data.find(_HASH) + len(_HASH)
    if place < len(_HASH):
        return data
    blank = data[:place] + b"0" * 64 + data[place + 64 :]
    return data[:place] + hashlib.sha256(blank).hexdigest().encode() + data[place + 64 :]


_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 10**9, 10**30, -(2**63), 0.5, 1e308, float("nan")),
    *(float("inf"), "", "x", "0", "\ud800", [], {}, [None], [[]], {"a": 1}, [0] * 1000),
    *([10**9], [-1], [[0, 0]], ["x", "x"], {"dtype": "O", "values": [{}]}),
    *({"dtype": "f8", "values": [0.0] * 9}, {"dtype": "V9", "values": [1]}, {"tensor": "state"}),
)


def _other(rng: random.Random, value: Any) -> Any:
    """The value with something in it replaced, taken away, or put in twice."""
    if isinstance(value, dict) and value and rng.random() < 0.93:
        key = rng.choice(list(value))
        if rng.random() < 0.08:
            return {name: each for name, each in value.items() if name != key}
        if rng.random() < 0.05:
            return value | {rng.choice(("x", "", *value)): rng.choice(_ODD)}
        return value | {key: _other(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        place = rng.randrange(len(value))
        kind = rng.random()
        middle = [] if kind < 0.1 else [value[place]] * 2 if kind < 0.2 else None
        middle = [_other(rng, value[place])] if middle is None else middle
        return [*value[:place], *middle, *value[place + 1 :]]
    if type(value) is int and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 10, 10**6, 10**12))
    return rng.choice(_ODD)
