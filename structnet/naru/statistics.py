"""How a network is used: which bundles are visited, how evenly, and whether that changes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from structnet.checks import wrong

Record = Tensor | np.ndarray | Sequence


class RoutingStats:
    """Counts of the visits that sentences pay to the bundles of a network.

    Only what was computed counts: neither padding, nor steps at which a sentence is not yet, or no
    longer, in a capsule. Bundles *compete* in capsules that have several.

    Args:
        sizes: bundles of each capsule.

    Attributes:
        visits: visits to each bundle, ``[bundles]`` a capsule.
        traversals: elections of each bundle by each one of the capsule before,
            ``[bundles, bundles of the next]`` a capsule but the last.
        gates: sums of the gates of each connection over its bundle's visits, ``[bundles,
            connections]`` a capsule; None where no gates were told.
        sentences: sentences that were counted.

    Example:
        >>> stats = RoutingStats([1, 2, 1])
        >>> stats.add([[[0, -1, -1], [0, 0, -1], [0, 0, 0]]])  # a sentence of two tokens
        >>> stats.utilisation().tolist()
        [0.0, 0.5, 0.5]
        >>> stats.dead_bundles(), stats.traversals[0].tolist()
        ([(1, 1)], [[2, 0]])
    """

    def __init__(self, sizes: Sequence[int]):
        self.sizes = tuple(int(size) for size in sizes)
        self.visits = [np.zeros(size, np.int64) for size in self.sizes]
        pairs = zip(self.sizes, self.sizes[1:], strict=False)
        self.traversals = [np.zeros(pair, np.int64) for pair in pairs]
        self.gates: list[np.ndarray] | None = None
        self.sentences = 0
        self._used = np.zeros(0)  # bundles visited so far, summed over sentences, by step
        self._living = np.zeros(0, np.int64)  # sentences that have not ended, by step

    @property
    def competing(self) -> list[int]:
        """The capsules in which there is a choice."""
        return [p for p, size in enumerate(self.sizes) if size > 1]

    def add(self, record: Record, gates: Sequence[Tensor] | None = None) -> None:
        """Counts sentences.

        Args:
            record: active bundles, -1 where there is none.
            gates: gates of each capsule, as :class:`.Routed` has them.

        Shapes:
            record ``[sentences, steps, capsules]``; gates ``[sentences, steps, connections]`` each.

        Raises:
            ValueError: the record is not one of such a network.
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
        """Share of the competing bundles that a sentence has visited, step by step (Fig. 18).

        Shapes:
            ``[steps]``, the mean over the sentences that have not ended.
        """
        total = sum(self.sizes[p] for p in self.competing)
        return self._used / np.maximum(self._living, 1) / max(total, 1)

    def load_share(self) -> list[np.ndarray]:
        """Share of the visits to a capsule that each bundle has. ``[bundles]`` a capsule"""
        return [visits / max(visits.sum(), 1) for visits in self.visits]

    def bias(self, normalised: bool = False) -> float:
        """Root mean square deviation of the visits from even ones (Fig. 20).

        ``sqrt(mean_b (c_b - N_p / n_p)^2)`` over the bundles b that compete, N_p being the visits
        to their capsule and n_p its bundles.

        Args:
            normalised: divide by what is expected if every choice is uniform and random,
                ``sqrt(mean_b N_p / n_p (1 - 1 / n_p))``, so that 1 means no bias, however long the
                text.
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
        found = math.sqrt(np.concatenate(squares).mean())
        return found / max(math.sqrt(np.mean(expected)), 1e-300) if normalised else found

    def entropy(self) -> list[float]:
        """Entropy of the load shares of each capsule, 1 for even ones; of one bundle, 1."""
        found = []
        for share in self.load_share():
            p = share[share > 0]
            found.append(
                float(-(p * np.log(p)).sum() / math.log(len(share))) if len(share) > 1 else 1.0
            )
        return found

    def variation(self) -> list[float]:
        """Coefficient of variation of the visits of each capsule: deviation over mean."""
        return [float(each.std() / max(each.mean(), 1e-300)) for each in self.visits]

    def max_over_mean(self) -> list[float]:
        """How many times its even share the most visited bundle of each capsule has."""
        return [float(each.max() / max(each.mean(), 1e-300)) for each in self.visits]

    def dead_bundles(self) -> list[tuple[int, int]]:
        """The bundles that were never visited, as (capsule, bundle)."""
        return [(p, int(b)) for p, each in enumerate(self.visits) for b in (each == 0).nonzero()[0]]

    def main_path(self) -> list[int]:
        """The most visited bundle of each capsule."""
        return [int(each.argmax()) for each in self.visits]

    def to_dict(self) -> dict[str, Any]:
        """All measures and counts, as JSON has them."""
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
        }

    def mean_gates(self) -> list[np.ndarray]:
        """Mean gate of each connection over its bundle's visits; 0 where there were none.

        Shapes:
            ``[bundles, connections]`` a capsule.

        Raises:
            ValueError: no gates were told.
        """
        if self.gates is None:
            raise ValueError("there are no gates in these statistics; expected add(record, gates)")
        pairs = zip(self.gates, self.visits, strict=True)
        return [sums / np.maximum(visits, 1)[:, None] for sums, visits in pairs]

    def save(self, path: str | Path) -> None:
        """Writes the measures as JSON, or the counts as arrays, by the name's ending.

        Args:
            path: file whose name ends in .json or .npz.

        Raises:
            ValueError: it ends otherwise.
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
    """How many choices were made otherwise, of all sentences, and of each choice (Fig. 19).

    Args:
        before, after: records of the same sentences, at two times of a training.

    Shapes:
        both ``[sentences, steps, capsules]``.

    Raises:
        ValueError: they are not of the same sentences.

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
    chosen = (old >= 0) & (np.arange(old.shape[-1]) > 0)  # nobody chooses the first bundle
    changes = int((old != new)[chosen].sum())
    return changes, changes / max(int(chosen.sum()), 1)


def _checked(record: Record, sizes: Sequence[int]) -> np.ndarray:
    found = np.asarray(record.cpu() if isinstance(record, Tensor) else record)
    if found.ndim != 3 or found.shape[2] != len(sizes) or found.dtype.kind not in "iu":
        raise wrong(
            "record",
            f"whole numbers, [sentences, steps, {len(sizes)}]",
            f"{list(found.shape)} of {found.dtype}",
            "RoutingStats.add",
        )
    if (found < -1).any() or (found >= np.asarray(sizes)).any():
        raise wrong(
            "record", f"of bundles below {list(sizes)}, or -1", "others", "RoutingStats.add"
        )
    return found


def _sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of two rows, the shorter one as if 0 stood behind it."""
    if len(a) < len(b):
        a, b = b, a
    found = a.copy()
    found[: len(b)] += b
    return found
