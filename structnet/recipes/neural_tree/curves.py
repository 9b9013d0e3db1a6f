"""Figures 3 and 4 of the paper: neural trees by number of examples, and by patience.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Sec. 5.3 and 5.4, Supp. E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from structnet.neural_tree.settings import BEGUN, WAIT, NeuralTreeSettings
from structnet.plot.style import LINES, MARKERS, labelled, one_axes
from structnet.recipes.neural_tree import baselines, paper
from structnet.recipes.neural_tree import figures as known
from structnet.recipes.neural_tree.settings import DEFAULTS, OTHERWISE, PRIMITIVES
from structnet.recipes.paper import Member, Members, PaperTable, Row, Table, over_seeds
from structnet.recipes.recipe import parts
from structnet.recipes.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from structnet.recipes.neural_tree.paper import Choice
    from structnet.recipes.run import Run

LEARN = (50, 250, 500, 2_500, 5_000, 25_000)  # and all examples that are not held out
STANDARD = NeuralTreeSettings.patience
PATIENCE = (1, STANDARD, 15)
OTHERS = {"mnist": ("lenet", "linear"), "cifar10": ("all-cnn", "linear")}  # in Figure 3
TREE = "tree"
GROWTH = ("root", "split", "deepen")  # phases of growth


def trajectory(run: Run) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """The validation accuracy of a tree in growth and in refinement.

    Returns:
        Pairs of epochs so far and accuracy, after each decision of growth, and after each epoch of
        refinement.
    """
    from structnet.recipes.neural_tree.runs import decisions_of

    grown = [record["decision"] for record in run.history if record["phase"] in GROWTH]
    growth = [
        (sum(decision <= each["number"] for decision in grown), each["metrics"]["accuracy"])
        for each in decisions_of(run)
    ]
    refined = [each["validation_accuracy"] for each in run.history if each["phase"] == "refine"]
    return growth, list(enumerate(refined, len(grown) + 1))


# ---- the runs


def of_sizes(choice: Choice, seed: int) -> list[Member]:
    """Trees, a CNN and a linear classifier, each trained on several numbers of examples."""
    whole = choice.train_size or known.SIZES[choice.data][0]
    most, found = whole - round(OTHERWISE["validation_fraction"] * whole), []
    for size in (*(each for each in LEARN if each < most), most):
        own = {"learn_size": None if size == most else size}
        end = "" if size == most else f"-of-{size}"
        tree = _tree(choice, seed, end)
        found.append(member_like(tree, (size, TREE), rows=own))
        for name in OTHERS[choice.data]:
            other = paper.other_model(choice, name, seed)
            other = other._replace(folder=other.folder + end)
            found.append(member_like(other, (size, name), rows=own))
    return found


def of_patience(choice: Choice, seed: int) -> list[Member]:
    """Trees with several values of the patience of growth."""
    found = []
    for patience in PATIENCE:
        end = "" if patience == STANDARD else f"-{patience}"
        tree = _tree(choice, seed, end and f"-patience{end}")
        found.append(member_like(tree, patience, training={"patience": patience}))
    return found


def _tree(choice: Choice, seed: int, end: str) -> Member:
    if choice.only is not None:
        raise ValueError(f"--only is for tables; a figure has all its lines; got {choice.only}")
    default = DEFAULTS[choice.data]["primitives"]
    primitives, *more = parts(choice.primitives, PRIMITIVES, "--primitives") or [default]
    if more:
        raise ValueError(f"a figure is about one kind of tree; got {choice.primitives}")
    settings = choice.settings(primitives, "full", seed)
    return Member(TREE, f"{primitives}-full-{seed}{end}", settings)


def member_like(member: Member, key: Any, **groups: Mapping[str, Any]) -> Member:
    """The member with another key and some changed settings."""
    changed = {name: replace(getattr(member.settings, name), **of) for name, of in groups.items()}
    return member._replace(key=key, settings=replace(member.settings, **changed))


# ---- the tables


def by_size(choice: Choice, members: Members) -> Table:
    """Figure 3: errors and sizes by the number of examples, and accuracy by epoch."""
    names = {TREE: "tree"} | {name: baselines.NAMES[name] for name in OTHERS[choice.data]}
    sizes = list(dict.fromkeys(size for size, _ in members))
    error, count = {name: f"error, {words}" for name, words in names.items()}, "parameters, tree"
    rows = []
    for size in sizes:
        found = {
            error[name]: paper.ours(members[size, name], [paper.MULTI])[paper.MULTI]
            for name in names
        }
        measured = paper.ours(members[size, TREE], ["leaves", paper.SIZE])
        found |= {"leaves": measured["leaves"], count: measured[paper.SIZE]}
        rows.append(Row(counted(size, "example"), {}, found))
    trees = {size: members[size, TREE] for size in sizes}
    notes = [
        *paper.what_was_run({sizes[-1]: trees[sizes[-1]]}),
        "Each row learns from so many examples; all have the same validation and test examples. "
        "The batch and the minutes are those of the last row's trees; others take less. "
        f"{names[OTHERS[choice.data][0]]} and the linear model are trained as trees are refined.",
    ]
    quantities, file = [*error.values(), "leaves", count], f"figure3-{choice.data}"
    pictures = {
        f"{file}.png": partial(draw_errors, rows, error, sizes),
        f"{file}-epochs.png": partial(
            draw_trajectories, {counted(size, "example"): runs for size, runs in trees.items()}
        ),
    }
    title = "Figure 3: from few examples and from many"
    return Table(title, quantities, rows, notes, tuple(error.values()), pictures)


def by_patience(choice: Choice, members: Members) -> Table:
    """Figure 4: errors and sizes of trees by the patience of growth."""
    quantities = (paper.MULTI, "leaves", paper.SIZE, paper.GROWTH_EPOCHS)
    names = {patience: f"patience {patience}" for patience in members}
    rows = [Row(names[key], {}, paper.ours(runs, quantities)) for key, runs in members.items()]
    curves = {names[key]: runs for key, runs in members.items()}
    notes = [
        *paper.what_was_run({STANDARD: members[STANDARD]}),
        "The patience of the refinement has no limit. Where an epoch is short, growth waits longer "
        f"than its patience: until a root has had {WAIT} steps without a new best, or a candidate "
        f"{BEGUN}.",
    ]
    pictures = {f"figure4-{choice.data}.png": partial(draw_trajectories, curves)}
    return Table("Figure 4: patience", quantities, rows, notes, (paper.MULTI,), pictures)


FIGURES = {
    f"figure{number}": PaperTable(tuple(OTHERS), f"figure{number}-{{0.data}}".format, of_seed, make)
    for number, of_seed, make in ((3, of_sizes, by_size), (4, of_patience, by_patience))
}


# ---- the pictures


def draw_errors(
    rows: Sequence[Row], errors: Mapping[str, str], sizes: Sequence[int], ax: Axes | None = None
) -> Axes:
    """Draws errors over the number of examples, one line per model, with deviations over seeds.

    Args:
        rows: row of each size.
        errors: model -> quantity in the rows.
        sizes: number of examples in each row.
        ax: axes to draw on; None for new ones.
    """
    ax = one_axes(ax, width=6.0, height=4.0)
    for place, quantity in enumerate(errors.values()):
        summaries = [over_seeds(row.ours[quantity]) for row in rows]
        ax.errorbar(
            sizes,
            [each["ours"] for each in summaries],
            [each["deviation"] or 0 for each in summaries],
            label=quantity.removeprefix("error, "),
            color=LINES[place],
            marker=MARKERS[place],
            capsize=3,
        )
    ax.set(xscale="log", ylim=(0, None))
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    return labelled(ax, "training examples, logarithmic", "test error")


def draw_trajectories(runs: Mapping[str, Sequence[Run]], ax: Axes | None = None) -> Axes:
    """Draws validation accuracy over epochs, with a dotted line where refinement begins.

    Args:
        runs: name of a line -> runs, the first of which is drawn.
        ax: axes to draw on; None for new ones.
    """
    ax = one_axes(ax, width=7.0, height=4.0)
    for place, (name, [run, *_]) in enumerate(runs.items()):
        color, (growth, refinement) = LINES[place % len(LINES)], trajectory(run)
        ax.plot([], [], color=color, label=name)
        if growth:
            steps = [*growth, (growth[-1][0] + bool(refinement), growth[-1][1])]
            ax.step(*zip(*steps, strict=True), where="post", color=color)
        if refinement:
            ax.plot(*zip(*refinement, strict=True), color=color)
            ax.axvline(refinement[0][0], color=color, linestyle=":", linewidth=1)
    words = "epoch: growth in steps, decision by decision; dotted: refinement begins"
    return labelled(ax, words, "validation accuracy")
