"""Converts what users have for a tree to a Tree."""

from __future__ import annotations

import re
from os import PathLike
from typing import Any

from structnet.parse.brackets import bracketed
from structnet.parse.errors import ParseError
from structnet.parse.graphs import networkx_tree
from structnet.parse.node_objects import NESTED, from_tree_sitter, is_tree_sitter
from structnet.parse.objects import from_conllu, from_nltk, from_spacy
from structnet.trees.tree import Tree

PLAIN = re.compile(r"[^()<>{}\[\]=]*\w\s+\w[^()<>{}\[\]=]*")  # words without any sign of a tree
# Named where something is no tree, as it may be one of another format.
OTHERS = (
    "; structnet.parse has readers for JSON (text or values), XML, HTML, Newick and Python source, "
    f"nested for {NESTED}, and from_nodes for objects that hold those below them"
)


def as_tree(tree: Any) -> Tree:
    """Converts a Tree, bracketed text, or another library's parse to a Tree.

    The libraries are nltk, spaCy, conllu, networkx and tree-sitter.

    Raises:
        TypeError: the object is none of these.
        ParseError, ValueError: the object does not contain a tree.

    Example:
        >>> as_tree("(NP (DT the) (NN cat))")
        <Tree (NP (DT the) (NN cat))>
    """
    if isinstance(tree, Tree):
        return tree
    if isinstance(tree, str):
        return _of_text(tree)
    if callable(getattr(tree, "label", None)):
        return from_nltk(tree)
    if hasattr(tree, "adj") and hasattr(tree, "is_directed"):
        return networkx_tree(tree)
    if is_tree_sitter(tree):
        return from_tree_sitter(tree)
    if hasattr(tree, "to_tree") or (hasattr(tree, "token") and hasattr(tree, "children")):
        return from_conllu(tree)
    if isinstance(tree, (tuple, list)):
        kind = type(tree).__name__
        raise TypeError(f"a tree cannot be a {kind}; structnet.parse.nested reads {NESTED}")
    spacy = any(hasattr(tree, name) for name in ("sents", "root", "dep_"))
    if spacy and not isinstance(tree, PathLike):  # a Path has a root, too
        return from_spacy(tree)
    raise TypeError(
        "a tree must be a structnet.Tree, bracketed text, or a parse of nltk, spaCy, conllu, "
        f"networkx or tree-sitter; got {type(tree).__name__}{OTHERS}"
    )


def _of_text(text: str) -> Tree:
    try:
        return bracketed(text)
    except ParseError as error:
        if text.rstrip().endswith(");") and "newick" not in error.message:
            message = error.message + "; structnet.parse.newick reads Newick"
            raise error.but(message=message) from None
        if text.lstrip().startswith("("):
            raise
        if PLAIN.fullmatch(text):
            hint = "; a sentence without a tree is one node, Tree(sentence), whose words are read"
            raise error.but(message=error.message + hint) from None
        alone = "; a tree of one node is (label)" if len(text.split()) == 1 else ""
        raise error.but(message=error.message + alone + OTHERS) from None
