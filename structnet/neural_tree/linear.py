"""The penalised linear model of a tree on a table.

    min_w  mean loss + strength / 2 * |weights|^2

The biases are not penalised. With hundreds of columns and few rows, weights without a penalty learn
the noise, and stopping early avoids that only by luck.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import cast

import numpy as np
import torch
from scipy.special import log_softmax
from sklearn.linear_model import RidgeCV
from torch import Tensor, nn

from structnet.estimators.checked import Checked
from structnet.estimators.few_rows import regression
from structnet.estimators.held_out import folds, of_ridge
from structnet.neural_tree.likelihood import Categorical, SquaredError
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.on_demand import FromDataset
from structnet.routing.samples import Samples
from structnet.training.checkpoint import copy_state
from structnet.training.metrics import evaluate, most_at_once
from structnet.training.modules import device_of
from structnet.training.threads import Threads

FALL = 0.2  # ratio of each strength to the one before
OPTIMA = 14  # largest number of strengths: the last one is 8e-10 of the first
AHEAD = 2  # strengths in a row without an improvement after which the search ends
LEAST = 1e-4  # smallest improvement, as a share of the loss at the first strength
COMPUTED = 2**31  # largest number of products in a decomposition: a second or two
PARTS = 5  # parts that are held out in turn
ENOUGH = 2000  # samples from which on one held-out part is enough
NUMBERS = 2**22  # largest amount of numbers in a batch of a table

Strengths = list[float] | None  # those to choose from; None for those that suit the samples


def is_linear_model(tree: NeuralTree, samples: Samples) -> bool:
    """True if the tree is one linear map of a table's columns, and these samples can fit it.

    That takes a loss with an optimum, which not every likelihood has, and at least 10 samples,
    neither augmented nor read from a Dataset.
    """
    return isinstance(tree.likelihood, Categorical | SquaredError) and is_linear(tree, samples)


def is_linear(tree: NeuralTree, samples: Samples) -> bool:
    """As :func:`is_linear_model`, for a tree with any loss."""
    [root, *others] = tree.nodes
    linear = type(root.solver) is nn.Linear and not root.transformers and not others
    plain = tree.primitives.plain_root and len(tree.shape) == 1
    # Items of a Dataset may be slow to read and, like augmented samples, random.
    same = samples.augment is None and not isinstance(samples.x, FromDataset)
    return linear and plain and same and len(samples) >= 2 * PARTS


def fit_linear(
    tree: NeuralTree, samples: Samples, *, seed: int, strength: float | None = None
) -> float | None:
    """Moves a linear model to the penalised optimum that predicts unseen samples best.

    The largest of 14 strengths leaves hardly more than a constant; each of the others is a fifth of
    the one before. For squared errors, the optima of all are computed and compared by their
    leave-one-out errors. For classes, and for very large tables, L-BFGS finds each from the last,
    until two in a row do not improve the loss on held-out samples. If the numbers overflow
    the precision of the tree, it is left unchanged.

    Args:
        tree: tree for which :func:`is_linear_model` is true.
        samples: samples to learn from.
        seed: seed that determines which parts are held out.
        strength: strength of the penalty; by default the best of 14.

    Returns:
        The strength, or None if the tree was left unchanged.

    Raises:
        ValueError: the targets do not fit the outputs of the tree.

    Example:
        >>> from structnet.neural_tree import SquaredError, presets
        >>> tree = NeuralTree(presets.table(1), (1,), SquaredError())
        >>> x = torch.linspace(-1, 1, 20)[:, None]
        >>> strength = fit_linear(tree, Samples(x, 3 * x), seed=0)
        >>> tree.output(x[-1:]).round(decimals=1)
        tensor([[3.]], grad_fn=<RoundBackward1>)
    """
    before, unit = copy_state(tree), target_unit(samples)
    samples = replace(samples, targets=samples.targets / unit) if unit != 1.0 else samples
    for part in tree.parameters():
        nn.init.zeros_(part)  # weights without an effect on the loss stay 0
    try:
        with Threads(device_of(tree)).kept():
            ways = (_has_squares, _squares), (_has_classes, _classes)
            fitted = next((way for fits, way in ways if fits(tree, samples)), _descended)
            found = fitted(tree, samples, seed, [strength] if strength else None)
        with torch.no_grad():
            torch._foreach_mul_([*tree.parameters()], unit)
        return found
    except torch.OutOfMemoryError:
        raise
    except RuntimeError:  # an overflow; training by epochs will report where
        tree.load_state_dict(before)
        return None


def _has_squares(tree: NeuralTree, samples: Samples) -> bool:
    """True for squared errors and a bias, on a table that is small enough to decompose."""
    squares = isinstance(tree.likelihood, SquaredError) and _parameters(tree)[1] is not None
    sizes = len(samples), samples.x.shape[1]
    return squares and math.prod(sizes) * min(sizes) <= COMPUTED


def _squares(tree: NeuralTree, samples: Samples, _: int, strengths: Strengths) -> float:
    """Computes the optimum for squared errors, with the strength of least leave-one-out error."""
    tree.loss(samples[:1].to(device_of(tree)))  # refuses targets that do not fit the outputs
    every = samples[np.arange(len(samples))]
    x, y = (part.double().cpu().numpy() for part in (every.x, every.targets))
    unit = y.size / 2  # scikit-learn's penalty for a strength of 1
    strengths = strengths or _strengths(samples, float(x.var(axis=0).sum()))
    penalties = [unit * strength for strength in strengths]
    by = of_ridge(samples.group_numbers(), PARTS)
    ridge = RidgeCV(penalties, **by).fit(x, y, samples.counts())
    with torch.no_grad():
        for part, best in zip(_parameters(tree), (ridge.coef_, ridge.intercept_), strict=True):
            part.copy_(torch.from_numpy(np.reshape(best, part.shape)))
    return float(ridge.alpha_) / unit


def _has_classes(tree: NeuralTree, samples: Samples) -> bool:
    """True for classes and a bias, on a table that is small enough to have all of it in memory."""
    classes = isinstance(tree.likelihood, Categorical) and _parameters(tree)[1] is not None
    return classes and len(samples) <= _at_once(samples)


def _classes(tree: NeuralTree, samples: Samples, seed: int, strengths: Strengths) -> float:
    """Finds the optimum for classes, with the strength of least held-out loss."""
    tree.loss(samples[:1].to(device_of(tree)))  # refuses targets that do not fit the outputs
    every, number = samples[np.arange(len(samples))], tree.num_outputs
    x, y = every.x.double().cpu().numpy(), every.targets.cpu().numpy()
    weights, parts = samples.counts().astype(np.float64), parts_of(samples, seed)
    rows = Checked(x, y, weights)
    found: list[np.ndarray | None] = [None] * len(parts)

    def unseen(strength: float) -> float:
        total = 0.0
        for i, (learn, held) in enumerate(parts):
            if not weights[learn].any():
                continue
            some = rows.take(learn).counting(1)
            found[i] = w = regression(some, number, 1.0, strength * len(learn), found[i])
            logs = log_softmax(x[held] @ w[:-1] + w[-1], axis=1)
            total -= weights[held] @ logs[np.arange(len(held)), y[held]]
        return total

    strength = _best(unseen, strengths or _strengths(samples))
    w = regression(rows.counting(1), number, 1.0, strength * len(y))
    with torch.no_grad():
        for part, best in zip(_parameters(tree), (w[:-1].T, w[-1]), strict=True):
            part.copy_(torch.from_numpy(best))
    return strength


def _descended(tree: NeuralTree, samples: Samples, seed: int, strengths: Strengths) -> float:
    """Finds the optimum of any loss by L-BFGS, with the strength of least held-out loss."""
    parts = parts_of(samples, seed)
    models = [copy.deepcopy(tree) for _ in parts]

    def unseen(strength: float) -> float:
        total = 0.0
        for model, (learn, held) in zip(models, parts, strict=True):
            _minimise(model, samples, learn, strength)
            size = _at_once(samples)
            loss = evaluate(model, samples[held], batch_size=size)["loss"]
            total += loss * len(held)
        return total

    strength = _best(unseen, strengths or _strengths(samples))
    _minimise(tree, samples, np.arange(len(samples)), strength)
    return strength


def _strengths(samples: Samples, spread: float | None = None) -> list[float]:
    """The strengths to choose from, in descending order.

    The first follows from the mean square about the mean, if it is known: a common offset of the
    samples is left to the bias, and would make the penalty too strong.
    """
    largest = mean_square(samples)
    if not math.isfinite(largest):
        raise RuntimeError(f"the mean square of a sample is {largest}")
    strongest = (largest if spread is None else spread) or 1.0  # 0 if samples do not vary
    return [strongest / target_columns(samples) * FALL**i for i in range(OPTIMA)]


def _best(loss: Callable[[float], float], strengths: list[float]) -> float:
    """The strength of the lowest loss; computes no more losses once they stop falling."""
    if len(strengths) == 1:
        return strengths[0]
    found: list[float] = []
    for strength in strengths:
        found.append(loss(strength))
        if min(found[:-AHEAD], default=np.inf) - min(found[-AHEAD:]) < LEAST * abs(found[0]):
            break
    return strengths[int(np.argmin(found))]


def _parameters(tree: NeuralTree) -> tuple[Tensor, Tensor]:
    solver = cast(nn.Linear, tree.nodes[0].solver)
    return solver.weight, solver.bias


def parts_of(samples: Samples, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Places to learn from and to hold out, stratified by class, in whole groups if there are some.

    Shapes:
        places ``[m]``, int64; each is held out once, or of many samples a fifth is.
    """
    order = np.random.default_rng(seed).permutation(len(samples))
    if samples.targets.dim() == 1:
        order = order[samples.targets.cpu().numpy()[order].argsort(kind="stable")]
    most = PARTS if len(samples) < ENOUGH else 1
    parts = list(islice(folds(order, PARTS, samples.group_numbers()), most))
    return parts or list(islice(folds(order, PARTS), most))  # a single group has to be split


