"""Which cells are worth training, and which of them predicts held-out examples best.

Child-sum fits any tree, and is better for most. Where labels are operators with a fixed number of
children, the meaning of a node is often a product of its children's meanings, which sums learn
slowly and a Tucker tensor at once. Where it is one of a few values, as in arithmetic, both learn
the trees by heart, and an automaton learns the tables. Only training all shows which is better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from structnet.tensor_tree.settings import STATES, Cell, TreeLSTMSettings
from structnet.tensor_tree.targets import carry_tokens
from structnet.training.gains import is_better
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

MAX_CHILDREN = 3
OPERATORS = range(2, 17)  # number of labels of inner nodes; more have too many weights
ENOUGH = 10  # held-out trees; with fewer, the choice would be left to chance
BETTER = 1.0  # standard errors by which another cell must be better than the first


def cells(
    settings: TreeLSTMSettings, learn: Iterable[Tree], held: Iterable[Tree], kind: str = "classes"
) -> tuple[Cell, ...]:
    """The cells to try on some trees; the first of them fits any trees.

    Args:
        settings: hyper-parameters; any that only child-sum has rule out other cells.
        learn, held: trees to learn from, and held-out trees that choose the cell.
        kind: kind of question, as for :class:`structnet.tensor_tree.TreePredictor`, or "nodes".
    """
    chosen, held = (settings.words, settings.dropout, settings.label_dropout), list(held)
    learn = list(learn)
    most = 0 if any(chosen) or len(held) < ENOUGH else max(_operators(learn).values(), default=0)
    fit = all(len(node.children) <= most for tree in held for node in tree.postorder(once=True))
    if most < 2 or not fit:
        return ("child-sum",)
    few = kind == "classes" and (settings.hidden_size or 0) <= STATES
    named = few and not settings.numbers and not _have_numbers(learn)
    two: tuple[Cell, ...] = ("child-sum", "tucker")  # an automaton reads labels alone
    return (*two, "automaton") if named and not carry_tokens([*learn, *held]) else two


def _have_numbers(trees: list[Tree]) -> bool:
    """Are there so many numbers among labels that their values tell, which an automaton ignores?"""
    return Vocabulary.from_trees(trees, unknown=True, any_arity=True, numbers=None).any_numbers


def _operators(trees: Iterable[Tree]) -> dict[object, int]:
    """The number of children of each label of inner nodes; empty if there are too many labels or
    children, or a label occurs with different numbers of children."""
    found: dict[object, int] = {}
    for tree in trees:
        for node in tree.postorder(once=True):
            number = len(node.children)
            if not number:
                continue
            if number > MAX_CHILDREN or found.setdefault(node.label, number) != number:
                return {}
            if len(found) >= OPERATORS.stop:
                return {}
    return found if len(found) in OPERATORS else {}


def best_of(losses: Mapping[Cell, np.ndarray]) -> Cell:
    """The first cell, unless another has a lower loss by more than chance.

    Args:
        losses: for each cell, the weighted loss of each held-out example.

    Shapes:
        losses ``[n]`` for each cell.

    Example:
        >>> best_of({"child-sum": np.array([1.0, 2.0]), "tucker": np.array([0.5, 1.4])})
        'tucker'
    """
    first, *others = losses
    best = first
    for cell in others:
        if is_better(losses[best], losses[cell], BETTER):
            best = cell
    return best
