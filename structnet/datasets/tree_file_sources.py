"""The sources of the user's own trees: lines with columns, treebanks, folders of files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from structnet.datasets.tree_file_folders import files_of
from structnet.datasets.tree_file_formats import (
    ANY,
    ENDINGS,
    LINES,
    NAMES,
    Place,
    format_of_ending,
    format_of_texts,
    metadata,
    tree_of,
    trees_in,
)
from structnet.datasets.tree_file_rows import (
    SAMPLE,
    Rows,
    TreeFileError,
    Unreadable,
    choose_target,
    choose_trees,
    one_line,
    read_rows,
    rows_of_documents,
    rows_of_json,
    take_header,
)
from structnet.datasets.tree_file_targets import INSIDE, NODES, ROOT
from structnet.parse import ParseError
from structnet.parse.lines import decoded, opening_text, undecoded
from structnet.parse.nexus import is_nexus
from structnet.parse.packed import kind_of, opening
from structnet.trees.tree import Tree

FIRST, FOLDERS = "first-column", "folders"
BY_FOLDERS = "target: the folder of each file"
# Keys of the comments that CoNLL-U itself defines.
CONLLU_SAYS = re.compile(r"sent_id|text(_\w{2,3})?|new(doc|par)( id)?|translit|global\.\w+")


class ReadOptions(NamedTuple):
    """The options with which a source is read.

    Attributes:
        format, target, node_label, group: arguments of :func:`.tree_file.read_trees`.
        needed: its argument ``targets_needed``.
        pairs: True if an example must be two trees.
    """

    format: str | None
    target: str | None
    needed: bool
    pairs: bool
    node_label: str | None = None
    group: str | None = None

    def for_parser(self, format_: str) -> dict[str, Any]:
        """The keyword arguments of a format's parser.

        Raises:
            TreeFileError: ``node_label`` is given and the format is not CoNLL-U.
        """
        if self.node_label is None:
            return {}
        if format_ != "conllu":
            raise TreeFileError(
                f"a column that labels the nodes is for conllu; the trees are {format_}. Got "
                f"--node-label {self.node_label}"
            )
        return {"label": self.node_label}


class Content(NamedTuple):
    """The trees of a source, with targets as they are written there."""

    examples: list[tuple[Tree, ...]]
    targets: list[Any]  # of each example; None if it has none
    places: list[Place]  # of each example
    unreadable: Unreadable
    format: str
    target: str | None
    guesses: list[str]
    columns: tuple[str, ...] = ()  # names of those with trees


def joined(parts: Sequence[Content]) -> Content:
    """Joins sources; if there are several, a place is the number of its source, from 1."""
    if len(parts) == 1:
        return parts[0]
    first = next((part for part in parts if part.examples), parts[0])
    numbered = [(Place(line=i), _like(first, part)) for i, part in enumerate(parts, 1)]
    return first._replace(
        examples=[each for _, part in numbered for each in part.examples],
        targets=[each for _, part in numbered for each in part.targets],
        places=[at for at, part in numbered for _ in part.examples],
        unreadable=[(at, fault) for at, part in numbered for _, fault in part.unreadable],
    )


def _like(first: Content, part: Content) -> Content:
    """A source, or only its fault if it has another number of trees an example than the first."""
    sizes = [len(content.examples[0]) for content in (part, first) if content.examples]
    if len(set(sizes)) < 2:
        return part
    fault = f"it has {sizes[0]} trees an example; those before it have {sizes[1]}"
    return part._replace(examples=[], targets=[], unreadable=[(Place(line=1), fault)])


def content_in(path: Path, options: ReadOptions) -> Content:
    """The trees of a file or folder, with targets as they are written there.

    Args:
        path: path of the file or folder.
        options: options with which it is read.

    Raises:
        TreeFileError: the source is empty, or does not fit the options.
        OSError: the file cannot be opened.
    """
    if path.is_dir():
        if options.group is not None:
            raise TreeFileError(
                f"{path} is a folder, whose files are the groups. Got --group {options.group}"
            )
        documents = _documents(path, options)
        return _folder(path, options) if documents is None else _of_rows(documents, options)
    return content_in_text(path, _read(path), options)


def is_tree_file(path: str | Path) -> bool:
    """True for a folder, and for a file that has trees by its ending or its first lines.

    Example:
        >>> is_tree_file("wsj_0001.mrg"), is_tree_file("nowhere.tsv")
        (True, False)
    """
    path = Path(path)
    ending = kind_of(path)
    if path.is_dir() or ending in ENDINGS:
        return True
    if ending not in ANY or not path.is_file():
        return False
    with opening_text(path, errors="replace") as file:
        lines = [line.strip() for line in file.readlines(20_000) if line.strip()][:5]
    has_tree = [_has_tree(line, ending == ".csv") for line in lines]
    has_tree = has_tree[1:] or has_tree  # the first one may be names of columns
    most = 2 * sum(has_tree) >= len(has_tree) > 0
    return most or (bool(lines) and lines[0].startswith(("(S", "( (S")))


def _has_tree(line: str, commas: bool) -> bool:
    fields = next(iter(read_rows(Path("line.csv"), line).rows), []) if commas else line.split("\t")
    return any(format_of_texts([text]) for text in fields if text[:1] in "([<{" and text)


def _read(path: Path, expected: str = "a tree on each line, or LABEL<TAB>TREE") -> str:
    try:
        with opening(path) as file:
            content = file.read()
        text = decoded(content).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise TreeFileError(f"{path}, {undecoded(error)}, expected {expected}") from None
    if not text.strip():
        raise TreeFileError(f"{path} is empty; expected {expected}")
    return text


def content_in_text(path: Path, text: str, options: ReadOptions) -> Content:
    """The trees in the text of a file, which is not empty; see :func:`content_in`.

    Raises:
        TreeFileError: the text does not fit the options.
    """
    ending = format_of_ending(path)
    format_, target = options.format, options.target
    rows = _rows(path, text, LINES if format_ == LINES else ending, options)
    if rows is not None:
        return _of_rows(rows, options._replace(format=None if format_ == LINES else format_))
    if options.group is not None:
        raise TreeFileError(f"{path} has no columns, only trees; leave out --group {options.group}")
    guesses = []
    if format_ is None:
        # Phylogenetics software gives NEXUS files the ending of treebanks.
        format_ = "newick" if is_nexus(text) else ending
        format_ = format_ or format_of_texts([line for line in text.split("\n") if line][:SAMPLE])
        if format_ is None and text.lstrip().startswith("("):
            format_ = "bracketed"  # of which the first may span several lines
        if format_ is None:
            known = ", ".join(NAMES)
            raise TreeFileError(
                f"the first lines of {path} are not in any known format of trees; give the format "
                f"with --format, one of {known}"
            )
        guesses.append(
            f"format: {format_}, by the {'ending' if format_ == ending else 'first lines'}"
        )
    inside = target in INSIDE
    if not (target is None or inside or format_ == "conllu"):
        if not options.needed:
            return _of_trees(text, format_, options)
        raise TreeFileError(
            f"{path} has no columns, only trees; expected the target {ROOT} or {NODES}, or each "
            f"tree on a line LABEL<TAB>TREE. Got --target {target}"
        )
    content = _of_trees(text, format_, options)
    if format_ == "conllu" and not inside:
        content = _commented(path, content, options)
    return content._replace(guesses=guesses + content.guesses, target=target or content.target)


def _rows(path: Path, text: str, ending: str | None, options: ReadOptions) -> Rows | None:
    """The fields of a file whose lines have columns; None for a file of trees alone."""
    if ending == "json":
        return rows_of_json(path, text, options.target)
    first = next(line for line in text.split("\n") if line.strip()).strip()
    before, tab, _ = first.partition("\t")
    # A tab may also be within a tree that spans several lines.
    columns = bool(tab) and before.count("(") == before.count(")")
    columns |= kind_of(path) == ".tsv"
    columns &= "conllu" not in (options.format, ending)  # whose lines have columns for words
    if columns or ending == LINES or kind_of(path) == ".csv" or first[:2] == '{"':
        return read_rows(path, text)
    return None


def _of_rows(rows: Rows, options: ReadOptions) -> Content:
    format_, target, needed, pairs, _, group = options
    if not rows.rows:
        place, fault = rows.unreadable[0]
        raise TreeFileError(f"{rows.path}, {place}: {fault}")
    take_header(rows, format_, (target, group))
    in_rows = None if target in INSIDE else target
    # If targets are not needed, their column may be missing.
    columns, chosen = choose_trees(rows, in_rows if needed else None, format_, pairs)
    guesses = [] if format_ else [f"format: {chosen}, by the first lines"]
    column = in_rows
    if target is None:
        apart = [*columns, *([] if group is None else [rows.column(group)])]
        column = choose_target(rows, apart)
        guesses += [] if column is None else [f"target: column {column}"]
    elif in_rows and not needed and (not rows.has(in_rows) or rows.column(in_rows) in columns):
        column = None
    aim = None if column is None else rows.column(column)
    names = tuple(rows.names[column] for column in columns)
    content = Content([], [], [], rows.unreadable, chosen, target or column, guesses, names)
    parser_options, of = options.for_parser(chosen), None if group is None else rows.column(group)
    for place, row in zip(rows.places, rows.rows, strict=True):
        belongs = "" if of is None or row[of] is None else str(row[of])
        if of is not None and not belongs:
            content.unreadable.append((place, f"it has no {group}"))
            continue
        try:
            content.examples.append(
                tuple(tree_of(row[column], chosen, **parser_options) for column in columns)
            )
        except ValueError as error:
            content.unreadable.append((place, one_line(error)))
            continue
        content.targets.append(None if aim is None else row[aim])
        content.places.append(place._replace(group=belongs))
    return content


def _of_trees(text: str, format_: str, options: ReadOptions) -> Content:
    """The trees in a text of trees alone; their targets are the comments of CoNLL-U, or None."""
    content = Content([], [], [], [], format_, None, [])
    for line, one, tree in trees_in(text, format_, **options.for_parser(format_)):
        if isinstance(tree, ParseError):
            content.unreadable.append((Place(line=tree.line), one_line(tree)))
            continue
        content.examples.append((tree,))
        content.targets.append(metadata(one) if format_ == "conllu" else None)
        content.places.append(Place(line=line))
    return content


def _commented(path: Path, content: Content, options: ReadOptions) -> Content:
    """Replaces the comments of sentences by the value of one key, which is the target."""
    key = options.target
    known = list(dict.fromkeys(name for comments in content.targets for name in comments))
    if options.needed and key is None:
        key = _only_key(content.targets, known)
        if key is not None:
            content.guesses.append(f"target: the comment '# {key} = ...'")
    elif options.needed and known and key not in known:
        raise TreeFileError(f"{path} has no comment '# {key} = ...'; it has {', '.join(known)}")
    values = [None if key is None else comments.get(key) for comments in content.targets]
    return content._replace(targets=values, target=key)


def _only_key(comments: Sequence[dict[str, str]], known: Sequence[str]) -> str | None:
    """The only key that CoNLL-U does not define, unless its values are all different."""
    keys = [key for key in known if not CONLLU_SAYS.fullmatch(key)]
    if len(keys) != 1:
        return None
    values = [each[keys[0]] for each in comments if keys[0] in each]
    return keys[0] if len(set(values)) < len(values) else None


def _documents(path: Path, options: ReadOptions) -> Rows | None:
    """The objects in a folder's JSON files, if they have the targets; None if its folders do."""
    if options.format not in (None, "json") or options.target in (FOLDERS, *INSIDE):
        return None
    chosen, read, _ = files_of(path, options.format, everywhere=True)
    classes = options.target is None and any(each.parent != path for each in read)
    if chosen != "json" or classes or not read:
        return None
    texts = {}
    for each in read:
        try:
            text = _read(each, "an object")
        except TreeFileError:  # an empty file, which is left out like any that is not JSON
            text = ""
        texts[each.relative_to(path).as_posix()] = text
    return rows_of_documents(path, texts, options.target, options.needed)


