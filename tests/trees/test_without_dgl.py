"""Where there is no dgl, as on Python 3.12 and later: one sentence, and all else works."""

from __future__ import annotations

import doctest
import random
import sys
from collections.abc import Callable

import networkx as nx
import pytest
import torch
from dgl_marks import asks_for_dgl
from growths import grow, make_samples
from random_trees import VOCABULARY, random_tree
from torch import nn
from user_cells import Sum

from structnet import parse
from structnet.message_passing import propagate
from structnet.plot import plot_tree
from structnet.routing import Topology
from structnet.tensor_tree import TreeClassifier, TreeLSTM
from structnet.training import fit
from structnet.trees import Forest, from_networkx, to_networkx
from structnet.trees.examples import TreeExamples
from structnet.trees.schema import _missing, dgl


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dgl", None)


def forest() -> Forest:
    rng = random.Random(0)
    return Forest.from_trees([random_tree(rng) for _ in range(6)], VOCABULARY)


def classifier() -> TreeClassifier:
    inputs = nn.Embedding(len(VOCABULARY.tokens), 4)
    encoder = TreeLSTM(3, len(VOCABULARY.types), VOCABULARY.arity, inputs)
    return TreeClassifier(encoder, 2)


def digraph() -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_node(0, type=0, token=-1)
    return graph


NEEDING = {
    "graph": lambda: forest().graph,
    "topology": lambda: Topology([()]).graph(),
    "from_graph": lambda: Forest.from_graph(object()),
    "topology from_graph": lambda: Topology.from_graph(object()),
    "from_networkx": lambda: from_networkx(digraph()),
    "backend": lambda: classifier()(forest(), backend="dgl"),
    "propagate": lambda: propagate(forest(), Sum(), backend="dgl"),
}


@pytest.mark.parametrize("ask", NEEDING.values(), ids=NEEDING)
def test_what_needs_dgl_says_so(ask: Callable[[], object]) -> None:
    with pytest.raises(ModuleNotFoundError) as raised:
        ask()
    assert raised.value.name == "dgl"
    assert str(raised.value) == _missing(sys.version_info[:2])


def test_the_sentence_says_why_and_what_to_do() -> None:
    start = "DGL graphs and backend='dgl' need dgl, "
    assert _missing((3, 13)) == (
        f"{start}of which no release for Python 3.13 runs beside a current torch; take Python 3.10 "
        "or 3.11, or do without: forests and all models need no graph"
    )
    assert _missing((3, 11)) == (
        f"{start}which is not installed; install it with: pip install 'dgl>=1.1.2,<2'"
    )


def test_what_dgl_itself_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "dgl":
                raise ModuleNotFoundError("No module named 'packaging'", name="packaging")

    monkeypatch.delitem(sys.modules, "dgl")
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match="'packaging'"):
        dgl()


def test_only_a_missing_dgl_skips_a_test() -> None:
    missing, other = (ModuleNotFoundError(name=name) for name in ("dgl", "numba"))
    for error, skipped in ((missing, True), (other, False), (ValueError("dgl"), False)):
        example = doctest.Example("", "")
        case = doctest.DocTest([example], {}, "name", None, 0, "")
        wrapped = doctest.UnexpectedException(case, example, (type(error), error, None))
        assert asks_for_dgl(error) == asks_for_dgl(wrapped) == skipped


def test_trees_are_parsed_learned_and_drawn() -> None:
    model, trees = classifier(), forest()
    examples = TreeExamples(trees, [0, 1] * (len(trees) // 2))
    history = fit(model, examples, epochs=2, batch_size=4, progress=False)
    assert history["loss"][1] < history["loss"][0]
    assert model.predict(examples).shape == (len(trees),)
    assert to_networkx(trees.tree(0)).number_of_nodes() == trees.tree(0).size
    assert plot_tree(parse.listops("[MAX 2 9 ]")).texts


def test_a_neural_tree_grows_and_predicts() -> None:
    tree, samples = grow().tree, make_samples(5)
    assert tree.num_leaves > 1
    assert torch.equal(tree.predict(samples), tree.output(samples.x).argmax(-1))
