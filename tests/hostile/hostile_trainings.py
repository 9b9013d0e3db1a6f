"""Trainings that are killed at random moments, or whose disk is full: nothing may be lost.

Each goes on in a folder of its own until it ends as the one that nothing happened to, to the bit.
The moments are drawn from a seed; what a process has done by then depends on the machine.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch
from alike import assert_same
from disks import files_of_at_most
from neural_tree_program import killed_growth, killed_refinement
from torch import nn
from train_programs import Run, attempt, forked, killed_run, warm_up

from structnet.neural_tree.growth.state import FILE
from structnet.training.checkpoint import load_model, load_state, save_model

NAMED = 3  # exit status of a process that could not write, and said which file


def _epochs(folder: Path) -> list:
    file = folder / "checkpoint.safetensors"
    return load_state(file)["history"] if file.exists() else []


def _decisions(folder: Path) -> list:
    return load_model(folder / FILE)[1]["decisions"] if (folder / FILE).exists() else []


@dataclass
class Training:
    """A training, and how it ends if nothing happens to it.

    Attributes:
        run: trains, in a folder or in none.
        kept: what a folder holds of the training so far.
        folder: place of all its attempts.
        seconds: how long it takes.
    """

    run: Run
    kept: Callable[[Path], list]
    folder: Path
    seconds: float = field(init=False)

    def __post_init__(self) -> None:
        warm_up()
        begin = time.monotonic()
        assert attempt(self.run, None, self._whole) == 0
        self.seconds = time.monotonic() - begin

    @property
    def _whole(self) -> Path:
        return self.folder / "whole.safetensors"

    def kill(self, place: Path, rng: Random) -> bool:
        """Trains in a folder until it is killed; False if it ends before that."""
        seconds = rng.uniform(0, self.seconds)
        status = attempt(self.run, place / "run", place / "model", seconds=seconds)
        assert status in (0, signal.SIGKILL), f"what was to be killed ended with {status}"
        return status == signal.SIGKILL

    def fill(self, place: Path, rng: Random) -> bool:
        """Trains until a file cannot be written; False if all could."""

        def work() -> None:
            try:
                if rng.random() < 0.5:
                    _full_at_write(rng.randint(1, 8))
                    self.run(place / "run")
                else:
                    with files_of_at_most(int(10 ** rng.uniform(0, 4))):
                        self.run(place / "run")
            except OSError as error:
                os._exit(NAMED if str(place) in str(error.filename) else 1)

        before = self.kept(place / "run")
        status = os.waitstatus_to_exitcode(forked(work, 60))
        assert status in (0, NAMED), f"a full disk ended the process with {status}"
        after = self.kept(place / "run")
        assert after[: len(before)] == before, "what was there is lost"
        return status == NAMED

    def end(self, place: Path) -> None:
        """Trains to the end, which must be the one that nothing happened to."""
        status = attempt(self.run, place / "run", place / "model")
        assert status == 0, f"it could not go on: {status}"
        (weights, facts), (resumed, same) = load_model(self._whole), load_model(place / "model")
        assert same == facts
        assert_same(resumed, weights)


TRAININGS: dict[str, Callable[[Path], Training]] = {
    "fit": partial(Training, killed_run, _epochs),
    "growth": partial(Training, killed_growth, _decisions),
    "refinement": partial(Training, killed_refinement, _epochs),
}


def kills(training: Training, seed: int, start: int, end: int) -> Iterator[tuple[int, Any]]:
    """The numbers of the kills after which a training ended otherwise, or not at all."""
    return _attacked(training, training.kill, f"kill {seed}", start, end)


def full_disks(training: Training, seed: int, start: int, end: int) -> Iterator[tuple[int, Any]]:
    """The numbers of the full disks by which something was lost, or which were not named."""

    def fill(place: Path, rng: Random) -> bool:
        training.kill(place, rng)  # so that there is something to lose
        return training.fill(place, rng)

    return _attacked(training, fill, f"disk {seed}", start, end)


def _attacked(
    training: Training, attack: Callable[[Path, Random], bool], name: str, start: int, end: int
) -> Iterator[tuple[int, Any]]:
    """The numbers of the attacks, each made until it hits, that a training does not survive."""
    for number in range(start, end):
        rng = Random(f"{name} {number}")
        try:
            with tempfile.TemporaryDirectory(dir=training.folder) as place:
                while not attack(Path(place), rng):
                    shutil.rmtree(Path(place, "run"))
                training.end(Path(place))
        except Exception as error:
            yield number, error


def saves(folder: Path, seed: int, start: int, end: int) -> Iterator[tuple[int, Any]]:
    """The numbers of the kills of a process that writes a file anew all the time, by which it went.

    What is there is one of the models that are written in turn, whole.
    """
    path, models = folder / "model", [nn.Linear(200, 100), nn.Linear(200, 200)]

    def work() -> None:
        while True:
            for place, model in enumerate(models):
                save_model(path, model, {"place": place})

    save_model(path, models[0], {"place": 0})
    for number in range(start, end):
        forked(work, Random(f"save {seed} {number}").uniform(0, 0.05))
        try:
            weights, config = load_model(path)
            assert torch.equal(weights["weight"], models[config["place"]].weight)
        except Exception as error:
            yield number, error


def _full_at_write(number: int) -> None:
    """The disk is full in a write of a whole file."""
    fsync, count = os.fsync, 0

    def full(descriptor: int) -> None:
        nonlocal count
        count += 1
        if count == number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    os.fsync = full
