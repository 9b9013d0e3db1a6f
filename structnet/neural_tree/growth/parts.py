"""Further held-out parts, where one part cannot tell whether a table needs more than a line.

The mean loss of a hundred rows has as much noise as a good split gains: by their names, of 600
files with sizes from nothing to megabytes, a split that explains a tenth of the variance gains two
standard errors or less half of the time. So where the root's candidates gain, but not surely, the
root and its candidates are trained on other parts of the training samples as well, and judged by
what these have not seen, until all parts together tell, or so little has been gained that it is
unlikely that they ever would.

Reference:
    Stone, "Cross-Validatory Choice and Assessment of Statistical Predictions", Journal of the Royal
    Statistical Society B, 1974.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from torch import nn

from structnet.neural_tree.growth.decision import Gain
from structnet.neural_tree.growth.measures import decrease
from structnet.neural_tree.likelihood import Likelihood
from structnet.neural_tree.linear import ENOUGH, is_linear_model, parts_of
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples

LUCK = 1.5  # deviations of what further parts may tell beyond the present pace


class Part(NamedTuple):
    """What candidates gain on a held-out part.

    Attributes:
        gains: gain of each candidate, by its kind.
        before: losses of the samples without a candidate.
        counts: weights of the samples.
        groups: groups of the samples; None if each is one by itself.

    Shapes:
        before, counts, groups ``[n]``.
    """

    gains: Mapping[str, Gain]
    before: np.ndarray
    counts: np.ndarray
    groups: np.ndarray | None = None


def fresh_starts(
    tree: NeuralTree, train: Samples, seed: int
) -> Iterator[tuple[NeuralTree, Samples, Samples]]:
    """Roots that have learned nothing, samples to learn from, and those held out of them.

    There are five for a tree that is a linear model of fewer than 2,000 samples; else none, as then
    a fifth tells enough. A part whose samples weigh nothing is left out.

    Args:
        tree: tree in its present state, which is not changed.
        train: samples that are learned from and held out by turns.
        seed: seed of the random choice.
    """
    if not is_linear_model(tree, train) or len(train) >= ENOUGH:
        return
    counts = train.counts()
    for learn, held in parts_of(train, seed):
        if not (counts[learn].any() and counts[held].any()):
            continue
        root = copy.deepcopy(tree)
        for parameter in root.parameters():
            nn.init.zeros_(parameter)  # it has seen what is now held out
        yield root, train[learn], train[held]


def judged_by_parts(
    first: Part,
    others: Iterable[Part],
    choose: Callable[[dict[str, Gain]], str],
    likelihood: Likelihood,
    size: int,
) -> dict[str, Gain]:
    """The gains of the first part's candidates, and their errors, over as many parts as it takes.

    Further parts are asked for until a candidate is chosen, none would be, or there are no more.
    Where a part has no candidate of a kind, nothing is gained.

    Args:
        first: part on which no candidate gains surely.
        others: further parts, which are trained as they are asked for.
        choose: rule that names the candidate to take, or "keep".
        likelihood: likelihood whose losses they are.
        size: number of samples of all parts.

    Returns:
        The gains; ``loss``, ``after`` and the like are still those of the first part.

    Example:
        >>> from functools import partial
        >>> from structnet.neural_tree.growth.decision import choose
        >>> from structnet.neural_tree.likelihood import Categorical
        >>> from structnet.neural_tree.settings import NeuralTreeSettings
        >>> before, after = np.full(4, 2.0), np.array([1.0, 2.0, 1.0, 2.0])
        >>> part = Part({"split": Gain(1.5, 0.5, 0.29, after=after)}, before, np.ones(4))
        >>> sure = partial(choose, settings=NeuralTreeSettings())
        >>> found = judged_by_parts(part, [part] * 4, sure, Categorical(), 20)
        >>> round(found["split"].error, 2), sure(part.gains), sure(found)
        (0.19, 'keep', 'split')
    """
    parts, found, rest = [first], dict(first.gains), iter(others)
    while choose(found) == "keep":
        share = sum(len(part.before) for part in parts) / size
        kinds = [
            kind for kind, gain in found.items() if choose({kind: _hoped(gain, share)}) == kind
        ]
        part = next(rest, None) if kinds else None
        if part is None:
            break
        parts.append(part)
        found |= {kind: _together(kind, parts, likelihood) for kind in kinds}
    return found


def _hoped(gain: Gain, share: float) -> Gain:
    """What all parts together would tell if they go on like this share of them, and luck helps.

    Over all parts, the gain in standard errors is normal about its present pace, with the variance
    of the parts that are left.

    Reference:
        Lan, Simon, Halperin, "Stochastically Curtailed Tests in Long-Term Clinical Trials", 1982.
    """
    error = gain.error * math.sqrt(share)
    lucky = gain.gain + LUCK * error * math.sqrt(1 - share)
    # The gain itself has to be enough as it is: only its error is that of a luckier one.
    return gain._replace(error=error * gain.gain / lucky if gain.gain > 0 else error)


def _together(kind: str, parts: list[Part], likelihood: Likelihood) -> Gain:
    """The gain of a kind of candidate over all parts; none where there was no such candidate."""
    before = np.concatenate([part.before for part in parts])
    after = np.concatenate([_after(kind, part) for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    several = [part.groups for part in parts if part.groups is not None]
    groups = np.concatenate(several) if several else None
    gain, error = decrease(before, after, counts, likelihood, groups)
    return parts[0].gains[kind]._replace(gain=gain, error=error)


def _after(kind: str, part: Part) -> np.ndarray:
    after = part.gains[kind].after if kind in part.gains else None
    return part.before if after is None else after
