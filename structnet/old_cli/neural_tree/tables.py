"""The tables of ``structnet reproduce neural-tree``: the paper's figures beside ours.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Tables 3, 4, 6, 7 and 8.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from structnet.cli.neural_tree import paper
from structnet.cli.neural_tree.data import load_data
from structnet.cli.neural_tree.measure import ensemble_error, output
from structnet.cli.neural_tree.pictures import draw_table
from structnet.cli.neural_tree.run import TreeRun
from structnet.cli.run import Run
from structnet.cli.words import counted

MULTI, SINGLE = "error, all leaves", "error, one path"
NAMES = {
    "full": "tree",
    "no-routers": "no routers (CNN)",
    "no-transformers": "no transformers (SDT/HME)",
    "linear": "linear regression",
    "mlp": "MLP, 3 x 256 tanh",
    "forest": "random forest, 200 trees",
    "boosting": "gradient boosting, 7 x 100 trees",
}
GREEDY = "One path: at each router, the likelier side."


class Members(NamedTuple):
    """The trained models of a table: the same number of seeds of each."""

    trees: Mapping[tuple[str, str], Sequence[TreeRun]]  # by preset and variant
    baselines: Mapping[str, Sequence[Run]]


class Row(NamedTuple):
    """One model in a table: the paper's figures and, a figure a seed, ours, by quantity."""

    name: str
    paper: Mapping[str, float | None]
    ours: Mapping[str, Sequence[float]]


class Table(NamedTuple):
    """What a table says; the quantities are its columns, each twice, the paper's and ours."""

    title: str
    quantities: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str]


class Kind(NamedTuple):
    """Which variants of the trees a table compares, and how it is made of them."""

    variants: Sequence[str]
    make: Callable[[Members], Table]


def performance(members: Members) -> Table:
    """Table 3."""
    quantities = (MULTI, SINGLE, "parameters, all leaves", "parameters, one path")
    keys = ("test_error.multi", "test_error.greedy", "parameters", "path_parameters")
    rows = []
    for name, runs in members.baselines.items():
        error, size = paper.BASELINES[name]
        known = dict(zip(quantities, (error, None, size, None), strict=True))
        found = _values(runs, {MULTI: "test_error", quantities[2]: "parameters"})
        rows.append(Row(NAMES[name], known, found))
    for (preset, _), runs in members.trees.items():
        known = dict(zip(quantities, paper.TREES[preset][:4], strict=True))
        rows.append(
            Row(_name(preset), known, _values(runs, dict(zip(quantities, keys, strict=True))))
        )
    notes = [f"{GREEDY} Its parameters are the mean over the test samples."]
    if members.baselines:
        notes.append(
            "The models of scikit-learn learn from all training rows, the trees from those that "
            "are not held out for validation; the perceptron stops early by a tenth of its own."
        )
    return _table("Table 3: errors and sizes", quantities, rows, members, notes)


def ablation(members: Members) -> Table:
    """Table 4."""
    quantities = (MULTI, SINGLE, "leaves", "parameters, all leaves")
    keys = ("test_error.multi", "test_error.greedy", "leaves", "parameters")
    rows = []
    for (preset, variant), runs in members.trees.items():
        whole = paper.TREES[preset]
        if variant == "full":
            known = dict(zip((MULTI, SINGLE, quantities[3]), whole[:3], strict=True))
        else:
            known = dict(zip((MULTI, SINGLE), paper.ABLATIONS[preset][variant], strict=True))
        found = _values(runs, dict(zip(quantities, keys, strict=True)))
        rows.append(Row(f"{_name(preset)}: {NAMES[variant]}", known, found))
    return _table("Table 4: without routers, without transformers", quantities, rows, members, [])


def paths(members: Members) -> Table:
    """Table 6."""
    quantities = (MULTI, SINGLE, "error, likeliest leaf", "error, least likely leaf", "leaves")
    ways = ("multi", "greedy", "most_likely", "least_likely")
    keys = (*(f"test_error.{way}" for way in ways), "leaves")
    rows = []
    for (preset, _), runs in members.trees.items():
        tree = paper.TREES[preset]
        figures = (tree.multi, tree.single, None, tree.least_likely, None)
        known = dict(zip(quantities, figures, strict=True))
        rows.append(
            Row(_name(preset), known, _values(runs, dict(zip(quantities, keys, strict=True))))
        )
    return _table("Table 6: which path", quantities, rows, members, [GREEDY])


