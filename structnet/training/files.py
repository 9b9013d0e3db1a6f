"""Files that are written whole or not at all, and folders in which one thread works at a time."""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # not on Windows, where nobody is kept out
    fcntl = None  # type: ignore[assignment]  # Windows has none

LOCK = ".lock"
_held: dict[tuple[int, Path], int] = {}  # the thread that works in a folder, by process and folder


class FolderInUseError(OSError):
    """Another process, or another thread of this one, is at work in a folder."""


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a file for writing that replaces the one at a path in one step once it is complete.

    If anything fails before that, the old file stays. The temporary name cannot be guessed and is
    never that of an existing file, so that nobody can plant a link to be written through. A pipe or
    a device, such as ``/dev/stdout``, is written to and stays what it is.

    Args:
        path: path of the file; its folder is made if needed.

    Raises:
        OSError: the file cannot be written; the error names it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(f"{folder}/a") as file:
        ...         _ = file.write(b"whole")
        ...     Path(folder, "a").read_bytes()
        b'whole'
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with naming(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if _stays(path):
                with path.open("ab") as file:  # behind what is in the file of /dev/stdout
                    yield file
                return
            with temporary.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())  # or the move could reach the disk before what it moves
            temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def _stays(path: Path) -> bool:
    """Is it a pipe, a device, or a name of one, such as ``/dev/stdout``?"""
    there = path.exists() and not (path.is_file() or path.is_dir())
    return there or path.absolute().parent == Path("/dev")


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """A context that adds a file's name to system errors, such as those of a full disk.

    Args:
        path: path of the file.

    Raises:
        OSError: the error raised inside, with the name.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or isinstance(error, FolderInUseError):
            raise  # one of our own, with a sentence
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from error


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """A context that keeps others out of a folder; the lock ends if this process dies.

    The thread that is in it may enter another one for the same folder.

    Args:
        folder: path of the folder; it is made if needed, and removed if it stays empty.

    Raises:
        FolderInUseError: another process or thread uses the folder; the error names it.
        OSError: the folder cannot be written to.
    """
    folder = Path(folder).absolute()
    held, thread = (os.getpid(), folder), threading.get_ident()
    if fcntl is None or _held.get(held) == thread:
        yield
        return
    if _held.setdefault(held, thread) != thread:  # in one step, for two that come at once
        raise _in_use(folder, "another thread of this process")
    try:
        with _kept(folder):
            yield
    finally:
        del _held[held]


@contextmanager
def _kept(folder: Path) -> Iterator[None]:
    """A context that holds a folder's lock; errors as for :func:`locked`."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    descriptor = _taken(folder)
    try:
        yield
    finally:
        with suppress(OSError):
            (folder / LOCK).unlink()  # before it is free: no other takes one that goes
        with suppress(OSError):  # the first that is not empty
            for path in new:
                path.rmdir()
        os.close(descriptor)


def _in_use(folder: Path, owner: str) -> FolderInUseError:
    return FolderInUseError(
        f"{folder} is in use by {owner}; wait until it has ended, or name another folder"
    )


def _taken(folder: Path) -> int:
    """The descriptor of a folder's lock, once it is ours."""
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(folder / LOCK, flags, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.read(descriptor, 200).decode(errors="replace") or "another process"
                os.close(descriptor)
                raise _in_use(folder, owner) from None
            except OSError:  # a file system without locks
                return descriptor
            if _is_there(folder / LOCK, descriptor):
                break
            os.close(descriptor)  # its owner has just taken it away
        for half in folder.glob(f".*.{'[0-9a-f]' * 16}.tmp"):  # of somebody who was killed
            half.unlink(missing_ok=True)
        with suppress(OSError):  # a full disk: then nobody is named
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
    return descriptor


def _is_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
