"""The rule that splits a leaf, deepens it or keeps it; and the record of what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


def choose(losses: Mapping[str, float], loss: float, min_gain: float = 0.0) -> str:
    """What Algorithm 1 of the paper does with a leaf: it takes the best candidate, if that gains.

    Args:
        losses: validation loss of the tree with each candidate, by the candidate's kind.
        loss: validation loss of the tree as it is.
        min_gain: amount by which the best one must lower it, and more.

    Returns:
        The kind of the candidate to take, or ``"keep"``.

    Example:
        >>> choose({"split": 0.7, "deepen": 0.8}, loss=0.9), choose({"split": 0.7}, loss=0.7)
        ('split', 'keep')
    """
    best = min(losses, key=losses.__getitem__, default=None)
    return best if best is not None and losses[best] < loss - min_gain else "keep"


@dataclass(frozen=True)
class Decision:
    """What became of one node.

    Attributes:
        number: number of the decision; 0 is the training of the root.
        node: node that it was about.
        action: ``"root"``, ``"split"``, ``"deepen"`` or ``"keep"``.
        loss: validation loss of the tree afterwards.
        candidates: validation loss of each candidate.
        leaves: leaves of the tree afterwards.
        parameters: numbers to learn in the tree afterwards.
        seconds: time that it took.

    Example:
        >>> losses = {"split": 0.1979, "deepen": 0.1382}
        >>> print(Decision(1, 0, "deepen", 0.1382, losses, 1, 20231, 0.1))
        decision 1, node 0: split 0.1979, deepen 0.1382 -> deepen; validation loss 0.1382, 1 leaf,
        20,231 parameters, 0.1 s
    """

    number: int
    node: int
    action: str
    loss: float
    candidates: dict[str, float]
    leaves: int
    parameters: int
    seconds: float

    def __str__(self) -> str:
        tried = ", ".join(f"{kind} {loss:.4f}" for kind, loss in self.candidates.items())
        taken = f"{tried or 'nothing to try'} -> {self.action}"
        taken = "trained the root" if self.action == "root" else taken
        leaves = "1 leaf" if self.leaves == 1 else f"{self.leaves:,} leaves"
        return (
            f"decision {self.number}, node {self.node}: {taken}; validation loss {self.loss:.4f}, "
            f"{leaves}, {self.parameters:,} parameters, {self.seconds:.1f} s"
        )
