"""Further held-out parts, which tell what one part cannot: does a table need more than a line?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from structnet.neural_tree import (
    Growth,
    NeuralTree,
    NeuralTreeRegressor,
    NeuralTreeSettings,
    SquaredError,
    presets,
)
from structnet.neural_tree.growth import growth as module
from structnet.neural_tree.growth.decision import Gain, choose
from structnet.neural_tree.growth.parts import Part, fresh_starts, judged_by_parts
from structnet.neural_tree.likelihood import Categorical
from structnet.routing import Samples

RULE = partial(choose, settings=NeuralTreeSettings())


def root(columns: int = 2) -> NeuralTree:
    torch.manual_seed(0)
    made = presets.table(1).without(transformers=True)
    return NeuralTree(made, (columns,), SquaredError())


def table(size: int, seed: int, height: float) -> Samples:
    """Numbers that are higher in a corner of a square, by as much as told, and noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (size, 2))
    y = height * (x > 0).all(1, keepdims=True) + rng.normal(size=(size, 1))
    return Samples(torch.from_numpy(x).float(), torch.from_numpy((y - y.mean()) / y.std()).float())


def part(**drops: Any) -> Part:
    """A part of four samples whose losses are 2, and fall by as much as told for each kind."""
    before, gains = np.full(4, 2.0), {}
    for kind, drop in drops.items():
        after = before - drop
        error = float(np.std(drop, ddof=1) / 2)
        gains[kind] = Gain(float(after.mean()), float(np.mean(drop)), error, after=after)
    return Part(gains, before, np.ones(4))


SOME = np.array([1.0, 0.0, 1.0, 0.0])


def test_parts_are_asked_for_until_they_tell() -> None:
    asked = list[int]()

    def others() -> Iterator[Part]:
        for number in range(4):
            asked.append(number)
            yield part(split=SOME)

    first = part(split=SOME, deepen=-SOME)
    found = judged_by_parts(first, others(), RULE, Categorical(), 24)
    assert RULE(dict(first.gains)) == "keep" and RULE(found) == "split" and asked == [0]
    assert found["deepen"] == first.gains["deepen"]  # what gains nothing is not looked at further
    assert found["split"].loss == first.gains["split"].loss
    drops = np.tile(SOME, 2)
    assert found["split"].gain == drops.mean()
    assert found["split"].error == pytest.approx(drops.std(ddof=1) / np.sqrt(8))


@pytest.mark.parametrize("first", [part(), part(split=-SOME), part(split=SOME + 1)])
def test_where_nothing_gains_or_the_first_part_tells_no_other_is_asked_for(first: Part) -> None:
    def none() -> Iterator[Part]:
        raise AssertionError
        yield

    assert judged_by_parts(first, none(), RULE, Categorical(), 24) == dict(first.gains)


def test_a_part_without_a_candidate_of_a_kind_gains_nothing() -> None:
    found = judged_by_parts(part(split=SOME), [part()] * 4, RULE, Categorical(), 24)
    assert found["split"].gain == pytest.approx(SOME.sum() / 20) and RULE(found) == "keep"


def asked_of(parts: list[Part]) -> tuple[str, int]:
    """What is chosen by the first of the parts or more of them, and the number that are asked."""
    asked = [1]

    def others() -> Iterator[Part]:
        for each in parts[1:]:
            asked.append(1)
            yield each

    size = sum(len(each.before) for each in parts)
    return RULE(judged_by_parts(parts[0], others(), RULE, Categorical(), size)), len(asked)


def drawn(rng: np.random.Generator, gain: float) -> list[Part]:
    """Six parts with a true gain, in standard errors of all together."""
    drops = 1.0 * (rng.normal(size=(6, 4, 50)) + gain / np.sqrt(1200))
    found = []
    for drop in drops.reshape(6, 200):
        before = np.full(200, 2.0)
        error = float(drop.std(ddof=1) / np.sqrt(200))
        after = before - drop
        gains = {"split": Gain(float(after.mean()), float(drop.mean()), error, after=after)}
        found.append(Part(gains, before, np.ones(200)))
    return found


