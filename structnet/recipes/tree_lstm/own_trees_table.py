"""The tree estimators with default settings, compared with linear models and boosting on counts.

A quarter of each task is for testing, and decides nothing. The error of numbers is the root mean
square. ``bag`` is logistic or ridge regression on the counts of labels, ``pairs`` the same with
pairs of parent and child, and ``boosting`` scikit-learn's HistGradientBoosting on the counts of the
most frequent labels. For classes of nodes, ``bag`` is logistic regression on a node's label, and
``pairs`` on that and the labels of its neighbours; boosting is left out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structnet.recipes.paper import Member, Members, PaperTable, Row, Table
from structnet.recipes.recipe import Place, Say, parts, result_of, settings_from, values_of

if TYPE_CHECKING:
    import numpy as np

    from structnet.recipes.tree_lstm.own_trees_tasks import Task

NAMES = {"tree": "Tree-LSTM", "bag": "bag of labels", "pairs": "with pairs", "boosting": "boosting"}
OF_PROGRAMS = {
    "package": "package of a function",
    "package-by-file": "the same, files held out",
    "package-bare": "the same, structure alone",
    "loop": "loop in a condition",
    "value": "value of an expression",
    "uses": "use of a name",
}
OF_SENTENCES = {
    "root": "label of a sentence",
    "tag": "tag of a masked word",
    "next": "is a sentence the next",
    "nouns": "number of nouns",
    "nouns-hidden": "the same, tags hidden",
    "tags": "tags of words",
    "phrases": "labels of phrases",
}
OF_NODES = ("uses", "tags", "phrases")
TASKS = OF_PROGRAMS | OF_SENTENCES


@dataclass(frozen=True)
class Settings:
    """The settings of a run: its task and its model.

    Args:
        data: name of the task, one of ``TASKS``.
        model: name of the model, one of ``NAMES``.
        train_size, test_size: largest number of trees, drawn at random; None for all, as a task
            may have fewer.
        treebank: file of bracketed sentences; None for tasks without sentences.
        seed: seed of the split and of the model.
        place: device.
    """

    data: str
    model: str
    train_size: int | None = None
    test_size: int | None = None
    treebank: Path | None = None
    seed: int = 0
    place: Place = field(default_factory=Place)


def members(choice: Any, seed: int) -> list[Member]:
    """The runs with one seed.

    Raises:
        ValueError: a setting is not for this table, or a treebank is missing.
    """
    if choice.epochs is not None:
        raise ValueError("table own is about models with default settings; leave out --epochs")
    if choice.sizes.max_depth is not None or choice.sizes.generate or choice.place.data_dir:
        raise ValueError("--max-depth, --generate and --data-dir are for tables 1 and 2")
    tasks = parts(choice.only, tuple(TASKS), "--only") or TASKS
    if choice.treebank is not None and not choice.treebank.is_file():
        raise ValueError(f"--treebank must be a file of sentences; got {choice.treebank}")
    if choice.treebank is None and choice.only is not None and set(tasks) & set(OF_SENTENCES):
        raise ValueError(f"--only {choice.only} needs --treebank FILE, with bracketed sentences")
    runs, values = [], values_of(choice)
    for task, model in product(tasks, NAMES):
        own = {"data": task, "model": model, "seed": seed}
        if task in OF_SENTENCES and choice.treebank is None:
            continue
        if task in OF_NODES and model == "boosting":  # there are too many labels for columns
            continue
        if task not in OF_SENTENCES:
            own["treebank"] = None
        settings = settings_from(Settings, values | own)
        runs.append(Member(model, f"own-{task}-{model}-{seed}", settings, trained))
    return runs


def trained(settings: Settings, say: Say) -> dict[str, Any]:
    """Trains and tests one model, and returns a result."""
    from structnet.recipes.tree_lstm.own_trees_baselines import baseline
    from structnet.recipes.tree_lstm.own_trees_tasks import task

    say(f"{TASKS[settings.data]}: {NAMES[settings.model]} ...")
    of, begin = task(settings.data, settings.treebank), time.perf_counter()
    learn, test = parted(of, settings.seed, settings.train_size, settings.test_size)
    if settings.model == "tree":
        predicted = _tree(settings, of, learn, test)
    else:
        predicted = baseline(settings.model, settings.seed, of, learn, test)
    sizes = {"train": len(learn), "test": len(test)}
    tested = {"error" if of.of_numbers else "accuracy": score(predicted, of.answers(test))}
    took = time.perf_counter() - begin
    return result_of(settings.model, settings.data, settings, sizes, tested, took)


def parted(
    task: Task, seed: int, train_size: int | None = None, test_size: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The places of three quarters to learn from and one to test, or fewer: ``[n]``, ``[m]``."""
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

    how: dict[str, Any] = {"n_splits": 4, "shuffle": True, "random_state": seed}
    kind = KFold if task.of_numbers or task.of_nodes else StratifiedKFold
    if task.groups is not None:
        kind = StratifiedGroupKFold
    learn, test = next(kind(**how).split(task.y, task.y, task.groups))
    rng = np.random.default_rng(seed)
    return rng.permutation(learn)[:train_size], rng.permutation(test)[:test_size]


