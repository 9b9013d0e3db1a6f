"""Comparisons like the papers', on data that we have.

Table 1 compares kinds of models; Table 2 is a grid of trees, error against FLOPs. The papers'
figures are for other data sets, so their columns are empty; the files of these data sets (ALOI,
LSHTC1) can be read as FILE.svm.

Reference:
    Zharmagambetov, Gabidolla, Carreira-Perpinan, Softmax Tree, EMNLP 2021; Kairgeldin, Gabidolla,
    Carreira-Perpinan, Adaptive Softmax Trees, UAI 2024.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structnet.checks import check_integers, check_number
from structnet.parse.packed import stem_of
from structnet.recipes.paper import Member, Members, PaperTable, Row, Table
from structnet.recipes.protocol import sizes_of
from structnet.recipes.recipe import Place, Say, parts, result_of
from structnet.recipes.softmax_tree.defaults import DEFAULTS
from structnet.recipes.softmax_tree.settings import (
    DATA_SETS,
    GENERATED,
    AdaptiveRunSettings,
    Rows,
    SoftmaxTreeRunSettings,
)
from structnet.softmax_tree.settings import GrowthSettings, SoftmaxTreeSettings, Start

if TYPE_CHECKING:
    from structnet.recipes.run import Run

NAMES = {
    "flat": "flat softmax",
    "leaves": "ST, its leaves alone trained",
    "one-vs-all": "one-vs-all",
    "hierarchical": "hierarchical softmax",
    "softmax-tree": "softmax tree (ST)",
    "adaptive-softmax-tree": "adaptive softmax tree (AST)",
    "from-adaptive": "ST (from AST)",
}
ADAPTIVE = ("adaptive-softmax-tree", "from-adaptive")
DEPTHS = (1, 2, 3, 4, 5, 6, 7)
START_KS = (25, 40, 60)  # of the trees that grow, whose other settings are GROWN
GROWN: dict[str, Any] = {"alpha": 0.9, "rho": 0.95, "start_depth": 3}
QUANTITIES = ("error", "FLOPs", "leaves", "depth", "coverage", "perplexity", "seconds")


@dataclass(frozen=True)
class Choice:
    """Trains softmax trees and the models that they are compared with.

      --table 1   flat softmax, one-vs-all, hierarchical softmax, ST, AST, and ST (from AST)
      --table 2   a grid of softmax trees and adaptive ones: error against FLOPs
      --table defaults   models with default settings, on digits, mnist, uneven and brown

    Args:
        data: digits, mnist, clusters, uneven, brown, pydoc, wikitext-2, or FILE.csv, FILE.svm
            (default: uneven; for table defaults all four)
        depth: number of decisions on each path of ST (default: chosen on held-out examples)
        k: largest number of classes in a leaf of ST (default: likewise)
        penalty: weight of the L1 norms of all trees and of the flat softmax
        start: tree from which all trees start: centroids, rows, axes, or, as in the papers, random
        only: models to train, by their names in the run folders, separated by commas (default: all)
    """

    data: str | None = None
    depth: int | None = None
    k: int | None = None
    penalty: float = 1.0
    start: Start = "centroids"
    only: str | None = None
    rows: Rows = field(default_factory=Rows)
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        check_integers(self, optional=True, depth=0, k=1)
        check_number("penalty", self.penalty, 0)
        parts(self.only, tuple(NAMES), "--only")

    @property
    def data_set(self) -> str:
        """The data set of tables 1 and 2."""
        return self.data or "uneven"

    def run_of(self, kind: str, seed: int, **options: Any) -> SoftmaxTreeRunSettings:
        """The settings of one model; only trees that grow hold examples out."""
        cls = AdaptiveRunSettings if kind in ADAPTIVE else SoftmaxTreeRunSettings
        penalties: dict[str, Any] = {"decision_penalty": self.penalty, "leaf_penalty": self.penalty}
        training = SoftmaxTreeSettings(**penalties, start=self.start, seed=seed, **options)
        return cls(self.data_set, self.rows, training, self.place).resolved()


def compared(choice: Choice, seed: int) -> list[Member]:
    """The models of Table 1 with one seed."""
    kinds = parts(choice.only, tuple(NAMES), "--only") or NAMES
    return [_member(kind, choice, seed) for kind in kinds]


def grid(choice: Choice, seed: int) -> list[Member]:
    """The trees of Table 2 with one seed."""
    grown = choice.run_of("adaptive-softmax-tree", seed)
    assert isinstance(grown, AdaptiveRunSettings)
    runs: list[tuple[str, int, SoftmaxTreeRunSettings]] = [
        ("softmax-tree", depth, choice.run_of("softmax-tree", seed, depth=depth))
        for depth in DEPTHS
    ]
    runs += [
        ("adaptive-softmax-tree", k, replace(grown, growth=GrowthSettings(start_k=k, **GROWN)))
        for k in START_KS
    ]
    found = [_member("flat", choice, seed)]
    for kind, value, settings in runs:
        folder = f"{settings.name}-{kind.removesuffix('-softmax-tree')}-{value}-{seed}"
        found.append(Member((kind, value), folder, settings, partial(_trained, kind)))
    kinds = parts(choice.only, tuple(NAMES), "--only") or NAMES
    return [each for each in found if (each.key if each.key in NAMES else each.key[0]) in kinds]


def _member(kind: str, choice: Choice, seed: int) -> Member:
    options: dict[str, Any] = {"depth": choice.depth, "k": choice.k}
    if kind in ADAPTIVE:
        options = {}
    if kind == "flat":
        options = {"depth": 0, "max_iter": 12, "tol": 1e-4}
    settings = choice.run_of(kind, seed, **options)
    return Member(kind, f"{settings.name}-{kind}-{seed}", settings, partial(_trained, kind))


def _trained(kind: str, settings: SoftmaxTreeRunSettings, say: Say) -> dict[str, Any]:
    """Trains and tests one model, and returns a result."""
    from structnet.recipes.softmax_tree.comparison import fitted
    from structnet.recipes.softmax_tree.data import load_data

    say(f"{NAMES[kind]} ...")
    data, begin = load_data(settings), time.perf_counter()
    test, details = fitted(kind, settings, data)
    sizes, described = sizes_of(data), data.describe()
    # Enough to recognize the data; what is held out differs by kind, and scales are long.
    known = {name: described[name] for name in ("name", "split", "test", "num_outputs")}
    if settings.data in GENERATED:
        known["split"] = "drawn anew with each seed"
    known["learnt_from"] = sizes["train"] + sizes["validation"]
    took = time.perf_counter() - begin
    return result_of(kind, known, settings, sizes, test, took) | {"details": details}


def made(number: int, choice: Choice, members: Members) -> Table:
    """Table 1 or 2, from the trained models."""
    rows = [Row(_name(key), {}, _ours(runs), _cells(runs)) for key, runs in members.items()]
    first = next(iter(members.values()))
    data = first[0].config["data"]
    notes = [
        f"Data: {data['name']}, {data['num_outputs']:,} classes; {data['learnt_from']:,} examples "
        "to train on, a tenth of which is held out where trees grow and learnt from last, "
        f"{data['test']:,} to test "
        f"({data['split']}). Seeds 0 to {len(first) - 1}, of everything that is drawn.",
        "FLOPs: weights that are not 0 on the path and in the leaf, mean over the test examples; "
        "of models of all classes, their multiplications. Perplexity: of the covered examples.",
        f"All trees begin with {choice.start}; L1 penalties {choice.penalty:g}; flat softmax to "
        "convergence (relative fall 1e-4). Seconds: the processor was shared.",
        "The papers' figures are of other data sets.",
    ]
    pictures = {}
    if number == 2:
        grown = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in GROWN.items())
        notes.append(f"AST: {grown}; k is the most classes of the leaves that growth begins with.")
        from structnet.recipes.softmax_tree.pictures import draw_costs

        pictures[f"table2-{_stem(choice)}-flops.png"] = partial(draw_costs, _pairs(members))
    title = f"Table {number}: {data['name']}"
    return Table(title, QUANTITIES, rows, notes, ("error", "coverage"), pictures)


def _name(key: Any) -> str:
    if isinstance(key, str):
        return NAMES[key]
    kind, value = key
    return f"{NAMES[kind]}, {'depth' if kind == 'softmax-tree' else 'k'} {value}"


def _ours(runs: Sequence[Run]) -> dict[str, list[float]]:
    found = {}
    for quantity in QUANTITIES[:-1]:
        values = [run.ended["test"].get(quantity.lower()) for run in runs]
        if None not in values:
            found[quantity] = values
    return found | {"seconds": [run.ended["seconds"] for run in runs]}


def _cells(runs: Sequence[Run]) -> dict[str, str]:
    sizes = [run.ended["test"].get("path_classes") for run in runs]
    known = [size for size in sizes if size is not None]
    return {"classes of a leaf": f"{sum(known) / len(known):,.0f}" if known else ""}


def _pairs(members: Members) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for key, runs in members.items():
        name = NAMES[key if isinstance(key, str) else key[0]]
        means = [
            sum(run.ended["test"][what] for run in runs) / len(runs) for what in ("flops", "error")
        ]
        found.setdefault(name, []).append((means[0], means[1]))
    return found


def _stem(choice: Choice) -> str:
    return stem_of(Path(choice.data_set))


def _table(number: int, members: Any) -> PaperTable:
    return PaperTable(
        DATA_SETS, lambda choice: f"table{number}-{_stem(choice)}", members, partial(made, number)
    )


TABLES: Mapping[Any, PaperTable] = {
    1: _table(1, compared),
    2: _table(2, grid),
    "defaults": DEFAULTS,
}
