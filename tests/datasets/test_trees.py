"""Data sets: the generators' promises, the published files where they are at hand, downloads."""

from __future__ import annotations

import gc
import hashlib
import io
import urllib.request
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from structnet import parse
from structnet.datasets import listops, lrt, source, truth
from structnet.datasets.source import DownloadError, Source, WrongFileError
from structnet.parse import ParseError
from structnet.trees.memory import collector_paused
from structnet.trees.tree import Tree

pytestmark = pytest.mark.usefixtures("cache")
ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "data" / "samples"
CONTENT = b"3\t[MAX 1 3 ]\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
GIT_BLOB = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()


@pytest.fixture
def at_hand(real_data: Path) -> Path:
    if not (real_data / "lrt" / "train0").exists():
        pytest.skip("the published files are not at hand")
    return real_data


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network on which every address holds CONTENT."""
    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: io.BytesIO(CONTENT))


def demo(**changes: object) -> Source:
    fields = {"name": "a.tsv", "folder": "demo", "url": "https://example.org/a.tsv"}
    return Source(**(fields | {"licence": "MIT", "sha256": SHA256} | changes))


# Files and hashes


@pytest.mark.parametrize("changes", [{}, {"sha256": None, "git_blob": GIT_BLOB}, {"size": 13}])
def test_fetch_downloads_once(served: None, cache: Path, changes: dict, monkeypatch) -> None:
    path = source.fetch(demo(**changes))
    assert path == cache / "demo" / "a.tsv"
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]
    monkeypatch.setattr(urllib.request, "urlopen", None)  # would fail if called
    assert source.fetch(demo(**changes)) == path


def test_fetch_reads_file_urls(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("STRUCTNET_DATA", str(tmp_path / "cache"))
    (tmp_path / "published.tsv").write_bytes(CONTENT)
    path = source.fetch(demo(url=(tmp_path / "published.tsv").as_uri()))
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("changes", [{"sha256": "0" * 64}, {"size": 99}, {"sha256": GIT_BLOB}])
def test_a_wrong_download_is_not_kept(served: None, cache: Path, changes: dict) -> None:
    with pytest.raises(WrongFileError, match=r"a\.tsv"):
        source.fetch(demo(**changes))
    assert list((cache / "demo").iterdir()) == []


def test_no_network_says_what_to_do(cache: Path) -> None:
    with pytest.raises(DownloadError, match=r"cannot download a.tsv from https.*put the file at"):
        source.fetch(demo())
    assert list((cache / "demo").iterdir()) == []


def test_an_interrupted_download_leaves_nothing(cache: Path, monkeypatch) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int) -> bytes:
            raise ConnectionResetError("reset by peer")

    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: Broken())
    with pytest.raises(DownloadError, match="reset by peer"):
        source.fetch(demo())
    assert list((cache / "demo").iterdir()) == []


@pytest.mark.parametrize("where", ["", "demo"])
def test_fetch_prefers_the_data_dir(tmp_path: Path, where: str) -> None:
    path = tmp_path / "mine" / where / "a.tsv"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    assert source.find(demo(), tmp_path / "mine") == path
    assert source.fetch(demo(), tmp_path / "mine") == path


def test_a_wrong_file_of_the_user_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("something else")
    with pytest.raises(WrongFileError, match="SHA-256"):
        source.fetch(demo(), tmp_path)
    assert (tmp_path / "a.tsv").read_text() == "something else"


def test_without_download_nothing_is_fetched(served: None, cache: Path) -> None:
    with pytest.raises(DownloadError, match="download=True"):
        source.fetch(demo(), download=False)
    assert not cache.exists()


def test_default_cache(monkeypatch) -> None:
    monkeypatch.delenv("STRUCTNET_DATA")
    assert source.cache_dir() == Path.home() / ".cache" / "structnet"


def test_a_source_needs_a_hash() -> None:
    with pytest.raises(ValueError, match="no hash"):
        demo(sha256=None)


def test_collector_comes_back_after_an_error() -> None:
    with pytest.raises(KeyError), collector_paused():
        raise KeyError
    assert gc.isenabled()


# ListOps


def value(tree: Tree) -> int:
    """The slow way, as the paper defines it."""
    if not tree.children:
        return int(tree.label)
    operands = [value(child) for child in tree.children]
    functions = {"MAX": max, "MIN": min, "MED": np.median, "SM": lambda x: sum(x) % 10}
    return int(functions[tree.label](operands))


def test_values() -> None:
    trees = listops.generate(2000, seed=5)
    assert [listops.evaluate_expression(tree) for tree in trees] == [value(tree) for tree in trees]


@pytest.mark.parametrize("text, expected", [("[MED 2 3 ]", 2), ("[SM 9 9 9 ]", 7), ("4", 4)])
def test_values_by_hand(text: str, expected: int) -> None:
    assert listops.evaluate_expression(parse.listops(text)) == expected


def test_value_of_a_long_chain() -> None:
    tree = Tree("3")
    for _ in range(100_000):
        tree = Tree("SM", [tree, Tree("1")])
    assert listops.evaluate_expression(tree) == 3


@pytest.mark.parametrize("tree", [Tree("FOO", [Tree("1")]), Tree("10"), Tree("MAX", [Tree("x")])])
def test_unknown_labels_have_no_value(tree: Tree) -> None:
    with pytest.raises(ValueError, match=r"FOO|'10'|'x'"):
        listops.evaluate_expression(tree)


def test_generated_trees_follow_the_grammar() -> None:
    trees = listops.generate(3000, seed=1, max_depth=6)
    assert len(set(trees)) == 3000
    assert max(tree.height for tree in trees) == 5  # six levels
    inner = [node for tree in trees for node in tree.preorder() if node.children]
    assert {node.label for node in inner} == set(listops.OPERATORS)
    assert {len(node.children) for node in inner} == set(listops.ARITIES)
    assert {leaf.label for tree in trees for leaf in tree.leaves()} == set("0123456789")


def test_generated_sizes() -> None:
    """100,000 distinct trees are as large as the published ones; their number decides that."""
    drawn = listops._distinct(100_000, np.random.SeedSequence(0), max_depth=20)
    operators = np.array([sum(code >= 10 for code in nodes) for nodes in drawn])
    tokens = np.array([len(nodes) for nodes in drawn]) + operators  # each has a closing bracket
    assert abs(tokens.mean() - 42.8) < 1.0
    assert np.median(tokens) == 16
    assert abs((tokens <= 7).mean() - 0.225) < 0.005


def test_same_seed_same_trees() -> None:
    assert listops.generate(200, seed=3) == listops.generate(200, seed=3)
    assert listops.generate(200, seed=3) != listops.generate(200, seed=4)


@pytest.mark.parametrize("args", [(0,), (5, 0, 0), (11, 0, 1), (444_411, 0, 2)])
def test_impossible_numbers_of_trees(args: tuple) -> None:
    with pytest.raises(ValueError, match=r"positive|fewer than"):
        listops.generate(*args)


def test_all_trees_of_one_level() -> None:
    assert {tree.label for tree in listops.generate(10, max_depth=1)} == set("0123456789")


def test_load_generates() -> None:
    data = listops.load(num_train=900, num_test=100, seed=2)
    assert (len(data.train_trees), len(data.test_trees)) == (900, 100)
    assert not set(data.train_trees) & set(data.test_trees)
    assert data.test_labels == [value(tree) for tree in data.test_trees]
    assert data.origin == "generated"


@pytest.fixture
def published(tmp_path: Path, monkeypatch) -> Path:
    """Two small files in the place of the published ones."""
    for name, labels in (("TRAIN", "12345"), ("TEST", "678")):
        path = tmp_path / getattr(listops, name).name
        path.write_text("".join(f"{label}\t( [MAX {label} ) ]\n" for label in labels))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        monkeypatch.setattr(listops, name, demo(name=path.name, sha256=digest))
        monkeypatch.setattr(listops, f"PUBLISHED_{name}", len(labels))
    return tmp_path


def test_load_prefers_the_published_files(published: Path) -> None:
    data = listops.load(published, num_train=4, num_test=3)
    assert data.train_labels == [1, 2, 3, 4] and data.test_labels == [6, 7, 8]
    assert str(data.test_trees[0]) == "(MAX 6)"
    assert data.origin == "published"
    assert listops.load(published, 4, 3, max_depth=3).origin == "generated"


def test_load_asks_for_too_many(published: Path) -> None:
    with pytest.raises(ValueError, match=r"test_d20s.tsv holds 3 trees; 4 were"):
        listops.load(published, num_train=4, num_test=4)


def test_load_finds_only_one_file(published: Path) -> None:
    (published / listops.TEST.name).unlink()
    with pytest.raises(DownloadError, match="test_d20s"):
        listops.load(published, num_train=4, num_test=3)


@pytest.mark.parametrize("binary", [False, True])
def test_listops_files_round_trip(tmp_path: Path, binary: bool) -> None:
    trees = listops.generate(300, seed=6)
    labels = [value(tree) for tree in trees]
    listops.write_tsv(tmp_path / "trees.tsv", trees, labels, binary)
    assert listops.read_tsv(tmp_path / "trees.tsv", verify=True) == (trees, labels)


def test_bad_listops_lines(tmp_path: Path) -> None:
    path = tmp_path / "trees.tsv"
    path.write_text("1\t[MAX 1 ]\n2\t[MAX 1 ]\nx\t1\n3\t[MAX\n4\t[MIN 4 ]\n")
    with pytest.raises(ParseError, match="line 3"):
        listops.read_tsv(path)
    with pytest.raises(ParseError, match=r"line 2.*given as 2; the expression's is 1"):
        listops.read_tsv(path, verify=True)
    with pytest.warns(UserWarning, match="2 of 5 lines"):
        assert listops.read_tsv(path, errors="skip")[1] == [1, 2, 4]


def test_listops_sample() -> None:
    trees, labels = listops.read_tsv(SAMPLES / "listops_sample.tsv", verify=True)
    assert len(set(trees)) == len(labels) == 200


def test_published_listops_values(at_hand: Path) -> None:
    trees, _ = listops.read_tsv(at_hand / "listops" / "test_d20a.tsv", verify=True)
    assert (len(trees), sum(tree.size for tree in trees)) == (10_000, 345_228)


# Logical relations


def satisfied(sentence: Tree, world: set[str]) -> bool:
    operands = [satisfied(child, world) for child in sentence.children]
    connectives = {"and": all, "or": any, "not": lambda x: not x[0]}
    return connectives[sentence.label](operands) if operands else sentence.label in world


def worlds(sentence: Tree) -> set[int]:
    subsets = [{v for i, v in enumerate("abcdef") if world >> i & 1} for world in range(64)]
    return {world for world, subset in enumerate(subsets) if satisfied(sentence, subset)}


def slow_relation(left: Tree, right: Tree) -> str:
    a, b, everything = worlds(left), worlds(right), set(range(64))
    table = {"=": a == b, "<": a < b, ">": b < a}
    table |= {"^": not a & b and a | b == everything, "|": not a & b}
    table |= {"v": a | b == everything, "#": True}
    return next(symbol for symbol, holds in table.items() if holds)


def test_generated_pairs() -> None:
    pairs = lrt.generate(500, seed=3)
    assert len(set(pairs)) == 500
    assert all(pair.relation == slow_relation(pair.left, pair.right) for pair in pairs)
    assert all(0 < len(worlds(pair.left)) < 64 for pair in pairs)
    assert set(Counter(pair.relation for pair in pairs)) == set(truth.RELATIONS)
    variables = [{n.label for t in pair[1:] for n in t.leaves()} for pair in pairs]
    assert max(map(len, variables)) == 4 and set.union(*variables) == set("abcdef")


def test_generated_pairs_are_distributed_like_the_published() -> None:
    pairs = lrt.generate(5000, max_operators=19, seed=1)
    share = {symbol: n / 5000 for symbol, n in Counter(pair.relation for pair in pairs).items()}
    expected = {"#": 0.531, "<": 0.110, ">": 0.110, "v": 0.107, "|": 0.107, "=": 0.019, "^": 0.017}
    assert all(abs(share[symbol] - p) < 0.025 for symbol, p in expected.items())
    # Pairs of few operators recur, so their share depends on how many pairs are drawn.
    sizes = np.array([max(map(truth.num_operators, pair[1:])) for pair in pairs])
    share_of = {n: (sizes == n).sum() / (sizes >= 5).sum() for n in (5, 6, 7, 8, 10, 12)}
    expected = {5: 0.238, 6: 0.230, 7: 0.186, 8: 0.132, 10: 0.057, 12: 0.018}
    assert all(abs(share_of[n] - p) < 0.03 for n, p in expected.items())


def test_few_operators() -> None:
    pairs = lrt.generate(36, max_operators=0)
    assert Counter(pair.relation for pair in pairs) == {"=": 6, "#": 30}
    with pytest.raises(ValueError, match="at least"):
        lrt.generate(0)


def test_no_more_pairs(monkeypatch) -> None:
    monkeypatch.setattr("structnet.datasets.lrt_generator._PATIENCE", 1000)
    with pytest.raises(ValueError, match=r"found only 36 of 37"):
        lrt.generate(37, max_operators=0)


def test_sentences_without_information_are_independent() -> None:
    always = parse.logic("( a ( or ( not a ) ) )")
    assert truth.truth_table(always) == truth.ALL_WORLDS
    assert truth.relation(always, always) == "#"


@pytest.mark.parametrize(
    "tree", [Tree("g"), Tree("xor", [Tree("a")] * 2), Tree("not", [Tree("a")] * 2), Tree("and")]
)
def test_what_is_no_sentence(tree: Tree) -> None:
    with pytest.raises(ValueError, match="a sentence has"):
        truth.truth_table(tree)


def test_split_is_disjoint_and_complete() -> None:
    data = lrt.generated(3000, max_operators=8, seed=4)
    tested = [pair for pairs in data.test.values() for pair in pairs]
    assert len(tested) == 450 and len(data.validation) == 255
    assert sorted(data.test) == list(range(9))
    parts = [set(data.train), set(data.validation), set(tested)]
    assert sum(map(len, parts)) == len(set.union(*parts))
    sizes = [max(map(truth.num_operators, pair[1:])) for pair in data.train]
    assert max(sizes) == 4
    assert max(max(map(truth.num_operators, pair[1:])) for pair in data.validation) > 4
    # What is neither trained on nor validated on has too many operators.
    few = [p for p in lrt.generate(3000, 8, 4) if max(map(truth.num_operators, p[1:])) <= 4]
    assert set(few) <= set.union(*parts)


@pytest.mark.parametrize("shares", [{"validation_share": 1.0}, {"test_share": -0.1}])
def test_bad_shares(shares: dict) -> None:
    with pytest.raises(ValueError, match=r"must be in \[0, 1\)"):
        lrt.generated(100, **shares)


def test_lrt_files_round_trip(tmp_path: Path) -> None:
    pairs = lrt.generate(300, seed=6)
    lrt.write_tsv(tmp_path / "pairs.tsv", pairs)
    assert lrt.read_tsv(tmp_path / "pairs.tsv", verify=True) == pairs


def test_bad_lrt_lines(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("=\ta\ta\n=\ta\tb\n?\ta\ta\n#\ta\t( b\n#\ta\tb\n")
    with pytest.raises(ParseError, match=r"line 3.*expected a relation"):
        lrt.read_tsv(path)
    with pytest.raises(ParseError, match=r"line 2.*given as =; the sentences' is #"):
        lrt.read_tsv(path, verify=True)
    with pytest.warns(UserWarning, match="2 of 5 lines"):
        assert len(lrt.read_tsv(path, errors="skip")) == 3


def test_lrt_sample() -> None:
    pairs = lrt.read_tsv(SAMPLES / "lrt_sample.tsv", verify=True)
    assert len(set(pairs)) == 200


def test_lrt_is_not_at_hand(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"train0 is not in .*download=True"):
        lrt.load(tmp_path)


@pytest.mark.parametrize("number", [0, 1, 4, 12])
def test_published_relations(at_hand: Path, number: int) -> None:
    """Truth tables decide every published pair, and a file's number is that of its operators."""
    pairs = lrt.read_tsv(at_hand / "lrt" / f"test{number}", verify=True)
    sizes = {min(max(map(truth.num_operators, pair[1:])), 12) for pair in pairs}
    assert sizes == {number}


def test_published_lrt(at_hand: Path) -> None:
    data = lrt.load(at_hand)
    assert {n: len(pairs) for n, pairs in data.test.items()}[12] == 853
    assert sum(map(len, data.test.values())) == 37_367
    assert len(data.validation) == round(0.1 * 211_702)
    assert not {tuple(map(id, p[1:])) for p in data.train} & {
        tuple(map(id, p[1:])) for p in data.validation
    }  # equal sentences are one object
    assert len(data.train) + len(data.validation) > 68_425
    assert data.origin == "published"
