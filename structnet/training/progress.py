"""The progress of a training: a bar in a terminal or notebook, lines at intervals elsewhere."""

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
    """Shows the progress of a training on the standard error.

    In a terminal or notebook it is a bar. Elsewhere, such as in a log, it is one line per epoch:
    the first, the last, and the others at intervals of at least some seconds. Trainings that are
    parts of a larger one share one object, and their results are lines between them.

    Args:
        shown: False for no output.
        seconds: shortest time between two lines.
        clock: function that returns the time in seconds.

    Attributes:
        part: name of this part of a larger training; the bar and each line begin with it.
    """

    shown: bool = True
    seconds: float = 10.0
    clock: Callable[[], float] = time.monotonic
    part: str = field(default="", init=False)
    _bar: tqdm = field(init=False)
    _next: float | None = field(default=None, init=False)  # when a line may be written again
    _watched: bool = field(default=False, init=False)

    @classmethod
    def of(cls, shown: bool | Progress) -> Progress:
        """The given progress, or a new one; of several processes only the first shows anything."""
        progress = shown if isinstance(shown, cls) else cls(shown=bool(shown))
        progress.shown = progress.shown and is_first_process()
        return progress

    def open(self, total: int, done: int) -> None:
        """Begins a bar for ``total`` examples, of which ``done`` are done."""
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
        """Names the epoch that begins, such as "epoch 1/10"."""
        self._bar.set_description_str(f"{self.part}{epoch} ", refresh=False)

    def advance(self, note: str, examples: int) -> None:
        """Advances the bar by some examples, and shows a note after it."""
        self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(examples)

    def close(self) -> None:
        """Ends the bar."""
        self._bar.close()

    def say_when_due(self, text: str, last: bool) -> None:
        """Writes a line if there is no bar: the first, the last, and others that are due."""
        now = self.clock()
        last = last and not self.part  # that of a part is not that of the whole
        if not self._watched and (last or self._next is None or now >= self._next):
            self._next = now + self.seconds
            self.say(self.part + text)

    def say(self, text: str) -> None:
        """Writes a line at any time, while no bar is open."""
        if self.shown:
            print(text, file=sys.stderr, flush=True)
