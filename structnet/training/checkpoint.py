"""Models and training states on disk: one safetensors file each, never a pickle.

A file holds the tensors and, in its header, JSON and a hash of the whole file, so that damage is
always noticed. It is written beside its place and moved there in one step, so that a reader finds
either the old state or the new one, complete, even after a power failure.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn
from torch.overrides import TorchFunctionMode

from structnet.training.files import replacing

VERSION = 3
# Where the hash stands in a header, and what stands there while it is computed.
_HASH, _BLANK = b'"sha256":"', b"0" * 64
# What reading JSON that somebody changed may raise.
MALFORMED = (
    *(AttributeError, IndexError, KeyError, MemoryError, OverflowError, RecursionError),
    *(SyntaxError, TypeError, ValueError),  # the first of numpy, by a comma as the type of an array
)
WRITERS = {"model": "save_model", "training checkpoint": "fit"}


class CheckpointError(ValueError):
    """A file is not of the expected kind, or does not match what it is loaded into."""


def save_model(path: str | Path, model: nn.Module, config: Mapping[str, Any]) -> None:
    """Writes a model's tensors and its configuration to one safetensors file.

    Args:
        path: path of the file; its folder is made if needed, an older file is replaced in one step.
        model: model whose ``state_dict`` is stored under its own names; tied weights are stored
            twice.
        config: everything needed to build the model again, made of dicts, lists, strings, numbers,
            booleans and None. Tuples are loaded as lists.

    Raises:
        TypeError: the config contains something else, or the model's state is not only tensors.

    Example:
        >>> import tempfile
        >>> model = nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_model(f"{folder}/model.safetensors", model, {"inputs": 2})
        ...     state, config = load_model(f"{folder}/model.safetensors")
        >>> config, nn.Linear(config["inputs"], 1).load_state_dict(state)
        ({'inputs': 2}, <All keys matched successfully>)
    """
    state = model.state_dict()
    for name, value in state.items():
        if not isinstance(value, torch.Tensor):
            raise TypeError(
                f"a model file holds tensors only; the model's state {name!r} is a "
                f"{type(value).__name__}"
            )
    try:
        content = json.dumps(config, default=_number)
    except TypeError as error:
        raise TypeError(
            "the config of a model must be made of dicts, lists, strings, numbers, booleans and "
            f"None: {error}"
        ) from None
    _write(Path(path), "model", state, content)


def load_model(path: str | Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """The tensors and the configuration that ``save_model`` wrote.

    Args:
        path: path of the file.

    Returns:
        The state for ``model.load_state_dict``, tensors ``[...]`` as they were, on the CPU; and the
        configuration.

    Raises:
        CheckpointError: the file does not exist, is damaged, or is something else.

    Example: that of :func:`save_model`.
    """
    tensors, config = _read(Path(path), "model")
    if not isinstance(config, dict):
        raise CheckpointError(f"{path} has no configuration; expected a model with one")
    return tensors, config


def save_state(path: str | Path, state: Mapping[str, Any]) -> None:
    """Writes nested dicts, lists and tuples of tensors and plain values to one safetensors file.

    Args:
        path: path of the file; its folder is made if needed, an older file is replaced in one step.
        state: state to write, such as ``{"optimizer": optimizer.state_dict(), "epoch": 3}``.

    Raises:
        TypeError: the state contains something else.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_state(f"{folder}/state", {"betas": (0.9, 0.99), "step": {0: torch.ones(2)}})
        ...     load_state(f"{folder}/state")
        {'betas': (0.9, 0.99), 'step': {0: tensor([1., 1.])}}
    """
    tensors: dict[str, torch.Tensor] = {}
    content = json.dumps(_pack(state, "state", tensors))
    _write(Path(path), "training checkpoint", tensors, content)


def load_state(path: str | Path) -> dict[str, Any]:
    """The state that ``save_state`` wrote, with all tensors on the CPU.

    Raises:
        CheckpointError: the file does not exist, is damaged, or is something else.
    """
    tensors, content = _read(Path(path), "training checkpoint")
    try:
        state = _unpack(content, tensors)
    except MALFORMED:
        state = None
    if not isinstance(state, dict):
        raise CheckpointError(f"{path} holds no state; expected one written by fit")
    return state


@contextmanager
def bounded(weights: Mapping[str, torch.Tensor]) -> Iterator[None]:
    """A context in which no tensor can be much larger than all weights of a file together.

    A file says how large its model is. A manipulated file may name sizes that do not fit in memory,
    while a model that matches the weights is no larger than they are.

    Args:
        weights: tensors of the file, each ``[..]``.

    Raises:
        CheckpointError: a larger tensor would be made.
    """
    with _Bounded(sum(x.numel() * x.element_size() for x in weights.values()) + 2**20):
        yield


MAKERS = {torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn}


class _Bounded(TorchFunctionMode):  # unlike a dispatch mode it needs none of torch's compiler
    """Looks at each call that makes a tensor of a given size, before it is made."""

    def __init__(self, most: int):
        super().__init__()
        self.most = most

    def __torch_function__(
        self, function: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        if function in MAKERS:
            first = args[0] if args else named["size"]
            # torch.ones((2, 3)) or torch.ones(2, 3), whose sizes may be numpy's
            sizes = [int(n) for n in (first if isinstance(first, list | tuple) else args)]
            if math.prod(sizes) > self.most:
                raise CheckpointError(
                    f"a model of these sizes has a tensor {sizes}, larger than all that the "
                    "file holds together"
                )
        return function(*args, **named)


def copy_state(model: nn.Module) -> dict[str, Any]:
    """A copy of the model's state that later training does not change."""
    return {
        name: value.detach().clone() if isinstance(value, torch.Tensor) else copy.deepcopy(value)
        for name, value in model.state_dict().items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, saved: dict[str, Any]) -> None:
    """``load_state_dict`` without rounding: torch rounds the state to the parameters' dtype."""
    optimizer.load_state_dict(saved)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for index, values in saved["state"].items():
        state = optimizer.state[parameters[index]]
        for name, value in values.items():
            if isinstance(value, torch.Tensor) and state[name].dtype != value.dtype:
                state[name] = value.to(state[name].device)


