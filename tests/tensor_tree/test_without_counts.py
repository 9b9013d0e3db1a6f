"""Numbers that a Tree-LSTM learns alone, as counts leave of them what is harder to learn."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from structnet import Tree, TreeLSTMRegressor
from structnet.tensor_tree import training
from structnet.tensor_tree.counts.beside import Beside


def orders(number: int, product: bool) -> tuple[list[Tree], np.ndarray]:
    """Orders of some items with their totals, or what each item costs and how often it is taken."""
    rng, trees, numbers = random.Random(0), [], []
    for _ in range(number):
        items = [
            (rng.randint(100, 4099) / 100, rng.randint(1, 5)) for _ in range(rng.randint(1, 4))
        ]
        parts = [
            Tree("item", [Tree("price", [Tree(str(p))]), Tree("times", [Tree(str(n))])])
            for p, n in items
        ]
        trees.append(Tree("order", parts))
        numbers.append(sum(p * n if product else p + n for p, n in items))
    return trees, np.array(numbers)


def model(**given: object) -> TreeLSTMRegressor:
    return TreeLSTMRegressor(hidden_size=32, random_state=0, **given)


def test_sums_of_products_are_learnt_without_counts(tmp_path: Path) -> None:
    trees, totals = orders(600, product=True)
    fitted = model(epochs=15, folder=tmp_path / "state").fit(trees[:400], totals[:400])
    assert not fitted.settings_.bag and not isinstance(fitted.model_, Beside)
    assert fitted.score(trees[400:], totals[400:]) > 0.98  # a linear model has 0.92
    assert "\nalone, as it is surely better so than beside a linear model" in fitted.summary()
    fitted.save(tmp_path / "model.safetensors")
    loaded = TreeLSTMRegressor.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.predict(trees[400:]), fitted.predict(trees[400:]))
    again = model(epochs=15, folder=tmp_path / "state").fit(trees[:400], totals[:400])
    assert np.array_equal(again.predict(trees[400:]), fitted.predict(trees[400:]))


@pytest.mark.parametrize("given", [{}, {"bag": False}])
def test_what_counts_know_or_are_not_asked_is_learnt_once(
    given: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, candidate = [], training._candidate
    monkeypatch.setattr(
        training, "_candidate", lambda *args, **how: trained.append(args) or candidate(*args, **how)
    )
    trees, sums = orders(60, product=False)
    model(epochs=1, **given).fit(trees, sums)
    assert len(trained) == 1
