"""The hyper-parameters of a language model, with their defaults and ranges; imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from structnet.checks import check_bool, check_integers, check_number, check_one_of
from structnet.label_tree.settings import GAINS, Gain

WITH_TREE = ("learned", "huffman", "clusters", "random")
Tree = Literal["learned", "huffman", "clusters", "random", "flat", "adaptive"]
TREES: tuple[str, ...] = get_args(Tree)

DROPOUT = 0.4
LARGE = 100  # length of vectors from which on this share is dropped


@dataclass(frozen=True)
class LanguageModelSettings:
    """How a log-bilinear language model is made and trained.

    Args:
        tree: kind of tree whose leaves are the words: one of "clusters" of similar words, which
            k-means makes of their vectors (see :func:`structnet.text.learn_vectors`) before the
            training; that of "huffman"; a "random" one; or one that is "learned", whose words move
            during training (see start and prior_weight). Or, instead of a tree, a softmax over all
            words, "flat" or "adaptive".
        context: number of previous words that are used.
        vector_size: length of the words' vectors.
        arity: number of children of a node.
        max_depth: largest number of decisions on a path; None for no limit.
        start: tree from which a learned tree starts, "clusters" or "huffman".
        epochs: number of passes through the text.
        batch_size: number of words predicted in each step.
        learning_rate: learning rate of Adagrad, which falls to a tenth in the last epoch.
        rebuilds_per_epoch: number of reassignments in each epoch.
        prior_weight: number of observations that hold a word in its place: the more, the fewer
            words move. In texts of a few thousand sentences, 20 hold all of them; with 1, many
            move, which raised the loss of all texts that we tried.
        memory: share of the statistics that is kept after a reassignment.
        dropout: share of the entries of the words' vectors, and of the vectors that represent a
            context, that is dropped in training; by default 0.4, or proportionally less for vectors
            of fewer than 100 entries.
        gain: value of moving a word to a child: "margin", "exact", "eq10" or "paper";
            :class:`structnet.label_tree.LabelTreeSettings` has the formulas.
        ngrams: counts of the words that follow sequences of up to 4 others, mixed with the model in
            the shares that make the validation text likeliest.
        seed: number that determines everything random.

    Raises:
        ValueError: a value is out of its range.

    Reference:
        Jernite et al., ICML 2017, Sec. 5.2: 4 words, size 200, 65 children, depth 3, Adagrad, 50
        reassignments an epoch.
    """

    tree: Tree = "clusters"
    context: int = 4
    vector_size: int = 200
    arity: int = 65
    max_depth: int | None = 3
    start: Literal["clusters", "huffman"] = "clusters"
    epochs: int = 5
    batch_size: int = 128
    learning_rate: float = 0.03
    rebuilds_per_epoch: int = 50
    prior_weight: float = 20.0
    memory: float = 0.5
    dropout: float | None = None
    gain: Gain = "margin"
    ngrams: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_one_of("tree", self.tree, TREES)
        check_one_of("gain", self.gain, GAINS)
        check_one_of("start", self.start, ("clusters", "huffman"))
        check_integers(self, context=1, vector_size=1, arity=2, epochs=1, batch_size=1)
        check_integers(self, rebuilds_per_epoch=1, seed=0)
        check_integers(self, optional=True, max_depth=1)
        check_number("prior_weight", self.prior_weight, 0, open=True)
        check_number("memory", self.memory, 0, 1)
        check_number("dropout", self.dropout, 0, 0.999, optional=True)
        check_bool("ngrams", self.ngrams)
        check_number("learning_rate", self.learning_rate, 0, open=True)

    @property
    def dropped(self) -> float:
        """The share of entries that is dropped, whether it was given or not."""
        return DROPOUT * min(1, self.vector_size / LARGE) if self.dropout is None else self.dropout