def score(predicted: np.ndarray, y: np.ndarray) -> float:
    """The accuracy of classes, or the root mean squared error of numbers. Both ``[n]``."""
    if y.dtype.kind == "f":
        return float(((predicted - y) ** 2).mean() ** 0.5)
    return float((predicted == y).mean())


def _tree(settings: Settings, task: Task, learn: np.ndarray, test: np.ndarray) -> np.ndarray:
    import numpy as np

    from structnet.tensor_tree import TreeLSTMClassifier, TreeLSTMNodeClassifier, TreeLSTMRegressor

    kind: Any = TreeLSTMRegressor if task.of_numbers else TreeLSTMClassifier
    if task.of_nodes:
        kind = TreeLSTMNodeClassifier
    model = kind(random_state=settings.seed, device=settings.place.device)
    model.fit([task.trees[i] for i in learn], task.y[learn])
    predicted = model.predict([task.trees[i] for i in test])
    return np.concatenate(predicted)[task.has_class(test)] if task.of_nodes else predicted


def make(choice: Any, runs: Members) -> Table:
    """The table of trained runs."""
    from structnet.recipes.tree_lstm.own_trees_baselines import SHOWN

    sizes, measures = {}, {}
    for run in next(iter(runs.values())):
        task, result = run.config["data"], run.ended
        sizes[task], (measures[task],) = sum(result["sizes"].values()), result["test"]
    quantities = {task: f"{TASKS[task]}, {measure}" for task, measure in measures.items()}
    rows = [Row(NAMES[model], {}, _figures(of, quantities)) for model, of in runs.items()]
    number = len(next(iter(rows[0].ours.values())))
    listed = ", ".join(f"{TASKS[task]} {size:,}" for task, size in sizes.items())
    notes = [
        f"Trees: {listed}; at most three quarters to learn from, and one to test. Of the "
        "estimators a tenth of the former chose the epoch. "
        + ("One split, seed 0." if number == 1 else f"{number} splits, seeds 0 to {number - 1}."),
        "No setting of the Tree-LSTM is touched. Bag: logistic or ridge regression on how often "
        "each label occurs; with pairs: of parent and child too; boosting: scikit-learn's "
        f"HistGradientBoosting on the counts of the {SHOWN} most frequent labels. Of nodes: "
        "logistic regression on a node's label; on that and its neighbours' (two above, those "
        "beside and below, the next leaves). Of two trees all these are on how often a label "
        "occurs in both, and how much more often in one.",
        "Programs: functions of the library of the Python that computed this. Error: root of the "
        "mean square.",
    ]
    shares = [name for task, name in quantities.items() if measures[task] == "accuracy"]
    return Table("Trees of one's own", list(quantities.values()), rows, notes, shares)


def _figures(runs: Sequence[Any], quantities: Mapping[str, str]) -> dict[str, list[float]]:
    figures: dict[str, list[float]] = {name: [] for name in quantities.values()}
    for run in runs:
        figures[quantities[run.config["data"]]] += run.ended["test"].values()
    return figures


OWN = PaperTable((), lambda choice: "table-own", members, make)
