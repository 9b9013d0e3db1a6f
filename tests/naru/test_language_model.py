"""The language model: what it learns, what it says, what it refuses."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.utils import get_tags

from structnet import CheckpointError
from structnet.estimators import next_words
from structnet.naru import (
    NaruSettings,
    NextWord,
    RoutedLanguageModel,
    RoutedNetwork,
    Sentences,
    Wiring,
    language_model,
    train,
)
from structnet.naru.balance import imbalance
from structnet.naru.training import adam
from structnet.text import Encoded
from structnet.training.checkpoint import load_model, save_model
from structnet.training.metrics import evaluate

SMALL = {"sizes": (1, 2, 3, 1), "dims": (8, 8), "vector_size": 6, "random_state": 0}
SMALL |= {"memory": None}
TEXT = ["the cat sees the dog .", "a dog sees the cat .", "the owl hears a cat ."] * 40


@pytest.fixture(scope="module")
def fitted() -> RoutedLanguageModel:
    return RoutedLanguageModel(**SMALL, epochs=30, learning_rate=1e-2, patience=None).fit(TEXT)


def test_it_learns_a_grammar(fitted: RoutedLanguageModel) -> None:
    losses = fitted.history_["validation_loss"]
    assert min(losses) < 0.6 * losses[0]
    assert fitted.score(TEXT) > 0.5
    assert fitted.predict(["the owl hears"]) == ["a"]
    prob = fitted.predict_proba(["the owl"])
    assert prob.sum() == pytest.approx(1, abs=1e-5)
    assert prob.shape == (1, len(fitted.words_))


@pytest.mark.parametrize("own", [{}, {"decoding": "nearest"}, {"loss": "log_loss"}])
def test_measures_are_of_one_word_after_the_other(own: dict[str, str]) -> None:
    model = RoutedLanguageModel(**SMALL, epochs=1, **own).fit(TEXT)
    text = ["the owl sees a dog .", "xyzzy hears the unicorn", "cat"]
    right, said = [], []
    for words in map(str.split, text):
        for i in range(1, len(words)):
            [prob], [likeliest] = model.predict_proba([words[:i]]), model.predict([words[:i]])
            right.append(likeliest == words[i])
            if words[i] in model.words_:
                said.append(prob[model.words_.id_of(words[i])])
    found = model.measure(text)
    assert len(right) == 8 and len(said) == 7
    assert found.accuracy == pytest.approx(np.mean(right))
    assert found.perplexity == pytest.approx(np.exp(-np.log(said).mean()), rel=1e-5)


def test_counts_that_answer_alone_are_as_perplexed_as_the_model() -> None:
    rng = np.random.default_rng(0)
    text = [" ".join(rng.choice([*"abcdef", f"w{i}"], 6)) for i in range(100)]
    model = RoutedLanguageModel(**SMALL, epochs=1, loss="log_loss").fit(text)
    assert not model.uses_network_ and model.words_.unknown is not None
    found = model.measure(["a b c w d e", "f never a"])
    assert found.perplexity_of_ngrams == pytest.approx(found.perplexity, rel=1e-6)


def test_unknown_words_do_not_change_what_is_counted_and_chosen() -> None:
    """Where every third word is unknown, the known ones behind the others are as likely."""
    rng = np.random.default_rng(0)
    text = [
        " ".join(f"w{rng.integers(10**9)}" if k % 3 == 2 else f"{'ab'[k % 3]}" for k in range(9))
        for _ in range(60)
    ]
    model = RoutedLanguageModel(**SMALL, epochs=1).fit(text)
    events = model.model_.following.events % len(model.words_)
    assert model.words_.unknown not in events
    assert model.measure(text).perplexity < 1.05  # nothing is as sure as what is known


def test_long_texts_are_asked_about_in_parts(
    fitted: RoutedLanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fitted.predict(TEXT[:10])
    assert whole == [fitted.words_.words[i] for i in fitted.predict_proba(TEXT[:10]).argmax(1)]
    sizes, ask = [], fitted.model_.predict_log_proba
    monkeypatch.setattr(next_words, "BATCH", 3)
    monkeypatch.setattr(
        fitted.model_, "predict_log_proba", lambda x: (sizes.append(len(x)), ask(x))[1]
    )
    assert fitted.predict(TEXT[:10]) == whole
    assert sizes == [3, 3, 3, 1]


def test_the_unknown_word_is_never_the_answer(fitted: RoutedLanguageModel) -> None:
    assert (fitted.predict_proba(TEXT[:3])[:, fitted.words_.unknown] == 0).all()
    assert fitted.predict(["xyzzy plugh"])[0] in fitted.words_


def test_paths_and_statistics(fitted: RoutedLanguageModel) -> None:
    [path] = fitted.paths(TEXT[:1])
    assert path.shape == (6, 4)
    assert (path[:, 0] == 0).all() and (path[:-1] >= 0).all() and path[-1, -1] == -1
    stats = fitted.statistics(TEXT)
    assert stats.visits[0].sum() == sum(len(each.split()) for each in TEXT)


@pytest.mark.parametrize(
    "change",
    [
        {"words": ["a", "a"]},
        {"counts": [float("inf")]},
        {"unknown": 10**9},
        {"parameters": None},
        {"parameters": {"sizes": [1, 10**6, 1], "dims": [10**6]}},
        {"parameters": {"sizes": [1, 1], "dims": [], "batch_size": "x"}},
        {"history": 3},
    ],
    ids=str,
)
def test_a_file_that_somebody_changed(
    fitted: RoutedLanguageModel, change: dict, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model")
    _, config = load_model(tmp_path / "model")
    save_model(tmp_path / "model", fitted.model_, config | change)
    with pytest.raises(CheckpointError, match="model does not describe a RoutedLanguageModel"):
        RoutedLanguageModel.load(tmp_path / "model")


def test_a_file_is_a_text(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(TEXT), encoding="utf-8")
    one, other = (RoutedLanguageModel(**SMALL, epochs=1).fit(each) for each in (path, TEXT))
    ours, theirs = one.predict_proba(TEXT[:2]), other.predict_proba(path)[:2]
    assert ours == pytest.approx(theirs, abs=1e-6)


def test_a_text_to_choose_by() -> None:
    other = ["the owl sees the dog .", "a zebra sees a cat ."] * 3
    model = RoutedLanguageModel(**SMALL, epochs=2).fit(TEXT, X_val=other)
    assert model.words_.counts.sum() == sum(len(each.split()) for each in TEXT)
    assert "zebra" not in model.words_
    sentences = Sentences(model.words_.encode(map(str.split, other)))
    network = evaluate(model.model_, sentences, batch_size=6)
    assert model.history_.best["validation_loss"] == pytest.approx(network["loss"])
    for few in ([], ["cat"]):
        with pytest.raises(ValueError, match=r"expected at least 1$|there are no sentences"):
            clone(model).fit(TEXT, X_val=few)


def test_all_sentences_are_counted_after_the_choices(fitted: RoutedLanguageModel) -> None:
    """Of the held-out ones too, and where long sentences were cut; but not of other texts."""
    cut = RoutedLanguageModel(**SMALL, epochs=1, max_length=3).fit(TEXT)
    other = RoutedLanguageModel(**SMALL, epochs=1).fit(TEXT, X_val=["a dog hears the owl ."])
    for model in (fitted, cut, other):
        whole = copy.deepcopy(model.model_)
        whole.count(model._encoded(TEXT))
        assert torch.equal(whole.following.sums, model.model_.following.sums)
        assert torch.equal(whole.following.events, model.model_.following.events)


def test_a_training_goes_on(tmp_path: Path) -> None:
    short = RoutedLanguageModel(**SMALL, epochs=2, folder=tmp_path / "run").fit(TEXT)
    longer = clone(short).set_params(epochs=4).fit(TEXT)
    whole = clone(short).set_params(epochs=4, folder=None).fit(TEXT)
    for ours, theirs in zip(
        longer.model_.state_dict().values(), whole.model_.state_dict().values(), strict=True
    ):
        assert torch.equal(ours, theirs)
    assert longer.history_["route_changes"] == whole.history_["route_changes"]
    assert (tmp_path / "run" / "vectors.safetensors").exists()


def test_its_samples_are_texts() -> None:
    tags = get_tags(RoutedLanguageModel())
    assert tags.no_validation and tags.input_tags.string and not tags.input_tags.two_d_array


def test_the_likeliest_words(fitted: RoutedLanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    words, _ = fitted.predict_top(TEXT[:5], k=3)
    monkeypatch.setattr(language_model, "BATCH", 2)
    assert (fitted.predict_top(TEXT[:5], k=3)[0] == words).all()
    every, shares = fitted.predict_top(["the"], k=999)
    known = [
        word for word in fitted.words_.words if word != fitted.words_.words[fitted.words_.unknown]
    ]
    assert sorted(every[0]) == sorted(known) and shares.sum() == pytest.approx(1, abs=1e-5)


def test_cross_entropy() -> None:
    own = {"loss": "log_loss"}
    model = RoutedLanguageModel(**SMALL, **own, epochs=30, learning_rate=1e-2, patience=None)
    model.fit(TEXT)
    assert model.score(TEXT) > 0.6
    assert model.history_["loss"][-1] < model.history_["loss"][0] / 2


MANY = {**SMALL, "sizes": (1, 4, 4, 1), "epochs": 3, "learning_rate": 1e-2, "patience": None}
MANY |= {"loss": "squared_error", "balance": 0.0}


@pytest.mark.parametrize("spread", [{"balance": 0.1}, {"gate_noise": 1.0}], ids=str)
def test_balance_and_noise_spread_the_words(spread: dict[str, float]) -> None:
    stats = [RoutedLanguageModel(**MANY | own).fit(TEXT).statistics(TEXT) for own in ({}, spread)]
    bias = [each.bias(normalised=True) for each in stats]
    assert bias[1] < 0.75 * bias[0]
    assert stats[1].commonest_path()[1] < stats[0].commonest_path()[1]


def test_lazy_and_dense_training_differ() -> None:
    models = [RoutedLanguageModel(**MANY, lazy=lazy).fit(TEXT) for lazy in (True, True, False)]
    lazy, again, dense = (model.model_.state_dict().values() for model in models)
    assert all(map(torch.equal, lazy, again))
    assert not all(map(torch.equal, lazy, dense))


def test_given_vectors(tmp_path: Path) -> None:
    words = sorted({word for each in TEXT for word in each.split()})
    vectors = {word: np.eye(len(words))[i].tolist() for i, word in enumerate(words)}
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{w} {' '.join(map(str, v))}\n" for w, v in vectors.items()))
    found = []
    for given in (vectors, path):
        model = RoutedLanguageModel(**SMALL, vectors=given, epochs=1).fit(TEXT)
        assert model.model_.vectors.shape[1] == len(words)
        found.append(model.predict_proba(TEXT[:2]))
        model.save(tmp_path / "model")  # the vectors are among the weights
        kept = RoutedLanguageModel.load(tmp_path / "model")
        assert kept.vectors is None and np.array_equal(kept.predict_proba(TEXT[:2]), found[-1])
    assert np.array_equal(*found)


# ---- the training


def model_of(**options) -> NextWord:
    torch.manual_seed(0)
    network = RoutedNetwork(Wiring((1, 3, 4, 1), (4, 5, 6, 4)))
    return NextWord(network, torch.randn(9, 4), **options)


def encoded(lengths: list[int], seed: int = 0) -> Sentences:
    ids = np.random.default_rng(seed).integers(0, 9, sum(lengths))
    return Sentences(Encoded(ids, np.append(0, np.cumsum(lengths))))


@pytest.mark.parametrize("lazy", [True, False])
def test_unvisited_bundles_stay_put_unless_adam_is_dense(lazy: bool) -> None:
    model = model_of()
    first, second = encoded([9] * 8), encoded([2])
    settings = NaruSettings(epochs=1, lazy=lazy, batch_size=8, learning_rate=0.01)
    optimizer = adam(model, settings, list(model.parameters()))
    for batch in (first, second):
        before = {name: each.detach().clone() for name, each in model.named_parameters()}
        optimizer.zero_grad()
        model.loss(batch).backward()
        optimizer.step()
    record = model.route(second).record
    idle = moved = 0
    for p in range(4):
        for a, bundle in enumerate(model.network.capsule(p)):
            if not (record[..., p] == a).any():
                idle += 1
                moved += not torch.equal(bundle.weight, before[f"network.bundles.{p}.{a}.weight"])
    assert idle >= 4
    assert (moved == 0) == lazy


def test_nothing_moves_where_nothing_is_learned() -> None:
    model = model_of()
    history = train(
        model, NaruSettings(epochs=2, learning_rate=1e-30), encoded([5] * 20), encoded([5] * 4)
    )
    assert history["route_changes"] == [None, 0.0]
    assert set(history[-1]) >= {"utilisation", "normalised_bias", "dead_bundles"}


def test_the_loss_is_the_mean_of_sentences() -> None:
    model, batch = model_of().double(), encoded([5, 2, 8, 1])
    alone = torch.stack([model.loss(batch[[i]]) for i in range(3)])
    torch.testing.assert_close(model.loss(batch), alone.mean())
    assert model.loss(batch[[3]]) == 0  # there is nothing to predict


def test_imbalance_is_least_where_all_are_elected_alike() -> None:
    model = model_of(balance=0.5)
    routed = model.route(encoded([9] * 30))
    value = imbalance(model.network, routed)
    assert value > 1
    plain = model_of()
    torch.testing.assert_close(
        model.loss(encoded([9] * 30)), plain.loss(encoded([9] * 30)) + 0.5 * value
    )
    value.backward()
    assert model.network.capsule(0)[0].read_gate.grad.abs().max() > 0


def test_long_sentences_are_cut_and_every_word_is_predicted_once() -> None:
    text = Encoded(np.arange(23), np.array([0, 12, 13, 23]))
    pieces = Sentences.to_predict(text, 5).texts()
    assert max(map(len, pieces)) == 5 and min(map(len, pieces)) >= 2
    predicted = [word for piece in pieces for word in piece[1:]]
    assert predicted == [*range(1, 12), *range(14, 23)]


def test_the_baseline_says_that_it_is_a_gru() -> None:
    told = language_model.RecurrentLanguageModel(**SMALL, epochs=1).fit(TEXT).summary()
    assert told.startswith("a GRU of ") and "bundles" not in told
