"""The aggregators by name, and how many parameters each has."""

from __future__ import annotations

from structnet.tensor_tree.aggregators.base import Aggregator
from structnet.tensor_tree.aggregators.cp import CP
from structnet.tensor_tree.aggregators.full_tensor import FullTensor
from structnet.tensor_tree.aggregators.tensor_train import TensorTrain
from structnet.tensor_tree.aggregators.tucker import Tucker
from structnet.tensor_tree.aggregators.weighted_sum import ChildSum, WeightedSum

AGGREGATORS: dict[str, type[Aggregator]] = {
    kind.name: kind for kind in (WeightedSum, ChildSum, FullTensor, Tucker, CP, TensorTrain)
}


def count_aggregation(
    kind: str, hidden_size: int, arity: int, rank: int | None = None, output: bool = False
) -> int:
    """The number of parameters of one gate's aggregation for one type; see ``count``.

    ==============  =============================================
    sum             ``L c^2``
    child-sum       ``c^2``
    full            ``(c + 1)^L c``
    tucker          ``r (r + 1)^L + L c r``
    cp              ``L (c + 1) r``
    tensor-train    ``r + L (c + 1) r^2``
    ==============  =============================================

    Args:
        kind: name of the aggregator, one of the above.
        hidden_size, arity, rank, output: c, L and, for the last three, r; output=True counts all
            weights.

    Raises:
        ValueError: the kind is unknown, or the rank is missing or the kind has none.

    Example:
        >>> count_aggregation("full", 10, arity=2), count_aggregation("tucker", 10, 2, rank=7)
        (1210, 588)
    """
    if kind not in AGGREGATORS:
        raise ValueError(f"kind must be one of {', '.join(AGGREGATORS)}; got {kind!r}")
    return AGGREGATORS[kind].count(hidden_size, arity, rank, output=output)
