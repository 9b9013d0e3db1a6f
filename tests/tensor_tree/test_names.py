"""Names that occur again, which no training tree has, tell the class of trees and of nodes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from structnet import Tree, TreeLSTMClassifier, TreeLSTMNodeClassifier, parse


def document(rng: random.Random) -> tuple[Tree, list[bool | None]]:
    """A document, and for each of its nodes whether the part that it refers to is there."""
    parts = [f"{rng.choice('abcdefgh')}{rng.randint(100, 999)}" for _ in range(rng.randint(2, 6))]
    links = [rng.choice(parts) for _ in range(rng.randint(1, 5))]
    if rng.random() < 0.5:
        links[rng.randrange(len(links))] = f"{rng.choice('abcdefgh')}{rng.randint(100, 999)}"
    tree = parse.json({"parts": [{"id": i} for i in parts], "links": [{"ref": r} for r in links]})
    nodes, refers = list(tree.preorder()), [each for each in tree.preorder() if each.label == "ref"]
    there = {id(each.children[0]): each.children[0].label in parts for each in refers}
    return tree, [there.get(id(node)) for node in nodes]


def drawn(number: int, seed: int) -> tuple[list[Tree], list[list[bool | None]]]:
    rng = random.Random(seed)
    trees, answers = zip(*(document(rng) for _ in range(number)), strict=True)
    return list(trees), list(answers)


def test_a_document_is_told_by_references_to_what_is_not_there(tmp_path: Path) -> None:
    (X, told), (new, expected) = drawn(300, 0), drawn(300, 1)
    y, y_new = (np.array([False in each for each in some]) for some in (told, expected))
    model = TreeLSTMClassifier(epochs=2, random_state=0).fit(X, y)
    assert model.score(new, y_new) > 0.97
    model.save(tmp_path / "model.safetensors")
    again = TreeLSTMClassifier.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    one = next(i for i, each in enumerate(expected) if each.count(False) == 1)
    nodes = list(new[one].preorder())
    why = model.explain(new[one], True)
    (lost,) = (i for i, found in enumerate(expected[one]) if found is False)
    leaves = [i for i, node in enumerate(nodes) if not node.children]
    assert max(leaves, key=lambda i: why.occlusion[i]) == lost


def test_references_are_told_one_by_one() -> None:
    (X, told), (new, expected) = drawn(150, 2), drawn(150, 3)
    model = TreeLSTMNodeClassifier(epochs=2, random_state=0).fit(X, told)
    assert model.score(new, expected) > 0.97
    alone = [model.predict([tree])[0] for tree in new[:20]]
    assert alone == model.predict(new[:20])
