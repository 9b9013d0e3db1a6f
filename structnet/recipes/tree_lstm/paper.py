"""The tables of the paper on tensor Tree-LSTMs, with our figures beside the paper's.

Reference:
    Castellana and Bacciu, "Generalising Recursive Neural Models by Tensor Decomposition", IJCNN
    2020, Tables 1 (ListOps) and 2 (LRT).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structnet.checks import check_integer
from structnet.recipes.paper import Member, Members, PaperTable, Row, Table, values_in
from structnet.recipes.recipe import Place, parts, settings_from, values_of
from structnet.recipes.tree_lstm.own_trees_table import OWN, TASKS
from structnet.recipes.tree_lstm.settings import AGGREGATORS, WARM_UP, Sizes, TreeLSTMRunSettings
from structnet.routing.words import percent

if TYPE_CHECKING:
    from structnet.recipes.run import Run

# Test accuracy, the mean of three runs; the paper does not have the models that are not here.
PAPER: dict[str, dict[Any, float]] = {
    "listops": {"tucker": 0.9426, "sum": 0.83, "full": 0.82},
    "lrt": {"tucker": 0.906, "sum": 0.91, "full": 0.915},
}
PAPER_RUNS = 3
NAMES = {
    "tucker": "Tucker",
    "sum": "weighted sum",
    "full": "full tensor",
    "child-sum": "child sum",
    "cp": "CP",
    "tensor-train": "tensor train",
}
ACCURACY, OVER_OPERATORS = "test accuracy", "mean over operators"


@dataclass(frozen=True)
class Choice:
    """Trains the paper's Tree-LSTMs and compares the results with its tables.

      --table 1   listops
      --table 2   lrt
      --table own functions of Python's library, expressions, and sentences of a treebank: the
                  estimators with default settings, compared with linear models and boosting

    Each model is trained once with each of the seeds 0 to N-1 (the paper: 3 seeds). The folder gets
    a run for each training, and the table as .md, .json and .png. If the command is given again,
    finished runs are skipped and unfinished ones are continued.

    Args:
        only: rows, separated by commas: some of tucker, sum, full, child-sum, cp, tensor-train
            (default: the paper's, tucker,sum,full); for table own some of package, package-by-file,
            package-bare, loop, value, uses, root, tag, next, nouns, nouns-hidden, tags, phrases
            (default: all; those from root on need --treebank)
        epochs: passes through the training examples, the same for all models (default: each model's
            own)
        treebank: file of bracketed sentences, for table own
    """

    only: str | None = None
    epochs: int | None = None
    treebank: Path | None = None
    sizes: Sizes = field(default_factory=Sizes)
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        parts(self.only, (*AGGREGATORS, *TASKS), "--only")
        check_integer("epochs", self.epochs, 1, optional=True)


def members(data: str, choice: Choice, seed: int) -> list[Member]:
    """The runs of a table with one seed.

    Raises:
        ValueError: a setting is for another table.
    """
    runs = []
    if choice.treebank is not None:
        raise ValueError("--treebank is for table own")
    for name in parts(choice.only, AGGREGATORS, "--only") or PAPER[data]:
        own = {"data": data, "cell": name, "seed": seed}
        settings = settings_from(TreeLSTMRunSettings, values_of(choice) | own)
        runs.append(Member(name, f"{data}-{name}-{seed}", settings.resolved()))
    return runs


def make(data: str, choice: Choice, runs: Members) -> Table:
    """The paper's table, with the figures of our runs."""
    quantities = {ACCURACY: "test.accuracy"}
    if data == "lrt":
        quantities[OVER_OPERATORS] = "test.accuracy_mean_over_operators"
    rows = [
        Row(NAMES[name], {ACCURACY: PAPER[data].get(name)}, values_in(of, quantities), cells(of))
        for name, of in runs.items()
    ]
    title = f"Table {1 if data == 'listops' else 2}: {data}"
    shares = (ACCURACY, OVER_OPERATORS)
    return Table(title, list(quantities), rows, notes(data, runs), shares, pictures(data, runs))


def cells(runs: Sequence[Run]) -> dict[str, str]:
    """The columns that say how a model was trained."""
    settings, results = runs[0].config["settings"], [run.ended for run in runs]
    return {
        "c": str(settings["hidden_size"]),
        "r": "" if settings["rank"] is None else str(settings["rank"]),
        "forget gate": "one child" if settings["forget"] == "child" else "all children",
        "epochs": str(settings["epochs"]),
        "batch": str(settings["batch_size"]),
        "rate": f"{settings['learning_rate']:g}",
        "decay": f"{settings['weight_decay']:g}",
        "parameters": f"{results[0]['details']['aggregation_parameters']:,}",
        "s a run": f"{statistics.mean(result['seconds'] for result in results):,.0f}",
    }


def notes(data: str, runs: Members) -> list[str]:
    """The notes of the table."""
    from structnet.training.schedules import CLIP_NORM

    first = next(iter(runs.values()))
    result, number = first[0].ended, len(first)
    sizes = result["sizes"]
    lines = [
        f"Data: {result['details']['origin']}; {sizes['train']:,} examples to train on, "
        f"{sizes['validation']:,} for validation, which chose the epoch, {sizes['test']:,} to "
        "test.",
        f"Ours: {'1 run' if number == 1 else f'the mean of {number} runs'}; AdamW with a one-cycle "
        f"schedule ({percent(WARM_UP)} of it warm-up; the highest rate is given), gradients "
        f"clipped to norm {CLIP_NORM:g}. The paper's: the mean of {PAPER_RUNS} runs; AdaDelta, "
        "batches of 25, L2 penalty 0.01.",
        "Parameters: those of one aggregation, as the paper counts them. Forget gate: from that "
        "child alone, or from all children as in the paper's released code. Seconds: of training "
        "and validation.",
    ]
    if data == "lrt":
        lines.append(
            "The test accuracy is that of all test pairs; beside it stands the mean of those of "
            "the numbers of operators, 0 to 12."
        )
    return lines


def pictures(data: str, runs: Members) -> dict[str, Any]:
    """The curves of the validation accuracy and, for lrt, the accuracy by number of operators."""
    from structnet.recipes.tree_lstm.pictures import draw_by_operators, draw_curves

    drawn = {f"{data}-validation.png": partial(draw_curves, curves(runs))}
    if data == "lrt":
        drawn["lrt-by_operators.png"] = partial(draw_by_operators, by_operators(runs))
    return drawn


def by_operators(runs: Members) -> dict[str, dict[str, list[float]]]:
    """Model -> number of operators -> mean accuracy over the runs, and number of examples."""
    result = {}
    for name, each in runs.items():
        groups = [run.ended["test"]["accuracy_by_operators"] for run in each]
        result[NAMES[name]] = {
            n: [statistics.mean(by[n][0] for by in groups), count]
            for n, (_, count) in groups[0].items()
        }
    return result


def curves(runs: Members) -> dict[str, dict[int, float]]:
    """Model -> epoch -> mean validation accuracy over the runs that reached the epoch."""
    result = {}
    for name, each in runs.items():
        values: dict[int, list[float]] = {}
        for record in (record for run in each for record in run.history):
            values.setdefault(record["epoch"], []).append(record["validation_accuracy"])
        result[NAMES[name]] = {n: statistics.mean(values[n]) for n in sorted(values)}
    return result


def _table(number: int, data: str) -> PaperTable:
    name = f"table{number}-{data}"
    return PaperTable([data], lambda choice: name, partial(members, data), partial(make, data))


TABLES: Mapping[Any, PaperTable] = {1: _table(1, "listops"), 2: _table(2, "lrt"), "own": OWN}
