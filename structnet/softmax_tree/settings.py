"""The hyper-parameters of softmax trees, with their defaults and ranges.

Nothing here imports torch, so that the command's help does not wait for it. None leaves a value to
``choice``, which finds it by the sizes of the data and held-out samples.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from structnet.checks import (
    check_integer,
    check_integers,
    check_jobs,
    check_number,
    check_one_of,
    wrong,
)

Start = Literal["centroids", "rows", "random", "axes"]
STARTS: tuple[str, ...] = get_args(Start)


@dataclass(frozen=True)
class SoftmaxTreeSettings:
    """The structure of a softmax tree, and how it is trained.

    Settings that are not given are chosen from the sizes of the data and on held-out samples.

    Args:
        depth: number of decisions on each path of the initial tree; 0 is a flat softmax.
        k: largest number of classes in a leaf.
        decision_penalty: lambda, the weight of the L1 norm of a decision node's weights, in an
            objective that is a sum over samples.
        leaf_penalty: mu, the same for the weights of a leaf. If it is not given, a quadratic
            penalty may be chosen in addition: half the squared L2 norm, with a weight nu,
            ``leaf_ridge``.
        missing_loss: loss of a sample whose class is missing from its leaf; by default 2 log K,
            where K is the number of classes. Below log K, training collapses into few classes.
        max_iter: largest number of iterations over all nodes.
        tol: relative decrease of the objective below which training stops.
        solver_steps: largest number of steps of the solver for one node in one iteration. More of
            them, while the other nodes are still bad, end in a worse tree.
        start: initial tree: "centroids" divides the classes by balanced 2-means on their means,
            with the median as threshold; "rows" divides the rows by 2-means, whatever their
            classes; for both, if leaves may not have all classes, the best of eight trees is taken;
            "random" draws directions at random; "axes" is a decision tree on single features, grown
            by scikit-learn to this depth.
        n_jobs: number of threads that train the nodes of one depth, and the further of several
            trees, by default 1; -1 for all cores, -2 for all but one, and so on. The results do not
            depend on it.
        seed: number that determines everything random.

    Raises:
        ValueError: a value is out of its range.

    Example:
        >>> SoftmaxTreeSettings(depth=3, k=10).max_iter
        20
        >>> SoftmaxTreeSettings(depth=-1)
        Traceback (most recent call last):
        ValueError: The 'depth' parameter must be an int in the range [0, inf) or None. Got -1
        instead.
    """

    depth: int | None = None
    k: int | None = None
    decision_penalty: float | None = None
    leaf_penalty: float | None = None
    missing_loss: float | None = None
    max_iter: int = 20
    tol: float = 1e-3
    solver_steps: int = 20
    start: Start | None = None
    n_jobs: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_integers(self, optional=True, depth=0, k=1)
        for name in ("decision_penalty", "leaf_penalty"):
            check_number(name, getattr(self, name), 0, optional=True)
        check_number("missing_loss", self.missing_loss, 0, open=True, optional=True)
        check_number("tol", self.tol, 0)
        if self.start is not None:
            check_one_of("start", self.start, STARTS)
        check_integers(self, max_iter=0, solver_steps=1, seed=0)
        check_jobs(self.n_jobs)

    def check_classes(self, num_classes: int) -> None:
        """Refuses a leaf size above the number of classes.

        Raises:
            ValueError: k is larger than their number.
        """
        if self.k is not None and self.k > num_classes:
            raise wrong("k", f"at most {num_classes}, the number of classes", self.k)

    def of_at_most(self, num_classes: int, **others: Any) -> SoftmaxTreeSettings:
        """The same settings with leaves of at most this many classes, and other values.

        Example:
            >>> SoftmaxTreeSettings(k=10).of_at_most(3, seed=1).k
            3
        """
        k = None if self.k is None else min(self.k, num_classes)
        return replace(self, k=k, **others)

    def loss_of_missing(self, num_classes: int) -> float:
        """The loss of a sample whose class is missing from its leaf.

        Warns:
            UserWarning: it is below log K.
        """
        if self.missing_loss is None:
            return 2 * math.log(num_classes)
        if self.missing_loss < math.log(num_classes):
            warnings.warn(
                f"missing_loss {self.missing_loss:g} is below log K = {math.log(num_classes):.3g}: "
                "it costs less to lack a class than to know nothing of it, and training may "
                "collapse into few classes; 2 log K is the default",
                stacklevel=2,
            )
        return self.missing_loss


@dataclass(frozen=True)
class ChosenSettings(SoftmaxTreeSettings):
    """The settings of a training, with those that are always chosen from the data.

    Args:
        leaf_ridge: nu, the weight of half the squared L2 norm of a leaf's weights; it is chosen if
            leaf_penalty is not given, and otherwise stays as it is.
        temperature: T, by which the scores of all leaves are divided at the end of the training; it
            is chosen by the validation samples if the tree grows, otherwise on held-out samples of
            tables that train in seconds or have few samples of each class, and where a leaf is half
            solved, if any of depth, k, start and leaf_penalty is not given.
        solved: numbers of a single leaf that is not trained but solved, which is chosen if k, start
            and leaf_penalty are left open, and depth as well or 0: the regularisation of
            :func:`structnet.estimators.few_rows.solved`, if fewer than 400 dense rows show no tree
            to be better, or more show that it is; or the assumptions of naive Bayes
            (:func:`structnet.estimators.naive_bayes.bayes_weights`) of sparse rows without negative
            numbers. With max_iter above 0, the leaf is trained, too, and is the mean of both. ()
            for a tree that is trained.
        parts: largest number of parts of each class in a solved leaf of dense rows, which is a
            softmax over parts, if held-out samples show that a class is several clusters; see
            :mod:`structnet.estimators.parts`.

    Raises:
        ValueError: a value is out of its range.

    Example:
        >>> ChosenSettings(leaf_ridge=-1)
        Traceback (most recent call last):
        ValueError: The 'leaf_ridge' parameter must be a number in the range [0, inf). Got -1
        instead.
    """

    leaf_ridge: float = 0.0
    temperature: float = 1.0
    solved: tuple[float, ...] = ()
    parts: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "solved", tuple(self.solved))  # a list in JSON
        check_number("leaf_ridge", self.leaf_ridge, 0)
        check_number("temperature", self.temperature, 0, open=True)
        check_integer("parts", self.parts, 1)

    @property
    def is_solved(self) -> bool:
        """True for a single leaf that is solved, and not trained."""
        return bool(self.solved) and not self.max_iter

    @classmethod
    def of(cls, settings: SoftmaxTreeSettings) -> ChosenSettings:
        """The same settings, with a ridge of 0 and a temperature of 1 if a user's."""
        return cls(**vars(settings))


