"""Nested nodes: tuples, lists, dicts, and objects of other libraries or your own classes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from structnet.parse.reading import unfold
from structnet.trees.tree import Tree

# What gives something of a node: the name of an attribute, of a method or of a key, or a function.
Of: TypeAlias = str | Callable[[Any], Any]
NESTED = "tuples and lists (label, child, child, ...)"


def from_nodes(
    root: object, *, label: Of = "name", children: Of = "children", token: Of | None = None
) -> Tree:
    """The Tree of nested nodes, objects or dicts, of any library.

    ====================================  ======================================================
    anytree, bigtree, ete, scikit-bio     no arguments; for the lengths of branches
                                          ``token="dist"`` (ete), ``"length"`` (scikit-bio)
    Bio.Phylo, a tree's ``root``          ``children="clades", token="branch_length"``
    D3's JSON, ``{"name": "a",            no arguments, or ``token="value"``
    "children": [..]}``
    ElementTree, a tree's ``getroot()``   ``label="tag", children=list, token="text"``, without
                                          attributes and text between elements
    ====================================  ======================================================

    :func:`xml` keeps an element's attributes and all of its text:
    ``xml(ElementTree.tostring(element))``.

    Args:
        root: the outermost node.
        label: name of an attribute, a method or a key, or a function, that gives a node's label; a
            node whose label is None is labelled with the name of its class.
        children: name or function, as for ``label``, that gives a node's children in order; a node
            without it, or with None, is a leaf.
        token: name or function, as for ``label``, that gives a node's token; a node without it, or
            with None, has no token.

    Raises:
        ValueError: a node has no label, the root has no children of that name, or a node contains
            itself.
        TypeError: the children of a node are not a sequence of nodes.

    Example:
        >>> from_nodes({"name": "animal", "children": [{"name": "cat"}, {"name": "dog"}]})
        <Tree (animal cat dog)>
        >>> class Part:
        ...     def __init__(self, kind, *parts):
        ...         self.kind, self.parts = kind, parts
        >>> from_nodes(Part("car", Part("wheel"), Part("door")), label="kind", children="parts")
        <Tree (car wheel door)>
    """
    if isinstance(children, str) and _absent(root, children):
        raise ValueError(_lacking(root, "children", children))

    def expand(node: Any) -> tuple[Hashable, Sequence, Hashable | None]:
        if isinstance(label, str) and _absent(node, label):
            raise ValueError(_lacking(node, "label", label))
        name = _of(node, label)
        below = _of(node, children)
        if isinstance(below, (str, bytes, Mapping)) or not isinstance(below, Iterable | None):
            raise TypeError(f"the children of a node must be nodes in a row; got {below!r:.60}")
        carried = None if token is None else _of(node, token)
        kind = type(node).__name__
        return kind if name is None else name, () if below is None else list(below), carried

    return unfold(root, expand)


def nested(node: Any) -> Tree:
    """The Tree of nested tuples and lists ``(label, child, child, ...)``, whose leaves are labels.

    Labels keep their types: 2 and "2" are different ones. Children are not in a list of their own.

    Args:
        node: tuple or list of a label and the children, each of which is such a tuple or list, the
            label of a leaf, or a Tree; for a tree of one node its label, alone or in a tuple.

    Raises:
        ValueError: a tuple or list is empty, does not begin with a label, or contains itself.
        TypeError: a label is None or not hashable.

    Example:
        >>> nested(("S", ("NP", "the", "cat"), ("VP", "sleeps")))
        <Tree (S (NP the cat) (VP sleeps))>
        >>> import json
        >>> nested(json.loads('["+", 1, ["*", 2, 3]]'))
        <Tree (+ 1 (* 2 3))>
    """

    def expand(node: Any) -> tuple[Hashable, Sequence, None]:
        label, *below = node if isinstance(node, (tuple, list)) and node else (node,)
        if isinstance(label, (tuple, list)):
            got = f"is empty, {node!r}" if not node else f"begins with {label!r:.60}"
            raise ValueError(
                f"a {type(node).__name__} {got}; expected a label and then the children, "
                "(label, child, child, ...)"
            )
        if label is None or not isinstance(label, Hashable):
            raise TypeError(
                f"a label of nested tuples and lists must be hashable and not None; got "
                f"{type(label).__name__}"
            )
        return label, below, None

    return unfold(node, expand)


def from_tree_sitter(parsed: Any, *, punctuation: bool = False) -> Tree:
    """The syntax tree of source code in any language that tree-sitter has a grammar for.

    A node is labelled with its type. Nodes that are named in the grammar and have no children, such
    as identifiers, numbers and comments, get their text as a leaf below them. Words and signs that
    are not named in the grammar, such as ``if`` and ``+``, are leaves.

    Args:
        parsed: a ``tree_sitter.Tree`` or ``Node``.
        punctuation: True to keep brackets, commas and semicolons, which tell nothing that the tree
            does not.

    Raises:
        TypeError: ``parsed`` is neither.

    Example:
        >>> from types import SimpleNamespace as Node
        >>> x = Node(type="identifier", text=b"x", is_named=True, children=[])
        >>> minus, end = (Node(type=t, is_named=False, children=[]) for t in "-;")
        >>> from_tree_sitter(Node(type="unary", is_named=True, children=[minus, x, end]))
        <Tree (unary - (identifier x))>
    """
    if not is_tree_sitter(parsed):
        raise TypeError(f"expected a tree_sitter.Tree or Node; got {type(parsed).__name__}")

    def expand(node: Any) -> tuple[Hashable, Sequence, None]:
        if type(node) is str:
            return node, (), None
        below = node.children
        if not below and node.is_named and node.text:
            below = [node.text.decode(errors="replace")]
        elif not punctuation:
            below = [each for each in below if each.is_named or each.type not in PUNCTUATION]
        return node.type, below, None

    return unfold(getattr(parsed, "root_node", parsed), expand)


PUNCTUATION = frozenset("()[]{},;")


def is_tree_sitter(node: object) -> bool:
    """Whether an object has the attributes of a node or a tree of tree-sitter."""
    root = getattr(node, "root_node", node)
    return all(hasattr(root, name) for name in ("type", "is_named", "children"))


def _of(node: Any, what: Of) -> Any:
    if callable(what):
        return what(node)
    if isinstance(node, Mapping):
        return node.get(what)
    value = getattr(node, what, None)
    if callable(value) and getattr(value, "__self__", None) is node:  # a method of it
        return value()
    return value


def _absent(node: Any, name: str) -> bool:
    return name not in node if isinstance(node, Mapping) else not hasattr(node, name)


def _lacking(node: object, role: str, name: str) -> str:
    kind = type(node).__name__
    article = "an" if kind[0] in "AEIOUaeiou" else "a"
    if isinstance(node, (tuple, list)):
        return f"{article} {kind} has no {name!r}; structnet.parse.nested reads {NESTED}"
    return (
        f"{article} {kind} has no {name!r}; {role}= takes the name of what gives a node's {role}, "
        f"or a function of the node{', as list' * _lists_children(node, role)}"
    )


def _lists_children(node: object, role: str) -> bool:
    """Whether iterating over an object gives its children, as those of ElementTree do."""
    goes_on = isinstance(node, Iterable) or hasattr(node, "__getitem__")
    return role == "children" and goes_on and not isinstance(node, Mapping)
