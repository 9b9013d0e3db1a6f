"""Texts for language models: published ones, Python's own help, and the user's files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from structnet.datasets.gutenberg import books_in, in_three, read_books, sentences_of
from structnet.datasets.source import DownloadError, places
from structnet.text.sentences import TextError, read_sentences

# The files of each published text, by its folder, for training, validation and testing.
FILES = {
    "brown": ("train.txt", "valid.txt", "test.txt"),
    "wikitext-2": ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"),
}
ORIGIN = {
    "brown": "the Brown corpus as NLTK distributes it (research use), lower-cased",
    "wikitext-2": "WikiText-2 of Merity et al. 2016 (CC BY-SA), tokenised",
}
RUN = 50  # sentences kept together in a split, as neighbours reveal much of each other


@dataclass(frozen=True)
class Text:
    """Sentences for training, validation and testing; each is a list of words.

    Attributes:
        name: name of the text, or path of its file.
        split: description of the split.
        train, validation, test: sentences of each part.
    """

    name: str
    split: str
    train: list[list[str]]
    validation: list[list[str]]
    test: list[list[str]]


def load_text(name: str | Path, data_dir: str | Path | None = None, seed: int = 0) -> Text:
    """Loads a text by its name, or from a file.

    Args:
        name: "brown" or "wikitext-2", for published files; "gutenberg", for downloaded books;
            "pydoc", for the help on Python's language that comes with Python; or the path of a file
            with one sentence on each line, its words separated by blanks.
        data_dir: folder to search first for the files of a published text, and in it the folder
            with the name of the text; the cache is searched next. Books are only taken from a
            folder named "gutenberg". The path of a file is relative to it.
        seed: seed of the split of a text that is not split itself, 8:1:1 into training, validation
            and testing, in runs of up to 50 sentences or by book.

    Raises:
        DownloadError: the files of a published text are not found.
        TextError: a file is not UTF-8 text, or the text is too short to split.

    Example:
        >>> text = load_text("pydoc")
        >>> text.train[0][:3] == [word.lower() for word in text.train[0][:3]]
        True
    """
    if name in FILES:
        return _published(str(name), data_dir)
    if name == "gutenberg":
        return _books(data_dir, seed)
    sentences = pydoc_sentences() if name == "pydoc" else read_sentences(Path(data_dir or "", name))
    train, validation, test = _split(sentences, seed, name)
    return Text(str(name), f"8:1:1 in runs of sentences, seed {seed}", train, validation, test)


def _published(name: str, data_dir: str | Path | None) -> Text:
    for folder in places(name, data_dir):
        files = [folder / file for file in FILES[name]]
        if all(file.is_file() for file in files):
            return Text(name, "as its files", *map(read_sentences, files))
    where = places(name, data_dir)[1]
    raise DownloadError(
        f"{name} is not found: put {', '.join(FILES[name])}, one sentence a line, into {where}; "
        f"it is {ORIGIN[name]}"
    )


def _books(data_dir: str | Path | None, seed: int) -> Text:
    folders = [folder for folder in places("gutenberg", data_dir) if folder.name == "gutenberg"]
    for folder in folders:
        if books := books_in(folder):
            split = f"{len(books)} books, 8:1:1, seed {seed}"
            return Text("gutenberg", split, *read_books(books, seed))
    raise DownloadError(
        f"gutenberg is not found: put books, plain text files (.txt) from www.gutenberg.org, into "
        f"{folders[0]}"
    )


def pydoc_sentences() -> list[list[str]]:
    """Python's help on the language as lower-case sentences, which differ between its versions.

    Example:
        >>> sum(map(len, pydoc_sentences())) > 50_000
        True
    """
    from pydoc_data.topics import topics

    # Runs of marks that draw underlines and boxes are not words.
    plain = (re.sub(r"[*=\-~^|+]{3,}", " ", topics[topic]) for topic in sorted(topics))
    return [words for text in plain for words in sentences_of(text)]


def _split(sentences: list[list[str]], seed: int, name: str | Path) -> list[list[list[str]]]:
    """Splits sentences in runs, drawn at random; in each part they keep their order."""
    if len(sentences) < 10:
        has = f"{len(sentences)} sentence{'s' * (len(sentences) > 1)}"
        raise TextError(f"{name} has {has}, one on each line; expected at least 10 to split")
    length = min(RUN, len(sentences) // 10)
    runs = [sentences[i : i + length] for i in range(0, len(sentences), length)]
    return [[words for i in part for words in runs[i]] for part in in_three(len(runs), seed)]
