"""``structnet data``."""

from __future__ import annotations

import json
from collections.abc import Sequence

from structnet.cli.flags import parse
from structnet.recipes.data_settings import DataSettings, kind_of, listed

EXAMPLES = """\
  structnet data lrt --data-dir data
  structnet data listops --generate --num 1000 --out my-listops
  structnet data houses.csv --target price --task regression
  structnet data wsj.mrg --target root-label"""


def run(words: Sequence[str]) -> None:
    """Finds, downloads, generates or checks a data set and prints what is in it."""
    examples = f"{EXAMPLES}\n\ndata sets:\n{listed()}"
    prog = "structnet data NAME"
    settings, _, names = parse(DataSettings, words, prog, examples=examples, inputs=True)
    name = " ".join(names)
    kind = kind_of(name, settings)
    from structnet.recipes.data_sets import TELL

    print(json.dumps(TELL[kind](name, settings, print), ensure_ascii=False))
