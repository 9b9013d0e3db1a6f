"""Nodes of other libraries, which stand-ins with the same attributes play here."""

from __future__ import annotations

import random
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from random_trees import random_trees

from structnet import TreeLSTMClassifier, parse
from structnet.trees.tree import Tree


class Node:
    """As anytree, ete and scikit-bio have them."""

    def __init__(self, name, *children, dist=None):
        self.name, self.children, self.dist = name, children, dist


class Syntax:
    """As tree-sitter has them: of each access new objects, of text bytes."""

    def __init__(self, type, *children, text=None, is_named=True):
        self.type, self.text, self.is_named, self._children = type, text, is_named, children

    @property
    def children(self):
        return [
            Syntax(c.type, *c._children, text=c.text, is_named=c.is_named) for c in self._children
        ]


def sign(text):
    return Syntax(text, text=text.encode(), is_named=False)


def word(text):
    return Syntax("identifier", text=text.encode())


ARGUMENTS = sign("("), word("é"), sign("+"), word("x"), sign(")")
CALL = Syntax("call", word("f"), Syntax("arguments", *ARGUMENTS, text="(é+x)".encode()))


def test_nodes_with_attributes():
    tree = Node("a", Node("b", dist=0.5), Node("c", Node("d"), dist=2))
    assert parse.from_nodes(tree) == Tree("a", [Tree("b"), Tree("c", [Tree("d")])])
    assert str(parse.from_nodes(tree, token="dist")) == "(a b/0.5 (c/2 d))"
    assert str(parse.from_nodes(Node(None, Node("b")))) == "(Node b)"  # as clades have no names
    assert str(parse.from_nodes(tree, label=lambda node: node.name.upper())) == "(A B (C D))"


def test_methods_keys_and_functions():
    class Clade:
        def __init__(self, taxon, *below):
            self.taxon, self.below = taxon, below

        def child_nodes(self):
            return iter(self.below)

    clade = Clade(1, Clade(2), Clade(3))
    assert str(parse.from_nodes(clade, label="taxon", children="child_nodes")) == "(1 2 3)"
    data = {"name": "a", "children": [{"name": "b", "value": 7}, {"name": "c", "children": None}]}
    assert str(parse.from_nodes(data, token="value")) == "(a b/7 c)"
    element = ElementTree.fromstring("<a><b>x</b><c/></a>")
    assert str(parse.from_nodes(element, label="tag", children=list, token="text")) == "(a b/x c)"
    element = ElementTree.fromstring('<a d="1">t<b>x</b>y</a>')
    assert str(parse.xml(ElementTree.tostring(element))) == "(a (@d 1) t (b x) y)"


def test_what_is_no_method_is_not_called():
    assert parse.from_nodes(Node(int, Node(len))) == Tree(int, [Tree(len)])


def test_depth_is_no_matter():
    node = Node("leaf")
    for _ in range(50_000):
        node = Node("inner", node)
    assert parse.from_nodes(node).height == 50_000


@pytest.mark.parametrize(
    "root, how, kind, words",
    [
        (
            Node("a"),
            {"children": "clades"},
            ValueError,
            "a Node has no 'clades'; children= takes the",
        ),
        ({"id": 1}, {"label": "id"}, ValueError, "a dict has no 'children'; children= takes"),
        ({"children": [{}]}, {}, ValueError, "a dict has no 'name'; label= takes the name"),
        (Node("a"), {"label": "tag"}, ValueError, "a Node has no 'tag'; label= takes the name"),
        (
            ElementTree.Element("a"),
            {},
            ValueError,
            "an Element has no 'children'; .* or a function of the node, as list$",
        ),
        (
            ("a", ("b", "c")),
            {},
            ValueError,
            "a tuple has no 'children'; structnet.parse.nested reads",
        ),
        ({"name": 1, "children": "bc"}, {}, TypeError, "must be nodes in a row; got 'bc'"),
        ({"name": 1, "children": {"b": 2}}, {}, TypeError, r"in a row; got \{'b': 2\}"),
        ({"name": 1, "children": 3}, {}, TypeError, "in a row; got 3"),
    ],
)
def test_nodes_that_are_none(root, how, kind, words):
    with pytest.raises(kind, match=words):
        parse.from_nodes(root, **how)