def operations(members: Members) -> Table:
    """Table 7."""
    quantities = ("multiply-adds, all leaves", "multiply-adds, one path")
    rows = []
    for (preset, _), runs in members.trees.items():
        tree = paper.TREES[preset]
        known = dict(zip(quantities, (tree.operations, tree.path_operations), strict=True))
        twice = _values(runs, dict(zip(quantities, ("flops", "path_flops"), strict=True)))
        found = {name: [value / 2 for value in values] for name, values in twice.items()}
        rows.append(Row(_name(preset), known, found))
    notes = [
        f"{GREEDY} Its operations are the mean over the test samples. The paper's figures are "
        "taken for multiply-adds: for a linear classifier of MNIST it gives 8K, and 784 x 10 is "
        "7,840."
    ]
    return _table("Table 7: operations a sample", quantities, rows, members, notes)


def ensembles(members: Members) -> Table:
    """Table 8."""
    quantities, keys = (MULTI, SINGLE, "parameters, all leaves"), ("multi", "greedy")
    rows = []
    for (preset, _), runs in members.trees.items():
        tree, several = paper.TREES[preset], paper.ENSEMBLES.get(preset, (None, None))
        sources = ("test_error.multi", "test_error.greedy", "parameters")
        single = _values(runs, dict(zip(quantities, sources, strict=True)))
        known = dict(zip(quantities, (tree.multi, tree.single, tree.parameters), strict=True))
        rows.append(Row(f"{_name(preset)}: one tree", known, single))
        together = dict(zip(quantities, [[e] for e in _together(runs, keys)], strict=False))
        together[quantities[2]] = [sum(single[quantities[2]])]
        known = dict(zip(quantities, several, strict=False))
        rows.append(Row(f"{_name(preset)}: {len(runs)} trees together", known, together))
    notes = [
        f"Probabilities, or means, are averaged over the trees, each of which held out other "
        f"training examples for validation. The paper: {paper.ENSEMBLE_SIZE} trees together."
    ]
    return Table("Table 8: ensembles", quantities, rows, [*_what_was_run(members), *notes])


TABLES = {
    3: Kind(("full",), performance),
    4: Kind(("full", "no-routers", "no-transformers"), ablation),
    6: Kind(("full",), paths),
    7: Kind(("full",), operations),
    8: Kind(("full",), ensembles),
}


