"""What both language models promise alike: the same measures, one beginning as text, new text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning

from structnet import LabelTreeLanguageModel, RoutedLanguageModel
from structnet.estimators import NextWordMeasures

TEXT = ["the cat sees the dog .", "a dog sees the cat .", "the owl hears a cat ."] * 40
MODELS = {
    "label tree": LabelTreeLanguageModel(vector_size=16, epochs=2, random_state=0),
    "routed": RoutedLanguageModel(
        sizes=(1, 2, 1), dims=(8,), vector_size=6, epochs=2, random_state=0
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request: Any) -> Any:
    return MODELS[request.param].fit(TEXT)


def test_measures_are_of_the_words_behind_others(fitted: Any) -> None:
    text = ["the owl sees a dog .", "xyzzy hears the unicorn", "cat"]
    right, said = [], []
    for words in map(str.split, text):
        for i in range(1, len(words)):
            right.append(fitted.predict([words[:i]]) == [words[i]])
            if words[i] in fitted.words_:
                [prob] = fitted.predict_proba([words[:i]])
                said.append(prob[fitted.words_.id_of(words[i])])
    assert len(right) == 8 and len(said) == 7
    found = fitted.measure(text)
    assert isinstance(found, NextWordMeasures)
    assert found.to_dict() == {k: v for k, v in found._asdict().items() if v is not None}
    assert found.accuracy == pytest.approx(np.mean(right))
    assert found.perplexity == pytest.approx(np.exp(-np.log(said).mean()), rel=1e-4)
    assert found.words == len(said)
    parts = found.perplexity_without_ngrams, found.perplexity_of_ngrams
    assert all(part >= 1 and np.isfinite(part) for part in parts)
    with pytest.raises(ValueError, match="the text has no sentence of two words or more; exp"):
        fitted.measure(["the", "cat"])


def test_a_text_of_unknown_words_has_no_perplexity_and_says_so(fitted: Any) -> None:
    with pytest.warns(UndefinedMetricWarning, match="none of the words to predict is known"):
        found = fitted.measure(["the unicorn", "xyzzy plugh"])
    assert np.isnan(found.perplexity) and (found.accuracy, found.words) == (0, 0)


def test_both_models_measure_the_same_words_by_default() -> None:
    text = [*TEXT, "the cat hears a yak", "the yak", *["a gnu sees the emu"] * 2, *"xyz"]
    judged = ["the yak sees an emu", "a gnu hears the newt", "the"]
    one, other = (clone(each).set_params(epochs=1, random_state=4) for each in MODELS.values())
    for validation in (None, TEXT):
        one.fit(text, X_val=validation)
        other.fit(text, X_val=validation)
        assert one.words_.words == other.words_.words
        assert one.measure(judged).words == other.measure(judged).words
    assert one.measure(judged).words == 6


def test_a_single_text_is_a_beginning(fitted: Any, tmp_path: Path) -> None:
    file = tmp_path / "two.txt"
    file.write_text("the cat\na dog\n", encoding="utf-8")
    assert fitted.predict("the cat") == fitted.predict(["the cat"])
    assert fitted.predict(file) == fitted.predict(["the cat", "a dog"])
    for ask in (fitted.predict_proba, fitted.predict_log_proba, lambda x: fitted.predict_top(x)[1]):
        np.testing.assert_array_equal(ask("the cat"), ask([["the", "cat"]]))
    with pytest.raises(ValueError, match="sentence 0 must be one or more words"):
        fitted.predict("")


@pytest.mark.parametrize(
    ("text", "shown"), [("the big", "'the big'"), ("a b " * 9999, r"'(a b ){15}…'")]
)
def test_a_text_is_not_taken_for_a_file(fitted: Any, text: str, shown: str) -> None:
    with pytest.raises(ValueError, match=f"^{shown} is not a file; expected a path, or a list of"):
        fitted.measure(text)


def test_words_are_drawn_by_their_probabilities(fitted: Any) -> None:
    number = 3000
    drawn = fitted.generate(["the"] * number, length=1, random_state=0)
    words, counts = np.unique([each.removeprefix("the ") for each in drawn], return_counts=True)
    [prob] = fitted.predict_proba("the")
    expected = number * prob[[fitted.words_.id_of(word) for word in words]]
    assert expected.sum() > 0.99 * number
    assert (np.abs(counts - expected) < 4 * np.sqrt(expected) + 1).all()
    for temperature in (1e-3, 1e-320):  # the scores divided by the latter are infinite
        [cold] = fitted.generate("the", length=1, temperature=temperature, random_state=0)
        assert cold == f"the {fitted.predict('the')[0]}"


def test_new_text_goes_on_word_by_word(fitted: Any) -> None:
    given = [["the", "owl"], ["a"]]
    found = fitted.generate(given, length=5, temperature=1e-4, random_state=0)
    assert given == [["the", "owl"], ["a"]]
    for text, start in zip(found, given, strict=True):
        words = text.split()
        assert words[: len(start)] == start and len(words) == len(start) + 5
        for i in range(len(start), len(words)):
            [prob] = fitted.predict_proba([words[:i]])
            assert prob[fitted.words_.id_of(words[i])] == pytest.approx(prob.max(), rel=1e-3)
    ask: dict[str, Any] = {"length": 9, "random_state": 3}
    assert fitted.generate("the", **ask) == fitted.generate("the", **ask)
    assert fitted.generate("the", **ask) != fitted.generate("the", length=9, random_state=4)
    assert fitted.words_.words[fitted.words_.unknown or 0] not in found[0].split()[2:]


@pytest.mark.parametrize("bad", [{"length": 0}, {"temperature": 0.0}, {"temperature": -1}])
def test_generating_refuses(fitted: Any, bad: dict) -> None:
    with pytest.raises(ValueError, match=f"'{next(iter(bad))}' parameter of generate must be"):
        fitted.generate("the", **bad)
