"""``structnet train neural-tree``, and ``structnet train --resume`` of such a run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from structnet.cli.neural_tree.run import TreeRun
from structnet.cli.neural_tree.settings import TASK, Settings, settings_of
from structnet.cli.neural_tree.training import prepared_data, train_run
from structnet.cli.train import chosen_settings, speaker, to_begin, to_resume


def run(args: argparse.Namespace) -> None:
    """Grows, refines and tests a tree as the arguments say, and prints the result as JSON."""
    say = speaker()
    folder, settings, resume = _chosen(vars(args))
    say(f"run folder: {folder}")
    data = prepared_data(settings, say)
    result = train_run(folder, settings, data, say, resume)
    say(f"model, pictures and records are in {folder}")
    print(json.dumps(result, ensure_ascii=False))


def _chosen(given: dict) -> tuple[TreeRun, Settings, bool]:
    if "resume" in given:
        return to_resume(TreeRun(given["resume"]), given)
    settings = chosen_settings(given)
    if "data" not in settings:
        raise ValueError("name the data with --data, or a run to continue with --resume")
    settings = settings_of(settings)
    name = Path(settings["data"]).stem
    folder = TreeRun(given.get("out") or Path("runs", f"{TASK}-{name}-{settings['preset']}"))
    return to_begin(folder, settings)
