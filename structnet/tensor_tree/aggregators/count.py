"""How many parameters one aggregation has, as the paper counts them."""

from __future__ import annotations


def count_aggregation(
    kind: str, hidden_size: int, arity: int, rank: int | None = None, output: bool = False
) -> int:
    """The number of parameters of one gate's aggregation for one node type.

    ==============  =============================================
    sum             ``L c^2``
    child-sum       ``c^2``
    full            ``(c + 1)^L c``
    tucker          ``r (r + 1)^L + L c r``
    cp              ``L (c + 1) r``
    tensor-train    ``r + L (c + 1) r^2``
    ==============  =============================================

    Args:
        kind: one of the above.
        hidden_size: c.
        arity: L.
        rank: r, for the last three.
        output: count the output map (``r c`` of the last three) and the bias (``c`` of all but
            full, which holds it) too; the paper leaves them out.

    Raises:
        ValueError: an unknown kind, or a rank missing or given in vain.

    Reference: Castellana and Bacciu, IJCNN 2020, Sec. IV and Tables I, II.

    Example:
        >>> count_aggregation("full", 10, arity=2), count_aggregation("tucker", 10, 2, rank=7)
        (1210, 588)
    """
    c, L, r = hidden_size, arity, rank
    ranked = ("tucker", "cp", "tensor-train")
    if kind not in ("sum", "child-sum", "full", *ranked):
        raise ValueError(
            f"kind must be one of sum, child-sum, full, {', '.join(ranked)}; got {kind!r}"
        )
    if (rank is not None) != (kind in ranked):
        raise ValueError(f"{kind} {'needs a' if kind in ranked else 'has no'} rank; got {rank!r}")
    if kind == "sum":
        count = L * c**2
    elif kind == "child-sum":
        count = c**2
    elif kind == "full":
        return (c + 1) ** L * c
    elif kind == "tucker":
        count = r * (r + 1) ** L + L * c * r
    elif kind == "cp":
        count = L * (c + 1) * r
    else:
        count = r + L * (c + 1) * r**2
    if output:
        count += c + (r * c if kind in ranked else 0)
    return count
