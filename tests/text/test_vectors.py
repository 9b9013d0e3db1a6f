"""Vectors of words: PPMI against its definition, and files of vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from structnet.text import Encoded, TextError, Words, learn_vectors, read_vectors


def encoded(sentences):
    return Encoded(
        np.array([i for s in sentences for i in s], np.int32), np.cumsum([0, *map(len, sentences)])
    )


def ppmi(sentences, num_words, window, smoothing):
    """The definition, pair by pair."""
    met = np.zeros((num_words, num_words))
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for j, other in enumerate(sentence):
                if i != j and abs(i - j) <= window:
                    met[word, other] += (window + 1 - abs(i - j)) / window
    found = np.zeros_like(met)
    contexts = np.array(
        [sum(met[:, c]) ** smoothing if met[:, c].any() else 0 for c in range(num_words)]
    )
    for w, c in np.argwhere(met):
        chance = met[w].sum() * contexts[c] / contexts.sum()
        found[w, c] = max(0.0, math.log(met[w, c] / chance))
    return found


@pytest.mark.parametrize("window, smoothing", [(1, 1.0), (3, 0.75)])
def test_the_products_of_all_vectors_give_ppmi_back(window, smoothing):
    random = np.random.default_rng(1)
    sentences = [random.integers(0, 12, n).tolist() for n in random.integers(0, 9, 30)]
    vectors = learn_vectors(encoded(sentences), 13, 13, window, smoothing)
    # U sqrt(S): its Gram matrix is (M M')^(1/2), whose square is M M'.
    gram = (vectors @ vectors.T).astype(np.float64)
    expected = ppmi(sentences, 13, window, smoothing)
    np.testing.assert_allclose(gram @ gram, expected @ expected.T, atol=1e-4)
    assert not vectors[12].any()  # a word without neighbours


def test_vectors_are_the_same_for_the_same_seed_and_filled_with_zeros():
    text = encoded([[0, 1, 2], [2, 1, 0, 0]])
    first, second = (learn_vectors(text, 3, size=8) for _ in range(2))
    assert first.shape == (3, 8) and first.dtype == np.float32
    assert np.array_equal(first, second) and not first[:, 3:].any()
    assert not learn_vectors(encoded([[0], [1]]), 2).any()  # nobody meets anybody
    with pytest.raises(ValueError, match="from 0 to 2; expected 0 to 1"):
        learn_vectors(text, 2)


def test_files_of_word2vec_and_glove_are_read(tmp_path):
    words = Words(["a", "b", ". ."], [3, 2, 1])
    file = tmp_path / "vectors.txt"
    file.write_text("3 2\nb 1 -2e-1\nb 5 5\n. . 0 7\nz 1 1\n", encoding="utf-8")
    vectors, found = read_vectors(file, words)
    assert found.tolist() == [False, True, True]
    np.testing.assert_array_equal(vectors, np.array([[0, 0], [1, -0.2], [0, 7]], np.float32))


@pytest.mark.parametrize("word", ["\x85", "\xa0", "\u2028", "\u3000", "\x0c", "\x1f"])
def test_a_word_may_be_what_unicode_calls_a_blank(tmp_path, word):
    file = tmp_path / "vectors.txt"
    file.write_bytes(f"a 1 2 \r\n{word} 3 4\n \t\r\nb 5 6\n".encode())
    vectors, found = read_vectors(file, Words(["a", "b", word], [3, 2, 1]))
    assert found.all() and vectors.tolist() == [[1, 2], [5, 6], [3, 4]]


@pytest.mark.parametrize(
    "content, words",
    [
        ("", "holds no vector"),
        ("3 2\n", "holds no vector"),
        ("a\n", "line 1: expected a word and its numbers"),
        ("a 1 2\nb 1\n", "line 2: expected a word and 2 numbers"),
        ("a 1 x\n", "line 1: could not convert string to float"),
        ("b 1 2\na 1 nan\n", "line 2: nan is no finite number"),
    ],
)
def test_a_line_that_is_no_vector_is_named(tmp_path, content, words):
    file = tmp_path / "vectors.txt"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(TextError, match=words):
        read_vectors(file, Words(["a", "b"], [1, 1]))
