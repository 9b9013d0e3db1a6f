"""The names of classes in pictures."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pictures import axes, grown, samples, written

from structnet.plot import plot_leaf_classes, plot_model_tree
from structnet.plot.names import cut, short_names
from structnet.routing import Samples

PATHS = [
    "/root/.pyenv/versions/3.11.7/lib",
    "/root/.rustup/toolchains/stable-x86_64-unknown-linux-gnu",
    "/usr/include",
    "/usr/lib/google-cloud-sdk/lib",
    "/usr/lib/google-cloud-sdk/platform",
    "/usr/lib/jvm",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/share/doc",
    "/usr/share/icons",
    "/usr/share/man",
]


@given(st.lists(st.text("ab/ ", max_size=30), max_size=12), st.integers(2, 24))
def test_names_are_short_and_those_that_fit_are_whole(names: list[str], length: int) -> None:
    found = short_names(names, length)
    assert len(found) == len(names) and all(len(short) <= length for short in found)
    for name, short in zip(names, found, strict=True):
        if len(" ".join(name.split())) <= length:
            assert short == cut(name, length) == " ".join(name.split())


@pytest.mark.parametrize("length", [9, 12, 24])
@pytest.mark.parametrize("before", ["", "experiment/", "a" * 40])
@pytest.mark.parametrize("behind", ["", "/version/2024", "b" * 40])
@pytest.mark.parametrize("other", [[], ["z"]])
def test_different_names_stay_different(
    length: int, before: str, behind: str, other: list[str]
) -> None:
    names = [f"{before}{letter}{word}{behind}" for letter in "cdef" for word in "uv"]
    found = short_names([*names, *other], length)
    assert len(set(found)) == len(names) + len(other)
    assert all(len(short) <= length for short in found)


@pytest.mark.parametrize("length", [9, 24])
def test_paths_can_be_told_apart(length: int) -> None:
    assert len(set(short_names(PATHS, length))) == len(PATHS)


def test_pictures_of_classes_with_a_common_beginning_tell_them_apart() -> None:
    data = Samples(torch.randn(80, 5), torch.arange(80) % 8)
    names = [f"/usr/lib/a long name before {i}/lib" for i in range(8)]
    tree = grown(4, outputs=8)
    ax = plot_model_tree(tree, data, class_names=names, ax=axes(12, 12))
    assert len({text.get_text() for text in ax.get_legend().get_texts()}) == 8
    leaves = [text for text in written(ax) if "correct: " in text]
    assert leaves and all(any(str(i) in text.split(":")[0] for i in range(8)) for text in leaves)
    ticks = plot_leaf_classes(tree, data, class_names=names, ax=axes()).get_xticklabels()
    assert len({text.get_text() for text in ticks}) == 8
    assert np.all([len(text.get_text()) <= 24 for text in ticks])


def test_classes_below_neighbouring_leaves_stand_apart() -> None:
    data = samples(800, classes=2)
    names = ["WWMMWW only with great WWMMWW", "MMWWMM in WWMMWW"]
    ax = plot_model_tree(grown(12, outputs=2), data, class_names=names)
    ax.figure.draw_without_rendering()
    below = [text for text in ax.texts if "correct: " in text.get_text()]
    boxes = sorted((t.get_window_extent() for t in below), key=lambda box: (round(box.y0), box.x0))
    assert len(boxes) > 2
    for left, right in pairwise(boxes):
        assert left.x1 < right.x0 or round(left.y0) != round(right.y0)
