"""The columns of a dense table in which its classes are divided into parts.

K-means sees all columns alike: along columns of noise, parts lie anywhere. What a column tells only
together with others, no linear model of whole classes shows; the questions of random trees do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import with_weights
from structnet.estimators.questions import grown_tree
from structnet.estimators.relevance import most_telling

LEAST = 3  # columns of a table from which on some may be left out
NUMBERS = 500_000  # largest product of rows, columns and classes: some tenths of a second
# Trees of a forest: the more, the fewer rows they have.
FEWEST, MOST, NODES = 10, 30, 9_000
TENTH = 0.1  # share of what the best column explains that each one kept must explain


def parting_columns(rows: Checked, num_classes: int, number: int = 0, seed: int = 0) -> np.ndarray:
    """The columns that tell classes, by themselves or together.

    Those that explain least in a forest are left out, at most half at once, and the others compared
    anew: among fewer columns more questions are about those that tell.

    Args:
        rows: dense rows, labelled with classes.
        num_classes: number of classes.
        number: number of columns; by default as many as explain a tenth of what the best one does.
        seed: seed of the forests.

    Shapes:
        output ``[kept]``, ascending; all columns of tables that have two, or are large if no number
        is given.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(300, 6))
        >>> parting_columns(Checked(x, (x[:, 1] * x[:, 4] > 0).astype(int), None), 2)
        array([1, 4])
    """
    columns = np.arange(rows.x.shape[1])
    large = rows.x.size * num_classes > NUMBERS
    if len(columns) < LEAST or (large and not number):
        return columns
    rows = with_weights(rows)
    rows = rows._replace(x=rows.x.astype(np.float32), y=np.eye(num_classes)[rows.y])
    trees = int(np.clip(NODES // len(rows.y), FEWEST, MOST))
    seeds = np.random.SeedSequence(seed).generate_state(trees).tolist()
    while len(columns) > number:
        some = rows._replace(x=np.ascontiguousarray(rows.x[:, columns]))
        explained = np.sum([grown_tree(some, each)[1] for each in seeds], axis=0)
        telling = int((explained >= TENTH * explained.max()).sum())
        left = max(number or telling, -(-len(columns) // 2))
        if left == len(columns) or explained.max() <= 0:
            break
        columns = columns[most_telling(explained, left)]
    return columns


def columns_in_words(told: int, columns: int) -> str:
    """What is said behind a model of how many columns of a table tell classes; empty for all.

    Args:
        told: number of columns that tell, 0 for all.
        columns: number of columns of the table.

    Example:
        >>> columns_in_words(2, 8), columns_in_words(0, 8)
        (', by 2 of 8 columns', '')
    """
    return f", by {told:,} of {columns:,} columns" if 0 < told < columns else ""


def most_gaining(choices: Sequence[np.ndarray], gains: np.ndarray) -> tuple[int, ...]:
    """The columns of several choices, each from other rows, that gain most, as many as the first.

    One forest may take noise for what tells: that of other rows takes other noise, and it gains
    nothing on held-out rows.

    Args:
        choices: columns of each choice, about as many.
        gains: gain of each choice on held-out rows; what is below 0 counts as that. If none gains
            anything, all count alike.

    Shapes:
        choices ``[kept]`` each; gains ``[choices]``; output ``[kept]``, ascending.

    Example:
        >>> choices = [np.array([1, 4]), np.array([0, 2]), np.array([0, 4])]
        >>> most_gaining(choices, np.array([0.5, -0.1, 0.2]))
        (1, 4)
    """
    gains = np.maximum(gains, 0) if (gains > 0).any() else np.ones(len(choices))
    each = np.repeat(gains, [len(columns) for columns in choices])
    gained = np.bincount(np.concatenate(choices), each)
    return tuple(most_telling(gained, len(choices[0])).tolist())
