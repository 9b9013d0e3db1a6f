"""The content of a data set and the paths of its files, as ``structnet data`` reports them.

Each function takes the name of a data set or the path of a file, the flags of the command, and a
function that prints a line for the user. It returns what is printed last, as JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from structnet import datasets
from structnet.datasets import Arrays, DownloadError, load
from structnet.datasets.catalogue import LABELLED, TEXTS
from structnet.datasets.fasttext_file import PREFIX
from structnet.datasets.named import LOADERS
from structnet.datasets.source import Source, is_published
from structnet.recipes.arrays import kind_in_words
from structnet.recipes.data_settings import DataSettings
from structnet.recipes.recipe import Say, is_file
from structnet.recipes.tree_lstm.model import OF_NAME
from structnet.recipes.words import counted, place_of
from structnet.routing.words import in_digits, percent
from structnet.text import Words
from structnet.training.files import locked

SHOWN = 20  # classes printed in words


def trees(name: str, settings: DataSettings, say: Say) -> dict[str, Any]:
    """Finds, downloads or generates a data set of trees."""
    of, made = OF_NAME[name], settings.generated
    if made.generate:
        out = made.out or Path("data", "cache", name)
        with locked(out):  # which fails at once if the folder cannot be written to
            paths, origin = of.generate(out, made.num, made.seed or 0), "generated"
    else:
        paths = [datasets.fetch(source, settings.data_dir) for source in of.sources()]
        origin = "published"
        _say_source(of.sources()[0], say)
        say(f"the content of all {len(paths)} files is the published one")
    files = {}
    for path in paths:
        data = of.read(path)
        count, nodes = Counter(data.labels), sum(tree.size for tree in data.trees)
        classes = {label: count[i] for i, label in enumerate(of.classes)}
        files[str(path)] = {"size": len(data), "nodes": nodes, "classes": classes}
        say(f"{path}: {len(data):,} {of.unit}, {nodes:,} nodes")
    return {"data": name, "origin": origin, "files": files}


def own_trees(name: str, settings: DataSettings, say: Say) -> dict[str, Any]:
    """Reports on a user's file of trees, or a folder of such files."""
    path, file = Path(settings.data_dir or "", name), settings.file
    kind = file.format, file.target, file.task
    try:  # with the target that a training would guess
        data = datasets.read_trees(path, *kind)
    except datasets.TreeFileError:
        data = datasets.read_trees(path, *kind, targets_needed=file.target is not None)
    summary = datasets.summarize_trees(data)
    for line in (*data.guesses, *_of_trees(summary)):
        say(line)
    return {"data": name, **data.read_arguments, **summary}


def _of_trees(summary: Mapping[str, Any]) -> Iterator[str]:
    """The content of a file of trees, in words."""
    pairs = f" in {summary['examples']:,} pairs" if summary["trees"] > summary["examples"] else ""
    yield f"{counted(summary['trees'], 'tree')}{pairs}, {counted(summary['nodes'], 'node')}"
    spread = ("nodes a tree", "size"), ("height", "height"), ("children of an inner node", "arity")
    for what, key in spread:
        if summary[key]:
            yield f"{what}: {_spread(summary[key])}"
    kinds = ("inner nodes", "inner_labels"), ("leaves", "leaf_labels"), ("tokens", "tokens")
    for what, key in kinds:
        if summary[key]["different"]:
            most = ", ".join(f"{name} {number:,}" for name, number in summary[key]["most"].items())
            yield f"labels of {what}: {summary[key]['different']:,} different; most often {most}"
    others = f"; {summary['copies_with_other_target']:,} of them with another target"
    yield f"equal to an earlier one: {summary['copies']:,}{others * bool(summary['copies'])}"
    if "target" in summary:
        target = summary["target"]
        mean, deviation = in_digits(target["mean"]), in_digits(target["deviation"])
        yield f"numbers to predict: {_spread(target)}; mean {mean}, deviation {deviation}"
    elif summary["classes"]:
        whole = sum(summary["classes"].values())
        shown = list(summary["classes"].items())[:SHOWN]
        left = f", ... {len(summary['classes']) - SHOWN} more" * (len(summary["classes"]) > SHOWN)
        shares = ", ".join(f"{name} {n:,} ({percent(n / whole)})" for name, n in shown)
        yield f"{counted(len(summary['classes']), 'class', 'classes')}: {shares}{left}"
    if summary["unreadable"]:
        yield f"not read: {summary['unreadable']:,}"
        for each in summary["unreadable_first"]:
            yield f"  {place_of(each)}: {each['fault']}"


def _spread(values: Mapping[str, float]) -> str:
    least, most, median = (in_digits(values[name], 6) for name in ("least", "most", "median"))
    return f"{least} to {most}, half of them at most {median}"


