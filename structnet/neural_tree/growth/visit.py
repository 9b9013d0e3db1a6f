"""The visit of a leaf: its candidates, all trained and judged on the same samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structnet.neural_tree.growth.candidate import Candidate
from structnet.neural_tree.growth.decision import Gain
from structnet.neural_tree.growth.judging import Judge

Tried = tuple[Gain, Candidate]  # a trained candidate, after what it gains


@dataclass(frozen=True)
class Visit:
    """What the candidates for a leaf are trained with and judged on.

    Args:
        leaf: node of the leaf.
        data: training and validation samples, or these as they arrive at the leaf.
        before: losses of the validation samples without a candidate.
        judge: judge of the candidates.
        choose: rule that names the candidate to take, or "keep".
        train: function that trains a candidate and returns its validation loss, called as
            ``train(candidate, kind, leaf, *data, attempt)``.

    Shapes:
        before ``[n]``.
    """

    leaf: int
    data: tuple[Any, Any]
    before: np.ndarray
    judge: Judge
    choose: Callable[[dict[str, Gain]], str]
    train: Callable[..., float]

    def tried(self, candidate: Candidate, kind: str, attempt: int = 0) -> Tried:
        """The gain of a candidate, which is trained, and the candidate."""
        loss = self.train(candidate, kind, self.leaf, *self.data, attempt)
        return self.judge.judged(loss, self.before, candidate, *self.data)

    def best(
        self,
        proposals: Mapping[str, Sequence[Candidate]],
        trained: Mapping[str, Tried] | None = None,
    ) -> dict[str, Tried]:
        """The gain of the best trained candidate of each kind, and that candidate.

        Args:
            proposals: candidates of each kind.
            trained: candidates that are trained already, and their gains.
        """
        best = dict(trained or {})
        for kind, candidates in proposals.items():  # a split comes first
            for attempt, candidate in enumerate(candidates, start=kind in best):
                found = self.tried(candidate, kind, attempt)
                gain, rival = found[0], best.get(kind)
                if rival is None or self.judge.takes_place(gain, rival[0]):
                    best[kind] = found
            gains = {kind: gain for kind, (gain, _) in best.items()}
            steps = gains[kind].steps or any(each.steps for each in proposals.get("deepen", ()))
            if self.judge.settings.prefer_split and not steps and self.choose(gains) == "split":
                break
        return {kind: best[kind] for kind in proposals if kind in best}
