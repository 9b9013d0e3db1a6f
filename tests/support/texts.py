"""Texts as sparse counts of words: generated ones, and pieces of Python's library."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer


def texts(
    number: int, labels: int, words: int, length: int, seed: int, spread: float = 1.0
) -> tuple[csr_matrix, np.ndarray]:
    """Texts whose words have Zipf's frequencies, changed by factors of each label's own.

    Args:
        spread: standard deviation of the factors' logarithms, for the rarest words.
    """
    rng = np.random.default_rng(seed)
    rank = np.arange(1, words + 1)
    logits = spread * rng.normal(size=(labels, words)) * rank / words - np.log(rank)
    share = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    y = rng.permutation(np.arange(number) % labels)
    drawn = [rng.multinomial(rng.integers(length, 2 * length), share[label]) for label in y]
    return csr_matrix(np.array(drawn, np.float32)), y


def spellings() -> tuple[csr_matrix, np.ndarray]:
    """One word in 30 spellings, which occur together, is wrong more often than another word."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=2_000)
    sure, unsure = (
        np.where(rng.random(2_000) < p, rng.integers(4, size=2_000), y) for p in (0.1, 0.6)
    )
    return csr_matrix(np.hstack([np.eye(4)[sure], np.repeat(np.eye(4)[unsure], 30, axis=1)])), y


def code() -> tuple[csr_matrix, np.ndarray]:
    """Pieces of four lines of Python's library, eight of each file, and the file of each."""
    pieces: list[str] = []
    y: list[int] = []
    for number, file in enumerate(sorted(Path(os.__file__).parent.glob("*.py"))):
        lines = [line for line in file.read_text("utf-8").splitlines() if len(line.split()) > 2]
        found = [" ".join(lines[start : start + 4]) for start in range(0, len(lines) - 4, 4)]
        chosen = np.random.default_rng(number).permutation(found)[:8]
        pieces.extend(chosen)
        y.extend([number] * len(chosen))
    order = np.random.default_rng(0).permutation(len(y))
    x = CountVectorizer(token_pattern=r"\w+").fit_transform(pieces)
    return csr_matrix(x, dtype=np.float32)[order], np.array(y)[order]
