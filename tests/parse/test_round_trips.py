"""Parsers against their inverses, or against slow recursive readers, on random trees."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from xml.sax.saxutils import escape

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structnet import parse
from structnet.parse import listops, logic, reading
from structnet.parse.expressions import _TOKEN, _split
from structnet.trees.tree import Tree

WORDS = st.text(
    st.characters(blacklist_categories=["Z", "C"], blacklist_characters="()"), min_size=1
)
LETTERS = st.text("abcxyzéß", min_size=1, max_size=3)


def trees(inner, leaf, arity=(1, 4)):
    """Random trees of some 20 leaves at most; labels are drawn from two strategies."""

    def grow(children):
        return st.builds(Tree, inner, st.lists(children, min_size=arity[0], max_size=arity[1]))

    return st.recursive(leaf.map(Tree), grow, max_leaves=20)


SENTENCES = st.recursive(
    st.sampled_from("abcdef").map(Tree),
    lambda below: st.one_of(
        st.builds(lambda a: Tree("not", [a]), below),
        st.builds(lambda op, a, b: Tree(op, [a, b]), st.sampled_from(["and", "or"]), below, below),
    ),
    max_leaves=20,
)
EXPRESSIONS = trees(st.sampled_from(["MAX", "MIN", "MED", "SM"]), st.sampled_from("0123456789"))
PHRASES = trees(WORDS, WORDS)
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()
    ).filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda below: st.one_of(st.lists(below), st.dictionaries(st.text(), below)),
    max_leaves=20,
)


@given(EXPRESSIONS, st.booleans())
def test_listops(tree, binary):
    text = parse.to_listops(tree, binary=binary)
    assert listops(text) == tree
    assert listops(text.replace(" ]", "]").replace(" ", "\n")) == tree


@given(st.text("[]()M1 \t\u2003", max_size=30))
def test_listops_splits_as_its_token_pattern_does(text):
    assert _split(text) == _TOKEN.findall(text)
    assert reading.split_parentheses(text) == reading.ATOM_OR_PARENTHESIS.findall(text)


@given(SENTENCES)
def test_logic(tree):
    text = parse.to_logic(tree)
    assert logic(text) == tree
    assert logic(text.replace("( ", "(").replace(" )", ")")) == tree


@given(PHRASES)
def test_bracketed(tree):
    text = parse.to_bracketed(tree)
    assert parse.bracketed(text) == tree
    assert parse.bracketed(f"( {text})".replace(" ", "\n   ")) == tree
    assert parse.bracketed(f"({text} )", unwrap=False) == Tree("", [tree])


LENGTHS = st.none() | st.floats(allow_nan=False, allow_infinity=False).map(str)
CLADES = st.recursive(
    st.builds(Tree, st.text(min_size=1), st.just(()), LENGTHS),
    lambda below: st.builds(Tree, st.text(min_size=1), st.lists(below, min_size=1), LENGTHS),
    max_leaves=20,
)


@given(CLADES)
def test_newick(tree):
    text = parse.to_newick(tree)
    assert parse.newick(text) == tree
    assert list(parse.newick_many(f"[first]{text}\n[&R] {text}")) == [tree, tree]


@given(st.lists(PHRASES, max_size=4))
def test_bracketed_many(forest):
    text = "\n\n".join(map(parse.to_bracketed, forest))
    assert list(parse.bracketed_many(text)) == forest
    assert list(parse.bracketed_many(text.splitlines(keepends=True))) == forest


@st.composite
def head_lists(draw):
    """The heads of a random dependency tree: a word hangs on a word drawn before it."""
    order = draw(st.permutations(range(1, draw(st.integers(1, 12)) + 1)))
    heads = {order[0]: 0}
    for place, word in enumerate(order[1:], start=1):
        heads[word] = order[draw(st.integers(0, place - 1))]
    return [heads[word] for word in range(1, len(order) + 1)]


@given(head_lists())
def test_conllu(heads):
    rows = [f"{n}\tw{n}\tl{n}\t_\t_\t_\t{h}\tr{n}\t_\t_" for n, h in enumerate(heads, start=1)]

    def below(head):  # slow and recursive
        return [Tree(f"r{n}", below(n), f"w{n}") for n, h in enumerate(heads, start=1) if h == head]

    assert parse.conllu("\n".join(rows)) == below(0)[0]
    noise = "# sent_id = 1\n1-2\tw\t_\t_\t_\t_\t_\t_\t_\t_\n"
    empty_node = "\n1.1\tw\t_\t_\t_\t_\t_\t_\t_\t_\r\n"
    twice = noise + empty_node.lstrip("\n").join([rows[0] + "\n", "\n".join(rows[1:])]) + "\n\n\n"
    assert list(parse.conllu_many(twice * 2)) == below(0) * 2


@given(VALUES)
def test_json(value):
    def tree(value):  # slow and recursive
        if isinstance(value, dict):
            return Tree("object", [Tree(key, [tree(below)]) for key, below in value.items()])
        if isinstance(value, list):
            return Tree("array", [tree(below) for below in value])
        return Tree(value if isinstance(value, str) else json.dumps(value))

    assert parse.json(json.dumps(value)) == tree(value)
    assert parse.json(json.dumps(value, indent=1, ensure_ascii=False)) == tree(value)
    if not isinstance(value, str):
        assert parse.json(value) == tree(value)


def markup(tree):
    """The document of a tree, slow and recursive; leaves are text."""
    if not tree.children:
        return f"<!-- between two texts -->{escape(tree.label)}"
    attributes = "".join(f" {c.label[1:]}='{c.children[0].label}'" for c in tree.children[:-1])
    content = markup(tree.children[-1]) if tree.children else ""
    return f"<{tree.label}{attributes}>\n {content} \n</{tree.label}>"


def with_attribute(tree):
    """The tree with an attribute on every element."""
    return tree.fold(
        lambda node, below: Tree(node.label, [Tree("@id", [Tree("7")]), *below]) if below else node
    )


@given(trees(st.sampled_from(["b", "i", "em"]), LETTERS, arity=(1, 1)).filter(lambda t: t.height))
def test_xml_and_html(tree):
    text = markup(with_attribute(tree))
    for parser in (parse.xml, parse.html):
        assert parser(text) == with_attribute(tree)
        assert parser(text, attributes=False) == tree


@given(trees(WORDS, WORDS))
def test_networkx(tree):
    graph = nx.DiGraph()
    names = {}

    def add(node, name):  # slow and recursive
        graph.add_node(name, label=node.label)
        names[name] = node
        for pos, child in reversed(list(enumerate(node.children))):
            graph.add_edge(name, (*name, pos), pos=pos)
            add(child, (*name, pos))

    add(tree, ())
    assert parse.networkx_tree(graph) == tree


# Fields of Python's syntax trees that have a node of their own, beside the else of statements.
NAMED = {"posonlyargs", "vararg", "kwonlyargs", "kw_defaults", "kwarg", "decorator_list"}
NAMED |= {"returns", "finalbody", "upper", "step", "default_value"}
SOURCES = sorted(Path(parse.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_python(path):
    def tree(node):  # slow and recursive
        if not isinstance(node, ast.AST):
            return Tree(str(node))
        below = []
        for name, value in ast.iter_fields(node):
            if isinstance(node, ast.Constant) and name == "value":
                below.append(Tree(repr(value)))
                continue
            if value is None or value == []:
                continue
            values = [tree(item) for item in (value if isinstance(value, list) else [value])]
            named = name in NAMED or (name == "orelse" and isinstance(value, list))
            below += [Tree(name, values)] if named else values
        return Tree(type(node).__name__, below)

    source = path.read_text(encoding="utf-8")
    assert parse.python(source) == tree(ast.parse(source))
