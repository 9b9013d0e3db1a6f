"""The hyper-parameters of a neural tree's training, with their defaults and ranges.

Torch is imported only when an optimizer is made, so that the command's help does not wait for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from structnet.checks import check_bool, check_integers, check_number

STEPS = 16  # steps of an epoch at which the automatic batch size aims
WAIT = 240  # steps without a new best after which none is expected
INPUTS = 16  # columns of a table above which new modules are penalised, and learn more slowly
BEGUN = 120  # as WAIT, for new modules at a trained leaf, most of which gain nothing


@dataclass(frozen=True)
class NeuralTreeSettings:
    """How far a neural tree may grow, and how it is trained.

    Args:
        max_depth: largest number of routers on a path; by default no limit.
        max_leaves: largest number of leaves of the tree; by default no limit.
        max_transformers: largest number of transformers on a path; by default no limit. The
            transformer of the root counts, and always exists if the tree has transformers at all: 0
            leaves that one, as does 1.
        min_gain: decrease of the validation loss that a split or a deepening must exceed.
        gain_errors: number of its standard errors, over the validation samples, that this decrease
            must exceed as well: a decrease that other validation samples might undo is no gain. Of
            squared errors with heavy tails, a few samples make most; then the decrease of absolute
            errors counts if it is surer. Where a linear model of fewer than 2,000 samples of a
            table gains, but not so surely, fifths of these are held out in turn, and the decrease
            over all that were counts; not where the user gives validation samples.
        prefer_split: take a split that gains, even if a deepening would gain more; a deepening is
            then tried only where no split gains, unless either begins as steps, and is taken if it
            gains more: beyond chance, unless one of the two began so. False takes the better of the
            two, as in the paper.
        min_samples: number of training samples that must be expected at a leaf for anything to be
            tried there. A gain from fewer samples hardly ever exceeds its noise.
        epochs: largest number of epochs for the root, and for each split or deepening that is
            tried.
        refine_epochs: epochs in which the whole tree is trained after growth; 0 skips this phase.
        patience: number of epochs in a row without a new best after which a training during growth
            stops; None never stops. Where epochs are short, it waits for 240 steps, or 120 for a
            split or a deepening. The training of a split or a deepening also stops as soon as it
            would not gain enough by its last epoch at its recent pace, measured over the latter
            half of its epochs but over no fewer than it waits for, unless the learning rate has a
            schedule.
        stop_refinement: end refinement, too, after that many epochs without a new best, instead of
            running all its epochs.
        n_init: number of times that each split or deepening is trained, from different initial
            weights; the best counts. A split that starts badly may never become a decision.
        batch_size: number of samples in each step; None chooses it so that an epoch has about 16
            steps, see :meth:`batch`.
        learning_rate: learning rate of Adam; in refinement it is divided by 10 after every 50
            epochs.
        weight_decay: weight decay of refinement, as in AdamW: in each step, all weights except
            biases and those of routers shrink by this share times the learning rate. Routers are
            left out because softer routers make predictions along a single path worse. If growth
            began with a penalty, that penalty is used instead, for routers as well.
        warm_start_solvers: start new solvers as copies of their leaf's solver, where the shapes
            allow it.
        balance_routers: scaling of a new router to the samples at its leaf, so that at first it
            sends about half of them to each side.
        lookahead: largest number of leaves that may replace a leaf in one split. If routers and
            solvers are linear and there are enough samples, a split starts with all the regions of
            a model tree that is fitted to what the leaf leaves unexplained, and is not tried if
            there is only one region; with 1, every split starts at random, with a single router. If
            there are too many columns for the number of samples, regions are sought in the few
            columns that tell most, if any do. A region has at least 4 % of all samples, and 1.5
            times ``prune``; its borders are perpendicular to columns or, where that is clearly
            better, to two rotated axes in the plane of two columns. Where regions without a slope,
            with hard borders, which may have as few as 8 samples, explain more, as where rules have
            thresholds, a split with such a start is trained too; and where a sum of thresholds of
            several columns explains more than regions, deepenings whose units start as its steps.
            Either counts if it is better beyond chance, or has no more leaves. Where columns have
            few values and regions among the steps between these explain most, a split is trained
            too whose transformer starts as these steps. Where classes are steps of one number, such
            as low, middle and high, a split of hard regions that explain this number is tried too.
        cache_bytes: largest size in bytes of the cache of what reaches a leaf; without a cache, the
            tree above the leaf is run at every step.
        prune: share of the training samples that each branch must have. A split with a smaller
            branch is not taken, and a branch that becomes smaller later is cut: before a training
            on all samples, which is repeated if more have become smaller in it; or, without one or
            for numbers with heavy tails, at the end, unless this raises the validation loss by more
            than chance. None requires no share.
        strength: strength of the penalty of the linear model as which a tree on a table starts:
            half of it times the sum of squared weights is added to the mean loss. None takes the
            one at which held-out samples are predicted best. What grows from the model has the same
            penalty, or a lighter one. The penalty of Gaussians is that of the squared errors.
        seed: number that determines everything random.

    Raises:
        ValueError: a value is out of its range.

    Reference:
        Tanno et al., "Adaptive Neural Trees", ICML 2019, Supp. C: batches of 512, a learning rate
        of 1e-3, no weight decay, a patience of 5, new solvers from scratch, one router at a time,
        any gain at all, the better of split and deepening, all epochs of refinement, no pruning.
        The defaults here are for tables of hundreds or thousands of rows; runs on the paper's data
        sets use the paper's values, except for ``prune``, and for ``gain_errors`` and the weight
        decay on SARCOS.

    Example:
        >>> NeuralTreeSettings(max_leaves=8).learning_rate
        0.01
        >>> NeuralTreeSettings(max_leaves=0)
        Traceback (most recent call last):
        ValueError: The 'max_leaves' parameter must be an int in the range [1, inf) or None. Got 0
        instead.
    """

    max_depth: int | None = None
    max_leaves: int | None = None
    max_transformers: int | None = None
    min_gain: float = 0.01
    gain_errors: float = 2.0
    prefer_split: bool = True
    min_samples: float = 64.0
    epochs: int = 100
    refine_epochs: int = 50
    patience: int | None = 5
    stop_refinement: bool = True
    n_init: int = 1
    batch_size: int | None = None
    learning_rate: float = 1e-2
    weight_decay: float = 0.0
    warm_start_solvers: bool = True
    balance_routers: bool = True
    lookahead: int = 64
    cache_bytes: float = 4e9
    prune: float | None = 0.01
    strength: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_integers(self, epochs=1, refine_epochs=0, n_init=1, lookahead=1, seed=0)
        check_integers(self, optional=True, max_depth=0, max_leaves=1, max_transformers=0)
        check_integers(self, optional=True, patience=1, batch_size=1)
        check_number("min_gain", self.min_gain, -math.inf, open=True)
        check_number("gain_errors", self.gain_errors, 0)
        check_number("min_samples", self.min_samples, 0)
        check_number("learning_rate", self.learning_rate, 0, open=True)
        check_number("weight_decay", self.weight_decay, 0)
        check_number("cache_bytes", self.cache_bytes, 0)
        check_number("prune", self.prune, 0, 1, optional=True)
        check_number("strength", self.strength, 0, open=True, optional=True)
        for name in ("balance_routers", "prefer_split", "stop_refinement", "warm_start_solvers"):
            check_bool(name, getattr(self, name))

    def batch(self, size: int) -> int:
        """Number of samples in each step, for this number of training samples.

        With few samples, large batches give an epoch so few steps that nothing is learned before
        patience ends; with many, small batches only take time.

        Example:
            >>> [NeuralTreeSettings().batch(size) for size in (100, 1000, 5000, 60_000)]
            [16, 64, 256, 512]
        """
        if self.batch_size is not None:
            return self.batch_size
        return 2 ** min(max(round(math.log2(max(size, 1) / STEPS)), 4), 9)

    def waits(self, size: int, steps: int = WAIT) -> int | None:
        """Number of epochs without a new best that end a training on this number of samples.

        Args:
            size: number of samples.
            steps: smallest number of steps without a new best.

        Example:
            >>> [NeuralTreeSettings().waits(size) for size in (100, 1000, 5000, 60_000)]
            [39, 16, 13, 5]
        """
        if self.patience is None:
            return None
        return max(self.patience, math.ceil(steps * self.batch(size) / max(size, 1)))

    def adam(
        self, strength: float | None = None, decay: float = 0.0, spared: Iterable[Any] = ()
    ) -> Callable[..., Any]:
        """A function that makes the optimizer: Adam at the learning rate, in a fused form.

        A step of Adam moves every weight by about the same amount, and therefore moves an output
        the more, the more inputs it has. With a penalty, weights of more than 16 inputs get a
        smaller learning rate, in proportion to their number.

        Args:
            strength: strength of a penalty, half of it times the sum of squares of all weights
                except biases, for what grows from a penalised linear model; None or 0 is no
                penalty.
            decay: weight decay if there is no penalty.
            spared: parameters without weight decay.

        Reference:
            Yang et al., "Tensor Programs V", 2022, for the same rule in wide networks; Loshchilov
            and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, for the decay.
        """
        return partial(_adam, self.learning_rate, strength or 0.0, decay, frozenset(spared))


def _adam(
    learning_rate: float,
    strength: float,
    decay: float,
    spared: frozenset[Any],
    parameters: Iterable[Any],
) -> Any:
    from torch.optim import Adam, AdamW

    if not (strength or decay):
        return Adam(parameters, lr=learning_rate, fused=True)
    groups: dict[tuple[float, float], list[Any]] = {}  # by learning rate and decay
    for each in parameters:
        inputs = each[0].numel() if each.dim() > 1 else 0  # 0 for a bias
        rate = learning_rate * (min(1.0, INPUTS / max(inputs, 1)) if strength else 1.0)
        held = strength or (0.0 if each in spared else decay)
        groups.setdefault((rate, held if inputs else 0.0), []).append(each)
    param_groups = [
        {"params": each, "lr": rate, "weight_decay": held} for (rate, held), each in groups.items()
    ]
    return (Adam if strength else AdamW)(param_groups, lr=learning_rate, fused=True)
