"""``structnet data``."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structnet.cli.tasks import ALL_PAIRS, DATA_SEED, TASKS, Labelled
from structnet.cli.words import outputs
from structnet.datasets import (
    Arrays,
    DownloadError,
    Source,
    cifar10,
    fetch,
    listops,
    load,
    lrt,
    mnist,
    sarcos,
)
from structnet.datasets.named import LOADERS
from structnet.datasets.source import is_published

SOURCES = {"mnist": mnist.SOURCES, "cifar10": cifar10.SOURCES, "sarcos": sarcos.SOURCES}
SHARES = {"train": 0.9, "test": 0.1}  # of generated expressions


def run(args: argparse.Namespace) -> None:
    """Finds, downloads, generates or checks a data set and prints what is in it."""
    given = vars(args)
    _check_flags(args.name, given)
    result = _trees(args.name, given) if args.name in TASKS else _arrays(args.name, given)
    print(json.dumps(result, ensure_ascii=False))


def _check_flags(name: str, given: dict[str, Any]) -> None:
    """No flag may be given that would be ignored."""
    if given.get("generate"):
        if name not in TASKS:
            raise ValueError(f"--generate is for {' and '.join(TASKS)}; the data set is {name}")
        if "data_dir" in given:
            raise ValueError("--data-dir is where published files lie; generated ones go to --out")
    for flag in ("num", "out", "seed"):
        if flag in given and not given.get("generate"):
            raise ValueError(f"--{flag} goes with --generate")
    for flag in ("target", "task", "header", "delimiter"):
        if flag in given and (name in TASKS or name in LOADERS):
            raise ValueError(f"--{flag} is for a table, FILE.csv; the data set is {name}")
    if name == "digits" and "data_dir" in given:
        raise ValueError("digits comes with scikit-learn; it has no files for --data-dir")


def _trees(name: str, given: dict[str, Any]) -> dict[str, Any]:
    if given.get("generate"):
        seed = given.get("seed", DATA_SEED)
        out = Path(given.get("out", Path("data", "cache", name)))
        out.mkdir(parents=True, exist_ok=True)
        write = _generate_listops if name == "listops" else _generate_lrt
        paths, origin = write(out, given.get("num"), seed), "generated"
    else:
        paths, origin = _published(name, given.get("data_dir")), "published"
    files = {str(path): _describe(name, path) for path in paths}
    for path, content in files.items():
        print(f"{path}: {content['size']:,} {TASKS[name].unit}, {content['nodes']:,} nodes")
    return {"data": name, "origin": origin, "files": files}


def _arrays(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """What is in a data set of images or rows, and where its files lie."""
    data = _loaded(name, given)
    sources = {source.name: source for source in SOURCES.get(name, ())}
    if sources:
        first = next(iter(sources.values()))
        print(f"published at {first.url.rpartition('/')[0]}; licence: {first.licence}")
    elif name == "digits":
        print("comes with scikit-learn, from the UCI repository; licence: CC BY 4.0")
    known = {path: sources.get(path.name) for path in data.files}
    files = {str(path): bool(of and is_published(of, path)) for path, of in known.items()}
    for path, published in files.items():
        check = "the published file" if published else "checked by its form"
        print(f"{path}: {check if name in LOADERS else 'every row was read'}")
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


def _loaded(name: str, given: dict[str, Any]) -> Arrays:
    folder = given.get("data_dir")
    if name == "digits":
        return load(name)
    if name not in LOADERS:
        chosen = {flag: given[flag] for flag in ("target", "task", "delimiter") if flag in given}
        if "header" in given:
            chosen["header"] = given["header"] == "yes"
        return load(name, folder, **chosen)
    try:
        return load(name, folder, download=True)
    except DownloadError as error:
        try:
            data = load(name, folder)  # sarcos can do without its training file
        except DownloadError:
            raise error from None
        print(f"{error}; so what is at hand is used")
        return data


def _class_counts(data: Arrays) -> dict[str, int] | None:
    if data.classes is None:
        return None
    labels = np.concatenate([data.y_train, data.y_test])
    counts = np.bincount(labels, minlength=len(data.classes)).tolist()
    return dict(zip(data.classes, counts, strict=True))


def _published(name: str, data_dir: str | None) -> list[Path]:
    """The published files, each found or downloaded, and verified."""
    sources: Sequence[Source] = (
        (listops.TRAIN, listops.TEST) if name == "listops" else list(lrt.SOURCES.values())
    )
    paths = [fetch(source, data_dir) for source in sources]
    print(f"published at {sources[0].url.rpartition('/')[0]}; licence: {sources[0].licence}")
    print(f"the content of all {len(paths)} files is the published one")
    return paths


def _generate_listops(out: Path, num: int | None, seed: int) -> list[Path]:
    total = num or listops.PUBLISHED_TRAIN + listops.PUBLISHED_TEST
    num_test = max(round(SHARES["test"] * total), 1)
    data = TASKS["listops"].generate(total - num_test, num_test, seed=seed)
    paths = [out / "train.tsv", out / "test.tsv"]
    listops.write_tsv(paths[0], data.train_trees, data.train_labels)
    listops.write_tsv(paths[1], data.test_trees, data.test_labels)
    return paths


def _generate_lrt(out: Path, num: int | None, seed: int) -> list[Path]:
    data = lrt.generated(num or ALL_PAIRS, seed=seed)
    test = [pair for n in sorted(data.test) for pair in data.test[n]]
    parts = {"train": data.train, "validation": data.validation, "test": test}
    for part, pairs in parts.items():
        lrt.write_tsv(out / f"{part}.tsv", pairs)
    return [out / f"{part}.tsv" for part in parts]


def _describe(name: str, path: Path) -> dict[str, Any]:
    """The size of a file's content, and how often each class occurs."""
    task = TASKS[name]
    data: Labelled = task.read(path)
    count = Counter(data.labels)
    return {
        "size": len(data),
        "nodes": sum(tree.size for tree in data.trees),
        "classes": {label: count[i] for i, label in enumerate(task.classes)},
    }
