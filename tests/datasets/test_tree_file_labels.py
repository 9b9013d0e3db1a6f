"""Which column of CoNLL-U labels a word's node, in files, folders and texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from structnet.datasets import TreeFileError, read_trees
from structnet.datasets.tree_file import read_text

WORDS = [
    ("1", "Dogs", "dog", "NOUN", "NNS", "2", "nsubj"),
    ("2", "bark", "b", "VERB", "V", "0", "root"),
]
SENTENCE = "".join(
    "\t".join((*word[:5], "Number=Plur", *word[5:], "_", "_")) + "\n" for word in WORDS
)
EXPECTED = {
    None: "(root/bark nsubj/Dogs)",
    "deprel": "(root/bark nsubj/Dogs)",
    "upos": "(VERB/bark NOUN/Dogs)",
    "xpos": "(V/bark NNS/Dogs)",
    "lemma": "(b/bark dog/Dogs)",
    "feats": "(Number=Plur/bark Number=Plur/Dogs)",
}


@pytest.mark.parametrize("label", EXPECTED)
def test_a_column_labels_the_nodes(label: str | None, tmp_path: Path):
    for name in ("a/1.conllu", "b/1.conllu"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(SENTENCE)
    file = read_trees(tmp_path / "a/1.conllu", targets_needed=False, node_label=label)
    folder = read_trees(tmp_path, node_label=label)
    typed = read_text(SENTENCE, "conllu", node_label=label)
    found = [*file.trees, *folder.trees, *typed.trees]
    assert list(map(str, found)) == [EXPECTED[label]] * 4
    assert file.read_arguments.get("node_label") == label


def test_a_column_that_is_none_is_refused(tmp_path: Path):
    (tmp_path / "own.tsv").write_text("yes\t(S (NP it))\nno\t(S (NP he))\n")
    with pytest.raises(ValueError, match=r"'node_label' parameter of read_trees .*'pos'"):
        read_trees(tmp_path / "own.tsv", node_label="pos")
    with pytest.raises(TreeFileError, match="for conllu; the trees are bracketed"):
        read_trees(tmp_path / "own.tsv", node_label="upos")
