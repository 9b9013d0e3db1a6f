"""The commands' arguments and their help. Nothing here imports torch: ``--help`` is immediate."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from structnet.cli.flags import (
    data_flags,
    machine_flags,
    model_flags,
    names,
    run_argument,
    training_flags,
    whole,
)
from structnet.cli.names import PATHS, data_name
from structnet.cli.neural_tree import flags as neural_tree
from structnet.cli.recipes import PAPER_RUNS, recipes_table
from structnet.cli.settings import TASKS

NEURAL_TREE = "neural-tree"
EXPRESSION = "[MAX 2 9 [MIN 4 7 ] 0 ]"
ARRAY_SETS = {
    "digits": "1,797 digits of 8 x 8 pixels; comes with scikit-learn",
    "mnist": "70,000 digits of 28 x 28 pixels",
    "cifar10": "60,000 colour photographs of 32 x 32 pixels, ten classes",
    "sarcos": "a robot arm: 21 inputs, 7 torques; without the training file, the test file's rows",
}


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Leaves descriptions and examples as they are written, and room for the names of flags."""

    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=26, width=100)


class Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one line, and leaves out what is not given."""

    def __init__(self, *args: Any, **kwargs: Any):
        kwargs |= {
            "formatter_class": Formatter,
            # A flag that was not given is absent: the recipe, or the run, decides.
            "argument_default": argparse.SUPPRESS,
            "allow_abbrev": False,
        }
        super().__init__(*args, **kwargs)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments of one command.

    Args:
        argv: as given; by default those of the process.

    Raises:
        SystemExit: they are wrong, or ``--help`` is among them.
    """
    parser = build_parser()
    args, more = parser.parse_known_args(_joined(sys.argv[1:] if argv is None else argv))
    # argparse takes the places of all positional arguments before the first flag for final.
    takes_more = args.command in ("predict", "plot")
    if more and takes_more and not any(text.startswith("-") for text in more):
        args.expression = [*getattr(args, "expression", []), *more]
    elif more:
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    return args


def _joined(argv: Sequence[str]) -> list[str]:
    """The arguments, with ``train neural-tree`` and the like as one: its flags are its own."""
    if len(argv) > 1 and argv[0] in ("train", "reproduce") and argv[1] == NEURAL_TREE:
        return [" ".join(argv[:2]), *argv[2:]]
    return list(argv)


def build_parser() -> Parser:
    """The parser of ``structnet``."""
    parser = Parser(
        prog="structnet",
        description="Train and look at models of trees, and models that are trees.",
        epilog=f"""
for a start:
  structnet train listops --train-size 40000 --max-depth 5 --epochs 15 --out runs/first
  structnet evaluate runs/first
  structnet predict runs/first "{EXPRESSION}"
  structnet train neural-tree --data digits --out runs/digits

'structnet COMMAND --help' explains a command. Results go to the standard output, as one JSON object
on the last line; progress and errors go to the standard error. The exit status is 0 on success, 2
for bad input, 1 for any other failure and 130 after Ctrl-C.""",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in (
        _train,
        _train_neural_tree,
        _evaluate,
        _predict,
        _plot,
        _data,
        _reproduce,
        _reproduce_neural_tree,
    ):
        added = add(commands)
        added.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def _command(commands: Any, name: str, summary: str, description: str, epilog: str) -> Parser:
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}. {description}",
        epilog=epilog,
    )


def _train(commands: Any) -> Parser:
    parser = _command(
        commands,
        "train",
        "train a Tree-LSTM and test it",
        """The run folder gets config.json, the checkpoint,
model.safetensors (the weights of the epoch best on validation), history.jsonl, history.png,
tree.png (a test expression with the model's prediction) and result.json. The test data are used
once, at the end. The last line printed is result.json on one line.""",
        f"""
examples:
  structnet train listops --train-size 40000 --max-depth 5 --epochs 15 --out runs/first
  structnet train lrt --data-dir data --aggregator sum --out runs/sum
  structnet train --resume runs/first
  torchrun --nproc-per-node 2 -m structnet train listops --out runs/two

defaults of a task and aggregator:
{recipes_table()}""",
    )
    parser.add_argument(
        "task",
        nargs="?",
        default=None,
        choices=TASKS,
        help="listops: the value (0-9) of a list expression; lrt: the relation, one of seven, "
        "of two logical sentences (and neural-tree, which has its own --help: structnet train "
        "neural-tree --help)",
    )
    data_flags(parser)
    model_flags(parser)
    training_flags(parser)
    run = parser.add_argument_group("run")
    run.add_argument("--out", metavar="RUN", help="the run folder (default: runs/TASK-AGGREGATOR)")
    run.add_argument(
        "--resume",
        metavar="RUN",
        help="continue this run, or begin it anew if its first epoch never ended; all settings "
        "are the run's own",
    )
    machine_flags(run)
    return parser


