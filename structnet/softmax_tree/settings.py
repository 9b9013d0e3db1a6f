"""The hyper-parameters of softmax trees: every default and range, once.

Nothing here imports torch, so that the command can say them at once. None leaves a value to
``choice``, which finds it from the sizes of the data and a part of them that is held out.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from structnet.checks import check_integer, check_number, check_one_of, wrong

Start = Literal["centroids", "rows", "random", "axes"]
STARTS: tuple[str, ...] = get_args(Start)


@dataclass(frozen=True)
class SoftmaxTreeSettings:
    """The structure of a softmax tree, and how it is trained.

    What is not said is chosen by the sizes of the data and by samples that are held out.

    Args:
        depth: decisions on each path of the tree to begin with; 0 is a flat softmax.
        k: most classes of a leaf.
        decision_penalty: lambda, the weight of the L1 norm of a decision node's weights; the
            objective is a sum over samples.
        leaf_penalty: mu, the same for the weights of a leaf. Where it is left open, a quadratic
            penalty may be chosen beside it, ``model.trained_.settings.leaf_ridge``, the weight of
            half the squared L2 norm; :func:`.train` takes these settings with all that was chosen.
        missing_loss: loss of a sample whose class its leaf lacks; by default 2 log K. Below log K
            training collapses into few classes.
        max_iter: most iterations over all nodes.
        tol: relative fall of the objective below which it stops.
        solver_steps: most steps of the solver for one node in one iteration.
        start: tree to begin with: "centroids" parts the classes by balanced 2-means on their
            means, with the median as threshold; "rows" parts the rows by 2-means, whatever their
            classes; of both the best of eight trees is taken where leaves may not have all classes;
            "random" draws directions; "axes" is a decision tree of single features, as scikit-learn
            grows it down to the depth.
        n_jobs: threads that train the nodes of a depth; the results are the same.
        seed: number that everything random follows from.

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
    solver_steps: int = 40
    start: Start | None = None
    n_jobs: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("depth", self.depth, 0, optional=True)
        check_integer("k", self.k, 1, optional=True)
        for name in ("decision_penalty", "leaf_penalty"):
            check_number(name, getattr(self, name), 0, optional=True)
        check_number("missing_loss", self.missing_loss, 0, open=True, optional=True)
        check_number("tol", self.tol, 0)
        if self.start is not None:
            check_one_of("start", self.start, STARTS)
        for name, least in (("max_iter", 0), ("solver_steps", 1), ("n_jobs", 1), ("seed", 0)):
            check_integer(name, getattr(self, name), least)

    def check_classes(self, num_classes: int) -> None:
        """Refuses more classes a leaf than there are.

        Raises:
            ValueError: k is larger than their number.
        """
        if self.k is not None and self.k > num_classes:
            raise wrong("k", f"at most {num_classes}, the number of classes", self.k)

    def loss_of_missing(self, num_classes: int) -> float:
        """What a sample costs whose class its leaf lacks.

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
    """Those of a training, with what is always left to the choice.

    Args:
        leaf_ridge: nu, the weight of half the squared L2 norm of a leaf's weights; it is chosen
            where leaf_penalty is left open, and else it stays as it is.

    Raises:
        ValueError: a value is out of its range.

    Example:
        >>> ChosenSettings(leaf_ridge=-1)
        Traceback (most recent call last):
        ValueError: The 'leaf_ridge' parameter must be a number in the range [0, inf). Got -1
        instead.
    """

    leaf_ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("leaf_ridge", self.leaf_ridge, 0)

    @classmethod
    def of(cls, settings: SoftmaxTreeSettings) -> ChosenSettings:
        """The same settings, with a ridge of 0 if they are those that a user tells."""
        return cls(**vars(settings))


@dataclass(frozen=True)
class GrowthSettings:
    """How a softmax tree grows (Sec. 4 of the paper).

    Args:
        alpha: factor from a leaf's number of classes to that of the leaves that replace it.
        rho: ratio of the new subtree's loss to the leaf's below which it replaces the leaf.
        start_depth: decisions on each path of the tree that growth begins with.
        start_k: most classes of its leaves, or all if there are no more; by default as many as if
            it had grown from one leaf of all, but no fewer than twice those that fall to each leaf.
            Where leaves begin narrow, every division covers more classes: growth goes further.
        step: depth of a subtree that is tried, 1 or 2.
        ratio_of: "loss" compares losses, "objective" penalties as well.
        k_from: "actual" contracts the number of classes that a leaf has, "nominal" the most that
            it may have.
        max_depth: most decisions on a path; by default without limit.
        max_leaves: most leaves of the tree; by default without limit.
        max_rounds: most rounds of growth.
        min_samples: samples that must come to a leaf for anything to be tried there.

    Raises:
        ValueError: a value is out of its range.

    Warns:
        UserWarning: rho is 1 or more: leaves are split that get worse.

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
        check_integer("start_depth", self.start_depth, 0, optional=True)
        check_integer("start_k", self.start_k, 1, optional=True)
        check_integer("max_depth", self.max_depth, 0, optional=True)
        check_integer("max_leaves", self.max_leaves, 1, optional=True)
        for name in ("step", "max_rounds", "min_samples"):
            check_integer(name, getattr(self, name), 1)
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
        """The most decisions on each path of a tree to begin with that is within the limits."""
        depth = math.inf if self.max_depth is None else self.max_depth
        return (
            depth if self.max_leaves is None else min(depth, int(self.max_leaves).bit_length() - 1)
        )

    def narrowed(self, classes: int, k: int) -> int:
        """The most classes of the leaves in place of one that has so many of k that it may have.

        Example:
            >>> GrowthSettings(alpha=0.5).narrowed(10, 20), GrowthSettings(alpha=0.9).narrowed(2, 2)
            (5, 1)
        """
        assert self.alpha is not None
        classes = classes if self.k_from == "actual" else k
        return min(math.floor(self.alpha * classes), classes - 1)

    def check_start(self) -> None:
        """Refuses a tree to begin with that may be beyond the limits.

        Raises:
            ValueError: the depth to begin with is above what max_depth or max_leaves allow.
        """
        if self.start_depth is not None and self.start_depth > self.deepest:
            raise ValueError(
                f"growth begins at the depth {self.start_depth}; expected at most {self.deepest}, "
                f"which max_depth={self.max_depth} and max_leaves={self.max_leaves} allow"
            )


@dataclass(frozen=True)
class ChosenGrowth(GrowthSettings):
    """Those of a training, with what is always left to the choice.

    Args:
        least_k: classes that a leaf may have at least, if there are so many; 0 where alpha is told.
            Of few classes, narrow leaves save nothing, and know too little to be of use.

    Example:
        >>> ChosenGrowth(alpha=0.7, least_k=10).narrowed(5, 5)
        5
    """

    least_k: int = 0  # type: ignore[misc]  # a field, for the constant

    def narrowed(self, classes: int, k: int) -> int:
        """As in other growth, but no fewer than ``least_k``."""
        return max(super().narrowed(classes, k), min(self.least_k, k))
