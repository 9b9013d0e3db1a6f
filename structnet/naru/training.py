"""Training of a routed language model, by Adam on visited bundles, with statistics of its paths."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structnet.naru.network import RoutedNetwork
from structnet.naru.next_word import NextWord
from structnet.naru.sentences import Sentences
from structnet.naru.settings import NaruSettings
from structnet.naru.statistics import RoutingStats, route_changes
from structnet.training.checkpoint import CheckpointError, load_state, save_state
from structnet.training.fitting import fit
from structnet.training.history import History
from structnet.training.metrics import evaluating

WATCHED = 100  # training sentences whose paths are recorded after each epoch


class DenseAdam(torch.optim.Adam):
    """Adam that also moves parameters without a gradient, as if it were 0."""

    def step(self, closure: Any = None) -> Any:
        """Makes one step of Adam."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None and parameter.requires_grad:
                    parameter.grad = torch.zeros_like(parameter)
        return super().step(closure)


def train(
    model: NextWord,
    settings: NaruSettings,
    train: Sentences,
    validation: Sentences,
    *,
    device: str | torch.device = "cpu",
    folder: str | Path | None = None,
    progress: bool = False,
) -> History:
    """Trains a model, and leaves it with the weights of the epoch with the lowest validation loss.

    If it is decoded as the "likeliest" word, the words that follow others in the training sentences
    are then counted. On the validation sentences it is chosen how much the network says beside
    these counts, see :meth:`.NextWord.calibrate`.

    Args:
        model: model, trained in place.
        settings: settings of the training, and the decoding; those of the network are not read.
        train: sentences to learn from.
        validation: sentences that decide which epoch is best.
        device: "cpu", "cuda", ...; the model stays there.
        folder: folder for the state after each epoch; training resumes from a state in it. None for
            no folder.
        progress: True to show a bar.

    Returns:
        One record per epoch, as of :func:`structnet.fit`. That of a routed network also has
        ``route_changes`` (the share of elections on some of the training sentences whose outcome
        differs from the epoch before), and ``utilisation``, ``normalised_bias``, ``dead_bundles``
        and ``commonest_path`` (the share of the words that take the path of most) on these
        sentences.

    Raises:
        ValueError: there are no sentences.
        CheckpointError: the state in the folder belongs to another training.
    """
    device = torch.device(device)
    watching = []
    if isinstance(model.network, RoutedNetwork):
        watching.append(Watch(train[: min(WATCHED, len(train))].to(device), folder))
    history = fit(
        model,
        train,
        validation,
        epochs=settings.epochs_for(len(train)),
        batch_size=settings.batch_size,
        optimizer=partial(adam, model, settings),
        patience=settings.patience,
        seed=settings.seed,
        device=device,
        checkpoint=folder,
        resume=folder is not None,
        clip_norm=settings.clip_norm,
        callbacks=watching,
        progress=progress,
    )
    if settings.decoding == "likeliest":
        model.count(train)
    model.calibrate(validation.to(device))
    return history


def adam(
    model: NextWord, settings: NaruSettings, parameters: Iterable[Tensor]
) -> torch.optim.Optimizer:
    """Adam for a model, with a rate for each bundle's weight multiplied by its connections.

    The mean over a bundle's connections would otherwise make the steps of its weight smaller. A
    bundle that no sentence visited has no gradient, and is skipped if ``settings.lazy``.

    Args:
        model: model that is trained.
        settings: settings, which give the learning rate, and whether unvisited bundles are skipped.
        parameters: all of the model's parameters, ``[...]`` each.
    """
    connections: dict[int, int] = {}  # by weight
    if isinstance(network := model.network, RoutedNetwork):
        for p in range(network.wiring.depth):
            connections |= {id(each.weight): len(each.reads) for each in network.capsule(p)}
            if str(p) in network.common:
                most = max(len(each.reads) for each in network.capsule(p))
                connections[id(network.common[str(p)])] = most
    groups: dict[int, list[Tensor]] = {}
    for parameter in parameters:
        groups.setdefault(connections.get(id(parameter), 1), []).append(parameter)
    rate = settings.learning_rate
    return (torch.optim.Adam if settings.lazy else DenseAdam)(
        [{"params": params, "lr": rate * scale} for scale, params in sorted(groups.items())],
        lr=rate,
        fused=True,  # one pass over the memory instead of ten
    )


class Watch:
    """A callback that adds statistics of the paths of some sentences to each epoch's record.

    Args:
        sentences: sentences.
        folder: folder that stores the paths of the last epoch, for when training is resumed; None
            for no folder.
    """

    def __init__(self, sentences: Sentences, folder: str | Path | None = None):
        self.sentences = sentences
        self.file = None if folder is None else Path(folder, "paths.safetensors")

    def __call__(self, model: nn.Module, history: History) -> None:
        assert isinstance(model, NextWord) and isinstance(model.network, RoutedNetwork)
        epoch = len(history)
        with evaluating(model):  # without noise
            record = model.route(self.sentences).record.cpu().numpy()
        stats = RoutingStats(model.network.wiring.sizes)
        stats.add(record)
        before = self._before(epoch)
        history.records[-1] |= {
            "route_changes": None if before is None else route_changes(before, record)[1],
            "utilisation": float(stats.utilisation()[-1]),
            "normalised_bias": stats.bias(normalised=True),
            "dead_bundles": len(stats.dead_bundles()),
            "commonest_path": stats.commonest_path()[1],
        }
        self.last = (epoch, record)
        if self.file is not None:
            save_state(self.file, {"epoch": epoch, "record": torch.from_numpy(record)})

    last: tuple[int, np.ndarray] | None = None

    def _before(self, epoch: int) -> np.ndarray | None:
        """The paths after the previous epoch, if they are known."""
        if self.last is None and self.file is not None and self.file.exists():
            with suppress(CheckpointError):  # without the file, they are unknown
                state = load_state(self.file)
                self.last = state["epoch"], state["record"].numpy()
        return self.last[1] if self.last is not None and self.last[0] == epoch - 1 else None
