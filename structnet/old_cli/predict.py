"""``structnet predict``."""

from __future__ import annotations

import argparse
import json

from structnet.cli.evaluate import opened, refuse_path
from structnet.cli.measure import ask
from structnet.cli.words import percent


def run(args: argparse.Namespace) -> None:
    """Prints the prediction for one example, in words and then as JSON."""
    trained = opened(args)
    refuse_path(args, trained)
    trees = trained.task.parse(args.expression)
    predicted, probability = ask(trained, trees)
    true = trained.task.truth(trees)
    result = {
        "task": trained.task.name,
        "expression": trained.task.write(trees),
        "class": predicted,
        "probability": probability,
        "true": true,
    }
    words = trained.task.in_words
    print(
        f"predicted {words(predicted)} with probability {percent(probability, 1)}; "
        f"true: {words(true)}"
    )
    print(json.dumps(result, ensure_ascii=False))
