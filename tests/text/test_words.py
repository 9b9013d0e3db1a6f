"""The vocabulary of a text: order, counts, the unknown word, numbers of sentences."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain

import numpy as np
import pytest

from structnet.text import WordError, Words

SENTENCES = [["b", "a", "b"], [], ["c", "a", "d", "b"]]


def test_frequent_words_come_first_and_ties_go_by_the_alphabet():
    words = Words.from_sentences(SENTENCES, unknown=None)
    assert words.words == ("b", "a", "c", "d")
    assert words.counts.tolist() == [3, 2, 1, 1]
    assert words.unknown is None
    assert "c" in words and "z" not in words and len(words) == 4


@pytest.mark.parametrize("limits", [{}, {"min_count": 2}, {"max_size": 1}, {"max_size": 3}])
def test_counts_are_those_of_the_encoded_text(limits):
    words = Words.from_sentences(SENTENCES, **limits)
    ids = words.encode(SENTENCES).ids
    assert np.bincount(ids, minlength=len(words)).tolist() == words.counts.tolist()
    assert (np.diff(words.counts) <= 0).all()


def test_an_unknown_word_of_the_text_itself_is_the_unknown_word():
    words = Words.from_sentences([["<unk>", "a", "<unk>", "b", "a"]], min_count=2)
    assert dict(zip(words.words, words.counts, strict=True)) == {"<unk>": 3, "a": 2}
    assert words.id_of("never seen") == words.id_of("<unk>") == words.unknown


def test_encoding_is_word_by_word():
    random = np.random.default_rng(0)
    text = [[f"w{i}" for i in random.zipf(1.5, n) % 50] for n in random.integers(0, 9, 200)]
    words = Words.from_sentences(text, min_count=3)
    ids, offsets = words.encode(text)
    counts = Counter(chain.from_iterable(text))
    for i, sentence in enumerate(text):
        expected = [word if counts[word] >= 3 else "<unk>" for word in sentence]
        assert [words.words[j] for j in ids[offsets[i] : offsets[i + 1]]] == expected
    assert (ids.dtype, offsets.dtype) == (np.int32, np.int64)


def test_an_unknown_word_is_refused_where_none_stands_for_it():
    words = Words.from_sentences(SENTENCES, unknown=None)
    with pytest.raises(WordError, match="the word 'z' is not among the 4 known"):
        words.encode([["a"], [], ["b", "z"], ["y"]])


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Words.from_sentences([]), "the text holds no word"),
        (lambda: Words.from_sentences([["<unk>"]]), "the text holds no word"),
        (lambda: Words.from_sentences(SENTENCES, min_count=9), "most frequent of 4 occurs 3 times"),
        (lambda: Words.from_sentences(SENTENCES, min_count=0), "'min_count' parameter of Words"),
        (lambda: Words(["a", "a"], [1, 1]), "2 words, 1 of them distinct"),
        (lambda: Words(["a", "b"], [1]), "1 counts"),
        (lambda: Words(["a"], [1], unknown="b"), "unknown word 'b' is not among"),
    ],
)
def test_what_gives_no_vocabulary_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("unknown", ["<unk>", None])
def test_a_vocabulary_is_made_again_from_json(unknown):
    words = Words.from_sentences(SENTENCES, unknown=unknown)
    again = Words.from_config(json.loads(json.dumps(words.config())))
    assert (again.words, again.unknown) == (words.words, words.unknown)
    assert again.counts.tolist() == words.counts.tolist()
