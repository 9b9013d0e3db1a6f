"""Softmax trees compared with a flat softmax and scikit-learn's models, all at their defaults.

All models of a seed learn from the same rows, and are tested on the same rows, which decide
nothing. The size of a file is that of ``save``, or of a pickle for scikit-learn's models.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from timeit import timeit
from typing import TYPE_CHECKING, Any, NamedTuple

from structnet.recipes.paper import Member, Members, PaperTable, Row, Table, values_in
from structnet.recipes.recipe import Place, Say, result_of
from structnet.recipes.run_settings import check_data

if TYPE_CHECKING:
    import numpy as np

NAMES = (
    "softmax tree",
    "ten softmax trees",
    "flat softmax",
    "logistic regression",
    "decision tree",
    "random forest",
)
QUANTITIES = ("error", "us a row of many", "us a row alone", "file, MB", "fit, s")
CALLS, REPEATS = 50, 3  # timed predictions of one row, and of all test rows


class Source(NamedTuple):
    """The part of a data set that is used.

    Attributes:
        train_size, test_size: number of rows, drawn at random; None for all.
        num_classes: number of words to predict, for a text.
    """

    train_size: int | None = None
    test_size: int | None = None
    num_classes: int | None = None


SOURCES = {
    "digits": Source(),
    "mnist": Source(5_000, 10_000),
    "uneven": Source(20_000, 5_000),
    "brown": Source(20_000, 5_000, 200),
}


@dataclass(frozen=True)
class Settings:
    """The settings of a run: its rows and its model.

    Args:
        data: data set.
        model: name of the model, one of ``NAMES``.
        train_size, test_size: number of rows; None for all.
        num_classes: number of words to predict, for a text.
        seed: seed of the rows that are drawn, and of the model.
        place: folder of the files.
    """

    data: str
    model: str
    train_size: int | None = None
    test_size: int | None = None
    num_classes: int | None = None
    seed: int = 0
    place: Place = field(default_factory=Place)


def members(choice: Any, seed: int) -> list[Member]:
    """The runs with one seed.

    Raises:
        ValueError: a setting is not for this table.
    """
    own = (choice.depth, choice.k, choice.only, choice.penalty, choice.start)
    if own != (None, None, None, 1, "centroids"):
        raise ValueError(
            "table defaults is about models with default settings; leave out --depth, --k, "
            "--penalty, --start, --only"
        )
    if choice.data is not None:
        check_data(choice.data, tuple(SOURCES))
    return [
        Member((data, model), f"{data}-untouched-{model.replace(' ', '-')}-{seed}", settings, train)
        for data, source in SOURCES.items()
        if choice.data in (None, data)
        for model in NAMES
        for settings in [_settings(choice, data, source, model, seed)]
    ]


def _settings(choice: Any, data: str, source: Source, model: str, seed: int) -> Settings:
    """The settings of a run, in which the user's choice of samples overrides the table's."""
    options = {name: getattr(choice.rows, name) for name in Source._fields}
    given = source._asdict() | {name: value for name, value in options.items() if value is not None}
    return Settings(data, model, **given, seed=seed, place=choice.place)


def train(settings: Settings, say: Say) -> dict[str, Any]:
    """Fits and tests one model, and returns a result."""
    from sklearn.exceptions import ConvergenceWarning

    from structnet.recipes.softmax_tree.data import load_data
    from structnet.recipes.softmax_tree.settings import Rows, SoftmaxTreeRunSettings
    from structnet.softmax_tree.settings import SoftmaxTreeSettings

    say(f"{settings.data}: {settings.model} ...")
    drawn = {name: getattr(settings, name) for name in Source._fields}
    own = settings.data in ("digits", "uneven")  # which have no files
    place = Place() if own else settings.place
    arguments = Rows(**drawn), SoftmaxTreeSettings(seed=settings.seed), place
    data = load_data(SoftmaxTreeRunSettings(settings.data, *arguments))
    x, y = data.train.x, data.train.targets.numpy()
    begin, wall = time.process_time(), time.perf_counter()
    model = _model(settings.model, settings.seed)
    with warnings.catch_warnings():  # 100 iterations are scikit-learn's default
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, y)
    seconds = time.process_time() - begin
    found = figures_of(model, data.test.x, data.test.targets.numpy())
    sizes, tested = {"train": len(y), "test": len(data.test)}, found | {"fit, s": seconds}
    took = time.perf_counter() - wall
    result = result_of(settings.model, settings.data, settings, sizes, tested, took)
    return result | {"details": {"classes": data.arrays.num_outputs} | _chosen(model)}


def _model(name: str, seed: int) -> Any:
    """An unfitted model; the flat softmax is a softmax tree without decisions."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    from structnet.softmax_tree import SoftmaxTreeClassifier

    makers: Mapping[str, Callable[[], Any]] = {
        "softmax tree": partial(SoftmaxTreeClassifier, random_state=seed),
        "ten softmax trees": partial(SoftmaxTreeClassifier, n_members=10, random_state=seed),
        "flat softmax": partial(SoftmaxTreeClassifier, depth=0, random_state=seed),
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        "decision tree": partial(DecisionTreeClassifier, random_state=seed),
        "random forest": partial(RandomForestClassifier, random_state=seed),
    }
    return makers[name]()


