"""The flags that several commands share, and the types of their values."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from structnet.cli.recipes import AGGREGATORS


def data_flags(parser: argparse.ArgumentParser) -> None:
    """Which data a run has."""
    group = parser.add_argument_group("data")
    group.add_argument(
        "--data-dir",
        metavar="D",
        help="folder of the published files, which are used where they lie at hand, and else "
        "replaced by generated data (default: the cache; see structnet data --help)",
    )
    group.add_argument("--generate", action="store_true", help="generate the data in any case")
    group.add_argument(
        "--train-size",
        metavar="N",
        type=whole(2),
        help="training examples; for listops, 1 in 20 of them is for validation (default: 90,000 "
        "for listops, all for lrt)",
    )
    group.add_argument(
        "--test-size",
        metavar="N",
        type=whole(1),
        help="test examples (default: 10,000 for listops, all for lrt)",
    )
    group.add_argument(
        "--max-depth",
        metavar="D",
        type=whole(1),
        help="levels of the deepest listops expression; other than the published 20 means to "
        "generate (default: 20)",
    )


def model_flags(parser: argparse.ArgumentParser) -> None:
    """Which model it trains."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--aggregator",
        choices=AGGREGATORS,
        help="how a node combines its children (default: tucker)",
    )
    group.add_argument(
        "--hidden-size", metavar="C", type=whole(1), help="size of a node's state (see below)"
    )
    group.add_argument(
        "--rank", metavar="R", type=whole(1), help="of tucker, cp and tensor-train (see below)"
    )
    group.add_argument(
        "--forget",
        choices=("child", "all"),
        help="a child's forget gate depends on that child alone, or on all (default: child)",
    )
    group.add_argument(
        "--bottom",
        choices=("zero", "learned"),
        help="the state of a missing child (default: zero)",
    )


def training_flags(parser: argparse.ArgumentParser) -> None:
    """How it trains the model."""
    group = parser.add_argument_group("training")
    group.add_argument("--epochs", metavar="N", type=whole(1), help="passes (see below)")
    group.add_argument("--batch-size", metavar="B", type=whole(1), help="a step's (see below)")
    group.add_argument(
        "--optimizer",
        choices=("adamw", "adadelta"),
        help="adamw: with a one-cycle schedule and gradients clipped to norm 1; adadelta: the "
        "paper's, without either (default: adamw)",
    )
    group.add_argument(
        "--learning-rate",
        metavar="LR",
        type=number(above=True),
        help="the cycle's highest (see below; adadelta: 1.0)",
    )
    group.add_argument(
        "--weight-decay",
        metavar="W",
        type=number(),
        help="of adamw; for adadelta an L2 penalty, 0.01 in the paper (default: 0)",
    )
    group.add_argument(
        "--patience",
        metavar="P",
        type=whole(1),
        help="stop after P epochs in a row without a better validation accuracy (default: never)",
    )
    group.add_argument(
        "--seed",
        metavar="S",
        type=whole(0),
        help="of the first weights and the order of examples; the data are the same for all "
        "seeds (default: 0)",
    )


def machine_flags(group: Any) -> None:
    """Where it is computed."""
    group.add_argument("--device", metavar="DEV", help="cpu, cuda, ... (default: cpu)")
    group.add_argument(
        "--threads", metavar="T", type=whole(1), help="of the processor (default: 1)"
    )


def run_argument(parser: argparse.ArgumentParser) -> None:
    """The run that a command is about."""
    parser.add_argument("run", metavar="RUN", help="the folder of a run of structnet train")


def whole(least: int) -> Callable[[str], int]:
    """The type of an argument that is a whole number, at least ``least``."""

    def convert(text: str) -> int:
        try:
            value = int(text.replace(",", "").replace("_", ""))
        except ValueError:
            value = None
        if value is None or value < least:
            raise argparse.ArgumentTypeError(
                f"must be a whole number of at least {least}; got {text!r}"
            )
        return value

    return convert


def number(above: bool = False, most: float | None = None) -> Callable[[str], float]:
    """The type of an argument that is a finite number: at least 0, or above it, and at most so."""

    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        too_large = most is not None and value > most
        if not (0 <= value < float("inf")) or (above and value == 0) or too_large:
            expected = "above 0" if above else "of at least 0"
            expected += "" if most is None else f" and at most {most:g}"
            raise argparse.ArgumentTypeError(f"must be a number {expected}; got {text!r}")
        return value

    return convert


def names(text: str) -> list[str]:
    """The type of ``--only``: aggregators, separated by commas."""
    chosen = [name.strip() for name in text.split(",")]
    for name in chosen:
        if name not in AGGREGATORS:
            raise argparse.ArgumentTypeError(
                f"must name some of {', '.join(AGGREGATORS)}; got {name!r}"
            )
    return list(dict.fromkeys(chosen))
