"""Which rare labels get a vector of their own: those that tell something about the answers.

A name that two functions use is mostly of one package, so that a name which occurs once is worth a
vector; the number of a request tells nothing about a log's next line, and would only be memorised.
Which of the two a label is, is estimated from labels in the same field that several trees have.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from structnet.trees.forest import Forest
from structnet.trees.number_tokens import FIRST
from structnet.trees.vocabulary import Vocabulary

MOST = 10  # trees up to which a label is used to estimate what rare labels are worth
SURE = 4  # trees from which a label is always known, whatever its field
TOLD = 0.1  # reliability from which a label is known
PRIOR = 10.0  # number of labels that the estimate from all fields weighs as much as
ALONE = 0.1  # weight of a label of one tree, counted as useless: it may never come again


def labels_of_trees(forest: Forest, vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """The number of trees of a forest that have each type, and each token.

    Shapes:
        ``[num_types]``, ``[num_tokens]``, float64.
    """
    order = forest.preorder()
    tree = order.trees

    entry, words = forest.words_at(order.nodes)

    def counted(tree: np.ndarray, label: np.ndarray, size: int) -> np.ndarray:
        there = (label >= 0) & (label < FIRST)
        once = np.unique(tree[there] * size + label[there]) % size
        return np.bincount(once, minlength=size).astype(float)

    tokens = np.concatenate((forest.tokens[order.nodes], words))
    return (
        counted(tree, forest.types[order.nodes], vocabulary.num_types),
        counted(np.concatenate((tree, tree[entry])), tokens, vocabulary.num_tokens),
    )


def known_labels(
    forest: Forest, targets: np.ndarray, num_types: int, num_tokens: int
) -> tuple[np.ndarray, np.ndarray]:
    """Masks of the types and tokens that get a vector of their own.

    A label that n examples have is known if ``n r / (1 + (n - 1) r)``, the joint reliability of n
    examples, is at least ``TOLD``. Here r is the agreement within labels of the same field: the
    product of the centred targets of two examples that share a label, in units of the variance. It
    is 0 if such examples agree by chance only, and 1 if a label determines the target. The field of
    a label is the type of the node above it or, for a token that a node carries beside a type, that
    type; the words of texts below a type are a field of their own.

    Args:
        forest: training trees, with those of an example next to each other.
        targets: classes, or rows of several labels, 0 or 1.
        num_types, num_tokens: sizes of the vocabulary, in which all labels are listed.

    Shapes:
        targets ``[n]`` or ``[n, labels]``; output: ``[num_types]`` and ``[num_tokens]``, bool.

    Reference: Spearman, "Correlation Calculated from Faulty Data", British Journal of Psychology 3,
    1910 (the reliability); Fisher, "Statistical Methods for Research Workers", 1925, Sec. 38 (the
    agreement within a class).
    """
    label, example, field = _met(forest, len(targets), num_types)
    size, fields = num_types + num_tokens, 3 * num_types + 1
    has = csr_matrix((np.ones(len(label)), (label, example)), (size, len(targets)))
    count = np.diff(has.indptr)
    # A label in several fields belongs to the one in which it occurs first.
    of = np.zeros(size, np.int64)
    of[label[::-1]] = field[::-1]
    several = (count > 1) & (count <= MOST)
    total = np.bincount(of[several], _agreement(has[several], targets), fields)
    weight = np.bincount(of[several], minlength=fields) + ALONE * np.bincount(
        of[count == 1], minlength=fields
    )
    overall = total.sum() / (weight.sum() + PRIOR)
    r = np.maximum((total + PRIOR * overall) / (weight + PRIOR), 0)[of]
    known = count * r >= TOLD * (1 + (count - 1) * r)
    known |= (count >= SURE) | (count == 0)  # labels that only roots have are in no field
    return known[:num_types], known[num_types:]


def _met(
    forest: Forest, examples: int, num_types: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each label of each example once: label (tokens after types), example and field.

    Shapes:
        ``[pairs]`` each.
    """
    order = forest.preorder()
    parent, child = forest.edges(order)
    above, example = forest.types[order.nodes][parent], order.trees[parent]
    example = example // (len(forest) // examples)
    types, tokens = forest.types[child], forest.tokens[child]
    beside = np.where(types >= 0, num_types + types, above)
    inner, leaf = types >= 0, (tokens >= 0) & (tokens < FIRST)
    edge, words = forest.words_at(child)
    label = np.concatenate((types[inner], num_types + tokens[leaf], num_types + words))
    of = np.concatenate((example[inner], example[leaf], example[edge]))
    field = np.concatenate((above[inner], beside[leaf], 2 * num_types + above[edge]))
    _, first = np.unique(label * examples + of, return_index=True)
    return label[first], of[first], field[first]


def _agreement(has: csr_matrix, targets: np.ndarray) -> np.ndarray:
    """The agreement of the targets of two examples that share a label, ``[labels]``.

    Args:
        has: 1 where an example has a label, ``[labels, examples]``, at least two each.
        targets: see :func:`known_labels`.
    """
    if targets.ndim == 1:  # one column per class
        place = (np.arange(len(targets)), targets)
        y = csr_matrix((np.ones(len(targets)), place))
    else:
        y = csr_matrix(targets.astype(float))
    mean, n = np.asarray(y.mean(axis=0)).ravel(), np.diff(has.indptr)
    # Centred sums of squares, without centring, which would make sparse targets dense.
    own = np.asarray(y.multiply(y).sum(1)).ravel() - 2 * (y @ mean) + mean @ mean
    of_label = has @ y
    both = np.asarray(of_label.multiply(of_label).sum(1)).ravel()
    both = both - 2 * n * (of_label @ mean) + n * n * (mean @ mean)
    return (both - has @ own) / (n * (n - 1)) / max(own.mean(), 1e-12)
