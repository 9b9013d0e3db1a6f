"""``structnet reproduce``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from structnet.cli.pictures import draw_by_operators, draw_curves, named
from structnet.cli.recipes import PAPER
from structnet.cli.run import Run
from structnet.cli.settings import Settings, settings_of
from structnet.cli.table import by_operators, curves, markdown, row
from structnet.cli.train import speaker
from structnet.cli.training import Say, prepared_data, train_run
from structnet.training.processes import process_rank

NOT_SETTINGS = ("command", "debug", "out", "runs", "only")


def run(args: argparse.Namespace) -> None:
    """Trains what is not trained yet, and prints the table, in words and as JSON."""
    given = vars(args)
    say = speaker()
    folder = Path(given.get("out", Path("runs", f"reproduce-{args.task}")))
    members = _members(given, folder)
    _train_all(members, given.get("runs", 1), say)
    if process_rank()[0] == 0:
        _report(args.task, members, folder)


def _members(given: dict[str, Any], folder: Path) -> dict[str, list[tuple[Run, Settings]]]:
    """Each model's runs and their settings; none is in the way of another training."""
    shared = {name: value for name, value in given.items() if name not in NOT_SETTINGS}
    members = {
        name: [
            (
                Run(folder / f"{name}-{seed}"),
                settings_of({**shared, "aggregator": name, "seed": seed}),
            )
            for seed in range(given["runs"])
        ]
        for name in given.get("only", PAPER[given["task"]])
    }
    for member, settings in (each for runs in members.values() for each in runs):
        member.refuse_other(settings)
    return members


def _train_all(members: dict[str, list[tuple[Run, Settings]]], num_runs: int, say: Say) -> None:
    # Seed by seed, so that an interrupted table has as many models as possible.
    todo = [runs[seed] for seed in range(num_runs) for runs in members.values()]
    done = [member for member, _ in todo if member.result is not None]
    if done:
        say(f"done already: {', '.join(map(str, done))}")
    todo = [(member, settings) for member, settings in todo if member.result is None]
    data = prepared_data(todo[0][1], say) if todo else None
    expected = done[0].config["data"] if data is None else data.describe()
    for member in done:
        if member.config["data"] != expected:
            raise ValueError(
                f"{member} was trained on the data {member.config['data']}, not {expected}; name "
                "another folder with --out"
            )
    for number, (member, settings) in enumerate(todo, 1):
        say(f"\n{number} of {len(todo)}: {member}")
        try:
            train_run(member, settings, data, say, resume=member.started)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("give the same command again to continue") from None


def _report(task: str, members: dict[str, list[tuple[Run, Settings]]], folder: Path) -> None:
    runs = {name: [member for member, _ in each] for name, each in members.items()}
    rows = [row(task, name, each) for name, each in runs.items()]
    text = markdown(task, rows)
    (folder / "table.md").write_text(text, encoding="utf-8")
    pictures = [draw_curves(curves(runs), folder)]
    if all("accuracy_mean_over_operators" in each for each in rows):
        pictures.append(draw_by_operators(by_operators(runs), folder))
    result = {"task": task, "models": rows, "folder": str(folder), "pictures": named(pictures)}
    Run(folder).write("table.json", result)
    print("\n" + text)
    print(json.dumps(result, ensure_ascii=False))