def write(table: Table, path: Path) -> dict[str, Any]:
    """Writes a table as ``.md``, ``.json`` and ``.png``, prints it, and gives what is in the JSON.

    Args:
        table: what it says.
        path: of the files, without the ending.
    """
    text = markdown(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    rows = {
        row.name: {
            name: {"paper": row.paper.get(name), **_over_seeds(row.ours.get(name, ()))}
            for name in table.quantities
        }
        for row in table.rows
    }
    picture = draw_table(table, path.with_suffix(".png"))
    result = {"table": table.title, "rows": rows, "notes": table.notes, "picture": str(picture)}
    Run(path.parent).write(path.with_suffix(".json").name, result)
    print("\n" + text)
    return result


def markdown(table: Table) -> str:
    """The table with what one has to know to read it; a dash where there is no figure.

    Example:
        >>> row = Row("tree", {"error": 1.62}, {"error": [1.5, 1.7]})
        >>> print(markdown(Table("Errors", ["error"], [row], ["Two seeds."])))
        # Errors
        <BLANKLINE>
        | | error: paper | ours |
        |---|---|---|
        | tree | 1.62 | 1.60 ± 0.14 |
        <BLANKLINE>
        - Two seeds.
        <BLANKLINE>
    """
    head = " | ".join(f"{name}: paper | ours" for name in table.quantities)
    lines = [f"| | {head} |", "|---" * (2 * len(table.quantities) + 1) + "|"]
    for row in table.rows:
        cells = [row.name]
        for name in table.quantities:
            cells += [_figure(row.paper.get(name)), _mean(row.ours.get(name, ()))]
        lines.append(f"| {' | '.join(cells)} |")
    notes = "\n".join(f"- {note}" for note in table.notes)
    return f"# {table.title}\n\n" + "\n".join(lines) + f"\n\n{notes}\n"


def _name(preset: str) -> str:
    return f"ANT-{preset.upper().replace('_', '-')}"


def _values(runs: Sequence[Run], sources: Mapping[str, str]) -> dict[str, list[float]]:
    """Quantity -> its value in each run's result, found by a dotted name."""
    found = {}
    for name, source in sources.items():
        values = [run.result for run in runs]
        for key in source.split("."):
            values = [value[key] for value in values]
        found[name] = values
    return found


def _together(runs: Sequence[TreeRun], paths: Sequence[str]) -> list[float]:
    """The errors of all trees together on their test data, path by path."""
    config = runs[0].config
    test, trees = load_data(config["settings"]).test, [run.tree() for run in runs]
    return [
        ensemble_error([output(tree, test, p) for tree in trees], test.targets, config["data"])
        for p in paths
    ]


def _over_seeds(values: Sequence[float]) -> dict[str, Any]:
    """The mean and, of several values, the standard deviation of the sample."""
    return {
        "ours": statistics.mean(values) if values else None,
        "deviation": statistics.stdev(values) if len(values) > 1 else None,
        "seeds": list(values),
    }


def _mean(values: Sequence[float]) -> str:
    found = _over_seeds(values)
    more = "" if found["deviation"] is None else f" ± {_figure(found['deviation'])}"
    return _figure(found["ours"]) + more


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) and value < 1000 else f"{value:,.0f}"


def _table(
    title: str,
    quantities: Sequence[str],
    rows: Sequence[Row],
    members: Members,
    notes: Sequence[str],
) -> Table:
    """A table in which each of the paper's figures is that of one model."""
    run = _what_was_run(members, " The paper's are of one tree each.")
    return Table(title, quantities, rows, [*run, *notes])


def _what_was_run(members: Members, paper_errors: str = "") -> list[str]:
    """Data, sizes, seeds and times, and what the errors are, ours and the paper's."""
    runs = [run for each in members.trees.values() for run in each]
    if not runs:
        results = [run.result for each in members.baselines.values() for run in each]
        return [f"{_sizes(results[0])} {_paper_sizes(results[0])}"]
    config, results = runs[0].config, [run.result for run in runs]
    settings, first = config["settings"], results[0]
    seeds, most = len(next(iter(members.trees.values()))), settings["max_leaves"]
    minutes = statistics.mean(r["growth_seconds"] + r["refine_seconds"] for r in results) / 60
    shape = " x ".join(map(str, config["data"]["shape"]))
    return [
        f"Errors: {first['unit']} of the test examples. Ours: "
        + ("1 seed." if seeds == 1 else f"the mean of {seeds} seeds ± their deviation.")
        + paper_errors,
        f"{_sizes(first)} Split: {config['data']['split']}. Inputs: {shape}. {_paper_sizes(first)}",
        f"Growth: at most {settings['epochs']} epochs a candidate, patience {settings['patience']}"
        + (f", each trained {settings['n_init']} times" if settings["n_init"] > 1 else "")
        + (f", at most {counted(most, 'leaf', 'leaves')}" if most else "")
        + f"; refinement: {settings['refine_epochs']} epochs; Adam, batches of "
        f"{settings['batch_size']}, a rate of {settings['learning_rate']:g}; "
        f"{counted(round(minutes), 'minute')} a tree on {settings['device']}, "
        f"{counted(settings['threads'], 'thread')}.",
    ]


def _sizes(result: Mapping[str, Any]) -> str:
    return (
        f"Data: {result['data']}; {result['train_size']:,} examples to train on, "
        f"{result['validation_size']:,} for validation, {result['test_size']:,} to test."
    )


def _paper_sizes(result: Mapping[str, Any]) -> str:
    train, test = paper.SIZES[result["data"]]
    return f"The paper: {train:,}, of which 10 % for validation, and {test:,} to test."
