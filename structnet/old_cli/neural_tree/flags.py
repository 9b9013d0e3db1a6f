"""The arguments of the commands for neural trees. Nothing here imports torch."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from structnet.cli.flags import machine_flags, number, whole
from structnet.cli.names import data_name
from structnet.cli.neural_tree.settings import PRESETS, RECIPES, VARIANTS, WIDTHS, recipes_table

PAPER_DATA = ("mnist", "sarcos", "cifar10")
PAPER_TABLES = (3, 4, 6, 7, 8)

TRAIN_SUMMARY = "grow a tree of neural networks and test it"
TRAIN_DESCRIPTION = """An adaptive neural tree
(Tanno et al., ICML 2019) sends each sample from its root to its leaves: routers on inner nodes say
how probably it goes left, transformers on edges change it on the way, solvers on leaves predict.

Training has two phases. Growth: the root is trained; then each leaf in turn may be split (a router
and two new leaves), deepened (one more transformer above it) or kept, whichever has the lowest
validation loss. Refinement: all modules are trained together; with --prune, branches that hardly
any training example takes are then cut. The test data decide nothing; they are measured before and
after refinement.

The run folder gets config.json, growth.safetensors (the tree so far: a run that was killed goes on
from there), model.safetensors, history.jsonl, result.json, summary.txt and pictures. The last line
printed is result.json on one line; test_error has the error by the way to predict: multi mixes all
leaves, greedy follows each router's likelier side."""
TRAIN_EPILOG = f"""
examples:
  structnet train neural-tree --data digits --out runs/digits
  structnet train neural-tree --data houses.csv --target price --width 32
  structnet train neural-tree --data mnist --data-dir data --preset mnist_c --refine-epochs 30
  structnet train --resume runs/digits

defaults of the data sets (--preset, --refine-epochs, --batch-size):
{recipes_table()}"""

REPRODUCE_SUMMARY = "train the paper's neural trees and compare with its tables"
REPRODUCE_DESCRIPTION = """Of
Tanno et al., ICML 2019:
  --table 3   errors and parameters; for sarcos also scikit-learn's models
  --table 4   what is lost without routers (a plain network), or without transformers
  --table 6   one path: the greedy one, the likeliest leaf, and the least likely
  --table 7   multiply-adds, all leaves and one path
  --table 8   single trees and all of them together

Each tree is trained with each of the seeds 0 to N-1, which also say what is held out for
validation. The tables share their trees: DIR gets a run folder for each tree, and for each table a
.md, a .json and a .png. Given again, the command skips what is done and continues what is not."""
REPRODUCE_EPILOG = """
examples:
  structnet reproduce neural-tree --table 4 --data mnist --data-dir data
  structnet reproduce neural-tree --table 6 --data mnist --data-dir data
  structnet reproduce neural-tree --table 3 --data sarcos --data-dir data --seeds 3"""


