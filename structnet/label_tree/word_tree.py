"""The tree of a language model as a model tree (see :mod:`structnet.routing.protocol`)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from structnet.label_tree.language_model import LogBilinearLM
from structnet.label_tree.routed import Routed
from structnet.label_tree.softmax import TreeSoftmaxLoss


class WordTree(Routed):
    """The tree of words by which a language model predicts, without its counts of n-grams.

    Args:
        model: language model.

    Shapes:
        x ``[n, context]``, the numbers of the words before each place, the nearest first.

    Raises:
        ValueError: the model ends with a baseline instead of a tree.
    """

    embedding = None

    def __init__(self, model: LogBilinearLM):
        super().__init__()
        if not isinstance(model.head, TreeSoftmaxLoss):
            raise ValueError(
                f"a language model with tree={model.settings.tree!r} has no tree; expected one "
                "whose head is a tree of words"
            )
        self.model, self.softmax = model, model.head
        self.shape = (model.settings.context,)

    def represent(self, x: Any) -> Tensor:
        """The representations of contexts. ``[n, context] -> [n, size]``."""
        return self.model.represent(torch.as_tensor(x))

    def predict_log_proba(self, x: Any) -> Tensor:
        """The log-probability of each word by the tree alone. ``[n, context] -> [n, words]``."""
        return self.softmax.log_prob(self.represent(x))

    def plane(self, node: int, branch: int = 0, other: int = 1) -> None:
        """None: no node is linear in the numbers of words."""