def figures_of(model: Any, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The error of a fitted model on rows ``[n, D]`` of classes ``[n]``, its times and its size."""
    wrong = float((model.predict(x) != y).mean())
    alone = getattr(model, "predict_one", None)
    rows = x[:CALLS] if alone else x[:CALLS, None]  # scikit-learn's models take tables
    ask = alone or model.predict
    ask(rows[0])  # so that compilation is not timed
    many = [timeit(partial(model.predict, x), number=1) / len(x) for _ in range(REPEATS)]
    single = [timeit(partial(ask, row), number=1) for row in rows]
    return {
        "error": wrong,
        "us a row of many": 1e6 * statistics.median(many),
        "us a row alone": 1e6 * statistics.median(single),
        "file, MB": file_size(model) / 1e6,
    }


def file_size(model: Any) -> int:
    """The bytes of a fitted model on disk, by its ``save`` if it has one, else by pickle."""
    import pickle

    if not hasattr(model, "save"):
        return len(pickle.dumps(model))
    with TemporaryDirectory() as folder:
        model.save(path := Path(folder, "model"))
        return path.stat().st_size


def _chosen(model: Any) -> dict[str, Any]:
    """The settings that a tree chose from the data; empty for other models."""
    if not hasattr(model, "trained_"):
        return {}
    settings = model.settings_
    names = ("depth", "k", "start", "leaf_penalty", "leaf_ridge", "decision_penalty", "max_iter")
    found = {name: getattr(settings, name) for name in names}
    return found | {"leaves": len(model.tree_.topology.leaves)}


def made(choice: Any, members: Members) -> Table:
    """The table of all models on all data."""
    rows = [
        Row(f"{data}: {model}", {}, values_in(runs, {q: f"test.{q}" for q in QUANTITIES}))
        for (data, model), runs in members.items()
    ]
    firsts = {data: runs[0].ended for (data, _), runs in members.items()}
    described = (
        f"{data} {of['sizes']['train']:,} rows, {of['details']['classes']} classes, tested on "
        f"{of['sizes']['test']:,}"
        for data, of in firsts.items()
    )
    number = len(next(iter(members.values())))
    notes = [
        f"Data: {'; '.join(described)}. Seeds 0 to {number - 1} of the rows that are drawn and of "
        "the models; the mean ± the deviation.",
        "No setting of a model is touched, but that the flat softmax is a softmax tree of depth 0, "
        "that ten softmax trees have n_members=10, and that logistic regression stands behind a "
        "StandardScaler (100 iterations at most).",
        "Microseconds: median wall-clock time, of predict on all test rows, and of predict_one or "
        "of predict on one row; one thread. Fit: processor time. File: a safetensors file of the "
        "trees, a pickle of the others.",
        *_choices(members),
    ]
    return Table("Every model at its defaults", QUANTITIES, rows, notes, ("error",))


def _choices(members: Members) -> list[str]:
    """A note on the settings that softmax trees chose from the data, seed by seed."""
    found = []
    for (data, model), runs in members.items():
        if model != "softmax tree":
            continue
        each = (run.ended["details"] for run in runs)
        shapes = ", ".join(f"{of['start']} {of['leaves']} of at most {of['k']}" for of in each)
        found.append(f"{data} {shapes}")
    return [f"Start, leaves and classes a leaf of the softmax trees: {'; '.join(found)}."]


DEFAULTS = PaperTable(
    (),
    lambda choice: "defaults" if choice.data is None else f"defaults-{choice.data}",
    members,
    made,
)
