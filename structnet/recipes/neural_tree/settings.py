"""The settings of a run of a neural tree, with defaults for each data set.

Nothing here imports torch.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Supp. C: 10 % for validation; 300, 100 and 200
    epochs of refinement for SARCOS, MNIST and CIFAR-10, and the rest as in ``PAPER``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, get_args

from structnet.checks import check_integers, check_number, check_one_of
from structnet.datasets.catalogue import TABLES
from structnet.neural_tree.settings import NeuralTreeSettings
from structnet.recipes.recipe import Ask, Place, filled, is_file
from structnet.recipes.run_settings import FileRows, RowsRunSettings

Way = Literal["multi", "greedy", "stochastic", "most_likely", "least_likely"]
PATHS: tuple[str, ...] = get_args(Way)
# The modules that come in any width, and their default widths.
WIDTHS = {"table": 128, "mlp": 128, "conv": 16, "sarcos": 128}
Primitives = Literal[
    "table",
    "mlp",
    "conv",
    "mnist_a",
    "mnist_b",
    "mnist_c",
    "cifar10_a",
    "cifar10_b",
    "cifar10_c",
    "sarcos",
]
PRIMITIVES: tuple[str, ...] = get_args(Primitives)
FOR_ROWS = ("table", "mlp", "sarcos")
FOR_IMAGES = tuple(name for name in PRIMITIVES if name not in FOR_ROWS)
SOME_HAVE: dict[str, Collection[str]] = {  # argument of modules -> modules that take it
    "width": WIDTHS,
    "router_width": FOR_ROWS,
    "batch_norm": ("conv", "cifar10_a", "cifar10_b", "cifar10_c"),
}


# The paper's values that differ from the library's defaults, which are for small tables.
PAPER: dict[str, Any] = {
    "learning_rate": 1e-3,
    "min_gain": 0.0,
    "gain_errors": 0.0,
    "prefer_split": False,
    "stop_refinement": False,
    "warm_start_solvers": False,
    "lookahead": 1,
}
SMOOTH = {"gain_errors": 2.0, "weight_decay": 0.1}
# The defaults of each data set; for what is not here, the library's defaults are used.
DEFAULTS: dict[str, dict[str, Any]] = {
    "digits": {"primitives": "conv", "refine_epochs": 50},
    "mnist": {"primitives": "mnist_c", "refine_epochs": 100} | PAPER,
    "cifar10": {"primitives": "cifar10_c", "refine_epochs": 200} | PAPER,
    # For the 4,449 rows that are easy to get: in the end it learns from all of them.
    "sarcos": {"primitives": "sarcos", "refine_epochs": 300, "batch_size": 32, "finish": True}
    | PAPER
    | SMOOTH,
}
# A user's own table is learned from as by the estimators; the others as in the paper.
OF_TABLE: dict[str, Any] = {
    "primitives": "table",
    "refine_epochs": 50,
    "validation_fraction": 0.2,
    "finish": True,
    "select_columns": True,
}
OTHERWISE: dict[str, Any] = {
    "validation_fraction": 0.1,
    "finish": False,
    "select_columns": False,
}


@dataclass(frozen=True)
class Rows(FileRows):
    """which examples to use

    Args:
        task: kind of a table's target (default: regression, unless it is not numeric or has only a
            few whole numbers)
        train_size: number of training examples, drawn at random; validation examples are taken from
            these (default: all)
        test_size: number of test examples, drawn at random (default: all)
        validation_fraction: share of the training examples that is held out to make decisions
            (default: 0.2 for a table, 0.1 for the others)
        learn_size: number of examples to learn from, out of those not held out, for instance for a
            curve over the number of examples with the same validation data; drawn without regard to
            classes, so that a small number may lack a class (default: all)
        finish: learn from the held-out examples too, at the end, for as many epochs as refinement
            took to its lowest validation loss, and half of those it may take at most (default: yes
            for a table and sarcos, no for the others)
        select_columns: leave out the columns of a table that only add noise; for the modules table
            (default: yes)
    """

    task: Literal["classification", "regression"] | None = None
    train_size: int | None = None
    test_size: int | None = None
    validation_fraction: float | None = None
    learn_size: int | None = None
    finish: bool | None = None
    select_columns: bool | None = None

    def __post_init__(self) -> None:
        check_integers(self, optional=True, train_size=2, test_size=2, learn_size=2)
        check_number(
            "validation_fraction", self.validation_fraction, 0, 1, open=True, optional=True
        )


@dataclass(frozen=True)
class Modules:
    """what the tree is made of

    Args:
        primitives: kind of modules: table (for rows; starts as a linear model), mlp (for rows, or
            images flattened to rows; starts with a transformer), conv (for images), or one of the
            paper's (default: see the table above)
        width: channels or units of a transformer (default: 16 for conv, otherwise 128)
        router_width: hidden units of routers for rows, as in the paper's soft decision tree for
            SARCOS (default: linear routers)
        batch_norm: batch normalisation after the convolutions of conv and cifar10_a to cifar10_c
        routers: without routers the tree never splits: an ordinary network that grows
        transformers: without transformers the tree never deepens: a soft decision tree

    Raises:
        ValueError: a value is out of its range, or the settings do not go together.
    """

    primitives: Primitives | None = None
    width: int | None = None
    router_width: int | None = None
    batch_norm: bool = False
    routers: bool = True
    transformers: bool = True

    def __post_init__(self) -> None:
        check_integers(self, optional=True, width=1, router_width=1)
        if self.primitives is not None:
            check_one_of("primitives", self.primitives, PRIMITIVES)
        if not self.routers and not self.transformers:
            raise ValueError("--no-routers and --no-transformers together leave nothing to grow")
        if self.router_width is not None and not self.routers:
            raise ValueError(
                f"--router-width is for trees with routers; got {self.router_width} with "
                "--no-routers"
            )


@dataclass(frozen=True, kw_only=True)
class Training(NeuralTreeSettings):
    """how far the tree may grow, and how it is trained

    Args:
        refine_epochs: epochs in which the whole tree is trained after growth; 0 skips this phase
            (default: see the table above)
        batch_size: samples in each step (default: about 16 steps for each epoch, with 16 to 512
            samples each; 32 for sarcos)
        learning_rate: learning rate of Adam; in refinement it is divided by 10 after every 50
            epochs (default: see the table above)
        weight_decay: weight decay of refinement, as in AdamW, on all weights except biases and
            those of routers (default: 0; 0.1 for sarcos)
        min_gain: decrease of the validation loss that a split or a deepening must exceed (default:
            0.01; 0 for mnist, cifar10 and sarcos)
        gain_errors: number of its standard errors that this decrease must exceed as well (default:
            2; 0 for mnist and cifar10, as in the paper)
        prefer_split: take a split that lowers the loss enough, even if a deepening lowers it more,
            unless beyond chance or begun as steps (default: yes; for mnist, cifar10 and sarcos the
            better of the two, as in the paper)
        stop_refinement: end refinement after as many epochs without a new best as a training in
            growth (default: yes; no for mnist, cifar10 and sarcos)
        warm_start_solvers: start new solvers as copies of their leaf's solver, where the shapes
            allow it (default: yes; no for mnist, cifar10 and sarcos)
        lookahead: largest number of leaves that may replace a leaf in one split, if routers and
            solvers are linear (default: 64; 1, a single router at a time as in the paper, for
            mnist, cifar10 and sarcos)
        seed: seed of the weights, of the order of the examples, and of what is held out
    """

    refine_epochs: int | None = None  # type: ignore[assignment]  # until resolved
    learning_rate: float | None = None  # type: ignore[assignment]  # until resolved
    weight_decay: float | None = None  # type: ignore[assignment]  # until resolved
    min_gain: float | None = None  # type: ignore[assignment]  # until resolved
    gain_errors: float | None = None  # type: ignore[assignment]  # until resolved
    prefer_split: bool | None = None  # type: ignore[assignment]  # until resolved
    stop_refinement: bool | None = None  # type: ignore[assignment]  # until resolved
    warm_start_solvers: bool | None = None  # type: ignore[assignment]  # until resolved
    lookahead: int | None = None  # type: ignore[assignment]  # until resolved

    def __post_init__(self) -> None:
        self.to_library()

    def to_library(self) -> NeuralTreeSettings:
        """The same settings in the library's class, with its defaults for values not yet known."""
        unknown = {name for name in Training.__annotations__ if getattr(self, name) is None}
        return NeuralTreeSettings(**{n: v for n, v in vars(self).items() if n not in unknown})


