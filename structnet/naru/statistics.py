"""Statistics of a network: which bundles are visited, how evenly, and whether that changes."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from structnet.checks import wrong

Record = Tensor | np.ndarray | Sequence


class RoutingStats:
    """Counts of the visits of sentences to the bundles of a network.

    Only what was computed counts: neither padding, nor steps at which a sentence is not yet, or no
    longer, in a capsule. Bundles *compete* in capsules that have several.

    Args:
        sizes: number of bundles in each capsule.

    Attributes:
        visits: number of visits to each bundle, ``[bundles]`` per capsule.
        traversals: number of elections of each bundle by each bundle of the capsule before,
            ``[bundles, bundles of the next]`` for each capsule but the last.
        gates: sums of the gates of each connection over its bundle's visits, ``[bundles,
            connections]`` per capsule; None if no gates were given.
        sentences: number of sentences that were counted.
        paths: number of tokens that took each path, the bundle of each capsule; of those that
            reached the last capsule.

    Example:
        >>> stats = RoutingStats([1, 2, 1])
        >>> stats.add([[[0, -1, -1], [0, 0, -1], [0, 0, 0]]])  # a sentence of two tokens
        >>> stats.utilisation().tolist()
        [0.0, 0.5, 0.5]
        >>> stats.dead_bundles(), stats.traversals[0].tolist()
        ([(1, 1)], [[2, 0]])
        >>> print(stats)
        RoutingStats(sentences=1, visits=6, never visited: 1 of 2 competing bundles, bias 1.41
        times that of random choices)
    """

    def __init__(self, sizes: Sequence[int]):
        self.sizes = tuple(int(size) for size in sizes)
        self.visits = [np.zeros(size, np.int64) for size in self.sizes]
        pairs = zip(self.sizes, self.sizes[1:], strict=False)
        self.traversals = [np.zeros(pair, np.int64) for pair in pairs]
        self.gates: list[np.ndarray] | None = None
        self.sentences = 0
        self.paths: Counter[tuple[int, ...]] = Counter()
        self._used = np.zeros(0)  # bundles visited so far, summed over sentences, by step
        self._living = np.zeros(0, np.int64)  # sentences that have not ended, by step

    def __repr__(self) -> str:
        visits = sum(int(each.sum()) for each in self.visits)
        rivals = sum(self.sizes[p] for p in self.competing)
        dead = sum(p in self.competing for p, _ in self.dead_bundles())
        return (
            f"RoutingStats(sentences={self.sentences}, visits={visits}, never visited: {dead} of "
            f"{rivals} competing bundles, bias {self.bias(normalised=True):.3g} times that of "
            "random choices)"
        )

    @property
    def competing(self) -> list[int]:
        """The capsules that have several bundles."""
        return [p for p, size in enumerate(self.sizes) if size > 1]

    def add(self, record: Record, gates: Sequence[Tensor] | None = None) -> None:
        """Counts the visits of some sentences.

        Args:
            record: active bundles, as in :class:`.Routed`; -1 for none.
            gates: gates of each capsule, as in :class:`.Routed`; None for no statistics of gates.

        Shapes:
            record ``[sentences, steps, capsules]``; gates ``[sentences, steps, connections]`` each.

        Raises:
            ValueError: the record does not fit a network of these sizes.
        """
        record = _checked(record, self.sizes)
        there = record >= 0
        self.sentences += len(record)
        for p, visits in enumerate(self.visits):
            visits += np.bincount(record[..., p][there[..., p]], minlength=len(visits))
        for p, traversals in enumerate(self.traversals):
            a, b = record[:, :-1, p], record[:, 1:, p + 1]
            both = (a >= 0) & (b >= 0)
            np.add.at(traversals, (a[both], b[both]), 1)
        paths, counts = np.unique(_paths(record), axis=0, return_counts=True)
        self.paths.update(dict(zip(map(tuple, paths.tolist()), counts.tolist(), strict=True)))
        self._add_utilisation(record, there)
        if gates is not None:
            self._add_gates(record, gates)

    def _add_utilisation(self, record: np.ndarray, there: np.ndarray) -> None:
        steps = record.shape[1]
        used = np.zeros((len(record), steps))
        for p in self.competing:
            first = np.full((len(record), self.sizes[p]), steps)  # the step of the first visit
            sentence, step = there[..., p].nonzero()
            np.minimum.at(first, (sentence, record[sentence, step, p]), step)
            used += (first[:, None, :] <= np.arange(steps)[:, None]).sum(2)
        living = there.any(2)
        self._used = _sum(self._used, (used * living).sum(0))
        self._living = _sum(self._living, living.sum(0))

    def _add_gates(self, record: np.ndarray, gates: Sequence[Tensor]) -> None:
        if self.gates is None:
            shapes = [(size, gate.shape[-1]) for size, gate in zip(self.sizes, gates, strict=True)]
            self.gates = [np.zeros(shape) for shape in shapes]
        for p, (sums, gate) in enumerate(zip(self.gates, gates, strict=True)):
            there = record[..., p] >= 0
            np.add.at(sums, record[..., p][there], gate.detach().cpu().numpy()[there])

    def utilisation(self) -> np.ndarray:
        """The share of the competing bundles that a sentence has visited by each step (Fig. 18).

        Shapes:
            ``[steps]``, the mean over the sentences that have not ended.
        """
        total = sum(self.sizes[p] for p in self.competing)
        return self._used / np.maximum(self._living, 1) / max(total, 1)

    def load_share(self) -> list[np.ndarray]:
        """Each bundle's share of the visits to its capsule, ``[bundles]`` per capsule."""
        return [visits / max(visits.sum(), 1) for visits in self.visits]

    def bias(self, normalised: bool = False) -> float:
        """The root mean square deviation of visits from evenly distributed ones (Fig. 20).

        ``sqrt(mean_b (c_b - N_p / n_p)^2)`` over all competing bundles b, with c_b visits to b, N_p
        visits to its capsule, and n_p bundles in its capsule.

        Args:
            normalised: True to divide by the value expected of uniform random choices,
                ``sqrt(mean_b N_p / n_p (1 - 1 / n_p))``, so that 1 means no bias at any length of
                the text.
        """
        squares: list[np.ndarray] = []
        expected: list[float] = []
        for p in self.competing:
            visits, n = self.visits[p], self.sizes[p]
            even = visits.sum() / n
            squares.append((visits - even) ** 2)
            expected += [even * (1 - 1 / n)] * n
        if not squares:
            return 0.0
        rms = math.sqrt(np.concatenate(squares).mean())
        return rms / max(math.sqrt(np.mean(expected)), 1e-300) if normalised else rms

    def entropy(self) -> list[float]:
        """The entropy of each capsule's load shares as a share of the largest; of one bundle, 1."""
        entropies = []
        for share in self.load_share():
            p = share[share > 0]
            entropies.append(
                float(-(p * np.log(p)).sum() / math.log(len(share))) if len(share) > 1 else 1.0
            )
        return entropies

    def variation(self) -> list[float]:
        """The coefficient of variation of each capsule's visits: standard deviation over mean."""
        return [float(each.std() / max(each.mean(), 1e-300)) for each in self.visits]

    def max_over_mean(self) -> list[float]:
        """The visits to each capsule's most visited bundle, over the mean of its bundles."""
        return [float(each.max() / max(each.mean(), 1e-300)) for each in self.visits]

    def dead_bundles(self) -> list[tuple[int, int]]:
        """The bundles that were never visited, as (capsule, bundle)."""
        return [(p, int(b)) for p, each in enumerate(self.visits) for b in (each == 0).nonzero()[0]]

    def main_path(self) -> list[int]:
        """The most visited bundle of each capsule."""
        return [int(each.argmax()) for each in self.visits]

    def commonest_path(self) -> tuple[list[int], float]:
        """The path that most tokens took, and the share of the tokens that took it.

        A share near 1 means that the network is used as if it had one bundle in each capsule.

        Raises:
            ValueError: no token has reached the last capsule.
        """
        if not self.paths:
            raise ValueError("no token has passed the network; expected a sentence of two or more")
        path, count = self.paths.most_common(1)[0]
        return list(path), count / self.paths.total()

    def to_dict(self) -> dict[str, Any]:
        """All measures and counts, in types that can be written as JSON."""
        gates = self.gates
        return {
            "sizes": list(self.sizes),
            "sentences": self.sentences,
            "visits": [each.tolist() for each in self.visits],
            "traversals": [each.tolist() for each in self.traversals],
            "gates": None if gates is None else [each.tolist() for each in self.mean_gates()],
            "utilisation": self.utilisation().tolist(),
            "load_share": [each.tolist() for each in self.load_share()],
            "bias": self.bias(),
            "normalised_bias": self.bias(normalised=True),
            "entropy": self.entropy(),
            "variation": self.variation(),
            "max_over_mean": self.max_over_mean(),
            "dead_bundles": [list(each) for each in self.dead_bundles()],
            "commonest_path": self.commonest_path()[1] if self.paths else None,
        }

    def mean_gates(self) -> list[np.ndarray]:
        """The mean gate of each connection over its bundle's visits; 0 if there were none.

        With ``memory``, a visit counts for all sources, as if those not read had a state of 0.

        Shapes:
            ``[bundles, connections]`` per capsule.

        Raises:
            ValueError: no gates were given.
        """
        if self.gates is None:
            raise ValueError("these statistics have no gates; expected a call of add with gates")
        pairs = zip(self.gates, self.visits, strict=True)
        return [sums / np.maximum(visits, 1)[:, None] for sums, visits in pairs]

    def save(self, path: str | Path) -> None:
        """Writes all measures as JSON, or the counts and the utilisation as NumPy arrays.

        Args:
            path: file, whose name ends in .json or .npz.

        Raises:
            ValueError: the name has another ending.
        """
        path = Path(path)
        if path.suffix not in (".json", ".npz"):
            raise wrong("path", "a name that ends in .json or .npz", str(path), "RoutingStats.save")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".json":
            path.write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")
            return
        arrays: dict[str, Any] = {"sizes": np.array(self.sizes), "utilisation": self.utilisation()}
        for name in ("visits", "traversals", "gates"):
            for p, each in enumerate(getattr(self, name) or ()):
                arrays[f"{name}_{p}"] = each
        np.savez_compressed(path, **arrays)


