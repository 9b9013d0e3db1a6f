"""A softmax tree: hyperplanes send a row to a leaf with a softmax over a few classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor, nn

from structnet.estimators.scale import Standardizer
from structnet.routing.samples import Samples, inputs_of
from structnet.softmax_tree import _kernels
from structnet.softmax_tree._kernels import FIELDS, SIZE, WEIGHTS
from structnet.softmax_tree.arrays import Packed
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Leaf
from structnet.softmax_tree.points import narrow, parts
from structnet.softmax_tree.probabilities import Choices, Outside, choices_of, divided
from structnet.softmax_tree.routed import Routed

# Types that the loops for a single row read directly; others are copied.
QUICK = {np.dtype(np.float32), np.dtype(np.float64)}
COLUMNS = {np.dtype(np.int32), np.dtype(np.int64)}


class SoftmaxTree(Routed, nn.Module):
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

    def predictor(self) -> Predictor:
        """A predictor for one sample at a time, valid as long as the tree is not changed."""
        return Predictor(self)

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


class Predictor:
    """Predictions for one sample at a time, in one compiled call, for low latency.

    Args:
        tree: tree whose weights are read.
        inputs: scaler for dense rows; None leaves them as they are, like sparse ones.
    """

    def __init__(self, tree: SoftmaxTree, inputs: Standardizer | None = None):
        self._arrays, self._inputs, self._width = tree.arrays, inputs, tree.shape[0]
        self._outside = tree.outside
        arrays = self._arrays.as_arguments
        scale = [None, None] if inputs is None else inputs.of(self._width)
        self._of_full: Callable[[Any], int]
        has_parts = self._arrays.has_parts
        class_of = _kernels.class_of_parts if has_parts else _kernels.class_of_scaled
        self._of_full = partial(class_of, *arrays, *scale, self._width)
        if inputs is None and arrays[2] is None and not has_parts:
            self._of_full = partial(_kernels.class_of_full, *arrays[:2])  # faster with fewer
        if inputs is not None and not inputs.linear:
            unscaled = partial(class_of, *arrays, None, None, self._width)
            self._of_full = lambda x: unscaled(self._scaled(x))
        self._of_sparse: Callable[..., int]
        self._of_sparse = partial(_kernels.class_of_sparse, *arrays, self._width)
        if has_parts:
            self._of_sparse = lambda *row: int(self.choices(*row).likeliest()[0])

    def class_of(self, x: np.ndarray) -> int:
        """The class of a dense row.

        Args:
            x: numbers of the row, in any precision; float32 is fastest.

        Shapes:
            x ``[D]``.

        Raises:
            ValueError: x is of another type or shape.
        """
        plain = type(x) is np.ndarray and x.dtype in QUICK and x.shape == (self._width,)
        return self._of_full(x if plain else self._full(x))

    def class_of_sparse(self, columns: np.ndarray, values: np.ndarray) -> int:
        """The class of a sparse row.

        Args:
            columns: features that are not 0, ascending.
            values: values of these features.

        Shapes:
            both ``[entries]``.

        Raises:
            ValueError: they are of another type or shape, or there are no such features.
        """
        plain = type(values) is type(columns) is np.ndarray and values.dtype in QUICK
        if plain and columns.dtype in COLUMNS and values.ndim == columns.ndim == 1:
            try:
                return self._of_sparse(columns, values)
            except ValueError:  # contextlib.suppress would take as long as half a row
                pass  # _sparse below raises the error that says what is wrong
        return self._of_sparse(*self._sparse(columns, values))

    def probabilities(self, *row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The classes in the leaf of a row, dense or sparse, and their probabilities. ``[k]``."""
        found = self.choices(*row)
        return found.classes, np.exp(found.log_prob)

    def choices(self, *row: np.ndarray) -> Choices:
        """The same with the probability of all other classes."""
        return self.choices_of(self.taken(*row))

    def taken(self, *row: np.ndarray) -> tuple:
        """A row as all trees of its estimator take it: checked, and scaled if it is dense."""
        dtype = self._arrays.weights.dtype
        if len(row) == 2:
            columns, values = self._sparse(*row)
            return values.astype(dtype), columns, np.array([0, len(values)])
        return parts(self._scaled(self._full(*row)).astype(dtype)[None])

    def choices_of(self, taken: tuple) -> Choices:
        """The choices about a row that :meth:`taken` has made ready."""
        return choices_of(taken, 1, self._arrays, self._outside)

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        """A dense row as the tree takes it, in the precision of the batches."""
        return x if self._inputs is None else self._inputs(x[None])[0]

    def _full(self, x: np.ndarray) -> np.ndarray:
        """A dense row in double precision, after checks."""
        x = np.array(x) if isinstance(x, (list, tuple)) else x
        if not (_numbers(x, "buif") and x.shape == (self._width,)):
            raise ValueError(
                f"x must be an array [{self._width}], with as many numbers as rows in training. "
                f"Got {_in_words(x)}."
            )
        return x.astype(np.float64)

    def _sparse(self, columns: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The columns and values of a sparse row in 64 bits, after checks."""
        there = _numbers(columns, "ui") and _numbers(values, "buif")
        if not there or len(columns) != len(values):
            raise ValueError(
                "columns must be an array of integers, and values one of as many numbers. Got "
                f"{_in_words(columns)} and {_in_words(values)}."
            )
        ends = np.append(columns.astype(np.int64), self._width)
        if (np.diff(ends, prepend=-1) <= 0).any():
            raise ValueError(
                f"columns must ascend, from 0 to {self._width - 1} at most. Got {columns.tolist()}."
            )
        return ends[:-1], values.astype(np.float64)

    def timed(self, x: Any) -> tuple[Callable[..., int], list[tuple[np.ndarray, ...]]]:
        """The function that predicts a row, and rows in its form, for timing. ``[n, D]``."""
        if not issparse(x):
            rows = np.ascontiguousarray(x, np.float32)
            return self.class_of, [(row,) for row in rows]
        ends = zip(x.indptr, x.indptr[1:], strict=False)
        data = x.data.astype(np.float32)
        return self.class_of_sparse, [(x.indices[a:b], data[a:b]) for a, b in ends]


def _numbers(x: Any, kinds: str) -> bool:
    """True for an array of one axis whose dtype is of one of these kinds."""
    return isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in kinds


def _in_words(x: Any) -> str:
    """An argument in the words of an error message."""
    return f"{list(x.shape)} of {x.dtype}" if isinstance(x, np.ndarray) else type(x).__name__