def as_tuples(tree, kind):
    below = [as_tuples(child, kind) for child in tree.children]
    return kind([tree.label, *below]) if below else tree.label


@pytest.mark.parametrize("kind", [tuple, list])
def test_nested_tuples_and_lists(kind):
    for tree in random_trees(random.Random(0)):
        assert parse.nested(as_tuples(tree, kind)) == tree
    assert parse.nested(["a", "b", ["c", Tree("d"), ("e",)], 2]) == Tree(
        "a", [Tree("b"), Tree("c", [Tree("d"), Tree("e")]), Tree(2)]
    )
    assert parse.nested("a") == parse.nested(("a",)) == Tree("a")


def test_nested_tuples_of_any_depth():
    node = "leaf"
    for _ in range(100_000):
        node = ("inner", node)
    assert parse.nested(node).height == 100_000


@pytest.mark.parametrize(
    "node, kind, words",
    [
        (("a", ()), ValueError, r"a tuple is empty, \(\); expected a label and then the children"),
        ([["a"], "b"], ValueError, r"a list begins with \['a'\]; expected a label"),
        (("a", None), TypeError, "hashable and not None; got NoneType"),
        ({"a": "b"}, TypeError, "hashable and not None; got dict"),
        (("a", {"b"}), TypeError, "hashable and not None; got set"),
    ],
)
def test_what_is_no_nested_tuple(node, kind, words):
    with pytest.raises(kind, match=words):
        parse.nested(node)


def test_a_list_in_itself():
    node = ["a", "b"]
    node.append(node)
    with pytest.raises(ValueError, match="a list contains itself"):
        parse.nested(node)


def test_samples_may_be_nested_tuples():
    X = [parse.nested(("+", 1, ("*", i, 2))) for i in range(40)]
    model = TreeLSTMClassifier(epochs=1, random_state=0).fit(X, [0, 1] * 20)
    assert model.predict(X).shape == (40,)


def test_a_node_in_itself():
    node = Node("a", Node("b"))
    node.children = [node]
    with pytest.raises(ValueError, match="a Node contains itself"):
        parse.from_nodes(node)


def test_tree_sitter():
    expected = "(call (identifier f) (arguments (identifier é) + (identifier x)))"
    assert str(parse.from_tree_sitter(CALL)) == expected
    assert str(parse.from_tree_sitter(SimpleNamespace(root_node=CALL))) == expected
    whole = parse.from_tree_sitter(CALL, punctuation=True)
    assert [child.label for child in whole[1].children][::4] == ["(", ")"]
    missing, read_in_pieces = Syntax("identifier", text=b""), Syntax("number", text=None)
    assert str(parse.from_tree_sitter(Syntax("ERROR", missing, read_in_pieces))) == (
        "(ERROR identifier number)"
    )
    with pytest.raises(TypeError, match=r"expected a tree_sitter.Tree or Node; got str"):
        parse.from_tree_sitter("f(x)")


def test_samples_may_be_parses_of_tree_sitter():
    assert parse.as_tree(SimpleNamespace(root_node=CALL)) == parse.from_tree_sitter(CALL)
    other = Syntax("call", word("g"), Syntax("arguments", sign("("), sign(")"), text=b"( )"))
    assert str(parse.as_tree(other)) == "(call (identifier g) arguments)"
    model = TreeLSTMClassifier(epochs=2, random_state=0).fit([CALL, other] * 10, ["f", "g"] * 10)
    assert model.predict([other, CALL]).shape == (2,)
