"""The settings of a run on the user's own trees. Nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

from structnet.checks import check_number
from structnet.datasets.tree_file_formats import ENDINGS
from structnet.recipes.recipe import Place
from structnet.recipes.run_settings import RunSettings
from structnet.tensor_tree.settings import Cell, TreeLSTMSettings

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
    """the trees, and what to predict

    Args:
        format: format of the trees; penn is bracketed without traces and function tags (default:
            found from the file's ending or its first lines)
        target: column of the targets, by name or by number from 1, or first-column; root-label or
            node-labels, which are then hidden from the model; or the key of a comment in CoNLL-U
            (default: the first column, or the one named label)
        task: classification, regression, pairs (two trees on each line) or nodes (a label for every
            node) (default: regression for numbers, unless they are a few whole numbers)
        node_label: CoNLL-U column used as the label of a word's node, in addition to the word
            itself (default: deprel)
        test_file: file of test trees (default: a share of the trees is drawn, from every class, or
            as whole files or groups, see --group)
        validation_file: file on which the best epoch is chosen (default: a share is drawn)
        group: column that names the origin of a tree, such as its file or author, if new trees will
            have other origins: no group is split between what is drawn and the rest (default: for a
            folder, the file, if files have several trees and each class has five files)
        test_fraction: share of the trees that is drawn for testing
        validation_fraction: share of the other trees that is drawn to choose the best epoch
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
class Training(TreeLSTMSettings):
    """What a model of trees consists of, and how it is trained."""

    cell: Cell | None = None  # a flag can name no aggregator of the user's


@dataclass(frozen=True)
class TreeFileSettings(RunSettings):
    """Trains a Tree-LSTM on your own trees, and tests it.

    FILE has LABEL<TAB>TREE on each line (LABEL<TAB>TREE<TAB>TREE for pairs), objects with a tree
    and a label (.jsonl), or trees in brackets (.mrg) or sentences (.conllu), whose labels can be
    the target. FOLDER has a folder of files for each class.

    The weights of the best epoch on the validation trees are kept; tree.png shows a test tree with
    the model's answer, why.png the parts on which that answer depends. The result has accuracy,
    macro F1 and confusion matrix over all test trees, or the errors of predicted numbers, and for
    comparison what predicting the most frequent class or the mean would give.

    Args:
        data: FILE or FOLDER of trees

    Raises:
        ValueError: a value is out of its range.
    """

    DATA_SETS: ClassVar = ()
    FILES: ClassVar = ENDINGS

    data: str
    source: Source = field(default_factory=Source)
    training: Training = field(default_factory=Training)
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        """Checks nothing, as trees may be in a folder, or in a file of any name."""

    @property
    def free(self) -> tuple[str, ...]:
        """The settings that may change when a run is resumed."""
        return ("patience",)

    def resolved(self) -> TreeFileSettings:
        """The same settings with absolute paths, as the run may be resumed from another folder."""
        test, validation = (
            file and self.in_folder(file)
            for file in (self.source.test_file, self.source.validation_file)
        )
        source = replace(self.source, test_file=test, validation_file=validation)
        return replace(self, data=str(self.in_folder(self.data)), source=source)