@pytest.mark.parametrize("error, number", [(1 / 0.2, 1), (1 / 0.3, 2)])
def test_parts_are_asked_for_if_all_might_tell(error: float, number: int) -> None:
    first = part(split=SOME)
    gain = first.gains["split"]
    first = first._replace(gains={"split": gain._replace(error=error * gain.gain)})
    assert asked_of([first, *[part(split=-SOME)] * 5]) == ("keep", number)


def test_what_gains_nothing_is_soon_given_up_and_what_gains_hardly_ever() -> None:
    rng = np.random.default_rng(0)
    nothing = [asked_of(drawn(rng, gain=0.0)) for _ in range(300)]
    much = [asked_of(drawn(rng, gain=4.0)) for _ in range(300)]
    assert np.mean([number for _, number in nothing]) < 2.2
    assert np.mean([action == "keep" for action, _ in much]) < 0.15


def test_each_sample_is_held_out_once_from_roots_that_know_nothing() -> None:
    samples, tree = table(100, 0, 1.0), root()
    starts = [*fresh_starts(tree, samples, seed=0)]
    held = torch.cat([each.x for _, _, each in starts])
    assert len(starts) == 5
    assert sorted(held[:, 0].tolist()) == sorted(samples.x[:, 0].tolist())
    for other, learn, out in starts:
        assert len(learn) + len(out) == 100 and other is not tree
        assert not any(parameter.any() for parameter in other.parameters())
    assert any(parameter.any() for parameter in tree.parameters())


def test_samples_enough_and_trees_that_are_no_line_have_no_further_parts() -> None:
    assert not [*fresh_starts(root(), table(2000, 0, 1.0), seed=0)]
    tree = root()
    tree.split(0, tree.new_split(0))
    assert not [*fresh_starts(tree, table(100, 0, 1.0), seed=0)]


def test_a_part_without_weight_is_left_out() -> None:
    samples = table(20, 0, 1.0)
    samples = Samples(samples.x, samples.targets, torch.eye(20)[0])
    assert not [*fresh_starts(root(), samples, seed=0)]


def grown(samples: Samples, monkeypatch: pytest.MonkeyPatch, *, parts: bool) -> Growth:
    if not parts:
        monkeypatch.setattr(module, "fresh_starts", lambda *_: iter(()))
    learn, held = (samples[np.arange(*ends)] for ends in ((0, 320), (320, 400)))
    growth = Growth(root(), learn, held, NeuralTreeSettings(epochs=20))
    growth.in_parts = True
    for _ in range(2):
        growth.step()
    monkeypatch.undo()
    return growth


def test_a_corner_in_noise_is_found_by_more_parts_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = table(400, 3, 4 / 3)
    [one, several] = (grown(samples, monkeypatch, parts=parts) for parts in (False, True))
    assert [each.action for each in one.decisions] == ["root", "keep"]
    assert [each.action for each in several.decisions] == ["root", "split"]
    assert several.decisions[1].candidates == one.decisions[1].candidates
    assert several.decisions[1].errors["split"] < one.decisions[1].errors["split"]
    assert several.loss == one.decisions[1].candidates["split"]
    again = grown(samples, monkeypatch, parts=True)
    assert again.decisions[1].errors == several.decisions[1].errors


@pytest.mark.parametrize("seed", range(3))
def test_noise_stays_a_line(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    growth = grown(table(400, seed, 0.0), monkeypatch, parts=True)
    assert [each.action for each in growth.decisions] == ["root", "keep"]


def test_validation_rows_of_the_user_are_not_outvoted(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may be of other groups than the training rows, whose parts would share theirs."""
    asked, whole = [], Growth.run

    def noted(growth: Growth) -> Any:
        asked.append(growth.in_parts)
        return whole(growth)

    monkeypatch.setattr(Growth, "run", noted)
    x = np.random.default_rng(0).normal(size=(60, 2))
    model = NeuralTreeRegressor(epochs=1, refine_epochs=0, random_state=0)
    model.fit(x[:40], x[:40, 0], X_val=x[40:], y_val=x[40:, 0])
    model.fit(x, x[:, 0])
    assert asked == [False, True]
