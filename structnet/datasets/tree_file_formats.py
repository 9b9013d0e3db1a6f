"""The formats of trees in files: their parsers, and how a text is split into trees."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any, NamedTuple

from structnet import parse
from structnet.parse import ParseError
from structnet.parse.packed import kind_of
from structnet.parse.phylogenies import statements
from structnet.trees.tree import Tree

# The number of a tree's first line, from 1, and its text.
Text = tuple[int, str]
METADATA = re.compile(r"#\s*([^=\s][^=]*?)\s*=\s*(.*?)\s*")


class Place(NamedTuple):
    """The place of an example: a line of a file, a file in a folder, or a line of such a file.

    Attributes:
        file: path of the file within the folder; "" if there is only one file.
        line: number of the first line, from 1; 0 if the example is the whole file.
        group: name of the example's group, such as an author; "" if no groups are read.

    Example:
        >>> str(Place(line=3)), str(Place("good/first.mrg", 3))
        ('line 3', 'good/first.mrg, line 3')
    """

    file: str = ""
    line: int = 0
    group: str = ""

    def __str__(self) -> str:
        return ", ".join([self.file] * bool(self.file) + [f"line {self.line}"] * bool(self.line))

    @property
    def as_dict(self) -> dict[str, Any]:
        """The known ones of ``file`` and ``line``."""
        return {name: value for name in ("file", "line") if (value := getattr(self, name))}


class Format(NamedTuple):
    """A format of trees.

    Attributes:
        parse: parser for the text of one tree.
        endings: endings of files in this format; empty for formats without endings of their own.
        split: function from the text of a file to the texts of its trees.
    """

    parse: Callable[..., Tree]
    endings: tuple[str, ...]
    split: Callable[[str], Iterator[Text]]


def _lines(text: str) -> Iterator[Text]:
    """One tree on each line that is not blank."""
    return ((i, line) for i, line in enumerate(text.split("\n"), 1) if line.strip())


def whole(text: str) -> Iterator[Text]:
    """One tree, the whole text, unless it is blank."""
    return iter([(1, text)] if text.strip() else [])


def _brackets(text: str) -> Iterator[Text]:
    """Trees in brackets, each on one line or on several.

    A tree ends with the line on which its brackets balance. As a tree that is never closed would
    swallow all that follow, there a new tree begins with each line that begins with a bracket.
    """
    for first, lines in _balanced(enumerate(text.split("\n"), 1)):
        if _depth("\n".join(lines)) > 0:
            yield from _joined(first, lines, lambda line: line.startswith("("))
        else:
            yield first, "\n".join(lines)


def _balanced(lines: Iterable[Text]) -> Iterator[tuple[int, list[str]]]:
    depth, held = 0, list[str]()
    first = 1
    for number, line in lines:
        if not held:
            if not line.strip():
                continue
            first = number
        held.append(line)
        depth += _depth(line)
        if depth <= 0:
            yield first, held
            depth, held = 0, []
    if held:
        yield first, held


def _depth(text: str) -> int:
    return text.count("(") - text.count(")")


def _joined(first: int, lines: Sequence[str], begins: Callable[[str], bool]) -> Iterator[Text]:
    """Joins lines into groups, each of which starts with a line for which ``begins`` is true."""
    starts = [i for i, line in enumerate(lines) if i == 0 or begins(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield first + start, "\n".join(lines[start:end])


def _sentences(text: str) -> Iterator[Text]:
    """The sentences of CoNLL-U, which are separated by blank lines."""
    held: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            held.append(line)
        elif held:
            if not all(each.startswith("#") for each in held):
                yield number - len(held), "\n".join(held)
            held = []


# Penn Treebank trees without empty elements, and with labels reduced to their categories.
PENN: dict[str, Any] = {"remove_traces": True, "strip_functions": True}
NEWICK = (".nwk", ".newick", ".tre", ".treefile", ".nex", ".nexus", ".nxs")
# In the order in which they are tried on trees whose format is not given.
FORMATS: dict[str, Format] = {
    "listops": Format(parse.listops, (), _lines),
    "logic": Format(parse.logic, (), _lines),
    "bracketed": Format(
        parse.bracketed, (".mrg", ".ptb", ".parse", ".brackets", ".tree", ".trees"), _brackets
    ),
    "penn": Format(partial(parse.bracketed, **PENN), (), _brackets),
    "conllu": Format(parse.conllu, (".conllu", ".conll"), _sentences),
    "newick": Format(parse.newick, NEWICK, statements),
    "json": Format(parse.json, (".json",), whole),
    "xml": Format(parse.xml, (".xml", ".svg"), whole),
    "html": Format(parse.html, (".html", ".htm"), whole),
    "python": Format(parse.python, (".py",), whole),
}
# The columns of CoNLL-U that can label a node.
NODE_LABELS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc")
LINES = "jsonl"  # a file of objects with fields, whose trees may be in any format
LINES_ENDINGS = (".jsonl", ".ndjson")
NAMES = (*FORMATS, LINES)
ENDINGS = (*(end for each in FORMATS.values() for end in each.endings), *LINES_ENDINGS)
# Endings of files that may have trees, which only their content can tell.
ANY = (".tsv", ".csv", ".txt")
# A number is valid JSON and a word is valid Python: only texts with these beginnings are guessed.
BEGINS = {"json": ("{", "["), "html": ("<",), "python": ()}


def format_of_ending(path: PurePath) -> str | None:
    """The format that belongs to the ending of a file's name; None if none does.

    Example:
        >>> format_of_ending(PurePath("wsj_0001.MRG")), format_of_ending(PurePath("trees.txt"))
        ('bracketed', None)
    """
    ending = kind_of(path)
    if ending in LINES_ENDINGS:
        return LINES
    return next((name for name, of in FORMATS.items() if ending in of.endings), None)


def format_of_texts(texts: Sequence[object]) -> str | None:
    """The first format in which at least half of the texts are trees; None if there is none.

    Args:
        texts: trees as texts; lists and dicts are JSON that is parsed already.

    Example:
        >>> format_of_texts(["[MAX 1 2 ]", "7"]), format_of_texts(["(NP (DT the) (NN cat))"])
        ('listops', 'bracketed')
        >>> format_of_texts(["( a ( and b ) )"]), format_of_texts(["good morning"])
        ('logic', None)
    """
    for name in FORMATS:
        begins = BEGINS.get(name, "")
        likely = [each for each in texts if not isinstance(each, str) or each.startswith(begins)]
        trees = [tree for text in likely if (tree := tree_or_none(text, name)) is not None]
        # A single leaf is valid in several formats, so it is evidence for none.
        if 2 * len(trees) >= len(texts) > 0 and any(tree.children for tree in trees):
            return name
    return None


def tree_or_none(text: object, format_: str) -> Tree | None:
    """A field parsed as a tree; None if it is not a tree in the format."""
    try:
        return tree_of(text, format_)
    except ValueError:
        return None


def tree_of(text: object, format_: str, **options: Any) -> Tree:
    """A field parsed as a tree.

    Args:
        text: text of the tree; for JSON also lists and dicts that are parsed already.
        format_: name of the format.
        options: keyword arguments of the format's parser.

    Raises:
        ParseError: the text is not in the format.
        ValueError: the field is not a text.
    """
    if isinstance(text, str):
        return FORMATS[format_].parse(text, **options)
    if format_ == "json" and isinstance(text, (list, dict)):
        return parse.json(text)
    raise ValueError(f"expected the text of a tree; got {text!r:.40}")


def trees_in(
    text: str, format_: str, **options: Any
) -> Iterator[tuple[int, str, Tree | ParseError]]:
    """The trees in a text that has nothing else.

    Args:
        text: text of any number of trees.
        format_: name of the format.
        options: keyword arguments of the format's parser.

    Returns:
        For each tree, its line, its text, and the tree or the error.

    Example:
        >>> [str(tree) for *_, tree in trees_in("(NN dog) (NP (DT the)\\n (NN cat))", "bracketed")]
        ['(NN dog)', '(NP (DT the) (NN cat))']
    """
    of = FORMATS[format_]
    for line, one in of.split(text):
        try:
            if of.split is _brackets:  # several trees may begin on one line
                for tree in parse.bracketed_many(one, **(PENN if format_ == "penn" else {})):
                    yield line, one, tree
            else:
                yield line, one, of.parse(one, **options)
        except ParseError as error:
            place = line + error.line - 1
            yield line, one, ParseError(error.message, place, error.column, error.source)


def metadata(text: str) -> dict[str, str]:
    """The comments ``# key = value`` of a sentence in CoNLL-U, as values by key.

    Example:
        >>> metadata("# sent_id = 7\\n# sentiment = good\\n1\\tYes\\t...")
        {'sent_id': '7', 'sentiment': 'good'}
    """
    comments = (line for line in text.split("\n") if line.startswith("#"))
    matches = (METADATA.fullmatch(line.rstrip("\r")) for line in comments)
    return {each[1]: each[2] for each in matches if each}
