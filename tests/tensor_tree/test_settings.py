"""What is chosen from the data where nothing is said."""

from __future__ import annotations

import pytest

from structnet.tensor_tree.settings import TreeLSTMSettings


@pytest.mark.parametrize("kind", ["classes", "labels", "nodes", "numbers"])
def test_numbers_alone_are_held_down_by_more_decay(kind: str) -> None:
    chosen = TreeLSTMSettings().resolved(1000, 500, kind)
    assert chosen.weight_decay == (0.3 if kind == "numbers" else 0.01)
    assert chosen.resolved(10, 5, "classes").weight_decay == chosen.weight_decay
    for told in (0.0, 0.1):
        settings = TreeLSTMSettings(weight_decay=told)
        assert settings.resolved(1000, 500, kind).weight_decay == told
