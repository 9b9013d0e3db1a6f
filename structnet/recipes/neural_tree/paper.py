"""The tables of the paper on adaptive neural trees, with our figures beside the paper's.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Tables 3 to 8 and Figures 3 and 4,
    numbered as in the last version on arXiv, 1807.06699.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from structnet.neural_tree.settings import NeuralTreeSettings
from structnet.recipes.neural_tree import baselines, one_path
from structnet.recipes.neural_tree import figures as paper
from structnet.recipes.neural_tree.settings import (
    DEFAULTS,
    PRIMITIVES,
    NeuralTreeRunSettings,
    Training,
)
from structnet.recipes.neural_tree.tabular import TABULAR
from structnet.recipes.paper import Member, Members, PaperTable, Row, Table
from structnet.recipes.recipe import Place, parts, settings_from, values_of
from structnet.recipes.words import counted

if TYPE_CHECKING:
    from structnet.recipes.run import Run

DataSet = Literal["mnist", "sarcos", "cifar10"]
VARIANTS = {  # for Table 4: the tree, and without which modules it grows
    "full": {},
    "no-routers": {"routers": False},
    "no-transformers": {"transformers": False},
}
ONE_PATH = "one-path"  # for Table 3: the network along one path of the full tree
NAMES = {
    "full": "tree",
    "no-routers": "no routers (CNN)",
    "no-transformers": "no transformers (SDT/HME)",
    ONE_PATH: "its root-to-leaf network",
    **baselines.NAMES,
}

MULTI, SINGLE = "error, all leaves", "error, one path"
LIKELIEST, LEAST = "error, likeliest leaf", "error, least likely leaf"
SIZE, PATH_SIZE = "parameters, all leaves", "parameters, one path"
OPERATIONS, PATH_OPERATIONS = "multiply-adds, all leaves", "multiply-adds, one path"
GROWTH, GROWTH_EPOCHS = "growth, minutes", "growth, epochs"
REFINEMENT, REFINEMENT_EPOCHS = "refinement, minutes", "refinement, epochs"
TIMES = (GROWTH, GROWTH_EPOCHS, REFINEMENT, REFINEMENT_EPOCHS)  # as paper.TIMES
OF_TREE = (MULTI, SINGLE, SIZE, PATH_SIZE, LEAST, OPERATIONS, PATH_OPERATIONS)  # as paper.TREES
# The endings of the metrics in a run's result.
ERRORS = {MULTI: "", SINGLE: "_greedy", LIKELIEST: "_most_likely", LEAST: "_least_likely"}
DETAILS = {  # details of a run's result, and the number by which they are divided
    "leaves": ("leaves", 1),
    SIZE: ("parameters", 1),
    PATH_SIZE: ("path_parameters", 1),
    OPERATIONS: ("flops", 2),  # two operations in a multiply-add
    PATH_OPERATIONS: ("path_flops", 2),
    GROWTH: ("growth_seconds", 60),
    GROWTH_EPOCHS: ("growth_epochs", 1),
    REFINEMENT: ("refine_seconds", 60),
    REFINEMENT_EPOCHS: ("refine_epochs", 1),
}


class Kind(NamedTuple):
    """The content of one of the paper's tables.

    Attributes:
        title: title.
        quantities: columns.
        notes: sentences that are needed to read the table.
        variants: names of ``VARIANTS`` that are compared.
        models: True to show other models of the same data too.
        ensembles: True to show all trees of a kind together too.
    """

    title: str
    quantities: Sequence[str]
    notes: Sequence[str] = ()
    variants: Sequence[str] = ("full",)
    models: bool = False
    ensembles: bool = False


GREEDY = "One path: at each router, the likelier side."
KINDS = {
    3: Kind(
        "errors and sizes",
        (MULTI, SINGLE, SIZE, PATH_SIZE),
        [f"{GREEDY} Its parameters are the mean over the test samples."],
        models=True,
    ),
    4: Kind(
        "without routers, without transformers",
        (MULTI, SINGLE, "leaves", SIZE),
        variants=tuple(VARIANTS),
    ),
    5: Kind(
        "training times",
        TIMES,
        [
            "The epochs of growth are those of all candidates. The paper's times are of a Titan X "
            "GPU."
        ],
    ),
    6: Kind("which path", (*ERRORS, "leaves"), [GREEDY]),
    7: Kind(
        "operations a sample",
        (OPERATIONS, PATH_OPERATIONS),
        [
            f"{GREEDY} Its operations are the mean over the test samples. The paper's figures are "
            "taken for multiply-adds: for a linear classifier of MNIST it gives 8K, and 784 x 10 "
            "is 7,840."
        ],
    ),
    8: Kind(
        "ensembles",
        (MULTI, SINGLE, SIZE),
        [
            "Probabilities, or means, are averaged over the trees, each of which held out other "
            f"training examples for validation. The paper: {paper.ENSEMBLE_SIZE} trees together."
        ],
        ensembles=True,
    ),
}
OF_MODELS = (
    "The models of scikit-learn learn from all training examples; its perceptrons stop early by a "
    "tenth of their own. Networks are trained as trees are refined. Parameters of forests "
    "and boosting are thresholds, features and leaves."
)
OF_PATH = (
    "The root-to-leaf network has the transformers of one path through its tree, to the leaf with "
    "the most of them (of several, to the one that most training examples come to), and a solver. "
    "Its weights are new, and trained as a root and in refinement. The paper's figure of it is not "
    "known here."
)


@dataclass(frozen=True)
class Choice:
    """Trains the paper's neural trees and compares the results with its tables.

      --table 3   errors and parameters, compared with other models
      --table 4   errors of the full tree, without routers (a plain network), without transformers
      --table 5   time and epochs of growth and of refinement
      --table 6   predictions along one path: greedy, to the likeliest leaf, to the least likely
      --table 7   multiply-adds of all leaves and of one path
      --table 8   single trees, and an ensemble of all of them
      --table figure3   errors and sizes by number of examples, also of a CNN and a linear model
      --table figure4   effect of the patience of growth
      --table tabular   scores on small tables, beside scikit-learn's models, all at their defaults

    Each tree is trained once with each of the seeds 0 to N-1, which also determine what is held out
    for validation. The paper's numbers are those of its last version on arXiv. The tables share
    their trees: the folder gets a run for each tree, and each table as .md, .json and .png. If the
    command is given again, finished runs are skipped and unfinished ones are continued.

    Args:
        data: the data set
        primitives: modules of the trees, separated by commas (default: mnist_c, sarcos or
            cifar10_c)
        only: rows, separated by commas; for table 4 some of full, no-routers, no-transformers; for
            table 3 with sarcos some of full, one-path, linear, decision-tree, mlp1, mlp, mlp5,
            forest, boosting30, boosting, with mnist of full, one-path, linear, forest, histograms,
            mlp2, lenet, with cifar10 of full, one-path, linear, all-cnn; one-path, the network from
            the root to a leaf without routers, trained on its own, includes full (default: all)
        train_size: number of training examples, drawn at random; validation examples are taken from
            these (default: all)
        test_size: number of test examples, drawn at random (default: all)
        epochs: largest number of epochs for each candidate
        n_init: number of times that each candidate is trained, from different initial weights; the
            best counts
        refine_epochs: epochs in which the whole tree, or a network of table 3, is trained (default:
            the paper's, 100 for mnist, 300 for sarcos, 200 for cifar10)
        max_leaves: largest number of leaves of a tree (default: no limit)

    Raises:
        ValueError: a value is out of its range, or the paper has nothing of the kind.
    """

    data: DataSet = "mnist"
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
        parts(self.only, tuple(NAMES), "--only")
        known = [name for name in paper.TREES if name.partition("_")[0] == self.data]
        for name in parts(self.primitives, PRIMITIVES, "--primitives") or ():
            if name not in known:
                raise ValueError(
                    f"the paper has no {name} for {self.data}; expected some of {', '.join(known)}"
                )
        self.settings(known[0], "full", 0)  # refuses settings that no tree can have

    def settings(self, primitives: str, variant: str, seed: int) -> NeuralTreeRunSettings:
        """The settings of one tree."""
        own = {"primitives": primitives, "seed": seed, **VARIANTS[variant]}
        return settings_from(NeuralTreeRunSettings, values_of(self) | own).resolved()


def members(kind: Kind, choice: Choice, seed: int) -> list[Member]:
    """The runs of a table with one seed: trees, and other models of the same data."""
    wanted = parts(choice.only, tuple(NAMES), "--only") or NAMES
    default, found = DEFAULTS[choice.data]["primitives"], []
    for primitives in parts(choice.primitives, PRIMITIVES, "--primitives") or (default,):
        path = kind.models and ONE_PATH in wanted
        for name in (name for name in kind.variants if name in wanted or path):
            settings = choice.settings(primitives, name, seed)
            found.append(Member((primitives, name), f"{primitives}-{name}-{seed}", settings))
        if path:  # through the full tree, which was added last
            folder, tree = f"{primitives}-{ONE_PATH}-{seed}", found[-1].folder
            key = primitives, ONE_PATH
            found.append(Member(key, folder, settings, one_path.train, tree))
    for name in paper.BASELINES[choice.data] if kind.models else ():
        if name in wanted:
            found.append(other_model(choice, name, seed))
    return found


def other_model(choice: Choice, name: str, seed: int) -> Member:
    """The run of a model other than our trees."""
    own: dict[str, Any] = {"model": name, "seed": seed, "refine_epochs": None}
    if name in baselines.NETWORKS[choice.data]:
        given = choice.refine_epochs
        own["refine_epochs"] = DEFAULTS[choice.data]["refine_epochs"] if given is None else given
    settings = settings_from(baselines.Settings, values_of(choice) | own)
    return Member(name, f"{choice.data}-{name}-{seed}", settings, baselines.train)


def made(number: int, choice: Choice, members: Members) -> Table:
    """One of the paper's tables, with the figures of our runs."""
    kind = KINDS[number]
    models_first = sorted(members, key=lambda key: key not in baselines.NAMES)
    rows = [row for key in models_first for row in rows_of(kind, choice.data, key, members[key])]
    # In the other tables, each of the paper's figures is that of one model.
    more = "" if kind.ensembles else " The paper's are of one tree each."
    notes = [*what_was_run(members, more), *kind.notes]
    if any(key in baselines.NAMES for key in members):
        notes.append(OF_MODELS)
    if any(ONE_PATH in key for key in members):
        notes.append(OF_PATH)
    title = f"Table {number}: {kind.title}"
    return Table(title, kind.quantities, rows, notes, shares(choice.data))


TABLES: dict[int | str, PaperTable] = {
    number: PaperTable(
        get_args(DataSet),
        f"table{number}-{{0.data}}".format,
        partial(members, kind),
        partial(made, number),
    )
    for number, kind in KINDS.items()
}
TABLES["tabular"] = TABULAR


def rows_of(kind: Kind, data: str, key: Any, runs: Sequence[Run]) -> list[Row]:
    """The rows of a table for one model.

    Args:
        kind: table.
        data: data set.
        key: name of a baseline, or modules and variant of a tree.
        runs: runs of the model.
    """
    if key in baselines.NAMES:
        known = of_paper(data, (MULTI, SIZE), paper.BASELINES[data][key])
        return [Row(NAMES[key], known, ours(runs, (MULTI, SIZE)))]
    primitives, variant = key
    name = f"ANT-{primitives.upper().replace('_', '-')}"
    if variant == ONE_PATH:
        return [Row(f"{name}: {NAMES[ONE_PATH]}", {}, ours(runs, (MULTI, SIZE)))]
    if variant == "full":
        known = of_paper(data, OF_TREE, paper.TREES[primitives])
        known |= of_paper(data, TIMES, paper.TIMES.get(primitives, ()))
    else:
        known = of_paper(data, (MULTI, SINGLE), paper.ABLATIONS[primitives][variant])
    found = ours(runs, kind.quantities)
    if not kind.ensembles:
        more = f": {NAMES[variant]}" if len(kind.variants) > 1 else ""
        return [Row(f"{name}{more}", known, found)]
    several = of_paper(data, (MULTI, SINGLE), paper.ENSEMBLES.get(primitives, ()))
    both = {quantity: [error] for quantity, error in together(runs).items()}
    return [
        Row(f"{name}: one tree", known, found),
        Row(f"{name}: {len(runs)} trees together", several, both | {SIZE: [sum(found[SIZE])]}),
    ]


def shares(data: str) -> tuple[str, ...]:
    """The quantities that are shown in percent: all errors, unless numbers are predicted."""
    return () if data == "sarcos" else tuple(ERRORS)


def of_paper(
    data: str, quantities: Sequence[str], figures: Sequence[float | None]
) -> dict[str, float | None]:
    """Quantity -> the paper's figure, if any; those in percent are converted to shares."""
    return {
        name: value and round(value / 100, 12) if name in shares(data) else value
        for name, value in zip(quantities, figures, strict=bool(figures))
    }


def ours(runs: Sequence[Run], quantities: Iterable[str]) -> dict[str, list[float]]:
    """Quantity -> our figures, one per run; errors are shares from 0 to 1, or squared errors."""
    return {name: [_figure(run.ended, name) for run in runs] for name in quantities}


def _figure(result: Mapping[str, Any], name: str) -> float:
    if name in ERRORS:
        test, way = result["test"], ERRORS[name]
        metric = "mse" if "mse" in test else "accuracy"
        if way and result["details"]["leaves"] == 1:  # to which all ways lead
            way = ""
        figure = test[f"{metric}{way}"]
        return figure if metric == "mse" else 1 - figure
    value, unit = result["details"][DETAILS[name][0]], DETAILS[name][1]
    return value if unit == 1 else value / unit


def together(runs: Sequence[Run]) -> dict[str, float]:
    """The errors of all trees together on their test data, with all leaves and with one path."""
    from structnet.recipes.neural_tree.answers import of_ensemble, output
    from structnet.recipes.neural_tree.data import load_data
    from structnet.recipes.neural_tree.runs import tree_of

    data, test = runs[0].config["data"], runs[0].read_again(NeuralTreeRunSettings, load_data).test
    trees, found = [tree_of(run) for run in runs], {}
    for name, path in {MULTI: "multi", SINGLE: "greedy"}.items():
        score = of_ensemble([output(tree, test.x, path) for tree in trees], test.targets, data)
        found[name] = score if data["classes"] is None else 1 - score
    return found


def what_was_run(members: Members, paper_errors: str = "") -> list[str]:
    """Notes on data, sizes, seeds and times, and on the errors, ours and the paper's."""
    # For other models, config.json has only the name of their data.
    trees = [runs for runs in members.values() if isinstance(runs[0].config["data"], dict)]
    if not trees:
        return [_sizes(next(iter(members.values()))[0].ended)]
    results, seeds = [run.ended for runs in trees for run in runs], len(trees[0])
    config = trees[0][0].config
    data, settings = config["data"], config["settings"]
    batch = NeuralTreeSettings(batch_size=settings["batch_size"]).batch(
        results[0]["sizes"]["train"]
    )
    unit = "mean squared error" if "mse" in results[0]["test"] else "percent wrong"
    means = "1 seed" if seeds == 1 else f"the mean of {seeds} seeds ± their deviation"
    inputs = f"Split: {data['split']}. Inputs: {' x '.join(map(str, data['shape']))}. "
    most, refined = (counted(settings[name], "epoch") for name in ("epochs", "refine_epochs"))
    growth = f"at most {most} a candidate, patience {settings['patience']}"
    if settings["n_init"] > 1:
        growth += f", each trained {settings['n_init']} times"
    if settings["max_leaves"]:
        growth += f", at most {counted(settings['max_leaves'], 'leaf', 'leaves')}"
    minutes = round(statistics.mean(result["seconds"] for result in results) / 60)
    finish = settings["finish"] and settings["refine_epochs"] // 2
    if finish:
        refined += f", then at most {counted(finish, 'epoch')} with the validation examples, too"
    rate = f"a rate of {settings['learning_rate']:g}"
    if settings["weight_decay"]:
        rate += f", in refinement a weight decay of {settings['weight_decay']:g} but for routers"
    place = settings["device"]
    if settings["threads"]:
        place += f", {counted(settings['threads'], 'thread')}"
    return [
        f"Errors: {unit} of the test examples. Ours: {means}.{paper_errors}",
        _sizes(results[0], inputs),
        f"Growth: {growth}; refinement: {refined}; Adam, batches of "
        f"{batch}, {rate}; "
        f"{counted(minutes, 'minute') if minutes else 'less than a minute'} a tree on {place}.",
    ]


def _sizes(result: Mapping[str, Any], inputs: str = "") -> str:
    sizes, (train, test) = result["sizes"], paper.SIZES[result["data"]]
    return (
        f"Data: {result['data']}; {sizes['train']:,} examples to train on, "
        f"{sizes['validation']:,} for validation, {sizes['test']:,} to test. {inputs}"
        f"The paper: {train:,}, of which 10 % for validation, and {test:,} to test."
    )
