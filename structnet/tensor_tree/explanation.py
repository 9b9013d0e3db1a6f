"""Explains predictions for trees: how much each part of a tree matters."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structnet.checks import wrong
from structnet.routing.words import in_digits
from structnet.tensor_tree.child_sum_tree_lstm import ChildSumTreeLSTM
from structnet.tensor_tree.counts.bag_occlusion import outputs_without_each
from structnet.tensor_tree.counts.beside import BesideBag
from structnet.training.metrics import evaluating
from structnet.training.modules import device_of, with_same_weights
from structnet.trees.forest import Forest
from structnet.trees.label_words import (
    Text,
    as_read,
    own_children,
    own_nodes,
    without_words,
    word_ids,
)
from structnet.trees.replacement import each_replaced
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Nameless, Vocabulary

MAX_EDGES = 2**19  # edges of trees with something hidden that are predicted at once; ...
NODE = 8  # ... a node counts as this many edges
SAME = 0.9  # share of an effect that is nearly all of it
ROUNDING = 1e-6  # share of a score that its rounding may change
LISTED = 8  # subtrees in the text
SHOWN = 50  # characters of each subtree in the text


class _Hidden(Nameless):
    """The label of a hidden part."""

    def __repr__(self) -> str:
        return "<hidden>"


HIDDEN = Tree(_Hidden())


@dataclass(frozen=True)
class TreeExplanation:
    """How much each node of a tree matters to the prediction for the tree.

    Attributes:
        tree: the tree as the model reads it, with words as nodes below texts
            (:func:`structnet.trees.with_words`); each of its nodes is an object of its own.
        answer: class or label that is explained; None if the model predicts numbers.
        score: log-odds of the answer, which still change where a probability near 1 hardly does;
            or the predicted number.
        occlusion: for each node, by how much the score falls when the node and all below it are
            hidden; for the root, when the whole tree is.
        gradient: for each node, how much its own label contributes to the score of the tree part
            of the model, by gradient times input; None if labels have no vectors.

    As text, it lists the parts that matter most, without those that only matter as another is in
    them; of parts that look the same, each has the place at which ``explanation.tree`` has it.

    Shapes:
        occlusion, gradient: ``[nodes]``, in preorder.
    """

    tree: Tree
    answer: Any
    score: float
    occlusion: np.ndarray
    gradient: np.ndarray | None

    @property
    def heading(self) -> str:
        """The answer and its score, in a few words."""
        if self.answer is None:
            return f"prediction {in_digits(self.score, 6)}"
        return f"{self.answer}: log-odds {self.score:.3f}"

    def top(self, count: int = LISTED) -> list[tuple[Tree, float]]:
        """The parts whose hiding changes the score most, without the whole tree.

        A part is left out if it has no effect, or another within it has nine tenths of its effect.
        """
        nodes, around = list(self.tree.preorder()), self._around()
        first = 0 if id(self.tree) in self.alone() else 1
        order = np.argsort(-np.abs(self.occlusion), kind="stable")
        apart = [i for i in order.tolist() if i >= first and self.occlusion[i] and not around[i]]
        return [(nodes[i], float(self.occlusion[i])) for i in apart[:count]]

    def _around(self) -> list[bool]:
        """Whether hiding a node hides a part that has nearly its whole effect. ``[nodes]``"""
        alone, found = self.alone(), []
        extremes: list[tuple[float, float]] = []  # of subtrees, the leftmost one on top
        nodes = zip(self.tree.preorder(), self.occlusion.tolist(), strict=True)
        for node, value in reversed(list(nodes)):
            below = [extremes.pop() for _ in node.children]
            least = min((low for low, _ in below), default=0.0)
            most = max((high for _, high in below), default=0.0)
            same = most >= SAME * value if value > 0 else least <= SAME * value
            found.append(same and id(node) not in alone)
            extremes.append((min(least, value), max(most, value)))
        return found[::-1]

    def alone(self) -> set[int]:
        """The ``id`` of nodes whose own labels alone are hidden, and not what is below them."""
        return set()

    def values(self) -> dict[int, float]:
        """The occlusion of each node by its ``id`` in ``tree``, the form that pictures take."""
        nodes = self.tree.preorder()
        return {id(node): value for node, value in zip(nodes, self.occlusion.tolist(), strict=True)}

    def __str__(self) -> str:
        words, alone, texts = word_ids(self.tree.preorder()), self.alone(), []
        top = self.top()
        for node, _ in top:
            text = written(node, id(node) in words)
            texts.append(f"the label of {text}" if id(node) in alone and node.children else text)
        count, ways = Counter(texts), _ways(self.tree) if len(set(texts)) < len(texts) else {}
        lines = [self.heading]
        if not texts and self.tree.size > 1:
            lines.append("  no part matters")
        for (node, value), text in zip(top, texts, strict=True):
            moves = "rises" if value < 0 else "falls"
            at = f", tree[{_way(ways, node)}]" if count[text] > 1 else ""
            size = f"{abs(value):.3f}" if self.answer is not None else in_digits(abs(value))
            lines.append(f"  {moves} by {size} without {text}{at}")
        return "\n".join(lines)

    __repr__ = __str__  # what a notebook shows


def falls(score: float, without: np.ndarray) -> np.ndarray:
    """By how much a score falls, 0 where that is only rounding. ``[nodes] -> [nodes]``"""
    found = score - without
    return np.where(np.abs(found) > ROUNDING * abs(score), found, 0.0)


def _ways(tree: Tree) -> dict[int, tuple[int, int]]:
    """The ``id`` of the parent and the place below it, by the ``id`` of each node but the root."""
    return {
        id(child): (id(node), place)
        for node in tree.preorder()
        for place, child in enumerate(node.children)
    }


def _way(ways: dict[int, tuple[int, int]], node: Tree) -> str:
    """The places on the way to a node, by which ``tree[..]`` finds it; of equal parts only it."""
    at, places = id(node), []
    while at in ways:
        at, place = ways[at]
        places.append(place)
    return ", ".join(map(str, reversed(places))) or "()"


def written(node: Tree, word: bool) -> str:
    """A subtree on a line, texts without their words, and numbers among words without their #."""
    if word:
        return as_read(node)
    own = without_words(node)
    if own.size <= SHOWN:
        return _cut(str(own))
    return f"{_cut(str(own.label))} with {own.size:,} nodes"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def log_odds(outputs: Tensor, column: int) -> Tensor:
    """The log-odds of a class, from logits. ``[n, classes] -> [n]``."""
    others = [i for i in range(outputs.shape[1]) if i != column]
    return outputs[:, column] - outputs[:, others].logsumexp(-1)


