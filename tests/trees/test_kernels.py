"""Compiled loops on disk: what is read is what was compiled for these types."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import event
from numba.core.errors import TypingError

from structnet.trees import _kernels
from structnet.trees._kernels import CacheFiles, stamp_of


@pytest.mark.parametrize("step", ["_save_data", "_save_index"])
def test_two_processes_that_compile_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    one, other = (CacheFiles(str(tmp_path), "function", source_stamp=(1.0, 2)) for _ in range(2))
    monkeypatch.setattr(other, "_load_index", dict)  # read before the first of them wrote
    own_step = getattr(one, step)

    def other_first(*args: object) -> None:
        other.save(("float64",), "for float64")
        own_step(*args)

    monkeypatch.setattr(one, step, other_first)
    one.save(("float32",), "for float32")
    reader = CacheFiles(str(tmp_path), "function", source_stamp=(1.0, 2))
    found = {key: reader.load((key,)) for key in ("float32", "float64")}
    assert found["float32"] in (None, "for float32")
    assert found["float64"] in (None, "for float64")
    assert set(found.values()) != {None}


def test_what_an_older_source_left_is_not_read(tmp_path: Path) -> None:
    CacheFiles(str(tmp_path), "function", source_stamp=(1.0, 2)).save(("int64",), "old")
    newer = CacheFiles(str(tmp_path), "function", source_stamp=(3.0, 4))
    assert newer.load(("int64",)) is None
    newer.save(("int64",), "new")
    assert newer.load(("int64",)) == "new"


def test_compiled_functions_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    offsets, children = np.array([0, 0, 1]), np.array([0])
    for hits in (0, 1):
        heights = _kernels.compiled(_kernels.heights.py_func)
        assert heights(offsets, children).tolist() == [0, 1]
        assert sum(heights.stats.cache_hits.values()) == hits


def test_all_below_some_roots_ascends() -> None:
    offsets, children = np.array([0, 0, 0, 0, 2, 4]), np.array([2, 0, 3, 1])  # 3 over 2, 0; 4
    for root, found in ((3, [0, 2, 3]), (4, [0, 1, 2, 3, 4])):
        assert _kernels.below(np.array([root]), offsets, children).tolist() == found


def test_functions_are_compiled_anew_when_those_they_call_change(tmp_path: Path) -> None:
    for name in ("_kernels.py", "_vectors.py", "other.py", "kernels/gates.py"):
        path = tmp_path / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old")

    def stamp() -> str:
        stamp_of.cache_clear()
        return stamp_of(tmp_path)

    seen = [stamp()]
    for name in ("kernels/gates.py", "_vectors.py", "_kernels.py"):
        (tmp_path / "package" / name).write_text("newer")
        seen.append(stamp())
    assert len(set(seen)) == 4
    (tmp_path / "package" / "other.py").write_text("newer")
    assert stamp() == seen[-1]


def _right(x: int) -> int:
    return x + 1


def _wrong(x: Any) -> int:
    return x.missing


class _Watch(event.Listener):
    """Notes at the end of each pass of a compilation whether garbage is collected."""

    def __init__(self) -> None:
        self.seen: set[bool] = set()

    def on_start(self, event: event.Event) -> None:
        pass

    def on_end(self, event: event.Event) -> None:
        self.seen.add(gc.isenabled())


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("function", [_right, _wrong])
def test_no_garbage_is_collected_while_a_function_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: Callable, enabled: bool
) -> None:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    watch = _Watch()
    try:
        (gc.enable if enabled else gc.disable)()
        with event.install_listener("numba:run_pass", watch):
            if function is _right:
                assert _kernels.compiled(function)(1) == 2
            else:
                with pytest.raises(TypingError, match="missing"):
                    _kernels.compiled(function)(1)
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
    assert watch.seen == {False}