@dataclass(frozen=True)
class NeuralTreeRunSettings(RowsRunSettings):
    """Grows a tree of neural networks, and tests it.

    An adaptive neural tree (Tanno et al., ICML 2019) sends each sample from its root to its leaves:
    routers at inner nodes give the probability that it goes left, transformers on edges transform
    it on the way, solvers at leaves predict.

    Training has two phases. Growth: the root is trained; then each leaf in turn may be split (a
    router and two new leaves), deepened (one more transformer above it) or kept, depending on the
    validation loss. Refinement: all modules are trained together; branches that hardly any training
    example takes (--prune) are then cut. The test data decide nothing; they are measured before and
    after refinement.

    In the run folder, model.safetensors is a NeuralTreeClassifier or NeuralTreeRegressor, which its
    load reads; growth.safetensors is the tree so far. There is also summary.txt. In "test" of the
    result, accuracy is that of the mixture of all leaves, accuracy_greedy that of the path along
    each router's likelier side, and so on; if numbers are predicted, mse is the mean squared error,
    rmse its root, in the units of the file, and r2 the share of the variance that is explained.

    Args:
        data: digits, mnist, cifar10, sarcos, or FILE.csv (or .tsv): a table with a column to
            predict; text and dates become numbers, gaps are filled

    Raises:
        ValueError: a value is out of its range, or the settings do not go together.
    """

    DATA_SETS: ClassVar = tuple(DEFAULTS)
    FILES: ClassVar = TABLES

    data: str
    rows: Rows = field(default_factory=Rows)
    modules: Modules = field(default_factory=Modules)
    training: Training = field(default_factory=Training)
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_file(self.data, TABLES):
            self.only_for("a table, FILE.csv", self.rows, "task", "select_columns")
        epochs = self.training.refine_epochs
        if self.rows.finish and epochs is not None and epochs < 2:
            raise ValueError(
                "--finish takes at most half as many epochs as refinement may; expected "
                f"--refine-epochs of at least 2; got {epochs}"
            )

    @property
    def name(self) -> str:
        """The part of the run folder's name that tells it from runs on other data."""
        return f"{super().name}-{self.modules.primitives}"

    def resolved(self) -> NeuralTreeRunSettings:
        """The same settings with the data set's defaults for those not given.

        Raises:
            ValueError: settings do not go together.

        Example:
            >>> settings = NeuralTreeRunSettings("mnist").resolved()
            >>> settings.modules.primitives, settings.training.refine_epochs
            ('mnist_c', 100)
        """
        table = is_file(self.data, TABLES)
        own = {name: getattr(NeuralTreeSettings, name) for name in Training.__annotations__}
        known = own | OTHERWISE | (OF_TABLE if table else DEFAULTS[self.data])
        modules, training = filled(self.modules, known), filled(self.training, known)
        epochs: Any = training.refine_epochs  # resolved: not None
        known["finish"] &= epochs > 1  # otherwise half the epochs would be none
        known["select_columns"] &= modules.primitives == "table"
        for name, known_to in SOME_HAVE.items():
            if getattr(modules, name) and modules.primitives not in known_to:
                raise ValueError(
                    f"--{name.replace('_', '-')} is for {', '.join(known_to)}; the modules are "
                    f"{modules.primitives}"
                )
        if self.rows.select_columns and modules.primitives != "table":
            raise ValueError(
                f"--select-columns is for the modules table; the modules are {modules.primitives}"
            )
        whole = super().resolved()
        return replace(
            whole,
            rows=filled(whole.rows, known),
            modules=filled(modules, {"width": WIDTHS.get(str(modules.primitives))}),
            training=training,
        )


def table_of_defaults() -> str:
    """The data sets' defaults as a table in text, for ``--help``.

    Example:
        >>> print(table_of_defaults().splitlines()[2])
          mnist     mnist_c     100            0.001
    """
    lines = [f"  {'data':<10}{'primitives':<12}{'refine-epochs':<15}learning-rate"]
    for name, each in {**DEFAULTS, "FILE.csv": OF_TABLE}.items():
        rate = each.get("learning_rate", NeuralTreeSettings.learning_rate)
        lines.append(f"  {name:<10}{each['primitives']:<12}{each['refine_epochs']:<15}{rate:g}")
    return "\n".join(lines)


@dataclass(frozen=True)
class AskOfTree(Ask):
    """What ``evaluate`` and ``predict`` accept for a neural tree.

    Args:
        path: way through the tree: multi mixes all leaves, the others take a single leaf (default:
            every way for evaluate, multi for predict)
    """

    path: Way | None = None
