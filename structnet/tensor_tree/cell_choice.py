"""Which cells are worth training, and which of them predicts held-out examples best.

Child-sum fits any tree, and is better for most. Where labels are operators with a fixed number of
children, the meaning of a node is often a product of its children's meanings, which sums learn
slowly and a Tucker tensor at once. Where it is one of a few values, as in arithmetic and lists of
operations, both learn the trees by heart, and an automaton learns the tables, for any number of
children. Only training all shows which is better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from torch import nn

from structnet.tensor_tree.settings import MANY, STATES, Cell, TreeLSTMSettings
from structnet.tensor_tree.targets import carry_tokens
from structnet.training.gains import is_better
from structnet.training.history import History
from structnet.training.loop import Callback
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
    chosen = (settings.words, settings.dropout, settings.label_dropout)
    learn, held = list(learn), list(held)
    if any(chosen) or len(held) < ENOUGH:
        return ("child-sum",)
    operators, leaves = _labels(learn)
    most = max(map(max, operators.values()), default=0)
    if len(operators) not in OPERATORS or most < 2:
        return ("child-sum",)
    fixed = most <= MAX_CHILDREN and all(len(numbers) == 1 for numbers in operators.values())
    fit = all(len(node.children) <= most for tree in held for node in tree.postorder(once=True))
    few = kind == "classes" and (settings.hidden_size or 0) <= STATES and leaves <= MANY
    named = few and not settings.numbers and not _have_numbers(learn)
    tucker: tuple[Cell, ...] = ("tucker",) if fixed and fit else ()
    automaton: tuple[Cell, ...] = ()  # it reads labels alone
    if named and not carry_tokens([*learn, *held]):
        automaton = ("automaton",)
    return ("child-sum", *tucker, *automaton)


def _have_numbers(trees: list[Tree]) -> bool:
    """Are there so many numbers among labels that their values tell, which an automaton ignores?"""
    return Vocabulary.from_trees(trees, unknown=True, any_arity=True, numbers=None).any_numbers


def _labels(trees: Iterable[Tree]) -> tuple[dict[object, set[int]], int]:
    """The numbers of children of each label of inner nodes, and the number of leaves' labels."""
    operators: dict[object, set[int]] = {}
    leaves = set()
    for tree in trees:
        for node in tree.postorder(once=True):
            if node.children:
                operators.setdefault(node.label, set()).add(len(node.children))
            else:
                leaves.add(node.label)
    return operators, len(leaves)


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


class Behind(Exception):
    """Ends a training whose model is clearly worse than another."""


def stop_if_behind(rival: float, held: int, epochs: int) -> Callback:
    """A callback that ends a training when half of it has not come near another's accuracy.

    Args:
        rival: accuracy of the other model on the held-out examples.
        held: number of these.
        epochs: number of epochs of the training.
    """

    def check(model: nn.Module, history: History) -> None:
        found = max(history["validation_accuracy"])
        error = math.sqrt((rival * (1 - rival) + found * (1 - found)) / held)
        if 2 * len(history) >= epochs and found < rival - BETTER * error:
            raise Behind

    return check
