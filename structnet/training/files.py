"""Files that are written whole or not at all, and folders in which one process works at a time."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # not on Windows, where nobody is kept out
    fcntl = None  # type: ignore[assignment]  # Windows has none

LOCK = ".lock"
_held: set[Path] = set()  # folders that this process works in


class FolderInUseError(OSError):
    """Another process is at work in a folder."""


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a file for writing that replaces the one at a path in one step once it is complete.

    If anything fails before that, the old file stays. The temporary name cannot be guessed and is
    never that of an existing file, so that nobody can plant a link to be written through.

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
            with temporary.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())  # or the move could reach the disk before what it moves
            temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()


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
    """A context that keeps other processes out of a folder; the lock ends if this process dies.

    Args:
        folder: path of the folder; it is made if needed, and removed if it stays empty.

    Raises:
        FolderInUseError: another process uses the folder; the error names it.
        OSError: the folder cannot be written to.
    """
    folder = Path(folder).absolute()
    if fcntl is None or folder in _held:
        yield
        return
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    descriptor = _taken(folder)
    _held.add(folder)
    try:
        yield
    finally:
        _held.discard(folder)
        with suppress(OSError):
            (folder / LOCK).unlink()  # before it is free: no other takes one that goes
        with suppress(OSError):  # the first that is not empty
            for path in new:
                path.rmdir()
        os.close(descriptor)


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
                raise FolderInUseError(
                    f"{folder} is in use by {owner}; wait until it has ended, or name another "
                    "folder"
                ) from None
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
