"""Files by their hash: found, downloaded once, and refused when they are others."""

from __future__ import annotations

import hashlib
import io
import urllib.request
from pathlib import Path

import pytest

from structnet.datasets import source
from structnet.datasets.source import DownloadError, Source, WrongFileError

pytestmark = pytest.mark.usefixtures("cache")
CONTENT = b"3\t[MAX 1 3 ]\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
GIT_BLOB = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network on which every address holds CONTENT."""
    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: io.BytesIO(CONTENT))


def demo(**changes: object) -> Source:
    fields = {"name": "a.tsv", "folder": "demo", "url": "https://example.org/a.tsv"}
    return Source(**(fields | {"licence": "MIT", "sha256": SHA256} | changes))


@pytest.mark.parametrize("changes", [{}, {"sha256": None, "git_blob": GIT_BLOB}, {"size": 13}])
def test_fetch_downloads_once(served: None, cache: Path, changes: dict, monkeypatch) -> None:
    path = source.fetch(demo(**changes))
    assert path == cache / "demo" / "a.tsv"
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]
    monkeypatch.setattr(urllib.request, "urlopen", None)  # would fail if called
    assert source.fetch(demo(**changes)) == path


def test_fetch_reads_file_urls(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("STRUCTNET_DATA", str(tmp_path / "cache"))
    (tmp_path / "published.tsv").write_bytes(CONTENT)
    path = source.fetch(demo(url=(tmp_path / "published.tsv").as_uri()))
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("changes", [{"sha256": "0" * 64}, {"size": 99}, {"sha256": GIT_BLOB}])
def test_a_wrong_download_is_not_kept(served: None, cache: Path, changes: dict) -> None:
    with pytest.raises(WrongFileError, match=r"a\.tsv"):
        source.fetch(demo(**changes))
    assert list((cache / "demo").iterdir()) == []


def test_no_network_says_what_to_do(cache: Path) -> None:
    with pytest.raises(DownloadError, match=r"cannot download a.tsv from https.*put the file at"):
        source.fetch(demo())
    assert list((cache / "demo").iterdir()) == []


def test_an_interrupted_download_leaves_nothing(cache: Path, monkeypatch) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int) -> bytes:
            raise ConnectionResetError("reset by peer")

    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: Broken())
    with pytest.raises(DownloadError, match="reset by peer"):
        source.fetch(demo())
    assert list((cache / "demo").iterdir()) == []


@pytest.mark.parametrize("where", ["", "demo"])
def test_fetch_prefers_the_data_dir(tmp_path: Path, where: str) -> None:
    path = tmp_path / "mine" / where / "a.tsv"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    assert source.find(demo(), tmp_path / "mine") == path
    assert source.fetch(demo(), tmp_path / "mine") == path


def test_a_wrong_file_of_the_user_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("something else")
    with pytest.raises(WrongFileError, match="SHA-256"):
        source.fetch(demo(), tmp_path)
    assert (tmp_path / "a.tsv").read_text() == "something else"


def test_without_download_nothing_is_fetched(served: None, cache: Path) -> None:
    with pytest.raises(DownloadError, match="download=True"):
        source.fetch(demo(), download=False)
    assert not cache.exists()


def test_default_cache(monkeypatch) -> None:
    monkeypatch.delenv("STRUCTNET_DATA")
    assert source.cache_dir() == Path.home() / ".cache" / "structnet"


def test_a_source_needs_a_hash() -> None:
    with pytest.raises(ValueError, match="no hash"):
        demo(sha256=None)
