"""The child-sum Tree-LSTM of the package pytorch-tree-lstm, as its users train it.

Each tree is turned into its arrays once, before the time is taken: features are numbers of labels,
which a table of vectors turns into inputs; node and edge orders are the package's own. A step joins
a minibatch, as the package's ``batch_tree_input`` does, and classifies the states of the roots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from structnet.trees.tree import Tree

try:
    import treelstm
except ImportError:  # pip install -e '.[bench]'
    treelstm = None  # type: ignore[assignment]  # None says that it is not there


def arrays_of(tree: Tree, number: dict[str, int]) -> dict[str, Tensor]:
    """A tree as the package takes it; the root is node 0."""
    nodes = list(tree.preorder())
    place = {id(node): i for i, node in enumerate(nodes)}
    edges = [(i, place[id(child)]) for i, node in enumerate(nodes) for child in node.children]
    features = torch.tensor([number[node.label or node.token] for node in nodes])
    if not edges:
        none = torch.zeros(0, dtype=torch.long)
        orders = torch.zeros(1, dtype=torch.long), none
        return _tree(features, *orders, none.reshape(0, 2))
    node_order, edge_order = treelstm.calculate_evaluation_orders(edges, len(nodes))
    return _tree(*map(torch.as_tensor, (features, node_order, edge_order, edges)))


def _tree(features: Tensor, nodes: Tensor, edges: Tensor, adjacency: Tensor) -> dict[str, Tensor]:
    names = ("features", "node_order", "edge_order", "adjacency_list")
    return dict(zip(names, (features, nodes, edges, adjacency), strict=True))


class RootClassifier(nn.Module):
    """Vectors of labels, the package's cell, and a linear layer on the state of each root."""

    def __init__(self, num_labels: int, num_classes: int, size: int):
        super().__init__()
        self.vectors = nn.Embedding(num_labels, size)
        self.encoder = treelstm.TreeLSTM(size, size)
        self.linear = nn.Linear(size, num_classes)

    def forward(self, batch: dict) -> Tensor:
        features = self.vectors(batch["features"])
        orders = (batch[name] for name in ("node_order", "adjacency_list", "edge_order"))
        states, _ = self.encoder(features, *orders)
        roots = np.cumsum([0, *batch["tree_sizes"][:-1]])
        return self.linear(states[roots])


def step_of(
    trees: Sequence[Tree], targets: Sequence[int], batch_size: int, size: int, seed: int
) -> Callable[[], None] | None:
    """A training step of a minibatch at random; None where the package is not installed."""
    if treelstm is None:
        return None
    labels = {node.label or node.token for tree in trees for node in tree.preorder()}
    number = {label: i for i, label in enumerate(sorted(labels, key=str))}
    arrays = [arrays_of(tree, number) for tree in trees]
    torch.manual_seed(seed)
    model = RootClassifier(len(number), max(targets) + 1, size)
    optimizer = torch.optim.Adam(model.parameters())
    generator = np.random.default_rng(seed)
    true = torch.tensor(targets)

    def step() -> None:
        chosen = generator.choice(len(arrays), batch_size, replace=False)
        optimizer.zero_grad()
        logits = model(treelstm.batch_tree_input([arrays[i] for i in chosen]))
        nn.functional.cross_entropy(logits, true[chosen]).backward()
        optimizer.step()

    return step
