"""The model: routers at inner nodes, transformers on edges, solvers at leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from structnet.checks import check_one_of
from structnet.neural_tree.joined import Joined
from structnet.neural_tree.likelihood import Categorical, Likelihood
from structnet.neural_tree.node import NOTHING, Node, alike, leaf_paths, module_list, run_nodes
from structnet.neural_tree.primitives import Primitives, Shape, shape_after
from structnet.neural_tree.routed import Choose, Routed, choice
from structnet.routing.hard_path import follow
from structnet.routing.samples import Samples, inputs_of
from structnet.routing.topology import Topology

if TYPE_CHECKING:
    from dgl import DGLGraph

PATHS = ("multi", "greedy", "stochastic", "most_likely", "least_likely")


class Mixture(NamedTuple):
    """The log-probabilities and solver outputs of all leaves, in ascending order, for a batch.

    Shapes:
        leaf_log_prob ``[n, leaves]``; outputs ``[n, leaves, outputs]``.
    """

    leaf_log_prob: Tensor
    outputs: Tensor


class NeuralTree(Routed):
    """A binary tree that routes each sample to solvers, and transforms it on the way.

    ``p(y|x) = sum_l pi_l(x) p_l(y|x)``, where ``pi_l`` is the product of the router outputs along
    the path to leaf l (Eq. 1 and 2), computed in log space.

    A new tree is a root with a solver and, unless the primitives have none or start plain, a
    transformer. :meth:`split` and :meth:`deepen` extend it. Nodes are numbered as they are made.

    Args:
        primitives: functions that make the modules.
        shape: shape of one sample.
        likelihood: rule by which the leaves predict together, and the loss.

    Raises:
        TypeError: the primitives are not :class:`Primitives`, or the likelihood is not one.
        ValueError: a function of the primitives makes a module that does not fit the samples.

    Reference:
        Tanno et al., "Adaptive Neural Trees", ICML 2019.

    Example:
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=3, width=8), shape=(4,))
        >>> left, right = tree.split(0)
        >>> tree.output(torch.zeros(5, 4)).shape  # log-probabilities of 3 classes
        torch.Size([5, 3])
    """

    joined: Mapping[int, Joined] = NOTHING  # while it is trained, see :class:`.Joined`

    def __init__(
        self, primitives: Primitives, shape: Sequence[int], likelihood: Likelihood | None = None
    ):
        super().__init__()
        if not isinstance(primitives, Primitives):
            raise TypeError(
                f"the primitives must be Primitives, as made by presets.mlp. Got {primitives!r}."
            )
        if not isinstance(likelihood, Likelihood | None):
            raise TypeError(
                f"the likelihood must be a Likelihood, such as SquaredError(). Got {likelihood!r}."
            )
        self.primitives = primitives
        self.likelihood = Categorical() if likelihood is None else likelihood
        self.shape = tuple(map(int, shape))
        self.nodes = module_list([Node(self.shape)])
        self.topology = Topology([()])
        root = self.nodes[0]
        if primitives.transformer is not None and not primitives.plain_root:
            transformer, root.shape = primitives.make_transformer(self.shape, 0)
            root.transformers.append(transformer)
        root.solver, self.num_outputs = primitives.make_solver(root.shape)

    # Structure

    @property
    def num_leaves(self) -> int:
        """Number of leaves."""
        return len(self.topology.leaves)

    @property
    def graph(self) -> DGLGraph:
        """The DGL graph of the schema.

        The type of a router is its number among the inner nodes, the token of a leaf its number
        among the leaves.
        """
        return self.topology.graph()

    def num_transformers(self, node: int) -> int:
        """The number of transformers on the way to a node, including the node's own."""
        nodes = list(self.nodes)  # whose places are found ten times as fast as those of modules
        return sum(len(nodes[v].transformers) for v in self.topology.path(node))

    def new_split(
        self, leaf: int, shape: Shape | None = None
    ) -> tuple[nn.Module, nn.Module, nn.Module]:
        """A new router and two new solvers to split a leaf with.

        Args:
            shape: shape of the samples at the router; by default, as they arrive at the leaf.

        Raises:
            ValueError: the node is not a leaf, or the tree's primitives have no routers.
        """
        shape = self._leaf(leaf).shape if shape is None else shape
        if self.primitives.router is None:
            raise ValueError(f"this tree has no routers to split node {leaf} with")
        solvers = (self.primitives.make_solver(shape)[0] for _ in range(2))
        router, left, right = map(self._placed, (self.primitives.make_router(shape), *solvers))
        return router, left, right

    def new_deepening(self, leaf: int) -> tuple[nn.Module, nn.Module]:
        """A new transformer and a new solver to deepen a leaf with.

        Raises:
            ValueError: the node is not a leaf, or the tree's primitives have no transformers.
        """
        shape = self._leaf(leaf).shape
        if self.primitives.transformer is None:
            raise ValueError(f"this tree has no transformers to deepen node {leaf} with")
        transformer, shape = self.primitives.make_transformer(shape, self.num_transformers(leaf))
        solver, _ = self.primitives.make_solver(shape)
        return self._placed(transformer), self._placed(solver)

    def split(self, leaf: int, modules: Sequence[nn.Module] | None = None) -> tuple[int, int]:
        """Turns a leaf into an inner node with two leaves, without transformers on the new edges.

        Args:
            modules: router and two solvers; new ones by default.

        Returns:
            The nodes of the new leaves, left and right.

        Raises:
            ValueError: the node is not a leaf, or the tree's primitives have no such modules.
        """
        router, *solvers = self.new_split(leaf) if modules is None else modules
        node = self._leaf(leaf)
        node.router, node.solver = router, None
        first = len(self.nodes)
        for solver in solvers:
            child = Node(node.shape).train(self.training)
            child.solver = solver
            self.nodes.append(child)
        below = first, first + 1
        children = [*self.topology.to_lists(), (), ()]
        children[leaf] = below
        self.topology = Topology(children)
        return below

    def deepen(self, leaf: int, modules: Sequence[nn.Module] | None = None) -> None:
        """Adds a transformer to the edge above a leaf, and replaces the leaf's solver.

        Args:
            modules: transformer and solver; new ones by default.

        Raises:
            ValueError: the node is not a leaf, or the tree's primitives have no such modules.
        """
        transformer, solver = self.new_deepening(leaf) if modules is None else modules
        node = self._leaf(leaf)
        node.shape = shape_after(transformer, node.shape)
        node.transformers.append(transformer)
        node.solver = solver

    def _leaf(self, node: int) -> Node:
        if not 0 <= node < len(self.nodes) or self.nodes[node].solver is None:
            leaves = self.topology.leaves.tolist()
            raise ValueError(f"node {node} is not a leaf; the leaves are {leaves}")
        return self.nodes[node]

    def _placed(self, module: nn.Module) -> nn.Module:
        like = next(self.parameters(), None)
        module.train(self.training)
        return module if like is None else module.to(like.device, like.dtype)

    # Inference

    def forward(self, x: Tensor, keep: dict[int, Tensor] | None = None) -> Mixture:
        """The probabilities and outputs of all leaves; each module runs once, on all samples.

        Args:
            keep: dictionary whose keys are nodes; its values are set to the samples as they arrive
                at the routers or solvers of these nodes.

        Shapes:
            x ``[n, *shape]``.

        Raises:
            ValueError: the samples have another shape.
        """
        logits, outputs = run_nodes(self.topology, self.nodes, self.features(x), keep, self.joined)
        root, training = outputs.new_zeros(len(x)), bool(self.joined)
        return Mixture(leaf_paths(self.topology, logits, root, training), outputs)

    def features(self, x: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Each node, in order, with all samples as they arrive at its router or solver.

        Shapes:
            x ``[n, *shape]``; each node's features ``[n, *shape after its transformers]``.

        Raises:
            ValueError: the samples have another shape.
        """
        self._check(x)
        waiting = {0: x}
        for v, node in enumerate(self.nodes):
            features = waiting.pop(v)
            features = node.transformers(features) if len(node.transformers) else features
            waiting |= dict.fromkeys(self.topology.children_of(v), features)
            yield v, features

    def leaf_log_prob(self, x: Tensor) -> Tensor:
        """The log-probability of each leaf. ``[n, *shape] -> [n, leaves]``."""
        return self(x).leaf_log_prob

    def output(
        self, x: Tensor, path: str = "multi", generator: torch.Generator | None = None
    ) -> Tensor:
        """The predictions of the tree: log-probabilities of classes, or means.

        Args:
            path: ``"multi"`` mixes all leaves. The others take one leaf for each sample:
                ``"greedy"`` follows each router's likelier side (left at exactly 0.5) and runs a
                module only on the samples that reach it; ``"stochastic"`` does the same with sides
                drawn at random; ``"most_likely"`` and ``"least_likely"`` compare the probabilities
                of all leaves.
            generator: generator for the stochastic path; by default torch's global one.

        Shapes:
            ``[n, *shape] -> [n, classes or columns]``.

        Raises:
            ValueError: the path is unknown, or the samples have another shape.
        """
        check_one_of("path", path, PATHS)
        if path == "multi":
            return self.likelihood.mixture(*self(x))
        return self.likelihood.single(self._one_leaf(x, path, generator)[1])

    def apply_path(
        self, x: Tensor, path: str = "greedy", generator: torch.Generator | None = None
    ) -> Tensor:
        """The node of the leaf that each sample reaches. ``[n, *shape] -> [n]``, int64.

        Args:
            path, generator: see :meth:`output`; any path except ``"multi"``.
        """
        return self._one_leaf(x, path, generator)[0]

    def _one_leaf(
        self, x: Tensor, path: str, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        check_one_of("path", path, PATHS[1:])
        if path in ("greedy", "stochastic"):
            return self.follow(x, choice(path, generator))
        log_prob, outputs = self(x)
        place = log_prob.argmax(1) if path == "most_likely" else log_prob.argmin(1)
        leaves = torch.from_numpy(self.topology.leaves).to(place.device)
        return leaves[place], outputs[torch.arange(len(x), device=place.device), place]

    def follow(self, x: Tensor, goes_left: Choose) -> tuple[Tensor, Tensor]:
        """Sends each sample down one path; a module runs only on samples that reach it.

        Args:
            x: samples, ``[n, *shape]``.
            goes_left: function of router logits ``[m]`` that returns a bool for each, ``[m]``.

        Returns:
            The leaves' nodes ``[n]`` and their solvers' outputs ``[n, outputs]``.
        """
        self._check(x)

        def step(v: int, rows: Tensor, features: Tensor) -> tuple[Tensor, Tensor | None]:
            node = self.nodes[v]
            features = node.transformers(features)
            if node.router is None:
                return node.end(features), None
            return features, (~goes_left(node.logit(features))).long()

        leaves, outputs = follow(self.topology, x, step)
        return leaves, x.new_zeros((0, self.num_outputs)) if outputs is None else outputs

    def _check(self, x: Tensor) -> None:
        if x.dim() == 0 or tuple(x.shape[1:]) != self.shape:
            wanted = ", ".join(map(str, ("n", *self.shape)))
            raise ValueError(
                f"x must be [{wanted}], samples of the tree's shape. Got {list(x.shape)}."
            )

    # Training

    def alike(self) -> list[list[nn.Module]]:
        """Linear maps that get the same samples, in lists."""
        return alike(self.topology, self.nodes)

    def loss(self, batch: Samples) -> Tensor:
        """The mean of the losses of a batch, times the samples' weights, ``[]``."""
        return batch.mean(self.losses(batch))

    def losses(self, batch: Samples) -> Tensor:
        """The loss of each sample of a batch, ``[n]``, as defined by the likelihood."""
        log_prob, outputs = self(batch.x)
        total = self.likelihood.join(self.likelihood.term(log_prob, outputs, batch.targets))
        if self.temperatures != (1, 1):  # the total is that of the sample's own class alone
            mixed = self.likelihood.mixture(log_prob, outputs)
            total = mixed.gather(1, batch.targets.unsqueeze(1)).squeeze(1)
        return self.likelihood.losses(total, batch.targets)

    def predict(self, batch: Samples | Tensor) -> Tensor:
        """The likeliest classes ``[n]``, or the means ``[n, columns]``, of samples or inputs."""
        output = self.output(inputs_of(batch))
        return output if self.num_classes is None else output.argmax(1)

    def predict_log_proba(self, batch: Samples | Tensor) -> Tensor:
        """Log-probabilities of the classes, ``[n, classes]``; TypeError if there are none."""
        if not isinstance(self.likelihood, Categorical):
            raise TypeError(f"a tree of {type(self.likelihood).__name__} predicts no classes")
        return self.output(inputs_of(batch))

    def predict_proba(self, batch: Samples | Tensor) -> Tensor:
        """Probabilities of the classes, ``[n, classes]``; TypeError if there are none."""
        return self.predict_log_proba(batch).exp()

    # Building again

    def config(self) -> dict[str, Any]:
        """The structure as JSON, from which :meth:`from_config` rebuilds the tree."""
        return {
            "shape": list(self.shape),
            "temperatures": list(self.temperatures),
            "children": [list(each) for each in self.topology.to_lists()],
            "transformers": [len(node.transformers) for node in self.nodes],
        }

    @classmethod
    def from_config(
        cls,
        config: dict[str, Any],
        primitives: Primitives,
        likelihood: Likelihood | None = None,
        most: int | None = None,
    ) -> NeuralTree:
        """A tree of the same structure, with new weights.

        Args:
            primitives, likelihood: those with which the tree was made.
            most: see :meth:`grow_to`.
        """
        tree = cls(primitives, config["shape"], likelihood)
        tree.temper(*config["temperatures"])
        root = tree.nodes[0]
        if len(root.transformers) > config["transformers"][0]:
            root.transformers, root.shape = nn.Sequential(), tree.shape
            root.solver, _ = primitives.make_solver(root.shape)
        tree.grow_to(config, most)
        return tree

    def grow_to(self, config: dict[str, Any], most: int | None = None) -> None:
        """Splits and deepens until the structure is that of the configuration.

        Args:
            config: configuration from :meth:`config`, of a tree that grew from one like this.
            most: largest number of transformers allowed; None for any. It limits the work that a
                damaged or malicious file of a few bytes can cause.

        Raises:
            ValueError: the configuration has more transformers.
        """
        if most is not None and sum(config["transformers"]) > most:
            raise ValueError(
                f"a tree of this file may have {most} transformers at most, but its structure has "
                f"{sum(config['transformers'])}"
            )
        # Nodes are numbered in the order of splits; the order of leaves does not matter.
        last = len(config["children"])
        for v in sorted(range(last), key=lambda v: config["children"][v] or [last]):
            while len(self.nodes[v].transformers) < config["transformers"][v]:
                self.deepen(v)
            if config["children"][v]:
                self.split(v)
