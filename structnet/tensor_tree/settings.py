"""The hyper-parameters of a model of users' trees, with their defaults and ranges.

Nothing here imports torch, so that the command can print them without delay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from structnet.checks import check_bool, check_integers, check_number, check_one_of, wrong

Cell = Literal["tucker", "sum", "full", "child-sum", "cp", "tensor-train", "automaton"]
CELLS: tuple[str, ...] = get_args(Cell)
POOLS = ("root", "max", "attention", "sum")  # default ones; the last for numbers only
STEPS = 1500  # default number of steps, over as many epochs as it takes
STATES = 20  # largest default number of states of an automaton
EPOCHS = (10, 60)  # smallest and largest default number
SMALL = 1000  # number of examples below which batches are smaller
MANY = 100  # number of labels above which some are dropped
FEW = 10_000  # number of labels up to which those of a single tree may have their own vectors
LABEL_DROPOUT = 0.2  # share of labels dropped when numbers are predicted
WEIGHT_DECAY = 0.01
NUMBERS_DECAY = 0.3  # with less, the numbers of a thousand trees are memorised
RARE = 3.0  # number of trees with a label at which it is dropped with probability 1/2


def check_pools(pools: Sequence[str] | None, *, optional: bool = False, owner: str = "") -> None:
    """Refuses a value that does not name pools.

    Args:
        pools: value to check.
        optional: True to allow None.
        owner: name for the error of who takes the pools.

    Raises:
        ValueError: it is not a sequence of one or more of
            ``structnet.message_passing.pooling.POOLS``.
    """
    if pools is None and optional:
        return
    from structnet.message_passing.pooling import POOLS

    if isinstance(pools, str) or not pools or not set(pools) <= set(POOLS):
        raise wrong("pools", f"some of {list(POOLS)}{', or None' * optional}", pools, owner)


@dataclass(frozen=True)
class TreeLSTMSettings:
    """What a model of trees consists of, and how it is trained.

    The defaults were chosen on syntax trees of Python functions and of English sentences.

    Args:
        cell: kind of function by which a node combines its children: "child-sum" has one set of
            weights and learns a vector for each label, which suits any tree; the others have
            weights for each label, or for each label and place, as the paper's models do, and suit
            few labels and few children. By default child-sum or, if it predicts held-out examples
            better, another: for trees of operators (few labels, each of which always has the same
            number of children, at most 3) tucker, which takes no node with more children than in
            the training trees; for classes of trees with few labels, "automaton". In an automaton,
            a node has one of a few values; it reads its children one after the other, and a table
            gives what becomes of its value with theirs, as in arithmetic.
            Instead of a name, a subclass of structnet.tensor_tree.Aggregator, or a
            functools.partial of one with its arguments; a model with such a cell cannot be saved
            but by pickle.
        hidden_size: length of a node's state; by default 64 or, for "full" and "automaton",
            the largest up to 64 and 20 with which it has at most two million parameters. For
            "automaton", number of values of a node.
        rank: rank of "tucker", "cp" and "tensor-train".
        pools: vectors read from the states of the nodes: that of the "root", and the "sum", "mean",
            "max" or "attention" over all nodes; by default root, max and attention, and for numbers
            also sum; for "automaton" the root alone.
        bag: linear model of how often each label occurs and, where this helps, decision
            trees on these counts, mixed with the Tree-LSTM in the proportion that the held-out
            examples choose; for classes and numbers. A number that the Tree-LSTM predicts surely
            better alone than what the linear model leaves of it is left to it, as if this was
            False. For nodes, a linear model on the labels at and around a node.
        top_down: use what is above and beside a node for its prediction, not only what is at and
            below it; by default True for nodes; not used for whole trees.
        words: read texts and compound names at leaves word by word, as structnet.trees.with_words
            splits them; only the cell "child-sum" can. By default, for whole trees: True, unless
            vectors are given or a linear model predicts held-out trees better without; the linear
            model then also counts pieces of words, if held-out trees are predicted better so. By
            default, for nodes: not word by word, as names mostly tell less than what is around
            them, but the beginnings and endings of leaves' labels, if there are more than 100.
            False switches all of this off.
        numbers: represent labels and tokens that are numbers by their values, through features that
            unseen numbers have as well; by default if the training trees have many different
            numbers (a perplexity above 20), while few, such as digits, are treated as words; this
            is chosen for inner labels, and for leaves and tokens, separately.
        min_count: number of training trees in which a label must occur; others are replaced by the
            unknown label. By default 2. With so many labels that rare ones are dropped (see
            label_dropout), 1, and for classes 1 to 4: the number from which on a label says
            something about the class, to the extent that other rare labels in its position do; with
            more than 10,000 labels at least 2.
        dropout: share of the entries of the labels' vectors that is dropped in training.
        label_dropout: share of the labels that are replaced by the unknown label in training; by
            default 3 / (3 + n) for a label in n trees, so that rare labels are not learned by
            heart; for numbers, to which all labels may add, 0.2 for each; 0 with at most 100
            labels.
        epochs: number of passes through the examples; by default 10, or more if there are few
            examples.
        batch_size: number of examples in each step; by default 32, or 16 with fewer than 1000
            examples.
        learning_rate: highest learning rate of AdamW; it rises in the first tenth of the steps and
            falls along a cosine.
        weight_decay: weight decay of AdamW; by default 0.01, and for numbers, which are soon
            learned by heart, 0.3.
        patience: number of epochs without a new best on the validation examples after which
            training ends; by default it does not end early.
        seed: number that determines everything random.

    Raises:
        ValueError: a value is out of its range, or a rank where there is none.

    Example:
        >>> TreeLSTMSettings().resolved(200, 30, "classes").epochs
        60
        >>> TreeLSTMSettings(hidden_size=0)
        Traceback (most recent call last):
        ValueError: The 'hidden_size' parameter must be an int in the range [1, inf) or
        None. Got 0 instead.
    """

    cell: Cell | Callable[..., Any] | None = None
    hidden_size: int | None = None
    rank: int | None = None
    pools: Sequence[str] | None = None
    bag: bool = True
    top_down: bool | None = None
    words: bool | None = None
    numbers: bool | None = None
    min_count: int | None = None
    dropout: float = 0.0
    label_dropout: float | None = None
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float = 5e-3
    weight_decay: float | None = None
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.cell is not None and not callable(self.cell):
            check_one_of("cell", self.cell, CELLS)
        check_integers(self, optional=True, hidden_size=1, min_count=1, rank=1, epochs=1)
        check_integers(self, optional=True, batch_size=1, patience=1)
        check_integers(self, seed=0)
        check_number("dropout", self.dropout, 0, 0.999)
        check_number("label_dropout", self.label_dropout, 0, 0.999, optional=True)
        check_number("learning_rate", self.learning_rate, 0, open=True)
        check_number("weight_decay", self.weight_decay, 0, optional=True)
        check_bool("bag", self.bag)
        for name in ("top_down", "words", "numbers"):
            if getattr(self, name) is not None:
                check_bool(name, getattr(self, name))
        check_pools(self.pools, optional=True)
        if self.words and self.cell not in (None, "child-sum"):
            raise wrong("words", f"None or False for the cell {self.cell_name!r}", self.words)
        if self.numbers and self.cell == "automaton":
            raise wrong("numbers", f"None or False for the cell {self.cell!r}", self.numbers)
        if self.rank is not None and self.cell not in ("tucker", "cp", "tensor-train"):
            cell = "'child-sum', the default," if self.cell is None else repr(self.cell_name)
            raise wrong("rank", f"None, as the cell {cell} has no rank", self.rank)

    @property
    def cell_name(self) -> str:
        """The cell's name; for an aggregator of the user's, that of its class."""
        cell = getattr(self.cell, "func", self.cell)  # of a partial
        return cell if isinstance(cell, str) else getattr(cell, "__name__", repr(cell))

    def reads_words(self, kind: str) -> bool:
        """Are the words of labels read, for predictions of this kind?"""
        if self.words is not None:
            return self.words
        return self.cell in (None, "child-sum") and kind != "nodes"

    def resolved(self, size: int, labels: int, kind: str) -> TreeLSTMSettings:
        """The same, with the settings that are chosen from the data.

        Args:
            size: number of examples to learn from.
            labels: number of different labels.
            kind: "classes", "labels" or "numbers" of trees, or "nodes".
        """
        cell, most = self.cell or "child-sum", 3 + (kind == "numbers")
        batch = self.batch_size or (32 if size >= SMALL else 16)
        dropout = self.label_dropout
        if dropout is None and (labels <= MANY or cell != "child-sum"):
            dropout = 0.0
        elif dropout is None and kind == "numbers":
            dropout = LABEL_DROPOUT
        decay = NUMBERS_DECAY if kind == "numbers" else WEIGHT_DECAY
        passes = math.ceil(STEPS / math.ceil(size / batch))
        return replace(
            self,
            cell=cell,
            label_dropout=dropout,
            pools=tuple(self.pools or (POOLS[:1] if cell == "automaton" else POOLS[:most])),
            bag=self.bag and kind != "labels",
            top_down=self.top_down is not False and kind == "nodes",
            words=self.reads_words(kind),
            batch_size=batch,
            weight_decay=decay if self.weight_decay is None else self.weight_decay,
            epochs=self.epochs or min(max(passes, EPOCHS[0]), EPOCHS[1]),
        )
