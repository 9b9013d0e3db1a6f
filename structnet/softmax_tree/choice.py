"""What the user leaves open: chosen from the sizes of the data and by a part that is held out."""

from __future__ import annotations

from dataclasses import replace

from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import GrowthSettings, SoftmaxTreeSettings


def chosen(
    points: Points, settings: SoftmaxTreeSettings, growth: GrowthSettings | None
) -> tuple[SoftmaxTreeSettings, GrowthSettings | None]:
    """Settings without None but for limits."""
    K = points.num_classes
    depth=settings.depth if settings.depth is not None else 4
    settings = replace(settings, depth=depth, k=settings.k or max(2,min(K, 4*K//2**depth)), start=settings.start or "centroids", decision_penalty=1.0 if settings.decision_penalty is None else settings.decision_penalty, leaf_penalty=1.0 if settings.leaf_penalty is None else settings.leaf_penalty)
    if growth is not None:
        growth = replace(growth, alpha=growth.alpha or .5, rho=growth.rho or .9, start_depth=2 if growth.start_depth is None else growth.start_depth)
    return settings, growth
