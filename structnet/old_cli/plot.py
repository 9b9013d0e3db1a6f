"""``structnet plot``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from structnet.cli.pictures import draw_by_operators, draw_history, draw_tree, named
from structnet.cli.run import Run, Trained


def run(args: argparse.Namespace) -> None:
    """Draws a run's pictures and prints where they are as JSON."""
    folder = Run(args.run)
    config, result = folder.config, folder.result
    given = vars(args)
    out = Path(given.get("out", args.run))
    # A training that goes on has a history, and no model yet.
    paths = [draw_history(folder, out)] if len(folder.history) else []
    texts = given.get("expression") or (result or {}).get("example")
    if texts:
        trained = Trained(folder)
        paths.append(draw_tree(trained, trained.task.parse(texts), out))
    if result and "test_accuracy_by_operators" in result:
        groups = result["test_accuracy_by_operators"]
        paths.append(draw_by_operators({config["settings"]["aggregator"]: groups}, out))
    if not paths:
        raise ValueError(f"{folder} has nothing to draw yet: its first epoch has not ended")
    for path in paths:
        print(path)
    print(json.dumps(named(paths)))
