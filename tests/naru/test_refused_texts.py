"""Texts and settings that a routed language model refuses, and where it takes its words from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from structnet import CheckpointError
from structnet.estimators.next_words import known_words
from structnet.naru import NaruSettings, NextWord, RoutedLanguageModel, RoutedNetwork, Wiring
from structnet.naru.preparation import vectors_of
from structnet.text import Words

SMALL = {"sizes": (1, 2, 3, 1), "dims": (8, 8), "vector_size": 6, "random_state": 0}
TEXT = ["the cat sees the dog .", "a dog sees the cat .", "the owl hears a cat ."] * 40


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ([], "there are no sentences"),
        (["a b", ""], "sentence 1 must be one or more words, each a str"),
        ([["a", 3]], "sentence 0 must be one or more words"),
        (["a b", None], r"sentence 1 must be .* each a str. Got None, which may be a missing text"),
        (
            ["a b", b"c d"],
            r"sentence 1 must .* Got b'c d', which is not decoded: pass its decode\(",
        ),
        (["a b", float("nan")], "sentence 1 must be .* Got nan, which may be a missing text"),
        (None, "the text must be a path, or a list of sentences. Got NoneType"),
        (["a", "b"], "X has no sentence of two words or more; expected at least 2"),
    ],
)
def test_texts_that_are_none(text: list, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RoutedLanguageModel(**SMALL, epochs=1).fit(text)


def test_the_users_own_text_to_choose_by_is_not_learned_from() -> None:
    other = ["a gnu sees a newt ."] * 5
    model = RoutedLanguageModel(**SMALL, epochs=2).fit(TEXT, X_val=other)
    assert "dog" in model.words_ and "gnu" not in model.words_
    assert model.history_["validation_loss"][-1] > 0
    # What is held out of the text itself is other text, by which other choices are made.
    own = RoutedLanguageModel(**SMALL, epochs=2).fit(TEXT)
    assert own.history_["validation_loss"] != model.history_["validation_loss"]
    for bad, said in (((TEXT, ["the"]), "X_val has no sentence"), ((["a"], TEXT), "X has no sent")):
        with pytest.raises(ValueError, match=said):
            RoutedLanguageModel(**SMALL, epochs=1).fit(bad[0], X_val=bad[1])


def test_a_text_without_a_next_word_is_not_measured() -> None:
    fitted = RoutedLanguageModel(**SMALL, epochs=1).fit(TEXT)
    for question in (fitted.measure, fitted.score):
        with pytest.raises(
            ValueError, match=r"^the text has no sentence of two words or more; exp"
        ):
            question(["the", "cat"])


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="'device' parameter must name a device of this machine"):
        RoutedLanguageModel(**SMALL, epochs=1, device="cuda:99").fit(TEXT)


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text("\n\n")
    with pytest.raises(ValueError, match=r"empty.txt holds no word"):
        RoutedLanguageModel().fit(path)


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (
            {"cat": [1, np.nan]},
            "the vector of 'cat' has a number that is not finite",
        ),
        (
            {"cat": [1, 2], "dog": [1]},
            r"the vector of 'dog' has the shape \[1\]; expected \[2\]",
        ),
        ({"cat": 1.0}, r"the vector of 'cat' has the shape \[\]; expected \[numbers\]"),
        ({"cat": []}, r"the vector of 'cat' has the shape \[0\]; expected \[numbers\]"),
        ({"zebra": [1, 2]}, "no word of the text has a vector"),
    ],
)
def test_vectors_that_do_not_fit(vectors: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RoutedLanguageModel(**SMALL, vectors=vectors, epochs=1).fit(TEXT)


def test_dims_that_do_not_fit() -> None:
    said = r"'dims' parameter must be one number per capsule between .*, 2 in all"
    with pytest.raises(ValueError, match=said):
        RoutedLanguageModel(dims=(4, 4, 4)).fit(TEXT)
    expected = "the vectors have 3 numbers per word; expected as many as"
    with pytest.raises(ValueError, match=expected):
        NextWord(RoutedNetwork(Wiring((1, 2, 1), (4, 4, 4))), torch.eye(3))
    bad = torch.eye(4)
    bad[2, 1] = torch.nan
    with pytest.raises(ValueError, match="the vector of word 2 is not finite"):
        NextWord(RoutedNetwork(Wiring((1, 2, 1), (4, 4, 4))), bad)


def test_learned_vectors_are_kept(tmp_path: Path) -> None:
    sentences = [each.split() for each in TEXT]
    words = Words.from_sentences(sentences)
    cache = tmp_path / "vectors.safetensors"
    settings = NaruSettings(vector_size=5)
    first = vectors_of(words, sentences, settings, cache=cache)
    begun = cache.stat().st_mtime_ns
    assert torch.equal(vectors_of(words, sentences, settings, cache=cache), first)
    assert cache.stat().st_mtime_ns == begun  # read, not made again
    for other in (sentences[1:], sentences[::-1]):
        with pytest.raises(CheckpointError, match="belongs to a training on another text"):
            vectors_of(words, other, settings, cache=cache)
    with pytest.raises(CheckpointError, match="vectors of another size"):
        vectors_of(words, sentences, NaruSettings(vector_size=4), cache=cache)
    cache.write_bytes(cache.read_bytes()[:-1])  # a damaged file is replaced
    assert torch.equal(vectors_of(words, sentences, settings, cache=cache), first)
    share = torch.from_numpy(words.counts / words.counts.sum())
    assert (share @ first.double().square().mean(1)).item() == pytest.approx(1, rel=1e-5)


def test_a_sentence_in_place_of_sentences() -> None:
    expected = "'the cat sees' is not a file; expected a path, or a list"
    with pytest.raises(ValueError, match=expected):
        RoutedLanguageModel().fit("the cat sees")


def test_words_that_all_occur_once_are_all_known() -> None:
    sentences = [[f"w{5 * i + k}" for k in range(5)] for i in range(20)]
    assert len(known_words(sentences, 2, max_words=50)) == 51  # and the unknown one
