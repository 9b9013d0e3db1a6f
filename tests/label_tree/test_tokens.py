"""LabelTreeClassifier(tokens=True): samples that are lists of token ids."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from label_trees import tokens
from scipy.sparse import csr_matrix

from structnet.label_tree import LabelTreeClassifier

QUICK = {"epochs": 5, "learning_rate": 0.1, "tree": "learned", "rebuilds": 10, "random_state": 0}


def test_lists_of_tokens(tmp_path: Path) -> None:
    lists, y = tokens()
    model = LabelTreeClassifier(tokens=True, arity=4, epochs=20, random_state=0).fit(lists, y)
    assert model.score(lists, y) > 0.9
    assert (model.predict([[3, 999], [7]]) == [3, 7]).all()  # a token that is not known
    assert len(model.predict([[]])) == 1
    assert (model.predict_proba([[3, 2**31, 2**80]]) == model.predict_proba([[3]])).all()
    for ask in (model.predict, model.predict_proba, model.apply):
        with pytest.raises(ValueError, match=r"token ids must .* Got -4294967293 for sample 1"):
            ask([[3], [3 - 2**32]])
    model.save(tmp_path / "model")
    again = LabelTreeClassifier.load(tmp_path / "model")
    assert (again.predict_proba(lists) == model.predict_proba(lists)).all()
    with pytest.raises(ValueError, match="feature_names"):
        model.explain(lists[0], feature_names=["a"])


@pytest.mark.parametrize("vector_size", [0, 8])
def test_an_explanation_names_the_tokens_that_decide(vector_size: int) -> None:
    lists, y = tokens()
    how = {**QUICK, "start": "huffman", "arity": 4, "vector_size": vector_size}
    model = LabelTreeClassifier(**how, tokens=True)
    model.fit(lists, y)
    assert (model.tree_.embedding is None) == (not vector_size)
    names = [f"word-{i}" for i in range(model.n_features_in_)]
    for given in ({}, {"feature_names": names}):
        found = model.explain(lists[0], **given)
        word = "word-" if given else "token "
        said = re.findall(rf"{word}(\d+) = ", str(found))
        assert said and set(map(int, said)) <= set(lists[0])
        for choice in found.choices:
            terms = re.findall(r"\(([-+][\d.e-]+)\)", choice.reason)
            others = len(model.tree_.topology.children_of(choice.node)) > 2
            odds = math.log(choice.probability / (1 - choice.probability))
            total = sum(map(float, terms))
            assert total >= odds - 0.02 if others else total == pytest.approx(odds, abs=0.02)


def test_a_sample_without_tokens_is_told_by_its_own_place_and_may_weigh_nothing() -> None:
    lists, model = [[1], [2], [], [1], []], LabelTreeClassifier(tokens=True, random_state=0)
    model.fit(lists, [0, 1, 0, 0, 1], [1, 1, 0, 1, 0])
    with pytest.raises(ValueError, match="sample 4 has no token"):
        model.fit(lists, [0, 1, 0, 0, 1], [0, 1, 0, 1, 1])


def test_samples_of_tokens_that_weigh_nothing_are_absent() -> None:
    lists, y = tokens()
    weights = np.where(y == y[0], 0.0, 2.0)
    there = np.flatnonzero(weights)
    found = LabelTreeClassifier(**QUICK, tokens=True, start="huffman").fit(
        [*lists, []], [*y, y[0]], [*weights, 0]
    )
    alone = LabelTreeClassifier(**QUICK, tokens=True, start="huffman").fit(
        [lists[i] for i in there], y[there]
    )
    assert y[0] in found.classes_ and found.n_features_in_ == alone.n_features_in_
    kept = found.classes_ != y[0]
    assert found.classes_[kept].tolist() == alone.classes_.tolist()
    assert found.predict_proba(lists)[:, ~kept].mean() < 0.05
    with pytest.raises(ValueError, match="all but 1 of 9 samples have the weight zero"):
        LabelTreeClassifier(tokens=True).fit(lists[:9], y[:9], np.arange(9) == 3)


def test_rows_of_integers_are_lists_of_tokens() -> None:
    rows, y = np.arange(80).reshape(40, 2) % 12, np.arange(40) % 6
    found = [
        LabelTreeClassifier(**QUICK, tokens=True, start="huffman")
        .fit(kind(rows), y)
        .predict_proba(kind(rows))
        for kind in (np.ndarray.tolist, np.uint16, np.asarray, torch.from_numpy, list)
    ]
    for each in found[1:]:
        np.testing.assert_array_equal(each, found[0])


@pytest.mark.parametrize(
    ("lists", "y", "said"),
    [
        ([[1], []], [0, 1], "sample 1 has no token"),
        ([[1], [2]], [0, 0], "y has only one class"),
        ([[1], [-2]], [0, 1], "at least 0 and below .* Got -2 for sample 1"),
        ([[1], [3, 3 - 2**32]], [0, 1], "Got -4294967293 for sample 1"),
        ([[1], [2**31]], [0, 1], "Got 2147483648 for sample 1"),
        ([[1], [2**80]], [0, 1], "Got 1208925819614629174706176 for sample 1"),
        ([["a"], [2]], [0, 1], "must be lists of token ids"),
        (np.ones((2, 2)), [0, 1], r"lists of token ids, .* Got array\(\[1., 1.\]\) for sample 0"),
        ([[1], [1.7, 2.9]], [0, 1], r"Got \[1.7, 2.9\] for sample 1"),
        (["12", "13"], [0, 1], "Got '12' for sample 0"),
        ([["1"], [2]], [0, 1], r"Got \['1'\] for sample 0"),
        ([b"12", b"13"], [0, 1], "Got b'12' for sample 0"),
        ([1, 2], [0, 1], "Got 1 for sample 0"),
        ("12", [0, 1], "must be lists of token ids, which are whole numbers. Got str"),
        (csr_matrix(np.eye(2)), [0, 1], "Got csr_matrix"),
        ([[1], [2]], [0], r"y must be \[2\]"),
    ],
)
def test_bad_tokens(lists: Any, y: list, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        LabelTreeClassifier(tokens=True).fit(lists, y)
