"""The tables of the paper on adaptive neural trees, beside ours.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Tables 3, 4, 6, 7 and 8.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from structnet.checks import check_integer
from structnet.recipes import baselines
from structnet.recipes import neural_tree_figures as paper
from structnet.recipes.neural_tree_settings import (
    DEFAULTS,
    PRIMITIVES,
    Modules,
    NeuralTreeRunSettings,
    Rows,
    Training,
)
from structnet.recipes.paper import Member, Members, PaperTable, Row, Table, values_in
from structnet.recipes.recipe import Place, parts
from structnet.recipes.words import counted

if TYPE_CHECKING:
    from structnet.recipes.run import Run

MULTI, SINGLE = "error, all leaves", "error, one path"
SIZE, PATH_SIZE = "parameters, all leaves", "parameters, one path"
VARIANTS = {  # of Table 4: what the tree grows without
    "full": {},
    "no-routers": {"routers": False},
    "no-transformers": {"transformers": False},
}
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


@dataclass(frozen=True)
class Choice:
    """Trains the paper's neural trees and compares with its tables.

      --table 3   errors and parameters; for sarcos also scikit-learn's models
      --table 4   what is lost without routers (a plain network), or without transformers
      --table 6   one path: the greedy one, the likeliest leaf, and the least likely
      --table 7   multiply-adds, all leaves and one path
      --table 8   single trees and all of them together

    Each tree is trained with each of the seeds 0 to N-1, which also say what is held out for
    validation. The tables share their trees: the folder gets a run for each tree, and each table as
    .md, .json and .png. Given again, the command skips what is done and continues what is not.

    Args:
        data: the data set
        primitives: modules of the trees, separated by commas (default: mnist_c, sarcos or
            cifar10_c)
        only: rows; of table 4 some of full, no-routers, no-transformers; of table 3 for sarcos
            some of full, linear, mlp, forest, boosting (default: all)
        train_size: training examples, drawn from all, validation among them (default: all)
        test_size: test examples, drawn from all (default: all)
        epochs: most epochs for each candidate
        n_init: trainings of each candidate, from other beginnings; the best one counts
        refine_epochs: epochs for the whole tree (default: the paper's, 100 for mnist, 300 sarcos,
            200 cifar10)
        max_leaves: most leaves of a tree (default: no limit)

    Raises:
        ValueError: a value is out of its range, or the paper has nothing of the kind.
    """

    data: Literal["mnist", "sarcos", "cifar10"] = "mnist"
    primitives: str | None = None
    only: str | None = None
    train_size: int | None = None
    test_size: int | None = None
    epochs: int = Training.epochs
    n_init: int = Training.n_init
    refine_epochs: int | None = None
    max_leaves: int | None = None
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        check_integer("train_size", self.train_size, 2, optional=True)
        check_integer("test_size", self.test_size, 2, optional=True)
        parts(self.only, (*VARIANTS, *paper.BASELINES), "--only")
        known = [name for name in paper.TREES if name.partition("_")[0] == self.data]
        for name in parts(self.primitives, PRIMITIVES, "--primitives") or ():
            if name not in known:
                raise ValueError(
                    f"the paper has no {name} for {self.data}; expected some of {', '.join(known)}"
                )

    def settings(self, primitives: str, variant: str, seed: int) -> NeuralTreeRunSettings:
        """The settings of one tree."""
        return NeuralTreeRunSettings(
            self.data,
            Rows(train_size=self.train_size, test_size=self.test_size),
            Modules(primitives, **VARIANTS[variant]),
            Training(
                epochs=self.epochs,
                n_init=self.n_init,
                refine_epochs=self.refine_epochs,
                max_leaves=self.max_leaves,
                seed=seed,
            ),
            self.place,
        ).resolved()


def members(
    variants: Sequence[str], models: Sequence[str], choice: Choice, seed: int
) -> list[Member]:
    """The runs of a table that have one seed: trees, and for SARCOS other models."""
    wanted = parts(choice.only, (*VARIANTS, *paper.BASELINES), "--only") or (*variants, *models)
    default = DEFAULTS[choice.data].primitives
    found = []
    for primitives in parts(choice.primitives, PRIMITIVES, "--primitives") or (default,):
        for variant in (name for name in variants if name in wanted):
            folder = f"{primitives}-{variant}-{seed}"
            settings = choice.settings(primitives, variant, seed)
            found.append(Member((primitives, variant), folder, settings))
    if choice.data == "sarcos":
        for name in (name for name in models if name in wanted):
            settings = baselines.Settings(
                choice.data, name, choice.train_size, choice.test_size, seed, choice.place
            )
            found.append(Member(name, f"sarcos-{name}-{seed}", settings, baselines.train))
    return found


def performance(choice: Choice, members: Members) -> Table:
    """Table 3."""
    rows = []
    for name in (name for name in members if name in paper.BASELINES):
        error, size = paper.BASELINES[name]
        found = errors(members[name], {MULTI: "multi"}) | sizes(members[name], {SIZE: "parameters"})
        rows.append(Row(NAMES[name], {MULTI: error, SIZE: size}, found))
    for primitives, runs in trees_of(members).items():
        tree = paper.TREES[primitives[0]]
        known = of_paper(choice, tree.multi, tree.single)
        known |= {SIZE: tree.parameters, PATH_SIZE: tree.path_parameters}
        found = sizes(runs, {SIZE: "parameters", PATH_SIZE: "path_parameters"})
        rows.append(Row(_name(primitives[0]), known, errors(runs) | found))
    notes = [f"{GREEDY} Its parameters are the mean over the test samples."]
    if any(name in members for name in paper.BASELINES):
        notes.append(
            "The models of scikit-learn learn from all training rows, the trees from those that "
            "are not held out for validation; the perceptron stops early by a tenth of its own."
        )
    title = "Table 3: errors and sizes"
    return _table(title, choice, (MULTI, SINGLE, SIZE, PATH_SIZE), rows, members, notes)


def ablation(choice: Choice, members: Members) -> Table:
    """Table 4."""
    rows = []
    for (primitives, variant), runs in trees_of(members).items():
        tree = paper.TREES[primitives]
        if variant == "full":
            known = of_paper(choice, tree.multi, tree.single) | {SIZE: tree.parameters}
        else:
            known = of_paper(choice, *paper.ABLATIONS[primitives][variant])
        found = errors(runs) | sizes(runs, {"leaves": "leaves", SIZE: "parameters"})
        rows.append(Row(f"{_name(primitives)}: {NAMES[variant]}", known, found))
    title = "Table 4: without routers, without transformers"
    return _table(title, choice, (MULTI, SINGLE, "leaves", SIZE), rows, members, [])


def paths(choice: Choice, members: Members) -> Table:
    """Table 6."""
    likeliest, least = "error, likeliest leaf", "error, least likely leaf"
    ways = {MULTI: "multi", SINGLE: "greedy", likeliest: "most_likely", least: "least_likely"}
    rows = []
    for (primitives, _), runs in trees_of(members).items():
        tree = paper.TREES[primitives]
        known = of_paper(choice, tree.multi, tree.single, tree.least_likely, least)
        found = errors(runs, ways) | sizes(runs, {"leaves": "leaves"})
        rows.append(Row(_name(primitives), known, found))
    return _table("Table 6: which path", choice, (*ways, "leaves"), rows, members, [GREEDY])


def operations(choice: Choice, members: Members) -> Table:
    """Table 7."""
    quantities = ("multiply-adds, all leaves", "multiply-adds, one path")
    rows = []
    for (primitives, _), runs in trees_of(members).items():
        tree = paper.TREES[primitives]
        known = dict(zip(quantities, (tree.operations, tree.path_operations), strict=True))
        twice = sizes(runs, dict(zip(quantities, ("flops", "path_flops"), strict=True)))
        found = {name: [value / 2 for value in values] for name, values in twice.items()}
        rows.append(Row(_name(primitives), known, found))
    notes = [
        f"{GREEDY} Its operations are the mean over the test samples. The paper's figures are "
        "taken for multiply-adds: for a linear classifier of MNIST it gives 8K, and 784 x 10 is "
        "7,840."
    ]
    return _table("Table 7: operations a sample", choice, quantities, rows, members, notes)


def ensembles(choice: Choice, members: Members) -> Table:
    """Table 8."""
    rows = []
    for (primitives, _), runs in trees_of(members).items():
        tree, several = paper.TREES[primitives], paper.ENSEMBLES.get(primitives, (None, None))
        single = errors(runs) | sizes(runs, {SIZE: "parameters"})
        known = of_paper(choice, tree.multi, tree.single) | {SIZE: tree.parameters}
        rows.append(Row(f"{_name(primitives)}: one tree", known, single))
        found = {name: [error] for name, error in together(runs).items()}
        found[SIZE] = [sum(single[SIZE])]
        known = of_paper(choice, *several)
        rows.append(Row(f"{_name(primitives)}: {len(runs)} trees together", known, found))
    notes = [
        f"Probabilities, or means, are averaged over the trees, each of which held out other "
        f"training examples for validation. The paper: {paper.ENSEMBLE_SIZE} trees together."
    ]
    notes = [*what_was_run(members), *notes]
    return Table("Table 8: ensembles", (MULTI, SINGLE, SIZE), rows, notes, shares(choice.data))


def _table(
    title: str,
    choice: Choice,
    quantities: Sequence[str],
    rows: Sequence[Row],
    members: Members,
    notes: Sequence[str],
) -> Table:
    """A table in which each of the paper's figures is that of one model."""
    run = what_was_run(members, " The paper's are of one tree each.")
    return Table(title, quantities, rows, [*run, *notes], shares(choice.data))


