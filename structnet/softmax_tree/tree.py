"""A softmax tree: hyperplanes send a row to a leaf with a softmax over a few classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix, issparse
from torch import Tensor, nn

from structnet.estimators.scale import Standardizer
from structnet.routing.samples import Samples
from structnet.softmax_tree import _kernels
from structnet.softmax_tree._kernels import FIELDS, SIZE, WEIGHTS
from structnet.softmax_tree.arrays import Packed
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.points import narrow, parts
from structnet.softmax_tree.routed import Routed
from structnet.trees.end_to_end import offsets_of

# Types that the loops for a single row read directly; others are copied.
QUICK = {np.dtype(np.float32), np.dtype(np.float64)}
COLUMNS = {np.dtype(np.int32), np.dtype(np.int64)}


class Choices(NamedTuple):
    """The classes of each row's leaf; all others have the probability 0.

    Attributes:
        classes: classes of row i, ascending, at ``starts[i]:starts[i + 1]``.
        log_prob: log-probabilities of these classes.
        starts: positions at which the rows begin.

    Shapes:
        classes, log_prob ``[all]``, int64 and float64; starts ``[n + 1]``.
    """

    classes: np.ndarray
    log_prob: np.ndarray
    starts: np.ndarray

    def top(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k likeliest classes of each row and their probabilities, likeliest first.

        Shapes:
            both ``[n, k]``; where a leaf has fewer classes, -1 and 0.
        """
        n = len(self.starts) - 1
        found, prob = np.full((n, k), -1), np.zeros((n, k))
        for i in range(n):
            here = slice(self.starts[i], self.starts[i + 1])
            best = np.argsort(-self.log_prob[here], kind="stable")[:k]
            found[i, : len(best)] = self.classes[here][best]
            prob[i, : len(best)] = np.exp(self.log_prob[here][best])
        return found, prob

    def matrix(self, num_classes: int) -> csr_matrix:
        """The probabilities as a CSR matrix. ``[n, num_classes]``."""
        shape = len(self.starts) - 1, num_classes
        return csr_matrix((np.exp(self.log_prob), self.classes, self.starts), shape=shape)

    def dense(self, num_classes: int, dtype: Any = np.float64) -> np.ndarray:
        """The log-probabilities as a dense array, -inf outside the leaf. ``[n, num_classes]``."""
        found = np.full((len(self.starts) - 1, num_classes), -np.inf, dtype)
        found[np.repeat(np.arange(len(found)), np.diff(self.starts)), self.classes] = self.log_prob
        return found