def _train_neural_tree(commands: Any) -> Parser:
    parser = _command(
        commands,
        f"train {NEURAL_TREE}",
        neural_tree.TRAIN_SUMMARY,
        neural_tree.TRAIN_DESCRIPTION,
        neural_tree.TRAIN_EPILOG,
    )
    neural_tree.train_flags(parser)
    return parser


def _evaluate(commands: Any) -> Parser:
    parser = _command(
        commands,
        "evaluate",
        "measure a trained model",
        """The accuracy, or a neural tree's error, on its own
test data, or on a file of yours.""",
        """
examples:
  structnet evaluate runs/first
  structnet evaluate runs/first --data expressions.tsv
  structnet evaluate runs/digits --path greedy
  structnet evaluate runs/houses --data other-houses.csv

A file has one example a line: VALUE<TAB>EXPRESSION for listops, RELATION<TAB>LEFT<TAB>RIGHT for
lrt. A neural tree that was trained on a table takes another one, FILE.csv, whose columns have the
same names, or none and the same order; the one to predict must be among them.""",
    )
    run_argument(parser)
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="measure on this file (see below; of neural trees, only those of tables)",
    )
    _path_flag(parser, "each way")
    parser.add_argument(
        "--data-dir", metavar="D", help="where the run's published files lie now, if elsewhere"
    )
    parser.add_argument(
        "--batch-size", metavar="B", type=whole(1), default=1000, help="(default: 1000)"
    )
    machine_flags(parser)
    return parser


def _path_flag(parser: Parser, default: str) -> None:
    parser.add_argument(
        "--path",
        choices=PATHS,
        help=f"of a neural tree: mix all leaves, or take one of them so (default: {default})",
    )


def _predict(commands: Any) -> Parser:
    parser = _command(
        commands,
        "predict",
        "ask a trained model",
        """It prints the likeliest class, its probability and
the true one where it is known, or the numbers that a neural tree predicts; then the same as one
JSON object.""",
        f"""
examples:
  structnet predict runs/first "{EXPRESSION}"
  structnet predict runs/sum "( a ( and b ) )" "a"
  structnet predict runs/houses new-houses.csv
  structnet predict runs/digits 17 18

A listops run takes one expression: MAX, MIN, MED (the median, cut to a whole number) and SM (the
sum modulo 10) of up to five operands. An lrt run takes two sentences over the variables a to f. A
neural tree takes a file of rows, with the columns it was trained on, or the numbers of test
examples, for which it tells its decisions on the greedy path.""",
    )
    run_argument(parser)
    parser.add_argument(
        "expression",
        nargs="+",
        help="listops: one expression; lrt: two sentences; neural trees: FILE.csv, or numbers",
    )
    _path_flag(parser, "multi")
    parser.add_argument(
        "--data-dir", metavar="D", help="where a neural tree's data lie now, if elsewhere"
    )
    machine_flags(parser)
    return parser


def _plot(commands: Any) -> Parser:
    parser = _command(
        commands,
        "plot",
        "draw a run's pictures again",
        """history.png; tree.png, of the test expression chosen
by the run or of one you name; and by_operators.png for lrt. Of a neural tree: growth.png,
tree_grown.png and tree.png (before and after refinement), leaves.png, classes.png.""",
        f"""
examples:
  structnet plot runs/first
  structnet plot runs/digits
  structnet plot runs/first "{EXPRESSION}" --out pictures""",
    )
    run_argument(parser)
    parser.add_argument(
        "expression", nargs="*", help="what to draw: an expression, for lrt two sentences"
    )
    parser.add_argument("--out", metavar="DIR", help="folder of the pictures (default: the run's)")
    parser.add_argument(
        "--data-dir", metavar="D", help="where a neural tree's data lie now, if elsewhere"
    )
    return parser


