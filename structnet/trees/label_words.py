"""The words of texts and of compound names at leaves, as leaves below them.

A text, or a name such as ``getElementById``, is one label, and mostly one that no other tree has,
while its words occur in others too. So do its numbers, as words: in "0 0 24 24" or "error 404" they
name a size or a kind, which a value would not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any
from unicodedata import category, normalize

from structnet.trees.number_tokens import number_of
from structnet.trees.tree import Tree

MOST = 50  # words below a leaf
LONG = 200  # letters of a word that are read; scripts without spaces have long words
SHORT = 100  # characters of a label that is cached with its words, as it may occur again
CACHED = 2**16  # labels that are cached, each as one object
# Such as 404, 24.5, .5, 1e-5, 192.168.1.1; x1, 4px, 1.x and v1.2 are not cut apart.
NUMBER = re.compile(r"(?<!\w)(?<!\w\.)(?:\d+(?:\.\d+)*|(?<!\.)\.\d+)(?:[eE][-+]?\d+)?(?!\.?\w)")


class Text(Tree):
    """A leaf whose label is several words, with these as leaves below it.

    A :class:`~structnet.trees.forest.Forest` stores it as one node, with the token of its label and
    the tokens of its words.
    """

    __slots__ = ()


def with_words(tree: Tree) -> Tree:
    """The tree with each leaf whose label is several words replaced by a :class:`Text` over these.

    Words are runs of letters, in lower case, and numbers, written with a # before them and without
    their sign (a comma separates numbers); at most the first 50. A capital after a small letter
    begins a word, and so does the last of several capitals before a small letter. Labels that are
    numbers or single words stay as they are, also with digits that touch the word, as do inner
    nodes, leaves with a token, and texts in scripts without spaces between words. A tree without
    such leaves is returned itself.

    Call this after all other changes to a tree: :meth:`.Tree.map` treats words as nodes, but keeps
    texts; networkx, DGL and others that make a new tree turn both into nodes, or drop the words.

    Args:
        tree: tree to change.

    Example:
        >>> tree = Tree("Call", [Tree("getIpv4"), Tree("'main page'"), Tree("x1")])
        >>> with_words(tree)
        <Tree (Call (getIpv4 get ipv #4) ('main page' main page) x1)>
        >>> with_words(Tree("rect", [Tree("0 0 24.5 x2"), Tree("-24.5")]))
        <Tree (rect (0 0 24.5 x2 #0 #0 #24.5 x #2) -24.5)>
    """
    return with_leaves(tree, _over_own_words)


def without_words(tree: Tree) -> Tree:
    """The tree without the words below its texts; the inverse of :func:`with_words`."""
    return with_leaves(tree, lambda leaf: Tree(leaf.label) if isinstance(leaf, Text) else leaf)


def with_leaves(tree: Tree, new: Callable[[Tree], Tree]) -> Tree:
    """The tree with new leaves, or itself if none differs; a text counts as a leaf."""
    done: dict[int, Tree] = {}
    for node in tree.postorder(once=True):
        made = node
        if own_children(node):
            below = [done[id(child)] for child in node.children]
            if any(a is not b for a, b in zip(below, node.children, strict=True)):
                made = Tree(node.label, below, node.token)
        else:
            made = new(node)
        done[id(node)] = made
    return done[id(tree)]


def _over_own_words(leaf: Tree) -> Tree:
    """A leaf with its words below it, if it is a text without them."""
    if not isinstance(leaf.label, str) or leaf.token is not None or leaf.children:
        return leaf
    read = _kept if len(leaf.label) <= SHORT else _over_words
    return read(leaf.label) or leaf


def word_ids(nodes: Iterable[Any]) -> set[int]:
    """The ``id`` of each word of the texts among some nodes."""
    return {id(word) for node in nodes if isinstance(node, Text) for word in node.children}


def as_read(word: Tree) -> str:
    """A word of a text for people to read: a number among words without its #."""
    return str(word.label).removeprefix("#")


def spelled(node: Tree, numbers: bool = False) -> tuple[str, ...]:
    """The words of a text, or the label and token of another node, with their letters as written.

    Before and behind a word stands what is there in the text, or a space at its ends: a capital, or
    a hyphen, tells how words are put together. Labels that are not strings are skipped; a word of a
    text that is not a string gives ``""``.

    Args:
        node: node whose own label is spelled.
        numbers: True to leave out what spells a number, whose value is read.

    Example:
        >>> spelled(with_words(Tree("getElement-by 12")))
        (' getE', 'tElement-', '-by ', ' 12 ')
        >>> spelled(Tree("item", [Tree("x")], token=3)), spelled(Tree("2.5"), numbers=True)
        ((' item ',), ())
    """
    if not isinstance(node, Text):
        read = [each for each in (node.label, node.token) if isinstance(each, str)]
        read = [each for each in read if not numbers or number_of(each) is None]
        return tuple(f" {normalize('NFC', each)[:LONG]} " for each in read)
    label = node.label if isinstance(node.label, str) else ""
    pieces = (_kept_places if len(label) <= SHORT else _in_places)(label)
    known: list[str] = []
    for i, word in enumerate(node.children):
        if i < len(pieces) and pieces[i][0] == word.label:
            known.append(pieces[i][1])
        else:  # it was changed since
            known.append(f" {word.label} " if isinstance(word.label, str) else "")
    return tuple(known)


def _in_places(label: str) -> tuple[tuple[str, str], ...]:
    """The words of a text, as they are read, and as they are written with what is beside them."""
    text, end, pieces = f" {normalize('NFC', label)} ", 0, []
    for word in islice(_words_and_numbers(label, True), MOST):
        written = word.removeprefix("#")
        begin = text.find(written, max(end, 1))
        if begin < 0:  # an accent over a digit before it
            pieces.append((word.lower(), f" {written} "))
            continue
        end = begin + len(written)
        pieces.append((word.lower(), text[begin - 1 : end + 1][:LONG]))
    return tuple(pieces)


_kept_places = lru_cache(CACHED)(_in_places)


def own_children(node: Tree) -> tuple[Tree, ...]:
    """The children of a node, without words."""
    return () if isinstance(node, Text) else node.children


def own_nodes(tree: Tree) -> list[Tree]:
    """The nodes of a tree in preorder, without words."""
    nodes, stack = [], [tree]
    while stack:
        nodes.append(stack.pop())
        stack.extend(reversed(own_children(nodes[-1])))
    return nodes


def _over_words(label: str) -> Text | None:
    """A label with its words below it; None if it has fewer than two."""
    if number_of(label) is not None or len(list(islice(_words_and_numbers(label), 2))) < 2:
        return None
    words = islice(_words_and_numbers(label, True), MOST)
    return Text(label, [word_tree(word.lower()) for word in words])


_kept = lru_cache(CACHED)(_over_words)


@lru_cache(CACHED)
def word_tree(word: str) -> Tree:
    """The leaf of a word, one object for all places where the word is."""
    return Tree(word)


def _words_and_numbers(label: str, digits: bool = False) -> Iterator[str]:
    """The words and numbers of a label; a # before numbers marks them as words, not values.

    Args:
        label: a text or a name.
        digits: True to give the digits that letters touch, too.
    """
    begin = 0
    for number in NUMBER.finditer(label):
        yield from _words(label[begin : number.start()], digits)
        yield f"#{number[0]}"
        begin = number.end()
    yield from _words(label[begin:], digits)


def _words(label: str, digits: bool) -> Iterator[str]:
    word = ""
    for letter in normalize("NFC", label):
        if digits and letter.isdecimal():
            if word[:1] != "#":
                if word:
                    yield word
                word = "#"
            word += letter
            continue
        if word[:1] == "#":
            yield word
            word = ""
        if not letter.isalpha():
            if word and category(letter)[0] == "M":  # an accent, or a vowel over its consonant
                word += letter
            elif word:
                yield word
                word = ""
            continue
        if word and letter.isupper() and not word[-1].isupper():
            yield word
            word = ""
        elif letter.islower() and word[-2:].isupper() and len(word) > 1:
            yield word[:-1]
            word = word[-1]
        word += letter
    if word:
        yield word
