"""Texts: published files by their names, files of one's own split, the text of every Python."""

from __future__ import annotations

from itertools import chain

import pytest

from structnet.datasets import DownloadError, load_text
from structnet.text import TextError


def test_a_published_text_is_read_as_it_is_split(tmp_path):
    for part in ("train", "valid", "test"):
        file = tmp_path / "brown" / f"{part}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{part} words .\n", encoding="utf-8")
    text = load_text("brown", tmp_path)
    assert (text.train, text.validation) == ([["train", "words", "."]], [["valid", "words", "."]])
    assert text.test == [["test", "words", "."]] and text.split == "as its files"


def test_a_text_that_is_not_at_hand_says_where_to_put_it(tmp_path):
    with pytest.raises(DownloadError, match=r"put train.txt, valid.txt, test.txt.*into .*brown"):
        load_text("brown", tmp_path)


@pytest.mark.parametrize("size", [10, 47, 5000])
def test_a_file_is_split_into_runs_without_loss(tmp_path, size):
    file = tmp_path / "own.txt"
    file.write_text("".join(f"line {i}\n" for i in range(size)), encoding="utf-8")
    text = load_text(file, seed=3)
    parts = [[int(words[1]) for words in part] for part in (text.train, text.validation, text.test)]
    assert sorted(chain.from_iterable(parts)) == list(range(size))
    assert all(part == sorted(part) for part in parts)
    for part in parts[1:]:
        assert abs(len(part) - size / 10) <= 50
    assert load_text(file, seed=3) == text
    assert load_text(file, seed=4).test != text.test


def test_too_few_sentences_are_not_split(tmp_path):
    file = tmp_path / "short.txt"
    file.write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(TextError, match="has 2 sentences, one on each line; expected at least 10"):
        load_text(file)


def test_the_text_of_every_python_is_one_to_learn_from():
    text = load_text("pydoc")
    tokens = sum(map(len, text.train))
    assert tokens > 40_000 and "statement" in {word for words in text.train for word in words}


def test_books_are_split_by_book_without_what_stands_around_them(tmp_path):
    folder = tmp_path / "gutenberg"
    with pytest.raises(DownloadError, match=r"put books, plain text.*into .*gutenberg"):
        load_text("gutenberg", tmp_path)
    folder.mkdir()
    for i in range(20):
        start = "Start" if i % 2 else "START"
        text = (
            f"\ufeffThe Project Gutenberg eBook of Book {i}\r\n\r\nThis eBook is for use.\r\n"
            f"*** {start} OF THE PROJECT GUTENBERG EBOOK BOOK {i} ***\r\n\r\n"
            f"Chapter {i}\r\n\r\nIt was late in\r\nthe year. Who came? Ann\u00e9 left.\r\n"
            f"*** END OF THE PROJECT GUTENBERG EBOOK BOOK {i} ***\r\nSection 1. License\r\n"
        )
        encoding = "utf-8" if i % 2 else "latin-1"
        text = text if i % 2 else text.replace("\ufeff", "")
        (folder / f"{i:02}.txt").write_bytes(text.encode(encoding))
    text = load_text("gutenberg", tmp_path, seed=1)
    first, second, third, fourth = text.train[:4]
    assert first[0] == "chapter" and second == ["it", "was", "late", "in", "the", "year", "."]
    assert (third, fourth) == (["who", "came", "?"], ["ann\u00e9", "left", "."])
    parts = [{words[1] for words in part[::4]} for part in (text.train, text.validation, text.test)]
    assert [len(part) for part in parts] == [16, 2, 2] and len(set.union(*parts)) == 20
    assert load_text("gutenberg", tmp_path, seed=1) == text
    assert load_text("gutenberg", tmp_path, seed=2).test != text.test


def test_too_few_books_are_not_split(tmp_path):
    folder = tmp_path / "gutenberg" / "txt"
    folder.mkdir(parents=True)
    (folder / "one.txt").write_text("It was late.", encoding="utf-8")
    with pytest.raises(TextError, match=r"needs at least 10 books, to split them\. Got 1"):
        load_text("gutenberg", tmp_path)