KINDS = {
    3: ("errors and sizes", ("full",), tuple(paper.BASELINES), performance),
    4: ("without routers, without transformers", tuple(VARIANTS), (), ablation),
    6: ("which path", ("full",), (), paths),
    7: ("operations a sample", ("full",), (), operations),
    8: ("ensembles", ("full",), (), ensembles),
}


def _named(number: int, choice: Choice) -> str:
    return f"table{number}-{choice.data}"


TABLES: Mapping[int, PaperTable] = {
    number: PaperTable(title, partial(_named, number), partial(members, variants, models), make)
    for number, (title, variants, models, make) in KINDS.items()
}


def _name(primitives: str) -> str:
    return f"ANT-{primitives.upper().replace('_', '-')}"


def trees_of(members: Members) -> dict[tuple[str, str], Sequence[Run]]:
    """The runs of trees, by their modules and variant."""
    return {key: runs for key, runs in members.items() if key not in paper.BASELINES}


def shares(data: str) -> tuple[str, ...]:
    """The errors that are shown in percent: all but those of numbers."""
    more = ("error, likeliest leaf", "error, least likely leaf")
    return () if data == "sarcos" else (MULTI, SINGLE, *more)


def of_paper(
    choice: Choice,
    multi: float | None,
    single: float | None,
    third: float | None = None,
    name: str = "",
) -> dict[str, float | None]:
    """The paper's errors; those in percent as shares."""
    scale = 1.0 if choice.data == "sarcos" else 100.0
    given = {MULTI: multi, SINGLE: single} | ({name: third} if name else {})
    return {quantity: value and round(value / scale, 12) for quantity, value in given.items()}


