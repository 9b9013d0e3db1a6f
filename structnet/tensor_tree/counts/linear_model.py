"""A linear model of classes on counts, some of which may have no example."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from structnet.estimators.logistic import logistic_regression
from structnet.estimators.row_space import space_of

ABSENT = -30.0  # logit of a class that no training example has
# Classes that make the coordinates of rows worth finding. With more, finding them hardly counts:
# a step takes longer with each class, in coordinates as in columns.
SHARED = 16


def linear_classes(
    x: csr_matrix,
    y: np.ndarray,
    num_classes: int,
    penalty: float,
    count: np.ndarray,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    offset: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The weights and biases of a logistic regression.

    Of a class without rows they are 0 and -30 or, with an offset, 0 and 0.

    Args:
        x: rows to learn from.
        y: classes from 0.
        num_classes: number of classes.
        penalty: penalty of the squared weights, as if two classes had one vector of weights.
        count: weight of each row.
        start: weights and biases to start from.
        offset: logits to which the model's are added; None for zeros.

    Shapes:
        x ``[n, columns]``; y, count ``[n]``; offset ``[n, num_classes]``; weights ``[columns,
        num_classes]``; biases ``[num_classes]``.
    """
    classes, codes = np.unique(y, return_inverse=True)
    known, begin = len(classes), None
    weight = np.zeros((x.shape[1], num_classes))
    bias = np.full(num_classes, ABSENT if offset is None and known else 0.0)
    if known < 2:
        bias[classes] = 0
        return weight, bias
    space = space_of(x, min(known, SHARED))
    if start is not None and not space and (start[1][classes] > ABSENT).all():
        begin = np.vstack([each[..., classes] for each in start])
    w = logistic_regression(
        space.coordinates if space else x,
        codes,
        # With two classes, each has half of the single weight vector that is usually penalised.
        penalty * (2 if known == 2 else 1),
        count,
        begin,
        None if offset is None else offset[:, classes],
    )
    coef, some = w[:-1].T, w[-1]
    if space:
        coef, some = space.model(coef, some)
    if offset is not None:  # beside classes without rows a constant matters
        some = some - np.average(some, weights=np.bincount(codes, count))
    weight[:, classes], bias[classes] = coef.T, some
    return weight, bias
