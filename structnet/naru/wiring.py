"""The bundles of each capsule, and which of them read each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

from structnet.checks import check_integer, wrong

Targets = Sequence[Sequence[Sequence[int]]]  # capsule -> bundle -> bundles of the next capsule

# Table 2 of the thesis.
SIZES = (1, 6, 12, 18, 12, 6, 1)
DIMS = (50, 76, 102, 128, 102, 76, 50)
MAX_CONE = 6


@dataclass(frozen=True)
class Wiring:
    """Capsules of bundles, and the links between adjacent capsules.

    Bundle a of a capsule has routes to the bundles ``(a + i step) mod n``, ``i = 0 .. cone - 1``,
    of the next capsule, which has n bundles, with ``cone = min(n, max_cone)`` and ``step = max(1, n
    // cone)``. Links are read both ways: a bundle that has a route to another is its source.

    In the thesis a bundle reads the targets of its routes and all of its sources, most of whose
    states earlier words left. With ``memory`` it reads the source that elected it, whose state is
    of the same word, and in some capsules its own state.

    Args:
        sizes: number of bundles in each capsule; the first and the last capsule have one.
        dims: length of a bundle's state in each capsule.
        max_cone: largest number of routes of a bundle.
        targets: for each bundle of each capsule but the last, the bundles of the next capsule to
            which it has routes, the one preferred at a tie first; None for the rule above.
        memory: numbers of the capsules whose bundles also read their own state; None for the
            connections of the thesis.

    Attributes:
        sources: for each bundle of each capsule, the bundles of the previous capsule with a route
            to it, ascending.

    Raises:
        ValueError: a value is out of its range, sizes, dims and targets do not fit together, or a
            bundle cannot be reached from the first one.

    Reference:
        D. Nepp, On the State of ANN Computation Graphs and the potential of Conditional Neural
        Networks, 2021, chapter 4 and Table 2, whose network is the default.

    Example:
        >>> wiring = Wiring(sizes=(1, 2, 2, 1), dims=(2, 2, 2, 2))
        >>> wiring.targets[1], wiring.sources[2]
        (((0, 1), (1, 0)), ((0, 1), (0, 1)))
        >>> Wiring().num_connections, Wiring().multiply_adds
        (600, 588904)
        >>> Wiring((1, 1, 6, 1), (50, 128, 64, 50), memory=(1,)).multiply_adds
        34176
        >>> Wiring(sizes=(1, 12, 1), dims=(2, 2, 2))
        Traceback (most recent call last):
        ValueError: capsule 1 has 12 bundles, of which at most 6 can be reached from the previous
        one; expected no more, or a larger max_cone
    """

    sizes: tuple[int, ...] = SIZES
    dims: tuple[int, ...] = DIMS
    max_cone: int = MAX_CONE
    targets: tuple[tuple[tuple[int, ...], ...], ...] | Targets | None = None
    memory: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_integer("max_cone", self.max_cone, 1, owner="Wiring")
        for name in ("sizes", "dims"):
            values = getattr(self, name)
            if not isinstance(values, Sequence) or isinstance(values, str) or len(values) < 2:
                raise wrong(name, "at least 2 whole numbers, one per capsule", values, "Wiring")
            for value in values:
                check_integer(name, value, 1, owner="Wiring")
            object.__setattr__(self, name, tuple(map(int, values)))
        if len(self.sizes) != len(self.dims):
            raise wrong("dims", f"{len(self.sizes)} numbers, one per capsule", self.dims, "Wiring")
        if self.sizes[0] != 1 or self.sizes[-1] != 1:
            raise wrong("sizes", "1 at both ends", self.sizes, "Wiring")
        targets = _cones(self.sizes, self.max_cone) if self.targets is None else self.targets
        object.__setattr__(self, "targets", _checked(targets, self.sizes))
        self._refuse_unreachable()
        if self.memory is not None:
            object.__setattr__(self, "memory", _checked_memory(self.memory, self.depth))

    @property
    def links(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """The targets, whether given or made by the rule."""
        return cast(Any, self.targets)

    @property
    def depth(self) -> int:
        """The number of capsules."""
        return len(self.sizes)

    @cached_property
    def sources(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """The sources of each bundle, see the class."""
        sources: list[list[list[int]]] = [[[] for _ in range(size)] for size in self.sizes]
        for capsule, bundles in enumerate(self.links):
            for bundle, targets in enumerate(bundles):
                for target in targets:
                    sources[capsule + 1][target].append(bundle)
        return tuple(tuple(map(tuple, bundles)) for bundles in sources)

    def routes_of(self, capsule: int, bundle: int) -> tuple[int, ...]:
        """The bundles of the next capsule that a bundle may elect; none for the last capsule."""
        return () if capsule == self.depth - 1 else self.links[capsule][bundle]

    def reads(self, capsule: int, bundle: int) -> list[tuple[int, int]]:
        """What a bundle may read, as (capsule, bundle), see the class.

        These are the targets of its routes, then its sources; with ``memory``, its sources, then
        itself.
        """
        behind = [(capsule - 1, each) for each in self.sources[capsule][bundle]]
        if self.memory is not None:
            return behind + [(capsule, bundle)] * self.remembers(capsule)
        return [(capsule + 1, each) for each in self.routes_of(capsule, bundle)] + behind

    def remembers(self, capsule: int) -> bool:
        """Whether the bundles of a capsule read their own state."""
        return self.memory is not None and capsule in self.memory

    def width(self, capsule: int, bundle: int) -> int:
        """The total length of the states that a bundle may read."""
        return sum(self.dims[other] for other, _ in self.reads(capsule, bundle))

    @property
    def num_connections(self) -> int:
        """The number of states that all bundles together may read."""
        return sum(len(self.reads(p, a)) for p, size in enumerate(self.sizes) for a in range(size))

    @property
    def multiply_adds(self) -> int:
        """The multiplications per token in matrix products, on the path of the first bundles."""
        if self.memory is None:
            return sum(self.width(capsule, 0) * dim for capsule, dim in enumerate(self.dims))
        own = sum(self.dims[capsule] ** 2 for capsule in self.memory)
        return own + sum(behind * dim for behind, dim in pairwise(self.dims))  # of one source each

    def _refuse_unreachable(self) -> None:
        for capsule, bundles in enumerate(self.sources):
            for bundle, sources in enumerate(bundles):
                if capsule and not sources:  # sources were found to be reachable
                    raise ValueError(
                        f"bundle {bundle} of capsule {capsule} cannot be reached from the first "
                        "bundle; expected a route to it, by a larger max_cone or other targets"
                    )


def _cones(sizes: Sequence[int], max_cone: int) -> list[list[list[int]]]:
    """The targets by the rule. -> [capsules - 1][bundles][cone]

    Raises:
        ValueError: a capsule has more bundles than there are routes to it.
    """
    targets = []
    for capsule, (size, following) in enumerate(pairwise(sizes), 1):
        if following > size * max_cone:  # before that many are made
            raise ValueError(
                f"capsule {capsule} has {following:,} bundles, of which at most "
                f"{size * max_cone:,} can be reached from the previous one; expected no more, or a "
                "larger max_cone"
            )
        cone = min(following, max_cone)
        step = max(1, following // cone)
        targets.append([[(a + i * step) % following for i in range(cone)] for a in range(size)])
    return targets


def _checked_memory(memory: Sequence[int], depth: int) -> tuple[int, ...]:
    """The capsules that remember, as a tuple.

    Raises:
        ValueError: they are not different numbers of capsules.
    """
    expected = f"different capsules, from 0 to {depth - 1}, or None"
    if not isinstance(memory, Sequence) or isinstance(memory, str):
        raise wrong("memory", expected, memory, "Wiring")
    for capsule in memory:
        check_integer("memory", capsule, 0, owner="Wiring")
    if len(set(memory)) < len(memory) or max(memory, default=0) >= depth:
        raise wrong("memory", expected, memory, "Wiring")
    return tuple(map(int, memory))


def _checked(targets: Targets, sizes: Sequence[int]) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """The targets as tuples.

    Raises:
        ValueError: they do not fit the sizes.
    """
    if [len(bundles) for bundles in targets] != list(sizes[:-1]):
        counts = [len(bundles) for bundles in targets]
        raise ValueError(
            f"targets must be those of {list(sizes[:-1])} bundles, in all capsules but the last; "
            f"got {counts}"
        )
    for capsule, bundles in enumerate(targets):
        for bundle, links in enumerate(bundles):
            inside = all(0 <= target < sizes[capsule + 1] for target in links)
            if not links or len(set(links)) < len(links) or not inside:
                raise ValueError(
                    f"the targets of bundle {bundle} of capsule {capsule} must be one or more "
                    f"different bundles of the next, from 0 to {sizes[capsule + 1] - 1}; got "
                    f"{list(links)}"
                )
    return tuple(tuple(tuple(map(int, links)) for links in bundles) for bundles in targets)
