"""Pictures of model trees, by their numbers: histograms, widths, places, what is written."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.text import Text
from pictures import (
    COLUMNS,
    ODD,
    assert_apart,
    assert_within,
    axes,
    boxes,
    collection,
    drawn_order,
    grown,
    heights,
    samples,
    shapes,
    written,
)
from toy_tree import TWELVE, toy_tree

from structnet.neural_tree import GaussianMixture, NeuralTree, SquaredError, presets
from structnet.plot import (
    plot_leaf_classes,
    plot_leaf_means,
    plot_model_tree,
    plot_partition,
    plot_refinement,
)
from structnet.plot.model_tree.captions import _shortened
from structnet.plot.model_tree.key import GREEDY, ONE_LEAF, SOFT
from structnet.plot.model_tree.panels import FAINT, TINTED
from structnet.plot.model_tree.sheet import CLASSES, COMING, ROUTER, WIDTH
from structnet.plot.palette import class_colors, confidence, shaded
from structnet.routing import Reading, Samples
from structnet.routing.topology import Topology
from structnet.routing.visits import BINS, reach


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            Samples(torch.zeros(2, COLUMNS), torch.tensor([0, 3])),
            r"0 to 2; example 1 of the samples has 3",
        ),
        (
            Samples(torch.zeros(2, COLUMNS), torch.tensor([0, -1])),
            r"0 to 2; example 1 of the samples has -1",
        ),
        (Samples(torch.zeros(0, COLUMNS), torch.zeros(0, dtype=torch.long)), "got 0 examples"),
        (Samples(torch.zeros(2, 4), torch.tensor([0, 1])), r"Got .*\b4\]"),
    ],
)
def test_samples_that_do_not_fit(data: Samples, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_model_tree(grown(2), data, ax=axes())


def test_histograms_are_what_reaches_the_nodes() -> None:
    tree, data = grown(5), samples()
    found, ax = reach(tree, data), plot_model_tree(tree, data, ax=axes())
    order = drawn_order(tree)
    bars = heights(ax, "_classes").reshape(len(order), 3) / CLASSES
    counts = found.classes[order]
    assert bars == pytest.approx(counts / counts.sum(axis=1, keepdims=True))
    bars = heights(ax, "_coming").reshape(len(order), BINS) / COMING
    assert bars == pytest.approx(found.coming[order] / len(data), abs=1e-9)
    routers = [v for v in order if tree.nodes[v].router is not None]
    bars = heights(ax, "_routers").reshape(len(routers), BINS) / ROUTER
    counts = found.going[[tree.topology.children_of(v)[0] for v in routers]][
        :, ::-1
    ]  # what goes left stands at the left
    assert bars == pytest.approx(counts / counts.sum(axis=1, keepdims=True))
    colors = [to_hex(c).upper() for c in collection(ax, "_classes").get_facecolor()]
    assert colors == class_colors(3) * len(order)


def test_bars_stand_in_their_panels() -> None:
    tree = grown(5)
    ax = plot_model_tree(tree, samples(), ax=axes())
    panels = shapes(ax, "_panels")
    assert len(panels) == 9 + 9 + 4  # two a node, and one a router
    owners = {"_classes": panels[:9], "_coming": panels[9:18], "_routers": panels[18:]}
    for label, each in (("_classes", 3), ("_coming", BINS), ("_routers", BINS)):
        bars, owner = shapes(ax, label), owners[label]
        low, high = (np.repeat(owner[:, i], each, axis=0) for i in (0, 2))
        assert (bars[:, 0] >= low - 1e-9).all() and (bars[:, 2] <= high + 1e-9).all()
        assert bars[:, 0, 1] == pytest.approx(low[:, 1])
        assert (np.diff(bars[:, 0, 0].reshape(-1, each)) > 0.8 * WIDTH / each).all()


def test_left_children_stand_left() -> None:
    tree = grown(6)
    centers = shapes(plot_model_tree(tree, samples(), ax=axes()), "_panels").mean(axis=1)
    place = {v: centers[i] for i, v in enumerate(drawn_order(tree))}
    for v, children in enumerate(tree.topology.to_lists()):
        if children:
            left, right = (place[u] for u in children)
            assert left[0] < place[v][0] < right[0]
            assert left[1] < place[v][1]


def test_edges_are_as_wide_as_what_takes_them() -> None:
    tree, data = grown(5), samples()
    ax = plot_model_tree(tree, data, ax=axes(30, 30))
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
    ax = plot_model_tree(tree, samples(), ax=axes())
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
    ax = plot_model_tree(tree, data, class_names=["ape", "bee", "cow"], ax=axes())
    text = written(ax)
    assert [t for t in text if t.startswith("node")] == ["node 0", "node 1", "node 2"]
    assert [t for t in text if t.endswith("0 %") and ":" not in t] == ["100 %", "50 %", "50 %"]
    assert [t.split("\n")[0] for t in text].count("bee: 83 %") == 2  # 45 + 5 of 60
    # Where all is as probable, every sample goes left, and the first class is predicted.
    assert f"bee: 83 %\ncorrect: {100 * 5 / 60:.0f} %" in text
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["ape", "bee", "cow"]


def test_leaves_tell_how_good_they_are_by_themselves() -> None:
    tree, data = grown(4), samples()
    ends = tree.apply_path(data.x).numpy()
    text = written(plot_model_tree(tree, data, ax=axes()))
    for leaf in np.unique(ends):
        here = ends == leaf
        said = tree.predicted_at(data.x[here], leaf).argmax(axis=1)
        correct = (said == data.targets.numpy()[here]).mean()
        assert any(t.endswith(f"\ncorrect: {100 * correct:.0f} %") for t in text)
    assert sum("correct: " in t for t in text) == len(np.unique(ends))
    numbers = grown(2, outputs=1, likelihood=SquaredError())
    text = written(plot_model_tree(numbers, Samples(data.x, data.x[:, :1]), ax=axes()))
    ends = numbers.apply_path(data.x).numpy()
    mean = numbers.predicted_at(data.x[ends == 1], 1).mean()
    assert any(t.endswith(f"\nsays {mean:.4g}") for t in text)


def test_greedy_pictures_tell_empty_nodes() -> None:
    tree = grown(2)
    for parameter in tree.parameters():
        torch.nn.init.zeros_(parameter)  # everything goes left
    assert "no samples" in written(plot_model_tree(tree, samples(), ax=axes(), greedy=True))


@pytest.mark.parametrize("columns", [1, 7])
def test_means_and_spreads_of_numbers(columns: int) -> None:
    tree = grown(3, outputs=columns, likelihood=SquaredError())
    data = samples()
    data = Samples(data.x, torch.randn(60, columns, generator=torch.Generator().manual_seed(2)))
    ax, found = plot_model_tree(tree, data, ax=axes()), reach(tree, data)
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
    assert any(t.split("\n")[0] == says for t in written(ax)) == (columns == 1)
    assert ax.get_legend() is None


def test_gaussian_mixtures_have_targets_too() -> None:
    tree = grown(2, outputs=2, likelihood=GaussianMixture())
    data = Samples(samples().x, torch.arange(60.0)[:, None])
    assert len(shapes(plot_model_tree(tree, data, ax=axes()), "_means")) == 3


def test_without_samples_nodes_are_boxes() -> None:
    tree = grown(4)
    ax = plot_model_tree(tree, ax=axes())
    assert written(ax) == [str(v) for v in drawn_order(tree)]
    assert len(shapes(ax, "_boxes")) == 7
    assert len(set(collection(ax, "_edges").get_linewidths())) == 1


@pytest.mark.parametrize("leaves", [1, 2, 8, 16])
@pytest.mark.parametrize("names", [None, ["aeroplane", "automobile", "broken-down lorry"]])
@pytest.mark.parametrize("given", [False, True])
def test_nothing_overlaps_or_is_cut_off(leaves: int, names: list | None, given: bool) -> None:
    ax = plot_model_tree(
        grown(leaves), samples(), class_names=names, ax=axes(16, 12) if given else None
    )
    found = boxes(ax)
    assert len(found) > leaves
    assert_within(found, ax.figure.bbox)
    assert_apart(found, 3)  # boxes of letters are somewhat larger than these
    if not given:
        assert min(text.get_fontsize() for text in ax.texts) >= 5.5


def test_names_stand_as_they_are_written() -> None:
    images = Samples(torch.rand(6, 1, 4, 4), torch.arange(6) % 3)
    tree = NeuralTree(presets.mlp(3), (1, 4, 4))
    plane = Samples(torch.randn(6, 2, generator=torch.Generator().manual_seed(4)), images.targets)
    partition = plot_partition(
        grown(2, columns=2), plane, class_names=ODD, resolution=20, feature_names=ODD[::2]
    )
    drawn = [
        plot_model_tree(grown(3), samples(), class_names=ODD),
        *plot_refinement(grown(2), grown(2), samples(), ODD),
        plot_leaf_classes(grown(3), samples(), class_names=ODD),
        plot_leaf_means(tree, images, class_names=ODD),
        partition,
    ]
    for ax in drawn:
        ax.figure.canvas.draw()
        users = [text for text in ax.figure.findobj(Text) if set("$_") & set(text.get_text())]
        assert users and not any(text.get_parse_math() for text in users)
    keys = [ax.get_legend() for ax in (*drawn[:3], partition)]
    assert all([text.get_text() for text in key.get_texts()][:3] == ODD for key in keys)
    assert [text.get_text() for text in drawn[3].get_xticklabels()] == ODD
    assert [partition.get_xlabel(), partition.get_ylabel()] == ODD[::2]


@pytest.mark.parametrize("greedy", [False, True])
def test_pictures_say_what_their_shares_are(greedy: bool) -> None:
    tree, data = grown(3), samples()
    numbers = grown(2, outputs=1, likelihood=SquaredError())
    for ax in (
        plot_model_tree(tree, data, ax=axes(), greedy=greedy),
        plot_model_tree(numbers, Samples(data.x, data.x[:, :1]), ax=axes(), greedy=greedy),
        *plot_refinement(tree, tree, data, greedy=greedy),
    ):
        assert [text for text in written(ax) if "shares" in text] == [GREEDY if greedy else SOFT]
    assert "shares" not in "".join(written(plot_model_tree(tree, ax=axes())))


def test_a_refinement_is_drawn_to_a_depth_with_the_names_of_columns() -> None:
    tree, data, names = grown(5), samples(), [f"column {i}" for i in range(COLUMNS)]
    for drawn in plot_refinement(tree, tree, data, feature_names=names, max_depth=1):
        alone = plot_model_tree(tree, data, feature_names=names, max_depth=1)
        assert written(drawn) == written(alone) != written(plot_model_tree(tree, data))
        assert "column" in "".join(written(drawn))


def test_numbers_of_a_picture_have_one_notation() -> None:
    """Rents: the mean and the deviation at a leaf are written as its answer is."""
    data = samples()
    rents = Samples(data.x, 1300 + 400 * data.x[:, :1])
    tree = grown(1, outputs=1, likelihood=SquaredError())
    drawn = list(written(plot_model_tree(tree, rents, ax=axes(8, 6))))
    found = reach(tree, rents)
    for leaf in tree.topology.leaves:
        if found.share[leaf]:
            mean = float(f"{found.mean[leaf, 0]:.3g}")
            [_] = [text for text in drawn if text.startswith(f"{mean:.0f} ± ")]
    assert not any(re.search(r"\de\d", text) for text in drawn)


def test_pictures_say_what_their_panels_are() -> None:
    tree, data = grown(3), samples()
    numbers = Samples(data.x, data.x[:, :1])
    of_numbers = plot_model_tree(grown(2, outputs=1, likelihood=SquaredError()), numbers)
    twelve = toy_tree(TWELVE)
    twelve.blur = 0.3
    of_many = plot_model_tree(twelve, Samples(torch.randn(40, 2), torch.arange(40) % 2))
    said = [
        " ".join(written(ax)[::-1]) for ax in (plot_model_tree(tree, data), of_numbers, of_many)
    ]
    for text in said:
        assert "middle: probability of coming here, 0 to 1, of all samples" in text
    assert "upper panels: classes that arrive, 0 to 100 %;" in said[0]
    assert "lower: probability of going left, 1 to 0" in said[0]
    low, high = (f"{data.x[:, 0].mean() + k * data.x[:, 0].std(correction=0):.3g}" for k in (-2, 2))
    assert f"targets that arrive, mean ± deviation; panel: {low} to {high}" in said[1]
    assert "goes on to each child" in said[2]
    several = grown(2, outputs=2, likelihood=SquaredError())
    two = Samples(data.x, data.x[:, :2])
    named = Reading(several, two, target_names=("pull", "lift"))
    words = [" ".join(written(plot_model_tree(*told))) for told in ((several, two), (named,))]
    assert "a bar for each column" in words[0]
    assert "a bar each, from the left: pull, lift" in words[1]
    assert not any("below a leaf" in text for text in words)


def test_a_question_loses_whole_entries_before_letters() -> None:
    line = "left has higher position 5, lower position 6, lower position 7"
    said = {_shortened(line, room) for room in range(20, 400, 10)}
    assert {line, "left has higher position 5, lower position 6, …"} <= said
    assert all(text == line or text.endswith(", …") for text in said if "," in text)


def test_pictures_say_how_decided_the_routers_are() -> None:
    tree, data = grown(3), samples()
    for path in ("multi", "greedy"):
        decided = reach(tree, data, path).all_decided
        text = " ".join(written(plot_model_tree(tree, data, greedy=path == "greedy")))
        assert f"routers decided {100 * decided:.1f} %" in text
    assert "decided" not in " ".join(written(plot_model_tree(grown(1), data)))


def test_the_purer_a_node_the_darker_its_ground() -> None:
    tree, data = grown(4), samples()
    counts = reach(tree, data).classes[drawn_order(tree)]
    ax = plot_model_tree(tree, data, ax=axes())
    grounds = next(c for c in ax.collections if c.get_label() == "_panels").get_facecolor()
    sure = confidence(counts.max(axis=1) / counts.sum(axis=1), 3)
    best = [class_colors(3)[k] for k in counts.argmax(axis=1)]
    expected = [shaded(c, FAINT + (TINTED - FAINT) * s) for c, s in zip(best, sure, strict=True)]
    assert [to_hex(color).upper() for color in grounds] == expected


def test_small_branches_are_one_mark() -> None:
    tree, data = grown(20, chain=True), samples()
    found = reach(tree, data)
    least = float(np.sort(found.share)[12])
    ax = plot_model_tree(tree, data, ax=axes(12, 20), min_share=least)
    drawn = {int(t.split()[1]) for t in written(ax) if t.startswith("node ")}
    assert drawn == set(np.flatnonzero(found.share >= least).tolist())
    marks = [text for text in written(ax) if text.startswith("… ")]
    leaves = sum(int(text.split()[1]) for text in marks)
    shown = sum(leaf in drawn for leaf in tree.topology.leaves)
    assert marks and leaves + shown == 20
    assert all(text.endswith(" %") for text in marks)
    same = plot_model_tree(tree, data, ax=axes(12, 20), min_share=1e-9)
    assert not [text for text in written(same) if text.startswith("… ")]
    with pytest.raises(ValueError, match="min_share is a share of samples, but there are none"):
        plot_model_tree(tree, ax=axes(), min_share=0.1)
    with pytest.raises(ValueError, match=r"'min_share' .* range \[0, 1\]"):
        plot_model_tree(tree, data, ax=axes(), min_share=2)


def test_one_leaf_says_so_in_every_picture() -> None:
    data = samples()
    images = Samples(torch.rand(6, 1, 4, 4), torch.arange(6) % 3)
    plane = Samples(data.x[:, :2], data.targets)
    drawn = [
        plot_model_tree(grown(1), ax=axes()),
        plot_model_tree(grown(1), data),
        *plot_refinement(grown(1), grown(1), data),
        plot_leaf_classes(grown(1), data),
        plot_leaf_means(NeuralTree(presets.mlp(3), (1, 4, 4)), images),
        plot_partition(grown(1, columns=2), plane, resolution=20),
    ]
    for ax in drawn:
        assert ONE_LEAF in " ".join(text.get_text() for text in ax.figure.findobj(Text))
    more = plot_partition(grown(2, columns=2), plane, resolution=20)
    assert ONE_LEAF not in " ".join(text.get_text() for text in more.figure.findobj(Text))


def test_names_must_fit() -> None:
    with pytest.raises(ValueError, match="2 class_names for 3 classes"):
        plot_model_tree(grown(2), samples(), class_names=["a", "b"], ax=axes())


def test_from_left() -> None:
    assert Topology([(1, 2), (), (3, 4), (5, 6), (), (), ()]).from_left() == [1, 5, 6, 4]
    assert grown(201, chain=True).topology.from_left()[0] == 1
