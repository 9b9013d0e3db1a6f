"""Word vectors: learned from a text without a network, or read from a published file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from structnet.checks import check_integer, check_number
from structnet.text.sentences import TextError, read_lines
from structnet.text.words import Encoded, Words

BLANKS = " \t\r\n"  # at the ends of a line; the others of Unicode are words in published files


def learn_vectors(
    encoded: Encoded,
    num_words: int,
    size: int = 50,
    window: int = 5,
    smoothing: float = 0.75,
    seed: int = 0,
) -> np.ndarray:
    """Word vectors whose products tell how much more often two words occur together than by chance.

    ``PPMI(w, c) = max(0, log(#(w, c) #(.) / (#(w) #(c))))``, of which the largest ``size`` singular
    values are kept; a word's vector is its row of ``U sqrt(S)``. A neighbour at distance d counts
    ``(window + 1 - d) / window``.

    Args:
        encoded: the text.
        num_words: number of words in its vocabulary.
        size: length of a vector. If the text has too few words for it, the last numbers are 0.
        window: largest distance of a neighbour, on either side.
        smoothing: power of the counts of neighbours, below 1 so that rare ones weigh less.
        seed: seed of the decomposition; the same seed gives the same vectors.

    Shapes:
        ``[num_words, size]``, float32. A word without neighbours has zeros.

    Raises:
        ValueError: an argument is out of its range, or a number in the text is not a word's.

    Reference:
        Levy, Goldberg and Dagan, Improving Distributional Similarity with Lessons Learned from Word
        Embeddings, TACL 2015: PPMI, context distribution smoothing, eigenvalue weighting of 1/2.

    Example:
        >>> text = Encoded(np.array([0, 1, 2, 1] * 9, np.int32), np.array([0, 36]))
        >>> vectors = learn_vectors(text, num_words=3, size=2, window=1)
        >>> bool(np.allclose(vectors[0], vectors[2], atol=0.1))  # both stand beside 1
        True
    """
    from sklearn.utils.extmath import randomized_svd

    check_integer("size", size, 1, owner="learn_vectors")
    check_integer("window", window, 1, owner="learn_vectors")
    check_number("smoothing", smoothing, 0, 1, owner="learn_vectors")
    met = _meetings(encoded, num_words, window)
    vectors = np.zeros((num_words, size), np.float32)
    if not met.nnz:
        return vectors
    rank = min(size, num_words)
    ppmi = _ppmi(met, smoothing).astype(np.float32)  # as precise as the result, in half the time
    u, s, _ = randomized_svd(ppmi, rank, n_iter=7, random_state=seed)
    vectors[:, :rank] = u * np.sqrt(s)
    return vectors


def _meetings(encoded: Encoded, num_words: int, window: int) -> sparse.csr_matrix:
    """How often each word is near each other word. ``[num_words, num_words]``, symmetric."""
    ids, offsets = encoded
    if len(ids) and (ids.min() < 0 or ids.max() >= num_words):
        raise ValueError(
            f"the text has numbers of words from {ids.min()} to {ids.max()}; expected 0 to "
            f"{num_words - 1}, as there are {num_words} words"
        )
    sentence = np.repeat(np.arange(encoded.num_sentences), np.diff(offsets))
    met = sparse.csr_matrix((num_words, num_words))
    for distance in range(1, min(window, len(ids) - 1) + 1):
        same = sentence[distance:] == sentence[:-distance]
        pairs = ids[:-distance][same], ids[distance:][same]
        weights = np.full(len(pairs[0]), (window + 1 - distance) / window)
        met = met + sparse.coo_matrix((weights, pairs), met.shape).tocsr()  # sums what is equal
    return met + met.T


def _ppmi(met: sparse.csr_matrix, smoothing: float) -> sparse.csr_matrix:
    """The positive pointwise mutual information of words that occur near each other."""
    entries = met.tocoo()
    words = np.asarray(met.sum(axis=1)).ravel()
    contexts = np.where(words > 0, words, 1) ** smoothing  # symmetric: the same sums
    chance = words[entries.row] * contexts[entries.col] / contexts[words > 0].sum()
    values = np.maximum(np.log(entries.data / chance), 0)
    ppmi = sparse.coo_matrix((values, (entries.row, entries.col)), met.shape).tocsr()
    ppmi.eliminate_zeros()
    return ppmi


def read_vectors(path: str | Path, words: Words) -> tuple[np.ndarray, np.ndarray]:
    """Word vectors from a text file, in which a line is a word and its numbers, between spaces.

    GloVe writes such files, and so do word2vec and fastText, whose files begin with a line of two
    numbers. A word that occurs twice has its first vector.

    Args:
        path: file of vectors; only those of known words are kept.
        words: the vocabulary.

    Returns:
        The vectors, with zeros for words that are not in the file; and a mask of those that are.

    Shapes:
        vectors ``[words, size]``, float32; found ``[words]``, bool.

    Raises:
        TextError: the file has no vector, or a line has another length or numbers not finite.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "vectors.txt")
        ...     _ = file.write_text("cat 1 0.5\\nowl 2 2\\n", encoding="utf-8")
        ...     read_vectors(file, Words(["cat", "dog"], [2, 1]))
        (array([[1. , 0.5], [0. , 0. ]], dtype=float32), array([ True, False]))
    """
    size, kept = 0, {}
    for number, line in read_lines(path, BLANKS):
        fields = line.split(" ")
        if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
            continue
        size = size or len(fields) - 1
        # Some published words hold a blank, so that a line is read from its end.
        word = " ".join(fields[: len(fields) - size])
        if not word or size < 1:
            raise TextError(
                f"{path}, line {number}: expected a word and {size or 'its'} numbers; got "
                f"{len(fields)} fields, {line[:40]!r}"
            )
        if word in words and words.id_of(word) not in kept:
            kept[words.id_of(word)] = _numbers(path, number, fields[-size:])
    if not size:
        raise TextError(f"{path} holds no vector; expected a word and its numbers on each line")
    vectors, known = np.zeros((len(words), size), np.float32), np.zeros(len(words), bool)
    for i, vector in kept.items():
        vectors[i], known[i] = vector, True
    return vectors, known


def _numbers(path: str | Path, line: int, fields: list[str]) -> np.ndarray:
    try:
        vector = np.array(fields, np.float32)
    except ValueError as error:
        raise TextError(f"{path}, line {line}: {error}") from None
    if not np.isfinite(vector).all():
        place = int((~np.isfinite(vector)).argmax())
        raise TextError(f"{path}, line {line}: {fields[place]} is no finite number")
    return vector
