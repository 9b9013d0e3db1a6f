"""``structnet data``."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structnet.cli.tasks import ALL_PAIRS, DATA_SEED, TASKS, Labelled
from structnet.datasets import fetch, listops, lrt
from structnet.datasets.source import Source

SHARES = {"train": 0.9, "test": 0.1}  # of generated expressions


def run(args: argparse.Namespace) -> None:
    """Finds, downloads or generates a data set and prints what is in it."""
    given = vars(args)
    if given.get("generate"):
        if "data_dir" in given:
            raise ValueError("--data-dir is where published files lie; generated ones go to --out")
        seed = given.get("seed", DATA_SEED)
        out = Path(given.get("out", Path("data", "cache", args.name)))
        out.mkdir(parents=True, exist_ok=True)
        write = _generate_listops if args.name == "listops" else _generate_lrt
        paths, origin = write(out, given.get("num"), seed), "generated"
    else:
        for flag in ("num", "out", "seed"):
            if flag in given:
                raise ValueError(f"--{flag} goes with --generate")
        paths, origin = _published(args.name, given.get("data_dir")), "published"
    result: dict[str, Any] = {"data": args.name, "origin": origin, "files": {}}
    for path in paths:
        result["files"][str(path)] = _describe(args.name, path)
    for path, content in result["files"].items():
        print(f"{path}: {content['size']:,} {TASKS[args.name].unit}, {content['nodes']:,} nodes")
    print(json.dumps(result, ensure_ascii=False))


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
