"""How wrong a tree is about samples that it has not learnt from: what choices go by.

Where one class is rare, hardly a tree takes any sample for it: the mistakes of all are the same,
and only probabilities show which of them knows more. Of few classes these count beside the
mistakes. By themselves they would not do: a decision tree of single features may make the fewest
mistakes by far, though its leaves are too sure, and would be left for one that is unsure of all.
"""

from __future__ import annotations

import numpy as np

from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.smoothing import smoothed
from structnet.softmax_tree.tree import SoftmaxTree

FEW = 5  # classes, or fewer; of the ten of handwritten digits it made no difference


def wrong_about(
    draft: Draft, learnt: Points, tested: Points, objective: Objective | None = None
) -> np.ndarray:
    """How wrong a tree is about each of some samples: 0 is right and sure, 2 wrong and sure.

    A mistake counts 1, and the probabilities half of their squared distance from the class. Of more
    than few classes the mistakes alone count.

    Args:
        draft: a tree, before its leaves are smoothed.
        learnt: samples that it has learnt from.
        tested: samples to be wrong about.
        objective: objective that its leaves were trained by; None if they were not.

    Shapes:
        -> ``[tested]``, float64.

    Reference:
        Brier, Verification of Forecasts Expressed in Terms of Probability, Monthly Weather Review
        1950.
    """
    wrong = draft.mistakes(tested).astype(np.float64)
    if tested.num_classes > FEW:
        return wrong
    whole = smoothed(draft, learnt, objective)
    tree = SoftmaxTree.from_draft(whole, learnt.num_features, learnt.num_classes)
    prob = np.exp(tree.choices(tested.x).dense(learnt.num_classes))  # [tested, K]
    prob[np.arange(len(prob)), tested.y] -= 1
    return wrong + (prob**2).sum(1) / 2
