"""What a run on a user's own trees is told. Nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from structnet.checks import check_number
from structnet.recipes.recipe import Place
from structnet.tensor_tree.settings import TreeLSTMSettings

Format = Literal[
    "bracketed",
    "penn",
    "listops",
    "logic",
    "conllu",
    "newick",
    "json",
    "jsonl",
    "xml",
    "html",
    "python",
]
NodeLabel = Literal["form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc"]
Task = Literal["classification", "regression", "pairs", "nodes"]


@dataclass(frozen=True)
class Source:
    """the trees, and what is to be predicted

    Args:
        format: format of the trees; penn is bracketed without traces and function tags (default:
            what the file's ending or its first lines tell)
        target: column of the targets, by name or number from 1, or first-column; root-label or
            node-labels, which are then hidden from the model; the key of a comment in CoNLL-U
            (default: the first column, or that called label)
        task: classification, regression, pairs (two trees a line) or nodes, a label for every node
            (default: regression for numbers, unless they are a few whole ones)
        node_label: column of CoNLL-U that labels a word's node, beside the word itself (default:
            deprel)
        test_file: file to test on (default: a share of the trees is drawn, of every class; or of
            whole files or groups, see --group)
        validation_file: file by which the best epoch is chosen (default: a share is drawn)
        group: column of what a tree is of, such as its file or author, where new trees will be of
            others: none is both in what is drawn and in the rest (default: of a folder the file,
            if files have several trees and each class has five files)
        test_fraction: share of the trees that is drawn to test on
        validation_fraction: share of the others that is drawn to choose the epoch by
    """

    format: Format | None = None
    target: str | None = None
    task: Task | None = None
    node_label: NodeLabel | None = None
    test_file: Path | None = None
    validation_file: Path | None = None
    group: str | None = None
    test_fraction: float = 0.2
    validation_fraction: float = 0.1

    def __post_init__(self) -> None:
        for name in ("test_fraction", "validation_fraction"):
            check_number(name, getattr(self, name), 0, 1, open=True)


@dataclass(frozen=True)
class TreeFileSettings:
    """Trains a Tree-LSTM on trees of your own, and tests it.

    FILE has LABEL<TAB>TREE on a line (LABEL<TAB>TREE<TAB>TREE for pairs; a number is regressed on),
    objects with a tree and a label (.jsonl), trees in brackets (.mrg) or sentences (.conllu), whose
    labels can be the target; or it is a folder with a folder of files for each class.

    The weights of the epoch best on validation are kept; tree.png is a test tree with what the
    model says, why.png which of its parts that depends on. The result has accuracy, macro F1 and
    confusion matrix of all test trees together, or the errors of numbers, beside what the most
    frequent class or the mean would give.

    Args:
        data: FILE or FOLDER of trees

    Raises:
        ValueError: a value is out of its range.
    """

    data: str
    source: Source = field(default_factory=Source)
    training: TreeLSTMSettings = field(default_factory=TreeLSTMSettings)
    place: Place = field(default_factory=Place)

    @property
    def name(self) -> str:
        """What tells it from other runs on other data, for the name of its folder."""
        return Path(self.data).name.split(".")[0]

    def resolved(self) -> TreeFileSettings:
        """The same with whole paths: whoever resumes may stand in another folder."""
        source, folder = self.source, self.place.data_dir or Path()
        test, validation = (
            None if file is None else Path(folder, file).resolve()
            for file in (source.test_file, source.validation_file)
        )
        whole = replace(source, test_file=test, validation_file=validation)
        return replace(self, data=str(Path(folder, self.data).resolve()), source=whole)