def _folder(path: Path, options: ReadOptions) -> Content:
    """The trees in a folder that has a folder for each class."""
    format_, target, needed, *_ = options
    chosen, read, others = files_of(path, format_, everywhere=not needed)
    lines = [each for each in (*read, *others) if format_of_ending(each) == LINES]
    if lines and (format_ == LINES or not read):
        raise TreeFileError(
            f"{path}: a file with the ending {lines[0].suffix} has targets of its own; expected "
            f"that file, {lines[0]}, rather than a folder"
        )
    if not read and others:
        endings = Counter(each.suffix or "none" for each in others).most_common(3)
        raise TreeFileError(
            f"{path}: no file in its folders has the ending of a format of trees, "
            f"{' '.join(ENDINGS)}; rename or convert them, or give --format. Got {len(others):,} "
            f"files, most with the ending {', '.join(ending for ending, _ in endings)}"
        )
    if chosen is None or not read:
        raise TreeFileError(
            f"{path} must have a folder for each class, such as {path.name}/CLASS/FILE.mrg, or "
            "JSON objects with a field label; other trees with targets beside them belong in one "
            "file, as FILE.jsonl. Got no file in folders"
        )
    if target not in (None, FOLDERS, *INSIDE):
        raise TreeFileError(
            f"{path} is a folder, whose targets are its folders; leave out --target {target}"
        )
    content = Content([], [], [], [], chosen, target or FOLDERS, [])
    if target is None:
        content.guesses.append(BY_FOLDERS)
    left = f"{len(others)} other files are left out"
    if format_ is None:
        content.guesses.append(f"format: {chosen}, by the endings" + f"; {left}" * bool(others))
    elif others:
        content.guesses.append(f"files: those of the format, by the endings; {left}")
    for each in read:
        *folders, _ = each.relative_to(path).parts
        name = each.relative_to(path).as_posix()
        _add(content, each, name, folders[0] if folders else None, options)
    return content


def _add(content: Content, file: Path, name: str, target: str | None, options: ReadOptions) -> None:
    """Adds the trees of one file in a folder of a class."""
    options.for_parser(content.format)
    try:
        part = _of_trees(_read(file, "a tree"), content.format, options)
    except TreeFileError as error:
        content.unreadable.append((Place(name), str(error).removeprefix(str(file)).lstrip(", ")))
        return
    content.examples.extend(part.examples)
    content.targets.extend([target] * len(part.examples))
    content.places.extend(Place(name, at.line * (len(part.places) > 1)) for at in part.places)
    content.unreadable.extend((Place(name, at.line), fault) for at, fault in part.unreadable)
