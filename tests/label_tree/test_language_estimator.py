"""The language model as an estimator: the texts that it takes, its answers, its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pictures import axes, written
from sklearn.exceptions import UndefinedMetricWarning

from structnet import CheckpointError, LabelTreeLanguageModel
from structnet.estimators.next_words import known_words
from structnet.text import Encoded, Words
from structnet.training.loop import Loop

TEXT = ["the cat sees the dog .", "a dog sees the cat .", "the owl hears a cat ."] * 20
TEXT += ["some rare words"]
SMALL: dict[str, Any] = {"vector_size": 6, "arity": 2, "max_depth": None, "epochs": 3}


@pytest.fixture(scope="module")
def fitted() -> LabelTreeLanguageModel:
    return LabelTreeLanguageModel(**SMALL, random_state=0).fit(TEXT)


def test_it_learns_a_grammar(fitted: LabelTreeLanguageModel) -> None:
    assert fitted.predict(["the owl hears", "a dog"]) == ["a", "sees"]
    assert fitted.score(TEXT) == fitted.measure(TEXT).accuracy > 0.9
    assert 0.5 < fitted.measure(TEXT, first_words=True).accuracy < 0.9  # the first word is open
    assert fitted.measure(TEXT).perplexity < 1.5
    assert len(fitted.history_) == 3


def test_answers_are_those_of_the_model_for_the_last_words(
    fitted: LabelTreeLanguageModel,
) -> None:
    words, model = fitted.words_, fitted.model_
    found = fitted.predict_log_proba(["the owl", "a dog sees the cat ."])
    start = model.boundary
    pasts = [["owl", "the", start, start], [".", "cat", "the", "sees"]]
    ids = [[w if w == start else words.id_of(w) for w in past] for past in pasts]
    with torch.no_grad():
        told = model.eval().log_prob(torch.tensor(ids))
    told[:, words.unknown] = -torch.inf
    np.testing.assert_allclose(found, told.log_softmax(1), rtol=1e-5)
    np.testing.assert_allclose(fitted.predict_proba(["the owl"]).sum(1), 1, rtol=1e-5)


def test_the_unknown_word_is_never_the_answer(fitted: LabelTreeLanguageModel) -> None:
    assert "rare" not in fitted.words_
    assert fitted.predict_proba(["some rare"])[0, fitted.words_.unknown] == 0
    assert "<unk>" not in fitted.predict_top(["some rare", "xyzzy"], k=100)[0]


def test_measures_are_those_of_the_words_one_by_one(fitted: LabelTreeLanguageModel) -> None:
    model, unknown = fitted.model_, fitted.words_.unknown
    text = ["the cat sees", "a rare owl"]
    said, right = [], []
    with torch.no_grad():
        for sentence in text:
            words = [fitted.words_.id_of(word) for word in sentence.split()]
            for place, word in enumerate(words):
                past = words[:place][::-1][:4]
                contexts = torch.tensor([past + [model.boundary] * (4 - len(past))])
                parts = [
                    model.log_prob(contexts)[0],
                    model.head.log_prob(model.represent(contexts))[0],
                    model.counted.ngrams(contexts)[0],
                ]
                for told in parts:
                    told[unknown] = -torch.inf
                right.append(int(parts[0].argmax()) == word)
                if word != unknown:
                    said.append([float(told.log_softmax(0)[word]) for told in parts])
    assert len(right) == 6 and len(said) == 5
    measured = fitted.measure(text, first_words=True)
    assert measured.accuracy == np.mean(right)
    found = [
        measured.perplexity,
        measured.perplexity_without_ngrams,
        measured.perplexity_of_ngrams,
    ]
    np.testing.assert_allclose(found, np.exp(-np.mean(said, 0)), rtol=1e-5)


@pytest.mark.parametrize("tree", ["learned", "flat", "adaptive"])
def test_a_text_of_unknown_words_has_no_perplexity(tree: str) -> None:
    own = {"tree": tree, "epochs": 1, "vector_size": 16}
    model = LabelTreeLanguageModel(**SMALL | own, random_state=0).fit(TEXT)
    with pytest.warns(UndefinedMetricWarning, match="none of the words to predict is known"):
        found = model.measure(["xyzzy plugh"])
    assert np.isnan(found.perplexity) and found.accuracy == 0


def test_nothing_is_learned_from_a_validation_text_of_the_users() -> None:
    model = LabelTreeLanguageModel(**SMALL, random_state=0)
    own = model.fit(TEXT[:-1], X_val=["my cat sees my dog ."] * 5)
    assert "my" not in own.words_
    ngrams = own.model_.counted.ngrams
    own_count = int(ngrams.sums[-1])
    held_out = model.fit(TEXT[:-1])
    assert int(held_out.model_.counted.ngrams.sums[-1]) == own_count  # all sentences in the end
    assert len(held_out.words_) == len(own.words_)


def test_without_ngrams_the_tree_is_alone() -> None:
    model = LabelTreeLanguageModel(**SMALL, ngrams=False, random_state=0).fit(TEXT)
    assert model.model_.counted is None
    assert model.predict_proba(["the"]).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("more", [{}, {"ngrams": False}, {"tree": "flat"}, {"tree": "learned"}])
def test_it_is_the_same_on_disk(more: dict[str, Any], tmp_path: Path) -> None:
    fitted = LabelTreeLanguageModel(**SMALL, **more, random_state=0).fit(TEXT)
    fitted.save(tmp_path / "model")
    found = LabelTreeLanguageModel.load(tmp_path / "model")
    assert np.array_equal(found.predict_proba(TEXT[:3]), fitted.predict_proba(TEXT[:3]))
    assert found.get_params() == fitted.get_params()
    assert list(found.history_) == list(fitted.history_)


def test_a_folder_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moving = SMALL | {"tree": "learned", "prior_weight": 0.1}
    model = LabelTreeLanguageModel(**moving, random_state=0, folder=tmp_path / "state")
    run = Loop._epoch

    def interrupted(self: Loop, number: int) -> None:
        if number == 3:
            raise KeyboardInterrupt
        run(self, number)

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "_epoch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(TEXT)
    with pytest.raises(CheckpointError, match="another training wrote: text differ"):
        model.fit(TEXT[1:])
    with pytest.raises(CheckpointError, match="text differ, validation text differ"):
        model.fit(TEXT, X_val=TEXT[:9])
    resumed = model.fit(TEXT)
    whole = LabelTreeLanguageModel(**moving, random_state=0).fit(TEXT)
    assert np.array_equal(resumed.predict_proba(TEXT), whole.predict_proba(TEXT))
    assert resumed.summary() == whole.summary()


def test_many_sentences_are_asked_about_in_parts(
    fitted: LabelTreeLanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    ask = fitted._log_proba

    def counted(encoded: Encoded) -> torch.Tensor:
        sizes.append(encoded.num_sentences)
        return ask(encoded)

    monkeypatch.setattr("structnet.estimators.next_words.BATCH", 3)
    monkeypatch.setattr(fitted, "_log_proba", counted)
    parts = fitted.predict_top(TEXT[:7], k=2)
    assert sizes == [3, 3, 1]
    monkeypatch.undo()
    words, probabilities = fitted.predict_top(TEXT[:7], k=2)
    assert np.array_equal(parts[0], words)
    np.testing.assert_allclose(parts[1], probabilities, rtol=1e-5)


def test_a_vocabulary_whose_words_are_all_rare() -> None:
    model = LabelTreeLanguageModel(**SMALL, min_count=5, random_state=0)
    model.fit(["one two three", "four five six"])
    assert isinstance(model.words_, Words) and len(model.words_) > 1
    marked = known_words([["<unk>", "<unk>", "one", "two", "one"]], 5, None)
    assert (marked.words, marked.counts.tolist()) == (("<unk>", "one"), [3, 2])


@pytest.mark.parametrize(
    ("X", "error"),
    [
        ("no_such_file.txt", "'no_such_file.txt' is not a file; expected a path"),
        ([], "there are no sentences; expected a path, or lists of words"),
        (
            ["one", "a b"],
            "X has 1 sentence of two words or more; expected at least 2, one to learn",
        ),
        ([None, "a b"], "sentence 0 must be one or more words, each a str. Got None"),
    ],
)
def test_bad_texts(X: Any, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        LabelTreeLanguageModel(random_state=0).fit(X)


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="'arity' parameter must be an int"):
        LabelTreeLanguageModel(arity=1).fit(TEXT)
    for name in ("min_count", "max_words"):
        with pytest.raises(ValueError, match=f"The '{name}' parameter must be an int in the range"):
            LabelTreeLanguageModel(**{name: 0}).fit(TEXT)
    with pytest.raises(ValueError, match="'validation_fraction'"):
        LabelTreeLanguageModel(validation_fraction=1).fit(TEXT)


@pytest.mark.parametrize("arity", [2, 5])
def test_no_path_leads_to_the_unknown_word(arity: int) -> None:
    """Where it is the likeliest by far, so that its leaf would end the greedy path."""
    text = [
        "the cat sees {} .",
        "a dog sees {} .",
        "the {} hears a cat .",
        "{} and {} hear a dog .",
    ]
    rare = [each.format(f"x{i}", f"y{i}") for i in range(40) for each in text]
    model = LabelTreeLanguageModel(
        **SMALL | {"epochs": 2, "arity": arity, "max_depth": None}, random_state=0, ngrams=False
    ).fit(rare)
    unknown = model.words_.unknown
    places = model.read(rare[:4]).samples.x
    tree = model.read().tree
    leaf = int(np.flatnonzero(tree.softmax.codes.numbering.label == unknown)[0])
    [at] = [v.arriving for v in tree.visits(places) if v.node == leaf]
    np.testing.assert_array_equal(at, 0)
    arriving = {v.node: v.arriving for v in tree.visits(places)}
    labels = tree.softmax.codes.numbering.label[tree.topology.leaves]
    np.testing.assert_allclose(
        np.stack([arriving[v] for v in tree.topology.leaves]).T,
        np.exp(tree.predicted(places))[:, labels],
        rtol=1e-4,
        atol=1e-7,
    )
    told = model.explain("the cat sees")
    assert told.prediction[unknown] == told.mixture[unknown] == 0
    assert told.whole is None and "<unk>" not in str(told)


def test_the_tree_is_read_as_other_model_trees_are(fitted: LabelTreeLanguageModel) -> None:
    words, number = fitted.words_.words, len(fitted.words_)
    found = fitted.explain("the owl hears")
    past = torch.tensor([[*map(fitted.words_.id_of, ("hears", "owl", "the")), number]])
    with torch.no_grad():
        alone = fitted.model_.head.log_prob(fitted.model_.represent(past))[0].exp()
    alone[fitted.words_.unknown] = 0  # which is never predicted
    alone /= alone.sum()
    np.testing.assert_allclose(found.mixture, alone, rtol=1e-4, atol=1e-7)
    assert [each.reason for each in found.choices] == [""] * len(found.choices)
    [leaf] = [k for k, p in enumerate(found.prediction) if p == 1]
    assert found.probability == pytest.approx(float(alone[leaf]), rel=1e-4)
    assert found.whole == pytest.approx(fitted.predict_proba("the owl hears")[0])
    [said] = fitted.predict("the owl hears")
    last = str(found).splitlines()[-1]
    assert last.startswith(f"of the tree and counts of n-grams: class {said}, ")
    lines = fitted.export_text().splitlines()
    assert sum("label " in line for line in lines) == number
    for k, word in enumerate(words):
        assert any(line.endswith(f"label {k} ({word})") for line in lines)
    assert "100.0 % of samples, " in fitted.export_text(TEXT).splitlines()[0]
    shown = written(fitted.plot(TEXT[:3], ax=axes()))
    assert any("100 %" in text for text in shown) and len(shown) > 5
    with pytest.raises(ValueError, match=r"x must be one beginning of a sentence. Got 2"):
        fitted.explain(["the", "a"])
    flat = LabelTreeLanguageModel(**SMALL | {"epochs": 1}, tree="flat", random_state=0).fit(TEXT)
    for ask in (flat.export_text, flat.plot, flat.read, lambda: flat.explain("the")):
        with pytest.raises(ValueError, match="with tree='flat' has no tree; expected one"):
            ask()


@pytest.mark.parametrize("arity", [2, 3])
def test_nothing_comes_to_the_leaf_of_the_unknown_word(arity: int) -> None:
    """Also where it is frequent, and below several nodes: it takes no share from the others."""
    text = [f"the cat sees x{number}" for number in range(30)] + TEXT[:9]
    model = LabelTreeLanguageModel(**SMALL | {"arity": arity}, random_state=0).fit(text)
    read, unknown = model.read(["cat sees the", "the"]), model.words_.unknown
    numbering = model.model_.head.codes.numbering
    come = np.zeros((len(read.samples.x), len(model.words_)))
    for visit in read.tree.visits(read.samples.x):
        if visit.branch is None:
            come[:, numbering.label[visit.node]] = visit.arriving
        else:
            np.testing.assert_allclose(visit.branch.sum(1), 1, rtol=1e-6)
    np.testing.assert_allclose(come, np.exp(read.tree.predicted(read.samples.x)), atol=1e-6)
    assert model.words_.counts[unknown] > 20 and (come[:, unknown] == 0).all()
    assert model.explain("the cat").prediction[unknown] == 0
    alone = LabelTreeLanguageModel(**SMALL, ngrams=False, random_state=0).fit(text)
    assert "n-grams" not in str(alone.explain("the cat"))


def test_a_learned_tree_says_how_many_words_it_moved(fitted: LabelTreeLanguageModel) -> None:
    assert "moves" not in fitted.summary() and "moves" not in fitted.history_[0]
    found = {}
    for weight in (0.1, 1e9):
        own = SMALL | {"tree": "learned", "prior_weight": weight}
        model = LabelTreeLanguageModel(**own, random_state=0).fit(TEXT)
        found[weight] = sum(model.history_["moves"])
        assert f"moves of words during training: {found[weight]}" in model.summary()
    assert found[0.1] > 0 == found[1e9]
