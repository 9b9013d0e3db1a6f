"""Files of rows with trees in some fields: separated by tabs or commas, or JSON objects."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structnet.datasets.tree_file_formats import (
    LINES_ENDINGS,
    NAMES,
    Place,
    format_of_texts,
    tree_of,
    tree_or_none,
)
from structnet.datasets.tree_file_targets import NODES, ROOT
from structnet.parse import ParseError
from structnet.parse.packed import kind_of

SAMPLE = 50  # rows from which the content of the columns is guessed
TARGETS = ("label", "target", "class", "y", "gold")  # names of the default target column
MOST_TREES = 2  # in a row
NAME = re.compile(r"[\w\s.-]*")  # parses as Python, but is hardly meant as source code

SEVERAL_LINES = (
    "; if the trees span several lines, put each on one line after its label, or leave the labels "
    f"out and give --target {ROOT} or {NODES}"
)

Unreadable = list[tuple[Place, str]]


class TreeFileError(ValueError):
    """A file of trees cannot be read with the given options; the message says what to do."""


@dataclass
class Rows:
    """The fields of a file.

    Attributes:
        path: path of the file.
        names: names of the columns, or their numbers from 1 if the file does not name them.
        rows: fields of each row.
        places: line on which each row begins, or file.
        unreadable: place and fault of each row that was left out.
        named: True if the file names its columns.
    """

    path: Path
    names: list[str]
    rows: list[list[Any]]
    places: list[Place]
    unreadable: Unreadable
    named: bool

    def column(self, name: str) -> int:
        """The place of a column, from 0, by its name or its number from 1.

        Raises:
            TreeFileError: there is no such column.
        """
        if name in self.names:
            return self.names.index(name)
        if name == "first-column":
            return 0
        if name.isascii() and name.isdigit() and 1 <= int(name) <= len(self.names):
            return int(name) - 1
        known = ", ".join(self.names)
        raise TreeFileError(f"{self.path} has no column {name!r}; its columns are {known}")

    def has(self, name: str) -> bool:
        """True if there is such a column."""
        try:
            return self.column(name) >= 0
        except TreeFileError:
            return False

    def fields(self, column: int, most: int | None = None) -> list[Any]:
        """The fields of one column, in the first ``most`` rows or in all."""
        return [row[column] for row in self.rows[:most]]


def read_rows(path: Path, text: str) -> Rows:
    """Splits the text of a file into rows of fields.

    Args:
        path: path of the file, whose ending says how fields are written: ``.jsonl`` and ``.ndjson``
            are JSON objects, as is text that begins with a brace; in ``.csv`` commas separate the
            fields, in others tabs.
        text: content of the file.
    """
    ending = kind_of(path)
    if ending in LINES_ENDINGS or text.lstrip().startswith("{"):
        return _objects(path, _json_lines(text))
    reader = _commas if ending == ".csv" else _tabs
    read = list(reader(text))
    counts = Counter(len(fields) for _, fields in read[:SAMPLE])
    width = max(counts, key=lambda size: (counts[size], size), default=0)
    rows = Rows(path, [str(i) for i in range(1, width + 1)], [], [], [], False)
    for line, fields in read:
        if len(fields) == width:
            rows.rows.append(fields)
            rows.places.append(Place(line=line))
        else:
            fault = f"{len(fields)} column{'s' * (len(fields) > 1)}; other lines have {width}"
            rows.unreadable.append((Place(line=line), fault))
    return rows


def _tabs(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, [each.strip() for each in line.strip("\r").split("\t")]


def _commas(text: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    begin = 1
    for fields in reader:
        if any(fields):
            yield begin, [each.strip() for each in fields]
        begin = reader.line_num + 1


def _objects(path: Path, values: Iterable[tuple[Place, Any]]) -> Rows:
    """The fields of JSON objects; a ValueError stands for a place without JSON."""
    names: dict[str, None] = {}
    objects: list[tuple[Place, dict]] = []
    unreadable: Unreadable = []
    for place, value in values:
        if isinstance(value, ValueError):
            unreadable.append((place, f"not JSON: {value}"))
        elif not isinstance(value, dict):
            unreadable.append((place, f"expected a JSON object; got {value!r:.40}"))
        else:
            objects.append((place, value))
            names |= dict.fromkeys(value)
    rows = [[value.get(name) for name in names] for _, value in objects]
    return Rows(path, list(names), rows, [place for place, _ in objects], unreadable, True)


def _json_lines(text: str) -> Iterator[tuple[Place, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield Place(line=number), _loaded(line)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        return error
    except RecursionError:  # in Python's JSON parser
        return ValueError("it is nested too deeply; write the tree as a text")


def rows_of_json(path: Path, text: str, target: str | None = None) -> Rows | None:
    """The fields of the objects in a JSON file, in a list or one on each line; None for a document.

    The examples in a list have no lines, so they are numbered from 1. Objects without a field whose
    name begins with "tree" are a document, from which a field that is the target is taken out.
    """
    value = _loaded(text)
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        rows = _objects(path, [(Place(line=i), each) for i, each in enumerate(value, 1)])
    elif isinstance(value, dict) and target in value:
        rows = _objects(path, [(Place(line=1), _apart(value, target))])
    elif isinstance(value, ValueError) and text.lstrip().startswith("{"):
        rows = _objects(path, _json_lines(text))
    else:
        return None
    return rows if any(map(_of_tree, rows.names)) else None


def rows_of_documents(
    path: Path, files: Mapping[str, str], target: str | None, needed: bool
) -> Rows | None:
    """The trees and targets of JSON files with an object in each; None without targets in them.

    An object has its tree in a field whose name begins with "tree"; or it is the tree, without the
    field of its target.

    Args:
        path: path of the folder.
        files: text of each file by its name.
        target: name of the field with the target; None for one of the usual names, if there is one.
        needed: True if there must be targets.

    Raises:
        TreeFileError: no file has the target that is named.
    """
    values = {name: _loaded(text) for name, text in files.items()}
    objects = [value for value in values.values() if isinstance(value, dict)]
    fields = list(dict.fromkeys(name for each in objects for name in each))
    if target is None:
        usual = [name for known in TARGETS for name in fields if name.lower() == known]
        target = next(iter(usual), None)
    elif needed and target not in fields:
        raise TreeFileError(
            f"{path}: no file has the field {target!r}; its objects have {', '.join(fields)}"
        )
    if not objects or any(isinstance(each.get(target), (dict, list)) for each in objects):
        return None
    if target is None and not any(map(_of_tree, fields)):
        return None
    rows = {Place(name): _apart(value, target) for name, value in values.items()}
    return _objects(path, rows.items())


def _apart(value: Any, target: str | None) -> Any:
    """An object whose tree and target are fields; it may be the tree, with the target in it."""
    if not isinstance(value, dict) or any(map(_of_tree, value)):
        return value
    rest = {name: each for name, each in value.items() if name != target}
    return {"tree": rest} | ({target: value[target]} if target in value else {})


def typed_json(text: str, target: str | None) -> str:
    """JSON text as lines of objects: a document becomes one object with its text as the tree.

    Example:
        >>> typed_json("[1.50]", None), typed_json('{"tree": [1, 2]}', None)
        ('{"tree": "[1.50]"}', '{"tree": [1, 2]}')
    """
    value = _loaded(text)
    if isinstance(value, dict) and target in value:
        return json.dumps(_apart(value, target))
    if isinstance(value, ValueError):
        several = [each for _, each in _json_lines(text)]
    else:  # an object over several lines is one row
        several, text = [value], text.replace("\n", " ")
    names = [name for each in several if isinstance(each, dict) for name in each]
    if any(_of_tree(name) or name == target for name in names):
        return text
    return json.dumps({"tree": text})


def typed_rows(text: str, column: str) -> list[str]:
    """The lines of a text that has a JSON document on the first, else the text.

    Of objects with the column, it becomes the field "tree"; other documents stay as they are.

    Example:
        >>> typed_rows('{"item": {"size": 3}, "id": 7}\\n{"size": 3}', "item")
        ['{"id": 7, "tree": {"size": 3}}', '{"size": 3}']
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or isinstance(_loaded(lines[0]), ValueError):
        lines = [text]
    lines_read = []
    for line in lines:
        value = _loaded(line)
        if isinstance(value, dict) and column in value:
            tree = value.pop(column)
            line = json.dumps({**value, "tree": tree})
        lines_read.append(line)
    return lines_read


