"""The settings of a run of a label tree; nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from structnet.checks import check_integer, check_integers, check_jobs, check_number
from structnet.datasets.catalogue import LABELLED, SPARSE, TABLES
from structnet.label_tree.settings import LabelTreeSettings
from structnet.recipes.recipe import AskOfWords, Place, is_file
from structnet.recipes.run_settings import FileRows, RowsRunSettings


@dataclass(frozen=True)
class Rows(FileRows):
    """which examples to use

    Args:
        min_count: smallest number of occurrences of a word to predict (brown and pydoc)
        word_pairs: use pairs of neighbouring words of a text as features too
        char_ngrams: use sequences of this many letters of each word as features too (default: none)
        planted_arity: children of each group of the planted hierarchy
        planted_depth: levels of the planted hierarchy
        planted_size: columns of the planted points
        train_size: number of planted points
    """

    min_count: int = 5
    word_pairs: bool = False
    char_ngrams: int | None = None
    planted_arity: int = 4
    planted_depth: int = 4
    planted_size: int = 6
    train_size: int = 60_000

    def __post_init__(self) -> None:
        check_integers(self, min_count=1, planted_arity=2, planted_depth=1, planted_size=1)
        check_integers(self, train_size=100)
        check_integer("char_ngrams", self.char_ngrams, 2, optional=True)


@dataclass(frozen=True)
class LabelTreeRunSettings(RowsRunSettings):
    """Trains a label tree, and tests it.

    A label tree (Jernite et al., ICML 2017) has a label at each leaf and a softmax at each inner
    node; during training, labels move to the children that their examples prefer. Settings that are
    not given are chosen on examples held out from the training data. The features of labelled text
    have the weights of TF-IDF, unless there are too many labels and words, or settings ask for
    vectors of words (such as --vector-size 50) or for a tree (--tree, --start).

    The run folder also gets tree.txt (the first levels). In "test" of the result, accuracy is
    precision at 1, and nodes_visited is the number of nodes that branch and bound computed for an
    example.

    Args:
        data: planted (points from a known hierarchy), brown or pydoc (the next word, from the four
            before it), FILE.txt (lines like "__label__x some words", as for fastText), FILE.svm
            (sparse rows), or FILE.csv (or .tsv): a table with a column to predict; text becomes
            numbers, as do dates, and gaps are filled
        n_jobs: number of threads that train the tree, -1 for all cores; only one gives repeatable
            results; on --resume it may be another (default: 1)
        parts: number of parts of each class of a table, found by k-means, so that a class may be
            several clusters (default: more than one if that is better on held-out examples)

    Raises:
        ValueError: a value is out of its range.
    """

    DATA_SETS: ClassVar = ("planted", "brown", "pydoc")
    FILES: ClassVar = (*LABELLED, *SPARSE, *TABLES)

    data: str
    rows: Rows = field(default_factory=Rows)
    training: LabelTreeSettings = field(default_factory=LabelTreeSettings)
    place: Place = field(default_factory=Place)
    n_jobs: int | None = None
    parts: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_jobs(self.n_jobs)
        check_integer("parts", self.parts, 1, optional=True)
        if is_file(self.data, SPARSE + TABLES) and (self.rows.word_pairs or self.rows.char_ngrams):
            raise ValueError("--word-pairs and --char-ngrams are for text")

    @property
    def free(self) -> tuple[str, ...]:
        """The settings that may change when a run is resumed."""
        return ("n_jobs",)

    @property
    def name(self) -> str:
        """The part of the run folder's name that tells it from runs on other data."""
        return f"{super().name}-{self.training.tree or 'chosen'}"


@dataclass(frozen=True)
class AskOfLabels(AskOfWords):
    """What ``evaluate`` and ``predict`` accept for a label tree.

    Args:
        beam: largest number of nodes kept at each depth (default: all that can matter)
        threshold: smallest probability of a label to print
    """

    TO_PREDICT = ()

    beam: int | None = None
    threshold: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("beam", self.beam, 1, optional=True)
        check_number("threshold", self.threshold, 0, 1)


@dataclass(frozen=True)
class Choice:
    """Compares a learned tree with Huffman's, on the next words of a text.

    Args:
        data: brown or pydoc
        epochs: passes through the data
        vector_size: size of the features' vectors
        learning_rate: learning rate, which falls to 0
    """

    data: Literal["brown", "pydoc"] = "brown"
    epochs: int = 5
    vector_size: int = 50
    learning_rate: float = 0.05
    place: Place = field(default_factory=Place)
