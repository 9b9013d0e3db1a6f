"""The settings of a run of a softmax tree. Nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from structnet.checks import check_integer, check_number
from structnet.datasets.catalogue import SPARSE, TABLES
from structnet.parse.packed import stem_of
from structnet.recipes.recipe import (
    Place,
    check_data,
    check_data_dir,
    filled,
    is_file,
    whole_path,
)
from structnet.softmax_tree.settings import GrowthSettings, SoftmaxTreeSettings

FILES = TABLES + SPARSE
DATA_SETS = ("digits", "mnist", "clusters", "uneven", "brown", "pydoc", "wikitext-2")
TEXTS = ("brown", "pydoc", "wikitext-2")
GENERATED = ("clusters", "uneven")


@dataclass(frozen=True)
class Samples:
    """which examples to use

    Args:
        target: column of a table to predict, by name or number from 1 (default: the last)
        without: columns of a table to leave out, by name or number from 1
        bend: bend the columns of a table that have heavy tails, such as sizes, like a normal
            distribution, and take logarithms of sparse counts, before they are scaled (default: yes
            for a file)
        test_file: file of test rows, for FILE.svm (default: a fifth of each class is drawn)
        train_size: number of training examples, drawn at random (default: all)
        test_size: number of test examples, drawn at random (default: all)
        num_classes: number of words to predict, for a text, or of classes, for generated rows
            (default: 1000 words, 200 classes)
        validation_fraction: share of the training examples that is held out to choose the round of
            growth
    """

    TITLE: ClassVar[str] = "data"

    target: str | None = None
    without: tuple[str, ...] | None = None
    bend: bool | None = None
    test_file: Path | None = None
    train_size: int | None = None
    test_size: int | None = None
    num_classes: int | None = None
    validation_fraction: float = 0.1

    def __post_init__(self) -> None:
        for name in ("train_size", "test_size", "num_classes"):
            check_integer(name, getattr(self, name), 2, optional=True)
        check_number("validation_fraction", self.validation_fraction, 0, 1, open=True)


@dataclass(frozen=True)
class SoftmaxTreeRunSettings:
    """Trains a softmax tree, and tests it.

    A softmax tree sends each example through hyperplanes to one leaf, a softmax over a few of the
    classes. Tree alternating optimisation trains the nodes one after the other, deepest first,
    until the objective hardly falls; nodes that no example reaches are pruned.

    The run folder also gets summary.txt. In "test" of the result, flops is the number of weights on
    an example's path and in its leaf, coverage the share of examples whose class has a probability
    above 0, and perplexity that of these examples. The first of several trees is the one that is
    drawn, described and explained; the others learn from bootstrap samples with its settings.

    Args:
        data: digits, mnist; clusters, uneven (generated); brown, pydoc, wikitext-2 (the next word);
            or FILE.csv, FILE.svm (or .tsv, .libsvm): rows with a class; in a table, text becomes
            numbers, gaps are filled, dates are left out
        n_members: number of trees, whose probabilities are averaged: more accurate than one, and
            slower in proportion; --n-jobs trains as many of them at a time

    Raises:
        ValueError: a value is out of its range, or the settings do not go together.
    """

    data: str
    samples: Samples = field(default_factory=Samples)
    training: SoftmaxTreeSettings = field(default_factory=SoftmaxTreeSettings)
    place: Place = field(default_factory=Place)
    n_members: int = 1

    def __post_init__(self) -> None:
        check_integer("n_members", self.n_members, 1)
        check_data(self.data, DATA_SETS, FILES)
        samples = self.samples
        for name in ("target", "without"):
            if getattr(samples, name) is not None and not is_file(self.data, TABLES):
                raise ValueError(f"--{name} is for a table, FILE.csv, not {self.data}")
        if samples.bend and not is_file(self.data, FILES):
            raise ValueError(f"--bend is for a file, FILE.csv or FILE.svm, not {self.data}")
        if samples.test_file is not None and not is_file(self.data, SPARSE):
            raise ValueError(f"--test-file is for sparse rows, FILE.svm, not {self.data}")
        if samples.num_classes is not None and self.data not in TEXTS + GENERATED:
            raise ValueError(f"--num-classes is for texts and generated rows, not {self.data}")
        check_data_dir(self.data, self.place.data_dir)

    @property
    def name(self) -> str:
        """The part of the run folder's name that tells it from runs on other data."""
        return stem_of(Path(self.data))

    @property
    def growth_told(self) -> GrowthSettings | None:
        """The settings of the tree's growth; None if it does not grow."""
        return None

    def resolved(self) -> SoftmaxTreeRunSettings:
        """The same settings with the defaults of the data, and absolute paths.

        The run may be resumed from another folder.
        """
        test = self.samples.test_file
        samples = replace(self.samples, test_file=None if test is None else test.resolve())
        samples = filled(samples, {"bend": is_file(self.data, FILES)})
        whole = whole_path(self.data, FILES, self.place.data_dir)
        return replace(self, data=whole, samples=samples)


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

    REFUSED: ClassVar = ("depth", "k")  # those of a fixed tree, which the help does not name

    growth: GrowthSettings = field(default_factory=GrowthSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.REFUSED:
            if getattr(self.training, name) is not None:
                raise ValueError(
                    f"--{name} is for softmax-tree; adaptive-softmax-tree has --start-depth, "
                    "--start-k and --alpha"
                )

    @property
    def growth_told(self) -> GrowthSettings | None:
        """The settings of the tree's growth."""
        return self.growth
