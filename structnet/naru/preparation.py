"""From a user's text to training data: sentences, a vocabulary, and word vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.estimators.held_out import hold_out
from structnet.naru.settings import NaruSettings
from structnet.text import Encoded, Words, learn_vectors, read_sentences, read_vectors
from structnet.training.checkpoint import CheckpointError, load_state, save_state

Text = str | Path | Iterable[str | Sequence[str]]


def sentences_of(text: Text) -> list[list[str]]:
    """The sentences of a file or of an iterable, as lists of words.

    Raises:
        ValueError: the file does not exist, there are no sentences, or a sentence has no words, as
            a missing one (None or NaN in a column of texts).

    Example:
        >>> sentences_of(["a b", ["c", "d"]])
        [['a', 'b'], ['c', 'd']]
    """
    if isinstance(text, str | Path):
        if not Path(text).exists():
            raise ValueError(
                f"{str(text)[:60]!r} is not a file; expected a path, or a list of sentences"
            )
        return read_sentences(text)
    if not isinstance(text, Iterable):
        raise ValueError(
            f"the text must be a path, or a list of sentences. Got {type(text).__name__}."
        )
    found = []
    for number, each in enumerate(text):
        if not isinstance(each, Iterable):
            raise ValueError(
                f"sentence {number} must be one or more words, each a str. Got {each!r}, which may "
                "be a missing text: leave it out."
            )
        found.append(each.split() if isinstance(each, str) else list(each))
    if not found:
        raise ValueError("there are no sentences; expected a path, or lists of words")
    for number, words in enumerate(found):
        if not words or not all(isinstance(word, str) for word in words):
            raise ValueError(
                f"sentence {number} must be one or more words, each a str. Got {words!r}."
            )
    return found


def held_out_of(
    sentences: list[list[str]],
    fraction: float,
    seed: int,
    given: list[list[str]] | None = None,
) -> tuple[list[list[str]], list[list[str]]]:
    """The sentences that are held out for validation, and the others; without those of one word.

    Args:
        sentences: sentences of the text.
        fraction: share of them that is held out.
        seed: seed of the choice.
        given: the user's own for validation; None to hold some out.

    Raises:
        ValueError: fewer than two sentences have a word to predict, or one of two texts has none.
    """
    usable = [words for words in sentences if len(words) > 1]
    if given is not None:
        theirs = [words for words in given if len(words) > 1]
        if not (usable and theirs):
            raise ValueError(
                f"{'X_val' if usable else 'X'} has no sentence of two words or more; expected at "
                "least 1, as a sentence's first word is not predicted"
            )
        return theirs, usable
    if len(usable) < 2:
        raise ValueError(
            f"got {len(usable)} sentences of two words or more; expected at least 2, one to learn "
            "from and one to hold out"
        )
    kept, held_out = hold_out(len(usable), fraction, seed)
    return [usable[i] for i in held_out], [usable[i] for i in kept]


def known_words(sentences: list[list[str]], settings: NaruSettings) -> Words:
    """The vocabulary of the training sentences; ``min_count`` is lowered if no word reaches it."""
    most = settings.max_words
    counts = Words.from_sentences(sentences, max_size=most, unknown=None).counts
    least = min(settings.min_count, int(counts[0]))
    return Words.from_sentences(sentences, min_count=least, max_size=most)


def vectors_of(
    words: Words,
    sentences: list[list[str]],
    settings: NaruSettings,
    given: str | Path | dict[str, Any] | None = None,
    cache: Path | None = None,
) -> Tensor:
    """Word vectors, scaled so that the mean square of their numbers over the text is 1.

    Args:
        words: vocabulary.
        sentences: text to learn vectors from.
        settings: settings, which give the size of learned vectors.
        given: file of vectors, or a dict word -> vector; None to learn them.
        cache: file that stores learned vectors, and is read if it exists; None for no file.

    Shapes:
        ``[words, size]``, float32.

    Raises:
        ValueError: no word has a vector, a number is not finite, or the lengths differ.
        CheckpointError: the cache belongs to another text or another size.
    """
    if given is None:
        found = _learned(words.encode(sentences), len(words), settings.vector_size, cache)
    elif isinstance(given, dict):
        found = _from_dict(given, words)
    else:
        found, _ = read_vectors(given, words)
    share = words.counts / words.counts.sum()
    scale = np.sqrt(share @ (found.astype(np.float64) ** 2).mean(1))
    if not scale:
        raise ValueError("no word of the text has a vector; expected vectors of its words")
    return torch.from_numpy((found / scale).astype(np.float32))


def _learned(text: Encoded, num_words: int, size: int, cache: Path | None) -> np.ndarray:
    """The vectors of a text, from the file if it has them already.

    Raises:
        CheckpointError: the file's vectors are those of another text, or of another size.
    """
    sha = hashlib.sha256(f"{num_words} {size}".encode())
    for part in text:
        sha.update(part.tobytes())
    if cache is not None and cache.exists():
        kept = None
        with suppress(CheckpointError):  # a damaged file is replaced
            kept = load_state(cache)
        if kept is not None and kept.get("text") != sha.hexdigest():
            raise CheckpointError(
                f"{cache.parent} belongs to a training on another text, or with vectors of another "
                "size; choose another folder"
            )
        if kept is not None:
            return kept["vectors"].numpy()
    found = learn_vectors(text, num_words, size)
    if cache is not None:
        save_state(cache, {"text": sha.hexdigest(), "vectors": torch.from_numpy(found)})
    return found


def _from_dict(given: dict[str, Any], words: Words) -> np.ndarray:
    known = {w: np.asarray(v, np.float32) for w, v in given.items() if w in words}
    if not known:
        raise ValueError("no word of the text has a vector; expected vectors of its words")
    size = next(iter(known.values())).shape
    found = np.zeros((len(words), *size), np.float32)
    for word, vector in known.items():
        if vector.shape != size or vector.ndim != 1 or not len(vector):
            expected = list(size) if len(size) == 1 and size[0] else "[numbers]"
            got = list(vector.shape)
            raise ValueError(f"the vector of {word!r} has the shape {got}; expected {expected}")
        if not np.isfinite(vector).all():
            raise ValueError(f"the vector of {word!r} has a number that is not finite")
        found[words.id_of(word)] = vector
    return found
