"""The sizes that the kernels of a typed Tree-LSTM are compiled for, and which models they cover."""

from __future__ import annotations

from typing import NamedTuple

from structnet.tensor_tree.aggregators.base import Aggregator
from structnet.tensor_tree.aggregators.cp import CP
from structnet.tensor_tree.aggregators.full_tensor import FullTensor
from structnet.tensor_tree.aggregators.tucker import Tucker
from structnet.tensor_tree.aggregators.weighted_sum import ChildSum, WeightedSum
from structnet.tensor_tree.gpu.tasks import BLOCK, power_of_two

SUM, FULL, TUCKER, CANONICAL = range(4)  # kinds of aggregators
_FORMS: dict[type[Aggregator], int] = {
    WeightedSum: SUM,
    ChildSum: SUM,
    FullTensor: FULL,
    Tucker: TUCKER,
    CP: CANONICAL,
}
_MAX_CHILDREN = 16  # the kernels have a part for each, except those of sums
# Numbers of the outer product of the last half of the children, which are multiplied at once; more
# take more memory than a multiprocessor of a small GPU has.
_MAX_OUTER = 64
_MAX_CORE = 2**17  # numbers; a larger one is read faster by few large products


class Sizes(NamedTuple):
    """The sizes of a sweep that its kernels are compiled for.

    Attributes:
        n: hidden size.
        FORM: kind of aggregator.
        ARITY: number of children of each node; 1 for sums, which may have any.
        RANK: size of a child's vector, of each part.
        PARTS: number of cores of a node; K: number of outputs of each.
        LEFT, RIGHT: numbers of the outer products of both halves of the children at once.
    """

    n: int
    FORM: int
    ARITY: int
    RANK: int
    PARTS: int
    K: int
    LEFT: int
    RIGHT: int

    @property
    def slots(self) -> int:
        """The room for the gradients of one half of the children, a power of two."""
        return power_of_two((self.ARITY + 1) // 2 * self.RANK)


def sizes_of(a: Aggregator) -> Sizes:
    """The sizes for an aggregator that :func:`why_no_kernels` has nothing against."""
    form = _FORMS[type(a)]
    L, rank, parts, k = a.arity if form else 1, 1, 1, 1
    if isinstance(a, Tucker):
        rank, parts, k = a.rank, a.gates, a.rank
    elif isinstance(a, FullTensor):
        rank, k = a.hidden_size, a.gates * a.hidden_size
    left, right = (power_of_two((rank + 1) ** number) for number in ((L + 1) // 2, L // 2))
    left = min(max(left, BLOCK), _MAX_OUTER)
    return Sizes(a.hidden_size, form, L, rank, parts, k, left, max(right, BLOCK))


def why_no_kernels(a: Aggregator, forget: str) -> str:
    """Why there are no kernels for an aggregator and a kind of forget gates; "" if there are."""
    name = type(a).__name__
    if type(a) not in _FORMS:
        return f"{name} has no kernels for a GPU"
    if forget != "child":
        return f"forget={forget!r} has no kernels for a GPU"
    if a.num_types == 0:
        return "there are no types"
    if _FORMS[type(a)] == SUM:
        return ""
    if a.arity > _MAX_CHILDREN:
        return f"{a.arity} children are too many for the kernels of {name}"
    if _FORMS[type(a)] == CANONICAL:
        return ""
    if sizes_of(a).RIGHT > _MAX_OUTER or a.numbers_a_node() > _MAX_CORE:
        return f"the cores of {name} are too large for its kernels"
    return ""
