"""The recipe of users' own trees: from a file of parses to a trained model and what it says.

Nothing here imports torch before it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from structnet.datasets.tree_file_formats import ENDINGS
from structnet.recipes.protocol import Recipe
from structnet.recipes.recipe import Answer, Outcome, Pictures, Place, Say
from structnet.recipes.tree_file.settings import TreeFileSettings
from structnet.recipes.tree_lstm.paper import TABLES
from structnet.recipes.tree_lstm.paper import Choice as TableChoice

if TYPE_CHECKING:
    from structnet.datasets import TreeFile
    from structnet.recipes.run import Run
    from structnet.recipes.tree_file.answers import Opened
    from structnet.recipes.tree_file.data import TreeFileData


class TreeFileRecipe(Recipe):
    """Tree-LSTMs that learn from files of trees."""

    name = "tree-lstm"
    examples: ClassVar = {
        "train": """\
  structnet train tree-lstm --data expressions.tsv --out runs/own
  structnet train tree-lstm --data wsj.mrg --format penn --target root-label
  structnet train tree-lstm --data functions.jsonl --format python --target package
  structnet train tree-lstm --data sst/train.txt --test-file sst/test.txt --target node-labels""",
        "reproduce": "  structnet reproduce tree-lstm --table own",
    }
    data_sets = ()
    files = ENDINGS
    draws_inputs = True
    Settings = TreeFileSettings
    Choice = TableChoice
    tables = TABLES

    def load(self, settings: TreeFileSettings, say: Say) -> TreeFileData:
        """The trees of a run, with a word on what was guessed and left out."""
        from structnet.recipes.tree_file.data import load_data

        say(f"reading {settings.data} ...")
        return load_data(settings, say)

    def train(self, settings: TreeFileSettings, data: TreeFileData, run: Run, say: Say) -> Outcome:
        """Trains a model from the beginning: it is a matter of minutes."""
        from structnet.recipes.tree_file.answers import estimator
        from structnet.recipes.tree_file.data import known_part
        from structnet.recipes.tree_file.pictures import as_nodes, choose_example

        chosen = dict(vars(settings.training))
        chosen |= {"random_state": chosen.pop("seed"), "device": settings.place.device}
        model = estimator(data.train.task)(**chosen, folder=run.folder, verbose=True)
        held_out = known_part(data.validation, data.classes)
        validation = (held_out.trees, held_out.targets)
        model.fit(data.train.trees, data.train.targets, validation=validation)
        model.save(run.model_file)
        parameters = sum(weights.numel() for weights in model.model_.parameters())
        details = {
            "chosen": dict(vars(model.trained_.settings)),
            "parameters": parameters,
            "epochs": len(model.history_),
            "best_epoch": model.history_.best["epoch"],
            "example": as_nodes(data.test, choose_example(data.test)),
        }
        return Outcome(sum(model.history_["seconds"]), details)

    def open(self, run: Run, place: Place) -> Opened:
        """The trained estimator of a run."""
        from structnet.recipes.tree_file.answers import Opened, estimator, told_of

        told = told_of(run)
        model = estimator(told["task"]).load(run.trained_file())
        model.set_params(device=place.device).model_.to(place.device)
        return Opened(model, told)

    def read(self, run: Run, file: str, place: Place) -> TreeFile:
        """The trees of a file like the one that the run learnt from."""
        from structnet.recipes.tree_file.answers import told_of
        from structnet.recipes.tree_file.data import read_like

        return read_like(told_of(run), file)

    def measure(self, model: Opened, examples: TreeFile, ask: Any) -> dict[str, Any]:
        """Accuracy, macro F1 and confusion matrix of all examples together; or the errors."""
        from structnet.recipes.tree_file.measures import left_out, of_classes, of_nodes, of_numbers

        predicted, true = model.estimator.predict(examples.trees), examples.targets or []
        baseline, missed = model.told["baseline"], left_out(examples, model.told["classes"])
        if examples.task == "regression":
            return of_numbers(true, predicted, baseline) | missed
        if examples.task == "nodes":
            return of_nodes(true, predicted, baseline) | missed
        return of_classes(true, list(map(str, predicted)), baseline) | missed

    def answer(self, model: Opened, texts: Sequence[str], ask: Any) -> list[Answer]:
        """What a model says of the trees of a file, or of those that were typed."""
        from structnet.recipes.tree_file.answers import answers_to

        return answers_to(model, texts)

    def pictures(
        self, run: Run, data: Any = None, texts: Sequence[str] = (), place: Place | None = None
    ) -> Pictures:
        """``history.png``, ``confusion.png``, ``tree.png``, ``why.png``, as far as it has come."""
        from structnet.recipes.tree_file.answers import asked
        from structnet.recipes.tree_file.pictures import (
            draw_confusion,
            draw_example,
            draw_reasons,
            from_nodes,
        )

        found = run.history_picture()
        result = run.result or {}
        confusion = result.get("test", {}).get("confusion")
        if confusion:
            found["confusion.png"] = partial(draw_confusion, confusion)
        example = result.get("details", {}).get("example")
        if texts or example:
            model = self.open(run, place or Place())
            shown = asked(model.told, texts) if texts else from_nodes(model.told, example)
            found["tree.png"] = partial(draw_example, model, shown)
            if not shown.pairs and model.told["task"] != "nodes":
                found["why.png"] = partial(draw_reasons, model, shown)
        return found
