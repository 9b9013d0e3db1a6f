"""The figures of the thesis on routed networks, and the network with its traffic."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.plot.style import GREY, LINES, labelled, one_axes, whole_numbers
from structnet.recipes.recipe import Pictures
from structnet.recipes.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def of_run(run: Run) -> Pictures:
    """The pictures of a run: file name -> function that draws it."""
    drawn = run.history_picture()
    if not drawn or run.config["settings"]["network"] != "naru":
        return drawn
    changes = [(each["epoch"], each["route_changes"]) for each in run.history]
    known = [pair for pair in changes if pair[1] is not None]
    if known:
        drawn["route_changes.png"] = lambda: plot_route_changes(known)
    file = run.folder / "routing.json"
    if file.exists():
        routing = json.loads(file.read_text(encoding="utf-8"))
        result = run.result or {}
        before = result.get("details", {}).get("untrained", {})
        drawn |= {
            "utilisation.png": lambda: plot_utilisation(_curves(before, routing, "utilisation")),
            "bias.png": lambda: plot_load(_curves(before, routing, "load_share")),
            "network.png": lambda: plot_traffic(routing["traversals"], routing["visits"]),
        }
    return drawn


def _curves(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> dict[str, Any]:
    curves = {"untrained": before[name]} if name in before else {}
    return {**curves, "trained": after[name]}


def plot_utilisation(curves: Mapping[str, Sequence[float]], ax: Axes | None = None) -> Axes:
    """Draws the share of the bundles that a sentence has visited by each step (Fig. 18).

    Args:
        curves: name -> shares.
        ax: axes to draw on; None for new ones.
    """
    ax = one_axes(ax, 5.5, 3.6)
    for color, (name, curve) in zip(LINES, curves.items(), strict=False):
        ax.plot(range(1, len(curve) + 1), curve, label=name, color=color)
    ax.set_ylim(bottom=0)
    whole_numbers(ax)
    steps = "step (a word a step, then until the last one is through)"
    title = "Share of the network that a sentence uses"
    return labelled(ax, steps, "bundles visited so far", title)


def plot_route_changes(changes: Sequence[tuple[int, float]], ax: Axes | None = None) -> Axes:
    """Draws the share of the elections that ended differently than an epoch before (Fig. 19).

    Args:
        changes: epochs and shares.
        ax: axes to draw on; None for new ones.
    """
    ax = one_axes(ax, 5.5, 3.6)
    epochs, shares = zip(*changes, strict=True)
    ax.plot(epochs, shares, color=LINES[0], marker="o", markersize=4)
    ax.set_ylim(bottom=0)
    whole_numbers(ax)
    title = "Elections that end otherwise than an epoch before"
    return labelled(ax, "epoch", "elections that changed", title)


def plot_load(shares: Mapping[str, Sequence[Sequence[float]]], ax: Axes | None = None) -> Axes:
    """Draws each bundle's share of its capsule's visits, over an even share (Fig. 20).

    Args:
        shares: name -> capsule -> bundle -> share.
        ax: axes to draw on; None for new ones.
    """
    ax = one_axes(ax, 8.0, 3.6)
    sizes = [len(capsule) for capsule in next(iter(shares.values()))]
    width = 0.8 / len(shares)
    for i, (color, (name, capsules)) in enumerate(zip(LINES, shares.items(), strict=False)):
        heights = np.concatenate([np.multiply(each, len(each)) for each in capsules])
        left = np.arange(len(heights)) + (i - (len(shares) - 1) / 2) * width
        ax.bar(left, heights, width, label=name, color=color)
    ends = np.cumsum(sizes)
    for end in ends[:-1]:
        ax.axvline(end - 0.5, color="#DDDDDD", linewidth=0.8)
    ax.axhline(1, color=GREY, linestyle=":", label="even share")
    ax.set_xticks(ends - np.array(sizes) / 2 - 0.5, [f"{p}" for p in range(len(sizes))])
    ax.tick_params(axis="x", length=0)
    bundles = "bundles, one bar each; numbers: their capsules"
    title = "Load: how often each bundle is visited, within its capsule"
    return labelled(ax, bundles, "visits; 1 is an even share", title, shares=False)


def plot_traffic(traversals: Sequence[Any], visits: Sequence[Any], ax: Axes | None = None) -> Axes:
    """The network: a bundle's area is its visits, an edge's width how often it was elected.

    Args:
        traversals: elections, ``[bundles, bundles of the next]`` a capsule but the last.
        visits: visits to each bundle, ``[bundles]`` a capsule.
        ax: axes; new ones by default.

    Shapes:
        see the arguments; as :class:`.RoutingStats` has them.
    """
    from matplotlib.collections import LineCollection

    ax = one_axes(ax, 9.0, 6.0)
    places = [np.linspace(-1, 1, len(each) + 2)[1:-1] * len(each) / 2 for each in visits]
    total = max(float(np.sum(visits[0])), 1.0)
    lines, widths = [], []
    for p, counts in enumerate(traversals):
        for a, row in enumerate(counts):
            for b, count in enumerate(row):
                if count:
                    lines.append([(p, places[p][a]), (p + 1, places[p + 1][b])])
                    widths.append(0.2 + 7 * count / total)
    ax.add_collection(LineCollection(lines, linewidths=widths, colors=LINES[0], alpha=0.6))
    for p, (y, counts) in enumerate(zip(places, visits, strict=True)):
        counts = np.asarray(counts)
        ax.scatter(np.full(len(y), p), y, s=15 + 500 * counts / total, color=LINES[0], zorder=3)
        dead = counts == 0
        ax.scatter(
            np.full(dead.sum(), p), y[dead], s=25, facecolor="white", edgecolor=LINES[1], zorder=4
        )
    ax.set_xticks(range(len(visits)), [f"capsule {p}" for p in range(len(visits))])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    ax.set_title(
        "The words of the test sentences on their way through the network\n"
        "dot: a bundle, the larger, the more visits; red ring: none; "
        "line: a route, the wider, the more often elected",
        fontsize=10,
    )
    ax.autoscale_view()
    return ax
