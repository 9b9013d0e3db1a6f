"""``reproduce tree-lstm --table own``: its tasks, and the table of a few small ones."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from commands import call, ran, refused

from structnet.datasets import python_functions
from structnet.parse import bracketed, python
from structnet.recipes.tree_lstm import own_trees_tasks
from structnet.recipes.tree_lstm.own_trees_baselines import _counts_of, around, baseline, counts
from structnet.recipes.tree_lstm.own_trees_table import NAMES, OF_NODES, TASKS, parted, score
from structnet.recipes.tree_lstm.own_trees_tasks import Task, task

SENTENCES = """
( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ barks))) )
( (SQ (VBZ does) (NP (DT the) (NN cat) (NNS owners)) (VP (VB sleep))) )
"""


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "few.mrg"
    path.write_text(SENTENCES * 20)
    return path


def test_every_task_has_a_row() -> None:
    known = {**own_trees_tasks._OF_PROGRAMS, **own_trees_tasks._OF_SENTENCES}
    assert list(known) == list(TASKS) and set(OF_NODES) < set(TASKS)


def test_a_loop_in_a_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [
        "def f(x):\n if x:\n  for y in x: pass",  # inside
        "def f(x):\n for y in x:\n  if y: pass",  # outside
        "def f(x):\n if x: pass\n while x: pass",
        "def f(x):\n for y in x: pass",  # no condition
    ]
    found = python_functions(["json"], max_size=50)._replace(trees=[python(s) for s in sources])
    monkeypatch.setattr(own_trees_tasks, "python_functions", lambda packages: found)
    assert own_trees_tasks._loop().y.tolist() == [True, False, False]


def test_values_of_expressions() -> None:
    tree = bracketed("(and (or 0 1) (not (xor 1 1)))")
    assert tree.fold(own_trees_tasks._value_at) == 1
    assert 0.3 < task("value").y.mean() < 0.7


def test_sentences(treebank: Path) -> None:
    root = task("root", treebank)
    assert root.y.tolist() == ["S", "SQ"] * 20
    assert {tree.label for tree in root.trees} == {"?"}
    assert task("nouns", treebank).y.tolist() == [1.0, 2.0] * 20
    hidden = task("nouns-hidden", treebank).trees[0]
    assert str(hidden) == str(bracketed("(S (NP-SBJ (TAG the) (TAG dog)) (VP (TAG barks)))"))


def test_a_masked_tag(treebank: Path) -> None:
    of = task("tag", treebank)
    assert sum(node.label == "?" for node in of.trees[0].preorder()) == 2  # the tag and the word
    whole = [bracketed(line[2:-2]) for line in SENTENCES.strip().splitlines()] * 20
    for tree, tag, group in zip(of.trees, of.y, of.groups, strict=True):
        pairs = zip(tree.preorder(), whole[group].preorder(), strict=True)
        changed = [true.label for seen, true in pairs if seen.label != true.label]
        assert changed[0] == tag and len(changed) == 2
    learn, test = parted(of, 0)
    groups = np.array(of.groups)
    assert not set(groups[learn]) & set(groups[test])


def test_sentences_that_follow(tmp_path: Path) -> None:
    path = tmp_path / "many.mrg"
    for number, part, far in ((1700, 200, 33), (80, 10, 2)):
        path.write_text("".join(f"( (S (CD {i})) )\n" for i in range(number)))
        task.cache_clear()
        of = task("next", path)
        assert 0.4 < of.y.mean() < 0.6
        for pair, follows, group in zip(of.trees, of.y, of.groups, strict=True):
            one, other = (int(tree.children[0].children[0].label) for tree in pair)
            assert one - one % part == other - other % part == group
            assert other - one == 1 if follows else abs(other - one) >= far
    learn, test = parted(of, 0)
    groups = np.array(of.groups)
    assert not set(groups[learn]) & set(groups[test])


def test_what_two_trees_have_in_common_is_counted() -> None:
    one, other = bracketed("(a (b x) x x)"), bracketed("(a x y)")
    assert _counts_of((one, other), pairs=False) == {
        "both 1 a": 1, "both 0 x": 1, "apart 1 b": 1, "apart 0 x": 2, "apart 0 y": 1,
    }  # fmt: skip
    assert _counts_of((one, other), True)["both a > x"] == 1
    assert _counts_of(one, False) == counts(one, False)


def test_uses_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    found = python_functions(["json"], max_size=50, contexts=True)
    source = "def f(x):\n x.Name[Load], *y = z"
    found = found._replace(trees=[*found.trees, python(source)])
    monkeypatch.setattr(own_trees_tasks, "python_functions", lambda contexts: found)
    of = own_trees_tasks._uses()
    assert {use for uses in of.y for use in uses} == {None, "Load", "Store"}
    subscript = "(Subscript (Attribute (Name x) Name) (Name Load))"
    assert subscript in str(of.trees[-1]) and "Store" not in str(of.trees[-1])
    labels = [node.label for node in of.trees[-1].preorder()]
    asked = [(one, use) for one, use in zip(labels, of.y[-1], strict=True) if use]
    names = ["Tuple", "Subscript", "Attribute", "Name", "Name", "Starred", "Name", "Name"]
    kinds = ["Store", "Store", "Load", "Load", "Load", "Store", "Store", "Load"]
    assert asked == list(zip(names, kinds, strict=True))
    shown = {node.label for tree in of.trees for node in tree.preorder() if not node.children}
    assert not shown & {"Store", "Del"}


def test_tags_and_phrases(treebank: Path) -> None:
    tags, phrases = task("tags", treebank), task("phrases", treebank)
    assert tags.of_nodes and phrases.of_nodes
    assert str(tags.trees[0]) == "(? (? the dog) (? barks))"
    assert tags.y[0] == [None, None, "DT", "NN", None, "VBZ"]
    assert phrases.trees[0] == tags.trees[0]
    assert phrases.y[0] == ["S", "NP", None, None, "VP", None]
    places = np.array([0, 1])
    assert phrases.answers(places).tolist() == ["S", "NP", "VP", "SQ", "NP", "VP"]
    assert phrases.has_class(places).sum() == 6
    learn, test = parted(tags, 0)
    for model in ("bag", "pairs"):
        assert (baseline(model, 0, tags, learn, test) == tags.answers(test)).all()
    # All look alike, and two classes are equally frequent.
    assert set(baseline("bag", 0, phrases, learn, test)) in ({"NP"}, {"VP"})
    assert (baseline("pairs", 0, phrases, learn, test) == phrases.answers(test)).mean() > 0.9


def test_what_stands_around_a_node() -> None:
    found = around(bracketed("(a (b c d) e)"), neighbours=True)
    assert set(found[3]) == {
        "d", "place 1", "0 children", "above b", "above b a", "before c", "last leaf c",
        "next leaf e",
    }  # fmt: skip
    assert set(found[1]) == {
        "b", "place 0", "2 children", "above a", "above a None", "after e", "below c", "below d",
    }  # fmt: skip
    labels = around(bracketed("(a (b c d) e)"), neighbours=False)
    assert labels == [{label: 1} for label in "abcde"]


def test_the_split() -> None:
    of = Task([bracketed("(a b)")] * 40, np.repeat(["x", "y"], 20))
    learn, test = parted(of, 3)
    assert sorted([*learn, *test]) == list(range(40)) and len(test) == 10
    assert (of.y[test] == "x").sum() == 5
    fewer = parted(of, 3, 7, 2)
    assert [len(part) for part in fewer] == [7, 2]
    assert set(fewer[0]) <= set(learn) and set(fewer[1]) <= set(test)


def test_scores_and_counts() -> None:
    assert score(np.array(["a", "b"]), np.array(["a", "a"])) == 0.5
    assert score(np.array([1.0, 4.0]), np.array([1.0, 1.0])) == pytest.approx(4.5**0.5)
    tree = bracketed("(a (a b) b)")
    assert counts(tree, False) == {"1 a": 2, "0 b": 2}
    assert counts(tree, True) == {"1 a": 2, "0 b": 2, "a > a": 1, "a > b": 2}


def test_a_small_table(tmp_path: Path, treebank: Path) -> None:
    told = ["--only", "value,nouns", "--train-size", "60", "--test-size", "20"]
    command = ["reproduce", "tree-lstm", "--table", "own", "--treebank", treebank, *told]
    done = ran(*command, "--out", tmp_path / "own")
    rows = done.json["rows"]
    assert list(rows) == list(NAMES.values())
    value, nouns = "value of an expression, accuracy", "number of nouns, error"
    assert all(0 <= rows[name][value]["ours"] <= 1 for name in rows)
    assert rows["bag of labels"][nouns]["ours"] < 0.1  # there is nothing but counting
    text = (tmp_path / "own" / "table-own.md").read_text()
    assert "paper | here" not in text and "value of an expression 80, number of nouns 40" in text
    runs = sorted(path.name for path in (tmp_path / "own").iterdir() if path.is_dir())
    assert runs[:2] == ["own-nouns-bag-0", "own-nouns-boosting-0"] and len(runs) == 8
    result = json.loads((tmp_path / "own" / runs[0] / "result.json").read_text())
    assert result["sizes"] == {"train": 30, "test": 10}
    again = call(*command, "--out", tmp_path / "own")
    assert again.out.count("done already") == 8
    command.remove("--treebank"), command.remove(treebank)
    command[command.index("value,nouns")] = "value"
    assert call(*command, "--out", tmp_path / "own").out.count("done already") == 4


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--epochs 3", "default settings; leave out --epochs"),
        ("--only vaule", "did you mean 'value'?"),
        ("--only sum", "--only must name some of package, "),
        ("--treebank nowhere.mrg", "--treebank must be a file of sentences; got nowhere.mrg"),
        ("--only tag", "--only tag needs --treebank FILE, with bracketed sentences"),
        ("--max-depth 3", "--max-depth, --generate and --data-dir are for tables 1 and 2"),
    ],
)
def test_what_the_table_refuses(flags: str, expected: str) -> None:
    assert expected in refused("reproduce", "tree-lstm", "--table", "own", *flags.split())


def test_treebanks_are_for_one_table() -> None:
    err = refused("reproduce", "tree-lstm", "--table", "1", "--treebank", "x.mrg")
    assert "--treebank is for table own" in err


def test_all_of_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pack").mkdir()
    for name in ("pack/__init__.py", "pack/part.py", "alone.py"):
        (tmp_path / name).write_text("def f():\n    return 1\n")
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    assert python_functions(None).packages == ["pack", "pack", "alone"]
    assert python_functions(None).files[-1] == "alone.py"
    assert set(python_functions(10).packages) == {"pack"}
    assert python_functions(np.int64(1)).packages == ["pack", "pack"]