@dataclass(frozen=True)
class GrowthSettings:
    """How a softmax tree grows (Sec. 4 of the paper).

    Args:
        alpha: number of classes in the leaves that replace a leaf, as a share of that leaf's.
        rho: ratio of a new subtree's loss to that of the leaf, below which the subtree replaces the
            leaf.
        start_depth: number of decisions on each path of the tree from which growth starts.
        start_k: largest number of classes in its leaves, capped at the number of classes; by
            default as many as if the tree had grown from a single leaf with all classes, but no
            fewer than twice the classes that fall to each leaf. With narrow leaves at the start,
            all splits together cover more classes: growth goes further.
        step: depth of a subtree that is tried, 1 or 2.
        ratio_of: "loss" compares losses, "objective" losses and penalties.
        k_from: "actual" applies alpha to the number of classes that a leaf has, "nominal" to the
            largest number that it may have.
        max_depth: largest number of decisions on a path; by default no limit.
        max_leaves: largest number of leaves of the tree; by default no limit.
        max_rounds: largest number of rounds of growth.
        min_samples: number of samples that must reach a leaf for anything to be tried there.

    Raises:
        ValueError: a value is out of its range.

    Warns:
        UserWarning: rho is 1 or more, so that leaves are split even if this makes them worse.

    Example:
        >>> GrowthSettings(alpha=1.0)
        Traceback (most recent call last):
        ValueError: The 'alpha' parameter must be a number in the range (0, 1) or None. Got 1.0
        instead.
    """

    alpha: float | None = None
    rho: float | None = None
    start_depth: int | None = None
    start_k: int | None = None
    step: int = 1
    ratio_of: Literal["loss", "objective"] = "loss"
    k_from: Literal["actual", "nominal"] = "actual"
    max_depth: int | None = None
    max_leaves: int | None = None
    max_rounds: int = 10
    min_samples: int = 10
    least_k: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, 0, 1, open=True, optional=True)
        check_number("rho", self.rho, 0, open=True, optional=True)
        check_integers(self, optional=True, start_depth=0, start_k=1, max_depth=0, max_leaves=1)
        check_integers(self, step=1, max_rounds=1, min_samples=1)
        if self.step > 2:
            raise wrong("step", "1 or 2", self.step)
        check_one_of("ratio_of", self.ratio_of, ("loss", "objective"))
        check_one_of("k_from", self.k_from, ("actual", "nominal"))
        if self.rho is not None and self.rho >= 1:
            warnings.warn(
                f"rho {self.rho:g} is 1 or more: leaves are also split where the loss rises, and "
                "only max_rounds, max_depth and max_leaves end it; expected a number below 1",
                stacklevel=2,
            )

    @property
    def deepest(self) -> float:
        """The largest number of decisions on each path of an initial tree within the limits."""
        depth = math.inf if self.max_depth is None else self.max_depth
        return (
            depth if self.max_leaves is None else min(depth, int(self.max_leaves).bit_length() - 1)
        )

    def narrowed(self, classes: int, k: int) -> int:
        """The largest number of classes in the leaves that replace one with this many of at most k.

        Example:
            >>> GrowthSettings(alpha=0.5).narrowed(10, 20), GrowthSettings(alpha=0.9).narrowed(2, 2)
            (5, 1)
        """
        assert self.alpha is not None
        classes = classes if self.k_from == "actual" else k
        return min(math.floor(self.alpha * classes), classes - 1)

    def check_start(self) -> None:
        """Refuses an initial tree that may exceed the limits.

        Raises:
            ValueError: the initial depth is more than max_depth or max_leaves allow.
        """
        if self.start_depth is not None and self.start_depth > self.deepest:
            raise ValueError(
                f"growth begins at the depth {self.start_depth}; expected at most {self.deepest}, "
                f"which max_depth={self.max_depth} and max_leaves={self.max_leaves} allow"
            )


@dataclass(frozen=True)
class ChosenGrowth(GrowthSettings):
    """The settings of growth, with those that are always chosen from the data.

    Args:
        least_k: smallest limit on the classes of a leaf, if there are that many; 0 if alpha is
            given. With few classes, narrow leaves save nothing, and know too little to be of use.

    Example:
        >>> ChosenGrowth(alpha=0.7, least_k=10).narrowed(5, 5)
        5
    """

    least_k: int = 0  # type: ignore[misc]  # a field, for the constant

    def narrowed(self, classes: int, k: int) -> int:
        """As for other growth, but no fewer than ``least_k``."""
        return max(super().narrowed(classes, k), min(self.least_k, k))
