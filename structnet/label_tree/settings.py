"""The hyper-parameters of a label tree's training: every default and range, once.

Nothing here imports torch, so that the command can say them at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from structnet.checks import check_bool, check_integer, check_number, check_one_of

Tree = Literal["learned", "huffman", "clusters", "complete", "random"]
Gain = Literal["margin", "exact", "paper", "eq10"]
Start = Literal["huffman", "clusters", "groups"]
Prior = Literal["anchored", "uniform", "index"]
Method = Literal["greedy", "optimal"]
TREES, GAINS, STARTS = get_args(Tree), get_args(Gain), get_args(Start)
PRIORS, METHODS = get_args(Prior), get_args(Method)


@dataclass(frozen=True)
class LabelTreeSettings:
    """How a label tree is trained; what is None is chosen from the data.

    Args:
        tree: "learned" moves labels while it trains, or groups them once (see start);
            "huffman", "clusters" (k-means of the labels' mean examples), "complete" (by frequency)
            and "random" stay as they begin. By default learned or Huffman's or, where it decides on
            sparse rows themselves, clusters: whichever is best on samples held out.
        arity: children of a node; by default the root of the number of labels, from 20 to 128, or
            as many as there are labels, if a single node is better than a tree on samples held
            out. It is tried of up to 500 labels, and of more where it learns in seconds, without
            vectors. Of a table it begins at a linear discriminant analysis, and is tried first.
        embedding_size: size of the features' vectors; 0 decides on the features themselves, with a
            weight of each at every node. By default 0 for a table; for what is sparse or text 50,
            or 0 if that is better on samples held out.
        epochs: passes through the data; by default 5, and of few samples more, though fewer at a
            single node without vectors, and none where these do not help: see arity.
        learning_rate: rate of the steps, before it falls to 0; by default the best of some on
            samples held out.
        start: way to a learned tree: by reassignments from that of "huffman" or of "clusters", or
            by "groups" of labels once, after a fifth of the training. By default clusters where the
            features are not learned; else groups, or huffman, with a warning, where rebuilds, gain,
            prior, prior_weight, method or memory is other than its default: whoever compares values
            of these gives a start, or two ways are compared.
        rebuilds: number of reassignments, evenly over the first half of training.
        gain: worth of a label's going to a child: "margin", the "exact" gradient, or the "paper"'s.
        prior: observations that stand beside a label's own, "anchored" to its place or not.
        prior_weight: number of these observations: the more, the fewer labels move. With many rare
            labels a weight of 10 and a memory of 0.9 keep them from moving by chance.
        method: "greedy" takes pairs of a label and a child by falling gain; "optimal" tries all
            ways where a node is small.
        max_depth: most decisions on a path; by default without limit.
        memory: share of the statistics that stays after a reassignment.
        bias: bias of each child, which is learned.
        seed: number that everything random follows from.

    Raises:
        ValueError: a value is out of its range.

    Reference:
        Jernite et al., ICML 2017, Sec. 5.1: 50 reassignments, dimension 50, 5 epochs.

    Example:
        >>> LabelTreeSettings(arity=1)
        Traceback (most recent call last):
        ValueError: The 'arity' parameter must be an int in the range [2, inf) or None. Got 1
        instead.
    """

    tree: Tree | None = None
    arity: int | None = None
    embedding_size: int | None = None
    epochs: int | None = None
    learning_rate: float | None = None
    start: Start | None = None
    rebuilds: int = 50
    gain: Gain = "margin"
    prior: Prior = "anchored"
    prior_weight: float = 1.0
    method: Method = "greedy"
    max_depth: int | None = None
    memory: float = 0.5
    bias: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least, optional in (
            ("arity", 2, True),
            ("embedding_size", 0, True),
            ("epochs", 0, True),
            ("rebuilds", 1, False),
            ("max_depth", 1, True),
            ("seed", 0, False),
        ):
            check_integer(name, getattr(self, name), least, optional=optional)
        check_number("learning_rate", self.learning_rate, 0, open=True, optional=True)
        check_number("prior_weight", self.prior_weight, 0, open=True)
        check_number("memory", self.memory, 0, 1)
        check_bool("bias", self.bias)
        if self.tree is not None:
            check_one_of("tree", self.tree, TREES)
        if self.start is not None:
            check_one_of("start", self.start, STARTS)
        for name, known in (("gain", GAINS), ("prior", PRIORS), ("method", METHODS)):
            check_one_of(name, getattr(self, name), known)

    @property
    def begins(self) -> Start:
        """The way to a learned tree, as it is told or follows from the rest.

        Groups: Huffman's tree for a fifth of the training, and then the tree of :func:`.grouped` by
        what has been learnt of the labels' examples (that of k-means, where it is deeper than
        ``max_depth``), without reassignments. ``partial_fit`` always reassigns, by default from
        Huffman's tree or clusters.
        """
        if self.start or not self.embedding_size:
            return self.start or "clusters"
        return "huffman" if self.of_reassignments else "groups"

    @property
    def of_reassignments(self) -> list[str]:
        """The names of what tells only of reassignments and is other than its default."""
        names = ("rebuilds", "gain", "prior", "prior_weight", "method", "memory")
        return [name for name in names if getattr(self, name) != getattr(type(self), name)]

    @property
    def rules(self) -> dict[str, Any]:
        """What a tree must know of the reassignment, and whether it has biases."""
        names = ("gain", "prior", "prior_weight", "method", "max_depth", "memory", "bias")
        return {name: getattr(self, name) for name in names}
