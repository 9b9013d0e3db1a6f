"""Where trees of one's own come from: lines with columns, treebanks, folders of files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
    rows_of_json,
    take_header,
)
from structnet.datasets.tree_file_targets import INSIDE, NODES, ROOT
from structnet.parse import ParseError
from structnet.parse.nexus import is_nexus
from structnet.trees.tree import Tree

FIRST, FOLDERS = "first-column", "folders"
BY_FOLDERS = "target: the folder of each file"
# The comments that sentences of CoNLL-U have anyway.
CONLLU_SAYS = re.compile(r"sent_id|text(_\w{2,3})?|new(doc|par)( id)?|translit|global\.\w+")


class Asked(NamedTuple):
    """What is said of a source before it is read.

    Attributes:
        format, target, needed: arguments of :func:`.tree_file.read_trees`.
        pairs: is an example said to be two trees?
        node_label, group: arguments of :func:`.tree_file.read_trees`.
    """

    format: str | None
    target: str | None
    needed: bool
    pairs: bool
    node_label: str | None = None
    group: str | None = None

    def options(self, format_: str) -> dict[str, Any]:
        """The arguments of a format's parser.

        Raises:
            TreeFileError: its nodes have no columns to choose a label from.
        """
        if self.node_label is None:
            return {}
        if format_ != "conllu":
            raise TreeFileError(
                f"a column that labels the nodes is for conllu; the trees are {format_}. Got "
                f"--node-label {self.node_label}"
            )
        return {"label": self.node_label}


class Found(NamedTuple):
    """The trees of a source before their targets are looked at."""

    examples: list[tuple[Tree, ...]]
    targets: list[Any]  # one an example, None where there is none
    places: list[Place]  # of each example
    unreadable: Unreadable
    format: str
    target: str | None
    guesses: list[str]


def joined(parts: Sequence[Found]) -> Found:
    """Several sources as one; of more than one, a place is the number of the source, from 1."""
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


def _like(first: Found, part: Found) -> Found:
    """A source with as many trees an example as the first; or with none, and the fault."""
    sizes = [len(found.examples[0]) for found in (part, first) if found.examples]
    if len(set(sizes)) < 2:
        return part
    fault = f"it has {sizes[0]} trees an example, and what stands before {sizes[1]}"
    return part._replace(examples=[], targets=[], unreadable=[(Place(line=1), fault)])


def found_in(path: Path, asked: Asked) -> Found:
    """The trees of a file or folder, with the targets as they stand there.

    Args:
        path: the file or folder.
        asked: format and target, as far as they are said.

    Raises:
        TreeFileError: it is empty, or not what it was said to be.
        OSError: it cannot be read at all.
    """
    if path.is_dir():
        if asked.group is not None:
            raise TreeFileError(
                f"{path} is a folder, whose files are the groups. Got --group {asked.group}"
            )
        return _folder(path, asked)
    return found_in_text(path, _read(path), asked)


def is_tree_file(path: str | Path) -> bool:
    """Whether a file, or a folder, has trees in it, by its ending or its first lines.

    Example:
        >>> is_tree_file("wsj_0001.mrg"), is_tree_file("nowhere.tsv")
        (True, False)
    """
    path = Path(path)
    ending = path.suffix.lower()
    if path.is_dir() or ending in ENDINGS:
        return True
    if ending not in ANY or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file.readlines(20_000) if line.strip()][:5]
    found = [_has_tree(line, ending == ".csv") for line in lines]
    found = found[1:] or found  # the first one may be names of columns
    return 2 * sum(found) >= len(found) > 0 or (bool(lines) and lines[0].startswith(("(S", "( (S")))


def _has_tree(line: str, commas: bool) -> bool:
    fields = next(iter(read_rows(Path("line.csv"), line).rows), []) if commas else line.split("\t")
    return any(format_of_texts([text]) for text in fields if text[:1] in "([<{" and text)


def _read(path: Path, expected: str = "a tree a line, or LABEL<TAB>TREE") -> str:
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise TreeFileError(
            f"{path}, line {line}: the file is not UTF-8 text; write it anew in that encoding"
        ) from None
    if not text.strip():
        raise TreeFileError(f"{path} is empty; expected {expected}")
    return text


def found_in_text(path: Path, text: str, asked: Asked) -> Found:
    """The trees of a file's text, which is not empty; see :func:`found_in`.

    Raises:
        TreeFileError: it is not what it was said to be.
    """
    ending = format_of_ending(path)
    format_, target = asked.format, asked.target
    rows = _rows(path, text, LINES if format_ == LINES else ending, format_)
    if rows is not None:
        return _of_rows(rows, asked._replace(format=None if format_ == LINES else format_))
    if asked.group is not None:
        raise TreeFileError(
            f"{path} has no columns: it holds trees and nothing else. Got --group {asked.group}"
        )
    guesses = []
    if format_ is None:
        # Software of phylogenies gives NEXUS the ending of treebanks.
        format_ = "newick" if is_nexus(text) else ending
        format_ = format_ or format_of_texts([line for line in text.split("\n") if line][:SAMPLE])
        if format_ is None and text.lstrip().startswith("("):
            format_ = "bracketed"  # over several lines
        if format_ is None:
            known = ", ".join(NAMES)
            raise TreeFileError(
                f"the first lines of {path} are in no known format of trees; say which format it "
                f"has with --format, one of {known}"
            )
        guesses.append(
            f"format: {format_}, by the {'ending' if format_ == ending else 'first lines'}"
        )
    inside = target in INSIDE
    if not (target is None or inside or format_ == "conllu"):
        if not asked.needed:
            return _of_trees(text, format_, asked)
        raise TreeFileError(
            f"{path} has no columns: it holds trees and nothing else; the target is {ROOT} or "
            f"{NODES}, or give each tree a line LABEL<TAB>TREE. Got --target {target}"
        )
    found = _of_trees(text, format_, asked)
    if format_ == "conllu" and not inside:
        found = _commented(path, found, asked)
    return found._replace(guesses=guesses + found.guesses, target=target or found.target)


def _rows(path: Path, text: str, ending: str | None, format_: str | None) -> Rows | None:
    """The fields of a file whose lines have some; None for one that holds trees alone."""
    if ending == "json":
        return rows_of_json(path, text)
    first = next(line for line in text.split("\n") if line.strip()).strip()
    before, tab, _ = first.partition("\t")
    # A tab may also stand within a tree that goes over several lines.
    columns = bool(tab) and before.count("(") == before.count(")")
    columns |= path.suffix.lower() == ".tsv"
    columns &= "conllu" not in (format_, ending)  # whose words have columns, too
    if columns or ending == LINES or path.suffix.lower() == ".csv" or first[:2] == '{"':
        return read_rows(path, text)
    return None


def _of_rows(rows: Rows, asked: Asked) -> Found:
    format_, target, needed, pairs, _, group = asked
    if not rows.rows:
        place, fault = rows.unreadable[0]
        raise TreeFileError(f"{rows.path}, {place}: {fault}")
    take_header(rows, format_)
    said = None if target in INSIDE else target
    # Of what is only asked about, the column of the targets may be missing.
    columns, chosen = choose_trees(rows, said if needed else None, format_, pairs)
    guesses = [] if format_ else [f"format: {chosen}, by the first lines"]
    column = said
    if target is None:
        apart = [*columns, *([] if group is None else [rows.column(group)])]
        column = choose_target(rows, apart)
        guesses += [] if column is None else [f"target: column {column}"]
    elif said and not needed and (not rows.has(said) or rows.column(said) in columns):
        column = None
    aim = None if column is None else rows.column(column)
    found = Found([], [], [], rows.unreadable, chosen, target or column, guesses)
    options, of = asked.options(chosen), None if group is None else rows.column(group)
    for line, row in zip(rows.lines, rows.rows, strict=True):
        belongs = "" if of is None or row[of] is None else str(row[of])
        if of is not None and not belongs:
            found.unreadable.append((Place(line=line), f"it has no {group}"))
            continue
        try:
            found.examples.append(
                tuple(tree_of(row[column], chosen, **options) for column in columns)
            )
        except ValueError as error:
            found.unreadable.append((Place(line=line), one_line(error)))
            continue
        found.targets.append(None if aim is None else row[aim])
        found.places.append(Place(line=line, group=belongs))
    return found


def _of_trees(text: str, format_: str, asked: Asked) -> Found:
    """The trees of a text that holds nothing else; for targets, what the comments of each say."""
    found = Found([], [], [], [], format_, None, [])
    for line, one, tree in trees_in(text, format_, **asked.options(format_)):
        if isinstance(tree, ParseError):
            found.unreadable.append((Place(line=tree.line), one_line(tree)))
            continue
        found.examples.append((tree,))
        found.targets.append(metadata(one) if format_ == "conllu" else None)
        found.places.append(Place(line=line))
    return found


def _commented(path: Path, found: Found, asked: Asked) -> Found:
    """Sentences with what one key of their comments says for the target."""
    key, known = asked.target, list(dict.fromkeys(key for said in found.targets for key in said))
    if asked.needed and key is None:
        key = _only_key(found.targets, known)
        if key is not None:
            found.guesses.append(f"target: the comment '# {key} = ...'")
    elif asked.needed and known and key not in known:
        raise TreeFileError(f"{path} has no comment '# {key} = ...'; it has {', '.join(known)}")
    values = [None if key is None else said.get(key) for said in found.targets]
    return found._replace(targets=values, target=key)


def _only_key(comments: Sequence[dict[str, str]], known: Sequence[str]) -> str | None:
    """The one key that is none of CoNLL-U itself, unless it numbers or names the sentences."""
    own = [key for key in known if not CONLLU_SAYS.fullmatch(key)]
    if len(own) != 1:
        return None
    values = [said[own[0]] for said in comments if own[0] in said]
    return own[0] if len(set(values)) < len(values) else None


class FolderFiles(NamedTuple):
    """The files of a folder.

    Attributes:
        format: format of the trees; None if no ending tells one.
        read: files that hold trees.
        others: files that hold none.
    """

    format: str | None
    read: list[Path]
    others: list[Path]


def files_of(path: Path, format_: str | None, everywhere: bool = False) -> FolderFiles:
    """The files of a folder that hold its trees, by their endings, and the others.

    Args:
        path: the folder.
        format_: format of the trees; None for that of the most files.
        everywhere: also those that are in no folder of it?
    """
    found = sorted(path.glob("**/*" if everywhere else "*/**/*"))
    files = [each for each in found if each.is_file()]
    files = [each for each in files if "/." not in f"/{each.relative_to(path).as_posix()}"]
    told = {each: of for each in files if (of := _format_of(each)) not in (None, LINES)}
    formats = list(told.values())
    chosen = format_ or max(dict.fromkeys(formats), key=formats.count, default=None)
    own = [each for each, of in told.items() if of == chosen]
    if format_ is not None:  # one without endings of its own may stand in any file
        own = own or list(told) or files
    kept = set(own)
    return FolderFiles(chosen, own, [each for each in files if each not in kept])


def _format_of(file: Path) -> str | None:
    """The format that a file's ending tells; but of phylogenies software calls NEXUS so, too."""
    told = format_of_ending(file)
    if told != "bracketed":
        return told
    with file.open(encoding="utf-8-sig", errors="replace") as text:
        return "newick" if is_nexus(text.read(100)) else told


