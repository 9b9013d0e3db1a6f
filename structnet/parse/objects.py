"""Parses made by other libraries: nltk, spaCy, conllu. None of them is imported or needed.

An object is read through the attributes and methods that its library documents, so that any other
object that has these is read as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

from structnet.checks import check_one_of
from structnet.parse.dependencies import JOINED
from structnet.parse.reading import unfold
from structnet.trees.tree import Tree


def from_nltk(tree: object) -> Tree:
    """The Tree of an ``nltk.Tree``: inner nodes have its labels, leaves are kept as they are.

    Args:
        tree: object with a method ``label()``, over whose children one can iterate; a child without
            ``label`` is a leaf.

    Raises:
        TypeError: the object has no ``label`` method.

    Example:
        >>> class NltkTree(list):
        ...     def __init__(self, label, children):
        ...         super().__init__(children)
        ...         self.label = lambda: label
        >>> from_nltk(NltkTree("NP", [NltkTree("DT", ["the"]), NltkTree("NN", ["cat"])]))
        <Tree (NP (DT the) (NN cat))>
    """

    # Told by what they have, not by their class: no library need be installed to read its trees.
    def expand(node: Any) -> tuple[Hashable, Sequence, None]:
        if callable(getattr(node, "label", None)):
            return node.label(), list(node), None
        return node, (), None

    _expect(callable(getattr(tree, "label", None)), tree, "an nltk.Tree, with a label() method")
    return unfold(tree, expand)


def from_spacy(
    parse: Any, *, roots: Literal["raise", "join"] = "raise", sides: bool = False
) -> Tree:
    """The dependency tree of a spaCy ``Doc`` of one sentence, ``Span`` or ``Token``.

    A node's label is ``dep_``, its token ``text``; its children are in the order of the sentence.

    Args:
        parse: a Doc (with one sentence in ``sents``), a Span (of which only the words inside are
            read) or a Token (the tree below it).
        roots: "raise" to allow only one word of a Span with its head outside; "join" to put several
            under a node ``<roots>``.
        sides: True to mark each label with the side of its head that the word is on, as
            :func:`conllu` does.

    Raises:
        ValueError: a Doc does not have exactly one sentence; a Span has several roots; or ``roots``
            is neither of the two.
        TypeError: ``parse`` is none of the three.

    Example:
        >>> from types import SimpleNamespace as Token
        >>> dogs = Token(dep_="nsubj", text="Dogs", children=[])
        >>> from_spacy(Token(dep_="ROOT", text="bark", children=[dogs]))
        <Tree (ROOT/bark nsubj/Dogs)>
    """
    if hasattr(parse, "sents") and not hasattr(parse, "root"):
        sentences = list(parse.sents)
        if len(sentences) != 1:
            raise ValueError(
                f"a tree is one sentence and the Doc has {len(sentences)}; "
                f"read them one by one: [from_spacy(s) for s in doc.sents]"
            )
        parse = sentences[0]
    check_one_of("roots", roots, ("raise", "join"), "from_spacy")
    _expect(
        hasattr(getattr(parse, "root", parse), "dep_"), parse, "a parsed spaCy Doc, Span or Token"
    )
    if not hasattr(parse, "root"):
        return unfold(parse, _SpacyWords(None, parse, sides))
    words = range(parse.start, parse.end)
    tops = [word for word in parse if word.head.i == word.i or word.head.i not in words]
    if len(tops) > 1 and roots == "raise":
        raise ValueError(
            f"{len(tops)} words of the Span have their head outside of it, {tops[0].text!r} and "
            f"{tops[1].text!r} first; a tree has one root, unless roots='join'"
        )
    trees = [unfold(top, _SpacyWords(words, top, sides)) for top in tops]
    return trees[0] if len(trees) == 1 else Tree(JOINED, trees)


class _SpacyWords:
    """How a spaCy token becomes a node, for :func:`unfold`.

    Args:
        words: numbers of the words that may be nodes; None is all.
        top: root, whose label bears no mark.
        sides: mark labels with the side of the head?
    """

    def __init__(self, words: range | None, top: Any, sides: bool) -> None:
        self.words, self.top, self.sides = words, top, sides

    def __call__(self, word: Any) -> tuple[Hashable, Sequence, Hashable]:
        label = word.dep_
        if self.sides and word.i != self.top.i:
            label += "<" if word.i < word.head.i else ">"
        below = [child for child in word.children if self.words is None or child.i in self.words]
        return label, below, word.text


def from_conllu(
    parse: Any, *, label: str = "deprel", token: str = "form", sides: bool = False
) -> Tree:
    """The dependency tree of a ``TokenList`` or ``TokenTree`` of the conllu package.

    Args:
        parse: an object with ``to_tree()``, or one with ``token`` (a mapping) and ``children``.
        label: field that becomes a node's label.
        token: field that becomes a node's token.
        sides: True to mark each label with the side of its head that the word is on, as
            :func:`conllu` does.

    Raises:
        TypeError: ``parse`` is neither of the two.

    Example:
        >>> from types import SimpleNamespace as TokenTree
        >>> dogs = TokenTree(token={"form": "Dogs", "deprel": "nsubj"}, children=[])
        >>> from_conllu(TokenTree(token={"form": "bark", "deprel": "root"}, children=[dogs]))
        <Tree (root/bark nsubj/Dogs)>
    """
    if callable(getattr(parse, "to_tree", None)):
        parse = parse.to_tree()
    known = hasattr(parse, "token") and hasattr(parse, "children")
    _expect(known, parse, "a conllu TokenList or TokenTree")

    def expand(node: Any) -> tuple[Hashable, Sequence, Hashable]:
        word, name = node.token, node.token[label]
        if sides and word["head"]:
            name += "<" if word["id"] < word["head"] else ">"
        return name, list(node.children), word[token]

    return unfold(parse, expand)


def _expect(is_so: bool, got: object, expected: str) -> None:
    if not is_so:
        raise TypeError(f"expected {expected}; got {type(got).__name__}")
