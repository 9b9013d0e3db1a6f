"""Pictures of neural trees, by their numbers: histograms, widths, steps, regions, means."""

from __future__ import annotations

import math
from itertools import combinations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from structnet.neural_tree import GaussianMixture, NeuralTree, SquaredError, presets
from structnet.neural_tree.growth.growth import Decision
from structnet.plot import (
    plot_growth,
    plot_leaf_classes,
    plot_leaf_means,
    plot_neural_tree,
    plot_partition,
    plot_refinement,
)
from structnet.plot.growth import PHASES
from structnet.plot.model_tree.panels import CLASSES, GREEDY, ROUTER, SOFT, WIDTH
from structnet.plot.model_tree.sheet import DOTS, MAX_SIDE
from structnet.plot.palette import class_colors
from structnet.routing import Samples
from structnet.routing import batches as batched
from structnet.routing.topology import Topology
from structnet.routing.visits import BINS, Reach, reach

COLUMNS = 5


@pytest.fixture(autouse=True)
def agg() -> None:
    before = matplotlib.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


def axes(width: float = 8, height: float = 6) -> Axes:
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure.add_axes((0, 0, 1, 1))


def grown(
    leaves: int, outputs: int = 3, likelihood=None, chain: bool = False, columns: int = COLUMNS
) -> NeuralTree:
    """A tree with random splits and routers that are sure of themselves."""
    generator = np.random.default_rng(leaves)
    with torch.random.fork_rng():
        torch.manual_seed(leaves)
        tree = NeuralTree(presets.mlp(outputs, width=4), (columns,), likelihood)
        while tree.num_leaves < leaves:
            last = tree.topology.leaves[-1]
            leaf = int(last if chain else generator.choice(tree.topology.leaves))
            tree.split(leaf)
            for parameter in tree.nodes[leaf].router.parameters():
                parameter.data *= 3
    return tree


def samples(number: int = 60, classes: int = 3, weights: bool = False) -> Samples:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(number, COLUMNS, generator=generator)
    counts = torch.rand(number, generator=generator) + 0.5 if weights else None
    return Samples(x, torch.arange(number) % classes, counts)


def shapes(ax: Axes, label: str) -> np.ndarray:
    """The corners of the rectangles with a label, ``[m, 4, 2]``."""
    found = [c for c in ax.collections if c.get_label() == label]
    return np.concatenate([[p.vertices[:4] for p in c.get_paths()] for c in found if c.get_paths()])


def heights(ax: Axes, label: str) -> np.ndarray:
    corners = shapes(ax, label)
    return corners[:, 2, 1] - corners[:, 0, 1]


def collection(ax: Axes, label: str):
    [found] = [c for c in ax.collections if c.get_label() == label]
    return found


