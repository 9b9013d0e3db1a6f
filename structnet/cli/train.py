"""``structnet train``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from structnet.cli.run import Run
from structnet.cli.settings import Settings, resumed, settings_of
from structnet.cli.training import Say, prepared_data, train_run
from structnet.training.processes import process_rank

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


def chosen_settings(given: dict) -> Settings:
    """The settings among the arguments."""
    return {
        name: value
        for name, value in given.items()
        if name not in NOT_SETTINGS and value is not None
    }


def to_resume(run: Run, given: dict) -> tuple[Run, Settings, bool]:
    """A run to go on with: the run, all its settings, and that it goes on."""
    if "out" in given:
        raise ValueError("--resume names the run's folder; leave out --out")
    return run, resumed(run.config["settings"], chosen_settings(given), run), True


def to_begin(run: Run, settings: Settings) -> tuple[Run, Settings, bool]:
    """A run to begin in a folder that holds none: the run, its settings, and that it is new."""
    # The first process alone looks: it may have begun to write when the others come here.
    if process_rank()[0] == 0 and run.started:
        raise ValueError(
            f"{run} holds a run already; name another folder with --out, or continue that run "
            f"with --resume {run}"
        )
    return run, settings, False


def _chosen(given: dict) -> tuple[Run, Settings, bool]:
    if "resume" in given:
        return to_resume(Run(given["resume"]), given)
    settings = chosen_settings(given)
    if "task" not in settings:
        raise ValueError("name a task, listops or lrt, or a run to continue with --resume")
    settings = settings_of(settings)
    folder = Run(given.get("out") or Path("runs", f"{settings['task']}-{settings['aggregator']}"))
    return to_begin(folder, settings)
