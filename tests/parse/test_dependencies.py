"""Sentences with several roots or none, in CoNLL-X and .dp files, with marks of sides, in bytes."""

from __future__ import annotations

import warnings

import pytest

from structnet import parse
from structnet.parse import ParseError, conllu, conllu_many
from structnet.trees.tree import Tree

ROW = "{}\t{}\t_\tNN\t_\t_\t{}\t{}\t_\t_".format


def sentence(*words):
    """The lines of a sentence of (form, head, relation)."""
    return "\n".join(ROW(n, *word) for n, word in enumerate(words, start=1)) + "\n\n"


GOOD = sentence(("Dogs", 2, "nsubj"), ("bark", 0, "root"))
TREE = "(root/bark nsubj/Dogs)"
TWO = sentence(("Yes", 0, "root"), (",", 1, "punct"), ("dogs", 0, "root"))
BAD = {
    "no root": sentence(("a", 2, "x"), ("b", 1, "x")),
    "columns": "1\ta\t0\n\n",
    "number": GOOD.replace("2\tbark", "3\tbark"),
    "head": GOOD.replace("\t2\t", "\t_\t"),
    "outside": GOOD.replace("\t2\t", "\t7\t"),
    "two roots": TWO,
}


# ---------------------------------------------------------------------------------- errors="skip"


@pytest.mark.parametrize("name", BAD)
def test_skipping_goes_on_after_a_bad_sentence(name):
    text = GOOD + BAD[name] + GOOD + BAD[name] + GOOD
    with pytest.warns(UserWarning, match="input: 2 of 5 sentences were skipped.* in line ") as seen:
        trees = list(conllu_many(text, errors="skip"))
    assert list(map(str, trees)) == [TREE] * 3
    assert len(seen) == 1
    with pytest.raises(ParseError):
        list(conllu_many(text))


