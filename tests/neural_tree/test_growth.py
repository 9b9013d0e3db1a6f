"""Growth: what is decided, in which order, and what stays as it was."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest
import torch
from forests import exactly
from growths import LIKELIHOODS, grow, make_growth, make_primitives, make_tree, scripted, visits
from torch import Tensor, nn

from structnet.neural_tree import Decision, Growth, Primitives
from structnet.training.fitting import fit
from structnet.training.history import History
from structnet.training.loop import NonFiniteLossError
from structnet.training.metrics import evaluate

# ---- what is recorded


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_the_recorded_losses_are_those_of_the_tree(likelihood: str) -> None:
    found = []

    def check(growth: Growth, decision: Decision) -> None:
        tree = growth.tree
        loss = evaluate(tree, growth.validation, batch_size=7)["loss"]
        assert loss == pytest.approx(decision.loss, rel=1e-6)
        assert decision.loss == growth.loss
        assert decision.number == len(found)
        assert decision.leaves == tree.num_leaves
        assert decision.parameters == sum(p.numel() for p in tree.parameters())
        assert decision.seconds > 0
        found.append(decision)

    tree = make_tree(likelihood, norm=True)
    growth = grow(
        tree,
        likelihood=likelihood,
        epochs=6,
        max_leaves=4,
        max_transformers=3,
        callbacks=[check],
        warm_start_solvers=True,
    )
    taken = [decision for decision in found if decision.action != "keep"]
    assert len(taken) >= 3  # or this test has seen nothing
    losses = [decision.loss for decision in taken]
    assert losses == sorted(set(losses), reverse=True)
    assert found == growth.decisions
    assert growth.tree.num_leaves == 1 + sum(d.action == "split" for d in found)
    for before, after in pairwise(found):
        if after.action == "keep":
            assert (after.loss, after.leaves) == (before.loss, before.leaves)
        else:
            assert after.loss == min(after.candidates.values()) < before.loss


def test_history_names_what_each_epoch_trained() -> None:
    growth = grow(kind=scripted("split", "deepen"), max_leaves=2)
    phases = [(r["decision"], r["node"], r["phase"], r["epoch"]) for r in growth.history]
    expected = [(0, 0, "root", 1), (0, 0, "root", 2)]
    for decision in growth.decisions[1:]:
        for phase in decision.candidates:
            expected += [(decision.number, decision.node, phase, epoch) for epoch in (1, 2)]
    assert phases == expected
    assert "split" not in growth.decisions[-1].candidates
    for decision in growth.decisions[1:]:
        for phase, loss in decision.candidates.items():
            records = [r for r in growth.history if r["decision"] == decision.number]
            assert loss == min(r["validation_loss"] for r in records if r["phase"] == phase)


def test_the_best_of_several_attempts_counts() -> None:
    once = make_growth(kind=scripted("split"), seed=1)
    often = make_growth(kind=scripted("split"), seed=1, n_init=3)
    for growth in (once, often):
        growth.step()
        growth.step()
    for kind, loss in often.decisions[1].candidates.items():
        records = [r for r in often.history if (r["decision"], r["phase"]) == (1, kind)]
        attempts = [[r["validation_loss"] for r in records[i : i + 2]] for i in (0, 2, 4)]
        assert len(records) == 6
        assert len({losses[0] for losses in attempts}) == 3  # each began elsewhere
        assert min(attempts[0]) == once.decisions[1].candidates[kind]
        assert loss == min(map(min, attempts))
    assert often.decisions[1].loss < once.decisions[1].loss
    validation = evaluate(often.tree, often.validation)["loss"]
    assert validation == pytest.approx(often.decisions[1].candidates["split"], abs=1e-12)


class Breaking(nn.Linear):
    """A router that gives nothing but nan from its third use in training on."""

    used = 0

    def forward(self, x: Tensor) -> Tensor:
        self.used += self.training
        logit = super().forward(x)
        return logit * (torch.nan if self.used > 3 else 1.0)


def test_a_candidate_that_diverges_stops_there_and_growth_goes_on() -> None:
    plain = make_primitives()
    primitives = Primitives(lambda shape: Breaking(*shape, 1), plain.transformer, plain.solver)
    growth = make_growth(make_tree(primitives=primitives), epochs=5)
    growth.step()
    with pytest.warns(UserWarning, match=r"^a split of node 0 was stopped in epoch 2, batch 1:"):
        decision = growth.step()
    phases = [record["phase"] for record in growth.history if record["decision"] == 1]
    assert phases == ["split"] + ["deepen"] * 5
    first = next(record for record in growth.history if record["phase"] == "split")
    assert decision.candidates["split"] == first["validation_loss"]
    growth.tree.primitives = primitives.without(routers=True)
    growth.run()
    assert growth.done


def test_a_root_that_diverges_says_so() -> None:
    growth = make_growth(optimizer=partial(torch.optim.SGD, lr=1e300), likelihood="squares")
    with pytest.raises(NonFiniteLossError):
        growth.step()
    assert not growth.decisions


# ---- what stays as it was


@pytest.mark.parametrize("action", ["split", "deepen", "keep"])
@pytest.mark.parametrize("cache_bytes", [4e9, 0])
def test_the_rest_of_the_tree_stays_as_it_is(action: str, cache_bytes: float) -> None:
    tree = make_tree(norm=True, dropout=0.3)
    growth = make_growth(tree, scripted("split", "deepen", action), cache_bytes=cache_bytes)
    for _ in range(3):
        growth.step()
    leaf = growth.undecided[0]
    next(tree.nodes[0].transformers.parameters()).requires_grad_(False)
    for parameter in tree.parameters():
        parameter.grad = torch.ones_like(parameter)
    old = [*tree.named_parameters(), *tree.named_buffers()]
    before = [(value.detach().clone(), value.requires_grad) for _, value in old]
    assert any(name.endswith("running_mean") for name, _ in old)
    structure = tree.config()
    assert growth.step().action == action
    for (name, value), (then, requires_grad) in zip(old, before, strict=True):
        assert torch.equal(value, then), name
        assert value.requires_grad == requires_grad, name
        assert value.grad is None or torch.equal(value.grad, torch.ones_like(value)), name
    now = {id(value) for value in [*tree.parameters(), *tree.buffers()]}
    gone = [name for name, value in old if id(value) not in now]
    assert all(name.startswith(f"nodes.{leaf}.solver.") for name in gone)
    assert bool(gone) == (action != "keep")
    assert (tree.config() == structure) == (action == "keep")
    assert not any(module.training for module in tree.modules())
    new = [p for p in tree.parameters() if id(p) not in {id(value) for _, value in old}]
    assert all(p.requires_grad for p in new)


def test_a_trained_candidate_differs_from_its_start() -> None:
    growth = make_growth(make_tree(norm=True), scripted("split"))
    growth.step()
    [fresh] = growth._candidates(0)["split"]
    growth.step()
    router = growth.tree.nodes[0].router
    assert not torch.equal(router.weight, fresh.parts[0].weight)


# ---- in which order


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ((), [(0, "root"), (0, "keep")]),
        (
            ("split", "split", "keep"),
            [(0, "root"), (0, "split"), (1, "split"), (2, "keep"), (3, "keep"), (4, "keep")],
        ),
        (
            ("split", "keep", "split", "split"),
            [(0, "root"), (0, "split"), (1, "keep"), (2, "split"), (3, "split")]
            + [(v, "keep") for v in (4, 5, 6)],
        ),
        (
            ("deepen", "split", "deepen", "keep", "deepen"),
            [
                *[(0, "root"), (0, "deepen"), (0, "split"), (1, "deepen"), (2, "keep")],
                *[(1, "deepen"), (1, "keep")],
            ],
        ),
        (
            ("split", "deepen", "split", "split"),  # a deepened leaf waits behind its sister
            [(0, "root"), (0, "split"), (1, "deepen"), (2, "split"), (1, "split")]
            + [(v, "keep") for v in (3, 4, 5, 6)],
        ),
    ],
)
def test_every_leaf_is_visited_breadth_first(script: tuple, expected: list) -> None:
    growth = grow(kind=scripted(*script), epochs=1)
    assert visits(growth) == expected
    assert growth.done and growth.undecided == []
    assert growth.tree.num_leaves == 1 + script.count("split")
    with pytest.raises(StopIteration, match=exactly("every leaf is decided")):
        growth.step()
    growth.run()
    assert visits(growth) == expected


def test_callbacks_watch_every_step() -> None:
    seen = []
    growth = make_growth(
        kind=scripted("split"),
        epochs=1,
        callbacks=[lambda growth, decision: seen.append((growth.undecided[:], decision))],
    )
    assert not growth.done
    while not growth.done:
        decision = growth.step()
        assert seen[-1] == (growth.undecided, decision)
        assert decision is growth.decisions[-1]
    assert [undecided for undecided, _ in seen] == [[0], [1, 2], [2], []]


def test_a_root_waits_longer_than_what_begins_beside_a_leaf(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fitted = []

    def spy(model: nn.Module, *data: object, **how: object) -> History:
        fitted.append((model is growth.tree, how["patience"]))
        return fit(model, *data, **how)

    monkeypatch.setattr("structnet.neural_tree.growth.growth.fit", spy)
    growth = make_growth()
    growth.step(), growth.step()
    # 60 samples in batches of 20 are 3 steps an epoch: 240 of them, and 120.
    assert fitted[0] == (True, 80)
    assert len(fitted) > 1 and set(fitted[1:]) == {(False, 40)}