def column_of(target: Any, classes: np.ndarray) -> int:
    """The place of a class.

    Shapes:
        classes ``[classes]``.

    Raises:
        ValueError: there is no such class.
    """
    columns = {label: i for i, label in enumerate(classes.tolist())}
    try:
        return columns[target]
    except (KeyError, TypeError):  # of a list, for example
        raise wrong("target", f"one of {[*columns]}", target, "explain") from None


def check_place(name: str, value: Any, count: int) -> None:
    """Refuses what is not the place of one of so many things, counted from 0.

    Raises:
        ValueError: the value is not allowed.
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not 0 <= value < count:
        raise wrong(name, f"an int from 0 to {count - 1}", value, "explain")


def explain(
    model: nn.Module,
    vocabulary: Vocabulary,
    sample: Sequence[Tree],
    scored: Callable[[Tensor], Tensor],
    answer: Any,
) -> TreeExplanation | tuple[TreeExplanation, ...]:
    """Explains a prediction by predicting the tree again with each of its subtrees hidden.

    Args:
        model: model that gives outputs for a forest, with an unknown label in its vocabulary.
        vocabulary: numbers of its labels.
        sample: the tree, or several trees that are one example; parts of one tree at a time are
            hidden while the others stay whole.
        scored: function that computes the score from the outputs.
        answer: class whose score it is; None for numbers.

    Returns:
        An explanation; one for each tree if there are several.

    Shapes:
        ``scored`` maps ``[n, outputs]`` -> ``[n]``.

    Reference: Zeiler and Fergus, ECCV 2014 (occlusion); Simonyan, Vedaldi and Zisserman, ICLR 2014
    workshop (gradients).
    """
    model = with_same_weights(model)
    trees, device = [apart(tree) for tree in sample], device_of(model)
    # For one tree the counts are computed apart: for all variants, the time would be quadratic.
    mixed = model if isinstance(model, BesideBag) and len(trees) == 1 else None
    of_trees = model if mixed is None else mixed.tree
    found = []
    with evaluating(model):
        whole = Forest.from_trees(trees, vocabulary).to(device)
        score = scored(model(whole)).item()
        of_labels = gradients(model, vocabulary, trees, scored)
        for i, tree in enumerate(trees):
            if mixed is None or mixed.shares[0]:
                variants = hidden_one_by_one(tree, vocabulary, MAX_EDGES, trees[:i], trees[i + 1 :])
                outputs = torch.cat([of_trees(forest.to(device)) for forest in variants])
            else:  # what has no weight would take most of the time
                outputs = mixed.bag.bias.new_zeros(tree.size, len(mixed.bag.bias))
            if mixed is not None:
                hidden = vocabulary.encode(HIDDEN)[1]
                of_counts = outputs_without_each(mixed.bag, whole, hidden, mixed.extra)
                outputs = mixed.mixed(outputs, *(each.to(outputs) for each in of_counts))
            without = np.array(scored(outputs).tolist())
            found.append(TreeExplanation(tree, answer, score, falls(score, without), of_labels[i]))
    return tuple(found) if len(found) > 1 else found[0]


def hidden_one_by_one(
    tree: Tree,
    vocabulary: Vocabulary,
    most: int = MAX_EDGES,
    before: Sequence[Tree] = (),
    behind: Sequence[Tree] = (),
    labels_alone: Sequence[int] = (),
) -> Iterator[Forest]:
    """Forests of the tree with each of its subtrees and words hidden in turn, in preorder.

    A node is only copied where something below it is hidden, so that a model only recomputes what
    that changes.

    Args:
        tree: the tree.
        vocabulary: numbers of its labels, including an unknown one.
        most: limit for the copied edges in a forest, not counting its first tree, where each node
            counts as a few edges; ``before`` and ``behind`` count too.
        before, behind: trees before and after it in the same example, which accompany each
            variant.
        labels_alone: places, in preorder without words, of a node and those above it, whose own
            labels alone are hidden; these nodes are in each variant.

    Example:
        >>> tree = Tree("f", [Tree("x"), Tree("y")])
        >>> vocabulary = Vocabulary.from_trees([tree], unknown=True)
        >>> (forest,) = hidden_one_by_one(tree, vocabulary)
        >>> [str(forest.tree(i)) for i in range(3)], forest.num_nodes
        (['<unknown>', '(f <unknown> y)', '(f x <unknown>)'], 6)
    """
    # Places of nodes, their replacements, and the places of those whose label alone is replaced.
    at, by, alone, trees = [], [], [], [tree, HIDDEN, *before, *behind]
    others, label = range(2, len(trees)), len(trees)
    trees += [Tree(HIDDEN.label, [HIDDEN])] * bool(labels_alone)
    for place, node in enumerate(own_nodes(tree)):
        at.append(place)
        by.append(1)
        if place in labels_alone and own_children(node):
            alone.append(len(at) - 1)
            by[-1] = label
        if isinstance(node, Text):
            words = node.children
            for i in range(len(words)):
                at.append(place)
                by.append(len(trees))
                trees.append(Text(node.label, [*words[:i], HIDDEN, *words[i + 1 :]]))
    whole = Forest.from_trees(trees, vocabulary, share=False)
    places, instead = np.array(at), np.array(by)
    own = np.zeros(len(places), bool)
    own[alone] = True
    size = sum(each.size for each in (tree, *before, *behind)) if others else 0
    size += NODE * len(labels_alone)
    number = np.cumsum(np.array(_copied(tree)) + size) // most  # of each variant's forest
    for start, end in itertools.pairwise([0, *np.flatnonzero(np.diff(number)) + 1, len(number)]):
        # Without the texts of other forests: a page of n words has n of them.
        used, which = np.unique(instead[start:end], return_inverse=True)
        part = whole[[0, *others, *used]]
        nodes, number_before = part.preorder().nodes[places[start:end]], 1 + len(before)
        beside = range(1, number_before), range(number_before, 1 + len(others))
        by_trees, some = which + 1 + len(others), own[start:end]
        yield each_replaced(part, nodes, by_trees, *beside, labels_alone=some)


def _copied(tree: Tree) -> list[int]:
    """How much is copied to hide each node and word, in preorder: everything above it."""
    found, waiting = [], [(tree, 0)]
    while waiting:
        node, above = waiting.pop()
        found.append(above)
        if not isinstance(node, Text):
            above += NODE + len(node.children)
        waiting += [(child, above) for child in reversed(node.children)]
    return found


def apart(tree: Tree) -> Tree:
    """A copy of the tree in which each node is an object of its own."""
    return tree.fold(
        lambda node, below: (Text if isinstance(node, Text) else Tree)(
            node.label, below, node.token
        )
    )


def gradients(
    model: nn.Module, vocabulary: Vocabulary, trees: list[Tree], scored: Callable[[Tensor], Tensor]
) -> Sequence[np.ndarray | None]:
    """Gradient times input of each node of each tree, in preorder; None if there are no vectors.

    Shapes:
        ``scored`` maps ``[n, outputs]`` -> ``[n]``; output of each tree: ``[nodes and words]``.
    """
    encoders = [part for part in model.modules() if isinstance(part, ChildSumTreeLSTM)]
    if not encoders:
        return [None] * len(trees)
    forest = Forest.from_trees(trees, vocabulary, share=False)
    device = device_of(model)
    kept: list[Tensor] = []

    def keep(_: nn.Module, __: Any, output: Tensor) -> None:
        if not output.requires_grad:  # vectors that are not trained
            output.requires_grad_()
        kept.append(output)

    tables = (encoders[0].type_vectors, encoders[0].token_vectors)
    handles = [table.register_forward_hook(keep) for table in tables]
    try:
        with torch.enable_grad():
            score = scored(model(forest.to(device))).sum()
    finally:
        for handle in handles:
            handle.remove()
    # Of these alone: no gradient is added to those of the parameters.
    rows = zip(kept, torch.autograd.grad(score, kept), strict=True)
    n, owner = forest.num_nodes, forest.words_at(np.arange(forest.num_nodes))[0]
    found = np.zeros(n + len(owner))  # of nodes, then of words
    each = np.arange(n, len(found))
    for has in (np.flatnonzero(forest.types >= 0), np.flatnonzero(forest.tokens >= 0), each):
        if len(has):
            row, gradient = next(rows)
            found[has] += (gradient * row).sum(1).detach().double().cpu().numpy()
    # Words follow their text, in their order.
    place = np.empty(n, np.int64)
    place[forest.preorder().nodes] = np.arange(n)
    found = found[np.argsort(place[np.concatenate((np.arange(n), owner))], kind="stable")]
    return np.split(found, np.cumsum([tree.size for tree in trees])[:-1])
