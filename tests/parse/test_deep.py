"""A chain of 100,000 nodes is read, and written, like any other tree; nothing recurses."""

from __future__ import annotations

import networkx as nx
import pytest

from structnet import parse
from structnet.parse import ParseError

N = 100_000


def rows(heads):
    return "".join(f"{n}\tw\t_\t_\t_\t_\t{h}\tx\t_\t_\n" for n, h in enumerate(heads, start=1))


def to_binary_listops(tree):
    return parse.to_listops(tree, binary=True)


# Parser, text, and the inverse if the format has one.
CHAINS = {
    "listops": (parse.listops, "[MAX " * N + "1" + " ]" * N, parse.to_listops),
    "listops binary": (parse.listops, "( ( [MAX " * N + "1" + " ) ] )" * N, to_binary_listops),
    "logic": (parse.logic, "( a ( and " * N + "a" + " ) )" * N, parse.to_logic),
    "bracketed": (parse.bracketed, "(X " * N + "a" + ")" * N, parse.to_bracketed),
    "bracketed lines": (parse.bracketed, "(X\n" * N + "a" + ")\n" * N, None),
    "conllu down": (parse.conllu, rows(range(N)), None),
    "conllu up": (parse.conllu, rows([*range(2, N + 1), 0]), None),
    "newick": (parse.newick, "(" * N + ")" * N + ";", parse.to_newick),
    "json": (parse.json, "[" * N + "]" * N, None),
    "xml": (parse.xml, "<a>" * N + "</a>" * N, None),
    "html": (parse.html, "<ul><li>" * (N // 2) + "</ul>" * (N // 2), None),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chain(name):
    parser, text, inverse = CHAINS[name]
    tree = parser(text)
    assert tree.height >= N - 1
    if inverse is not None:
        assert inverse(tree) == text


@pytest.mark.parametrize(
    "parser, start",
    [
        (parse.listops, "[MAX "),
        (parse.logic, "( not "),
        (parse.bracketed, "(X "),
        (parse.newick, "("),
        (parse.json, "["),
        (parse.xml, "<a>"),
        (parse.html, "<b>"),
    ],
)
def test_chain_that_is_not_closed(parser, start):
    with pytest.raises(ParseError):
        parser(start * N)


def test_values_and_graphs():
    value: list = []
    for _ in range(N):
        value = [value]
    assert parse.json(value).height == N
    assert parse.networkx_tree(nx.path_graph(N, create_using=nx.DiGraph)).height == N - 1
    with pytest.raises(ValueError, match="a cycle, "):
        parse.networkx_tree(nx.cycle_graph(N, create_using=nx.DiGraph))


def test_traces_and_functions_of_a_chain():
    text = "(NP-SBJ " * N + "(-NONE- *) (NN a)" + ")" * N
    tree = parse.bracketed(text, remove_traces=True, strip_functions=True)
    assert (tree.label, tree.size) == ("NP", N + 2)
