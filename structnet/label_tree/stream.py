"""The settings of a stream, and what it has shown so far: the rate and the scale of what comes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse

from structnet.estimators.scale import Standardizer, fractions, moments
from structnet.label_tree.choice import (
    ONE_NODE,
    SOFTMAX,
    filled_in,
    may_be_direct,
    products_of,
    rate_for,
)
from structnet.label_tree.examples import Examples
from structnet.label_tree.settings import LabelTreeSettings, Tree
from structnet.label_tree.tree import LabelTree

SETTLED = 1_000  # samples after which the scale of the columns stays as it is
FARTHER = 2.0  # largest factor of a weight where the scale of its column grows
LEARNT = 3.0  # factor of the higher rate; of 2, 3, 5 and 10 the best where labels are partly wrong
GROWN = 1.1  # factor of the number of samples by which it is found anew
# Multiplications for a sample, up to which a single node has more than ONE_NODE labels: about a
# tenth of a millisecond. A tree takes as long, since it counts what may move its labels.
STREAMED = 1_000_000


@dataclass(frozen=True)
class Columns:
    """The moments of the columns of a table so far.

    Args:
        weight: sum of the rows' weights.
        mean, deviation: mean and standard deviation of each column.

    Shapes:
        mean, deviation ``[columns]``, float64.

    Example:
        >>> one, other = (Columns.of(np.array([[x], [x + 2]])) for x in (0.0, 6.0))
        >>> both = one.joined(other)
        >>> both.mean.tolist(), (both.deviation**2).round(6).tolist()
        ([4.0], [10.0])
    """

    weight: float
    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def of(cls, rows: Any, weights: np.ndarray | None = None) -> Columns:
        """The moments of rows, dense or sparse, ``[n, columns]``; weights ``[n]``."""
        rows = rows.toarray() if issparse(rows) else rows
        total = float(len(rows) if weights is None else weights.sum())
        return cls(total, *moments(rows, weights))

    def joined(self, other: Columns) -> Columns:
        """The moments of the rows of both; no square leaves the range of float64."""
        total = self.weight + other.weight
        ours, theirs = self.weight / total, other.weight / total
        apart = other.mean - self.mean
        within = np.hypot(np.sqrt(ours) * self.deviation, np.sqrt(theirs) * other.deviation)
        between = np.sqrt(ours) * np.sqrt(theirs) * np.abs(apart)
        return Columns(total, self.mean + theirs * apart, np.hypot(within, between))

    def scale(self, like: np.ndarray) -> Standardizer:
        """The scaler to mean 0 and deviation 1; a constant column is moved to 0 but not divided.

        Args:
            like: rows, whose precision tells which deviation is only rounding.

        Shapes:
            like ``[n, columns]``.
        """
        constant = self.deviation <= 10 * np.finfo(like.dtype).eps * np.abs(self.mean)
        return Standardizer(self.mean, np.where(constant, 1.0, self.deviation))


@dataclass(frozen=True)
class Stream:
    """Statistics of the samples of a stream so far; empty after a whole training run.

    Args:
        unit: weight that counts as one: the mean weight in that run, if there was one.
        rows: number of samples.
        weight, heaviness: sums of their weights and of the squares of these.
        squares: sum of the squares of their numbers, by weight, in the form that the tree takes.
        columns: moments of the columns, if their scale is found as samples arrive.
        scaled: number of samples from which the present scale was found.

    Example:
        >>> from structnet.label_tree import Features
        >>> rows = Features.from_table(np.array([[3.0, 1.0], [1.0, 1.0]], np.float32))
        >>> stream = Stream().met(Examples(rows, np.array([0, 1])))
        >>> round(1 / stream.rate(LabelTreeSettings(vector_size=0), True, 0.0), 6)  # 1 for bias
        7.0
    """

    unit: float = 1.0
    rows: int = 0
    weight: float = 0.0
    heaviness: float = 0.0
    squares: float = 0.0
    columns: Columns | None = None
    scaled: int = 0

    @classmethod
    def after(cls, weights: np.ndarray | None) -> Stream:
        """A stream after a training run on samples of these weights, ``[n]``, divided by the mean.

        Example:
            >>> Stream.after(np.array([2.0, 6.0])).shares(np.array([2.0]), 1)
            array([0.5], dtype=float32)
        """
        if weights is None:
            return cls()
        parts, exponent = fractions(weights)
        return cls(unit=float(np.ldexp(parts.mean(), exponent)))

    def shares(self, weights: np.ndarray | None, number: int) -> np.ndarray:
        """The weights, over the mean weight of an earlier run, as float32; empty if all are 1.

        Args:
            weights: weights of samples, above 0; None for 1 each.
            number: number of samples.

        Shapes:
            weights ``[n]``.

        Raises:
            ValueError: a weight is too large for single precision.
        """
        if weights is None and self.unit == 1:
            return np.zeros(0, np.float32)
        shares = (np.ones(number) if weights is None else weights) / self.unit
        most = np.finfo(np.float32).max
        if shares.max() > most:
            raise ValueError(
                f"sample_weight has the number {shares.max():.3g}; expected at most {most:.3g}, "
                "as partial_fit does not divide weights by their mean"
            )
        return shares.astype(np.float32)

    def met(self, examples: Examples) -> Stream:
        """The statistics after more examples."""
        shares = examples.shares.astype(np.float64) if len(examples.shares) else np.ones(1)
        times = 1 if len(examples.shares) else len(examples)
        return replace(
            self,
            rows=self.rows + len(examples),
            weight=self.weight + times * float(shares.sum()),
            heaviness=self.heaviness + times * float(np.square(shares).sum()),
            squares=self.squares + examples.sum_of_squares,
        )

    def with_columns(self, rows: Any, weights: np.ndarray | None) -> Stream:
        """The statistics with moments of more rows, ``[n, columns]``, until the scale is final."""
        if self.columns is None or self.scaled >= SETTLED:
            return self
        return replace(self, columns=self.columns.joined(Columns.of(rows, weights)))

    def rescaled(self, number: int) -> Stream:
        """The statistics in the scale that was found with ``number`` more samples."""
        assert self.columns is not None
        varying = float(np.count_nonzero(self.columns.deviation))
        return replace(self, squares=self.weight * varying, scaled=self.rows + number)

    def is_due(self, number: int) -> bool:
        """Is the scale to be found anew with ``number`` more samples?"""
        due = self.rows + number >= GROWN * self.scaled
        return self.columns is not None and self.scaled < SETTLED and due

    def rate(self, settings: LabelTreeSettings, is_table: bool, size: float) -> float:
        """The rate at which a step corrects a decision by about its error, or a higher one.

        A decision between M children is reached from weights of 0 if those of each grow by about
        log M. So their norm grows with ``sqrt(M) log M``, while all gradients are at most 1: after
        n samples, the best rate of a stream is in proportion to ``sqrt(M / n) log M``. Where sparse
        rows are classified directly, it is taken as long as it is higher. The columns of a table
        are too few for each sample to have its own.

        The weights of samples are in the rate as their mean, in which each counts by itself: so
        only ratios of weights matter, and a few heavy samples make no steps that are too long.

        Args:
            settings: settings, which say what learns.
            is_table: True for dense rows.
            size: mean square of the samples to come, which may be larger than those before.
        """
        mean = self.squares / max(self.weight, np.finfo(float).tiny)
        heavy = self.heaviness / max(self.weight, np.finfo(float).tiny)
        rate = rate_for(max(mean, size), settings, is_table, streams=True)
        if not is_table and not settings.vector_size:
            assert settings.arity is not None
            number = self.weight / max(heavy, np.finfo(float).tiny)  # rows, if all weigh the same
            few = min(1.0, settings.arity / max(number, 1.0))
            rate *= max(1.0, LEARNT * math.log(settings.arity) * math.sqrt(few))
        return rate / max(heavy, np.finfo(float).tiny)

    def state(self) -> dict[str, Any]:
        """The statistics as plain values for JSON; :meth:`of` reads them."""
        state = asdict(self)
        if self.columns is not None:
            for name in ("mean", "deviation"):
                state["columns"][name] = getattr(self.columns, name).tolist()
        return state

    @classmethod
    def of(cls, state: dict[str, Any]) -> Stream:
        """The statistics that :meth:`state` gave."""
        values = dict(state)
        if values.get("columns"):
            columns = values["columns"]
            arrays = (np.array(columns[name]) for name in ("mean", "deviation"))
            values["columns"] = Columns(columns["weight"], *arrays)
        return cls(**values)


@torch.no_grad()
def rescale(tree: LabelTree, before: Standardizer, after: Standardizer) -> Callable[[], None]:
    """Changes a tree of rows on one scale so that it says the same of rows on another.

    With ``x = m + s z = m' + s' z'``, ``w . z + b = w' . z' + b'`` for ``w' = w s' / s`` and
    ``b' = b + w' . (m' - m) / s'``. Where the first rows were close by chance, so that s' is far
    larger than s, w' is at most ``2 w``: such rows say nothing of others that are far away.

    Args:
        tree: tree without vectors of features, changed in place.
        before, after: scalers to the one and to the other.

    Returns:
        A function that undoes the change.
    """
    softmax = tree.softmax
    kept = softmax.weight.clone(), softmax.bias.clone()
    (m, s), (m_new, s_new) = (each.of(softmax.in_features) for each in (before, after))
    weight = softmax.weight.double() * torch.from_numpy(np.minimum(s_new / s, FARTHER))
    moved = weight @ torch.from_numpy((m_new - m) / s_new)  # [nodes, arity]

    @torch.no_grad()
    def undo() -> None:
        softmax.weight.copy_(kept[0])
        softmax.bias.copy_(kept[1])

    try:
        softmax.weight.copy_(weight)
        if softmax.bias.requires_grad:
            softmax.bias.add_(moved.masked_fill(softmax.mask, 0))
    except BaseException:
        undo()
        raise
    return undo


def for_stream(
    examples: Examples, num_classes: int, settings: LabelTreeSettings
) -> LabelTreeSettings:
    """The settings for a stream, except the rate: those that :func:`.choose` most often prefers.

    Nothing can be tried, as the samples to come are not known: where :func:`.choose` is free to try
    several kinds, a stream takes nodes without vectors of features, and a single node with up to
    500 labels, or with more if it learns a sample in about a tenth of a millisecond.

    Args:
        examples: examples of the first portion.
        num_classes: number of labels.
        settings: settings; those that are given are kept.
    """
    base = replace(settings, epochs=1)
    if not examples.features.is_table and may_be_direct(base, num_classes, examples.features.size):
        base = replace(base, vector_size=0)
    if base.is_free and base.arity is None and num_classes <= _most_of_stream(examples, base):
        base = replace(base, arity=max(num_classes, 2))
    filled = filled_in(examples, num_classes, base)
    if filled.start == "groups":  # which takes a whole training run
        filled = replace(filled, start="huffman")
    assert filled.arity is not None
    moves = not base.is_free or filled.arity < num_classes  # nothing can in a single node
    usual: Tree = "clusters" if filled.start == "naive_bayes" else "learned"
    return replace(filled, tree=filled.tree or (usual if moves else "huffman"))


def _most_of_stream(examples: Examples, settings: LabelTreeSettings) -> int:
    """The largest number of labels in a single node that learns from a stream."""
    size, table = settings.vector_size, examples.features.is_table
    if size or (size is None and not table):
        return ONE_NODE
    products = products_of(examples) / max(len(examples), 1)
    return max(ONE_NODE, int(STREAMED / (products + SOFTMAX)))
