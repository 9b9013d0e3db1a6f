"""Logical relations: the generator's promises, and the published files where they are at hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from structnet import parse
from structnet.datasets import lrt, truth
from structnet.datasets.source import DownloadError
from structnet.parse import ParseError
from structnet.trees.tree import Tree

pytestmark = pytest.mark.usefixtures("cache")
SAMPLES = Path(__file__).parents[2] / "data" / "samples"


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
    with pytest.raises(ValueError, match="num_pairs"):
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


@pytest.mark.parametrize("share", [1.0, -0.1])
def test_bad_shares(share: float) -> None:
    with pytest.raises(ValueError, match=r"must be in \[0, 1\)"):
        lrt.generated(100, validation_fraction=share)


def test_lrt_files_round_trip(tmp_path: Path) -> None:
    pairs = lrt.generate(300, seed=6)
    lrt.write_tsv(tmp_path / "pairs.tsv", pairs)
    assert lrt.read_tsv(tmp_path / "pairs.tsv") == pairs


def test_bad_lrt_lines(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("=\ta\ta\n=\ta\tb\n?\ta\ta\n#\ta\t( b\n#\ta\tb\n")
    with pytest.raises(ParseError, match=r"line 3.*expected a relation"):
        lrt.read_tsv(path)


def test_lrt_sample() -> None:
    pairs = lrt.read_tsv(SAMPLES / "lrt_sample.tsv")
    assert all(pair.relation == truth.relation(*pair[1:]) for pair in pairs)
    assert len(set(pairs)) == 200


def test_lrt_is_not_at_hand(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"train0 is not in .*download=True"):
        lrt.load(tmp_path)


@pytest.mark.parametrize("number", [0, 1, 4, 12])
def test_published_relations(at_hand: Path, number: int) -> None:
    """Truth tables decide every published pair, and a file's number is that of its operators."""
    pairs = lrt.read_tsv(at_hand / "lrt" / f"test{number}")
    assert all(pair.relation == truth.relation(*pair[1:]) for pair in pairs)
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
