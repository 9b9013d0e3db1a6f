"""``structnet train``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from structnet.cli.run import Run
from structnet.cli.settings import Settings, resumed, settings_of
from structnet.cli.training import Say, prepared_data, train_run
from structnet.train import process_rank

NOT_SETTINGS = ("command", "debug", "out", "resume")


def run(args: argparse.Namespace) -> None:
    """Trains as the arguments say, and prints the result as JSON."""
    say = speaker()
    folder, settings, resume = _chosen(vars(args))
    say(f"run folder: {folder}")
    data = prepared_data(settings, say)
    result = train_run(folder, settings, data, say, resume)
    if result:
        say(f"model, pictures and records are in {folder}")
        print(json.dumps(result, ensure_ascii=False))


def speaker() -> Say:
    """What prints a line for the user: of several processes, the first alone does."""
    if process_rank()[0] > 0:
        return lambda line: None
    return lambda line: print(line, flush=True)


def _chosen(given: dict) -> tuple[Run, Settings, bool]:
    settings = {
        name: value
        for name, value in given.items()
        if name not in NOT_SETTINGS and value is not None
    }
    if "resume" in given:
        if "out" in given:
            raise ValueError("--resume names the run's folder; leave out --out")
        folder = Run(given["resume"])
        return folder, resumed(folder.config["settings"], settings, folder), True
    if "task" not in settings:
        raise ValueError("name a task, listops or lrt, or a run to continue with --resume")
    settings = settings_of(settings)
    folder = Run(given.get("out") or Path("runs", f"{settings['task']}-{settings['aggregator']}"))
    # The first process alone looks: it may have begun to write when the others come here.
    if process_rank()[0] == 0 and folder.started:
        raise ValueError(
            f"{folder} holds a run already; name another folder with --out, or continue that run "
            f"with --resume {folder}"
        )
    return folder, settings, False
