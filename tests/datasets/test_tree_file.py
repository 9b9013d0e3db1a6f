"""Trees of one's own: what a file may look like, what becomes of it, what is said of bad ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tree_files import conllu

from structnet import parse
from structnet.datasets import TreeFile, TreeFileError, read_trees
from structnet.datasets.tree_file_formats import Place
from structnet.datasets.tree_file_sources import is_tree_file
from structnet.trees.tree import Tree

GOOD, BAD = "(S (NP it) (VP works))", "(S (NP it) (VP fails))"
SENTIMENT = "(3 (2 It) (4 (2 is) (4 good)))\n(1 (2 It) (1 (2 is) (1 bad)))\n"


@pytest.fixture
def read(tmp_path: Path):
    def read(name: str, text: str | bytes, *args: object, **options: object) -> TreeFile:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_trees(path, *args, **options)

    return read


def test_a_label_and_a_tree_a_line(read) -> None:
    data = read("own.tsv", f"yes\t{GOOD}\r\nno\t{BAD}\r\n\r\n")
    assert data.trees == [parse.bracketed(GOOD), parse.bracketed(BAD)]
    assert (data.targets, data.task, data.pairs) == (["yes", "no"], "classification", False)
    assert data.guesses == (
        "format: bracketed, by the first lines",
        "target: column 1",
        "task: classification (names)",
    )
    assert [len(data[[1]]), data[[1]].targets] == [1, ["no"]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("own.tsv", f"{GOOD}\tyes\n{BAD}\tno\n"),
        ("own.txt", f"yes\t{GOOD}\nno\t{BAD}\n"),
        ("own.tsv", f"\ufeffname\tparse\nyes\t{GOOD}\nno\t{BAD}\n"),
        ("own.csv", f'tree,label\n"{GOOD}",yes\n{BAD},no\n'),
        (
            "own.jsonl",
            f'{{"id": 1, "tree": "{GOOD}", "label": "yes"}}\n'
            f'{{"tree": "{BAD}", "id": 2, "label": "no"}}\n',
        ),
    ],
)
def test_columns_in_any_order_and_with_names(read, name: str, text: str) -> None:
    data = read(name, text)
    assert data.trees == [parse.bracketed(GOOD), parse.bracketed(BAD)]
    assert data.targets == ["yes", "no"]


@pytest.mark.parametrize("target", ["score", "3"])
def test_a_column_by_name_and_by_number(read, target: str) -> None:
    rows = "".join(f"{i}\t{GOOD}\t{i / 7}\t{BAD}\n" for i in range(30))
    data = read("own.tsv", f"id\tleft\tscore\tright\n{rows}", target=target)
    assert data.pairs and data.trees[0] == (parse.bracketed(GOOD), parse.bracketed(BAD))
    assert data.task == "regression"
    assert data.targets == [i / 7 for i in range(30)]
    assert len(data.each_tree) == 60


def test_a_tree_of_a_pair_may_always_be_a_leaf(read) -> None:
    text = "=\t( a ( and b ) )\ta\nx\t( not a )\tb\n"
    assert not read("own.tsv", text).pairs
    for options in ({"task": "pairs"}, {"pairs": True}):
        data = read("own.tsv", text, **options)
        assert data.pairs and data.targets == ["=", "x"]
        assert data.trees[0] == (parse.logic("( a ( and b ) )"), Tree("a"))


def test_whole_numbers_are_classes_or_numbers(read) -> None:
    text = "".join(f"{i % 3}\t[MAX {i % 10} 1 ]\n" for i in range(12))
    assert read("own.tsv", text).task == "classification"
    assert read("own.tsv", text, task="regression").targets[:3] == [0.0, 1.0, 2.0]
    distinct = "".join(f"{i}\t[MAX {i % 10} 1 ]\n" for i in range(12))
    assert read("own.tsv", distinct).task == "regression"
    assert read("own.tsv", distinct, task="classification").targets[3] == "3"


def test_trees_on_several_lines(read) -> None:
    text = "( (S\n  (NP it)\n(VP works)))\n(NP\n it)(NP she)\n"
    data = read("own.mrg", text, targets_needed=False)
    assert [str(tree) for tree in data.trees] == ["(S (NP it) (VP works))", "(NP it)", "(NP she)"]
    assert (data.targets, data.task) == (None, None)


def test_a_bracket_that_never_closes_costs_one_tree(read) -> None:
    text = f"{GOOD}\n(S (NP it\n{BAD}\n  \n(S\n (NP she))\n)\n{GOOD}\n"
    data = read("own.mrg", text, target="root-label")
    assert [tree.children[0].children[0].label for tree in data.trees] == ["it", "it", "she", "it"]
    assert data.unreadable == [
        (Place(line=2), "column 4: 2 unclosed '('"),
        (Place(line=7), "column 1: unopened ')'"),
    ]


def test_the_label_of_the_root_is_hidden(read) -> None:
    data = read("sst.txt", SENTIMENT, target="root-label")
    assert data.targets == ["3", "1"]
    assert str(data.trees[0]) == "(* (2 It) (4 (2 is) (4 good)))"


def test_the_labels_of_nodes_are_hidden_and_words_are_not(read) -> None:
    data = read("sst.txt", SENTIMENT, target="node-labels")
    assert (data.task, data.targets[0]) == ("nodes", ["3", "2", None, "4", "2", None, "4", None])
    assert str(data.trees[0]) == "(* (* It) (* (* is) (* good)))"
    assert data.each_target[:4] == ["3", "2", "4", "2"]
    for tree, labels in zip(data.trees, data.targets, strict=True):
        assert tree.size == len(labels)
    words = read("own.conllu", conllu("good", "Dogs"), target="node-labels")
    assert words.targets == [["root", "nsubj"]]
    assert str(words.trees[0]) == "(*/bark */Dogs)"


def test_penn_labels_are_cut_down_on_request(read) -> None:
    text = "( (S-1 (NP-SBJ (-NONE- *T*)) (VP (VB go))) )\n"
    assert read("own.mrg", text, target="root-label").targets == ["S-1"]
    data = read("own.mrg", text, "penn", "root-label")
    assert (data.targets, str(data.trees[0])) == (["S"], "(* (VP (VB go)))")


def test_what_the_comments_of_sentences_say(read) -> None:
    text = conllu("good", "Dogs") + conllu("bad", "Cats").replace("\t2\tnsubj", "\t9\tnsubj")
    data = read("own.conllu", text + conllu("bad", "Cats"), target="mood")
    assert data.targets == ["good", "bad"]
    assert data.unreadable == [(Place(line=6), "column 16: head 9 in a sentence of 2 words")]
    moods = ["good", "bad", "good"]
    text = "".join(f"# sent_id = 1\n# text_en = x\n{conllu(each, 'Dogs')}" for each in moods)
    data = read("own.conllu", text)
    assert (data.target, data.targets) == ("mood", moods)
    assert "target: the comment '# mood = ...'" in data.guesses
    assert read("own.conllu", text.replace("mood", "textual")).target == "textual"


def test_comments_are_no_targets_unasked_where_nothing_is_learnt(read) -> None:
    text = conllu("good", "Dogs") + conllu("good", "Cats")
    data = read("own.conllu", text, targets_needed=False)
    assert (data.targets, data.target) == (None, None)
    assert read("own.conllu", text, target="mood", targets_needed=False).targets == ["good"] * 2
    other = read("own.conllu", text, target="genre", targets_needed=False)
    assert (len(other), other.targets, other.target) == (2, None, "genre")
    with pytest.raises(TreeFileError, match=r"has no comment '# genre = ...'; it has mood"):
        read("own.conllu", text, target="genre")
    with pytest.raises(TreeFileError, match="nothing to predict"):  # a number of each sentence
        read("own.conllu", conllu("1", "Dogs") + conllu("2", "Cats"))


def test_words_of_a_sentence_are_no_columns(read) -> None:
    bare = conllu("good", "Dogs").partition("\n")[2]
    text = bare + conllu("good", "Cats")
    for name, options in (("own.conllu", {}), ("own.txt", {"format": "conllu"})):
        data = read(name, text, target="mood", targets_needed=False, **options)
        assert [str(tree) for tree in data.trees] == [
            "(root/bark nsubj/Dogs)",
            "(root/bark nsubj/Cats)",
        ]
    rows = [{"tree": conllu(each, "Dogs"), "label": each} for each in ("good", "bad")]
    data = read("own.jsonl", "\n".join(map(json.dumps, rows)), "conllu")
    assert data.targets == ["good", "bad"]


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    for name, text in (("loop/a", "for i in x: y\n"), ("call/b", "f(x)\n"), ("call/c", "f(\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).with_suffix(".py").write_text(text)
    (tmp_path / "call" / "notes.md").write_text("none of them")
    (tmp_path / "call" / ".hidden.py").write_text("f(x)")
    data = read_trees(tmp_path)
    assert (data.targets, data.format) == (["call", "loop"], "python")
    assert data.unreadable == [(Place("call/c.py", 1), "column 2: '(' was never closed")]
    assert "format: python, by the endings; 1 other files are left out" in data.guesses


def test_a_label_for_each_node_of_an_object(read) -> None:
    rows = [
        {"tree": GOOD, "labels": ["a", None, None, "b", None]},
        {"tree": GOOD, "labels": ["a"]},
        {"tree": BAD, "labels": ["a", None, "b", None, None]},
    ]
    data = read("own.jsonl", "\n".join(map(json.dumps, rows)), target="labels")
    assert (data.task, len(data), data.each_target) == ("nodes", 2, ["a", "b", "a", "b"])
    fault = "1 labels for a tree of 5 nodes; expected one for each"
    assert data.unreadable == [(Place(line=2), fault)]


def test_values_of_json_are_trees(read) -> None:
    rows = [{"document": {"a": [1, 2]}, "kind": "x"}, {"document": [3], "kind": "y"}]
    data = read("own.jsonl", "\n".join(map(json.dumps, rows)), target="kind")
    assert data.trees == [parse.json({"a": [1, 2]}), parse.json([3])]
    assert data.format == "json"


def test_objects_in_a_list_and_documents(read) -> None:
    rows = [{"tree": GOOD, "label": "yes"}, {"tree": BAD, "label": "no"}]
    for text in (json.dumps(rows, indent=1), "\n".join(map(json.dumps, rows))):
        data = read("own.json", text)
        assert (data.targets, data.format) == (["yes", "no"], "bracketed")
    for document in ({"a": 1}, [{"a": 1}], [1, 2]):
        data = read("own.json", json.dumps(document), targets_needed=False)
        assert data.trees == [parse.json(document)]


def test_a_tab_within_a_tree_parts_no_columns(read) -> None:
    data = read("own.txt", "(S\t(NP it)\n\t(VP works))\n", target="root-label")
    assert str(data.trees[0]) == "(* (NP it) (VP works))"


def test_source_code_in_objects(read) -> None:
    rows = [{"code": "def f(x):\n    return x\n", "lines": 2, "package": "os.path"}] * 2
    text = "\n".join(map(json.dumps, rows))
    data = read("own.jsonl", text, "python", "lines", task="regression")
    assert data.trees[0] == parse.python(rows[0]["code"])
    assert data.targets == [2.0, 2.0]


def test_a_chain_of_100_000_nodes(read) -> None:
    deep = "(a " * 100_000 + "x" + ")" * 100_000
    for target in ("root-label", "node-labels"):
        data = read("deep.mrg", deep, target=target)
        assert data.trees[0].height == 100_000
    assert data.each_target == ["a"] * 100_000
    assert read("deep.tsv", f"1\t{deep}\n2\t{GOOD}\n").trees[0].size == 100_001


def test_what_is_only_asked_about_needs_no_target(read) -> None:
    def ask(name: str, text: str, target: str) -> TreeFile:
        return read(name, text, "bracketed", target, targets_needed=False)

    for name, text, target in (
        ("own.tsv", f"{GOOD}\n{BAD}\n", "first-column"),
        ("own.tsv", f"{GOOD}\n{BAD}\n", "label"),
        ("own.txt", f"{GOOD}\n{BAD}\n", "label"),
        ("own.mrg", f"{GOOD}\n{BAD}\n", "folders"),
    ):
        data = ask(name, text, target)
        assert (len(data), data.targets) == (2, None)
    assert ask("own.tsv", f"yes\t{GOOD}\n", "first-column").targets == ["yes"]
    assert ask("own.tsv", f"{GOOD}\t{BAD}\n", "first-column").pairs
    assert ask("own.tsv", f"{GOOD}\n", "1").targets is None
    assert ask("own.tsv", f"yes\t{GOOD}\n", "1").targets == ["yes"]
    assert ask("own.mrg", GOOD, "root-label").targets == ["S"]


@pytest.mark.parametrize(
    ("name", "text", "options", "expected"),
    [
        ("own.tsv", "\n \n", {}, "tsv is empty; expected a tree on each line, or LABEL<TAB>TREE"),
        ("own.mrg", "", {}, "is empty"),
        ("own.tsv", f"yes\t{GOOD}\n", {"target": "mood"}, "has no column 'mood'; its columns are "),
        ("own.tsv", f"yes\t{GOOD}\n", {"target": "3"}, "has no column '3'; its columns are 1, 2"),
        ("own.tsv", f"yes\t{GOOD}\n", {"task": "pairs"}, "--task pairs needs two, LABEL<TAB>TREE"),
        ("own.tsv", f"yes\t{GOOD}\t{BAD}\n", {"task": "nodes"}, "roots and nodes cannot be target"),
        ("own.tsv", f"yes\t{GOOD}\t{BAD}\t{BAD}\n", {}, "the columns 2, 3, 4; expected one or two"),
        ("own.tsv", "yes\t(S (NP\nno\t it))\n", {}, "if the trees span several lines, put each on"),
        ("own.mrg", f"{GOOD}\n", {}, "has trees and nothing to predict; give --target root-label"),
        (
            "own.mrg",
            f"{GOOD}\n",
            {"target": "first-column"},
            "no columns, only trees; expected the",
        ),
        ("own.mrg", "no tree at all\n", {"target": "root-label"}, "1 of 1 trees cannot be read in"),
        ("own.txt", "good morning\n", {}, "are not in any known format of trees; give the format"),
        ("own.tsv", "yes\tdef f(x): y\n", {}, "; give the format with --format, one of listops"),
        (
            "own.tsv",
            f"yes\t{GOOD}\n",
            {"format": "xml"},
            "no column has trees in the format xml: c",
        ),
        ("own.tsv", b"yes\t(S \xff)\n", {}, "line 1: the file is not UTF-8 text; got the byte"),
        (
            "own.tsv",
            f"\t{GOOD}\n\t{BAD}\n",
            {},
            "has trees and nothing to predict (1 is empty); give",
        ),
        (
            "own.tsv",
            f"yes\t{GOOD}\n",
            {"task": "regression"},
            "line 1: expected a number to predict",
        ),
        (
            "own.tsv",
            f"id\tmood\ttree\n1\tx\t{GOOD}\n",
            {},
            "choose the one to predict with --target",
        ),
        (
            "own.tsv",
            f"{GOOD}\n",
            {"target": "1"},
            "line 1: one column cannot be both target and tree",
        ),
        ("own.conllu", conllu("good", "Dogs"), {"target": "moo"}, "'# moo = ...'; it has mood"),
        (
            "own.conllu",
            f"# genre = news\n{conllu('good', 'Dogs')}",
            {},
            "the key of a comment, such as sentiment for",
        ),
        (
            "own.py",
            "f(x)\n",
            {},
            "is one python document, with nothing to predict; expected a folder",
        ),
        ("own.jsonl", "[1]\n", {}, "line 1: expected a JSON object; got [1]"),
        ("own.jsonl", '{"tree": 1\n', {}, "line 1: not JSON: "),
    ],
)
def test_one_sentence_that_says_what_to_do(
    read, name: str, text: str | bytes, options: dict, expected: str
) -> None:
    with pytest.raises(TreeFileError) as caught:
        read(name, text, **options)
    said = str(caught.value)
    assert expected in said
    assert "\n" not in said


def test_a_wrong_parameter_and_a_missing_file(read, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="The 'format' parameter of read_trees must be one of"):
        read("own.tsv", f"yes\t{GOOD}\n", "brackets")
    with pytest.raises(ValueError, match="The 'task' parameter of read_trees must be one of"):
        read("own.tsv", f"yes\t{GOOD}\n", task="ranking")
    with pytest.raises(FileNotFoundError):
        read_trees(tmp_path / "nowhere.tsv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TreeFileError, match=r"a folder for each class.*as FILE\.jsonl"):
        read_trees(tmp_path / "empty")


def test_a_few_slips_among_numbers_are_no_classes(read) -> None:
    text = "".join(f"{i / 3}\t(S (NP x{i}))\n" for i in range(30)) + "oops\t(S (NP x))\n\n\t(S y)\n"
    data = read("own.tsv", text)
    assert (data.task, len(data)) == ("regression", 30)
    assert data.unreadable == [
        (Place(line=31), "expected a number to predict; got 'oops'"),
        (Place(line=33), "the target is missing"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("own.mrg", "", True),
        ("own.tsv", f"yes\t{GOOD}\n", True),
        ("own.csv", f'tree,label\n"{GOOD}",yes\n', True),
        ("own.txt", "( (S\n (NP it)\n (VP works)) )\n", True),
        ("own.tsv", "1\t2\n3\t4\n", False),
        ("own.csv", "height,kind\n1.5,oak\n", False),
        ("own.txt", "the cat sat .\n" * 9, False),
    ],
)
def test_a_file_with_trees_is_known(tmp_path: Path, name: str, text: str, expected: bool) -> None:
    (tmp_path / name).write_text(text)
    assert is_tree_file(tmp_path / name) == expected


@pytest.mark.parametrize("target", ["root-label", "node-labels"])
def test_a_star_is_a_label_of_what_is_learnt_from_and_none_of_what_is_asked_about(
    read, target: str
) -> None:
    text = "(* a (+ b a))\n(+ a b)\n"
    assert {"*", "+"} == set(read("own.mrg", text, target=target).each_target)
    asked = read("own.mrg", text, target=target, targets_needed=False)
    assert [str(tree) for tree in asked.trees] == [
        str(tree) for tree in read("own.mrg", text, target=target).trees
    ]
    if target == "root-label":
        assert read("own.mrg", "(* a b)", target=target, targets_needed=False).targets is None


def test_one_whole_number_is_one_class(read) -> None:
    data = read("own.tsv", "".join(f"{each}\t(+ a b)\n" for each in ("1", "1.0", "0", "1.0", "0")))
    assert (data.task, data.targets) == ("classification", ["1", "1", "0", "1", "0"])
    other = read("other.tsv", "1.0\t(+ a b)\n-2.0\t(+ a b)\n", task="classification")
    assert other.targets == ["1", "-2"]  # whatever else is in the file
    nodes = read("own.mrg", "(1.0 a (2 b))\n(v1.0 a (2.0 b))", target="node-labels")
    assert nodes.each_target == ["1", "2", "v1.0", "2"]
    assert read("own.tsv", "1.0\t(+ a c)\n2.5\t(+ a b)\n").targets == [1.0, 2.5]
