"""``structnet data``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from structnet.checks import check_integer
from structnet.cli.flags import parse
from structnet.recipes.recipe import did_you_mean, is_file

if TYPE_CHECKING:
    from structnet.datasets import Arrays

TREE_SETS = {
    "listops": "nested list operations, ten values",
    "lrt": "pairs of logical sentences, seven relations",
}
ARRAY_SETS = {
    "digits": "1,797 digits of 8 x 8 pixels; comes with scikit-learn",
    "mnist": "70,000 digits of 28 x 28 pixels",
    "cifar10": "60,000 colour photographs of 32 x 32 pixels, ten classes",
    "sarcos": "a robot arm: 21 inputs, 7 torques; without the training file, the test file's rows",
}
TABLES = (".csv", ".tsv")  # how the name of a table ends
EXAMPLES = """\
  structnet data lrt --data-dir data
  structnet data listops --generate --num 1000 --out my-listops
  structnet data mnist --data-dir data
  structnet data houses.csv --target price --task regression"""


@dataclass(frozen=True)
class Generated:
    """generated listops and lrt

    Args:
        generate: write generated data instead; needs no network
        num: number of expressions, or pairs, to generate (default: 100,000, or 250,000)
        seed: seed of the generator (default: 0)
        out: folder of the generated files (default: data/cache/NAME)
    """

    generate: bool = False
    num: int | None = None
    seed: int | None = None
    out: Path | None = None

    def __post_init__(self) -> None:
        check_integer("num", self.num, 10, optional=True)
        check_integer("seed", self.seed, 0, optional=True)


@dataclass(frozen=True)
class OfTable:
    """tables, FILE.csv

    Args:
        target: column to predict: its name, or its number from 1 (default: the last)
        task: kind of the target (default: classification if it is not numeric, or a few whole
            numbers)
        header: whether the first row names the columns (default: yes if it holds no number)
        delimiter: character between fields (default: a comma; a tab in FILE.tsv)
    """

    target: str | None = None
    task: Literal["classification", "regression"] | None = None
    header: Literal["yes", "no"] | None = None
    delimiter: str | None = None


@dataclass(frozen=True)
class DataFlags:
    """Downloads, generates or checks a data set.

    Finds the published files, or downloads them once into the cache; checks that they are what they
    should be; says where they lie and what is in them. The cache is the folder that the
    environment's STRUCTNET_DATA names, or ~/.cache/structnet.

    Args:
        data_dir: folder that is looked into before the cache
    """

    data_dir: str | None = None
    generated: Generated = field(default_factory=Generated)
    table: OfTable = field(default_factory=OfTable)


def run(words: Sequence[str]) -> None:
    """Finds, downloads, generates or checks a data set and prints what is in it."""
    prog = "structnet data NAME"
    flags, _, names = parse(DataFlags, words, prog, examples=f"{EXAMPLES}\n\n{_listed()}")
    known = (*TREE_SETS, *ARRAY_SETS)
    name = names[0] if len(names) == 1 else ""
    if name not in known and not is_file(name, TABLES):
        got = repr(" ".join(names)) if names else "nothing"
        raise ValueError(
            f"NAME must be one of {', '.join(known)}, or FILE.csv or FILE.tsv; got {got}"
            f"{did_you_mean(name, known)} (see structnet data --help)"
        )
    _check(name, flags)
    result = _trees(name, flags) if name in TREE_SETS else _arrays(name, flags)
    print(json.dumps(result, ensure_ascii=False))


def _listed() -> str:
    """The data sets, for the help."""
    parts = {"trees": TREE_SETS, "images and rows": ARRAY_SETS}
    lines = []
    for what, sets in parts.items():
        lines += [f"  data sets of {what}:", *(f"  {name:<9} {is_}" for name, is_ in sets.items())]
    return "\n".join(
        [
            *lines,
            "  FILE.csv  a table of yours (or FILE.tsv): numeric features, and a column to predict",
        ]
    )


def _check(name: str, flags: DataFlags) -> None:
    """No flag may be given that would be ignored."""
    made, table = flags.generated, flags.table
    if made.generate:
        if name not in TREE_SETS:
            raise ValueError(f"--generate is for {' and '.join(TREE_SETS)}; the data set is {name}")
        if flags.data_dir is not None:
            raise ValueError("--data-dir is where published files lie; generated ones go to --out")
    for flag, value in vars(made).items():
        if flag != "generate" and value is not None and not made.generate:
            raise ValueError(f"--{flag} goes with --generate")
    for flag, value in vars(table).items():
        if value is not None and not is_file(name, TABLES):
            raise ValueError(f"--{flag} is for a table, FILE.csv; the data set is {name}")
    if name == "digits" and flags.data_dir is not None:
        raise ValueError("digits comes with scikit-learn; it has no files for --data-dir")


def _trees(name: str, flags: DataFlags) -> dict[str, Any]:
    from structnet.recipes import listops, lrt

    of, made = {"listops": listops, "lrt": lrt}[name].data_set(), flags.generated
    if made.generate:
        out = made.out or Path("data", "cache", name)
        out.mkdir(parents=True, exist_ok=True)
        paths, origin = of.generate(out, made.num, made.seed or 0), "generated"
    else:
        (paths, source), origin = of.files(flags.data_dir), "published"
        print(f"published at {source}")
        print(f"the content of all {len(paths)} files is the published one")
    files = {}
    for path in paths:
        data = of.read(path)
        count, nodes = Counter(data.labels), sum(tree.size for tree in data.trees)
        classes = {label: count[i] for i, label in enumerate(of.classes)}
        files[str(path)] = {"size": len(data), "nodes": nodes, "classes": classes}
        print(f"{path}: {len(data):,} {of.unit}, {nodes:,} nodes")
    return {"data": name, "origin": origin, "files": files}


def _arrays(name: str, flags: DataFlags) -> dict[str, Any]:
    """What is in a data set of images or rows, and where its files lie."""
    from structnet.datasets.source import is_published
    from structnet.recipes.words import outputs

    data, sources = _loaded(name, flags), {source.name: source for source in _sources(name)}
    if sources:
        first = next(iter(sources.values()))
        print(f"published at {first.url.rpartition('/')[0]}; licence: {first.licence}")
    elif name == "digits":
        print("comes with scikit-learn, from the UCI repository; licence: CC BY 4.0")
    known = {path: sources.get(path.name) for path in data.files}
    files = {str(path): bool(of and is_published(of, path)) for path, of in known.items()}
    for path, published in files.items():
        check = "the published file" if published else "checked by its form"
        print(f"{path}: {'every row was read' if is_file(name, TABLES) else check}")
    shape = list(data.x_train.shape[1:])
    predicted = outputs(data.num_outputs, data.classes is not None)
    print(
        f"{len(data.x_train):,} examples to train on and {len(data.x_test):,} to test ({data.split}"
        f"); inputs of {' x '.join(map(str, shape))}, {predicted}"
    )
    return {
        "data": name,
        "files": {path: {"published": published} for path, published in files.items()},
        "task": data.task,
        "train": len(data.x_train),
        "test": len(data.x_test),
        "split": data.split,
        "inputs": shape,
        "features": data.features,
        "targets": data.targets,
        "classes": _class_counts(data),
    }


def _sources(name: str) -> Sequence[Any]:
    from structnet import datasets

    return getattr(getattr(datasets, name, None), "SOURCES", ()) if name in ARRAY_SETS else ()


def _loaded(name: str, flags: DataFlags) -> Arrays:
    from structnet.datasets import DownloadError, load

    if name == "digits":
        return load(name)
    if is_file(name, TABLES):
        chosen = {flag: value for flag, value in vars(flags.table).items() if value is not None}
        if "header" in chosen:
            chosen["header"] = chosen["header"] == "yes"
        return load(name, flags.data_dir, **chosen)
    try:
        return load(name, flags.data_dir, download=True)
    except DownloadError as error:
        try:
            data = load(name, flags.data_dir)  # sarcos can do without its training file
        except DownloadError:
            raise error from None
        print(f"{error}; so what is at hand is used")
        return data


def _class_counts(data: Arrays) -> dict[str, int] | None:
    import numpy as np

    if data.classes is None:
        return None
    labels = np.concatenate([data.y_train, data.y_test])
    counts = np.bincount(labels, minlength=len(data.classes)).tolist()
    return dict(zip(data.classes, counts, strict=True))