class SoftmaxTree(Routed, nn.Module):
    """A decision tree with a softmax at each leaf.

    ``p(y | x) = softmax(W_j x + c_j)_y`` where j is the leaf that x reaches, for the classes S_j of
    that leaf; for other classes it is 0. At node i, x goes right if ``w_i.x + b_i >= 0``.

    Its parameters are the weights of all nodes in one array; the loss has gradients for those of
    the leaves, while the hyperplanes are found by :func:`.train`.

    Args:
        arrays: arrays of the tree.
        num_features: number of features D.
        num_classes: number of classes K.

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

    def __init__(self, arrays: Packed, num_features: int, num_classes: int):
        super().__init__()
        self.register_buffer("table", torch.from_numpy(arrays.table))
        self.register_buffer("places", torch.from_numpy(arrays.places))
        self.weights = nn.Parameter(torch.from_numpy(arrays.weights))
        self.shape, self._num_classes = (num_features,), num_classes
        self.topology = arrays.topology()

    @classmethod
    def from_draft(cls, draft: Draft, num_features: int, num_classes: int) -> SoftmaxTree:
        """The tree of a draft."""
        return cls(draft.packed, num_features, num_classes)

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
        arrays = self.arrays
        nodes = [arrays.own(v, self.shape[0]) for v in range(self.topology.num_nodes)]
        return Draft(self.topology.to_lists(), nodes)

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
        return _choices(self._taken(x), x.shape[0], self.arrays)

    def predictor(self) -> Predictor:
        """A predictor for one sample at a time, valid as long as the tree is not changed."""
        return Predictor(self)

    # As a module

    def predict_log_proba(self, samples: Any) -> Tensor:
        """Log-probabilities, -inf outside the leaf. ``[n, K]``."""
        x = samples.x if isinstance(samples, Samples) else samples
        return torch.from_numpy(self.choices(x).dense(self.num_classes)).to(self.weights.dtype)

    def predict_proba(self, samples: Any) -> Tensor:
        """Probabilities. ``[n, K]``."""
        return self.predict_log_proba(samples).exp()

    def predict(self, samples: Any) -> Tensor:
        """The likeliest classes. ``[n]``, int64."""
        return self.predict_proba(samples).argmax(-1)

    def loss(self, samples: Samples) -> Tensor:
        """The mean of losses times weights, ``[]``: negative log-likelihoods, or 2 log K.

        The latter is the loss of a sample whose class is missing from its leaf, whatever
        ``missing_loss`` was in training.
        """
        leaves, x = self.leaves_of(samples.x), samples.x
        found = self.weights.new_full((len(samples),), 2 * np.log(self.num_classes))
        for leaf in np.unique(leaves):
            rows = np.flatnonzero(leaves == leaf)
            own = torch.from_numpy(self.arrays.classes(leaf).copy())
            same = samples.targets[rows][:, None] == own
            there, place = same.any(1), same.int().argmax(1)
            log_prob = self._scores(x[rows], leaf).log_softmax(-1)
            picked = -log_prob.gather(1, place[:, None]).squeeze(1)
            found[rows] = torch.where(there, picked, found[rows])
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
        told, scale = self._arrays.told, [None, None] if inputs is None else inputs.of(self._width)
        self._of_full = partial(_kernels.class_of_scaled, *told, *scale, self._width)
        if inputs is None and told[2] is None:  # a call with fewer arguments is faster
            self._of_full = partial(_kernels.class_of_full, *told[:2])
        self._of_sparse = partial(_kernels.class_of_sparse, *told, self._width)

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
        dtype = self._arrays.weights.dtype
        if len(row) == 2:
            columns, values = self._sparse(*row)
            rows: tuple = values.astype(dtype), columns, np.array([0, len(values)])
        else:
            x = self._full(*row)
            x = x if self._inputs is None else self._inputs(x)
            rows = parts(x.astype(dtype)[None])
        found = _choices(rows, 1, self._arrays)
        return found.classes, np.exp(found.log_prob)

    def _full(self, x: np.ndarray) -> np.ndarray:
        """A dense row in double precision, after checks."""
        x = np.array(x) if isinstance(x, (list, tuple)) else x
        if not (_numbers(x, "buif") and x.shape == (self._width,)):
            raise ValueError(
                f"x must be an array [{self._width}], with as many numbers as rows in training. "
                f"Got {_told(x)}."
            )
        return x.astype(np.float64)

    def _sparse(self, columns: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The columns and values of a sparse row in 64 bits, after checks."""
        there = _numbers(columns, "ui") and _numbers(values, "buif")
        if not there or len(columns) != len(values):
            raise ValueError(
                "columns must be an array of integers, and values one of as many numbers. Got "
                f"{_told(columns)} and {_told(values)}."
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


def _choices(rows: tuple, number: int, arrays: Packed) -> Choices:
    """The classes in the leaf of each row in kernel form."""
    leaves = arrays.leaves_of(rows, np.arange(number))
    starts = offsets_of(arrays.sizes()[leaves])
    classes, log_prob = np.empty(starts[-1], np.int64), np.empty(starts[-1])
    _kernels.log_probs_of(*rows, leaves, starts, *arrays.told, classes, log_prob)
    return Choices(classes, log_prob, starts)


def _numbers(x: Any, kinds: str) -> bool:
    """True for an array of one axis whose dtype is of one of these kinds."""
    return isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in kinds


def _told(x: Any) -> str:
    """An argument in the words of an error message."""
    return f"{list(x.shape)} of {x.dtype}" if isinstance(x, np.ndarray) else type(x).__name__
