"""The whole training of a neural tree: growth, refinement, finish and pruning (Sec. 4)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from structnet.neural_tree.calibration import best_temperatures
from structnet.neural_tree.growth.beginning import check_beginning
from structnet.neural_tree.growth.decision import Decision
from structnet.neural_tree.growth.growth import Growth
from structnet.neural_tree.growth.measures import has_heavy_tails, of_each
from structnet.neural_tree.joined import together
from structnet.neural_tree.likelihood import GaussianMixture, Likelihood
from structnet.neural_tree.linear import fit_linear, is_linear_model
from structnet.neural_tree.primitives import Primitives
from structnet.neural_tree.pruning import prune
from structnet.neural_tree.refinement import finish, refine, sure_accuracy
from structnet.neural_tree.settings import NeuralTreeSettings
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples, as_samples
from structnet.training.gains import gained
from structnet.training.history import History
from structnet.training.metrics import OfScores, accuracy
from structnet.training.processes import own_device
from structnet.training.progress import Progress
from structnet.training.seeding import random_states_kept

SELDOM = 0.1  # factor on the share that a branch must have, if pruning at that share costs too much
# Share of the standard error of the validation loss: a smaller rise is ignored, however certain. A
# branch that no sample takes still has 1e-9 of the mixture, for all samples alike.
NEGLIGIBLE = 0.01
FOR_EACH = 10  # samples per number of an input: with fewer, Gaussians can fit all of them


@dataclass(frozen=True)
class Trained:
    """A tree and the record of its training.

    Attributes:
        tree: tree in its present state.
        decisions: decisions of its growth.
        history: a record for each epoch of all trainings, with ``phase`` ("root", "split",
            "deepen", "refine" or "finish"), ``node`` and ``decision``, the number of the decision
            for which the training was made.
        undecided: leaves that are still to be decided on; none once growth has ended.
        strength: strength of the penalty used in training; None if there is none.
    """

    tree: NeuralTree
    decisions: list[Decision]
    history: History
    undecided: list[int] = field(default_factory=list)
    strength: float | None = None

    @property
    def growth(self) -> History:
        """The records of growth."""
        return History(
            record for record in self.history if record["phase"] not in ("refine", "finish")
        )

    @property
    def refinement(self) -> History:
        """The records of refinement; ``best`` is None if it left the tree unchanged."""
        return History(record for record in self.history if record["phase"] == "refine")

    def config(self) -> dict[str, Any]:
        """Everything except the weights, as JSON; :meth:`from_config` builds it again."""
        return {
            "tree": self.tree.config(),
            "decisions": [asdict(decision) for decision in self.decisions],
            "history": list(self.history),
            "strength": self.strength,
        }

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], primitives: Primitives, likelihood: Likelihood
    ) -> Trained:
        """The tree with new weights, and the record of its training."""
        decisions = [Decision(**decision) for decision in config["decisions"]]
        most = 1 + len(decisions)  # transformers, as a decision adds one at most
        with random_states_kept(torch.device("cpu")):
            tree = NeuralTree.from_config(config["tree"], primitives, likelihood, most)
        return cls(tree, decisions, History(config["history"]), strength=config["strength"])


Found = TypeVar("Found", bound=Trained)


def train(
    tree: NeuralTree,
    settings: NeuralTreeSettings,
    train: Samples | Dataset | DataLoader,
    validation: Samples | Dataset | DataLoader,
    everything: Samples | None = None,
    *,
    device: str | torch.device = "cpu",
    folder: str | Path | None = None,
    callbacks: Sequence[Callable[[Trained], Any]] = (),
    progress: bool = False,
) -> Trained:
    """Grows a tree from its root, refines it, prunes it, and trains it on all samples at the end.

    For classes, refinement keeps the epoch with the highest validation accuracy, in which samples
    count by their weights; of what grew from a linear model of a table, the one with the highest
    :func:`.sure_accuracy`; for numbers, the one with the lowest loss. The weights that are kept are
    their mean over the steps of that epoch. What has stayed a linear model of a table is not
    refined: at the end, its optimum is computed anew. The :func:`.best_temperatures` are those of
    the tree before it learns from the validation samples.

    Args:
        tree: root without children; it is grown in place.
        train: training samples; or a torch Dataset or a DataLoader of them, as for
            :class:`.Growth`.
        validation: validation samples, likewise.
        everything: samples for the last training, both of the above, for as many epochs as
            refinement took to its lowest validation loss, and half of those it may have at most:
            what refinement would learn too much by, this would as well. None leaves the tree as it
            was refined; so does a mixture of Gaussians with fewer than ten samples for each column.
        device: "cpu", "cuda", ...; the tree stays there.
        folder: folder for the state, which is saved after each decision and each epoch. A training
            is resumed from what is there, and ends with the same tree, bit for bit.
        callbacks: functions called as ``callback(trained)`` after every decision of growth and
            every epoch of refinement, with what there is so far.
        progress: report progress, as :class:`.Growth` does, in refinement too.

    Returns:
        The tree as it was grown and refined or, if it was pruned, its pruned copy.

    Raises:
        ValueError: the tree has grown already, or the samples do not fit it or are too few.
        CheckpointError: the state in the folder belongs to another training.

    Example:
        >>> from structnet.neural_tree import SquaredError, presets
        >>> x = torch.linspace(-1, 1, 100)[:, None]
        >>> samples = Samples(x, x.abs())  # two straight lines
        >>> root = NeuralTree(presets.mlp(1).without(transformers=True), (1,), SquaredError())
        >>> short = NeuralTreeSettings(max_leaves=2, epochs=20, batch_size=10, learning_rate=0.05)
        >>> trained = train(root, short, samples, samples)
        >>> [decision.action for decision in trained.decisions]
        ['root', 'split', 'keep', 'keep']
    """
    train, validation = check_beginning(tree, train, validation)
    folder = None if folder is None else Path(folder)
    report = Progress.of(progress)
    shared: dict[str, Any] = {"device": device, "progress": report, "resume": folder is not None}

    def tell(*refined: Any) -> None:
        for callback in callbacks:
            callback(_so_far(growth, *refined))

    measures = {} if tree.num_classes is None else {"accuracy": accuracy}
    growth = Growth(
        tree,
        train,
        validation,
        settings,
        metrics=measures,
        folder=folder,
        callbacks=[lambda growth, decision: tell()],
        **shared,
    )
    # The validation samples were then drawn from all samples, as those of a part are. But with the
    # strength, columns may have been chosen by the training samples: their parts are nothing new.
    growth.in_parts = everything is not None and settings.strength is None
    growth.run()
    refined, last = History(), History()
    refinement = None if folder is None else folder / "refinement"
    # A linear model is at its optimum, unless it was a trained network that was better.
    linear = is_linear_model(tree, train) and growth.strength is not None
    if settings.refine_epochs and not linear:
        report.part = "refinement, "
        epochs = f"{settings.refine_epochs} epoch{'s' * (settings.refine_epochs > 1)}"
        report.say(f"refinement of the whole tree: {epochs} at most")
        refined = _refined(
            *(tree, settings, train, validation, growth.strength),
            checkpoint=refinement,
            callbacks=[lambda model, history: tell(history)],
            **shared,
        )
    temperatures = best_temperatures(tree, validation, settings.seed, report)
    strict = False
    if everything is not None and settings.refine_epochs > 1 and _is_bounded(tree, everything):
        report.part = "all samples, "
        strict = settings.prune is not None and not has_heavy_tails(tree, everything)
        how = settings if strict else replace(settings, prune=None)
        if linear:
            fit_linear(tree, everything, seed=settings.seed, strength=settings.strength)
        else:
            after = _last_epochs(settings, refined), how, everything, growth.strength
            tree, last = _finished(tree, *after, device, report)
    if settings.prune is not None and not strict:
        counted = train if everything is None else everything
        tree = _pruned(tree, settings, counted, validation)
    tree.temper(*temperatures)
    return replace(_so_far(growth, refined, last), tree=tree)


def go_on(
    trained: Found,
    settings: NeuralTreeSettings,
    train: Samples | Dataset | DataLoader,
    validation: Samples | Dataset | DataLoader,
    *,
    device: str | torch.device = "cpu",
    progress: bool = False,
) -> Found:
    """Refines a trained tree further, possibly on other samples; its branches stay as they are.

    Args:
        trained: tree with the record of its training; neither is changed.
        settings: settings of refinement: ``refine_epochs``, ``stop_refinement`` with ``patience``,
            ``batch_size``, ``learning_rate``, ``weight_decay``, ``seed``.
        train, validation, device, progress: see :func:`train`.

    Returns:
        A copy of the tree at its best epoch, with a history that continues the old one.

    Raises:
        ValueError: the samples do not fit the tree.

    Example:
        >>> from structnet.neural_tree import SquaredError, presets
        >>> x = torch.linspace(-1, 1, 100)[:, None]
        >>> root = NeuralTree(presets.mlp(1), (1,), SquaredError())
        >>> few = NeuralTreeSettings(max_leaves=1, epochs=2, refine_epochs=2)
        >>> first = train(root, few, Samples(x, x.abs()), Samples(x, x.abs()))
        >>> second = go_on(first, few, Samples(x, -x.abs()), Samples(x, -x.abs()))
        >>> len(first.refinement), len(second.refinement)
        (2, 4)
    """
    tree = copy.deepcopy(trained.tree)
    tree.temper()
    train, validation = (as_samples(each, tree.num_classes) for each in (train, validation))
    how: dict[str, Any] = {"device": device, "progress": progress}
    refined = _refined(tree, settings, train, validation, trained.strength, **how)
    tree.temper(*best_temperatures(tree, validation, settings.seed))
    records = _placed(refined, len(trained.decisions))
    return replace(trained, tree=tree, history=History([*trained.history, *records]))


def _refined(
    tree: NeuralTree,
    settings: NeuralTreeSettings,
    train: Any,
    validation: Any,
    strength: float | None,
    **fitting: Any,
) -> History:
    if not settings.refine_epochs:
        return History()
    if strength is not None and tree.num_classes is not None:
        surest = {"sure_accuracy": OfScores(sure_accuracy)}
        fitting |= {"monitor": "sure_accuracy", "metrics": surest}
    return _as_a_whole(
        *(refine, tree, settings, strength, train, validation),
        epochs=settings.refine_epochs,
        patience=settings.waits(len(train)) if settings.stop_refinement else None,
        **fitting,
    )


def _as_a_whole(
    how: Callable[..., History],
    tree: NeuralTree,
    settings: NeuralTreeSettings,
    strength: float | None,
    train: Any,
    *others: Any,
    device: str | torch.device,
    **fitting: Any,
) -> History:
    """Trains all modules of a tree, with no weight decay on routers, which it would soften."""
    routers = (node.router for node in tree.nodes if node.router is not None)
    spared = (parameter for router in routers for parameter in router.parameters())
    with together(tree, own_device(device), apart=bool(settings.weight_decay)) as trained:
        return how(
            *(trained, train, *others),
            batch_size=settings.batch(len(train)),
            seed=settings.seed,
            optimizer=settings.adam(strength, settings.weight_decay, spared),
            device=device,
            **fitting,
        )


def _is_bounded(tree: NeuralTree, samples: Samples) -> bool:
    """Is it safe to learn from all samples, with none left to decide when to stop?

    With few samples for each column, Gaussians fit all of them with ever smaller deviations.
    """
    gaussian = isinstance(tree.likelihood, GaussianMixture)
    return not gaussian or len(samples) >= FOR_EACH * math.prod(tree.shape)


def _last_epochs(settings: NeuralTreeSettings, refined: History) -> int:
    """The number of epochs of the last training, which has no samples to tell when to stop.

    Refinement may be best by its accuracy at another epoch, as few samples hardly tell this.
    """
    losses = [record["validation_loss"] for record in refined]
    return min(settings.refine_epochs // 2, 1 + losses.index(min(losses)))


def _finished(
    tree: NeuralTree,
    epochs: int,
    settings: NeuralTreeSettings,
    everything: Samples,
    strength: float | None,
    device: str | torch.device,
    progress: Progress,
) -> tuple[NeuralTree, History]:
    """The tree without branches that too few samples take, trained on all of them, and how.

    Where routers have stayed undecided, a rare branch may carry much of the mixture. So rare ones
    are cut before the others are trained, and these are trained again if others have become rare.
    """
    history = History()
    found = _visited(tree, settings, everything)
    while not history or found is not tree:
        tree = found
        # Without a checkpoint, as it is short: a resumed training starts it anew.
        records = _as_a_whole(
            *(finish, tree, settings, strength, everything),
            epochs=epochs,
            device=device,
            progress=progress,
        )
        history = History([*history, *records])
        found = _visited(tree, settings, everything)
    return tree, history


def _visited(tree: NeuralTree, settings: NeuralTreeSettings, everything: Samples) -> NeuralTree:
    """The tree without branches that too few samples take; itself if there are none."""
    found = prune(tree, everything, settings.prune or 0.0)
    return found if found.num_leaves < tree.num_leaves else tree


def _pruned(
    tree: NeuralTree,
    settings: NeuralTreeSettings,
    train: Samples,
    validation: Samples,
) -> NeuralTree:
    """The tree without the branches that too few samples take, as far as validation allows.

    If routers stay undecided, a branch on hardly any greedy path may carry much of the mixture; if
    they are decided, a branch with few samples may be the only one that fits them. If pruning by
    greedy paths raises the validation loss, it goes by probabilities, and if that does too, by a
    tenth of the share.
    """
    assert settings.prune is not None

    def losses(each: NeuralTree) -> np.ndarray:
        return of_each(each.losses, each, validation)

    before, by = losses(tree), (validation.counts(), validation.group_numbers())
    _, noise = gained(before, np.zeros_like(before), *by)
    free = max(settings.min_gain, NEGLIGIBLE * noise)
    for least in (settings.prune, settings.prune * SELDOM):
        for path in ("greedy", "multi"):
            found = prune(tree, train, least, path)
            gain, error = gained(before, losses(found), *by)
            if gain >= -max(free, error):
                return found
    return tree


def _so_far(growth: Growth, refined: Iterable[dict] = (), last: Iterable[dict] = ()) -> Trained:
    decided = len(growth.decisions)
    later = *_placed(refined, decided), *_placed(last, decided, "finish")
    history = History([*growth.history, *later])
    lists = list(growth.decisions), history, list(growth.undecided)
    return Trained(growth.tree, *lists, growth.strength)


def _placed(refined: Iterable[dict], decisions: int, phase: str = "refine") -> list[dict]:
    """The records of a refinement, with their place among the records of growth."""
    place = {"phase": phase, "node": 0, "decision": decisions}
    return [place | record for record in refined]
