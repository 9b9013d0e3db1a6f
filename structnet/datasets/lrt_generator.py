"""Random pairs of logical sentences, drawn in the way the published ones were.

Reference:
    Bowman, Potts and Manning, "Recursive Neural Networks Can Learn Logical Semantics", CVSC 2015.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from structnet.checks import check_integer
from structnet.datasets.truth import ALL_WORLDS, VARIABLES, relation_of_worlds, truth_table
from structnet.trees.memory import collector_paused
from structnet.trees.tree import Tree

MAX_OPERATORS = 12

_PATIENCE = 100_000  # draws without a new pair before giving up
_COMPLEXITY = 12  # halved at each binary operator, which needs at least 2: three levels of them
_CHOICES = list(combinations(VARIABLES, 4))
_LEAVES = {variable: Tree(variable) for variable in VARIABLES}


class Pair(NamedTuple):
    """Two sentences and the relation of the first to the second, one of :data:`RELATIONS`."""

    relation: str
    left: Tree
    right: Tree


@collector_paused()
def generate(num_pairs: int, max_operators: int = MAX_OPERATORS, seed: int = 0) -> list[Pair]:
    """Distinct random pairs and their relations, made like the published ones.

    Both sentences of a pair use the same 4 of the 6 variables. A sentence is a binary operator with
    probability 4/9 and a variable otherwise, at most three binary operators deep; each part of it
    is negated with probability 1/3. Pairs with a sentence that is always or never true are dropped.

    Args:
        num_pairs: number of pairs.
        max_operators: largest number of operators of a sentence.
        seed: seed of the draw; the same seed gives the same pairs.

    Raises:
        ValueError: a number is out of range, or 100,000 draws in a row gave no new pair.

    Example:
        >>> for relation, left, right in generate(3, max_operators=2):
        ...     print(left, relation, right)
        (not b) # c
        (not (and e d)) v d
        (not e) # (not f)
    """
    check_integer("num_pairs", num_pairs, 1, owner="generate")
    check_integer("max_operators", max_operators, 0, owner="generate")
    sentences: dict[tuple[str, ...], tuple[Tree, int]] = {}  # labels -> sentence, its worlds
    pairs: dict[tuple, Pair] = {}
    fruitless = 0
    for drawn in _drawn_pairs(_uniforms(seed), max_operators):
        fruitless += 1
        if fruitless > _PATIENCE:
            raise ValueError(
                f"found only {len(pairs):,} of {num_pairs:,} distinct pairs of at most "
                f"{max_operators} operators; ask for fewer pairs or allow more operators"
            )
        (left, a), (right, b) = (_sentence(labels, sentences) for labels in drawn)
        if drawn not in pairs and 0 < a < ALL_WORLDS and 0 < b < ALL_WORLDS:
            pairs[drawn] = Pair(relation_of_worlds(a, b), left, right)
            fruitless = 0
            if len(pairs) == num_pairs:
                break
    return list(pairs.values())


def _uniforms(seed: int) -> Iterator[float]:
    rng = np.random.default_rng(seed)
    while True:
        yield from rng.random(1 << 14).tolist()


def _drawn_pairs(
    uniforms: Iterator[float], max_operators: int
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    while True:
        variables = _CHOICES[int(next(uniforms) * len(_CHOICES))]
        left, right = (_drawn_sentence(uniforms, variables) for _ in range(2))
        sizes = [sum(label not in _LEAVES for label in labels) for labels in (left, right)]
        if max(sizes) <= max_operators:
            yield left, right


def _drawn_sentence(uniforms: Iterator[float], variables: Sequence[str]) -> tuple[str, ...]:
    """The labels of a random sentence, parents first, right operands before left ones."""
    labels = []
    waiting = [_COMPLEXITY]
    while waiting:
        complexity = waiting.pop()
        if next(uniforms) < 1 / 3:
            labels.append("not")
        kind = next(uniforms)
        if complexity >= 2 and kind < 4 / 9:
            labels.append("and" if kind < 2 / 9 else "or")
            waiting += [complexity // 2] * 2
        else:
            labels.append(variables[int(next(uniforms) * len(variables))])
    return tuple(labels)


def _sentence(
    labels: tuple[str, ...], sentences: dict[tuple[str, ...], tuple[Tree, int]]
) -> tuple[Tree, int]:
    if labels not in sentences:
        done: list[Tree] = []
        for label in reversed(labels):  # operands before their operator
            if label in _LEAVES:
                done.append(_LEAVES[label])
            else:
                arity = 1 if label == "not" else 2
                done[-arity:] = [Tree(label, done[-arity:])]
        sentences[labels] = done[0], truth_table(done[0])
    return sentences[labels]
