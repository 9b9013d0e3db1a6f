"""Texts to model: published ones, the one that every Python has, and files of one's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from structnet.datasets.gutenberg import books_in, in_three, read_books, sentences_of
from structnet.datasets.source import DownloadError, places
from structnet.text.sentences import TextError, read_sentences

# Folder of each published text -> its files for training, validation and testing.
FILES = {
    "brown": ("train.txt", "valid.txt", "test.txt"),
    "wikitext-2": ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"),
}
ORIGIN = {
    "brown": "the Brown corpus as NLTK distributes it (research use), lower-cased",
    "wikitext-2": "WikiText-2 of Merity et al. 2016 (CC BY-SA), tokenised",
}
RUN = 50  # sentences that stay together in a split, as neighbours tell of each other


@dataclass(frozen=True)
class Text:
    """Sentences to learn from, to choose by and to test on; each is a list of words.

    Attributes:
        name: name of the text, or the path of its file.
        split: words on how it was split.
    """

    name: str
    split: str
    train: list[list[str]]
    validation: list[list[str]]
    test: list[list[str]]


def load_text(name: str | Path, data_dir: str | Path | None = None, seed: int = 0) -> Text:
    """A text by name, or of a file.

    Args:
        name: "brown" or "wikitext-2", whose files must be at hand; "gutenberg", books as they are
            downloaded; "pydoc", the help on Python's language, which every Python has; or the path
            of a file with one sentence a line, words between blanks.
        data_dir: folder that may hold the files of a published text, directly or in a folder of
            its name; the cache is looked into as well. Books are in a folder of that name alone.
        seed: seed of the split of a text that has none: 8 parts to learn from, 1 for validation
            and 1 to test on, in runs of up to 50 sentences, or by book.

    Raises:
        DownloadError: the files of a published text are not at hand.
        TextError: a file is not UTF-8 text, or holds too little to split.

    Example:
        >>> text = load_text("pydoc")
        >>> text.train[0][:3] == [word.lower() for word in text.train[0][:3]]
        True
    """
    if name in FILES:
        return _published(str(name), data_dir)
    if name == "gutenberg":
        return _books(data_dir, seed)
    sentences = pydoc_sentences() if name == "pydoc" else read_sentences(name)
    train, validation, test = _split(sentences, seed, name)
    return Text(str(name), f"8:1:1 in runs of sentences, seed {seed}", train, validation, test)


def _published(name: str, data_dir: str | Path | None) -> Text:
    for folder in places(name, data_dir):
        files = [folder / file for file in FILES[name]]
        if all(file.is_file() for file in files):
            return Text(name, "as its files", *map(read_sentences, files))
    where = places(name, data_dir)[1]
    raise DownloadError(
        f"{name} is not at hand: put {', '.join(FILES[name])}, one sentence a line, into {where}; "
        f"it is {ORIGIN[name]}"
    )


def _books(data_dir: str | Path | None, seed: int) -> Text:
    folders = [folder for folder in places("gutenberg", data_dir) if folder.name == "gutenberg"]
    for folder in folders:
        if books := books_in(folder):
            split = f"{len(books)} books, 8:1:1, seed {seed}"
            return Text("gutenberg", split, *read_books(books, seed))
    raise DownloadError(
        f"gutenberg is not at hand: put books, plain text files (.txt) as www.gutenberg.org gives "
        f"them, into {folders[0]}"
    )


def pydoc_sentences() -> list[list[str]]:
    """The help on Python's language in lower-cased sentences; other versions have other ones.

    Example:
        >>> sum(map(len, pydoc_sentences())) > 50_000
        True
    """
    from pydoc_data.topics import topics

    # Marks of the markup (underlines, boxes) are no words.
    plain = (re.sub(r"[*=\-~^|+]{3,}", " ", topics[topic]) for topic in sorted(topics))
    return [words for text in plain for words in sentences_of(text)]


def _split(sentences: list[list[str]], seed: int, name: str | Path) -> list[list[list[str]]]:
    """Runs of sentences, drawn for each of the three parts, in their order there."""
    if len(sentences) < 10:
        raise TextError(f"{name} has {len(sentences)} sentences; expected at least 10 to split")
    length = min(RUN, len(sentences) // 10)
    runs = [sentences[i : i + length] for i in range(0, len(sentences), length)]
    return [[words for i in part for words in runs[i]] for part in in_three(len(runs), seed)]
