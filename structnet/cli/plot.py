"""``structnet plot``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from structnet.cli.names import opened
from structnet.recipes.recipe import Place

ABOUT = """Draws the pictures of a run again, as far as it has got.

An input after RUN is drawn instead of the example that the run chose."""
EXAMPLES = """\
  structnet plot runs/first
  structnet plot runs/digits --out pictures
  structnet plot runs/first "[MAX 2 9 [MIN 4 7 ] 0 ]" --out pictures"""


@dataclass(frozen=True)
class Drawn:
    """where to put the pictures

    Args:
        out: folder for the pictures (default: the run's)
    """

    out: Path | None = None
    place: Place = field(default_factory=Place)


def run(words: Sequence[str]) -> None:
    """Draws a run's pictures and prints where they are as JSON.

    Raises:
        ValueError: there is nothing to draw yet, or the model cannot draw an input.
    """
    recipe, run, drawn, _, texts = opened("plot RUN [INPUT...]", words, ABOUT, EXAMPLES, cls=Drawn)
    from structnet.recipes.run import save

    if texts and not recipe.draws_inputs:
        raise ValueError(f"the pictures of {run} are of its own data; leave out {texts[0]!r}")
    pictures = recipe.work.pictures(run, None, texts, drawn.place)
    if not pictures:
        raise ValueError(f"{run} has nothing to draw yet: its first epoch has not ended")
    paths = [save(draw(), (drawn.out or run.folder) / name) for name, draw in pictures.items()]
    print(*paths, sep="\n")
    print(json.dumps({path.stem: str(path) for path in paths}))
