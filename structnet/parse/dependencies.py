"""Dependency trees, from tables of one word per line.

Sentences are separated by blank lines.

============  ===================================================================================
``format``    columns
============  ===================================================================================
``"conllu"``  ``id form lemma upos xpos feats head deprel deps misc``, ten columns separated by
              tabs. Lines that begin with ``#`` are comments; multiword tokens (``1-2``) and empty
              nodes (``1.1``) are skipped.
``"conllx"``  ``id form lemma cpostag postag feats head deprel phead pdeprel``, ten columns or the
              first eight, separated by tabs. Comments are skipped too.
``"dp"``      ``form tag head deprel``, or without ``deprel``, separated by tabs or by spaces. Words
              are numbered from 1 by their places; there are no comments.
============  ===================================================================================

References:
    Nivre et al., "Universal Dependencies v2", LREC 2020; https://universaldependencies.org/format
    Buchholz and Marsi, "CoNLL-X shared task on multilingual dependency parsing", CoNLL 2006.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from structnet.checks import check_one_of
from structnet.parse.errors import ParseError, warn_of_skipped
from structnet.parse.lines import UTF_8, Line, Lines, file_name, line_text, raw_lines
from structnet.parse.reading import Parsing, in_batches
from structnet.parse.word_tables import Format, Sentence, blocks, layout_of, sentence_of
from structnet.trees.tree import Tree

JOINED = "<roots>"  # the label of the node over several roots


def conllu(
    text: str | bytes | Iterable[str] | Iterable[bytes],
    *,
    label: str | None = None,
    token: str = "form",
    format: Format = "conllu",
    roots: Literal["raise", "join"] = "raise",
    sides: bool = False,
) -> Tree:
    """The dependency tree of a text with one sentence.

    Every word is a node: its relation to its head is the label, the word itself the token, and
    its children are the words that depend on it, in the order of the sentence. The place of the
    head among them is only kept with ``sides``.

    Reading takes about 6 times the memory of a treebank, and 100 times that of the densest texts.

    Args:
        text: lines of a sentence; bytes must be UTF-8.
        label: column that becomes a node's label; None for ``deprel``, or ``tag`` in sentences
            without relations.
        token: column that becomes a node's token.
        format: "conllu", "conllx" or "dp", as described at the top of this module.
        roots: "raise" to allow one root only; "join" to put several under a node ``<roots>``.
        sides: True to mark each label with the side of the head that the word is on, ``nsubj<``
            before it and ``obj>`` after it, so that "John sees Mary" and "John Mary sees" differ.
            The marks are part of the labels so that models that sum over children see them too.

    Raises:
        ParseError: a line has a wrong number of columns, words are not numbered 1, 2, 3 ..., a head
            is outside of the sentence, there is no root, or a second one that is not allowed, a
            cycle, a second sentence, or no sentence.
        ValueError: ``label`` or ``token`` is not the name of a column, or ``format`` or ``roots``
            is none of those listed.

    Example:
        >>> row = "{}\\t{}\\t_\\t_\\t_\\t_\\t{}\\t{}\\t_\\t_".format
        >>> text = [row(1, "Dogs", 2, "nsubj"), row(2, "bark", 0, "root")]
        >>> conllu(text)
        <Tree (root/bark nsubj/Dogs)>
        >>> conllu(["Dogs NNS 2", "bark VBP 0"], format="dp", sides=True)
        <Tree (VBP/bark NNS</Dogs)>
    """
    check_one_of("roots", roots, ("raise", "join"), "conllu")
    reader = _Reader(label, token, format, roots, sides, UTF_8)
    tree = None
    with Parsing(text):
        for block in blocks(raw_lines(text), reader.layout):
            if tree is not None:
                number, line = block[0]
                message = "a second sentence; conllu_many reads several"
                raise ParseError(message, number, 1, line_text(line, number))
            tree = reader.tree(block)  # None of a block that holds no word
    if tree is None:
        raise ParseError("no sentence", 1, 1, "")
    return tree


def conllu_many(
    text: Lines,
    *,
    label: str | None = None,
    token: str = "form",
    format: Format = "conllu",
    roots: Literal["raise", "join", "skip"] = "raise",
    sides: bool = False,
    errors: Literal["raise", "skip"] = "raise",
    encoding: str = UTF_8,
) -> Iterator[Tree]:
    """Yields the dependency tree of each sentence of a text or a file, as read by :func:`conllu`.

    Up to 1,024 trees of a text or a file are made before they are used.

    Args:
        text: sentences separated by blank lines; a ``Path`` to a file of them; or its lines.
        label, token, format, sides: arguments of :func:`conllu`.
        roots: "raise" to allow one root only; "join" to put several under a node ``<roots>``;
            "skip" to leave out sentences with several.
        errors: "raise" to stop at the first invalid sentence; "skip" to leave invalid sentences
            out and end with one warning that says how many there were.
        encoding: encoding of a file, and of lines that are bytes.

    Raises:
        ParseError, ValueError: as for :func:`conllu`, but with any number of sentences.
        OSError: the file cannot be read.
        LookupError: Python does not know the encoding.

    Warns:
        UserWarning: sentences were left out because of ``errors``.

    Example:
        >>> row = "1\\t{}\\t_\\t_\\t_\\t_\\t0\\troot\\t_\\t_".format
        >>> list(conllu_many([row("Yes"), "", "# a comment", row("No")]))
        [<Tree root/Yes>, <Tree root/No>]
    """
    check_one_of("roots", roots, ("raise", "join", "skip"), "conllu_many")
    check_one_of("errors", errors, ("raise", "skip"), "conllu_many")
    reader = _Reader(label, token, format, roots, sides, encoding)
    sentences = blocks(raw_lines(text, encoding), reader.layout)
    return in_batches(_trees(reader, sentences, errors == "skip", file_name(text)), text)


def _trees(
    reader: _Reader, sentences: Iterable[list[Line]], skip: bool, name: str | None
) -> Iterator[Tree]:
    total = 0
    bad: list[ParseError] = []
    for block in sentences:
        total += 1
        try:
            tree = reader.tree(block)
        except ParseError as error:
            bad.append(error.but(file=name))
            if not skip:
                raise bad[0] from None
            continue
        if tree is not None:
            yield tree
    warn_of_skipped(bad, total, "sentences", name)


class _Words(dict[tuple[str, str], Tree]):
    """The leaves: words without dependents, each stored once however often it occurs."""

    def __missing__(self, key: tuple[str, str]) -> Tree:
        name, word = key
        leaf = self[key] = Tree(name, (), word)
        return leaf


class _Reader:
    """Trees from the lines of sentences."""

    def __init__(
        self, label: str | None, token: str, format: str, roots: str, sides: bool, encoding: str
    ) -> None:
        self.layout = layout = layout_of(format, "conllu")
        self.label = None if label is None else layout.column("label", label)
        self.token = layout.column("token", token)
        self.roots, self.sides, self.encoding = roots, sides, encoding
        self.leaves = _Words()

    def tree(self, block: list[Line]) -> Tree | None:
        """The tree of a sentence; None if it has no words, or several roots that are skipped."""
        sentence = sentence_of(block, self.layout, self.encoding)
        if not sentence.rows:
            return None
        below = sentence.dependents()
        roots = below[0]
        if len(roots) > 1 and self.roots != "join":
            if self.roots == "skip":
                return None
            first = sentence.lines[roots[0] - 1][0]
            raise sentence.head_error(f"a second root; the first one is on line {first}", roots[1])
        # Heads before their dependents; so the reversed order builds children before parents.
        order = list(roots)
        for number in order:  # the list grows while it is walked: it is its own queue
            order += below[number]
        if len(order) < len(sentence.rows):
            raise sentence.cycle(set(order))
        nodes = self._nodes(sentence, below, order)
        trees = [nodes[number] for number in roots]
        return trees[0] if len(trees) == 1 else Tree(JOINED, trees)

    def _nodes(
        self, sentence: Sentence, below: list[list[int]], order: list[int]
    ) -> dict[int, Tree]:
        leaves, token, label = self.leaves, self.token, self._label(sentence)
        named = [(fields[label], fields[token]) for fields in sentence.rows]
        if self.sides:
            numbered = enumerate(zip(sentence.heads, named, strict=True), start=1)
            named = [
                (name if not head else f"{name}<" if number < head else f"{name}>", word)
                for number, (head, (name, word)) in numbered
            ]
        nodes: dict[int, Tree] = {}
        for number in reversed(order):
            children = below[number]
            if children:
                name, word = named[number - 1]
                nodes[number] = Tree(name, [nodes[child] for child in children], word)
            else:
                nodes[number] = leaves[named[number - 1]]
        return nodes

    def _label(self, sentence: Sentence) -> int:
        """The column of labels, once every line of a sentence has it."""
        columns = self.layout.columns
        width = min(map(len, sentence.rows))
        label = self.label
        if label is None:
            label = columns.index("deprel")
            label = columns.index("tag") if label >= width else label
        column = max(label, self.token)
        if column >= width:
            place = next(i for i, row in enumerate(sentence.rows) if len(row) <= column)
            message = f"no column {columns[column]!r} in a line of {width} columns"
            raise sentence.error(message, place, 0)
        return label
