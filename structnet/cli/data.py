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
    told, _, names = parse(DataSettings, words, prog, examples=examples, inputs=True)
    name, made, file = " ".join(names), told.generated, vars(told.file)
    kind = kind_of(name, told)
    from structnet.recipes import data_sets

    if kind == "trees":
        result = data_sets.own_trees(name, told.data_dir, file, print)
    elif kind == "sets of trees":
        given = (made.out, made.num, made.seed or 0) if made.generate else None
        result = data_sets.trees(name, told.data_dir, given, print)
    elif kind == "texts":
        result = data_sets.text(name, told.data_dir, print)
    else:
        table = {flag: value for flag, value in file.items() if flag != "format"}
        result = data_sets.arrays(name, told.data_dir, table, print)
    print(json.dumps(result, ensure_ascii=False))
