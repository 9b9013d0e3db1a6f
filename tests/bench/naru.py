"""Words a second of a routed network: forward, and forward and backward.

The network of the thesis (Table 2), on sentences as long as those of the Brown corpus (a published
file if STRUCTNET_DATA names its folder, else lengths drawn from a distribution of the same mean and
quartiles). ``products`` is the time that the matrix products of the same rows take by themselves, a
bundle's rows at a step at once; ``thesis`` is the speed over that of the thesis' code, about 200
words a second forward and 85 forward and backward. The gates are those of a new network, which
visits few bundles, or drawn so that all bundles are visited, which is the slow case: groups are
small. One thread; medians of processor time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from common import arguments, medians, report

from structnet.naru import RoutedNetwork
from structnet.naru.sweep import Sweep
from structnet.naru.waves import Waves

THESIS = {"forward": 200, "forward + backward": 85}


def lengths_of(count: int, seed: int) -> np.ndarray:
    """Lengths of sentences, of at least two words."""
    rng = np.random.default_rng(seed)
    file = Path(os.environ.get("STRUCTNET_DATA", ""), "brown", "train.txt")
    if file.is_file():
        known = [len(line.split()) for line in file.read_text(encoding="utf-8").splitlines()]
    else:
        known = np.clip(rng.gamma(2.1, 9.7, 20_000), 2, 100).astype(int).tolist()
    return rng.choice([length for length in known if length > 1], count)


def bare_products(network: RoutedNetwork, x: torch.Tensor, lengths: np.ndarray) -> list[tuple]:
    """Both sides of every product of a batch: rows of numbers, and the weight of their bundle."""
    waves = Waves.of(lengths)
    sentence, token = waves.cells()
    sweep = Sweep(network, x[sentence, token], waves)
    sweep.forward()
    found = []
    for capsule in sweep.capsules:
        for wave in range(len(capsule.waves.counts)):
            active, counts = np.unique(
                capsule.active[capsule.waves.slice(wave)], return_counts=True
            )
            for a, n in zip(active.tolist(), counts.tolist(), strict=True):
                weight = capsule.weights[a]
                found.append((torch.randn(n, len(weight)), torch.randn(n, weight.shape[1]), weight))
    return found


def row(network: RoutedNetwork, gates: str, batch: int, seed: int, repeats: int) -> list[dict]:
    lengths = lengths_of(batch, seed)
    words = int(lengths.sum())
    x = torch.randn(batch, int(lengths.max()), network.wiring.dims[0])
    told = torch.from_numpy(lengths)
    products = bare_products(network, x, lengths)

    def forward() -> None:
        with torch.no_grad():
            network(x, told)

    def both() -> None:
        network.zero_grad(set_to_none=True)
        network(x, told).square().sum().backward()

    def forward_products() -> None:
        for weighed, _, weight in products:
            torch.mm(weighed, weight)

    def all_products() -> None:
        for weighed, product, weight in products:
            torch.mm(weighed, weight)
            torch.mm(product, weight.T)
            torch.mm(weighed.T, product)

    rows = []
    kinds: list[tuple[str, Callable, Callable]] = [
        ("forward", forward, forward_products),
        ("forward + backward", both, all_products),
    ]
    for name, function, bare in kinds:
        ours, alone = medians(function, bare, repeats=repeats)
        rows.append(
            {
                "what": name,
                "gates": gates,
                "sentences": batch,
                "words": words,
                "words/s": words / ours,
                "thesis": words / ours / THESIS[name],
                "/ products": ours / alone,
            }
        )
    return rows


def main() -> None:
    options = arguments(__doc__)
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    networks = {"first": RoutedNetwork(), "all visited": RoutedNetwork()}
    with torch.no_grad():
        network = networks["all visited"]
        for bundle in (bundle for p in range(7) for bundle in network.capsule(p)):
            bundle.read_gate.normal_(0, len(bundle.weight) ** -0.5)
            bundle.own_gate.normal_(0, bundle.weight.shape[1] ** -0.5)
    rows = []
    for batch in (1, 32, 64, 256):
        for gates, network in networks.items():
            rows += row(network, gates, batch, options.seed, 3 if options.quick else 9)
    report(
        rows,
        threads=torch.get_num_threads(),
        seed=options.seed,
        multiply_adds=network.multiply_adds,
    )


if __name__ == "__main__":
    main()
