"""From a user's text to training data: sentences, a vocabulary, and word vectors."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.naru.settings import NaruSettings
from structnet.text import Encoded, Words, learn_vectors, read_vectors
from structnet.training.checkpoint import CheckpointError, load_state, save_state


def vectors_of(
    words: Words,
    sentences: list[list[str]],
    settings: NaruSettings,
    source: str | Path | dict[str, Any] | None = None,
    cache: Path | None = None,
) -> Tensor:
    """Word vectors, scaled so that the mean square of their numbers over the text is 1.

    Args:
        words: vocabulary.
        sentences: text to learn vectors from.
        settings: settings, which give the size of learned vectors.
        source: file of vectors, or a dict word -> vector; None to learn them.
        cache: file that stores learned vectors, and is read if it exists; None for no file.

    Shapes:
        ``[words, size]``, float32.

    Raises:
        ValueError: no word has a vector, a number is not finite, or the lengths differ.
        CheckpointError: the cache belongs to another text or another size.
    """
    if source is None:
        vectors = _learned(words.encode(sentences), len(words), settings.vector_size, cache)
    elif isinstance(source, dict):
        vectors = _from_dict(source, words)
    else:
        vectors, _ = read_vectors(source, words)
    share = words.counts / words.counts.sum()
    scale = np.sqrt(share @ (vectors.astype(np.float64) ** 2).mean(1))
    if not scale:
        raise ValueError("no word of the text has a vector; expected vectors of its words")
    return torch.from_numpy((vectors / scale).astype(np.float32))


def _learned(text: Encoded, num_words: int, size: int, cache: Path | None) -> np.ndarray:
    """The vectors of a text, from the file if it has them already.

    Raises:
        CheckpointError: the file's vectors are those of another text, or of another size.
    """
    sha = hashlib.sha256(f"{num_words} {size}".encode())
    for part in text:
        sha.update(part.tobytes())
    if cache is not None and cache.exists():
        cached = None
        with suppress(CheckpointError):  # a damaged file is replaced
            cached = load_state(cache)
        if cached is not None and cached.get("text") != sha.hexdigest():
            raise CheckpointError(
                f"{cache.parent} belongs to a training on another text, or with vectors of another "
                "size; choose another folder"
            )
        if cached is not None:
            return cached["vectors"].numpy()
    vectors = learn_vectors(text, num_words, size)
    if cache is not None:
        save_state(cache, {"text": sha.hexdigest(), "vectors": torch.from_numpy(vectors)})
    return vectors


def _from_dict(source: dict[str, Any], words: Words) -> np.ndarray:
    known = {w: np.asarray(v, np.float32) for w, v in source.items() if w in words}
    if not known:
        raise ValueError("no word of the text has a vector; expected vectors of its words")
    size = next(iter(known.values())).shape
    rows = np.zeros((len(words), *size), np.float32)
    for word, vector in known.items():
        if vector.shape != size or vector.ndim != 1 or not len(vector):
            expected = list(size) if len(size) == 1 and size[0] else "[numbers]"
            got = list(vector.shape)
            raise ValueError(f"the vector of {word!r} has the shape {got}; expected {expected}")
        if not np.isfinite(vector).all():
            raise ValueError(f"the vector of {word!r} has a number that is not finite")
        rows[words.id_of(word)] = vector
    return rows
