"""The hyper-parameters of a neural tree's training: every default and range, once.

Nothing here imports torch, so that the command can say them at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from structnet.checks import check_bool, check_integer, check_number

STEPS = 16  # of an epoch, where the batch is chosen by the number of samples
WAIT = 240  # steps without a new best that are needed to know that none will come
INPUTS = 16  # columns of a table: of more, what grows is penalised, and moved by smaller steps
BEGUN = 120  # likewise, where modules begin beside a leaf that has learnt: most gain nothing


@dataclass(frozen=True)
class NeuralTreeSettings:
    """How far a neural tree may grow, and how it is trained.

    Args:
        max_depth: most routers on a path; None is without limit.
        max_leaves: most leaves of the tree; None is without limit.
        max_parameters: most numbers to learn in the whole tree; None is without limit. A root that
            has more by itself stays as it is.
        max_transformers: most transformers on a path; None is without limit. The root's own one
            counts and is always there, if the tree has any: 0 leaves that one, as does 1.
        min_gain: amount by which a split or a deepening must lower the validation loss, and more.
        gain_errors: standard errors of that gain, over the validation samples, by which it must
            be above 0, and more: what another draw of them might undo is no gain.
        prefer_split: take a split that gains, whatever a deepening would; a deepening is tried
            where no split gains. False takes the better of the two, as in the paper.
        min_samples: training samples that must be expected at a leaf for anything to be tried
            there. A gain from fewer is hardly ever more than its noise.
        epochs: most epochs for the root, and for each split or deepening that is tried.
        refine_epochs: epochs for the whole tree, once it has grown; 0 leaves it as it grew.
        patience: epochs in a row without a new best after which a training of the growth stops;
            None never stops. Where epochs are short, it waits for 240 steps, or 120 for a split or
            a deepening. These also end as soon as they would not gain enough by
            their last epoch at their recent pace, that over the latter half of their epochs and
            over as many as it waits for, unless the learning rate has a schedule.
        stop_refinement: end refinement, too, after so many epochs without a new best, instead of
            going through all of them.
        n_init: number of times that each split or deepening is trained, from other beginnings; the
            best one counts. A split that began badly may never become a decision.
        batch_size: samples a step; None takes as many as give an epoch some 16 steps, as
            :meth:`batch` says it.
        learning_rate: learning rate of Adam; in refinement a tenth of it after every 50 epochs.
        weight_decay: share, times the learning rate, by which each step of refinement makes all
            weights but biases and those of routers smaller, as AdamW has it: softer routers make
            a single path worse. A penalty that growth began with holds in its place, for routers,
            too.
        warm_start_solvers: begin new solvers as copies of their leaf's own, where that fits.
        balance_routers: scale a new router to the samples at its leaf, so that it starts by sending
            about half of them to each side.
        lookahead: most leaves that a split may bring at once. Where routers and solvers are linear
            and samples many enough to tell, a split begins with all regions that a model tree of
            what is unexplained at its leaf has, and is not tried where that has one; 1 begins
            every split by chance, and with a single router. Of more columns than samples can tell
            of, regions are those of the few that tell most, if any. A region has at least 4 % of
            all samples, and half more than ``prune``; its sides lie across columns, or, where that
            is clearly better, along two axes that are turned in the plane of two columns.
        cache_bytes: size of the largest cache of what reaches a leaf, in bytes; without one the
            tree above is run at every step.
        prune: share of the training samples that each branch must have. A split that leaves one
            less is not taken, and a branch that comes to less in refinement is cut in the end,
            unless validation loses by that more than by chance; None asks for none.
        seed: number that everything random follows from.

    Raises:
        ValueError: a value is out of its range.

    Reference:
        Tanno et al., Adaptive Neural Trees, ICML 2019, Supp. C: batches of 512, a learning rate of
        1e-3, no weight decay, a patience of 5, new solvers from scratch, one router at a time, any
        gain at all, the better of split and deepening, all epochs of refinement, and no branch cut.
        The defaults here are for tables of hundreds or thousands of rows; runs on the paper's data
        sets have the paper's, but for ``prune``, and SARCOS's ``gain_errors`` and weight decay.

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
    max_parameters: int | None = None
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
    lookahead: int = 16
    cache_bytes: float = 4e9
    prune: float | None = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least, optional in (
            ("max_depth", 0, True),
            ("max_leaves", 1, True),
            ("max_parameters", 0, True),
            ("max_transformers", 0, True),
            ("epochs", 1, False),
            ("refine_epochs", 0, False),
            ("patience", 1, True),
            ("n_init", 1, False),
            ("lookahead", 1, False),
            ("batch_size", 1, True),
            ("seed", 0, False),
        ):
            check_integer(name, getattr(self, name), least, optional=optional)
        check_number("min_gain", self.min_gain, -math.inf, open=True)
        check_number("gain_errors", self.gain_errors, 0)
        check_number("min_samples", self.min_samples, 0)
        check_number("learning_rate", self.learning_rate, 0, open=True)
        check_number("weight_decay", self.weight_decay, 0)
        check_bool("balance_routers", self.balance_routers)
        check_number("cache_bytes", self.cache_bytes, 0)
        check_number("prune", self.prune, 0, 1, optional=True)
        check_bool("prefer_split", self.prefer_split)
        check_bool("stop_refinement", self.stop_refinement)
        check_bool("warm_start_solvers", self.warm_start_solvers)

    def batch(self, size: int) -> int:
        """Samples a step where there are so many to learn from.

        Of few samples, large batches give an epoch so few steps that nothing is learnt before
        patience ends; of many, small ones only take time.

        Example:
            >>> [NeuralTreeSettings().batch(size) for size in (100, 1000, 5000, 60_000)]
            [16, 64, 256, 512]
        """
        if self.batch_size is not None:
            return self.batch_size
        return 2 ** min(max(round(math.log2(max(size, 1) / STEPS)), 4), 9)

    def waits(self, size: int, steps: int = WAIT) -> int | None:
        """Epochs without a new best that end a training, with so many samples to learn from.

        Args:
            size: number of samples.
            steps: steps without a new best that there must have been.

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
        """What makes the optimizer: Adam at the learning rate, in one pass over the memory.

        A step of Adam moves each weight about alike, and so an output the further, the more inputs
        it has. Beside a penalty, weights of more than 16 inputs are moved less, by their number.

        Args:
            strength: strength of a penalty, half of it times the squares of all weights, of what
                grows from a penalised linear model; None or 0 is without one. Biases are free.
            decay: weight decay where there is no penalty.
            spared: parameters that it leaves as they are.

        Reference:
            Yang et al., Tensor Programs V, 2022, has the same rule for the rates of wide networks;
            Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, is the decay.
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
    groups: dict[tuple[float, float], list[Any]] = {}  # by their rate and what holds them down
    for each in parameters:
        inputs = each[0].numel() if each.dim() > 1 else 0  # 0: a bias
        rate = learning_rate * (min(1.0, INPUTS / max(inputs, 1)) if strength else 1.0)
        held = strength or (0.0 if each in spared else decay)
        groups.setdefault((rate, held if inputs else 0.0), []).append(each)
    told = [
        {"params": each, "lr": rate, "weight_decay": held} for (rate, held), each in groups.items()
    ]
    return (Adam if strength else AdamW)(told, lr=learning_rate, fused=True)