def _of_tree(name: str) -> bool:
    """True if the name of a column says that it has trees."""
    return name.lower().startswith("tree")


def take_header(rows: Rows, format_: str | None, names: Sequence[str | None] = ()) -> None:
    """Makes the first row the names if none of its fields is a tree, but one of the next row is.

    Or if it has a name that is asked for: then an error shows the names, and not their numbers.
    """
    if rows.named or len(rows.rows) < 2:
        return
    named = any(name and not name.isdigit() and name in rows.rows[0] for name in names)
    first, second = (
        [(_format((text,), format_) is not None) for text in row] for row in rows.rows[:2]
    )
    if named or (any(second) and not any(first)):
        rows.names, rows.places = list(map(str, rows.rows.pop(0))), rows.places[1:]
        rows.named = True


def _format(texts: Sequence[Any], format_: str | None) -> str | None:
    """The format in which at least half of the fields are trees, one with more than one node."""
    if format_ is None:
        return format_of_texts(texts)
    trees = [tree for text in texts if (tree := tree_or_none(text, format_)) is not None]
    if format_ == "python" and all(NAME.fullmatch(str(text)) for text in texts):
        return None
    enough = 2 * len(trees) >= len(texts) and any(tree.children for tree in trees)
    return format_ if enough else None


def choose_trees(
    rows: Rows, target: str | None, format_: str | None, pairs: bool = False
) -> tuple[list[int], str]:
    """The columns with trees, and the format of the trees.

    Args:
        rows: fields of the file.
        target: column of the target, which has no trees; None if it is not known.
        format_: format of the trees; None for the first one in which they can be read.
        pairs: True if a row has two trees; all trees in one of the columns may then be leaves.

    Raises:
        TreeFileError: no column has trees, or more than two do.
    """
    others = [i for i in range(len(rows.names)) if target is None or i != rows.column(target)]
    named = [i for i in others if _of_tree(rows.names[i])]
    formats = {i: _format(rows.fields(i, SAMPLE), format_) for i in named or others}
    columns = [i for i, format_ in formats.items() if format_]
    if named and format_ and not columns:
        columns = named  # trust the names; the parser will report what is wrong
    if not columns:
        raise TreeFileError(_no_trees(rows, others, format_))
    chosen = format_ or formats[columns[0]] or ""
    if pairs and len(columns) == 1:
        leaves = [i for i in others if i not in columns and _all_trees(rows, i, chosen)]
        columns = sorted(columns + leaves[-1:])  # not a label before it, which may parse as a leaf
    if len(columns) > MOST_TREES or (format_ == "python" and len(columns) > 1 and not named):
        listed = ", ".join(rows.names[i] for i in columns)
        raise TreeFileError(
            f"{rows.path} has trees in the columns {listed}; expected one or two: name the column "
            "to learn from tree, or two columns tree1 and tree2"
        )
    return columns, chosen


