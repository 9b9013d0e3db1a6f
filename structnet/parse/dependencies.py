"""Dependency trees in the CoNLL-U format of Universal Dependencies.

Reference:
    Nivre et al., "Universal Dependencies v2", LREC 2020; https://universaldependencies.org/format
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from structnet.parse.errors import ParseError
from structnet.parse.reading import cycle_above, numbered_lines
from structnet.trees.tree import Tree

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
DIGITS = 19  # no sentence has so many words that it takes them to number one
_HEAD = COLUMNS.index("head")


def conllu(text: str | Iterable[str], *, label: str = "deprel", token: str = "form") -> Tree:
    """The dependency tree of a text of one sentence.

    Every word is a node: its relation to its head is the label, the word itself the token, and
    its children are the words that depend on it, in the order of the sentence. Comments,
    multiword tokens (``1-2``) and empty nodes (``1.1``) are skipped.

    Args:
        text: the lines of a sentence, ten columns each, separated by tabs.
        label: the column that becomes a node's label.
        token: the column that becomes its token.

    Raises:
        ParseError: a line without ten columns, words not numbered 1, 2, 3 ..., a head outside of
            the sentence, no root or two, a cycle, a second sentence, or none.
        ValueError: ``label`` or ``token`` is not the name of a column.

    Example:
        >>> row = "{}\\t{}\\t_\\t_\\t_\\t_\\t{}\\t{}\\t_\\t_".format
        >>> text = [row(1, "Dogs", 2, "nsubj"), row(2, "bark", 0, "root")]
        >>> conllu(text)
        <Tree (root/bark nsubj/Dogs)>
    """
    sentences = _sentences(text)
    words = next(sentences, None)
    if words is None:
        raise ParseError("no sentence", 1, 1, "")
    second = next(sentences, None)
    if second is not None:
        raise second[0].error("a second sentence; conllu_many reads several", 0)
    return _tree(words, _column("label", label), _column("token", token))


def conllu_many(
    text: str | Iterable[str], *, label: str = "deprel", token: str = "form"
) -> Iterator[Tree]:
    """The dependency trees of a text or an open file, one a sentence, as :func:`conllu` reads it.

    Args:
        text: sentences separated by blank lines; or an iterable of lines.
        label, token: arguments of :func:`conllu`.

    Raises:
        ParseError, ValueError: as for :func:`conllu`, but for the number of sentences.

    Example:
        >>> row = "1\\t{}\\t_\\t_\\t_\\t_\\t0\\troot\\t_\\t_".format
        >>> list(conllu_many([row("Yes"), "", "# a comment", row("No")]))
        [<Tree root/Yes>, <Tree root/No>]
    """
    columns = _column("label", label), _column("token", token)
    return (_tree(words, *columns) for words in _sentences(text))


class _Word(NamedTuple):
    line: int
    source: str
    fields: list[str]
    head: int

    def error(self, message: str, field: int) -> ParseError:
        """The error in one field of this word."""
        column = sum(len(text) + 1 for text in self.fields[:field]) + 1
        return ParseError(message, self.line, column, self.source)


def _column(argument: str, name: str) -> int:
    if name not in COLUMNS:
        raise ValueError(f"{argument} must be a column of CoNLL-U, {COLUMNS}; got {name!r}")
    return COLUMNS.index(name)


def _sentences(text: str | Iterable[str]) -> Iterator[list[_Word]]:
    words: list[_Word] = []
    for number, line in numbered_lines(text):
        if not line.strip():
            if words:
                yield words
            words = []
        elif not line.startswith("#"):
            word = _word(number, line, len(words) + 1)
            if word is not None:
                words.append(word)
    if words:
        yield words


def _word(number: int, line: str, expected_id: int) -> _Word | None:
    """One line as a word; None for a multiword token or an empty node."""
    fields = line.split("\t")
    if len(fields) != len(COLUMNS):
        message = f"{len(fields)} columns separated by tabs; expected {len(COLUMNS)}"
        raise ParseError(message, number, 1, line)
    if re.fullmatch(r"[0-9]+[-.][0-9]+", fields[0]):  # 3-4 is a multiword token, 3.1 is empty
        return None
    head = -1
    if re.fullmatch(r"[0-9]+", fields[_HEAD]):  # of more digits than Python reads: far outside
        head = int(fields[_HEAD]) if len(fields[_HEAD]) < DIGITS else 10**DIGITS
    word = _Word(number, line, fields, head)
    if fields[0] != str(expected_id):
        raise word.error(f"word number {fields[0]!r}; expected {expected_id}", 0)
    if head < 0:
        raise word.error(f"the head must be a number; got {fields[_HEAD]!r}", _HEAD)
    return word


def _tree(words: list[_Word], label: int, token: int) -> Tree:
    dependents = _dependents(words)
    # Heads before their dependents; so the reversed order builds children before parents.
    order = [dependents[0][0]]
    for number in order:  # the list grows while it is walked: it is its own queue
        order.extend(dependents[number])
    if len(order) < len(words):
        raise _cycle(words, set(order))
    nodes: dict[int, Tree] = {}
    for number in reversed(order):
        children = [nodes.pop(child) for child in dependents[number]]
        fields = words[number - 1].fields
        nodes[number] = Tree(fields[label], children, fields[token])
    return nodes[order[0]]


def _dependents(words: list[_Word]) -> list[list[int]]:
    """For each number of a word, and 0 for the root's head, the words below it, in order."""
    dependents: list[list[int]] = [[] for _ in range(len(words) + 1)]
    for number, word in enumerate(words, start=1):
        if word.head > len(words):
            message = f"head {word.fields[_HEAD][:DIGITS]} in a sentence of {len(words)} words"
            raise word.error(message, _HEAD)
        if word.head == 0 and dependents[0]:
            first = words[dependents[0][0] - 1].line
            raise word.error(f"a second root; the first one is on line {first}", _HEAD)
        dependents[word.head].append(number)
    if not dependents[0]:
        raise words[0].error("no root; one word of the sentence must have head 0", _HEAD)
    return dependents


def _cycle(words: list[_Word], reached: set[int]) -> ParseError:
    start = next(n for n in range(1, len(words) + 1) if n not in reached)
    cycle = cycle_above(start, lambda number: words[number - 1].head)
    shown = " -> ".join(map(str, cycle[:8])) + " -> ..." * (len(cycle) > 8)
    return words[cycle[0] - 1].error(f"a cycle of heads: {shown} -> {cycle[0]}", _HEAD)
