"""The meaning of sentences of propositional logic: the worlds in which they are true.

There are six variables, hence 2^6 = 64 worlds; a set of worlds is a 64-bit integer. World w makes
the i-th variable true if bit i of w is set.
"""

from __future__ import annotations

from structnet.trees.tree import Tree

RELATIONS = ("=", "<", ">", "^", "|", "v", "#")
VARIABLES = ("a", "b", "c", "d", "e", "f")
ALL_WORLDS = 2**64 - 1

_WORLDS = {
    variable: sum(1 << world for world in range(64) if world >> i & 1)
    for i, variable in enumerate(VARIABLES)
}


def truth_table(sentence: Tree) -> int:
    """The worlds in which a sentence is true, as an integer whose bit w is set for world w.

    Raises:
        ValueError: the sentence has an unknown operator or variable.

    Example:
        >>> from structnet import parse
        >>> f"{truth_table(parse.logic('( a ( and b ) )')) & 0xFF:08b}"
        '10001000'
    """
    return sentence.fold(_worlds)


def relation(left: Tree, right: Tree) -> str:
    """The relation of two sentences, one of :data:`RELATIONS`, found from their truth tables.

    Raises:
        ValueError: a sentence has an unknown operator or variable.

    Example:
        >>> from structnet import parse
        >>> relation(parse.logic("( a ( and b ) )"), parse.logic("a"))
        '<'
    """
    return relation_of_worlds(truth_table(left), truth_table(right))


def relation_of_worlds(left: int, right: int) -> str:
    """The relation of two sets of worlds; independence if one of them is empty or has all worlds.

    Example:
        >>> relation_of_worlds(0b0011, 0b0110)
        '#'
    """
    if not 0 < left < ALL_WORLDS or not 0 < right < ALL_WORLDS:
        return "#"
    if left == right:
        return "="
    both, either = left & right, left | right  # sets of worlds, as bits
    if both in (left, right):
        return "<" if both == left else ">"
    if not both:
        return "^" if either == ALL_WORLDS else "|"
    return "v" if either == ALL_WORLDS else "#"


def num_operators(sentence: Tree) -> int:
    """The number of operators in a sentence.

    Example:
        >>> from structnet import parse
        >>> num_operators(parse.logic("( ( not a ) ( or b ) )"))
        2
    """
    return sum(1 for node in sentence.preorder() if node.children)


def _worlds(node: Tree, operands: list[int]) -> int:
    if node.label in _WORLDS and not operands:
        return _WORLDS[node.label]
    if node.label == "not" and len(operands) == 1:
        return ALL_WORLDS ^ operands[0]
    if node.label == "and" and len(operands) == 2:
        return operands[0] & operands[1]
    if node.label == "or" and len(operands) == 2:
        return operands[0] | operands[1]
    raise ValueError(
        f"a sentence has and, or (2 operands), not (1) and the variables a to f (none); "
        f"got {node.label!r} with {len(operands)} operands"
    )