def describe(name: str, part: Any) -> dict[str, Any]:
    """The class and the plain hyper-parameters of an optimizer or a schedule, as a flat dict.

    Example:
        >>> optimizer = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
        >>> settings = describe("optimizer", optimizer)
        >>> settings["optimizer"], settings["optimizer.0.lr"]
        ('SGD', 0.1)
    """
    settings = {name: getattr(part, "known_as", type(part).__name__)}
    # The state of a fresh optimizer is its groups of settings, that of a schedule its attributes.
    state = part.state_dict()
    if isinstance(part, torch.optim.Optimizer):
        state = [{k: v for k, v in group.items() if k != "params"} for group in part.param_groups]
    # Through JSON, so that a tuple compares equal to the list that comes back from disk.
    stack = [(name, json.loads(json.dumps(state, default=_plain_value)))]
    while stack:
        place, value = stack.pop()
        if isinstance(value, (dict, list)):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            stack.extend((f"{place}.{key}", item) for key, item in pairs)
        else:
            settings[place] = value
    return settings


def check_settings(path: str | Path, saved: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    """Compares the settings of a checkpoint with those of the training that resumes from it.

    Raises:
        CheckpointError: some settings differ; the error names the first few, without the values of
            digests.
    """
    names = [*present, *(name for name in saved if name not in present)]
    absent = "absent"
    pairs = {name: (saved.get(name, absent), present.get(name, absent)) for name in names}
    digest = re.compile("[0-9a-f]{64}")
    differences = [
        f"{name} differ"
        if absent not in pair and any(digest.fullmatch(str(each)) for each in pair)
        else "{} is {} there and {} here".format(name, *(digest.sub("told", str(x)) for x in pair))
        for name, pair in pairs.items()
        if pair[0] != pair[1]
    ]
    if differences:
        more = f", and {len(differences) - 3} more" if len(differences) > 3 else ""
        raise CheckpointError(
            f"cannot resume from {path}, which another training wrote: "
            f"{', '.join(differences[:3])}{more}; expected the same model, data, settings and "
            "version of structnet"
        )


def _number(value: Any) -> Any:
    """NumPy's numbers, which searches over parameters give, as Python's, which JSON can hold."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")


def _plain_value(value: Any) -> Any:
    if isinstance(value, (torch.Tensor, np.generic)):
        return value.tolist()
    return type(value).__name__  # a function has no value that two processes would agree on


def _pack(value: Any, name: str, tensors: dict[str, torch.Tensor]) -> Any:
    """The value as JSON, its tensors moved out; dicts become pairs, as their keys may be ints."""
    if isinstance(value, torch.Tensor):
        tensors[name] = value
        return {"tensor": name}
    if isinstance(value, Mapping):
        kind = "counter" if isinstance(value, Counter) else "dict"  # MultiStepLR keeps a Counter
        return {kind: [[key, _pack(item, f"{name}/{key}", tensors)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_pack(item, f"{name}/{i}", tensors) for i, item in enumerate(value)]}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(
        f"a checkpoint holds tensors, numbers, strings, lists and dicts; {name} is a "
        f"{type(value).__name__}"
    )


def _unpack(value: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tensor":
        return tensors[content]
    if kind in ("dict", "counter"):
        pairs = {key: _unpack(item, tensors) for key, item in content}
        return Counter(pairs) if kind == "counter" else pairs
    items = [_unpack(item, tensors) for item in content]
    return tuple(items) if kind == "tuple" else items


def _write(path: Path, kind: str, tensors: Mapping[str, torch.Tensor], content: str) -> None:
    metadata = {
        "format": "pt",
        "structnet": kind,
        "version": str(VERSION),
        "content": content,
        "sha256": _BLANK.decode(),
    }
    data = memoryview(bytearray(save(_separate(tensors), metadata)))
    place = _place_of_hash(data)
    data[place] = hashlib.sha256(data).hexdigest().encode()
    with replacing(path) as file:
        file.write(data)


def _place_of_hash(data: memoryview) -> slice:
    """Where a file's hash stands; quotes within its texts are escaped, so there is one at most."""
    end = 8 + int.from_bytes(data[:8], "little")
    start = bytes(data[8:end]).index(_HASH) + 8 + len(_HASH)
    return slice(start, start + len(_BLANK))


def _is_whole(data: memoryview, expected: str) -> bool:
    """Whether a file's content is the one that was hashed."""
    try:
        place = _place_of_hash(data)
    except ValueError:
        return False
    digest = hashlib.sha256(data[: place.start])
    digest.update(_BLANK)
    digest.update(data[place.stop :])
    return digest.hexdigest() == expected


def _separate(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors on the CPU, each in its own memory, as the format wants them."""
    seen: set[int] = set()
    result = {}
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        memory = tensor.untyped_storage().data_ptr()
        result[name] = tensor.clone() if memory in seen else tensor
        seen.add(memory)
    return result


def _read(path: Path, kind: str) -> tuple[dict[str, torch.Tensor], Any]:
    expected = f"expected a {kind} written by {WRITERS[kind]}"
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise CheckpointError(f"{path} {problem}; {expected}")
    try:
        # Read, not mapped: a tensor that maps the file would change, or crash, with the file.
        data = path.read_bytes()
        tensors = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}; {expected}") from None
    except (SafetensorError, *MALFORMED):
        raise CheckpointError(f"cannot read {path}: {_diagnosis(data)}; {expected}") from None
    metadata = header.get("__metadata__", {})
    content = metadata.get("structnet", "safetensors file of another program")
    if content not in WRITERS:
        raise CheckpointError(f"{path} is a {content}; {expected}")
    version = metadata.get("version")
    if version != str(VERSION):
        raise CheckpointError(
            f"{path} has format version {version}; this structnet reads {VERSION}"
        )
    if not _is_whole(memoryview(data), metadata.get("sha256", "")):
        raise CheckpointError(
            f"{path} is damaged: its content is not the one that was written; {expected}"
        )
    if content != kind:
        raise CheckpointError(f"{path} is a {content}; {expected}")
    try:
        return tensors, json.loads(metadata["content"])
    except MALFORMED:
        raise CheckpointError(f"{path} is damaged: its header is no JSON; {expected}") from None


def _diagnosis(data: bytes) -> str:
    size, start = len(data), data[:9]
    if not start:
        return "the file is empty"
    # The format begins with the length of its JSON header, in 8 bytes, and the header.
    if start[8:] == b"{":
        return f"it is damaged or cut short, at {size} bytes"
    if start.startswith((b"PK", b"\x80")):
        return "it looks like a pickle or a torch.save file, which can run code and is never loaded"
    return "it is no safetensors file"
