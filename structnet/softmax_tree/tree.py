"""A softmax tree: hyperplanes send a row to a leaf with a softmax over a few classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor, nn

from structnet.checks import check_one_of
from structnet.estimators.scale import Standardizer
from structnet.routing.formula import Formula
from structnet.routing.protocol import Facts, Visit
from structnet.routing.samples import Samples, inputs_of
from structnet.softmax_tree._kernels import FIELDS, SIZE, WEIGHTS
from structnet.softmax_tree.arrays import Packed
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Hyperplane, Leaf
from structnet.softmax_tree.points import narrow, parts
from structnet.softmax_tree.predictor import Predictor
from structnet.softmax_tree.probabilities import Choices, Outside, choices_of, divided


class SoftmaxTree(nn.Module):
    """A decision tree with a softmax at each leaf.

    ``p(y | x) = (1 - r_j) softmax(W_j x + c_j)_y`` where j is the leaf that x reaches, for the
    classes S_j of that leaf; the others share the rest, r_j, by their frequency. In the papers, and
    during training, it is 0. At node i, x goes right if ``w_i.x + b_i >= 0``.

    Its parameters are the weights of all nodes in one array; the loss has gradients for those of
    the leaves, while the hyperplanes are found by :func:`.train`.

    Args:
        arrays: arrays of the tree.
        num_features: number of features D.
        num_classes: number of classes K.
        outside: probabilities of the classes that its leaves lack; 0 by default.

    Shapes:
        samples ``[n, D]``: a tensor, an array, or CSR with ascending columns.

    Reference:
        Zharmagambetov, Gabidolla, Carreira-Perpinan, "Softmax Tree", EMNLP 2021.

    Example:
        >>> from structnet.softmax_tree import SoftmaxTreeSettings, train
        >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 5)
        >>> tree = train(x, [0, 1, 2, 3] * 5, SoftmaxTreeSettings(depth=1, k=2)).tree
        >>> tree.predict(x[:4]).tolist(), tree.topology.num_nodes
        ([0, 1, 2, 3], 3)
    """

    table: Tensor
    places: Tensor
    rest: Tensor
    shares: Tensor
    shape: tuple[int, ...]

    def __init__(
        self,
        arrays: Packed,
        num_features: int,
        num_classes: int,
        outside: Outside | None = None,
    ):
        super().__init__()
        numbers = len(arrays.nodes), num_classes
        none = Outside(*(torch.zeros(number).numpy() for number in numbers))
        for name, values in zip(Outside._fields, outside or none, strict=True):
            self.register_buffer(name, torch.from_numpy(np.array(values, np.float32)))
        self.register_buffer("table", torch.from_numpy(arrays.table))
        self.register_buffer("places", torch.from_numpy(arrays.places))
        self.weights = nn.Parameter(torch.from_numpy(arrays.weights))
        self.shape, self._num_classes = (num_features,), num_classes
        self.topology = arrays.topology()

    @classmethod
    def from_draft(cls, draft: Draft, num_features: int, num_classes: int) -> SoftmaxTree:
        """The tree of a draft."""
        outside = None
        if draft.shares is not None:
            rest = [node.rest if isinstance(node, Leaf) else 0.0 for node in draft.nodes]
            outside = Outside(np.array(rest), draft.shares)
        return cls(draft.packed, num_features, num_classes, outside)

    @property
    def num_classes(self) -> int:
        """The number of classes K."""
        return self._num_classes

    @property
    def arrays(self) -> Packed:
        """The arrays of the tree, as numpy arrays."""
        parts = (self.table, self.weights, self.places)
        return Packed(*(part.detach().cpu().numpy() for part in parts))

    def draft(self) -> Draft:
        """The tree as a draft, node by node, for further training."""
        arrays, (rest, shares) = self.arrays, self.outside
        nodes = [arrays.own(v, self.shape[0]) for v in range(self.topology.num_nodes)]
        nodes = [
            replace(node, rest=float(rest[v])) if isinstance(node, Leaf) else node
            for v, node in enumerate(nodes)
        ]
        known = shares.astype(np.float32) if shares.any() else None
        return Draft(self.topology.to_lists(), nodes, known)

    @property
    def outside(self) -> Outside:
        """The probabilities of the classes that the leaves lack."""
        both = (part.detach().cpu().numpy().astype(np.float64) for part in (self.rest, self.shares))
        return Outside(*both)

    def others(self, leaf: int) -> np.ndarray:
        """The log-probabilities of the classes that a leaf lacks, -inf for its own. ``[K]``."""
        rest, shares = self.outside
        shares[self.arrays.classes(leaf)] = 0
        return divided(rest[leaf], shares.sum(), shares)

    # Prediction

    def leaves_of(self, x: Any) -> np.ndarray:
        """The leaf of each sample. ``[n, D] -> [n]``, int64."""
        return self.arrays.leaves_of(self._taken(x), np.arange(x.shape[0]))

    def classes_of(self, x: Any) -> np.ndarray:
        """The likeliest class of each sample. ``[n, D] -> [n]``, int64."""
        return self.arrays.classes_of(self._taken(x), x.shape[0])

    def choices(self, x: Any) -> Choices:
        """The classes in the leaf of each sample, and their log-probabilities.

        Shapes:
            x ``[n, D]``.
        """
        return choices_of(self._taken(x), x.shape[0], self.arrays, self.outside)

    def predictor(self, inputs: Standardizer | None = None) -> Predictor:
        """A predictor for one sample at a time, valid as long as the tree is not changed.

        Args:
            inputs: scaler for dense rows; None for rows as the tree takes them.
        """
        return Predictor(self.arrays, self.outside, self.shape[0], inputs)

    # As a module

    def predict_log_proba(self, samples: Any) -> Tensor:
        """Log-probabilities. ``[n, K]``."""
        x = inputs_of(samples)
        return torch.from_numpy(self.choices(x).dense(self.num_classes)).to(self.weights.dtype)

    def predict_proba(self, samples: Any) -> Tensor:
        """Probabilities. ``[n, K]``."""
        return self.predict_log_proba(samples).exp()

    def predict(self, samples: Any) -> Tensor:
        """The likeliest classes. ``[n]``, int64."""
        return torch.from_numpy(self.classes_of(inputs_of(samples)))

    def loss(self, samples: Samples) -> Tensor:
        """The mean of losses times weights, ``[]``: negative log-likelihoods, or 2 log K.

        The latter is the loss of a sample whose class is missing from its leaf, and has no part in
        its rest, whatever ``missing_loss`` was in training.
        """
        leaves, x = self.leaves_of(samples.x), samples.x
        found = self.weights.new_empty((len(samples),))
        for leaf in np.unique(leaves):
            rows = np.flatnonzero(leaves == leaf)
            own = torch.from_numpy(self.arrays.classes(leaf).copy())
            same = samples.targets[rows][:, None] == own
            there = same.any(1)
            log_prob = self._scores(x[rows], leaf).log_softmax(-1)
            # Of a class of several parts, all count together.
            right = log_prob.masked_fill(~same & there[:, None], -torch.inf)
            picked = -right.logsumexp(-1) - (-self.rest[leaf]).log1p()
            others = -self.others(leaf)
            others[np.isinf(others)] = 2 * np.log(self.num_classes)
            lacked = torch.from_numpy(others).to(picked)[samples.targets[rows]]
            found[rows] = torch.where(there, picked, lacked)
        return samples.mean(found)

    def _scores(self, x: Any, leaf: int) -> Tensor:
        """The scores of a leaf's classes, with gradients. ``[n, k]``."""
        arrays, dtype = self.arrays, self.weights.dtype
        node, extent = arrays.nodes[leaf], arrays.extent(leaf, self.shape[0])
        k, start = int(node[SIZE]), int(node[WEIGHTS])
        bias, weights = self.weights[start : start + k], self.weights[extent]
        own = arrays.leaf(leaf, self.shape[0])
        if own.columns is not None:
            full = weights.new_zeros(own.weight.shape)
            full[tuple(map(torch.from_numpy, np.nonzero(own.weight)))] = weights
            x, weights = x[:, own.columns], full
        x = torch.as_tensor(x.toarray() if issparse(x) else x, dtype=dtype)
        return x @ weights.reshape(-1, k) + bias

    def _taken(self, x: Any) -> tuple:
        """Samples as the kernels take them, in the tree's precision."""
        return parts(self._rows(x))

    def _rows(self, x: Any) -> Any:
        """Samples as an array or a CSR matrix, in the tree's precision. ``[n, D] -> [n, D]``."""
        if tuple(x.shape[1:]) != self.shape or len(x.shape) != 2:
            raise ValueError(f"x must be [n, {self.shape[0]}]. Got {list(x.shape)}.")
        dtype = np.float64 if self.weights.dtype == torch.float64 else np.float32
        if issparse(x):
            return narrow(x.tocsr().astype(dtype, copy=False))
        x = x.detach().cpu().numpy() if isinstance(x, Tensor) else x
        return np.ascontiguousarray(x, dtype)

    # As a model tree: the interface of structnet.routing.protocol; all paths are hard

    def visits(self, x: Any, path: str = "multi") -> Iterator[Visit]:
        """The visits of samples ``[n, D]`` to each node, see :meth:`.RoutedTree.visits`."""
        check_one_of("path", path, ("multi", "greedy"))
        leaves = self.leaves_of(x)
        arriving = np.zeros((self.topology.num_nodes, len(leaves)))
        arriving[leaves, np.arange(len(leaves))] = 1
        arriving = self.topology.sums_below(arriving)
        for node in range(self.topology.num_nodes):
            here, children = arriving[node], self.topology.children_of(node)
            if path == "multi" or here.any():
                branch = arriving[list(children)].T if children else None
                yield Visit(node, here, branch)

    def predicted(self, x: Any) -> np.ndarray:
        """Log-probabilities. ``[n, D] -> [n, K]``."""
        return self.choices(x).dense(self.num_classes)

    def predicted_at(self, x: Any, leaf: int) -> np.ndarray:
        """The log-probabilities of one leaf for all samples. ``[n, D] -> [n, K]``."""
        if self.arrays.has_parts:
            return self.predicted(x)  # the only leaf
        own = self.arrays.leaf(leaf, self.shape[0])
        found = np.tile(self.others(leaf), (x.shape[0], 1))
        found[:, own.classes] = own.log_probs(self._rows(x)) + np.log1p(-self.outside.rest[leaf])
        return found

    def facts(self, node: int) -> Facts:
        """What a node consists of."""
        used, all_, scores = self.used(node), self.most(node), int(self.arrays.sizes()[node])
        weights = f"{used:,} of {all_:,} weights"
        if self.topology.inner[node]:
            return Facts("hyperplane", weights, used + 1)
        classes = len(self.classes_at(node))
        of = f" of {scores:,} parts" * (classes < scores)
        words = f"{classes:,} class{'es' * (classes != 1)}{of}, {weights}"
        return Facts("softmax", words, used + scores)

    def classes_at(self, leaf: int) -> list[int]:
        """The classes S_j of a leaf, ascending."""
        return np.unique(self.arrays.classes(leaf)).tolist()

    def used(self, node: int) -> int:
        """The number of a node's weights that are not 0, without biases."""
        arrays = self.arrays
        return int(np.count_nonzero(arrays.weights[arrays.extent(node, self.shape[0])]))

    def most(self, node: int) -> int:
        """The number of weights of a node if none were 0, without biases."""
        return self.shape[0] * max(1, int(self.arrays.sizes()[node]))

    def flops(self, node: int) -> int:
        """The FLOPs of one sample at a node: 2 for each weight that is not 0."""
        return 2 * self.used(node)

    def branch_names(self, node: int) -> tuple[str, ...]:
        """The names of a hyperplane's two sides; none for a leaf."""
        return ("left", "right") if self.topology.inner[node] else ()

    def plane(self, node: int, branch: int = 0, other: int = 1) -> tuple[np.ndarray, float] | None:
        """The weights ``[D]`` and the bias of a hyperplane, above 0 on the side of a branch.

        None for a leaf. By default the branch is the left one, which turns the signs of
        :class:`.nodes.Hyperplane`.
        """
        own = self.arrays.own(node, self.shape[0])
        if not isinstance(own, Hyperplane):
            return None
        sign = -1 if branch < other else 1
        return sign * own.full(self.shape[0]), sign * own.bias

    def class_plane(self, label: int) -> tuple[np.ndarray, float] | None:
        """The weights ``[D]`` and the bias of the log-odds of a class against the mean of all
        others; None unless the tree is a single leaf of all classes, of one part each."""
        own = self.arrays.own(0, self.shape[0])
        if isinstance(own, Hyperplane) or len(own.classes) != self.num_classes:
            return None
        weight = np.zeros(self.shape[0])
        weight[slice(None) if own.columns is None else own.columns] = _beside(own.weight, label)
        return weight, float(_beside(own.bias, label))

    def formula(self, node: int) -> Formula | None:
        """The scores of a leaf's own classes, or of their parts, of which each names its class;
        None for an inner node, which has a plane."""
        if self.topology.inner[node]:
            return None
        own = self.arrays.leaf(node, self.shape[0])
        straight = np.zeros((self.shape[0], len(own.classes)))
        straight[slice(None) if own.columns is None else own.columns] = own.weight
        return Formula.linear(own.bias.astype(np.float64), straight, own.classes)

    # On disk

    def config(self) -> dict[str, Any]:
        """Everything except the weights, as JSON; :meth:`from_config` builds it again."""
        sizes = [len(part) for part in self.arrays]
        return {
            "sizes": sizes,
            "children": self.topology.to_lists(),
            "num_features": self.shape[0],
            "num_classes": self.num_classes,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> SoftmaxTree:
        """The same tree, with weights that are still to be loaded."""
        number = len(config["children"])
        table, weights, places = config["sizes"]
        nodes = np.full((number, FIELDS), -1, np.int64)
        nodes[:, 4] = number * FIELDS
        for v, below in enumerate(config["children"]):
            nodes[v, : len(below)] = below
        # Made by torch, so that `bounded` refuses sizes beyond those of the file's weights.
        rest = torch.zeros(table - nodes.size, dtype=torch.int64).numpy()
        empty = (
            torch.zeros(size, dtype=dtype).numpy()
            for size, dtype in ((weights, torch.float32), (places, torch.int32))
        )
        arrays = Packed(np.append(nodes.ravel(), rest), *empty)
        return cls(arrays, config["num_features"], config["num_classes"])


def _beside(scores: np.ndarray, k: int) -> np.ndarray:
    """A class's scores above the mean of all others'. ``[..., K] -> [...]``."""
    own = scores[..., k].astype(np.float64)
    return (own * scores.shape[-1] - scores.sum(-1)) / (scores.shape[-1] - 1)
