"""Initial trees of labels: Huffman, complete, random, or by the similarity of vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from torch import Tensor

from structnet.checks import check_integer, check_number, check_one_of, wrong
from structnet.label_tree._assignment_kernels import greedy
from structnet.label_tree._grouping_kernels import joined
from structnet.label_tree._kernels import EMPTY
from structnet.label_tree.codes import LabelCodes, least_nodes

ARITY = (20, 128)  # smallest and largest default number of children of a node
SLACK = 1.5  # frequency up to which similar nodes are joined, relative to Huffman's last choice
WINDOW = 1_000  # largest number of nodes that are compared with the rarest one, ...
A_CHILD = 200  # ... and of these per child: with few children, there are many nodes with windows


def usual_arity(num_labels: int, max_depth: int | None = None) -> int:
    """The default number of children of a node: that for two decisions on a path, within limits.

    Fewer decisions on a path mean fewer mistakes, and compiled loops over dozens of children take
    hardly longer than over 20.

    Args:
        num_labels: number of labels.
        max_depth: largest number of decisions on a path; nodes get enough children for it.

    Example:
        >>> usual_arity(30), usual_arity(30, 1), usual_arity(1000), usual_arity(20_000, 2)
        (20, 30, 32, 142)
    """
    low, high = ARITY
    arity = max(2, min(num_labels, max(low, min(math.ceil(math.sqrt(num_labels)), high))))
    if max_depth is not None:
        arity = max(arity, round(num_labels ** (1 / max_depth)))
        arity += least_depth(num_labels, arity) > max_depth
    return arity


def huffman(counts: np.ndarray, arity: int = 2) -> LabelCodes:
    """The tree with the smallest expected depth: frequent labels are near the root.

    Args:
        counts: frequency of each label.
        arity: number of slots of a node.

    Shapes:
        counts ``[labels]``.

    Raises:
        ValueError: there are no labels, a count is negative, or the arity is below 2.

    Reference:
        Huffman, A method for the construction of minimum-redundancy codes, 1952; with more than
        two children ``(1 - K) mod (M - 1)`` slots of the deepest node stay empty.

    Example:
        >>> huffman(np.array([5, 1, 1, 3])).depth.tolist()
        [1, 3, 3, 2]
    """
    counts = _checked(counts, arity)
    number = least_nodes(len(counts), arity)
    if number == 1:  # keeps the order of the labels
        return in_order(np.arange(len(counts)), arity)
    children = np.full((number, arity), EMPTY, np.int32)
    order = np.argsort(counts, kind="stable")[::-1].tolist()  # the rarest is the last
    rarest = counts[order].tolist()
    merged: list[float] = []  # the weights of the nodes made so far, ascending
    taken = 0
    for step in range(number):
        node, total = number - 1 - step, 0.0
        room = arity - (1 - len(counts)) % (arity - 1) if step == 0 else arity
        for slot in reversed(range(room)):
            if order and (taken == len(merged) or rarest[-1] <= merged[taken]):
                total += rarest.pop()
                children[node, slot] = number + order.pop()
            else:
                total += merged[taken]
                children[node, slot] = number - 1 - taken
                taken += 1
        merged.append(total)
    return LabelCodes(children, len(counts))


def grouped(
    counts: np.ndarray, vectors: np.ndarray, arity: int = 2, slack: float = SLACK
) -> LabelCodes:
    """Huffman's tree, except that among nodes of similar frequency, similar ones are joined.

    Where Huffman joins the ``arity`` rarest nodes, here the rarest is joined with the nearest of
    those that are at most ``slack`` times as frequent as the last of Huffman's. So the tree is
    nearly as shallow, and nodes with the same parent are similar. The vector of a node is the mean
    of those of its labels.

    Args:
        counts: frequency of each label.
        vectors: vector of each label, such as the mean of its examples.
        arity: number of slots of a node.
        slack: factor by which a node may be more frequent than Huffman's last and still be joined;
            the larger, the deeper the tree, and the more similar the nodes that are joined.

    Shapes:
        counts ``[labels]``; vectors ``[labels, size]``.

    Raises:
        ValueError: there are no labels, a count is negative, the vectors do not fit or are not
            finite, or the arity is below 2.

    Example:
        >>> grouped(np.array([6, 5, 4, 4]), np.array([[0.0], [1.0], [0.1], [1.1]])).to_nested()
        [[0, 2], [1, 3]]
    """
    counts, vectors = _checked(counts, arity), np.asarray(vectors, np.float64)
    check_number("slack", slack, 1, owner="grouped")
    labels, number = len(counts), least_nodes(len(counts), arity)
    if vectors.ndim != 2 or len(vectors) != labels or not np.isfinite(vectors).all():
        expected = f"finite numbers [{labels}, size]"
        raise wrong("vectors", expected, list(vectors.shape), "grouped")
    rarest = np.argsort(-counts, kind="stable")[::-1].copy()
    weight = np.append(counts, np.zeros(number))
    middle = np.append(vectors, np.zeros((number, vectors.shape[1])), axis=0)
    most = max(min(WINDOW, A_CHILD * arity), arity)
    return LabelCodes(joined(rarest, weight, middle, arity, float(slack), most), labels)


def complete(counts: np.ndarray, arity: int = 2) -> LabelCodes:
    """The tree whose levels are full except for the last; frequent labels are less deep.

    Args:
        counts: frequency of each label.
        arity: number of slots of a node.

    Shapes:
        counts ``[labels]``.

    Raises:
        ValueError: there are no labels, a count is negative, or the arity is below 2.

    Example:
        >>> complete(np.array([1, 9, 1])).depth.tolist()
        [2, 1, 2]
    """
    counts = _checked(counts, arity)
    return in_order(np.argsort(-counts, kind="stable"), arity)


def random_tree(num_labels: int, arity: int = 2, seed: int = 0) -> LabelCodes:
    """A complete tree with its labels in random places.

    Args:
        num_labels: number of labels.
        arity: number of slots of a node.
        seed: seed of the random places.

    Raises:
        ValueError: there are no labels, or the arity is below 2.
    """
    _checked(np.ones(num_labels), arity)
    return in_order(np.random.default_rng(seed).permutation(num_labels), arity)


def frequencies(counts: Any, num_labels: int) -> np.ndarray:
    """The frequencies that a tree is built from; 1 for each label if none are given.

    Labels that never occur would share the deepest branch, and a later sample of one would be far
    less probable than in a tree that mixes them in. So each counts as one that occurs as rarely as
    any.

    Shapes:
        counts ``[labels]``, or None -> ``[labels]``, float64.

    Raises:
        ValueError: there is not one number for each label.
    """
    expected = f"counts must be [{num_labels}], a number for each class"
    if isinstance(counts, Tensor):
        counts = counts.detach().double().cpu()
    try:
        counts = np.ones(num_labels) if counts is None else np.asarray(counts, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{expected}. Got {type(counts).__name__}.") from None
    if counts.shape != (num_labels,):
        raise ValueError(f"{expected}. Got {list(counts.shape)}.")
    least = counts[counts > 0].min(initial=counts.max())
    return np.where(counts == 0, least, counts)


def log_shares(codes: LabelCodes, counts: np.ndarray) -> np.ndarray:
    """The log of each child's share of its node's examples; 0 in empty slots.

    Args:
        codes: tree.
        counts: frequency of each label.

    Shapes:
        counts ``[labels]`` -> ``[nodes, arity]``.

    Example:
        >>> np.exp(log_shares(LabelCodes.from_nested([[0, 1], 2]), np.array([1, 3, 4])))
        array([[0.5 , 0.5 ],
               [0.25, 0.75]])
    """
    below = np.zeros(codes.children.shape)
    np.add.at(below, (codes.nodes, codes.slots), counts[codes.labels])
    total = below.sum(1, keepdims=True)
    return np.log(np.divide(below, total, out=np.ones_like(below), where=below > 0))


def beginning(
    tree: str | LabelCodes, counts: np.ndarray, arity: int, seed: int, max_depth: int | None = None
) -> LabelCodes:
    """The tree with a name, or a user's own tree; the complete one if it is too deep.

    Args:
        tree: "huffman", "complete", "random", or a tree.
        counts: frequency of each label.
        arity: number of slots of a node.
        seed: seed of a random tree.
        max_depth: largest number of decisions on a path.

    Shapes:
        counts ``[labels]``.

    Raises:
        ValueError: there is no tree with that name, it has other labels, or they do not fit into
            the depth.
    """
    if isinstance(tree, LabelCodes):
        codes = tree
    else:
        check_one_of("tree", tree, ("huffman", "complete", "random"), "TreeSoftmaxLoss")
        if tree == "random":
            codes = random_tree(len(counts), arity, seed)
        else:
            codes = (huffman if tree == "huffman" else complete)(counts, arity)
    if codes.num_labels != len(counts):
        raise ValueError(f"the tree has {codes.num_labels} labels; expected {len(counts)}")
    if max_depth is not None:
        check_depth(len(counts), codes.arity, max_depth)
        if codes.depth.max(initial=0) > max_depth:
            return complete(counts, codes.arity)
    return codes


def in_order(labels: np.ndarray, arity: int) -> LabelCodes:
    """The complete tree whose leaves, shallower ones first, are labels in a given order.

    Shapes:
        labels ``[labels]``, a permutation.
    """
    number = least_nodes(len(labels), arity)
    value = np.full(number * arity + 1, EMPTY)
    value[:number] = np.arange(number)
    value[number : number + len(labels)] = number + labels
    return LabelCodes(value[1:].reshape(number, arity), len(labels))


def clustered(
    vectors: np.ndarray, arity: int = 2, max_depth: int | None = None, seed: int = 0
) -> LabelCodes:
    """The tree of k-means from the root down: each node's labels in as many clusters as slots.

    Args:
        vectors: vector of each label, such as that of its word or the mean of its examples.
        arity: number of slots of a node.
        max_depth: largest number of decisions on a path; by default one more than in a complete
            tree.
        seed: seed of the first centres.

    Shapes:
        vectors ``[labels, size]``.

    Raises:
        ValueError: the vectors are not finite, or there are more labels than fit into the depth.

    Reference:
        Arthur, Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007 (the start).

    Example:
        >>> clustered(np.array([[0.0], [9.0], [0.1], [9.1]])).to_nested()
        [[3, 1], [0, 2]]
    """
    vectors = np.asarray(vectors, np.float64)
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise wrong("vectors", "finite numbers [labels, size]", list(vectors.shape), "clustered")
    _checked(np.ones(len(vectors)), arity)
    depth = max_depth or least_depth(len(vectors), arity) + 1
    check_depth(len(vectors), arity, depth)
    rng = np.random.default_rng(seed)
    codes: list[list[int]] = [[] for _ in vectors]
    stack = [(np.arange(len(vectors)), 0)] if len(vectors) > 1 else []
    while stack:
        mine, here = stack.pop()
        capacity = min(arity ** (depth - here - 1), len(mine))
        slots = _clusters(vectors[mine], arity, capacity, rng)
        for label, slot in zip(mine, slots, strict=True):
            codes[label].append(int(slot))
        groups = [mine[slots == slot] for slot in range(arity)]
        stack += [(group, here + 1) for group in groups[::-1] if len(group) > 1]
    return LabelCodes.from_codes(codes, arity)


def _clusters(x: np.ndarray, arity: int, capacity: int, rng: np.random.Generator) -> np.ndarray:
    """The cluster of each vector, in sizes that a tree allows. ``[n, size] -> [n]``."""
    number, squares = np.arange(len(x)), np.einsum("nd,nd->n", x, x)[:, None]
    middle = np.empty((arity, x.shape[1]))
    nearest = np.full(len(x), np.inf)
    for k in range(arity):  # far from the others, as k-means++ draws them
        total = nearest.sum() if k else 0.0
        chosen = rng.choice(len(x), p=nearest / total) if total > 0 else rng.integers(len(x))
        middle[k] = x[chosen]
        away = x - middle[k]
        nearest = np.minimum(nearest, np.einsum("nd,nd->n", away, away))
    choice = np.full(len(x), -1)
    for _ in range(30):
        distance = x @ (-2 * middle.T)
        distance += squares + np.einsum("kd,kd->k", middle, middle)
        # If a cluster is full, those vectors go elsewhere that lose least by it.
        second = np.partition(distance, 1, axis=1)[:, 1:2]
        now = greedy(second - distance, capacity)
        if (now == choice).all():
            break
        choice = now
        members = csr_matrix((np.ones(len(x)), (choice, number)), (arity, len(x)))
        sizes = np.bincount(choice, minlength=arity)[:, None]
        middle = np.where(sizes > 0, (members @ x) / np.maximum(sizes, 1), middle)
    return choice


def least_depth(num_labels: int, arity: int) -> int:
    """The depth of the flattest tree.

    Example:
        >>> least_depth(256, 4), least_depth(257, 4), least_depth(1, 2)
        (4, 5, 0)
    """
    depth = 0
    while arity**depth < num_labels:
        depth += 1
    return depth


def check_depth(num_labels: int, arity: int, max_depth: int, what: str = "labels") -> None:
    """Refuses more labels than fit into a tree of a given depth.

    Args:
        num_labels: number of labels.
        arity: number of children of a node.
        max_depth: largest number of decisions on a path.
        what: word for the labels.

    Raises:
        ValueError: there are more.

    Example:
        >>> check_depth(10, 3, 2)
        Traceback (most recent call last):
        ValueError: 10 labels do not fit into a tree of arity 3 and depth 2, which holds 9; expected
        a depth of at least 3
    """
    if least_depth(num_labels, arity) > max_depth:  # a power of a large depth takes long
        raise ValueError(
            f"{num_labels:,} {what} do not fit into a tree of arity {arity} and depth {max_depth}, "
            f"which holds {arity**max_depth:,}; expected a depth of at least "
            f"{least_depth(num_labels, arity)}"
        )


def _checked(counts: np.ndarray, arity: int) -> np.ndarray:
    check_integer("arity", arity, 2)
    counts = np.asarray(counts, np.float64)
    if counts.ndim != 1 or not len(counts):
        raise wrong("counts", "one number for each label, [labels]", list(counts.shape))
    if not (np.isfinite(counts).all() and counts.min() >= 0):
        raise wrong("counts", "0 or more", float(counts.min()))
    return counts