def test_a_file_is_named_and_nothing_is_said_where_nothing_is_skipped(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(GOOD * 2, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(map(str, conllu_many(path, errors="skip"))) == [TREE] * 2
    path.write_text(GOOD + BAD["head"], encoding="utf-8")
    with pytest.warns(UserWarning, match=r"a\.conllu: 1 of 2 .* line 4, column 17: the head must"):
        list(conllu_many(path, errors="skip"))
    with pytest.raises(ParseError, match=r"a\.conllu, line 4, column 17: the head must"):
        list(conllu_many(path))


def test_a_byte_that_is_no_text_spoils_its_sentence_only():
    latin = GOOD.replace("Dogs", "Köter").encode("latin-1")
    with pytest.warns(UserWarning, match="line 4, column 4: 'utf-8' codec can't decode"):
        trees = list(conllu_many(GOOD.encode() + latin + GOOD.encode(), errors="skip"))
    assert list(map(str, trees)) == [TREE] * 2


# ---------------------------------------------------------------------------------- roots


def test_several_roots():
    with pytest.raises(ParseError, match=r"line 3, column 17: a second root; .* line 1"):
        conllu(TWO)
    joined = "(<roots> (root/Yes punct/,) root/dogs)"
    assert str(conllu(TWO, roots="join")) == joined
    assert str(conllu(GOOD, roots="join")) == TREE
    assert list(map(str, conllu_many(GOOD + TWO, roots="join"))) == [TREE, joined]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(map(str, conllu_many(TWO + GOOD + TWO, roots="skip"))) == [TREE]


def test_a_cycle_beside_two_roots_is_found():
    text = sentence(("a", 0, "x"), ("b", 0, "x"), ("c", 4, "x"), ("d", 3, "x"))
    with pytest.raises(ParseError, match="a cycle of heads: 3 -> 4 -> 3"):
        conllu(text, roots="join")


# ---------------------------------------------------------------------------------- sides


def test_sides_tell_the_order_of_head_and_dependents():
    svo = sentence(("John", 2, "nsubj"), ("sees", 0, "root"), ("Mary", 2, "obj"))
    sov = sentence(("John", 3, "nsubj"), ("Mary", 3, "obj"), ("sees", 0, "root"))
    assert conllu(svo) == conllu(sov)
    assert str(conllu(svo, sides=True)) == "(root/sees nsubj</John obj>/Mary)"
    assert str(conllu(sov, sides=True)) == "(root/sees nsubj</John obj</Mary)"
    assert (
        str(conllu(svo, sides=True, label="upos", token="deprel")) == "(NN/root NN</nsubj NN>/obj)"
    )


# ---------------------------------------------------------------------------------- formats


def test_conllx():
    ten = "1\t#\t#\tN\tNN\t_\t2\tSBJ\t_\t_\n2\tbark\t_\tV\tVB\t_\t0\tROOT\t_\t_\n"
    eight = "\n".join("\t".join(line.split("\t")[:8]) for line in ten.splitlines())
    for text in (ten, eight):
        assert str(conllu(text, format="conllx")) == "(ROOT/bark SBJ/#)"
        assert str(conllu(text, format="conllx", label="postag")) == "(VB/bark NN/#)"
    assert conllu(ten, format="conllx", label="phead").label == "_"
    with pytest.raises(ParseError, match="no column 'phead' in a line of 8 columns"):
        conllu(eight, format="conllx", label="phead")
    with pytest.raises(ParseError, match="9 columns separated by tabs; expected 8 or 10"):
        conllu(eight.replace("SBJ", "SBJ\t_"), format="conllx")


@pytest.mark.parametrize("separator", ["\t", " ", "   "])
def test_dp_files(separator):
    def lines(*words):
        return "\n".join(separator.join(word.split()) for word in words)

    four = lines("# NN 2 SBJ", "bark VB 0 ROOT", ". . 2 P")
    assert str(conllu(four, format="dp")) == "(ROOT/bark SBJ/# P/.)"
    assert str(conllu(four, format="dp", label="tag")) == "(VB/bark NN/# ./.)"
    three = lines("# NN 2", "bark VB 0", ". . 2")
    assert str(conllu(three, format="dp")) == "(VB/bark NN/# ./.)"
    trees = conllu_many(f"{three}\n \n\n{four}\n", format="dp")
    assert [tree.label for tree in trees] == ["VB", "ROOT"]
    with pytest.raises(ParseError, match="no column 'deprel' in a line of 3 columns"):
        conllu(three, format="dp", label="deprel")
    with pytest.raises(ParseError, match="2 columns separated by tabs or blanks; expected 3 or 4"):
        conllu("bark 0", format="dp")


def test_the_place_of_an_error_in_a_dp_file():
    with pytest.raises(ParseError, match=r"line 2, column 11: head 5 in a sentence of 2 words"):
        conllu("a  NN  0\nb    NN   5", format="dp")
    with pytest.raises(ParseError, match=r"line 1, column 6: the head must be a number; got 'x'"):
        conllu("a\tNN\tx", format="dp")


# ---------------------------------------------------------------------------------- encodings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "cp1252"])
def test_encodings(encoding, tmp_path):
    text = GOOD.replace("Dogs", "Köter")
    path = tmp_path / "a.conllu"
    path.write_bytes(text.encode(encoding))
    expected = ["(root/bark nsubj/Köter)"]
    assert list(map(str, conllu_many(path, encoding=encoding))) == expected
    assert list(map(str, conllu_many(text.encode(encoding), encoding=encoding))) == expected


def test_bytes_and_byte_order_marks():
    assert str(conllu(GOOD.encode())) == TREE
    assert str(conllu(b"\xef\xbb\xbf" + GOOD.encode())) == TREE
    assert str(conllu("\ufeff" + GOOD)) == TREE
    assert str(conllu(GOOD.encode().splitlines(keepends=True))) == TREE


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"format": "conll"}, ValueError, r"'format' .*\['conllu', 'conllx', 'dp'\]. Got 'conll'"),
        ({"roots": "keep"}, ValueError, "'roots' .* Got 'keep'"),
        ({"errors": "ignore"}, ValueError, "'errors' .* Got 'ignore'"),
        ({"encoding": "utf-7.5"}, LookupError, "unknown encoding: utf-7.5"),
        ({"label": "tag"}, ValueError, r"label must be a column of \('id', .*; got 'tag'"),
    ],
)
def test_arguments_that_are_wrong(arguments, error, message):
    with pytest.raises(error, match=message):
        conllu_many(GOOD, **arguments)
    with pytest.raises(ValueError, match=r"'roots' .*\['raise', 'join'\]\. Got 'skip'"):
        conllu(GOOD, roots="skip")


def test_a_leaf_is_stored_once_in_all_sentences():
    first, second = conllu_many(GOOD * 2)
    assert first[0] is second[0]
    assert parse.conllu(GOOD) == first == Tree("root", [Tree("nsubj", token="Dogs")], "bark")
