"""How far a training is: a bar where somebody watches, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tqdm.auto import tqdm

from structnet.training.processes import is_first_process

BAR = "{desc}{percentage:3.0f}%|{bar}| {elapsed}<{remaining}, {rate_fmt}{postfix}"


@dataclass
class Progress:
    """Tells whoever waits how far a training is, on the standard error.

    In a terminal or notebook that is a bar. Elsewhere, as in a log, it is a plain line an epoch:
    the first, the last, and of the others no two within some seconds. Trainings that are parts of
    a larger one share it, and what these come to is said in lines between them.

    Args:
        shown: False says nothing.
        seconds: the least time between two lines.
        clock: gives the time in seconds.

    Attributes:
        part: name of this part of a larger training; it stands first in the bar and in each line.
    """

    shown: bool = True
    seconds: float = 10.0
    clock: Callable[[], float] = time.monotonic
    part: str = field(default="", init=False)
    _bar: tqdm = field(init=False)
    _next: float | None = field(default=None, init=False)  # when a line may be written again
    _watched: bool = field(default=False, init=False)

    @classmethod
    def of(cls, given: bool | Progress) -> Progress:
        """What was given, or a new one; of several processes, the first alone says something."""
        progress = given if isinstance(given, cls) else cls(shown=bool(given))
        progress.shown = progress.shown and is_first_process()
        return progress

    def open(self, total: int, done: int) -> None:
        """Begins a bar of so many examples, of which some are done."""
        self._bar = tqdm(
            total=total,
            initial=done,
            unit=" ex",
            unit_scale=True,
            bar_format=BAR,
            # None is for tqdm to decide: it shows a bar in a terminal or notebook only.
            disable=None if self.shown else True,
        )
        self._watched = not self._bar.disable

    def begin(self, epoch: str) -> None:
        """Names the epoch that begins, as "epoch 1/10"."""
        self._bar.set_description_str(f"{self.part}{epoch} ", refresh=False)

    def advance(self, note: str, examples: int) -> None:
        """Moves the bar by some examples, with a note behind it."""
        self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(examples)

    def close(self) -> None:
        """Ends the bar."""
        self._bar.close()

    def say_when_due(self, text: str, last: bool) -> None:
        """Writes a line if there is no bar: the first, the last, and of the others what is due."""
        now = self.clock()
        last = last and not self.part  # that of a part is not that of the whole
        if not self._watched and (last or self._next is None or now >= self._next):
            self._next = now + self.seconds
            self.say(self.part + text)

    def say(self, text: str) -> None:
        """Writes a line, whatever the time; no bar is open then."""
        if self.shown:
            print(text, file=sys.stderr, flush=True)
