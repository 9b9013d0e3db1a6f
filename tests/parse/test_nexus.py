"""The trees of NEXUS, and what of Newick such files hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from structnet import parse
from structnet.parse.conversion import as_tree

TEXT = """#NEXUS
[written by hand; begin trees;]
Begin Data;
  Dimensions ntax=3 nchar=4;
  Matrix Homo A[(]CG Pan ACGT;
End;
BEGIN TREES;
  Title 'all = trees';
  Translate
    1 Homo_sapiens,
    2 'Pan; the chimpanzee',
    95 Gorilla,
  ;
  TREE * first = [&R] [&lnP=-1[2]] ((1[&rate=0.1]:0.1,2:0.2)95:0.3,95);
  utree 'a = b' =(1,
    (2,95));
end;
begin trees;
  tree third=[&U](A,1);
endblock;
Begin notes; text tree x = (A,B); end;
"""
TREES = [
    "((Homo_sapiens:0.1,'Pan; the chimpanzee':0.2)95:0.3,Gorilla);",
    "(Homo_sapiens,('Pan; the chimpanzee',Gorilla));",
    "(A,1);",
]


def test_trees_of_all_blocks_with_the_names_of_their_leaves(tmp_path: Path) -> None:
    expected = [parse.newick(text) for text in TREES]
    assert list(parse.newick_many(TEXT)) == expected
    (tmp_path / "own.nex").write_bytes(b"\xef\xbb\xbf" + TEXT.lower().encode())
    lower = [parse.newick(text.lower()) for text in TREES]
    assert list(parse.newick_many(tmp_path / "own.nex")) == lower
    bare = list(parse.newick_many(TEXT, names=False, lengths=False))
    assert str(bare[0]) == "(clade (clade clade clade) clade)"


def test_a_block_begins_anywhere_but_in_a_comment() -> None:
    block = "begin trees; tree t = (A,B); end;"
    for text in (
        f"#NEXUS {block}",
        f"#NEXUS\nbegin taxa; taxlabels A B; end; {block}",
        f"#NEXUS\n[by hand]{block}",
        f"#NEXUS\r{block}".replace("; ", ";\r"),
        f"#NEXUS\n[ [old] \n{block.replace('B', 'C')}\n]\n{block}",
    ):
        assert list(parse.newick_many(text)) == [parse.newick("(A,B);")], text


def test_a_tree_of_one_leaf_has_its_name() -> None:
    for tree in ("t = 1", "t=1", "t =1", "t= [&R] 1"):
        text = f"#NEXUS\nbegin trees;\ntranslate 1 A;\ntree {tree};\nend;"
        assert list(parse.newick_many(text)) == [parse.newick("A;")], tree


def test_what_is_wrong_is_shown_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(parse.ParseError, match="newick_many reads") as caught:
        parse.newick(TEXT)
    assert (caught.value.line, caught.value.source) == (1, "#NEXUS")
    file = tmp_path / "own.nex"
    for wrong, line, message in (
        ("(2,95));", 16, "no ';'|unclosed|text after|outside"),
        ("2 'Pan; the chimpanzee'", 11, "got 3 words"),
        ("first =", 14, "expected ',', '\\)' or ';' behind a node"),
    ):
        by = {"(2,95));": "(2,95)));", "first =": "first"}.get(wrong, "2 Pan troglodytes")
        file.write_text(TEXT.replace(wrong, by))
        with pytest.raises(parse.ParseError, match=message) as caught:
            list(parse.newick_many(file))
        assert (caught.value.line, caught.value.file) == (line, str(file))


TAXA = "#NEXUS\nbegin [of] taxa;\ndimensions ntax=3;\ntaxlabels 'Pan a' B_b [none] C;\nend;\n"


def test_numbers_are_those_of_the_taxa_where_no_table_says_otherwise() -> None:
    def read(trees: str, taxa: str = TAXA) -> list[str]:
        return list(map(str, parse.newick_many(f"{taxa}begin trees;\n{trees}\nend;\n")))

    named = list(map(str, parse.newick_many("('Pan a',(C,B_b)3);(7,C);")))
    assert read("tree t = (1,(3,2)3);\ntree u = (7,C);") == named
    assert read("translate 1 C, 2 x; tree t = (1,(3,2));") == read(
        "tree t = (C,('3',x));", "#NEXUS\n"
    )
    numbers = "#NEXUS\nbegin taxa;\ntaxlabels 3 1 2;\nend;\n"
    assert read("tree t = (1,(3,2));", numbers) == read("tree t = (1,(3,2));", "#NEXUS\n")


@pytest.mark.parametrize("begin", ["begin [x] trees;", "BEGIN[x]trees [y];", "begin\n trees ;"])
def test_a_block_may_begin_with_comments(begin: str) -> None:
    text = f"#NEXUS\n{begin}\ntree t = (A,B);\nend;\n"
    assert list(parse.newick_many(text)) == [parse.newick("(A,B);")]


def test_a_block_without_an_end_ends_where_another_begins() -> None:
    text = "#NEXUS\nbegin taxa;\ntaxlabels A B;\nbegin trees;\ntree t = (1,2);\nend;\n"
    assert list(parse.newick_many(text)) == list(parse.newick_many("(A,B);"))


def test_files_without_trees_or_cut_off() -> None:
    assert list(parse.newick_many("#NEXUS\nbegin data;\nend;\n")) == []
    for cut in ("", "translate", "translate 1 a", "tree t = ", "tree t = (1,2)"):
        text = f"#NEXUS\nbegin trees;\n{cut}"
        if "t =" in cut:
            with pytest.raises(parse.ParseError, match=r"no tree|no ';'"):
                list(parse.newick_many(text))
        else:
            assert list(parse.newick_many(text)) == []


def test_comments_within_comments() -> None:
    tree = parse.newick("(A,B);")
    for comment in ("[a[b]c]", "[[[x]]]", "[a[b][c[d]]]", "[[]", "[')[']"):
        assert parse.newick(f"(A{comment},{comment}B);{comment}") == tree


def test_newick_taken_for_brackets_says_who_reads_it() -> None:
    for text in ("(A,B);", "((A:1,B:2):3,C);\n"):
        with pytest.raises(parse.ParseError, match=r"structnet\.parse\.newick reads Newick"):
            as_tree(text)
    with pytest.raises(parse.ParseError) as caught:
        as_tree("(A (B b)")
    assert "Newick" not in str(caught.value)
