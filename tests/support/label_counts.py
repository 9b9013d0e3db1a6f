"""How often labels, and pairs of them, occur in trees: by the definition."""

from __future__ import annotations

import itertools

import numpy as np
from random_trees import TOKENS, TYPES, VOCABULARY

from structnet import Tree
from structnet.trees.label_words import Text

SIZES = {"num_types": len(TYPES), "num_tokens": len(TOKENS)}


def label_of(node: Tree) -> int:
    kind, token = VOCABULARY.encode(node)
    return kind if kind >= 0 else len(TYPES) + token


def below(node: Tree) -> list[Tree]:
    """The children of a node, and the words of those that are texts."""
    if isinstance(node, Text):
        return []
    words = [child.children for child in node.children if isinstance(child, Text)]
    return [*node.children, *itertools.chain(*words)]


def pairs_of(tree: Tree) -> list[int]:
    """The pairs of a label and the one above it, and of a label and the next one, as numbers."""
    pairs = []
    for node in tree.preorder():
        pairs += [label_of(node) * 5 + label_of(child) for child in below(node)]
        row = map(label_of, node.children)  # or the words of a text
        pairs += [25 + left * 5 + right for left, right in itertools.pairwise(row)]
    return pairs + names_of(tree)


def named_in(tree: Tree) -> list[tuple[object, int]]:
    """The names of nodes, with the labels above them, in preorder."""
    named: list[tuple[object, int]] = []

    def visit(node: Tree) -> None:
        for child in () if isinstance(node, Text) else node.children:
            leaf = isinstance(child, Text) or not child.children
            if leaf or child.token is not None:
                named.append((child.label if child.token is None else child.token, label_of(node)))
            visit(child)

    visit(tree)
    return named


def names_of(tree: Tree) -> list[int]:
    """The labels above names that were there before, that come again, and that do neither."""
    named = named_in(tree)
    names = [name for name, _ in named]
    found = []
    for i, (name, above) in enumerate(named):
        again, comes = name in names[:i], name in names[i + 1 :]
        found += [50 + above] * again + [55 + above] * comes
        found += [60 + above] * (not again and not comes)
    return found


def names_across(tree: Tree, other: Tree) -> list[int]:
    """The labels above names that another tree has, or not, and with those above them there."""
    found = []
    for name, above in named_in(tree):
        there = {label for each, label in named_in(other) if each == name}
        found.append((65 if there else 70) + above)
        found += [75 + 5 * above + label for label in there]
    return found


def counted(trees: list[Tree], pairs: list[int], alike: bool = False) -> np.ndarray:
    """The counts by the definition, ``[n, labels + pairs]``; ``alike`` if trees are in pairs."""
    rows = np.zeros((len(trees), 5 + len(pairs)))
    for i, (row, tree) in enumerate(zip(rows, trees, strict=True)):
        for node in tree.preorder():
            for number in VOCABULARY.encode(node)[:1]:
                row[number] += number >= 0
            token = VOCABULARY.encode(node)[1]
            row[2 + token] += token >= 0
        across = names_across(tree, trees[i ^ 1]) if alike else []
        for code in pairs_of(tree) + across:
            if code in pairs:
                row[5 + pairs.index(code)] += 1
    return rows
