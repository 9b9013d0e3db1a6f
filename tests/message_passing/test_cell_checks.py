"""What a cell must have, what it may leave out, and what is no forest."""

from __future__ import annotations

import random

import pytest
import torch
from configurations import both_backends, gradients
from random_trees import ARITY, TOKENS, TYPES, VOCABULARY, random_dependency_tree, random_trees
from torch import Tensor, nn
from user_cells import Sum

from structnet.message_passing.pooling import pooled
from structnet.message_passing.propagation import propagate
from structnet.message_passing.scheduling import Layout
from structnet.tensor_tree import (
    ChildSumTreeLSTM,
    RecursiveNetwork,
    TopDownTreeLSTM,
    TreeClassifier,
    TreeLSTM,
)
from structnet.trees.forest import Forest
from structnet.trees.schema import dgl

TREES = random_trees(random.Random(0))
FOREST = Forest.from_trees(TREES, VOCABULARY)


class Least(nn.Module):
    """A cell without ``sums`` and ``bottom``: the same as :class:`Sum`, which has them."""

    layout = Sum.layout

    def __init__(self, twin: Sum):
        super().__init__()
        self.twin = twin

    def leaf(self, nodes) -> dict[str, Tensor]:
        return self.twin.leaf(nodes)

    def message(self, edges) -> dict[str, Tensor]:
        return self.twin.message(edges)

    def reduce(self, nodes) -> dict[str, Tensor]:
        nodes.mailbox["h"] = nodes.sum(nodes.mailbox["h"])
        return self.twin.reduce(nodes)


class Padded(Least):
    """The same with messages of missing children, which are zeros."""

    layout = Layout(num_types=2, arity=3, positional=False, pads=True)

    def reduce(self, nodes) -> dict[str, Tensor]:
        nodes.mailbox["h"] = nodes.mailbox["h"].sum(1)
        return self.twin.reduce(nodes)


@both_backends
@pytest.mark.parametrize("kind", [Least, Padded])
def test_a_cell_may_lack_sums_and_bottom(kind: type[Least], backend: str):
    twin = Sum().double()
    wanted = propagate(FOREST, twin)["h"]
    found = propagate(FOREST, kind(twin), backend=backend)["h"]
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(
        gradients(found.square().sum(), twin), gradients(wanted.square().sum(), twin)
    )


@both_backends
def test_a_sum_of_a_field_that_no_message_has(backend: str):
    cell = Least(Sum())
    cell.sums = {"typo"}
    with pytest.raises(
        ValueError,
        match=r"^sums of a cell must be names of fields of its messages, which are 'h'; got 'typo'",
    ):
        propagate(FOREST, cell, backend=backend)


@both_backends
def test_without_leaves_a_cell_needs_its_bottom(backend: str):
    tree = random_dependency_tree(random.Random(1))
    forest = Forest.from_trees([tree], VOCABULARY)  # all of whose nodes have a type
    with pytest.raises(ValueError, match=r"all nodes of the forest have a type, .* Least has bott"):
        propagate(forest, Least(Sum()), backend=backend)


class Bare:
    """A cell with its message alone."""

    def message(self, edges) -> dict[str, Tensor]:
        raise NotImplementedError


def with_part(name: str, value: object) -> Sum:
    cell = Sum()
    setattr(cell, name, value)
    return cell


@both_backends
@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (
            lambda: Bare(),
            TypeError,
            r"may have sums and bottom\(\); Bare has no layout, leaf\(\), re",
        ),
        (lambda: Sum, TypeError, r"must be an object; got the class Sum, expected Sum\(\.\.\.\)"),
        (lambda: with_part("layout", (2, 3)), TypeError, "must be a .*Layout; got tuple"),
        (lambda: with_part("sums", "h"), TypeError, "a set of names; got the text 'h'"),
        (lambda: with_part("sums", None), TypeError, "sums .* a set of names; got None"),
        (lambda: with_part("leaf", None), TypeError, "leaf of a cell must be a function; got None"),
        (
            lambda: with_part("bottom", lambda: {"h": torch.zeros(4)}),
            ValueError,
            r"bottom\(\) of a cell must return one row, \[1, \.\.\]; got \{'h': \[4\]\}",
        ),
        (
            lambda: with_part("bottom", lambda: {}),
            TypeError,
            r"bottom\(\) .* dictionary of tensors",
        ),
        (
            lambda: with_part("leaf", lambda nodes: torch.ones(1)),
            TypeError,
            r"leaf\(\) of a cell must return a dictionary of tensors; got tensor\(\[1",
        ),
        (lambda: with_part("message", lambda edges: 3), TypeError, r"message\(\) .*; got 3"),
        (lambda: with_part("reduce", lambda nodes: None), TypeError, r"reduce\(\) .*; got None"),
    ],
)
def test_what_is_no_cell(make, kind: type[Exception], words: str, backend: str):
    with pytest.raises(kind, match=words):
        propagate(FOREST, make(), backend=backend)


@both_backends
def test_a_sum_of_dgl_is_told_how_to_sum(backend: str):
    cell = with_part("sums", frozenset())
    cell.reduce = lambda nodes: {"h": nodes.mailbox["h"].sum(1)}  # as in DGL's functions
    with pytest.raises(ValueError, match=r"^reduce\(\) .*; nodes\.sum\(x\) adds up the messages"):
        propagate(FOREST, cell, backend=backend)


def encoders() -> list[nn.Module]:
    sizes = len(TYPES), len(TOKENS)
    child_sum = ChildSumTreeLSTM(4, *sizes)
    inputs = nn.Embedding(len(TOKENS), 4)
    tensor, recursive = (
        kind(4, len(TYPES), ARITY, inputs) for kind in (TreeLSTM, RecursiveNetwork)
    )
    return [child_sum, tensor, recursive, TreeClassifier(child_sum, 2)]


@pytest.mark.parametrize("given", ["trees", "graph"])
def test_what_is_no_forest(given: str):
    wrong = TREES if given == "trees" else dgl().graph(([0, 1], [2, 2]))
    kind = type(wrong).__name__
    calls = [lambda: propagate(wrong, Sum()), lambda: pooled(wrong, torch.zeros(3, 4), "sum")]
    for model in encoders():
        named = (getattr(model, name, None) for name in ("forward", "node_states", "predict"))
        calls += [lambda call=call: call(wrong) for call in named if call is not None]
    calls.append(lambda: TopDownTreeLSTM(4)(wrong, torch.zeros(3, 4)))
    assert len(calls) == 11
    for call in calls:
        with pytest.raises(TypeError, match=f"expected a Forest; got {kind}: Forest.from_trees"):
            call()