def written(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


# What reaches the nodes


def slow_reach(tree: NeuralTree, data: Samples, greedy: bool) -> list[list[tuple]]:
    """For each node the samples' (number, probability of arriving, of going left): recursion over
    one sample at a time."""
    found = [[] for _ in tree.nodes]

    def visit(i: int, v: int, features: torch.Tensor, arriving: float) -> None:
        node = tree.nodes[v]
        features = node.transformers(features)
        if node.router is None:
            found[v].append((i, arriving, None))
            return
        left = float(torch.sigmoid(node.router(features).squeeze().double()))
        found[v].append((i, arriving, left))
        goes = float(left >= 0.5) if greedy else left
        for child, side in zip(tree.topology.children_of(v), (goes, 1 - goes), strict=True):
            visit(i, child, features, arriving * side)

    with torch.no_grad():
        for i in range(len(data)):
            visit(i, 0, data.x[i : i + 1], 1.0)
    return found


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_reach_is_what_recursion_finds(monkeypatch, greedy: bool, weights: bool) -> None:
    monkeypatch.setattr(batched, "BATCH", 7)
    tree, data = grown(6), samples(25, weights=weights)
    found = reach(tree, data, "greedy" if greedy else "multi")
    weight = np.ones(25) if data.weights is None else data.weights.double().numpy()
    for v, visits in enumerate(slow_reach(tree, data, greedy)):
        classes, going = np.zeros(3), np.zeros((2, BINS))
        for i, arriving, probability in visits:
            classes[i % 3] += weight[i] * arriving
            if probability is not None:
                for side, each in enumerate((probability, 1 - probability)):
                    going[side, min(int(each * BINS), BINS - 1)] += weight[i] * arriving
        assert found.classes[v] == pytest.approx(classes, abs=1e-5)
        if below := list(tree.topology.children_of(v)):
            assert found.going[below] == pytest.approx(going, abs=1e-5)
        assert found.share[v] == pytest.approx(classes.sum() / weight.sum(), abs=1e-6)


def test_reach_of_numbers() -> None:
    tree, data = grown(4, outputs=2, likelihood=SquaredError()), samples(30, weights=True)
    y = data.x[:, :2].double() * torch.tensor([1.0, 1e3]) + torch.tensor([0.0, 1e6])
    data = Samples(data.x, y, data.weights)
    found = reach(tree, data)
    assert found.classes is None
    for v, visits in enumerate(slow_reach(tree, data, False)):
        weight = data.weights.double().numpy() * [arriving for _, arriving, _ in visits]
        mean = np.average(y.numpy(), axis=0, weights=weight)
        spread = np.sqrt(np.average((y.numpy() - mean) ** 2, axis=0, weights=weight))
        assert found.mean[v] == pytest.approx(mean, rel=1e-6, abs=1e-5)
        assert found.spread[v] == pytest.approx(spread, rel=1e-4)


def test_greedy_reach_counts_greedy_paths() -> None:
    tree, data = grown(7), samples(200)
    ends = tree.apply_path(data.x).numpy()
    share = reach(tree, data, "greedy").share
    assert share[tree.topology.leaves].tolist() == pytest.approx(
        [(ends == leaf).mean() for leaf in tree.topology.leaves]
    )


def test_reach_leaves_the_tree_alone() -> None:
    tree, data = grown(3), samples()
    tree.train()
    state = torch.random.get_rng_state()
    reach(tree, data)
    assert tree.training and torch.is_grad_enabled()
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(parameter.grad is None for parameter in tree.parameters())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            Samples(torch.zeros(2, COLUMNS), torch.tensor([0, 3])),
            r"0 to 2, as the tree has 3 outputs\. Got 3",
        ),
        (
            Samples(torch.zeros(2, COLUMNS), torch.tensor([0, -1])),
            r"0 to 2, as .* outputs\. Got -1",
        ),
        (Samples(torch.zeros(0, COLUMNS), torch.zeros(0, dtype=torch.long)), "got 0 examples"),
        (Samples(torch.zeros(2, 4), torch.tensor([0, 1])), r"Got .*\b4\]"),
    ],
)
def test_samples_that_do_not_fit(data: Samples, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_neural_tree(grown(2), data, ax=axes())


# The tree


def test_histograms_are_what_reaches_the_nodes() -> None:
    tree, data = grown(5), samples()
    found, ax = reach(tree, data), plot_neural_tree(tree, data, ax=axes())
    order = drawn_order(tree)
    bars = heights(ax, "_classes").reshape(len(order), 3) / CLASSES
    counts = found.classes[order]
    assert bars == pytest.approx(counts / counts.max(axis=1, keepdims=True))
    routers = [v for v in order if tree.nodes[v].router is not None]
    bars = heights(ax, "_routers").reshape(len(routers), BINS) / ROUTER
    counts = found.going[[tree.topology.children_of(v)[0] for v in routers]][
        :, ::-1
    ]  # what goes left stands at the left
    assert bars == pytest.approx(counts / counts.max(axis=1, keepdims=True))
    colors = [to_hex(c).upper() for c in collection(ax, "_classes").get_facecolor()]
    assert colors == class_colors(3) * len(order)


def drawn_order(tree: NeuralTree) -> list[int]:
    """Nodes level by level, from left to right."""
    order = [0]
    for v in order:
        order += tree.topology.children_of(v)
    return order


def test_bars_stand_in_their_panels() -> None:
    tree = grown(5)
    ax = plot_neural_tree(tree, samples(), ax=axes())
    panels = shapes(ax, "_panels")
    assert len(panels) == 9 + 4  # one a node, and one a router
    for label, each in (("_classes", 3), ("_routers", BINS)):
        bars = shapes(ax, label)
        owner = panels[:9] if label == "_classes" else panels[9:]
        low, high = (np.repeat(owner[:, i], each, axis=0) for i in (0, 2))
        assert (bars[:, 0] >= low - 1e-9).all() and (bars[:, 2] <= high + 1e-9).all()
        assert bars[:, 0, 1] == pytest.approx(low[:, 1])
        assert (np.diff(bars[:, 0, 0].reshape(-1, each)) > 0.8 * WIDTH / each).all()


def test_left_children_stand_left() -> None:
    tree = grown(6)
    centers = shapes(plot_neural_tree(tree, samples(), ax=axes()), "_panels").mean(axis=1)
    place = {v: centers[i] for i, v in enumerate(drawn_order(tree))}
    for v, children in enumerate(tree.topology.to_lists()):
        if children:
            left, right = (place[u] for u in children)
            assert left[0] < place[v][0] < right[0]
            assert left[1] < place[v][1]


def test_edges_are_as_wide_as_what_takes_them() -> None:
    tree, data = grown(5), samples()
    ax = plot_neural_tree(tree, data, ax=axes(30, 30))
    share = reach(tree, data).share[drawn_order(tree)]
    edges = collection(ax, "_edges")
    width = np.array(edges.get_linewidths())
    assert (width - width.min()) / np.ptp(width) == pytest.approx(
        (share - share.min()) / np.ptp(share)
    )
    ends = np.array([path.vertices[-1] for path in edges.get_paths()])
    panels = shapes(ax, "_panels")[:9]
    assert ends[:, 1] == pytest.approx(panels[:, 2, 1])
    assert ends[:, 0] == pytest.approx(panels[:, :2, 0].mean(axis=1))


def test_transformers_are_dots_on_their_edges() -> None:
    tree = grown(3)
    leaf, other = (int(v) for v in tree.topology.leaves[:2])
    for _ in range(3):
        tree.deepen(leaf)
    for _ in range(8):
        tree.deepen(other)
    ax = plot_neural_tree(tree, samples(), ax=axes())
    dots = collection(ax, "_transformers").get_offsets()
    lines = [path.vertices for path in collection(ax, "_edges").get_paths()]
    on = [
        sum(x == pytest.approx(way[-1][0]) and way[-1][1] < y < way[-2][1] for x, y in dots)
        for way in lines
    ]
    order = drawn_order(tree)
    assert dict(zip(order, on, strict=True)) == dict.fromkeys(order, 0) | {0: 1, leaf: 3, other: 1}
    assert "×8" in written(ax)


def test_captions() -> None:
    tree, data = grown(2), samples()
    for parameter in tree.parameters():
        torch.nn.init.zeros_(parameter)
    data.targets[:45] = 1
    ax = plot_neural_tree(tree, data, ["ape", "bee", "cow"], ax=axes())
    text = written(ax)
    assert [t for t in text if t.startswith("node")] == ["node 0", "node 1", "node 2"]
    assert [t for t in text if t.endswith("0 %") and ":" not in t] == ["100 %", "50 %", "50 %"]
    assert text.count("bee: 83 %") == 2  # 45 + 5 of 60
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["ape", "bee", "cow"]


def test_greedy_pictures_tell_empty_nodes() -> None:
    tree = grown(2)
    for parameter in tree.parameters():
        torch.nn.init.zeros_(parameter)  # everything goes left
    assert "no samples" in written(plot_neural_tree(tree, samples(), ax=axes(), greedy=True))


@pytest.mark.parametrize("columns", [1, 7])
def test_means_and_spreads_of_numbers(columns: int) -> None:
    tree = grown(3, outputs=columns, likelihood=SquaredError())
    data = samples()
    data = Samples(data.x, torch.randn(60, columns, generator=torch.Generator().manual_seed(2)))
    ax, found = plot_neural_tree(tree, data, ax=axes()), reach(tree, data)
    order = drawn_order(tree)
    bars = heights(ax, "_spreads").reshape(len(order), columns)
    assert bars == pytest.approx(CLASSES * found.spread[order] / found.spread[0] / 2, rel=1e-6)
    middle = shapes(ax, "_means").mean(axis=1)[:, 1].reshape(len(order), columns)
    floor = shapes(ax, "_panels")[: len(order), 0, 1]
    assert (middle - floor[:, None]) / CLASSES == pytest.approx(
        0.5 + (found.mean[order] - found.mean[0]) / found.spread[0] / 4
    )
    leaf = tree.topology.leaves[0]
    says = f"{found.mean[leaf, 0]:.3g} ± {found.spread[leaf, 0]:.2g}"
    assert (says in written(ax)) == (columns == 1)
    assert ax.get_legend() is None


def test_gaussian_mixtures_have_targets_too() -> None:
    tree = grown(2, outputs=2, likelihood=GaussianMixture())
    data = Samples(samples().x, torch.arange(60.0)[:, None])
    assert len(shapes(plot_neural_tree(tree, data, ax=axes()), "_means")) == 3


def test_without_samples_nodes_are_boxes() -> None:
    tree = grown(4)
    ax = plot_neural_tree(tree, ax=axes())
    assert written(ax) == [str(v) for v in drawn_order(tree)]
    assert len(shapes(ax, "_boxes")) == 7
    assert len(set(collection(ax, "_edges").get_linewidths())) == 1


def boxes(ax: Axes) -> list:
    """All that is written, and all panels, in pixels."""
    ax.figure.canvas.draw()
    renderer = ax.figure.canvas.get_renderer()
    legend = ax.get_legend()
    found = [text.get_window_extent(renderer) for text in ax.texts if text.get_text()]
    found += [] if legend is None else [legend.get_window_extent(renderer)]
    for corners in shapes(ax, "_panels"):
        low, high = ax.transData.transform(corners[[0, 2]])
        found.append(Bbox([low, high]))
    return found


@pytest.mark.parametrize("leaves", [1, 2, 8, 16])
@pytest.mark.parametrize("names", [None, ["aeroplane", "automobile", "broken-down lorry"]])
@pytest.mark.parametrize("given", [False, True])
def test_nothing_overlaps_or_is_cut_off(leaves: int, names: list | None, given: bool) -> None:
    ax = plot_neural_tree(grown(leaves), samples(), names, axes(16, 12) if given else None)
    found = boxes(ax)
    assert len(found) > leaves
    assert_within(found, ax.figure.bbox)
    assert_apart(found, 3)  # boxes of letters are somewhat larger than these
    if not given:
        assert min(text.get_fontsize() for text in ax.texts) >= 5.5


def assert_within(found: list, room: Bbox) -> None:
    for box in found:
        assert box.x0 >= room.x0 - 1 and box.y0 >= room.y0 - 1, box
        assert box.x1 <= room.x1 + 1 and box.y1 <= room.y1 + 1, box


def assert_apart(found: list, allowed: float = 0.0) -> None:
    for a, b in combinations(found, 2):
        overlap = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(overlap) <= allowed, (a, b)


ODD = ["$10-$20", "_background", "$x^$ \\frac{"]  # as mathematics, the last cannot be read


def test_names_stand_as_they_are_written() -> None:
    images = Samples(torch.rand(6, 1, 4, 4), torch.arange(6) % 3)
    tree = NeuralTree(presets.mlp(3), (1, 4, 4))
    plane = Samples(torch.randn(6, 2, generator=torch.Generator().manual_seed(4)), images.targets)
    partition = plot_partition(
        grown(2, columns=2), plane, ODD, resolution=20, feature_names=ODD[::2]
    )
    drawn = [
        plot_neural_tree(grown(3), samples(), ODD),
        *plot_refinement(grown(2), grown(2), samples(), ODD),
        plot_leaf_classes(grown(3), samples(), ODD),
        plot_leaf_means(tree, images, ODD),
        partition,
    ]
    for ax in drawn:
        ax.figure.canvas.draw()
        users = [text for text in ax.figure.findobj(Text) if set("$_") & set(text.get_text())]
        assert users and not any(text.get_parse_math() for text in users)
    keys = [ax.get_legend() for ax in (*drawn[:3], partition)]
    assert all([text.get_text() for text in key.get_texts()] == ODD for key in keys)
    assert [text.get_text() for text in drawn[3].get_xticklabels()] == ODD
    assert [partition.get_xlabel(), partition.get_ylabel()] == ODD[::2]


@pytest.mark.parametrize("greedy", [False, True])
def test_pictures_say_what_their_shares_are(greedy: bool) -> None:
    tree, data = grown(3), samples()
    numbers = grown(2, outputs=1, likelihood=SquaredError())
    for ax in (
        plot_neural_tree(tree, data, ax=axes(), greedy=greedy),
        plot_neural_tree(numbers, Samples(data.x, data.x[:, :1]), ax=axes(), greedy=greedy),
        *plot_refinement(tree, tree, data, greedy=greedy),
    ):
        assert [text for text in written(ax) if "shares" in text] == [GREEDY if greedy else SOFT]
    assert "shares" not in "".join(written(plot_neural_tree(tree, ax=axes())))


def test_ten_classes_have_a_key_in_order() -> None:
    ax = plot_neural_tree(grown(1, outputs=10), samples(classes=10))
    ax.figure.canvas.draw()
    texts = ax.get_legend().get_texts()
    assert [text.get_text() for text in texts] == [str(i) for i in range(10)]
    assert len({round(text.get_window_extent().y0) for text in texts}) == 1


def test_a_hundred_classes_have_no_key() -> None:
    ax = plot_neural_tree(grown(3, outputs=100), samples(100, classes=100), ax=axes())
    assert ax.get_legend() is None and len(shapes(ax, "_classes")) == 500


@pytest.mark.parametrize(("leaves", "chain"), [(300, False), (201, True)])
@pytest.mark.parametrize("data", [None, samples()])
def test_large_trees_are_dots(leaves: int, chain: bool, data: Samples | None) -> None:
    tree = grown(leaves, chain=chain)
    ax = plot_neural_tree(tree, data)
    dots = collection(ax, "_dots")
    assert len(dots.get_offsets()) == len(tree.nodes)
    assert written(ax) == ([] if data is None else [SOFT])
    assert (ax.figure.get_size_inches() <= MAX_SIDE / 72 + 0.01).all()
    if data is not None:
        best = reach(tree, data).classes[drawn_order(tree)].argmax(axis=1)
        colors = [to_hex(c).upper() for c in dots.get_facecolor()]
        assert colors == [class_colors(3)[i] for i in best]
    ax.figure.canvas.draw()
    x = np.sort(ax.transData.transform(dots.get_offsets())[:, 0])
    assert x[0] >= 0 and x[-1] <= ax.figure.bbox.x1


def test_small_axes_have_dots() -> None:
    tree = grown(16)
    small, large = (plot_neural_tree(tree, samples(), ax=axes(s, s)) for s in (2, 16))
    assert len(collection(small, "_dots").get_offsets()) == 31
    assert len(shapes(large, "_panels")) == 31 + 15
    assert collection(small, "_dots").get_sizes()[0] <= DOTS.body**2 * 1.5**2


def test_what_is_too_deep_is_counted() -> None:
    tree = grown(20, chain=True)
    for data in (None, samples()):
        ax = plot_neural_tree(tree, data, ax=axes(), max_depth=2)
        assert written(ax).count("… 34\nmore") == 1  # 39 nodes, of which 5 are shown
    with pytest.raises(ValueError, match="max_depth must be at least 0"):
        plot_neural_tree(tree, ax=axes(), max_depth=-1)


def test_names_must_fit() -> None:
    with pytest.raises(ValueError, match="2 class_names for 3 classes"):
        plot_neural_tree(grown(2), samples(), ["a", "b"], axes())


def test_settings_are_left_alone() -> None:
    before = dict(matplotlib.rcParams)
    plot_neural_tree(grown(3), samples())
    plot_leaf_classes(grown(3), samples())
    plot_growth(RECORDS, DECISIONS)
    assert dict(matplotlib.rcParams) == before


def test_from_left() -> None:
    assert Topology([(1, 2), (), (3, 4), (5, 6), (), (), ()]).from_left() == [1, 5, 6, 4]
    assert grown(201, chain=True).topology.from_left()[0] == 1


# Refinement


def test_refinement_side_by_side() -> None:
    before, after, data = grown(3), grown(3), samples()
    for parameter in after.parameters():
        torch.nn.init.zeros_(parameter)
    pair = plot_refinement(before, after, data, accuracies=(0.9, 0.987))
    assert [ax.get_title() for ax in pair] == [
        "before refinement: accuracy 90.0 %",
        "after refinement: accuracy 98.7 %",
    ]
    for ax, tree in zip(pair, (before, after), strict=True):
        counts = reach(tree, data).classes[drawn_order(tree)]
        bars = heights(ax, "_classes").reshape(-1, 3) / CLASSES
        assert bars == pytest.approx(counts / counts.max(axis=1, keepdims=True))
    left, right = (ax.get_position() for ax in pair)
    assert left.x1 <= right.x0 and left.y0 == right.y0
    assert plot_refinement(before, after, data)[1].get_title() == "after refinement"


def test_titles_are_not_cut() -> None:
    ax, _ = plot_refinement(grown(1), grown(1), samples(), accuracies=(0.9, 0.987))
    ax.figure.canvas.draw()
    box = ax.title.get_window_extent()
    assert box.y1 <= ax.figure.bbox.y1 and box.x0 >= 0
    assert box.y0 >= ax.get_legend().get_window_extent().y1 - 3


def test_wide_trees_stand_above_one_another() -> None:
    first, second = (ax.get_position() for ax in plot_refinement(grown(16), grown(16), samples()))
    assert second.y1 <= first.y0 and first.x0 == second.x0


def test_refinement_needs_two_axes() -> None:
    given = [axes(), axes()]
    assert plot_refinement(grown(2), grown(2), samples(), ax=given) == given
    with pytest.raises(ValueError, match="need two axes; got 1"):
        plot_refinement(grown(2), grown(2), samples(), ax=[axes()])


# Growth


def training(phase: str, number: int | None, losses: list, node: int = 0) -> list[dict]:
    place = {"phase": phase} if number is None else {"phase": phase, "node": node}
    place |= {} if number is None else {"decision": number}
    return [place | {"epoch": e, "validation_loss": v} for e, v in enumerate(losses, 1)]


RECORDS = [
    *training("root", 0, [2.0, 1.5, 1.6]),
    *training("split", 1, [1.4, 1.2]),
    *training("deepen", 1, [9.0, 1.3]),
    *training("split", 2, [1.3], node=1),
    *training("refine", None, [1.1, 1.0, 1.0]),
]
DECISIONS = [
    Decision(0, 0, "root", 1.5, {}, 1, 10, 1.0),
    Decision(1, 0, "split", 1.2, {"split": 1.2, "deepen": 1.3}, 2, 30, 1.0),
    Decision(2, 1, "keep", 1.2, {"split": 1.3}, 2, 30, 1.0),
    Decision(3, 2, "keep", 1.2, {}, 2, 30, 1.0),  # nothing was tried
]


def test_growth_draws_every_training() -> None:
    [ax] = plot_growth(RECORDS, ax=axes())
    lines = [
        (line.get_label(), list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines
    ]
    assert lines == [
        ("_root", [1, 2, 3], [2.0, 1.5, 1.6]),
        ("_split", [4, 5], [1.4, 1.2]),
        ("_deepen", [6, 7], [9.0, 1.3]),
        ("_split", [8], [1.3]),
        ("_refine", [9, 10, 11], [1.1, 1.0, 1.0]),
    ]
    assert all(line.get_color() == PHASES[line.get_label()[1:]] for line in ax.lines)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == list(PHASES)
    low, high = ax.get_ylim()
    assert low < 1.0 and 2.0 < high < 2.5  # what begins at 9 leaves the axes


def test_growth_marks_what_was_taken() -> None:
    ax, _ = plot_growth(RECORDS, DECISIONS, axes())
    marked = {
        (line.get_label(), int(line.get_xdata()[line.get_markevery()[0]]))
        for line in ax.lines
        if line.get_label()[0] == "_" and line.get_markevery()
    }
    # The last one is of one epoch: without a marker, nothing would be seen of it.
    assert marked == {("_root", 2), ("_split", 5), ("_split", 8)}
    thick = [line.get_linewidth() > 2 for line in ax.lines[:5]]
    assert thick == [True, True, False, False, False]


def test_growth_steps() -> None:
    losses, leaves = plot_growth(RECORDS, DECISIONS, axes())
    [tree] = [line for line in losses.lines if line.get_label() == "tree"]
    assert at(tree, [3, 6.5, 7.5, 8]) == [1.5, 1.5, 1.2, 1.2]
    [steps] = leaves.lines
    assert at(steps, [0, 2, 6.5, 7.5, 8, 11]) == [1, 1, 1, 2, 2, 2]
    assert leaves.get_ylabel() == "leaves"
    texts = [t.get_text() for t in losses.get_legend().get_texts()]
    assert texts == [*PHASES, "taken", "tree", "leaves"]


def at(line, places: list[float]) -> list[float]:
    """The values of a line of steps."""
    x, y = line.get_xdata(), line.get_ydata()
    assert min(x) <= places[0] and places[-1] <= max(x)
    return [y[np.flatnonzero(np.array(x) <= place)[-1]] for place in places]


@pytest.mark.parametrize("epochs", [1, 2, 3, 40])
def test_growth_counts_whole_epochs(epochs: int) -> None:
    [ax] = plot_growth(training("root", 0, list(np.linspace(2, 1, epochs))))
    ax.figure.canvas.draw()
    low, high = ax.get_xlim()
    ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
    assert ticks and all(tick == round(tick) for tick in ticks)


def test_growth_separates_trainings_of_one_phase() -> None:
    records = training("refine", None, [1.0, 0.9]) + training("refine", None, [0.8])
    assert len(plot_growth(records, ax=axes())[0].lines) == 2


def test_growth_of_a_file_and_of_a_gap(tmp_path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text('{"phase": "root", "epoch": 1, "validation_loss": 1.0}\n')
    assert plot_growth(file, ax=axes())[0].lines[0].get_ydata().tolist() == [1.0]
    [ax] = plot_growth(training("root", 0, [1.0, None, 0.5]), ax=axes())
    assert math.isnan(ax.lines[0].get_ydata()[1])


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "no validation_loss to draw in a history of 0 records"),
        ([{"phase": "root", "epoch": 1}], "no validation_loss"),
        ([{"epoch": 1, "validation_loss": 1.0}], "record 0 has the phase None"),
        (training("prune", 0, [1.0]), "'prune'; expected one of root, split, deepen, refine"),
    ],
)
def test_growth_that_cannot_be_drawn(records: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_growth(records, ax=axes())


# Leaves


def test_leaf_classes_are_mean_probabilities() -> None:
    tree, data = grown(6), samples()
    ax = plot_leaf_classes(tree, data, ax=axes())
    drawn = np.array(ax.images[0].get_array())
    with torch.no_grad():
        probability = tree.leaf_log_prob(data.x).exp().numpy()
    place = {int(leaf): i for i, leaf in enumerate(tree.topology.leaves)}
    for row, leaf in enumerate(tree.topology.from_left()):
        for c in range(3):
            mean = probability[data.targets == c, place[leaf]].mean()
            assert drawn[row, c] == pytest.approx(mean, abs=1e-6)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [f"leaf {leaf}" for leaf in tree.topology.from_left()]
    cells = {text.get_position(): text.get_text() for text in ax.texts}
    row, column = np.unravel_index(drawn.argmax(), drawn.shape)
    assert cells[column, row] == f"{100 * drawn.max():.0f}"


def test_a_class_without_samples_is_empty() -> None:
    ax = plot_leaf_classes(grown(3), samples(classes=2), ax=axes())
    drawn = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert drawn[:, :2].sum(axis=0) == pytest.approx([1, 1])
    assert np.isnan(drawn[:, 2]).all()


CIFAR = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
LONG = ["extraordinarily long name of a class", "an even longer name, which is cut off", "short"]


@pytest.mark.parametrize("leaves", [1, 2, 8])
@pytest.mark.parametrize("names", [["0", "1"], ["setosa", "versicolor", "virginica"], CIFAR, LONG])
def test_heat_maps_are_not_cut_off(leaves: int, names: list[str]) -> None:
    data = samples(classes=len(names))
    ax = plot_leaf_classes(grown(leaves, outputs=len(names)), data, names)
    ax.figure.canvas.draw()
    texts = [text for text in ax.figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert len(texts) > leaves + len(names)
    assert_within([text.get_window_extent() for text in texts], ax.figure.bbox)
    bar = ax.images[0].colorbar.ax
    label, room = bar.yaxis.label.get_window_extent(), bar.get_window_extent()
    assert room.y0 - 1 <= label.y0 and label.y1 <= room.y1 + 1


def test_slanted_names_end_below_their_columns() -> None:
    ax = plot_leaf_classes(grown(2, outputs=10), samples(classes=10), CIFAR)
    ax.figure.canvas.draw()
    step = np.diff(ax.transData.transform([(0, 0), (1, 0)])[:, 0])[0]
    for i, label in enumerate(ax.get_xticklabels()):
        assert (label.get_rotation(), label.get_rotation_mode()) == (45, "anchor")
        end = label.get_window_extent().x1 - ax.transData.transform((i, 0))[0]
        assert abs(end) < step / 3
    level = plot_leaf_classes(grown(2), samples()).get_xticklabels()
    assert [label.get_rotation() for label in level] == [0, 0, 0]


def test_cells_and_colours_are_both_in_percent() -> None:
    ax = plot_leaf_classes(grown(1), samples())
    ax.figure.canvas.draw()
    ticks = ax.images[0].colorbar.ax.get_yticklabels()
    assert [ticks[0].get_text(), ticks[-1].get_text()] == ["0 %", "100 %"]
    assert written(ax) == ["100"] * 3


def test_many_leaves_have_few_labels() -> None:
    ax = plot_leaf_classes(grown(90), samples())
    assert len(ax.get_yticks()) == 30 and not ax.texts


def test_leaf_classes_need_classes() -> None:
    tree = grown(2, outputs=1, likelihood=SquaredError())
    with pytest.raises(ValueError, match="expected one that predicts classes"):
        plot_leaf_classes(tree, samples(), ax=axes())


def images(channels: int = 1) -> tuple[NeuralTree, Samples]:
    """A tree that sends an image left if its first pixel is high, and eight images."""
    tree = NeuralTree(presets.mlp(2).without(transformers=True), (channels, 4, 6))
    tree.split(0)
    router = tree.nodes[0].router[1]
    torch.nn.init.zeros_(router.weight)
    router.weight.data[0, 0], router.bias.data[0] = 1.0, -0.5
    x = torch.rand(8, channels, 4, 6, generator=torch.Generator().manual_seed(3))
    x[:, 0, 0, 0] = torch.tensor([1, 1, 1, 0, 0, 0, 0, 0])
    weights = torch.tensor([2.0, 1, 1, 1, 1, 1, 0.5, 0.5])
    return tree, Samples(x, torch.tensor([1, 0, 0, 1, 1, 1, 0, 0]), weights)


def test_leaf_means() -> None:
    tree, data = images()
    ax = plot_leaf_means(tree, data, ["ape", "bee"], axes())
    left, right = (np.array(image.get_array()) for image in ax.images)
    x, weights = data.x[:, 0].double().numpy(), data.weights.double().numpy()
    assert left == pytest.approx(np.average(x[:3], axis=0, weights=weights[:3]))
    assert right == pytest.approx(np.average(x[3:], axis=0, weights=weights[3:]))
    assert written(ax) == ["leaf 1: 50 %\nape: 50 %", "leaf 2: 50 %\nbee: 75 %", GREEDY]
    assert ax.images[0].get_clim() == pytest.approx((x.min(), x.max()))
    (x0, x1, y1, y0), (z0, *_) = (image.get_extent() for image in ax.images)
    assert (y1 - y0) / (x1 - x0) == pytest.approx(4 / 6) and z0 > x1
    assert ax.get_xlim()[0] < x0 and ax.get_ylim()[0] > y1  # y runs down


def test_leaf_means_in_colour_and_without_targets() -> None:
    tree, data = images(channels=3)
    ax = plot_leaf_means(tree, data.x, ax=axes())
    low, high = float(data.x.min()), float(data.x.max())
    expected = (data.x[3:].mean(0).movedim(0, -1).numpy() - low) / (high - low)
    assert np.array(ax.images[1].get_array()) == pytest.approx(expected, abs=1e-6)
    assert written(ax) == ["leaf 1: 38 %\n", "leaf 2: 62 %\n", GREEDY]


def test_leaves_without_images() -> None:
    tree, data = images()
    ax = plot_leaf_means(tree, data.x[:3], ax=axes())
    assert len(ax.images) == 1
    assert written(ax) == ["leaf 1: 100 %\n", "leaf 2: 0 %\n", "no samples", GREEDY]


@pytest.mark.parametrize("leaves", [1, 2, 7])
def test_means_are_not_cut_off(leaves: int) -> None:
    tree = NeuralTree(presets.mlp(3).without(transformers=True), (1, 8, 8))
    while tree.num_leaves < leaves:
        tree.split(int(tree.topology.leaves[0]))
    x = torch.randn(60, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    ax = plot_leaf_means(tree, Samples(x, torch.arange(60) % 3), LONG)
    found = boxes_of_texts(ax)
    assert len(found) > leaves
    assert_within(found, ax.figure.bbox)
    assert_apart(found, 1)


def boxes_of_texts(ax: Axes) -> list:
    ax.figure.canvas.draw()
    return [text.get_window_extent() for text in ax.texts]


def test_leaf_means_need_images() -> None:
    with pytest.raises(ValueError, match=r"must be images.*Got \[5\]"):
        plot_leaf_means(grown(2), samples().x, ax=axes())


# Partitions


@pytest.fixture
def plane() -> tuple[NeuralTree, Samples]:
    x = torch.randn(40, 2, generator=torch.Generator().manual_seed(4))
    return grown(5, columns=2), Samples(x, torch.arange(40) % 3)


def test_partition_shows_greedy_leaves(plane: tuple[NeuralTree, Samples]) -> None:
    tree, data = plane
    ax = plot_partition(tree, data, ax=axes(), resolution=30)
    [mesh] = [c for c in ax.collections if type(c).__name__ == "QuadMesh"]
    drawn = np.array(mesh.get_array()).reshape(30, 30)
    xs, ys = (np.linspace(*limits, 30) for limits in (ax.get_xlim(), ax.get_ylim()))
    grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    ends = tree.apply_path(torch.from_numpy(grid).float()).numpy().reshape(30, 30)
    order = tree.topology.from_left()
    assert [order[i] for i in drawn.ravel()] == ends.ravel().tolist()
    assert sorted(written(ax)) == sorted(f"leaf {leaf}" for leaf in np.unique(ends))
    for text in ax.texts:
        point = torch.tensor([text.get_position()], dtype=torch.float32)
        assert f"leaf {int(tree.apply_path(point))}" == text.get_text()


def test_partition_shows_where_the_mixture_changes(plane: tuple[NeuralTree, Samples]) -> None:
    tree, data = plane
    ax = plot_partition(tree, data, ax=axes(), resolution=120)
    black = [
        c
        for c in ax.collections
        if type(c).__name__ == "QuadContourSet" and to_hex(c.get_edgecolor()[0]) == "#000000"
    ]
    points = np.concatenate([path.vertices for c in black for path in c.get_paths()])
    with torch.no_grad():
        output = tree.output(torch.from_numpy(points).float()).exp()
    best = output.topk(2).values
    assert len(points) > 20
    assert (best[:, 0] - best[:, 1]).max() < 0.02


def test_partition_shows_samples_of_classes(plane: tuple[NeuralTree, Samples]) -> None:
    tree, data = plane
    ax = plot_partition(tree, data, ["a", "b", "c"], axes(), feature_names=("age", "height"))
    for c, name in enumerate("abc"):
        points = collection(ax, name).get_offsets()
        assert np.array(points) == pytest.approx(data.x[data.targets == c].numpy())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "height")
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    low, high = data.x.min(0).values, data.x.max(0).values
    assert x0 < low[0] < high[0] < x1 and y0 < low[1] < high[1] < y1


def test_partition_of_numbers() -> None:
    tree = grown(3, outputs=1, likelihood=SquaredError(), columns=2)
    x = torch.randn(20, 2, generator=torch.Generator().manual_seed(4))
    ax = plot_partition(tree, Samples(x, x[:, :1]), ax=axes(), resolution=80)
    [lines] = [
        c
        for c in ax.collections
        if type(c).__name__ == "QuadContourSet" and to_hex(c.get_edgecolor()[0]) == "#000000"
    ]
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        if len(path.vertices):
            with torch.no_grad():
                mean = tree.output(torch.from_numpy(path.vertices).float())
            assert mean.numpy() == pytest.approx(level, abs=0.05)


def squares(side: int) -> NeuralTree:
    """A tree whose leaves are the cells of a grid over the unit square."""
    tree = NeuralTree(presets.mlp(3).without(transformers=True), (2,))
    tree_of_strips(tree, 0, 0, side)
    for strip in list(tree.topology.leaves):
        tree_of_strips(tree, int(strip), 1, side)
    return tree


def tree_of_strips(tree: NeuralTree, leaf: int, axis: int, number: int) -> None:
    """Cuts the first strip off a leaf, then the second, and so on."""
    for i in range(1, number):
        here, (_, leaf) = leaf, tree.split(leaf)
        router = next(m for m in tree.nodes[here].router.modules() if hasattr(m, "bias"))
        torch.nn.init.zeros_(router.weight)
        router.weight.data[0, axis], router.bias.data[0] = -1e3, 1e3 * i / number


@pytest.mark.parametrize("side", [1, 2, 3, 6, 12])
@pytest.mark.parametrize("given", [False, True])
def test_numbers_in_partitions_have_room(side: int, given: bool) -> None:
    x = torch.rand(30, 2, generator=torch.Generator().manual_seed(4))
    data, tree = Samples(x, torch.arange(30) % 3), squares(side)
    ax = plot_partition(tree, data, ax=Figure().add_subplot() if given else None)
    found = boxes_of_texts(ax)
    assert len({text.get_text() for text in ax.texts}) == len(ax.texts)
    assert len(found) == side**2 or (side == 12 and 10 < len(found) < 144)
    assert_within(found, ax.get_window_extent())
    assert_apart(found)
    for text in ax.texts:
        point = torch.tensor([text.get_position()], dtype=torch.float32)
        assert f"leaf {int(tree.apply_path(point))}" == text.get_text()


@pytest.mark.parametrize("seed", range(3))
def test_numbers_in_random_partitions_have_room(seed: int) -> None:
    x = torch.randn(10, 2, generator=torch.Generator().manual_seed(seed))
    for leaves in (30, 31, 60):
        found = boxes_of_texts(ax := plot_partition(grown(leaves, columns=2), x, resolution=60))
        assert found
        assert_within(found, ax.get_window_extent())
        assert_apart(found)


@pytest.mark.parametrize(
    ("tree", "x", "options", "message"),
    [
        (grown(2), torch.zeros(3, COLUMNS), {}, r"2 features. Got \[5\] for a tree of \[5\]"),
        (grown(2, columns=2), torch.zeros(3, 4), {}, r"Got \[4\] for a tree of \[2\]"),
        (grown(2, columns=2), torch.zeros(0, 2), {}, "no samples to draw"),
        (grown(2, columns=2), torch.zeros(3, 2), {"resolution": 1}, "int >= 2. Got 1"),
        (grown(2, 2, SquaredError(), columns=2), torch.zeros(3, 2), {}, "several numbers"),
    ],
)
def test_partitions_that_cannot_be_drawn(
    tree: NeuralTree, x: torch.Tensor, options: dict, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        plot_partition(tree, x, ax=axes(), **options)


def test_reach_is_immutable() -> None:
    with pytest.raises(AttributeError, match="cannot assign"):
        Reach(np.ones(1), np.ones((1, BINS))).share = np.zeros(1)
