"""Pictures of model trees that are large, in axes that are small, and of two trees together."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.transforms import Bbox
from pictures import (
    LONG,
    assert_apart,
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
from scipy.sparse import csr_matrix
from toy_tree import TWELVE, toy_tree

from structnet import SoftmaxTreeClassifier
from structnet.neural_tree import NeuralTree, SquaredError
from structnet.plot import plot_model_tree, plot_refinement
from structnet.plot.model_tree.key import SOFT
from structnet.plot.model_tree.panels import PALEST
from structnet.plot.model_tree.sheet import CLASSES, DOTS, MAX_SIDE
from structnet.plot.palette import class_colors, confidence, shaded
from structnet.routing import Samples
from structnet.routing.visits import reach


def test_captions_stand_beside_thick_stems(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = toy_tree(TWELVE)
    monkeypatch.setattr(
        tree, "branch_names", lambda v: () if v else ("longer than it is wide",) * 12
    )
    ax = plot_model_tree(tree, Samples(torch.randn(40, 2), torch.zeros(40).long()))
    ax.figure.draw_without_rendering()
    small = [text for text in ax.texts if text.get_fontsize() < 7 * 1.5]
    pixel = ax.figure.dpi / 72
    for label in ("_edges", "_stems"):
        lines = collection(ax, label)
        for path, width in zip(lines.get_paths(), lines.get_linewidths(), strict=True):
            (x0, y0), (x1, y1) = ax.transData.transform(path.vertices)[-2:]
            half = width * pixel / 2
            line = Bbox([[min(x0, x1) - half, min(y0, y1)], [max(x0, x1) + half, max(y0, y1)]])
            over = [text.get_text() for text in small if line.overlaps(text.get_window_extent())]
            assert not [text for text in over if "shares" not in text]


def test_ten_classes_have_a_key_in_order() -> None:
    ax = plot_model_tree(grown(1, outputs=10), samples(classes=10))
    ax.figure.canvas.draw()
    texts = ax.get_legend().get_texts()
    assert [text.get_text() for text in texts] == [str(i) for i in range(10)]
    assert len({round(text.get_window_extent().y0) for text in texts}) == 1


def test_a_hundred_classes_have_no_key() -> None:
    ax = plot_model_tree(grown(3, outputs=100), samples(100, classes=100), ax=axes())
    assert ax.get_legend() is None and len(shapes(ax, "_classes")) == 500


@pytest.mark.parametrize(("leaves", "chain"), [(300, False), (201, True)])
@pytest.mark.parametrize("data", [None, samples()])
def test_large_trees_are_dots_if_all_levels_are_asked_for(
    leaves: int, chain: bool, data: Samples | None
) -> None:
    tree = grown(leaves, chain=chain)
    ax = plot_model_tree(tree, data, max_depth=leaves)
    dots = collection(ax, "_dots")
    assert len(dots.get_offsets()) == len(tree.nodes)
    assert written(ax) == ([] if data is None else [SOFT])
    assert (ax.figure.get_size_inches() <= MAX_SIDE / 72 + 0.01).all()
    if data is not None:
        best = reach(tree, data).classes[drawn_order(tree)].argmax(axis=1)
        counts = reach(tree, data).classes[drawn_order(tree)]
        sure = confidence(counts.max(axis=1) / counts.sum(axis=1), 3)
        strength = PALEST + (1 - PALEST) * sure
        full = [class_colors(3)[i] for i in best]
        colors = [to_hex(c).upper() for c in dots.get_facecolor()]
        assert colors == [shaded(c, s) for c, s in zip(full, strength, strict=True)]
    ax.figure.canvas.draw()
    x = np.sort(ax.transData.transform(dots.get_offsets())[:, 0])
    assert x[0] >= 0 and x[-1] <= ax.figure.bbox.x1


@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize("data", [None, samples()])
def test_large_trees_are_drawn_as_deep_as_can_be_read(data: Samples | None, chain: bool) -> None:
    tree = grown(200, chain=chain)
    ax = plot_model_tree(tree, data)
    said, whole = written(ax), tree.topology.depth.max()
    marks = [int(text.split()[1]) for text in said if text.startswith("… ")]
    depth = max(d for d in range(whole) if _drawn(tree, d, said))
    assert 2 <= depth < whole
    leaves = [v for v in tree.topology.leaves if tree.topology.depth[v] <= depth]
    assert sum(marks) + len(leaves) == 200 and max(marks) > 1
    sizes = [text.get_fontsize() for text in ax.texts]
    assert min(sizes) >= 0.65 * 6
    if data is not None:
        assert f"{SOFT}; drawn to depth {depth} of {whole}" in said


def _drawn(tree: NeuralTree, depth: int, said: list[str]) -> bool:
    """True if all nodes of a depth are named in a picture."""
    here = np.flatnonzero(tree.topology.depth == depth)
    return {str(v) for v in here} <= {text.removeprefix("node ") for text in said}


def test_small_axes_have_dots() -> None:
    tree = grown(16)
    small, large = (plot_model_tree(tree, samples(), ax=axes(s, s)) for s in (2, 16))
    assert len(collection(small, "_dots").get_offsets()) == 31
    assert len(shapes(large, "_panels")) == 31 + 31 + 15
    assert collection(small, "_dots").get_sizes()[0] <= DOTS.body**2 * 1.5**2


def test_what_is_too_deep_is_counted() -> None:
    tree = grown(20, chain=True)
    for data in (None, samples()):
        ax = plot_model_tree(tree, data, ax=axes(), max_depth=2)
        assert any(text.startswith("… 18 leaves") for text in written(ax))
    with pytest.raises(ValueError, match=r"'max_depth' .* range \[0, inf\)"):
        plot_model_tree(tree, ax=axes(), max_depth=-1)


def test_refinement_side_by_side() -> None:
    before, after, data = grown(3), grown(3), samples()
    for parameter in after.parameters():
        torch.nn.init.zeros_(parameter)
    pair = plot_refinement(before, after, data, accuracies=(0.9, 0.987))
    decided = [f"{100 * reach(tree, data).all_decided:.1f}" for tree in (before, after)]
    assert decided[0] != decided[1] == "50.0"
    assert [ax.get_title() for ax in pair] == [
        f"before refinement: accuracy 90.0 %, routers decided {decided[0]} %",
        "after refinement: accuracy 98.7 %, routers decided 50.0 %",
    ]
    for ax, tree in zip(pair, (before, after), strict=True):
        counts = reach(tree, data).classes[drawn_order(tree)]
        bars = heights(ax, "_classes").reshape(-1, 3) / CLASSES
        assert bars == pytest.approx(counts / counts.sum(axis=1, keepdims=True))
    left, right = (ax.get_position() for ax in pair)
    assert left.x1 <= right.x0 and left.y0 == right.y0
    alone = plot_refinement(grown(1), grown(1), data)[1].get_title()
    assert alone == "after refinement"


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


def test_small_axes_have_room_for_the_tree() -> None:
    x, y = samples().x, samples().targets
    ax = plot_model_tree(grown(1), Samples(x, y), ax=axes(2.5, 1.9), class_names=LONG)
    low, high = ax.transData.transform(shapes(ax, "_panels")[0][[0, 2]])
    assert (high - low)[0] > 0.3 * 100


def test_means_of_neighbours_are_apart() -> None:
    tree = grown(5, outputs=1, likelihood=SquaredError())
    numbers = Samples(samples().x, 1e-10 * torch.randn(60, 1))
    ax = plot_model_tree(tree, numbers, ax=axes(12, 12))
    assert sum(" ± " in text for text in written(ax)) == 7  # at leaves, and twice in the key
    assert_apart(boxes(ax), 1.0)


def test_long_names_of_columns_leave_room_for_what_is_asked() -> None:
    x = np.random.default_rng(0).normal(size=(200, 2))
    y = (x[:, 0] > 0).astype(int)
    model = SoftmaxTreeClassifier(depth=1, k=1, random_state=0).fit(csr_matrix(x), y)
    names = ["a name of\nseveral lines, " + "x" * 60, "b"]
    ax = plot_model_tree(model, csr_matrix(x), y, feature_names=names, ax=axes(12, 12))
    [asked] = [text for text in written(ax) if "…" in text and "left" in text]
    assert "\n" not in asked and any(sign in asked for sign in "<>")


def test_the_line_about_shares_is_apart_from_the_smaller_ones_above_it() -> None:
    ax = plot_model_tree(grown(3), samples())
    extents = {text.get_text(): text.get_window_extent() for text in ax.texts}
    note = extents[SOFT]
    above = min(box.y0 for box in extents.values() if box.y0 > note.y0)
    assert above - note.y1 > 0.2 * note.height


def test_of_a_single_node_with_very_many_leaves_the_most_frequent_are_drawn() -> None:
    """In new axes twelve of them, in small ones fewer; the others are told together."""
    tree = toy_tree([tuple(range(1, 49)), *[()] * 48])
    x = torch.randn(201, 2, generator=torch.Generator().manual_seed(0))
    came = Samples(x, torch.zeros(201).long())
    for size, number in ((None, 12), ((7.0, 3.0), 6)):
        room = {} if size is None else {"ax": axes(*size)}
        ax = plot_model_tree(tree, came, **room)
        words = [text.get_text() for text in ax.texts]
        [mark] = [each for each in words if each.startswith("…")]
        share = np.sort(reach(tree, came).share[1:])[: 48 - number]
        assert mark.startswith(f"… {48 - number} leaves") and f"{100 * share.sum():.0f} %" in mark
        assert sum(each.startswith("node ") for each in words) == 1 + number
