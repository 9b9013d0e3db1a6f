"""The user's own trees for a run, read and split; those with nothing to learn are refused."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from structnet.datasets import TreeFile, TreeFileError, read_trees
from structnet.datasets.tree_file import read_text
from structnet.datasets.tree_file_folders import files_of
from structnet.datasets.tree_file_formats import LINES_ENDINGS
from structnet.datasets.tree_file_rows import read_rows, typed_rows
from structnet.datasets.tree_file_sources import FOLDERS
from structnet.datasets.tree_file_targets import INSIDE
from structnet.estimators.held_out import hold_out
from structnet.parse.lines import decoded
from structnet.parse.packed import kind_of, opening
from structnet.recipes.protocol import sizes_in_words, sizes_of
from structnet.recipes.recipe import Say
from structnet.recipes.tree_file.settings import Source, TreeFileSettings
from structnet.recipes.tree_lstm.trees import DATA_SEED
from structnet.recipes.words import counted
from structnet.routing.words import in_digits, percent

FILES = 5  # per class, for whole files to be held out: fewer are too few to learn from


@dataclass(frozen=True)
class TreeFileData:
    """The data of a run.

    Attributes:
        train, validation, test: trees and their targets.
        content: hash of the files.
        group: kind of groups that are never split, "file" or the name of a column; None if single
            trees are drawn.
    """

    train: TreeFile
    validation: TreeFile
    test: TreeFile
    content: str
    group: str | None = None

    @property
    def classes(self) -> list[str] | None:
        """The names of the classes in the training data; None for numbers."""
        if self.train.task == "regression":
            return None
        return in_order(set(self.train.each_target))

    @property
    def baseline(self) -> Any:
        """The best constant prediction: the most frequent class, or the mean."""
        if self.train.task == "regression":
            return fmean(self.train.each_target)
        counts = Counter(self.train.each_target)
        return max(in_order(set(counts)), key=counts.__getitem__)

    def describe(self) -> dict[str, Any]:
        """The description in ``config.json``, with all that is needed to read trees like these."""
        known = {"classes": self.classes, "baseline": self.baseline, "content": self.content}
        group = {} if self.group is None else {"group": self.group}
        objects = self.train.format == "json" and self.train.columns
        columns = {"columns": list(self.train.columns)} if objects else {}
        return {**sizes_of(self), **self.train.read_arguments, **known, **group, **columns}


def in_order(names: Any) -> list[str]:
    """Names of classes sorted as numbers if all are numbers, otherwise alphabetically.

    Example:
        >>> in_order(["10", "9", "2"]), in_order(["b", "10", "a"])
        (['2', '9', '10'], ['10', 'a', 'b'])
    """
    try:
        return sorted(names, key=lambda name: (float(name), name))
    except ValueError:
        return sorted(names)


def load_data(settings: TreeFileSettings, say: Say) -> TreeFileData:
    """The trees of a run; it also reports all that was guessed or left out.

    Raises:
        ValueError: a file does not have its format, or there is nothing to learn from it.
        OSError: there is no such file.
    """
    source, path = settings.source, Path(settings.data)
    kind = source.format, source.target, source.task
    data = read_trees(path, *kind, node_label=source.node_label, group=source.group)
    _say_read(data, say)
    _refuse_one_class(data)
    files = [source.test_file, source.validation_file]
    test, validation = (None if file is None else _like(data, file, say) for file in files)
    group = _group_of(data, source.group)
    try:
        learn, validation, test = _drawn(data, validation, test, source, group)
    except TreeFileError as error:
        if group is None or source.group is not None:
            raise
        say(f"note: single trees are held out, though files have several. {error}")
        group = None
        learn, validation, test = _drawn(data, validation, test, source, group)
    paths = [path, *(file for file in files if file is not None)]
    hashed = _hash(paths, source.format, data.format, data.target != FOLDERS)
    parts = TreeFileData(learn, validation, test, hashed, group)
    _say_split(parts, source, say)
    return parts


def read_like(data: Mapping[str, Any], file: str | Path, needed: bool = True) -> TreeFile:
    """The trees of a file of the same kind as a run's training data.

    Args:
        data: description of the training data, as in ``config.json``.
        file: path of a file or folder.
        needed: True if there must be targets.

    Raises:
        ValueError: the file is of another kind.
        OSError: there is no such file.
    """
    if not needed and (text := _bare_objects(data, Path(file))):
        return read_typed(data, text)
    target, folder = data["target"], Path(file).is_dir()
    inside = (*INSIDE, target) if data["format"] == "json" else INSIDE
    if (target == FOLDERS and not folder) or (folder and target not in (FOLDERS, *inside)):
        target = None  # only a folder has folders as its targets
    kind = data["format"], target, data["task"]
    others = {"pairs": data["pairs"], "node_label": data.get("node_label")}
    trees = read_trees(file, *kind, targets_needed=needed, classes=data.get("classes"), **others)
    return _of_a_kind(trees, data)


def _bare_objects(data: Mapping[str, Any], file: Path) -> str:
    """The text of a file of lines that are each an object of the run's column of trees.

    Empty if the lines have the column, or the file or the run is of another kind.
    """
    columns = data.get("columns", [])
    if data["format"] != "json" or len(columns) != 1 or kind_of(file) not in LINES_ENDINGS:
        return ""
    try:
        with opening(file) as lines:
            content = lines.read()
        text = decoded(content)
    except UnicodeDecodeError:  # which is explained where the file is read
        return ""
    return "" if columns[0] in read_rows(file, text).names else text


def read_typed(data: Mapping[str, Any], text: str | Sequence[str]) -> TreeFile:
    """The trees of texts like those of a run's training data, with or without targets.

    Raises:
        ValueError: the texts are not of this kind.
    """
    kind = data["format"], data["target"], data["task"]
    others = {"pairs": data["pairs"], "node_label": data.get("node_label")}
    columns = data.get("columns", [])
    if data["format"] == "json" and len(columns) == 1:
        texts = [text] if isinstance(text, str) else text
        text = [row for each in texts for row in typed_rows(each, columns[0])]
    return _of_a_kind(read_text(text, *kind, **others), data)


def known_part(data: TreeFile, classes: list[str] | None) -> TreeFile:
    """The examples with known classes; for classes of nodes all examples, without unknown classes.

    Args:
        data: examples by which the best epoch is chosen.
        classes: classes in the training data; None for numbers.

    Raises:
        TreeFileError: there are no such examples.
    """
    if classes is None or data.targets is None:
        return data
    known = set(classes)
    if data.task == "nodes":
        labels = [[each if each in known else None for each in row] for row in data.targets]
        return replace(data, targets=labels)
    kept = data[[i for i, target in enumerate(data.targets) if target in known]]
    if not len(kept):
        raise TreeFileError(f"{data.path} has no class that is trained on")
    return kept


def _like(data: TreeFile, file: Path, say: Say) -> TreeFile:
    kept = read_like(data.read_arguments, file)
    _say_read(kept, say)
    return kept


def _of_a_kind(trees: TreeFile, data: Mapping[str, Any]) -> TreeFile:
    """The trees, if they are pairs or single trees like those of the run."""
    pairs = data["pairs"]
    if trees.pairs != pairs:
        kinds = ("single trees", "pairs of trees")
        raise TreeFileError(
            f"{trees.path} has {kinds[trees.pairs]}; the model was trained on {kinds[pairs]}"
        )
    return trees


def _say_read(data: TreeFile, say: Say) -> None:
    for guess in data.guesses:
        say(f"guessed {guess}")
    if data.unreadable:
        place, fault = data.unreadable[0]
        number = counted(len(data.unreadable), "tree")
        say(f"{number} of {data.path} left out as unreadable; the first: {place}, {fault}")


def _refuse_one_class(data: TreeFile) -> None:
    if data.task == "regression":
        if len(set(data.each_target)) < 2:
            raise TreeFileError(f"{data.path}: every tree has the number {data.each_target[0]:g}")
    elif len(names := set(data.each_target)) < 2:
        of = "node" if data.task == "nodes" else "tree"
        raise TreeFileError(
            f"{data.path}: every {of} has the class {names.pop()!r}; there is nothing to learn "
            "with fewer than two classes (--target names another column)"
        )


def _group_of(data: TreeFile, column: str | None) -> str | None:
    """The groups that are never split: those asked for, or the files of a folder with enough."""
    if column is not None or data.groups is None:
        return column
    of_class = {(place.file, place.file.split("/")[0]) for place in data.places}
    files = Counter(name if data.target == FOLDERS else "" for _, name in of_class)
    return "file" if min(files.values()) >= FILES else None


def _drawn(
    data: TreeFile,
    validation: TreeFile | None,
    test: TreeFile | None,
    source: Source,
    group: str | None,
) -> tuple[TreeFile, TreeFile, TreeFile]:
    """The training, validation and test examples; parts that are not given are drawn."""
    learn = data
    if test is None:
        learn, test = _parted(learn, source.test_fraction, group, "to test on")
    if validation is None:
        learn, validation = _parted(learn, source.validation_fraction, group, "to choose by")
    return learn, validation, test


def _parted(
    data: TreeFile, share: float, group: str | None, what: str
) -> tuple[TreeFile, TreeFile]:
    """Examples to learn from, and held-out ones: of every class, if examples have classes."""
    labels, groups = None, None
    if group is not None and data.groups is not None:
        groups = np.unique(data.groups, return_inverse=True)[1]
    if data.task == "classification":
        assert data.targets is not None
        labels = np.unique(data.targets, return_inverse=True)[1]
    try:
        learn, held = hold_out(
            len(data), share, DATA_SEED, labels, each_class=labels is not None, groups=groups
        )
    except ValueError as error:
        raise TreeFileError(f"{data.path}, those {what}: {error}") from None
    return data[learn.tolist()], replace(data[held.tolist()], unreadable=[])


def _say_split(data: TreeFileData, source: Source, say: Say) -> None:
    unit = "pairs of trees" if data.train.pairs else "trees"
    drawn = f"; {source.test_fraction:.0%} drawn, seed {DATA_SEED}" * (source.test_file is None)
    say(f"data: {unit}, {sizes_in_words(data)}{drawn}")
    if data.group is not None and not (source.test_file and source.validation_file):
        say(f"held out: whole groups; no {data.group} is both in what is drawn and in the rest")
    if data.classes is None:
        say(f"numbers to predict; their mean is {in_digits(data.baseline)}")
    else:
        targets = data.train.each_target
        share = percent(targets.count(data.baseline) / len(targets))
        say(f"{len(data.classes)} classes; the most frequent, {data.baseline!r}, is {share}")
    seen = set(data.train.trees)
    copies = sum(tree in seen for tree in data.test.trees)
    if copies:
        say(f"note: {copies:,} of the {len(data.test):,} to test are equal to one to train on")


def _hash(paths: list[Path], format_given: str | None, format_: str, everywhere: bool) -> str:
    """The hash of files, and of the files in folders that have trees.

    Args:
        paths: files or folders; the first is read in ``format_given``, the others in ``format_``.
        format_given: format given by the user; None if it was guessed.
        format_: format of the trees.
        everywhere: True to include files that are directly in a folder.
    """
    digest = hashlib.sha256()
    for path in paths:
        read = format_given if path is paths[0] else format_
        for file in files_of(path, read, everywhere).read if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