def _minimise(
    tree: NeuralTree,
    samples: Samples,
    places: np.ndarray,
    strength: float,
) -> None:
    optimizer = torch.optim.LBFGS(
        tree.parameters(),
        max_iter=60,
        tolerance_grad=1e-4 / target_columns(samples),
        tolerance_change=1e-6,
        line_search_fn="strong_wolfe",
    )
    batches, [weights, _] = _read_again(samples, places, device_of(tree)), _parameters(tree)

    def closure() -> Tensor:
        optimizer.zero_grad()
        penalty = strength / 2 * weights.square().sum()
        penalty.backward()
        total = penalty.detach()
        for batch in batches():
            loss = tree.loss(batch) * (len(batch) / len(places))
            loss.backward()
            total += loss.detach()
        return total

    optimizer.step(closure)


def _read_again(
    samples: Samples, places: np.ndarray, device: torch.device
) -> Callable[[], Iterable[Samples]]:
    """A function that gives the batches at each call; a single batch is kept in memory."""
    batches = partial(_batches, samples, places, device)
    if len(places) > _at_once(samples):
        return batches
    kept = [*batches()]
    return lambda: kept


def _at_once(samples: Samples) -> int:
    return most_at_once(samples, max(NUMBERS // samples.x.shape[1], 1))


def _batches(
    samples: Samples, places: np.ndarray, device: str | torch.device = "cpu"
) -> Iterator[Samples]:
    size = _at_once(samples)
    for start in range(0, len(places), size):
        yield samples[places[start : start + size]].to(device)


def target_unit(samples: Samples) -> float:
    """The standard deviation of numeric targets, as tolerances are in its units; 1 for classes."""
    if not samples.targets.is_floating_point():
        return 1.0
    deviation = float(samples.targets.double().var(0, correction=0).mean().sqrt())
    return deviation or 1.0


def target_columns(samples: Samples) -> int:
    """The number of target columns, over which the loss is a mean; 1 for classes."""
    return samples.targets[0].numel()


def mean_square(samples: Samples) -> float:
    """The mean squared norm of a sample, which bounds the mean square along any direction."""
    batches = _batches(samples, np.arange(len(samples)))
    return sum(float(batch.x.square().sum()) for batch in batches) / len(samples)