def errors(
    runs: Sequence[Run], ways: Mapping[str, str] | None = None
) -> dict[str, Sequence[float]]:
    """The error of each run, by the way through the tree: a share of 1, or a squared error."""
    found = {}
    for name, path in (ways or {MULTI: "multi", SINGLE: "greedy"}).items():
        suffix = "" if path == "multi" else f"_{path}"
        tests = [run.result["test"] for run in runs]
        found[name] = [
            test[f"mse{suffix}"] if "mse" in test else 1 - test[f"accuracy{suffix}"]
            for test in tests
        ]
    return found


def sizes(runs: Sequence[Run], names: Mapping[str, str]) -> dict[str, list[float]]:
    """Quantity -> its value in the details of each run."""
    return values_in(runs, {name: f"details.{key}" for name, key in names.items()})


def together(runs: Sequence[Run]) -> dict[str, float]:
    """The errors of all trees together on their test data, by the way through them."""
    from structnet.recipes.arrays import load_data
    from structnet.recipes.neural_tree_answers import of_ensemble, output
    from structnet.recipes.neural_tree_runs import tree_of

    data = runs[0].config["data"]
    test = load_data(runs[0].settings(NeuralTreeRunSettings)).test
    trees, found = [tree_of(run) for run in runs], {}
    for name, path in {MULTI: "multi", SINGLE: "greedy"}.items():
        score = of_ensemble([output(tree, test, path) for tree in trees], test.targets, data)
        found[name] = score if data["classes"] is None else 1 - score
    return found


def what_was_run(members: Members, paper_errors: str = "") -> list[str]:
    """Data, sizes, seeds and times, and what the errors are, ours and the paper's."""
    trees = trees_of(members)
    runs = [run for each in trees.values() for run in each]
    if not runs:
        first = next(iter(members.values()))[0].result
        return [f"{_sizes(first)} {_paper_sizes(first)}"]
    config, results = runs[0].config, [run.result for run in runs]
    settings, first = config["settings"], results[0]
    seeds, most = len(next(iter(trees.values()))), settings["max_leaves"]
    minutes = statistics.mean(result["seconds"] for result in results) / 60
    shape = " x ".join(map(str, config["data"]["shape"]))
    unit = "mean squared error" if "mse" in first["test"] else "percent wrong"
    threads = settings["threads"]
    return [
        f"Errors: {unit} of the test examples. Ours: "
        + ("1 seed." if seeds == 1 else f"the mean of {seeds} seeds ± their deviation.")
        + paper_errors,
        f"{_sizes(first)} Split: {config['data']['split']}. Inputs: {shape}. {_paper_sizes(first)}",
        f"Growth: at most {settings['epochs']} epochs a candidate, patience {settings['patience']}"
        + (f", each trained {settings['n_init']} times" if settings["n_init"] > 1 else "")
        + (f", at most {counted(most, 'leaf', 'leaves')}" if most else "")
        + f"; refinement: {settings['refine_epochs']} epochs; Adam, batches of "
        f"{settings['batch_size']}, a rate of {settings['learning_rate']:g}; "
        f"{counted(round(minutes), 'minute')} a tree on {settings['device']}"
        + (f", {counted(threads, 'thread')}." if threads else "."),
    ]


def _sizes(result: Mapping[str, Any]) -> str:
    sizes = result["sizes"]
    return (
        f"Data: {result['data']}; {sizes['train']:,} examples to train on, "
        f"{sizes['validation']:,} for validation, {sizes['test']:,} to test."
    )


def _paper_sizes(result: Mapping[str, Any]) -> str:
    train, test = paper.SIZES[result["data"]]
    return f"The paper: {train:,}, of which 10 % for validation, and {test:,} to test."
