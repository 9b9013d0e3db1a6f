"""The settings of a run of a Tree-LSTM; by default those of the paper's models.

Nothing here imports torch.

Reference:
    Castellana and Bacciu, "Generalising Recursive Neural Models by Tensor Decomposition", IJCNN
    2020, Sec. V.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar, Literal

from structnet.checks import check_integers, check_number, check_one_of
from structnet.datasets.tree_file_formats import ENDINGS
from structnet.recipes.recipe import Place, did_you_mean, filled
from structnet.recipes.run_settings import RunSettings
from structnet.tensor_tree.settings import CELLS, Cell

DATA_SETS = ("listops", "lrt")
AGGREGATORS = tuple(cell for cell in CELLS if cell != "automaton")  # of the paper's models
ADADELTA_RATE = 1.0  # the paper trains with AdaDelta, "without learning rate"
# The share of the steps during which the rate of the one-cycle schedule rises.
WARM_UP = 0.15


@dataclass(frozen=True)
class Sizes:
    """how many examples to use

    Args:
        train_size: number of training examples; for listops, 1 in 20 of them is held out for
            validation (default: 90000 for listops, all for lrt)
        test_size: number of test examples (default: 10000 for listops, all for lrt)
        max_depth: levels of the deepest listops expression; with any value but 20, that of the
            published data, expressions are generated (default: 20)
        generate: generate the data even if published files are available
    """

    TITLE: ClassVar[str] = "data"

    train_size: int | None = None
    test_size: int | None = None
    max_depth: int | None = None
    generate: bool = False

    def __post_init__(self) -> None:
        check_integers(self, optional=True, train_size=2, test_size=1, max_depth=1)


@dataclass(frozen=True)
class Model:
    """how a node combines its children (defaults: see the table above)

    Args:
        cell: kind of function by which a node combines its children
        hidden_size: length of a node's state, c
        rank: rank r of tucker, cp and tensor-train
        forget: children on which a child's forget gate depends: that child alone, or all (default:
            child)
        bottom: state that stands for a missing child
        forget_bias: biases of the forget gate: one for each type, or, as in the paper, one for each
            type and place

    Raises:
        ValueError: a value is out of its range, or the settings do not go together.
    """

    cell: Cell = "tucker"
    hidden_size: int | None = None
    rank: int | None = None
    forget: Literal["child", "all"] | None = None
    bottom: Literal["zero", "learned"] = "zero"
    forget_bias: Literal["type", "place"] = "type"

    def __post_init__(self) -> None:
        check_integers(self, optional=True, hidden_size=1, rank=1)
        check_one_of("cell", self.cell, AGGREGATORS)
        check_one_of("bottom", self.bottom, ("zero", "learned"))
        check_one_of("forget_bias", self.forget_bias, ("type", "place"))
        if self.forget is not None:
            check_one_of("forget", self.forget, ("child", "all"))
        if self.cell == "child-sum" and (self.forget == "all" or self.bottom == "learned"):
            raise ValueError(
                "child-sum does not tell children apart, so it goes with forget='child' and "
                f"bottom='zero'; got forget={self.forget!r}, bottom={self.bottom!r}"
            )
        if self.forget_bias == "place" and (self.forget == "all" or self.cell == "child-sum"):
            raise ValueError(
                "forget_bias='place' needs forget='child' and children that are told apart; "
                f"got forget={self.forget!r}, cell={self.cell!r}"
            )


@dataclass(frozen=True)
class Training:
    """how the model is trained (defaults: see the table above)

    Args:
        epochs: passes through the training examples; on --resume, those of adadelta may be others
        batch_size: number of examples in each step
        optimizer: adamw, with a one-cycle schedule and gradients clipped to norm 1, or, as in the
            paper, adadelta without either
        learning_rate: highest learning rate of the cycle (with adadelta 1.0)
        weight_decay: weight decay of adamw, or L2 penalty for adadelta, 0.01 in the paper (with
            adadelta 0)
        patience: number of epochs in a row without a better validation accuracy after which
            training stops; on --resume it may be another (default: never)
        seed: seed of the initial weights and of the order of examples; the data do not depend on it
    """

    epochs: int | None = None
    batch_size: int | None = None
    optimizer: Literal["adamw", "adadelta"] = "adamw"
    learning_rate: float | None = None
    weight_decay: float | None = None
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_integers(self, optional=True, epochs=1, batch_size=1, patience=1)
        check_integers(self, seed=0)
        check_one_of("optimizer", self.optimizer, ("adamw", "adadelta"))
        check_number("learning_rate", self.learning_rate, 0, open=True, optional=True)
        check_number("weight_decay", self.weight_decay, 0, optional=True)


@dataclass(frozen=True)
class Default:
    """The default values of a model and its schedule, by the names of the settings."""

    hidden_size: int
    rank: int | None
    epochs: int
    learning_rate: float
    weight_decay: float
    batch_size: int = 100
    forget: str = "child"


# The sizes of tucker, sum and full are the paper's. It does not have the other three: child-sum is
# as wide as sum, and cp and tensor-train have about as many parameters per aggregation as tucker.
# Batches of 100 and one cycle of AdamW reach in a dozen epochs what takes AdaDelta, with batches of
# 25, far more epochs; wide models take smaller steps. Without weight decay all of them overfit the
# training trees; rate times decay is about 1e-3 everywhere.
DEFAULTS: dict[str, dict[str, Default]] = {
    "listops": {
        "tucker": Default(20, 3, 25, 0.01, 0.1),
        "sum": Default(214, None, 12, 0.003, 0.3),
        "full": Default(7, None, 12, 0.01, 0.1),
        "child-sum": Default(214, None, 12, 0.003, 0.3),
        "cp": Default(20, 32, 12, 0.01, 0.1),
        "tensor-train": Default(20, 5, 12, 0.01, 0.1),
    },
    "lrt": {
        name: Default(100, {"tucker": 20, "cp": 64, "tensor-train": 8}.get(name), 10, 0.003, 0.3)
        for name in AGGREGATORS
    },
}


def table_of_defaults() -> str:
    """The default models as a table in text, for ``--help``.

    Example:
        >>> print(table_of_defaults().splitlines()[1])
          listops  tucker        20           3     25      100         0.01
    """
    rows: list[tuple] = [
        ("data", "cell", "hidden-size", "rank", "epochs", "batch-size", "learning-rate")
    ]
    rows += [
        (data, name, of.hidden_size, of.rank or "-", of.epochs, of.batch_size, of.learning_rate)
        for data, models in DEFAULTS.items()
        for name, of in models.items()
    ]
    return "\n".join("  {:<9}{:<14}{:<13}{:<6}{:<8}{:<12}{}".format(*row) for row in rows)


@dataclass(frozen=True)
class TreeLSTMRunSettings(RunSettings):
    """Trains a Tree-LSTM on parses, and tests it.

    The weights of the best epoch on the validation examples are kept; tree.png shows a test
    expression with the model's prediction. The test data are used once, at the end.

    Args:
        data: listops, to predict the value (0-9) of a list expression; lrt, to predict which of
            seven relations holds between two logical sentences; or FILE or FOLDER, your own trees

    Raises:
        ValueError: a value is out of its range, or the settings do not go together.
    """

    DATA_SETS: ClassVar = DATA_SETS
    FILES: ClassVar = ENDINGS  # which another recipe learns from, see :meth:`.Recipe.of_data`

    data: str
    sizes: Sizes = field(default_factory=Sizes)
    model: Model = field(default_factory=Model)
    training: Training = field(default_factory=Training)
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        if self.data not in DATA_SETS:
            known = f"{', '.join(DATA_SETS)}, or the path of a file or folder of trees"
            near = did_you_mean(self.data, DATA_SETS)
            raise ValueError(f"--data must be one of {known}; got {self.data!r}{near}")

    @property
    def name(self) -> str:
        """The part of the run folder's name that tells it from runs on other data."""
        return f"{self.data}-{self.model.cell}"

    @property
    def free(self) -> tuple[str, ...]:
        """The settings that may change when a run is resumed: a cycle of adamw has its epochs."""
        return ("epochs", "patience") if self.training.optimizer == "adadelta" else ("patience",)

    def resolved(self) -> TreeLSTMRunSettings:
        """The same settings with default values, the paper's, for those not given.

        Raises:
            ValueError: settings do not go together.

        Example:
            >>> settings = TreeLSTMRunSettings("listops", model=Model("full")).resolved()
            >>> settings.model.hidden_size, settings.model.rank, settings.training.epochs
            (7, None, 12)
        """
        model, training = self.model, self.training
        known = asdict(DEFAULTS[self.data][model.cell])
        if known["rank"] is None and model.rank is not None:
            raise ValueError(f"the cell {model.cell} has no rank; got rank {model.rank}")
        if self.data != "listops" and self.sizes.max_depth is not None:
            raise ValueError(f"--max-depth is for listops; the data are {self.data}")
        if training.optimizer == "adadelta":
            known |= {"learning_rate": ADADELTA_RATE, "weight_decay": 0.0}
        known["max_depth"] = 20 if self.data == "listops" else None
        return replace(
            self,
            sizes=filled(self.sizes, known),
            model=filled(model, known),
            training=filled(training, known),
        )
