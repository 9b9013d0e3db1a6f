"""The hyper-parameters of a neural tree's training: every default and range, once.

Nothing here imports torch, so that the command can say them at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from structnet.checks import check_bool, check_integer, check_number


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
        min_samples: training samples that must be expected at a leaf for anything to be tried
            there. A gain from fewer is noise, and each split would lead to others.
        epochs: most epochs for the root, and for each split or deepening that is tried.
        refine_epochs: epochs for the whole tree, once it has grown; 0 leaves it as it grew.
        patience: epochs in a row without a new best after which a training of the growth stops;
            None never stops.
        n_init: number of times that each split or deepening is trained, from other beginnings; the
            best one counts. A split that began badly may never become a decision.
        batch_size: samples a step.
        learning_rate: learning rate of Adam; in refinement a tenth of it after every 50 epochs.
        warm_start_solvers: begin new solvers as copies of their leaf's own, where that fits.
        prune: share of the training samples below which a branch is cut in the end; None cuts none.
        seed: number that everything random follows from.

    Raises:
        ValueError: a value is out of its range.

    Reference:
        Tanno et al., Adaptive Neural Trees, ICML 2019, Supp. C: batches of 512, a learning rate of
        1e-3, a patience of 5.

    Example:
        >>> NeuralTreeSettings(max_leaves=8).batch_size
        512
        >>> NeuralTreeSettings(max_leaves=0)
        Traceback (most recent call last):
        ValueError: The 'max_leaves' parameter must be an int in the range [1, inf) or None. Got 0
        instead.
    """

    max_depth: int | None = None
    max_leaves: int | None = None
    max_parameters: int | None = None
    max_transformers: int | None = None
    min_gain: float = 0.0
    min_samples: float = 2.0
    epochs: int = 100
    refine_epochs: int = 100
    patience: int | None = 5
    n_init: int = 1
    batch_size: int = 512
    learning_rate: float = 1e-3
    warm_start_solvers: bool = False
    prune: float | None = None
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
            ("batch_size", 1, False),
            ("seed", 0, False),
        ):
            check_integer(name, getattr(self, name), least, optional=optional)
        check_number("min_gain", self.min_gain, -math.inf, open=True)
        check_number("min_samples", self.min_samples, 0)
        check_number("learning_rate", self.learning_rate, 0, open=True)
        check_number("prune", self.prune, 0, 1, optional=True)
        check_bool("warm_start_solvers", self.warm_start_solvers)