def route_changes(before: Record, after: Record) -> tuple[int, float]:
    """The number of elections that differ between two records, and their share of all (Fig. 19).

    Args:
        before, after: records of the same sentences at two times in training.

    Shapes:
        both ``[sentences, steps, capsules]``.

    Raises:
        ValueError: the records are not of the same sentences.

    Example:
        >>> route_changes([[[0, -1], [0, 2]]], [[[0, -1], [0, 1]]])
        (1, 1.0)
    """
    old, new = np.asarray(before), np.asarray(after)
    if old.shape != new.shape or ((old >= 0) != (new >= 0)).any():
        raise ValueError(
            "before and after must be records of the same sentences. Got shapes "
            f"{list(old.shape)} and {list(new.shape)}."
        )
    chosen = (old >= 0) & (np.arange(old.shape[-1]) > 0)  # the first bundle is not elected
    changes = int((old != new)[chosen].sum())
    return changes, changes / max(int(chosen.sum()), 1)


def _checked(record: Record, sizes: Sequence[int]) -> np.ndarray:
    active = np.asarray(record.cpu() if isinstance(record, Tensor) else record)
    if active.ndim != 3 or active.shape[2] != len(sizes) or active.dtype.kind not in "iu":
        raise wrong(
            "record",
            f"whole numbers, [sentences, steps, {len(sizes)}]",
            f"{list(active.shape)} of {active.dtype}",
            "RoutingStats.add",
        )
    if (active < -1).any() or (active >= np.asarray(sizes)).any():
        outside = ((active < -1) | (active >= np.asarray(sizes))).any(axis=(0, 1))
        capsule = int(outside.argmax())
        expected = f"bundles 0 to {sizes[capsule] - 1} of capsule {capsule}, or -1"
        got = f"{active[..., capsule].min()} to {active[..., capsule].max()}"
        raise wrong("record", expected, got, "RoutingStats.add")
    return active


def _paths(record: np.ndarray) -> np.ndarray:
    """The paths of the tokens that reached the last capsule.

    ``[sentences, steps, capsules] -> [paths, capsules]``
    """
    capsule = np.arange(record.shape[2])
    tokens = max(record.shape[1] - len(capsule) + 1, 0)
    paths = record[:, np.arange(tokens)[:, None] + capsule, capsule].reshape(-1, len(capsule))
    return paths[paths[:, -1] >= 0]


def _sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of two rows, the shorter one padded with 0."""
    if len(a) < len(b):
        a, b = b, a
    total = a.copy()
    total[: len(b)] += b
    return total
