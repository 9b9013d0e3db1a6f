"""The settings of a run of a softmax tree. Nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from structnet.checks import check_integer, check_integers, check_number
from structnet.datasets.catalogue import SPARSE, TABLES
from structnet.recipes.recipe import Place
from structnet.recipes.run_settings import FileRows, RowsRunSettings
from structnet.softmax_tree.settings import GrowthSettings, SoftmaxTreeSettings

FILES = TABLES + SPARSE
TEXTS = ("brown", "pydoc", "wikitext-2")
GENERATED = ("clusters", "uneven")
DATA_SETS = ("digits", "mnist", *GENERATED, *TEXTS)


@dataclass(frozen=True)
class Rows(FileRows):
    """which examples to use

    Args:
        train_size: number of training examples, drawn at random (default: all)
        test_size: number of test examples, drawn at random (default: all)
        num_classes: number of words to predict, for a text, or of classes, for generated rows
            (default: 1000 words, 200 classes)
        validation_fraction: share of the training examples that is held out to choose the round of
            growth
    """

    train_size: int | None = None
    test_size: int | None = None
    num_classes: int | None = None
    validation_fraction: float = 0.1

    def __post_init__(self) -> None:
        check_integers(self, optional=True, train_size=2, test_size=2, num_classes=2)
        check_number("validation_fraction", self.validation_fraction, 0, 1, open=True)


@dataclass(frozen=True)
class SoftmaxTreeRunSettings(RowsRunSettings):
    """Trains a softmax tree, and tests it.

    A softmax tree sends each example through hyperplanes to one leaf, a softmax over a few of the
    classes. Tree alternating optimisation trains the nodes one after the other, deepest first,
    until the objective hardly falls; nodes that no example reaches are pruned.

    In the run folder, model.safetensors is a SoftmaxTreeClassifier, which its load reads; there is
    also summary.txt. In "test" of the result, flops is the number of weights on
    an example's path and in its leaf, coverage the share of examples whose class has a probability
    above 0, and perplexity that of these examples. The first of several trees is the one that is
    drawn, described and explained; the others learn from bootstrap samples with its settings.

    Args:
        data: digits, mnist; clusters, uneven (generated); brown, pydoc, wikitext-2 (the next word);
            or FILE.csv, FILE.svm (or .tsv, .libsvm): rows with a class; in a table, text becomes
            numbers, as do dates, and gaps are filled
        n_members: number of trees, whose probabilities are averaged: more accurate than one, and
            slower in proportion; --n-jobs trains as many of them at a time

    Raises:
        ValueError: a value is out of its range, or the settings do not go together.
    """

    DATA_SETS: ClassVar = DATA_SETS
    FILES: ClassVar = FILES

    data: str
    rows: Rows = field(default_factory=Rows)
    training: SoftmaxTreeSettings = field(default_factory=SoftmaxTreeSettings)
    place: Place = field(default_factory=Place)
    n_members: int = 1

    def __post_init__(self) -> None:
        check_integer("n_members", self.n_members, 1)
        super().__post_init__()
        if self.data not in TEXTS + GENERATED:
            self.only_for("texts and generated rows", self.rows, "num_classes")

    @property
    def growth_told(self) -> GrowthSettings | None:
        """The settings of the tree's growth; None if it does not grow."""
        return None


@dataclass(frozen=True)
class AdaptiveRunSettings(SoftmaxTreeRunSettings):
    """Grows a softmax tree, and tests it.

    An adaptive softmax tree (Kairgeldin et al., UAI 2024) starts as a complete softmax tree. In
    each round a small subtree is tried in place of every leaf, and replaces it if its loss is below
    a share rho of the leaf's; then tree alternating optimisation trains the whole tree. The round
    with the lowest error on held-out examples is kept, and then learns from these examples too. The
    run folder and the result contain the same as those of softmax-tree.

    Raises:
        ValueError: a value is out of its range, or the settings do not go together.
    """

    growth: GrowthSettings = field(default_factory=GrowthSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("depth", "k"):
            if getattr(self.training, name) is not None:
                raise ValueError(
                    f"--{name} is for softmax-tree; adaptive-softmax-tree has --start-depth, "
                    "--start-k and --alpha"
                )

    @property
    def growth_told(self) -> GrowthSettings | None:
        """The settings of the tree's growth."""
        return self.growth