def train_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of ``structnet train neural-tree``."""
    data = parser.add_argument_group("data")
    data.add_argument(
        "--data",
        metavar="DATA",
        type=data_name(RECIPES),
        help=f"{', '.join(RECIPES)}, or FILE.csv (or .tsv): a table of numbers with a column to "
        "predict",
    )
    data.add_argument("--data-dir", metavar="D", help="look here before the cache")
    data.add_argument(
        "--target",
        metavar="COLUMN",
        help="of a table: what to predict, by name or number from 1 (default: the last)",
    )
    data.add_argument(
        "--task",
        dest="problem",
        choices=("classification", "regression"),
        help="of a table (default: regression, unless the target is not numeric or few whole "
        "numbers)",
    )
    _size_flags(data)
    data.add_argument(
        "--validation-fraction",
        metavar="F",
        type=number(above=True),
        help="share of the training examples that decides instead of teaching (default: 0.1)",
    )
    _module_flags(parser)
    _training_flags(parser.add_argument_group("training"))
    run = parser.add_argument_group("run")
    run.add_argument(
        "--out", metavar="RUN", help="the run folder (default: runs/neural-tree-DATA-PRESET)"
    )
    run.add_argument(
        "--resume", metavar="RUN", help="continue this run; all settings are the run's own"
    )
    machine_flags(run)


def _size_flags(group: Any) -> None:
    for part in ("train", "test"):
        group.add_argument(
            f"--{part}-size",
            metavar="N",
            type=whole(2),
            help=f"{'training' if part == 'train' else part} examples, drawn from all "
            f"{'(validation among them) ' if part == 'train' else ''}(default: all)",
        )


def _module_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("modules")
    group.add_argument(
        "--preset",
        metavar="NAME",
        choices=PRESETS,
        help="what the tree is made of: conv (for images), mlp (for rows, or images as rows), or "
        f"the paper's modules, {', '.join(sorted(set(PRESETS) - {'conv', 'mlp'}))} (default: see "
        "below)",
    )
    widths = ", ".join(f"{preset} {width}" for preset, width in WIDTHS.items())
    group.add_argument(
        "--width",
        metavar="W",
        type=whole(1),
        help=f"channels or units of a transformer (default: {widths})",
    )
    group.add_argument(
        "--no-routers", action="store_true", help="only deepen: an ordinary network, grown"
    )
    group.add_argument(
        "--no-transformers", action="store_true", help="only split: a soft decision tree"
    )
    group.add_argument(
        "--max-depth", metavar="D", type=whole(0), help="routers on a path (default: no limit)"
    )
    group.add_argument("--max-leaves", metavar="L", type=whole(1), help="(default: no limit)")
    group.add_argument(
        "--min-gain",
        metavar="G",
        type=number(),
        help="split or deepen only if the validation loss falls by more than G; of numbers, it is "
        "that of the standardized targets (default: 0)",
    )
    group.add_argument(
        "--prune",
        metavar="SHARE",
        type=number(most=1),
        help="in the end, cut the branches that less than this share of the training examples "
        "takes on its greedy paths (default: cut none)",
    )


def _training_flags(group: Any) -> None:
    group.add_argument(
        "--epochs",
        metavar="N",
        type=whole(1),
        help="at most, for the root and for each split or deepening that is tried (default: 100)",
    )
    group.add_argument(
        "--patience",
        metavar="P",
        type=whole(1),
        help="of each of these: stop after P epochs in a row without a lower validation loss "
        "(default: 5)",
    )
    _n_init_flag(group)
    group.add_argument(
        "--refine-epochs",
        metavar="N",
        type=whole(0),
        help="of the whole tree, once grown; 0 leaves it as it grew (default: see below)",
    )
    group.add_argument(
        "--batch-size", metavar="B", type=whole(1), help="a step's (default: see below)"
    )
    group.add_argument(
        "--learning-rate",
        metavar="LR",
        type=number(above=True),
        help="of Adam; in refinement a tenth of it after every 50 epochs (default: 0.001)",
    )
    group.add_argument(
        "--seed",
        metavar="S",
        type=whole(0),
        help="of the weights, the order of examples, and what is held out (default: 0)",
    )


def _n_init_flag(group: Any) -> None:
    group.add_argument(
        "--n-init",
        metavar="K",
        type=whole(1),
        help="train each split or deepening K times, from other beginnings, and take the best "
        "(default: 1)",
    )


def reproduce_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of ``structnet reproduce neural-tree``."""
    parser.add_argument(
        "--table", metavar="T", type=int, choices=PAPER_TABLES, required=True, help="3, 4, 6, 7, 8"
    )
    parser.add_argument(
        "--data",
        choices=PAPER_DATA,
        default="mnist",
        help="mnist, sarcos or cifar10 (default: mnist)",
    )
    parser.add_argument("--data-dir", metavar="D", help="look here before the cache")
    _size_flags(parser)
    parser.add_argument(
        "--preset",
        metavar="NAMES",
        dest="presets",
        type=_names(PRESETS),
        help="these modules, separated by commas (default: mnist_c, sarcos or cifar10_c)",
    )
    parser.add_argument(
        "--seeds", metavar="N", type=whole(1), default=1, help="trees of each kind (default: 1)"
    )
    parser.add_argument(
        "--only",
        metavar="NAMES",
        type=_names((*VARIANTS, *BASELINES)),
        help=f"of table 4: some of {', '.join(VARIANTS)}; of table 3 for sarcos: some of full, "
        f"{', '.join(BASELINES)} (default: all)",
    )
    run = parser.add_argument_group("run")
    run.add_argument(
        "--epochs", metavar="N", type=whole(1), help="at most, for each candidate (default: 100)"
    )
    _n_init_flag(run)
    run.add_argument(
        "--refine-epochs",
        metavar="N",
        type=whole(0),
        help="of the whole tree (default: the paper's, 100 for mnist, 300 sarcos, 200 cifar10)",
    )
    run.add_argument(
        "--max-leaves", metavar="L", type=whole(1), help="of a tree (default: no limit)"
    )
    run.add_argument("--out", metavar="DIR", help="(default: runs/reproduce-neural-tree)")
    machine_flags(run)


BASELINES = ("linear", "mlp", "forest", "boosting")  # of Table 3 on SARCOS


def _names(known: Sequence[str]) -> Callable[[str], list[str]]:
    """The type of an argument that is some of the known names, separated by commas."""

    def convert(text: str) -> list[str]:
        chosen = [name.strip() for name in text.split(",")]
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"must name some of {', '.join(known)}; got {name!r}"
                )
        return list(dict.fromkeys(chosen))

    return convert
