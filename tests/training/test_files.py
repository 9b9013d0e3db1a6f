"""Files that are whole or not there; folders in which one thread works at a time."""

from __future__ import annotations

import errno
import os
import secrets
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from disks import files_of_at_most, held
from torch import nn
from train_helpers import Classifier, rows

from structnet.training.checkpoint import load_model, save_model
from structnet.training.files import LOCK, FolderInUseError, locked, naming, replacing
from structnet.training.fitting import fit
from structnet.training.history import History


def test_a_link_in_the_way_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can guess the name; if somebody could, nothing would be overwritten."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    names = []
    for _ in range(2):
        with replacing(tmp_path / "model") as file:
            names.append(file.name)
    assert names[0] != names[1]
    monkeypatch.setattr(secrets, "token_hex", lambda size: "known")
    (tmp_path / ".model.known.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError), replacing(tmp_path / "model") as file:
        file.write(b"theirs")
    assert victim.read_text() == "mine"


def test_permissions_are_the_users(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        save_model(tmp_path / "model", nn.Linear(1, 1), {})
    finally:
        os.umask(before)
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o640


def test_a_file_that_grows_too_large_is_named_and_the_old_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_model(path, nn.Linear(2, 2), {"version": "old"})
    with pytest.raises(OSError) as caught, files_of_at_most(4096):
        save_model(path, nn.Linear(100, 100), {"version": "new"})
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert load_model(path)[1] == {"version": "old"}
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full disk to try")
def test_a_full_disk_is_named() -> None:
    history = History([{"epoch": 1}])
    with pytest.raises(OSError) as caught:
        history.append_last_to("/dev/full")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "/dev/full")


@pytest.mark.parametrize("write", [lambda path: History().save(path), lambda path: fitted(path)])
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, write) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="cannot be written") as caught:
        write(tmp_path / "file" / "run")
    assert str(tmp_path / "file") in str(caught.value.filename)


def fitted(folder: Path) -> History:
    return fit(Classifier(), rows(8), epochs=1, batch_size=4, checkpoint=folder, progress=False)


def test_sentences_of_our_own_are_left_alone(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"^so it is$"), naming(tmp_path):
        raise OSError("so it is")


# ---- locks


def test_two_processes_in_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with held(folder) as other:
        message = rf"run is in use by process {other.pid} on .*; wait until it has ended"
        with pytest.raises(FolderInUseError, match=message):
            fitted(folder)
        assert not (folder / "history.jsonl").exists()
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert len(fitted(folder)) == 1  # its death let go of the folder
    assert len(History.load(folder / "history.jsonl")) == 1
    assert not list(folder.glob(".*"))


def test_what_a_killed_process_left_half_written_goes(tmp_path: Path) -> None:
    half, other = tmp_path / ".model.0123456789abcdef.tmp", tmp_path / ".mine.tmp"
    for file in (half, other):
        file.write_text("half")
    with locked(tmp_path):
        assert not half.exists() and other.exists()


def test_a_lock_within_a_lock(tmp_path: Path) -> None:
    """A command holds a folder in which it calls ``fit``."""
    folder = tmp_path / "runs" / "one"
    with locked(folder):
        with locked(folder):
            pass
        assert (folder / LOCK).exists()
    assert list(tmp_path.iterdir()) == []


def test_two_threads_in_one_folder(tmp_path: Path) -> None:
    """The one that holds the folder may enter it again, another one may not."""
    folder = tmp_path / "run"
    with ThreadPoolExecutor(1) as other:
        with locked(folder):
            message = r"run is in use by another thread of this process; wait until it has ended"
            with pytest.raises(FolderInUseError, match=message):
                other.submit(fitted, folder).result()
            assert len(fitted(folder)) == 1
        assert len(other.submit(fitted, folder).result()) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # so that writing need not wait for a reader
    try:
        with replacing(pipe) as file:
            file.write(b"whole")
        assert os.read(end, 10) == b"whole"
        assert pipe.is_fifo() and [*tmp_path.iterdir()] == [pipe]
    finally:
        os.close(end)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="the system has no such name")
def test_the_standard_output_keeps_its_name(tmp_path: Path) -> None:
    code = "from structnet.training.files import replacing\nprint('first', flush=True)\n"
    code += "with replacing('/dev/stdout') as file: file.write(b'second')"
    with (tmp_path / "told").open("w") as told:
        subprocess.run([sys.executable, "-c", code], stdout=told, check=True)
    assert (tmp_path / "told").read_text() == "first\nsecond"
    assert Path("/dev/stdout").is_symlink()
