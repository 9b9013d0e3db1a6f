"""Treebanks with trees that are none: they are left out, counted, and cost no other tree."""

from __future__ import annotations

import warnings

import pytest

from structnet.parse import ParseError, bracketed_many

GOOD = "( (S\n    (NP (PRP It))\n    (VP (VBZ works))) )\n"
BAD = {
    "never closed": "( (S\n    (NP (PRP It)\n    (VP (VBZ works))) )\n",
    "closed too often": "( (S\n    (NP (PRP It)))\n    (VP (VBZ works))) )\n",
    "no label": "(S\n    ((PRP It)))\n",
    "empty bracket": "(S ()\n    (VP x))\n",
    "words outside": "Title\n   (S x\n",
}


def skipped(text, match, **options):
    with pytest.warns(UserWarning, match=match) as seen:
        trees = list(bracketed_many(text, errors="skip", **options))
    assert len(seen) == 1
    assert seen[0].filename == __file__
    return [str(tree) for tree in trees]


@pytest.mark.parametrize("name", BAD)
def test_a_bad_tree_costs_no_other(name):
    expected = "(S (NP (PRP It)) (VP (VBZ works)))"
    for good in (GOOD, "(S (NP (PRP It)) (VP (VBZ works)))\n"):
        text = good + BAD[name] + good + good + BAD[name] + good
        with pytest.raises(ParseError):
            list(bracketed_many(text))
        # Of a tree that is closed too often the beginning is one.
        trees = skipped(text, r"input: 2 of \d trees were skipped.* is in line \d")
        assert [tree for tree in trees if tree == expected] == [expected] * 4
        assert len(trees) == (6 if name == "closed too often" else 4)


def test_what_is_good_is_read_as_without(tmp_path):
    text = "(S\n(A a)\n(B b)) (C c)\n(D\nd)"  # inner lines that begin with a bracket
    path = tmp_path / "a.mrg"
    path.write_text(text, encoding="utf-8")
    for source in (text, text.encode(), path, text.split("\n")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert list(bracketed_many(source, errors="skip")) == list(bracketed_many(source))
    path.write_text(text + "\n(E", encoding="utf-8")
    assert len(skipped(path, r"a\.mrg: 1 of 4 .* line 6, column 1: 1 unclosed '\('$")) == 3


def test_a_byte_that_is_no_text_spoils_its_tree_only():
    text = "(N Hund)\n(N K\xf6ter)\n(N Dog)\n(N\n  K\xf6ter)\n".encode("latin-1")
    match = "2 of 4 .* line 2, column 5: 'utf-8' codec can't decode"
    assert skipped(text, match) == ["(N Hund)", "(N Dog)"]


def test_streams_are_read_as_trees_are_needed():
    def lines(last):
        yield "(A a)\n"
        yield "(B ())\n"
        yield "(C c)\n"
        yield "(D d)\n"
        yield from last

    trees = bracketed_many(lines(1 / 0 for _ in "x"), errors="skip")
    assert [next(trees).label, next(trees).label] == ["A", "C"]
    with pytest.raises(ZeroDivisionError):
        next(trees)  # D could go on in the next line
    assert skipped(lines(["x"]), "2 of 5") == ["(A a)", "(C c)", "(D d)"]


def test_reading_again_is_linear():
    # Each of 100,000 trees is not closed: to read the rest again for each would take hours.
    assert skipped("(A a)\n" + "(B (C c)\n" * 100_000, "100000 of 100001 trees") == ["(A a)"]


def test_errors_is_one_of_two():
    with pytest.raises(ValueError, match="'errors' parameter of bracketed_many must be one of"):
        bracketed_many("(A a)", errors="ignore")
