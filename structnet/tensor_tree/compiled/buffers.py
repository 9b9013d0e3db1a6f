"""What one compiled sweep computes in: which rows are whose, and the arrays of the rows."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import torch

from structnet.message_passing.scheduling import Arrangement, Layout
from structnet.tensor_tree.compiled.products import Runs


class Level(NamedTuple):
    """Which rows are those of one level."""

    number: int
    lo: int  # states of nodes with a type
    hi: int
    first: int  # messages
    end: int


class Buffers:
    """The plan of one sweep and its arrays, also those that only some aggregators need.

    Whatever is said of nodes is said of the rows of their states, level 0 included.

    Args:
        plan: rows, inboxes and their transpose.
        layout: the layout that the plan was made for.
        hidden_size: c.
        dtype: the type of the states.
        keep: True if there will be a backward.

    Attributes:
        H, C, T, Y, Z: states, gates and messages, as ``_kernels`` names them.
        DH, DC, DY, DZ: their gradients.
        X, V, left, right, through: numbers in between, as ``combine`` names them.

    Shapes:
        H, C, T: ``[states, c]``; Y: ``[states, 3 c]``; Z: ``[messages, width + c]``.
    """

    Z: np.ndarray
    X: np.ndarray
    V: np.ndarray
    left: np.ndarray
    right: np.ndarray
    through: np.ndarray

    def __init__(
        self, plan: Arrangement, layout: Layout, hidden_size: int, dtype: torch.dtype, keep: bool
    ):
        self.plan, self.arity, self.dtype, self.keep = plan, layout.arity, dtype, keep
        self.num_leaves = len(plan.leaf_tokens)
        self.base = self.num_leaves + 1  # the leaves and the bottom
        num_levels = len(plan.starts) - 1
        self.nodes, self.messages = Runs(plan.nodes, num_levels), Runs(plan.messages, num_levels)
        nothing = np.zeros(self.base, np.int64)
        self.offsets = np.concatenate((nothing, plan.offsets))
        self.types = np.concatenate((nothing, self.nodes.keys))
        self.back_rows = plan.back_rows + self.base
        self.message_types = self.messages.keys // (layout.num_keys // max(layout.num_types, 1))
        self.num_types = layout.num_types
        spans = ([row + self.base for row in self.nodes.rows], self.messages.rows)
        pairs = zip(*map(itertools.pairwise, spans), strict=True)
        self.levels = [Level(h, *states, *sent) for h, (states, sent) in enumerate(pairs)]

        self.H, self.C, self.T = (self.empty(len(self.types), hidden_size) for _ in range(3))
        self.Y = self.empty(len(self.types), 3 * hidden_size)

    def allocate_gradients(self) -> None:
        """Room for the backward; only what is added to begins with zeros."""
        self.DH, self.DC = (self.zeros(*x.shape) for x in (self.H, self.C))
        self.DY, self.DZ = (self.empty(*x.shape) for x in (self.Y, self.Z))

    def empty(self, *shape: int) -> np.ndarray:
        """An array ``[*shape]`` of the states' type whose entries are not set yet."""
        # Of torch: on the bounds that products like.
        return torch.empty(shape, dtype=self.dtype, device="cpu").numpy()

    def zeros(self, *shape: int) -> np.ndarray:
        """An array ``[*shape]`` of the states' type, all zeros."""
        return torch.zeros(shape, dtype=self.dtype, device="cpu").numpy()
