"""A tree's probabilities of classes; a tree of numbers has none."""

from __future__ import annotations

import pytest
import torch
from growths import make_samples, make_tree


def test_probabilities_are_those_of_all_leaves() -> None:
    tree, samples = make_tree(), make_samples(7)
    tree.split(0)
    assert torch.equal(tree.predict_log_proba(samples), tree.output(samples.x))
    assert torch.equal(tree.predict_proba(samples), tree.output(samples.x).exp())


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
def test_a_tree_of_numbers_has_none(method: str) -> None:
    tree, samples = make_tree("squares"), make_samples(7, likelihood="squares")
    with pytest.raises(TypeError, match=r"^a tree of SquaredError predicts no classes$"):
        getattr(tree, method)(samples)