def _all_trees(rows: Rows, column: int, format_: str) -> bool:
    return all(tree_or_none(text, format_) is not None for text in rows.fields(column, SAMPLE))


def _no_trees(rows: Rows, others: Sequence[int], format_: str | None) -> str:
    """The error text if no column has trees; it quotes the longest field of the first row."""
    place = f"{rows.path}, {rows.places[0]}"
    if not others:
        return f"{place}: one column cannot be both target and tree; expected LABEL<TAB>TREE"
    field = max((rows.rows[0][column] for column in others), key=lambda each: len(str(each)))
    hint = SEVERAL_LINES if str(field).count("(") > str(field).count(")") else ""
    if format_ is None:
        known = ", ".join(NAMES)
        if not set("()<>{}[]=;").intersection(str(field)):
            hint = f"; give --format if it is one of {known}; numbers beside words are a table, as "
            hint += (
                "neural-tree takes it, and sentences without trees are for label-tree, on lines "
            )
            hint += "such as '__label__good some words'"
        return f"{place}: {str(field)[:40]!r} is not a tree in any format that can be guessed" + (
            hint or f"; give the format with --format, one of {known}"
        )
    try:
        tree_of(field, format_)
    except ValueError as error:
        return f"{place}: no column has trees in the format {format_}: {one_line(error)}{hint}"
    return f"{place}: no column has trees of more than one node in the format {format_}"


def one_line(error: ValueError) -> str:
    """The error of a tree on one line, without its line number and without the source text."""
    if isinstance(error, ParseError):
        return f"column {error.column}: {error.message}"
    return str(error).partition("\n")[0]


def choose_target(rows: Rows, trees: Sequence[int]) -> str | None:
    """The default column of the target; None if all columns are trees.

    Raises:
        TreeFileError: several columns could be the target.
    """
    others = [name for i, name in enumerate(rows.names) if i not in trees]
    known = [name for name in TARGETS if name in map(str.lower, others)]
    if known:
        return next(name for name in others if name.lower() == known[0])
    if len(others) < 2 or (not rows.named and 0 not in trees):
        return others[0] if others else None
    raise TreeFileError(
        f"{rows.path} has the columns {', '.join(others)} beside its trees; choose the one to "
        "predict with --target"
    )