def _data(commands: Any) -> Parser:
    parser = _command(
        commands,
        "data",
        "download, generate or check a data set",
        """Finds the published files, or downloads them once
into the cache; checks that they are what they should be; says where they lie and what is in them.
The cache is the folder that the environment's STRUCTNET_DATA names, or ~/.cache/structnet.""",
        f"""
data sets of trees:
  listops   nested list operations, ten values
  lrt       pairs of logical sentences, seven relations
data sets of images and rows:
{_listed(ARRAY_SETS)}
  FILE.csv  a table of yours (or FILE.tsv): numeric features, and a column to predict

examples:
  structnet data lrt --data-dir data
  structnet data listops --generate --num 1000 --out my-listops
  structnet data mnist --data-dir data
  structnet data houses.csv --target price --task regression""",
    )
    parser.add_argument(
        "name",
        metavar="NAME",
        type=data_name((*TASKS, *ARRAY_SETS)),
        help="the data set (see below)",
    )
    parser.add_argument("--data-dir", metavar="D", help="look here before the cache")
    made = parser.add_argument_group("generated listops and lrt")
    made.add_argument(
        "--generate", action="store_true", help="write generated data instead; needs no network"
    )
    made.add_argument(
        "--num",
        metavar="N",
        type=whole(10),
        help="how many expressions, or pairs, to generate (default: 100,000, or 250,000)",
    )
    made.add_argument("--seed", metavar="S", type=whole(0), help="of the generator (default: 0)")
    made.add_argument(
        "--out", metavar="DIR", help="folder of the generated files (default: data/cache/NAME)"
    )
    _table_flags(parser.add_argument_group("tables"))
    return parser


def _table_flags(group: Any) -> None:
    group.add_argument(
        "--target",
        metavar="COLUMN",
        help="the column to predict: its name, or its number from 1 (default: the last)",
    )
    group.add_argument(
        "--task",
        choices=("classification", "regression"),
        help="(default: classification if the target is not numeric, or a few whole numbers)",
    )
    group.add_argument(
        "--header",
        choices=("yes", "no"),
        help="whether the first row names the columns (default: yes if it holds no number)",
    )
    group.add_argument(
        "--delimiter",
        metavar="C",
        help="the character between fields (default: a comma; a tab in FILE.tsv)",
    )


def _listed(entries: dict[str, str]) -> str:
    return "\n".join(f"  {name:<9} {what}" for name, what in entries.items())


def _reproduce(commands: Any) -> Parser:
    parser = _command(
        commands,
        "reproduce",
        "train the paper's models and compare with its table",
        """Each model
is trained with each of the seeds 0 to N-1. DIR gets a run folder for each, table.md, table.json and
pictures. Given again, the command skips what is done and continues what is not.""",
        f"""
examples:
  structnet reproduce listops --runs {PAPER_RUNS}
  structnet reproduce lrt --data-dir data --only tucker,sum
  structnet reproduce listops --epochs 1 --train-size 2000 --out runs/trial

how the models are trained:
{recipes_table()}""",
    )
    parser.add_argument("task", choices=TASKS, help="the paper's table")
    data_flags(parser)
    run = parser.add_argument_group("run")
    run.add_argument(
        "--runs",
        metavar="N",
        type=whole(1),
        default=1,
        help=f"seeds a model (default: 1; the paper: {PAPER_RUNS})",
    )
    run.add_argument(
        "--only",
        metavar="NAMES",
        type=names,
        help="these models, separated by commas (default: the paper's: tucker,sum,full)",
    )
    run.add_argument("--epochs", metavar="N", type=whole(1), help="for all models (see below)")
    run.add_argument("--out", metavar="DIR", help="(default: runs/reproduce-TASK)")
    machine_flags(run)
    return parser


def _reproduce_neural_tree(commands: Any) -> Parser:
    parser = _command(
        commands,
        f"reproduce {NEURAL_TREE}",
        neural_tree.REPRODUCE_SUMMARY,
        neural_tree.REPRODUCE_DESCRIPTION,
        neural_tree.REPRODUCE_EPILOG,
    )
    neural_tree.reproduce_flags(parser)
    return parser