def arrays(name: str, settings: DataSettings, say: Say) -> dict[str, Any]:
    """Reports on a data set of images or rows, and on its files."""
    data, module = _loaded(name, settings, say), getattr(datasets, name, None)
    sources = {source.name: source for source in getattr(module, "SOURCES", ())}
    if sources:
        _say_source(next(iter(sources.values())), say)
    elif name == "digits":
        say("comes with scikit-learn, from the UCI repository; licence: CC BY 4.0")
    known = {path: sources.get(path.name) for path in data.files}
    files = {str(path): bool(of and is_published(of, path)) for path, of in known.items()}
    for path, published in files.items():
        check = "the published file" if published else "checked by its form"
        say(f"{path}: {check if name in LOADERS else 'not a published file'}")
    sizes = f"{len(data.y_train):,} examples to train on and {len(data.y_test):,} to test"
    say(kind_in_words(sizes, data))
    return {
        "data": name,
        "files": {path: {"published": published} for path, published in files.items()},
        "task": data.task,
        "train": len(data.y_train),
        "test": len(data.y_test),
        "split": data.split,
        "inputs": list(data.x_train.shape[1:]),
        "features": data.features,
        "targets": data.targets,
        "classes": _class_counts(data),
    }


def text(name: str, settings: DataSettings, say: Say) -> dict[str, Any]:
    """Reports the numbers of sentences and words in a text, or of labels, lines and words."""
    path = Path(settings.data_dir or "", name)
    if is_file(name, LABELLED) and (not is_file(name, TEXTS) or _is_labelled(path)):
        return _labelled_text(name, path, say)
    loaded = datasets.load_text(name, settings.data_dir)
    parts = {part: getattr(loaded, part) for part in ("train", "validation", "test")}
    sizes = {part: (len(each), sum(map(len, each))) for part, each in parts.items()}
    for part, (sentences, tokens) in sizes.items():
        say(f"{part}: {sentences:,} sentences, {tokens:,} words")
    words = Words.from_sentences(chain.from_iterable(parts.values()), unknown=None)
    most = " ".join(words.words[:8])
    say(f"{len(words):,} different words ({loaded.split}); the most frequent: {most}")
    return {
        "data": name,
        "split": loaded.split,
        "words": len(words),
        **{part: {"sentences": n, "tokens": tokens} for part, (n, tokens) in sizes.items()},
    }


def _is_labelled(path: Path) -> bool:
    """Whether the first word of a file is a label in fastText's format."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = next((line for line in file if line.strip()), "")
    except (OSError, UnicodeError):  # which are reported where the text is read
        return False
    return first.lstrip().startswith(PREFIX)


def _labelled_text(name: str, path: Path, say: Say) -> dict[str, Any]:
    """Reports on a file in fastText's format."""
    lines = datasets.read_fasttext(path)
    counts = Counter(dict(enumerate(np.bincount(lines.label_ids).tolist())))
    most = {lines.labels[label]: count for label, count in counts.most_common(SHOWN)}
    several = f", {lines.several:,} of them with several labels" * bool(lines.several)
    say(f"labelled text as for fastText: {counted(len(lines), 'line')}{several}")
    shown = ", ".join(f"{label} {count:,}" for label, count in most.items())
    say(f"{counted(len(lines.labels), 'label')}; the most frequent: {shown}")
    say(f"{len(lines.ids):,} words, {len(lines.words):,} different")
    return {
        "data": name,
        "lines": len(lines),
        "lines_with_several_labels": lines.several,
        "labels": len(lines.labels),
        "most_frequent": most,
        "words": len(lines.words),
        "tokens": len(lines.ids),
    }


def _say_source(source: Source, say: Say) -> None:
    say(f"published at {source.url.rpartition('/')[0]}; licence: {source.licence}")


def _loaded(name: str, settings: DataSettings, say: Say) -> Arrays:
    if name == "digits":
        return load(name)
    if name not in LOADERS:
        options = {flag: value for flag, value in vars(settings.file).items() if value is not None}
        if "header" in options:
            options["header"] = options["header"] == "yes"
        return load(name, settings.data_dir, **options)
    try:
        return load(name, settings.data_dir, download=True)
    except DownloadError as error:
        try:
            data = load(name, settings.data_dir)  # sarcos does not need its training file
        except DownloadError:
            raise error from None
        say(f"{error}; the files that are present are used")
        return data


def _class_counts(data: Arrays) -> dict[str, int] | None:
    if data.classes is None:
        return None
    labels = np.concatenate([data.y_train, data.y_test])
    counts = np.bincount(labels, minlength=len(data.classes)).tolist()
    return dict(zip(data.classes, counts, strict=True))


# The report for each kind of data set; see :func:`structnet.recipes.data_settings.kind_of`.
TELL: dict[str, Callable[[str, DataSettings, Say], dict[str, Any]]] = {
    "sets of trees": trees,
    "trees": own_trees,
    "texts": text,
    "arrays": arrays,
}
