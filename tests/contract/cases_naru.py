"""Routed networks that predict the next word, by its vector or by its probability."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from contract import Case

from structnet.naru import NextWord, RoutedNetwork, Sentences, Wiring
from structnet.text import Encoded

WORDS, LENGTH = 7, 9


def next_word(loss: str, memory: tuple[int, ...] | None, seed: int) -> NextWord:
    torch.manual_seed(seed)
    network = RoutedNetwork(Wiring(sizes=(1, 2, 2, 1), dims=(4, 5, 6, 4), memory=memory))
    vectors = torch.randn(WORDS, 4, generator=torch.Generator().manual_seed(7))
    model = NextWord(network, vectors, loss)
    with torch.no_grad():  # so that all bundles are visited
        for p in range(3):
            for bundle in network.capsule(p):
                bundle.own_gate.normal_()
                bundle.read_gate.normal_()
    return model.eval()  # training drops numbers at random


def sentences(count: int) -> Sentences:
    ids = np.random.default_rng(0).integers(0, WORDS, count * LENGTH)
    return Sentences(Encoded(ids, LENGTH * np.arange(count + 1)))


def case(name: str, loss: str, memory: tuple[int, ...] | None = None) -> Case:
    return Case(
        name,
        partial(next_word, loss, memory),
        sentences,
        WORDS,
        lambda batch: [batch.ids, batch.offsets],
    )


CASES = [
    case("routed network, vectors", "squared_error"),
    case("routed network, probabilities", "log_loss"),
    case("routed network that remembers", "log_loss", (0, 1)),
]
