"""Reading takes memory in proportion to the text, and no more than each parser's docstring says."""

from __future__ import annotations

import re
import tracemalloc
from functools import partial

import pytest

from structnet import parse

# The densest texts known of each format: nodes of as few characters as there can be.
DENSE = {
    parse.listops: (lambda n: "[A" * n + " 1" + "]" * n,),
    parse.logic: (lambda n: "(not" * n + " a" + ")" * n, lambda n: "(a(or" * n + " a" + "))" * n),
    parse.bracketed: (
        lambda n: "(A" * n + " a" + ")" * n,
        lambda n: "(A" + "".join(f" {i}" for i in range(n)) + ")",
    ),
    parse.conllu: (lambda n: "".join(f"a b {i}\n" for i in range(n)),),  # a .dp file
    parse.json: (lambda n: "[" * n + "]" * n, lambda n: '{"":' * n + "1" + "}" * n),
    parse.xml: (lambda n: "<a>" * n + "</a>" * n, lambda n: "<a>" + "<a/>" * n + "</a>"),
    parse.html: (lambda n: "<b><b>" * n + "</b></b>" * n, lambda n: f"<a {_attributes(n)}></a>"),
    parse.newick: (lambda n: "(" * n + ")" * n + ";", lambda n: "(" + ",:1" * n + ");"),
    parse.python: (lambda n: "x\n" * n, lambda n: "[" + "[]," * n + "]"),
}
READ = {parse.conllu: partial(parse.conllu, format="dp")}
LOOSE = 1.5  # other versions of Python have other sizes of objects


def _attributes(n):
    return " ".join(f"b{i}" for i in range(n))


def peak(read, text):
    tracemalloc.start()
    tree = read(text)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del tree
    return most / len(text)


@pytest.mark.parametrize("parser", DENSE, ids=lambda parser: parser.__name__)
def test_memory_is_what_the_docstring_says(parser):
    said = " ".join(parser.__doc__.split())
    stated = int(re.search(r"(\d+) times that of the densest texts", said).group(1))
    read, texts = READ.get(parser, parser), DENSE[parser]
    small, large = (max(peak(read, dense(n)) for dense in texts) for n in (1000, 8_000))
    assert stated / 2 < large < LOOSE * stated
    assert large < LOOSE * small


@pytest.mark.parametrize(
    "many, text",
    [
        (parse.bracketed_many, "(A (B b) (C c))\n"),
        (parse.conllu_many, "1\ta\t_\t_\t_\t_\t0\tx\t_\t_\n\n"),
    ],
)
def test_trees_that_are_not_kept_take_no_memory(many, text, tmp_path):
    path = tmp_path / "many"
    path.write_text(text * 20_000, encoding="utf-8")

    def read(_):
        for _ in many(path):
            pass

    assert peak(read, text * 20_000) < 2
