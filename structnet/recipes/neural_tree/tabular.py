"""Neural trees compared with scikit-learn's models on small tables, all with default settings."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from structnet.recipes.paper import Member, Members, PaperTable, Row, Table, mean_of, values_in
from structnet.recipes.recipe import Place, Say, result_of

if TYPE_CHECKING:
    from structnet.recipes.run import Run

NAMES = {
    "neural tree": "neural tree",
    "linear": "linear or logistic regression",
    "decision tree": "decision tree",
    "forest": "random forest",
    "boosting": "histogram boosting",
    "mlp": "MLP, 100 units",
    "no routers": "neural tree without routers",  # not ranked
}
RANKED = tuple(NAMES)[:6]
RANK = "mean rank of six"


@dataclass(frozen=True)
class Settings:
    """The settings of a run: its table and its seed.

    Args:
        data: name of the table.
        seed: seed of the rows that are generated or held out, and of every model.
        place: place; all models run on the CPU whatever its device.
    """

    data: str
    seed: int = 0
    place: Place = field(default_factory=Place)


def train(settings: Settings, say: Say) -> dict[str, Any]:
    """Fits all models on a table, and returns their scores on test rows as a result."""
    from structnet.recipes.neural_tree.tabular_data import SOURCES, parts

    source = SOURCES[settings.data]
    x, x_test, y, y_test = parts(settings.data, settings.seed)
    scores, seconds, details = {}, {}, {}
    for name, model in _models(source.classes, settings.seed).items():
        if name == "no routers" and not source.regions:
            continue
        say(f"fitting {NAMES[name]} ...")
        begin = time.process_time()
        model.fit(x, y)
        seconds[name] = round(time.process_time() - begin, 3)
        scores[name] = model.score(x_test, y_test)
        if name == "neural tree":
            details = _shape_of(model, x)
    sizes, took = {"train": len(x), "test": len(x_test)}, sum(seconds.values())
    result = result_of("tabular", settings.data, settings, sizes, scores, took)
    return result | {"details": {"seconds": seconds, **details}}


def _models(classes: bool, seed: int) -> dict[str, Any]:
    from sklearn import ensemble, linear_model, neural_network, tree
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from structnet.neural_tree import NeuralTreeClassifier, NeuralTreeRegressor

    kind = "Classifier" if classes else "Regressor"
    neural = NeuralTreeClassifier if classes else NeuralTreeRegressor
    linear = linear_model.LogisticRegression(max_iter=1000)
    network = getattr(neural_network, f"MLP{kind}")(max_iter=1000, random_state=seed)
    return {
        "neural tree": neural(random_state=seed),
        "no routers": neural(routers=False, random_state=seed),
        "linear": make_pipeline(
            StandardScaler(), linear if classes else linear_model.LinearRegression()
        ),
        "decision tree": getattr(tree, f"DecisionTree{kind}")(random_state=seed),
        "forest": getattr(ensemble, f"RandomForest{kind}")(random_state=seed),
        "boosting": getattr(ensemble, f"HistGradientBoosting{kind}")(random_state=seed),
        "mlp": make_pipeline(StandardScaler(), network),
    }


def _shape_of(model: Any, x: Any) -> dict[str, Any]:
    """The size of a tree, and the share of the rows whose greedy path ends in its rarest leaf."""
    import numpy as np

    from structnet.training.modules import count_parameters

    _, counts = np.unique(model.apply(x), return_counts=True)
    leaves = model.get_n_leaves()
    return {
        "leaves": leaves,
        "parameters": count_parameters(model.tree_),
        "least_share": counts.min() / len(x) if len(counts) == leaves else 0.0,
    }


def members(choice: Any, seed: int) -> list[Member]:
    """The runs with one seed: one per table, for all models."""
    from structnet.recipes.neural_tree.tabular_data import SOURCES

    return [
        Member(
            name,
            f"tabular-{name.replace(' ', '-')}-{seed}",
            Settings(name, seed, choice.place),
            train,
        )
        for name in SOURCES
    ]


def made(choice: Any, members: Members) -> Table:
    """The table of all models' scores on all data."""
    from structnet.recipes.neural_tree.tabular_data import RANKED as TABLES
    from structnet.recipes.neural_tree.tabular_data import SOURCES

    ranks = [_ranks([members[data][i] for data in TABLES]) for i in range(_seeds(members))]
    rows = []
    for name, words in NAMES.items():
        cells = {data: _scores(members[data], name) for data in SOURCES}
        found = {RANK: [each[name] for each in ranks]} if name in RANKED else {}
        rows.append(Row(words, {}, found, cells))
    return Table("Tables, every model at its defaults", [RANK], rows, _notes(members))


def _seeds(members: Members) -> int:
    return len(next(iter(members.values())))


def _ranks(runs: Sequence[Run]) -> Mapping[str, float]:
    """The mean rank of each model over some tables; equal scores share the mean of their ranks."""
    from scipy.stats import rankdata

    sources = {name: f"test.{name}" for name in RANKED}
    each = [rankdata([-score for [score] in values_in([run], sources).values()]) for run in runs]
    return dict(zip(RANKED, map(statistics.mean, zip(*each, strict=True)), strict=True))


def _scores(runs: Sequence[Run], name: str) -> str:
    tests: Any = values_in(runs, {name: "test"})[name]
    return mean_of([100 * test[name] for test in tests if name in test])


def _sizes() -> str:
    from structnet.recipes.neural_tree.tabular_data import SOURCES

    named: dict[int, list[str]] = {}
    for name, source in SOURCES.items():
        if source.size:
            named.setdefault(source.size, []).append(name)
    return ", ".join(f"{size:,} ({', '.join(names)})" for size, names in named.items())


def _notes(members: Members) -> list[str]:
    from structnet.recipes.neural_tree.tabular_data import SOURCES, TESTED

    runs = [run for each in members.values() for run in each]
    sources = {name: f"details.seconds.{name}" for name in ("neural tree", "mlp")}
    seconds = {name: statistics.median(each) for name, each in values_in(runs, sources).items()}
    times = seconds["neural tree"] / seconds["mlp"]
    [shares] = values_in(runs, {"share": "details.least_share"}).values()
    regions = [name for name, source in SOURCES.items() if source.regions]
    counts = {name: values_in(members[name], {"": "details.leaves"})[""] for name in SOURCES}
    leaves = (f"{name} {', '.join(map(str, counts[name]))}" for name in SOURCES)
    return [
        f"Accuracy in percent, of {', '.join(n for n in SOURCES if not SOURCES[n].classes)} R2 in "
        f"percent; the mean of {_seeds(members)} seeds ± their deviation. A seed draws the rows, "
        "those to test on, and what is random in a model. Tests are on a quarter of the rows of "
        f"published tables, and on {TESTED:,} rows of generated ones beside those to learn from: "
        f"{_sizes()}.",
        "Ranks are over the first eight tables, 1 the best of six models; the tree without routers "
        f"is the same estimator with routers=False, on the tables made of regions: "
        f"{', '.join(regions)}.",
        f"Leaves, seed by seed: {'; '.join(leaves)}. The rarest leaf of all these trees is reached "
        f"by {100 * min(shares):.1f} % of the rows to learn from.",
        f"Median fit: {seconds['neural tree']:.2f} s of processor time for a neural tree, "
        f"{seconds['mlp']:.2f} s for the MLP: {times:.1f} times as long.",
        "Linear models and MLPs stand behind a StandardScaler, and have 1,000 iterations at most.",
    ]


TABULAR = PaperTable((), lambda choice: "tabular", members, made)
