"""The table of small tables: what is drawn, what is ranked, and what is said of it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from structnet.recipes.neural_tree import tabular
from structnet.recipes.neural_tree.paper import TABLES, Choice
from structnet.recipes.neural_tree.tabular import (
    NAMES,
    RANK,
    RANKED,
    Settings,
    made,
    members,
    train,
)
from structnet.recipes.neural_tree.tabular_data import RANKED as EIGHT
from structnet.recipes.neural_tree.tabular_data import SOURCES, TESTED, parts


@pytest.mark.parametrize("name", SOURCES)
def test_a_seed_draws_a_table_and_sets_rows_aside(name: str) -> None:
    x, x_test, y, y_test = parts(name, 1)
    if SOURCES[name].size is None:
        assert len(x_test) == len(y_test) == pytest.approx((len(x) + len(x_test)) / 4, abs=1)
    else:
        assert (len(x), len(x_test), len(y_test)) == (SOURCES[name].size, TESTED, TESTED)
    assert np.array_equal(x, parts(name, 1)[0]) and not np.array_equal(x, parts(name, 2)[0])
    if SOURCES[name].classes:
        first, second = (np.bincount(part) / len(part) for part in (y, y_test))
        assert first == pytest.approx(second, abs=0.03)


def run(scores: dict[str, float], leaves: int = 2) -> SimpleNamespace:
    seconds = {"neural tree": 2.0, "mlp": 0.5}
    details = {"seconds": seconds, "leaves": leaves, "least_share": 0.25}
    return SimpleNamespace(ended={"test": scores, "details": details})


def test_ranks_are_shared_and_averaged() -> None:
    scores = dict(zip(RANKED, (0.9, 0.9, 0.5, 0.7, 0.6, 0.8), strict=True))
    runs = {data: [run(scores), run(scores | {"neural tree": 0.1})] for data in SOURCES}
    runs["moons"][0].ended["test"]["no routers"] = 0.5
    table = made(None, runs)
    ranks = {row.name: row.ours.get(RANK) for row in table.rows}
    assert ranks[NAMES["neural tree"]] == [1.5, 6.0] and ranks[NAMES["linear"]] == [1.5, 1.0]
    assert ranks[NAMES["no routers"]] is None
    cells = {row.name: row.cells for row in table.rows}
    assert cells[NAMES["no routers"]]["moons"] == "50.00" and len(EIGHT) == 8
    said = " ".join(table.notes)
    assert "4.0 times as long" in said and "by 25.0 %" in said and "moons 2, 2;" in said
    assert "| 90.00 ± 0.00 |" in table.markdown()


def test_every_model_is_fitted_on_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Model:
        def fit(self, x: np.ndarray, y: np.ndarray) -> None:
            seen.append((x, y))

        def score(self, x: np.ndarray, y: np.ndarray) -> float:
            assert not (x[:, None, 0] == seen[0][0][:, 0]).any()
            return 0.5

    monkeypatch.setattr(tabular, "_models", lambda *_: dict.fromkeys(NAMES, Model()))
    monkeypatch.setattr(tabular, "_shape_of", lambda *_: {"leaves": 1})
    for name, number in (("moons", 7), ("housing", 6)):
        seen.clear()
        found = train(Settings(name), lambda line: None)
        assert len(found["test"]) == len(seen) == number
        assert all(np.array_equal(x, seen[0][0]) for x, _ in seen)
    assert {member.settings.data for member in members(Choice(), 3)} == set(SOURCES)
    assert TABLES["tabular"].members is members
