"""The recipe of label trees: a run from files to what the tree says of a user's lines.

Nothing here imports torch before it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from structnet.recipes.label_tree.paper import TABLES
from structnet.recipes.label_tree.settings import (
    FILES,
    NAMES,
    AskOfLabels,
    Choice,
    LabelTreeRunSettings,
)
from structnet.recipes.protocol import Recipe
from structnet.recipes.recipe import Answer, Outcome, Pictures, Place, Say

if TYPE_CHECKING:
    from structnet.label_tree import Examples
    from structnet.recipes.label_tree.data import LabelData
    from structnet.recipes.label_tree.runs import Opened
    from structnet.recipes.run import Run


class LabelTreeRecipe(Recipe):
    """Label trees on text, sparse rows and planted points."""

    name = "label-tree"
    examples: ClassVar = {
        "train": """\
  structnet train label-tree --data planted --arity 4 --out runs/planted
  structnet train label-tree --data lines.txt --arity 5 --epochs 5
  structnet train label-tree --data brown --data-dir data --tree learned --learning-rate 0.05
  structnet train label-tree --resume runs/planted""",
        "reproduce": """\
  structnet reproduce label-tree --table 1 --data pydoc
  structnet reproduce label-tree --table 1 --data brown --data-dir data --seeds 3""",
    }
    data_sets = NAMES
    files = FILES
    Settings = LabelTreeRunSettings
    Ask = AskOfLabels
    Choice = Choice
    tables = TABLES

    def load(self, settings: LabelTreeRunSettings, say: Say) -> LabelData:
        from structnet.recipes.label_tree.data import load_data

        say(f"reading {settings.data} ...")
        data = load_data(settings, say)
        say(f"data: {data.in_words()}")
        return data

    def train(self, settings: LabelTreeRunSettings, data: LabelData, run: Run, say: Say) -> Outcome:
        """Chooses what was not said, and trains, from what is in the folder."""
        from structnet.recipes.label_tree import runs

        training = runs.trained(settings, data, run, say)
        tree, report = training.tree, training.tree.softmax.node_report()
        run.save_model(tree, runs.content_of(data, training))
        run.write_text("tree.txt", runs.first_levels(tree, data.labels) + "\n")
        seconds = sum(record["seconds"] for record in training.epochs)
        counts = tree.softmax.counts.numpy()
        details = {
            "chosen": vars(training.settings),
            "last_rebuild": training.rebuilds[-1] if training.rebuilds else None,
            "nodes": tree.codes.num_nodes,
            "depth": int(tree.codes.depth.max()),
            "mean_depth": float(tree.codes.depth @ counts / counts.sum()),
            "objective": report.mean() if tree.codes.num_nodes > 1 else None,
        }
        return Outcome(seconds, details)

    def open(self, run: Run, place: Place) -> Opened:
        from structnet.recipes.label_tree.runs import opened

        return opened(run, place)

    def read(self, run: Run, file: str, place: Place) -> Examples:
        """The examples of a file of the kind that the run learnt from."""
        from structnet.recipes.label_tree.data import read_examples
        from structnet.recipes.label_tree.runs import opened

        model, learnt = opened(run, place), Path(run.settings(LabelTreeRunSettings).data)
        return read_examples(file, model.labels, model.text, model.tree.shape[0], learnt)

    def measure(self, model: Opened, examples: Examples, ask: AskOfLabels) -> dict[str, float]:
        """Precision at 1 and at k, the perplexity, and what a prediction costs."""
        from structnet.recipes.label_tree.runs import measured

        return measured(model.tree, examples, ask)

    def answer(self, model: Opened, texts: Sequence[str], ask: AskOfLabels) -> list[Answer]:
        """The likeliest labels of lines of words, or of test examples by number."""
        from structnet.recipes.label_tree.runs import answers

        return answers(model, texts, ask)

    def pictures(
        self, run: Run, data: Any = None, texts: Sequence[str] = (), place: Place | None = None
    ) -> Pictures:
        """The losses, the reassignments, and the tree with its most frequent labels."""
        from structnet.recipes.label_tree.pictures import pictures_of

        return pictures_of(run)
