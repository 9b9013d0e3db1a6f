"""Parses that other libraries made: nltk, spaCy, conllu. None of them is imported or needed.

An object is read through the attributes and methods that its library documents, so an object of
one's own that has them is read as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from structnet.parse.reading import unfold
from structnet.trees.tree import Tree


def from_nltk(tree: object) -> Tree:
    """The Tree of an ``nltk.Tree``: its labels on inner nodes, its leaves as they are.

    Args:
        tree: an object with ``label()`` that iterates over its children; a child without
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


def from_spacy(parse: Any) -> Tree:
    """The dependency tree of a spaCy ``Doc`` of one sentence, ``Span`` or ``Token``.

    A node's label is ``dep_``, its token ``text``; its children are in the order of the sentence.

    Args:
        parse: a Doc (its ``sents`` must be one), a Span (the tree below its ``root``) or a Token
            (the tree below it).

    Raises:
        ValueError: a Doc of no sentence or several.
        TypeError: none of the three.

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
    token = getattr(parse, "root", parse)
    _expect(hasattr(token, "dep_"), parse, "a parsed spaCy Doc, Span or Token")
    return unfold(token, lambda node: (node.dep_, list(node.children), node.text))


def from_conllu(parse: Any, *, label: str = "deprel", token: str = "form") -> Tree:
    """The dependency tree of a ``TokenList`` or ``TokenTree`` of the conllu package.

    Args:
        parse: an object with ``to_tree()``, or one with ``token`` (a mapping) and ``children``.
        label: the field that becomes a node's label.
        token: the field that becomes its token.

    Raises:
        TypeError: neither of the two.

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
    return unfold(parse, lambda node: (node.token[label], list(node.children), node.token[token]))


def _expect(is_so: bool, got: object, expected: str) -> None:
    if not is_so:
        raise TypeError(f"expected {expected}; got {type(got).__name__}")
