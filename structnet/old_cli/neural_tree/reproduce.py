"""``structnet reproduce neural-tree``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import structnet.cli.neural_tree.baselines as baselines
from structnet.cli.neural_tree.flags import BASELINES
from structnet.cli.neural_tree.paper import TREES
from structnet.cli.neural_tree.run import TreeRun
from structnet.cli.neural_tree.settings import RECIPES, TASK, VARIANTS, Settings, settings_of
from structnet.cli.neural_tree.tables import TABLES, Members, write
from structnet.cli.neural_tree.training import prepared_data, train_run
from structnet.cli.run import Run
from structnet.cli.train import speaker
from structnet.cli.training import Say

SHARED = (
    "data",
    "data_dir",
    "train_size",
    "test_size",
    "epochs",
    "n_init",
    "refine_epochs",
    "max_leaves",
    "device",
    "threads",
)


def run(args: argparse.Namespace) -> None:
    """Trains what is not trained yet, and prints the table, in words and as JSON."""
    given, say = vars(args), speaker()
    _check_presets(given)
    folder = Path(given.get("out", Path("runs", f"reproduce-{TASK}")))
    trees, others = _trees(given, folder), _baselines(given, folder)
    if not trees and not others:
        raise ValueError(f"--only {','.join(given['only'])} leaves nothing of table {args.table}")
    seeds = range(given["seeds"])
    for number, (member, settings) in enumerate(_in_order(trees, seeds), 1):
        say(f"\n{number} of {len(trees) * len(seeds)}: {member}")
        _train(member, settings, say)
    for (name, seed), member in others.items():
        if member.result is None:
            say(f"\n{member}")
            member.write("result.json", baselines.train(name, seed, _settings(given, {}, seed)))
    print(json.dumps(_report(given, trees, others, folder), ensure_ascii=False))


def _check_presets(given: Mapping[str, Any]) -> None:
    """The paper must have a tree of each preset for the data, to compare with."""
    data = given["data"]
    known = [preset for preset in TREES if preset.partition("_")[0] == data]
    for preset in given.get("presets", ()):
        if preset not in known:
            raise ValueError(
                f"the paper has no {preset} for {data}; expected some of {', '.join(known)}"
            )


def _trees(given: dict[str, Any], folder: Path) -> dict[tuple[str, str], Any]:
    """Preset and variant -> its runs with their settings; none is in the way of another training.

    Raises:
        ValueError: a run that is there has other settings.
    """
    chosen = [v for v in TABLES[given["table"]].variants if v in given.get("only", VARIANTS)]
    found = {}
    for preset in given.get("presets", [RECIPES[given["data"]].preset]):
        for variant in chosen:
            options = {"preset": preset, **VARIANTS[variant]}
            found[preset, variant] = [
                (TreeRun(folder / f"{preset}-{variant}-{seed}"), _settings(given, options, seed))
                for seed in range(given["seeds"])
            ]
    for member, settings in (each for runs in found.values() for each in runs):
        member.refuse_other(settings)
    return found


def _settings(given: dict[str, Any], options: dict[str, Any], seed: int) -> Settings:
    shared = {name: given[name] for name in SHARED if name in given}
    return settings_of({**shared, **options, "seed": seed})


def _baselines(given: dict[str, Any], folder: Path) -> dict[tuple[str, int], Run]:
    """Model and seed -> its run.

    Raises:
        ValueError: a model that is there was trained on other data.
    """
    if given["table"] != 3 or given["data"] != "sarcos":
        return {}
    found = {
        (name, seed): Run(folder / f"sarcos-{name}-{seed}")
        for name in BASELINES
        if name in given.get("only", BASELINES)
        for seed in range(given["seeds"])
    }
    for (_, seed), member in found.items():
        expected = baselines.data_settings(_settings(given, {}, seed))
        if member.result is not None and member.result.get("settings") != expected:
            raise ValueError(f"{member} was trained on other data; name another folder with --out")
    return found


def _in_order(trees: dict, seeds: range) -> list[tuple[TreeRun, Settings]]:
    # Seed by seed, so that an interrupted table has as many kinds of trees as possible.
    return [runs[seed] for seed in seeds for runs in trees.values()]


def _train(member: TreeRun, settings: Settings, say: Say) -> None:
    if member.result is not None:
        say("done already")
        return
    try:
        data = prepared_data(settings, say)
        train_run(member, settings, data, say, resume=member.started)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("give the same command again to continue") from None


def _report(given: dict[str, Any], trees: dict, others: dict, folder: Path) -> dict[str, Any]:
    members = Members(
        {key: [member for member, _ in runs] for key, runs in trees.items()},
        {
            name: [run for (other, _), run in others.items() if other == name]
            for name in BASELINES
            if (name, 0) in others
        },
    )
    table = TABLES[given["table"]].make(members)
    return write(table, folder / f"table{given['table']}-{given['data']}")
