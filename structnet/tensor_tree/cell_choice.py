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
ALL_RIGHT = 1 - 1e-6  # accuracy of no mistakes, which weights of mean 1 may round
STEPS = 100  # nodes that an automaton reads one after the other; more take too long
TOLD = 100  # held-out trees by which a model that makes no mistakes is known
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
    if named and not carry_tokens([*learn, *held]) and _steps(learn) <= STEPS:
        automaton = ("automaton",)
    return ("child-sum", *automaton, *tucker)


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


def _steps(trees: Iterable[Tree]) -> int:
    """The largest number of nodes that are read one after the other, child by child."""
    most, read = 0, dict[int, int]()
    for tree in trees:
        for node in tree.postorder(once=True):
            steps = 0
            for child in node.children:
                steps = max(steps, read[id(child)]) + 1
            read[id(node)] = steps
            most = max(most, steps)
    return most


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


def without_mistakes(history: History, held: int, last: int = 1) -> bool:
    """Did a training predict all held-out examples correctly, so many that this tells enough?

    Args:
        history: records of the training.
        held: number of held-out examples.
        last: number of epochs in a row in which it did.

    Example:
        >>> history = History({"validation_accuracy": each} for each in (0.9, 1.0, 1.0, 0.99))
        >>> without_mistakes(history, 100, last=2), without_mistakes(history, 100, last=3)
        (True, False)
    """
    right = [accuracy >= ALL_RIGHT for accuracy in history["validation_accuracy"]]
    runs = (all(right[i : i + last]) for i in range(len(right) - last + 1))
    return held >= TOLD and any(runs)


class Settled(Exception):
    """Ends a training of whose outcome more epochs tell nothing."""


def stop_when_settled(held: int, epochs: int, rival: float = 0.0) -> Callback:
    """A callback that ends a training which is clearly behind another, or makes no mistakes.

    It is behind if half of it has not come near the other's accuracy. It makes none if it predicts
    all held-out examples correctly twice in a row.

    Args:
        held: number of held-out examples.
        epochs: number of epochs of the training.
        rival: accuracy of the other model on the held-out examples.
    """

    rival = min(rival, 1.0)

    def check(model: nn.Module, history: History) -> None:
        found = min(max(history["validation_accuracy"]), 1.0)
        error = math.sqrt((rival * (1 - rival) + found * (1 - found)) / held)
        behind = 2 * len(history) >= epochs and found < rival - BETTER * error
        if behind or without_mistakes(history, held, last=2):
            raise Settled

    return check
