"""Finds and downloads the files of data sets, and checks that they are the published ones.

A :class:`Source` identifies a file by its hash; ``sources.csv`` lists all of them. :func:`fetch`
finds the file, or downloads it once into a cache. It never returns a file that does not match the
hash, and never keeps such a download.
"""

from __future__ import annotations

import csv
import hashlib
import http.client
import os
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from structnet.training.files import replacing

_CHUNK = 1 << 16  # bytes
_TIMEOUT = 30.0  # seconds without a byte before a download gives up


class DownloadError(OSError):
    """A file was not found, and it was not or could not be downloaded."""


class WrongFileError(ValueError):
    """A file has the right name but the wrong content."""


def absent(what: str, url: str) -> DownloadError:
    """The error for missing files.

    Args:
        what: words that say what is missing and where to put it.
        url: address to download it from.
    """
    return DownloadError(f"{what}, or allow the download (download=True) from {url}")


@dataclass(frozen=True)
class Source:
    """One published file.

    Args:
        name: name of the file.
        folder: name of the data set's folder in a data directory or the cache.
        url: address at which the file is published.
        licence: publisher's statement on its use.
        sha256: SHA-256 of the content, in hexadecimal.
        git_blob: name as a git object: SHA-1 of ``blob <size>\\0`` and the content.
        size: size in bytes; None if unknown.

    Raises:
        ValueError: neither hash is given.
    """

    name: str
    folder: str
    url: str
    licence: str
    sha256: str | None = None
    git_blob: str | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        if not (self.sha256 or self.git_blob):
            raise ValueError(f"the source {self.name!r} has no hash; give sha256 or git_blob")


def sources(folder: str) -> tuple[Source, ...]:
    """The published files of a data set.

    Args:
        folder: name of the data set's folder, as in ``sources.csv``.

    Example:
        >>> [source.name for source in sources("sarcos")]
        ['sarcos_inv.mat', 'sarcos_inv_test.mat']
    """
    with Path(__file__).with_name("sources.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["folder"] == folder]
    sizes = [int(row.pop("size") or 0) or None for row in rows]
    return tuple(Source(**row, size=size) for row, size in zip(rows, sizes, strict=True))


def cache_dir() -> Path:
    """The folder for downloads: ``$STRUCTNET_DATA`` if it is set, or ``~/.cache/structnet``."""
    chosen = os.environ.get("STRUCTNET_DATA")
    return Path(chosen) if chosen else Path.home() / ".cache" / "structnet"


def find(source: Source, data_dir: str | Path | None = None) -> Path | None:
    """The path of a file with the source's name, whose content is not checked; None if not found.

    Args:
        source: file to look for.
        data_dir: folder to search first, and in it the data set's folder; the cache is searched
            next.

    Example:
        >>> find(Source("absent.tsv", "demo", "https://example.org", "MIT", sha256="0")) is None
        True
    """
    paths = [place / source.name for place in places(source.folder, data_dir)]
    return next((path for path in paths if path.is_file()), None)


def places(folder: str, data_dir: str | Path | None = None) -> list[Path]:
    """The folders in which the files of a data set may be, in the order of the search.

    Args:
        folder: name of the data set's folder in a data directory or the cache.
        data_dir: folder to search first, and in it the data set's folder; the cache is searched
            next.

    Example:
        >>> [path.as_posix() for path in places("mnist", "data")[:2]]
        ['data', 'data/mnist']
    """
    roots = [cache_dir()] if data_dir is None else [Path(data_dir), cache_dir()]
    return [path for root in roots for path in (root, root / folder)]


def verify(source: Source, path: str | Path) -> None:
    """Checks that a file has the size and the hash of its source.

    Raises:
        WrongFileError: the size or the hash differs.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> blob = "257cc5642cb1a054f08cc83f2d943e56fd3ebe99"
        >>> source = Source("x", "demo", "https://example.org/x", "MIT", git_blob=blob)
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "x")
        ...     _ = path.write_bytes(b"foo\\n")
        ...     verify(source, path)
    """
    size = Path(path).stat().st_size
    if source.size is not None and size != source.size:
        raise WrongFileError(f"{path} has {size:,} bytes; {source.name} has {source.size:,}")
    expected: str | None
    if source.sha256:
        kind, expected, got = "SHA-256", source.sha256, _digest("sha256", path)
    else:
        header = b"blob %d\0" % size  # git hashes this before the content
        kind, expected, got = "git blob", source.git_blob, _digest("sha1", path, header)
    if got != expected:
        raise WrongFileError(f"{path} has the {kind} hash {got}; {source.name} has {expected}")


def is_published(source: Source, path: str | Path) -> bool:
    """True if a file has the source's content, for data sets whose correct copies may differ.

    Example:
        >>> source = Source("x", "demo", "https://example.org/x", "MIT", sha256="0")
        >>> is_published(source, __file__)
        False
    """
    try:
        verify(source, path)
    except WrongFileError:
        return False
    return True


def fetch(source: Source, data_dir: str | Path | None = None, download: bool = True) -> Path:
    """The path of a verified file, which is downloaded into the cache if it is not found.

    Args:
        source: file to fetch.
        data_dir: folder to search before the cache, as in :func:`find`.
        download: False to raise an error instead of using the network.

    Raises:
        DownloadError: the file is not found, and ``download`` is False or the download failed.
        WrongFileError: the content is not the source's. A wrong download is deleted; a wrong file
            that was found is left as it is.
    """
    existing = find(source, data_dir)
    if existing is not None:
        verify(source, existing)
        return existing
    target = cache_dir() / source.folder / source.name
    if not download:
        folder = target.parent if data_dir is None else Path(data_dir)
        raise absent(f"{source.name} is not in {folder}; put it there", source.url)
    # Other processes see no file or a complete one, even if two of them download it at once.
    with replacing(target) as file:
        file.writelines(_chunks(source, target))
        file.flush()
        verify(source, file.name)
    return target


def _chunks(source: Source, target: Path) -> Iterator[bytes]:
    try:
        with urllib.request.urlopen(source.url, timeout=_TIMEOUT) as response:
            while chunk := response.read(_CHUNK):
                yield chunk
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(
            f"cannot download {source.name} from {source.url}: {error}; "
            f"without a network, put the file at {target}"
        ) from error


def _digest(algorithm: str, path: str | Path, header: bytes = b"") -> str:
    digest = hashlib.new(algorithm, header)
    with Path(path).open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
