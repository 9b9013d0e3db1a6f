"""``structnet plot`` of a neural tree."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from structnet.cli.neural_tree.evaluate import own_data
from structnet.cli.neural_tree.pictures import pictures
from structnet.cli.neural_tree.run import TreeRun
from structnet.cli.pictures import named, save


def run(args: argparse.Namespace) -> None:
    """Draws a run's pictures and prints where they are as JSON."""
    given, folder = vars(args), TreeRun(args.run)
    if given.get("expression"):
        raise ValueError(f"{folder} is the run of a neural tree; leave out {args.expression[0]!r}")
    if not len(folder.history):
        raise ValueError(f"{folder} has nothing to draw yet: its root is not trained")
    out = Path(given.get("out", args.run))
    found = pictures(folder, own_data(folder, given))
    paths = [save(draw(), out / name) for name, draw in found.items()]
    for path in paths:
        print(path)
    print(json.dumps(named(paths)))