def _folder(path: Path, asked: Asked) -> Found:
    """A class a folder; the files of a folder hold its trees."""
    format_, target, needed, *_ = asked
    chosen, read, others = files_of(path, format_, everywhere=not needed)
    lines = [each for each in (*read, *others) if format_of_ending(each) == LINES]
    if lines and (format_ == LINES or not read):
        raise TreeFileError(
            f"{path}: a file of the ending {lines[0].suffix} has targets of its own; expected "
            f"that file, {lines[0]}, rather than a folder"
        )
    if not read and others:
        endings = Counter(each.suffix or "none" for each in others).most_common(3)
        raise TreeFileError(
            f"{path}: no file in its folders has the ending of a format of trees, "
            f"{' '.join(ENDINGS)}; rename them, convert them, or say --format. Got {len(others):,} "
            f"files, most with the ending {', '.join(ending for ending, _ in endings)}"
        )
    if chosen is None or not read:
        raise TreeFileError(
            f"{path} must have a folder for each class, with files of trees in it, such as "
            f"{path.name}/CLASS/FILE.mrg. Got no file in folders"
        )
    if target not in (None, FOLDERS, *INSIDE):
        raise TreeFileError(
            f"{path} is a folder, whose targets are its folders; leave out --target"
        )
    found = Found([], [], [], [], chosen, target or FOLDERS, [])
    if target is None:
        found.guesses.append(BY_FOLDERS)
    left = f"{len(others)} other files are left out"
    if format_ is None:
        found.guesses.append(f"format: {chosen}, by the endings" + f"; {left}" * bool(others))
    elif others:
        found.guesses.append(f"files: those of the format, by the endings; {left}")
    for each in read:
        *folders, _ = each.relative_to(path).parts
        name = each.relative_to(path).as_posix()
        _add(found, each, name, folders[0] if folders else None, asked)
    return found


def _add(found: Found, file: Path, name: str, target: str | None, asked: Asked) -> None:
    """Adds the trees of a class's file, which has a name in its folder."""
    asked.options(found.format)
    try:
        part = _of_trees(_read(file, "a tree"), found.format, asked)
    except TreeFileError as error:
        found.unreadable.append((Place(name), str(error).removeprefix(str(file)).lstrip(", ")))
        return
    found.examples.extend(part.examples)
    found.targets.extend([target] * len(part.examples))
    found.places.extend(Place(name, at.line * (len(part.places) > 1)) for at in part.places)
    found.unreadable.extend((Place(name, at.line), fault) for at, fault in part.unreadable)
