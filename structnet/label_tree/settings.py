"""The hyper-parameters of a label tree's training, with their defaults and ranges.

Nothing here imports torch, so that the command can print them without delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from structnet.checks import check_bool, check_integers, check_number, check_one_of

Tree = Literal["learned", "huffman", "clusters", "complete", "random"]
Gain = Literal["margin", "exact", "paper", "eq10"]
Start = Literal["huffman", "clusters", "groups", "naive_bayes"]
Prior = Literal["anchored", "uniform", "index"]
Method = Literal["greedy", "optimal"]
TREES, GAINS, STARTS = get_args(Tree), get_args(Gain), get_args(Start)
PRIORS, METHODS = get_args(Prior), get_args(Method)


@dataclass(frozen=True)
class LabelTreeSettings:
    """How a label tree is trained; settings that are not given (None) are chosen from the data.

    Args:
        tree: kind of tree: "learned" moves labels during training, or groups them once (see
            start); "huffman", "clusters" (k-means of the labels' mean examples), "complete" (by
            frequency) and "random" are fixed. By default learned, Huffman's or, for sparse rows
            that are classified directly, clusters: whichever is best on held-out samples.
        arity: number of children of a node; by default the square root of the number of labels, but
            at least 20 and at most 128, or the number of labels itself if a single node is better
            than a tree on held-out samples. A single node is tried with up to 500 labels, and with
            more if it learns in seconds, without vectors. On a table it starts as a linear
            discriminant analysis, and is tried first.
        vector_size: length of the vectors learned for features; 0 means none: each node has a
            weight for every feature. By default 0 for a table; for sparse rows and text 50, or 0 if
            that is better on held-out samples.
        epochs: number of passes through the data; by default 5, more if there are few samples,
            fewer for a single node without vectors, and none if they do not help there (see arity
            and start).
        learning_rate: initial learning rate, which falls to 0; by default the best of several on
            held-out samples.
        start: way to a learned tree: by reassignments from the tree of "huffman" or of "clusters",
            or by "groups" of labels, which are made once, after a fifth of the training. By default
            clusters if no vectors are learned; otherwise groups, or, with a warning, huffman if
            rebuilds, prior_weight, memory or another setting of reassignments
            (:class:`structnet.label_tree.LabelTreeSettings` has all) differs from its default. To
            compare values of these, give start; otherwise two different ways are compared.
            "naive_bayes" is no such way: the nodes of a tree that is not learned, or a single node,
            are naive Bayes of sparse rows without negative numbers and, if epochs are given, the
            mean of that and of what is trained. By default they are naive Bayes where that is
            better on held-out samples, and the mean where it is surer and about as often right.
        rebuilds: number of reassignments, spread evenly over the first half of training.
        gain: value of moving a label to a child. With q the label's share of the node's examples, p
            their mean probability of the child, and P that of all examples, it is "margin",
            q(p-P); "exact", the gradient of the node's objective with respect to p; "eq10",
            Equation 10 of the paper, which is that gradient without cross terms (the label's effect
            on others through P), 2/M q(1-q) sign(p-P) for M children; or "paper", Equation 12 of
            the paper, q(1-q) sign(p-P) p.
        prior: observations that are added to a label's own, "anchored" to its present place or not.
        prior_weight: number of observations that are added to those of a label, by default at its
            present place (see ``prior`` of :class:`structnet.label_tree.LabelTreeSettings`): the
            more, the fewer labels move. With many rare labels, a weight of 10 and a memory of 0.9
            keep them from moving by chance.
        method: "greedy" assigns pairs of a label and a child in order of falling gain; "optimal"
            tries all assignments where a node is small.
        max_depth: largest number of decisions on a path; by default no limit.
        memory: share of the statistics that is kept after a reassignment.
        bias: learned bias of each child.
        temperature: number by which the scores of all nodes are divided at the end of ``fit``: the
            higher, the less sure of their labels they are. By default the one from 1 to 8 with the
            least loss of held-out samples, of at least 100, for sparse rows or text; 1 for a table,
            or if the kind of tree and the rate are given, so that nothing is tried.
        seed: number that determines everything random.

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
    vector_size: int | None = None
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
    temperature: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_integers(self, optional=True, arity=2, vector_size=0, epochs=0, max_depth=1)
        check_integers(self, rebuilds=1, seed=0)
        check_number("learning_rate", self.learning_rate, 0, open=True, optional=True)
        check_number("prior_weight", self.prior_weight, 0, open=True)
        check_number("temperature", self.temperature, 0, open=True, optional=True)
        check_number("memory", self.memory, 0, 1)
        check_bool("bias", self.bias)
        if self.tree is not None:
            check_one_of("tree", self.tree, TREES)
        if self.start is not None:
            check_one_of("start", self.start, STARTS)
        if self.start == "naive_bayes" and (self.tree == "learned" or self.vector_size):
            kind = 'tree="learned"' if self.tree == "learned" else f"vector_size={self.vector_size}"
            raise ValueError(
                'start="naive_bayes" is for a tree that is not learned and has no vectors of '
                f"features. Got {kind}."
            )
        for name, known in (("gain", GAINS), ("prior", PRIORS), ("method", METHODS)):
            check_one_of(name, getattr(self, name), known)

    @property
    def begins(self) -> Start:
        """The way to a learned tree, as given or as it follows from the other settings.

        Groups: Huffman's tree for a fifth of the training, and then the tree that :func:`.grouped`
        makes from what has been learned of the labels' examples (or the tree of k-means, if the
        former is deeper than ``max_depth``), without reassignments. ``partial_fit`` always
        reassigns, by default from Huffman's tree or clusters.
        """
        if self.start or not self.vector_size:
            return self.start or "clusters"
        return "huffman" if self.of_reassignments else "groups"

    @property
    def of_reassignments(self) -> list[str]:
        """The names of settings for reassignments alone that differ from their defaults."""
        names = ("rebuilds", "gain", "prior", "prior_weight", "method", "memory")
        return [name for name in names if getattr(self, name) != getattr(type(self), name)]

    @property
    def is_free(self) -> bool:
        """True if the settings leave the kind of tree open, so that a single node may be tried."""
        says_nothing = self.start in (None, "naive_bayes")
        return self.tree is None and says_nothing and not self.of_reassignments

    @property
    def rules(self) -> dict[str, Any]:
        """The arguments of :class:`.TreeSoftmaxLoss` for reassignments and biases."""
        names = ("gain", "prior", "prior_weight", "method", "max_depth", "memory", "bias")
        return {name: getattr(self, name) for name in names}
