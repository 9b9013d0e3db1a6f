"""Moves labels to the children that their examples prefer: Algorithms 2 and 3 of the paper.

Measures how good the decision of each node is, too: its objective, balancedness and purity.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from structnet.checks import check_integer, check_number, check_one_of
from structnet.label_tree import settings
from structnet.label_tree._kernels import (
    ANCHORED,
    EQ10,
    EXACT,
    INDEX,
    MARGIN,
    PAPER,
    UNIFORM,
    decisions,
    kept_rows,
    rebuilt,
)
from structnet.label_tree.codes import LabelCodes, least_nodes
from structnet.label_tree.shapes import check_depth

GAINS = dict(zip(settings.GAINS, (MARGIN, EXACT, PAPER, EQ10), strict=True))
PRIORS = dict(zip(settings.PRIORS, (ANCHORED, UNIFORM, INDEX), strict=True))
WAYS = 100  # largest number of assignment problems that are solved at a node
DEEP = 40  # depth above which a tree is useless


@dataclass(frozen=True)
class Statistics:
    """Predictions for labels' examples at the nodes of their codes, one row per (label, depth).

    Attributes:
        sums: sums of the predicted probabilities of the children.
        seen: number of examples, or the sum of their weights.

    Shapes:
        sums ``[rows, arity]``, float32; seen ``[rows]``, float64.
    """

    sums: np.ndarray
    seen: np.ndarray

    @classmethod
    def of(cls, codes: LabelCodes) -> Statistics:
        """The statistics of unused codes, all 0; empty for a single node, where nothing moves."""
        rows = len(codes.nodes) if codes.num_nodes > 1 else 0
        return cls(np.zeros((rows, codes.arity), np.float32), np.zeros(rows))


@dataclass(frozen=True)
class Reassigned:
    """A tree after its labels have moved.

    Attributes:
        codes: the new codes.
        statistics: rows of labels that stay at their nodes; those of others are 0.
        is_new: True for each inner node that has another place than before, for which its
            parameters mean nothing.
        moved: share of the labels whose code has changed.
        source: place, ``node * arity + slot``, whose parameters each slot has now: that of the
            label's leaf before, where a label has come, -1 in other slots of new nodes, and else
            the slot itself.

    Shapes:
        is_new ``[nodes]``; source ``[nodes, arity]``.
    """

    codes: LabelCodes
    statistics: Statistics
    is_new: np.ndarray
    moved: float
    source: np.ndarray

    def __repr__(self) -> str:
        new, size = f"{int(self.is_new.sum())} of {len(self.is_new)}", self.codes.num_labels
        return f"Reassigned({self.moved:.1%} of {size:,} labels moved, {new} nodes are new)"


def reassign(
    codes: LabelCodes,
    statistics: Statistics,
    counts: np.ndarray,
    *,
    gain: str = "margin",
    prior: str = "anchored",
    prior_weight: float = 1.0,
    method: str = "greedy",
    max_depth: int | None = None,
) -> Reassigned:
    """Assigns each label, from the root down, to the child that its examples prefer.

    The number of labels and empty slots of a child is always ``1 mod (arity - 1)``, so that the
    tree keeps the smallest number of nodes, ``ceil((K - 1) / (M - 1))`` for K labels and arity M.

    Args:
        codes: tree so far.
        statistics: statistics for the rows of its codes.
        counts: frequency of each label.
        gain: value of moving label i to child j, of its share ``q_i`` of the node's examples, the
            child's mean probability ``p_{j|i}`` over them, and ``p_j`` over all examples: "margin",
            ``q_i (p_{j|i} - p_j)``; "paper", Eq. (12), ``q_i (1 - q_i) sign(p_{j|i} - p_j)
            p_{j|i}``; "eq10", Eq. (10), ``2/M q_i (1 - q_i) sign(p_{j|i} - p_j)``, which ignores
            the effect of a label on the others through ``p_j``; "exact", the gradient of the
            objective, which includes it.
        prior: observations that are added to the statistics. "anchored" ones are certain of the
            present slot of a label, or of the one with the smallest share if the label is new at
            the node; "uniform" ones of none; "index" ones, those of the authors' program, give half
            to the slot ``label mod arity``.
        prior_weight: number of these observations: the more, the fewer labels move.
        method: "greedy" takes pairs in order of falling score; "optimal" takes the largest sum
            where a node is small enough to try all assignments.
        max_depth: largest number of decisions on a path.

    Shapes:
        counts ``[labels]``.

    Raises:
        ValueError: the tree has more nodes than necessary, as a user's own tree may have; there are
            more labels than fit into the depth; a name is unknown, or a number out of its range.

    Warns:
        UserWarning: without anchored observations, the tree has become too deep.

    Reference:
        Jernite et al., ICML 2017, Algorithms 2 and 3.
    """
    check_one_of("gain", gain, GAINS, "reassign")
    check_one_of("prior", prior, PRIORS, "reassign")
    check_one_of("method", method, settings.METHODS, "reassign")
    check_integer("max_depth", max_depth, 1, optional=True, owner="reassign")
    check_number("prior_weight", prior_weight, 0, open=True, owner="reassign")
    if max_depth is not None:
        check_depth(codes.num_labels, codes.arity, max_depth)
    least = least_nodes(codes.num_labels, codes.arity)
    if codes.num_nodes != least:
        raise ValueError(
            f"the tree has {codes.num_nodes} nodes; labels move in one of {least}, the fewest for "
            f"{codes.num_labels} labels at arity {codes.arity}"
        )
    if codes.num_nodes <= 1:
        is_new, own = np.zeros(codes.num_nodes, bool), np.arange(codes.children.size)
        return Reassigned(codes, statistics, is_new, 0.0, own.reshape(codes.children.shape))
    children, is_new = rebuilt(
        codes.children,
        codes.offsets,
        codes.nodes,
        codes.slots,
        statistics.sums,
        statistics.seen,
        np.asarray(counts, np.float64),
        GAINS[gain],
        PRIORS[prior],
        float(prior_weight),
        max_depth or 0,
        WAYS if method == "optimal" else None,
    )
    new_codes = LabelCodes(children, codes.num_labels)
    if prior != "anchored" and new_codes.depth.max() > DEEP >= codes.depth.max():
        warnings.warn(
            f"the tree is {new_codes.depth.max()} decisions deep: with the prior {prior!r} labels "
            "that are new at a node all go to one child; give a max_depth, or the prior 'anchored'",
            stacklevel=2,
        )
    old_rows = kept_rows(codes.offsets, codes.nodes, new_codes.offsets, new_codes.nodes, is_new)
    same = np.flatnonzero(old_rows >= 0)
    rows = Statistics.of(new_codes)
    rows.sums[same], rows.seen[same] = (
        statistics.sums[old_rows[same]],
        statistics.seen[old_rows[same]],
    )
    stays = np.zeros(len(old_rows), bool)
    stays[same] = codes.slots[old_rows[same]] == new_codes.slots[same]
    moved = np.union1d(new_codes.labels[~stays], np.flatnonzero(new_codes.depth != codes.depth))
    source = np.arange(children.size).reshape(children.shape)
    source[is_new] = -1
    before, now = codes.leaves, new_codes.leaves
    source.ravel()[now] = before
    return Reassigned(new_codes, rows, is_new, len(moved) / codes.num_labels, source)


@torch.no_grad()
def take_over(
    parameter: Tensor, optimizers: Iterable[torch.optim.Optimizer | None], source: np.ndarray
) -> None:
    """Moves a parameter's numbers, and its optimizers' states with them, from slot to slot.

    Shapes:
        parameter ``[nodes, arity, ...]``; source ``[nodes, arity]``, see :class:`Reassigned`; where
        that is -1, numbers are set to 0.
    """
    changed = np.flatnonzero(source.ravel() != np.arange(source.size))
    given, arity = source.ravel()[changed], source.shape[1]
    node, slot, from_node, from_slot, absent = (
        torch.from_numpy(each).to(parameter.device)
        for each in (changed // arity, changed % arity, given // arity, given % arity, given < 0)
    )
    states = [optimizer.state.get(parameter, {}) for optimizer in optimizers if optimizer]
    for values in [parameter, *(value for state in states for value in state.values())]:
        if isinstance(values, Tensor) and values.shape == parameter.shape:
            moved = values[from_node, from_slot]  # a copy of these alone, few of many
            moved[absent] = 0
            values[node, slot] = moved


@torch.no_grad()
def change_shares(bias: Tensor, source: np.ndarray, before: Tensor, now: Tensor) -> None:
    """Adds to biases what the log-shares of labels have changed by; new slots begin with theirs.

    Args:
        bias: biases, after :func:`take_over`.
        source: see :class:`Reassigned`.
        before, now: logs of the shares of each node's examples, in the old and the new tree.

    Shapes:
        bias, source, before, now ``[nodes, arity]``.
    """
    places = torch.from_numpy(source).to(bias.device)
    learned = bias - before.ravel()[places.clamp(min=0)]
    bias.copy_(now + learned.masked_fill(places < 0, 0))


def best_objective(arity: int) -> float:
    """The maximum of the objective, ``J* = 4/M (1 - 1/M)``, of balanced and pure splits alone."""
    return 4 / arity * (1 - 1 / arity)


@dataclass(frozen=True)
class NodeReport:
    """The quality of the decision at each inner node, from the statistics of its labels.

    Attributes:
        labels: number of labels below the node.
        share: share of all examples that pass it.
        objective: objective J of the node, Eq. (6), ``2/M sum_i q_i sum_j |p_j - p_{j|i}|``; 0
            where one label or none passes.
        relative: objective as a share of the best possible one, ``J* = 4/M (1 - 1/M)``.
        balancedness: ``sum_j |p_j - 1/M|`` of Definition 1; 0 if all children get the same share.
        purity: ``1/M sum_j sum_i q_i min(p_{j|i}, 1 - p_{j|i})`` of Definition 2; 0 if no label is
            divided between children.

    Shapes:
        each ``[nodes]``.
    """

    labels: np.ndarray
    share: np.ndarray
    objective: np.ndarray
    relative: np.ndarray
    balancedness: np.ndarray
    purity: np.ndarray

    def mean(self) -> float:
        """The mean of J/J* over the nodes, weighted by their shares of the examples."""
        total = self.share.sum()
        return float(self.relative @ self.share / total) if total else 0.0


def node_report(codes: LabelCodes, statistics: Statistics, counts: np.ndarray) -> NodeReport:
    """The quality of the decision at each node of a tree, for all nodes at once.

    Args:
        codes: tree.
        statistics: statistics for the rows of its codes; without them, as for a single node, all
            measures but labels and share are NaN.
        counts: frequency of each label.

    Shapes:
        counts ``[labels]``.
    """
    number, arity = codes.num_nodes, codes.arity
    counts = np.asarray(counts, np.float64)
    counts = counts if counts.sum() > 0 else np.ones_like(counts)
    labels, weights = np.bincount(codes.nodes, minlength=number), counts[codes.labels]
    share = np.bincount(codes.nodes, weights, number) / counts.sum()
    if not len(statistics.seen):
        unknown = np.full(number, np.nan)
        return NodeReport(labels, share, unknown, unknown, unknown, unknown)
    mean, torn, spread = decisions(
        codes.nodes, codes.slots, statistics.sums, statistics.seen, weights, number
    )
    objective = 2 / arity * spread
    return NodeReport(
        labels,
        share,
        objective,
        objective / best_objective(arity),
        np.abs(mean - 1 / arity).sum(1),
        torn / arity,
    )
