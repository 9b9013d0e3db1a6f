"""The recipe of Tree-LSTMs: a run from the first step to what the model says of a user's trees.

Nothing here imports torch before it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from structnet.datasets.tree_file_formats import ENDINGS
from structnet.recipes.protocol import Recipe, sizes_in_words
from structnet.recipes.recipe import Answer, Outcome, Pictures, Place, Say
from structnet.recipes.tree_file.recipe import TreeFileRecipe
from structnet.recipes.tree_lstm.model import OF_NAME, Opened, first_weights, fitted, in_words
from structnet.recipes.tree_lstm.paper import TABLES
from structnet.recipes.tree_lstm.paper import Choice as TableChoice
from structnet.recipes.tree_lstm.settings import (
    DATA_SETS,
    Sizes,
    TreeLSTMRunSettings,
    table_of_defaults,
)
from structnet.recipes.tree_lstm.trees import Labelled, TreeData, nearest_size
from structnet.routing.words import percent

if TYPE_CHECKING:
    from structnet.recipes.run import Run
    from structnet.trees.tree import Tree


class TreeLSTMRecipe(Recipe):
    """Tree-LSTMs that classify listops expressions and pairs of logical sentences."""

    name = "tree-lstm"
    examples: ClassVar = {
        "train": f"""\
  structnet train tree-lstm --data listops --train-size 40000 --max-depth 5 --out runs/first
  structnet train tree-lstm --data lrt --data-dir data --aggregator sum --out runs/sum
  structnet train --resume runs/first
  torchrun --nproc-per-node 2 -m structnet train tree-lstm --data listops --out runs/two
  structnet train tree-lstm --data my-trees.tsv --out runs/own

trees of your own, LABEL<TAB>TREE lines, treebanks, source code, have other settings, which
'structnet train tree-lstm --data FILE --help' explains; here are those of listops and lrt.

models of the paper, which stand for what is not said:
{table_of_defaults()}""",
        "reproduce": """\
  structnet reproduce tree-lstm --table 1 --seeds 3
  structnet reproduce tree-lstm --table 2 --data-dir data --only tucker,sum
  structnet reproduce tree-lstm --table 1 --epochs 1 --train-size 2000 --out runs/trial
  structnet reproduce tree-lstm --table own --seeds 3 --treebank wsj.mrg""",
    }
    data_sets = DATA_SETS
    files = ENDINGS
    parallel = True
    draws_inputs = True
    Settings = TreeLSTMRunSettings
    Choice = TableChoice
    tables = TABLES

    def of_data(self, data: str) -> Recipe:
        """The recipe of some data: this one knows the named sets, another users' own trees."""
        own = data not in DATA_SETS and ("." in data or "/" in data or Path(data).is_dir())
        return TreeFileRecipe() if own else self

    def load(self, settings: TreeLSTMRunSettings, say: Say) -> TreeData:
        of = OF_NAME[settings.data]
        say(f"reading or generating the data of {of.name} ...")
        data = load(of.name, settings.sizes, settings.place.data_dir)
        say(f"data: {data.origin} {of.unit}, {sizes_in_words(data)}")
        asked = not settings.sizes.generate and settings.sizes.max_depth in (None, 20)
        if data.origin == "generated" and asked:
            say(f"(the published files are not at hand: structnet data {of.name} downloads them)")
        return data

    def train(self, settings: TreeLSTMRunSettings, data: TreeData, run: Run, say: Say) -> Outcome:
        """Trains, or goes on from the last whole epoch, and leaves the best one's weights."""
        from structnet.tensor_tree import count_aggregation
        from structnet.training.processes import is_first_process

        of, model = OF_NAME[settings.data], first_weights(settings)
        chosen: Any = settings.model  # resolved: nothing of it is None but a rank
        number = sum(parameter.numel() for parameter in model.parameters())
        say(f"model: {in_words(chosen)}, {number:,} parameters")
        history = fitted(model, settings, data, run)
        best = history.best
        assert best is not None  # as there are validation data
        if is_first_process():
            run.save_model(model)
        details = {
            "origin": data.origin,
            "validation_accuracy": best["validation_accuracy"],
            "parameters": number,
            "aggregation_parameters": count_aggregation(
                chosen.aggregator, chosen.hidden_size, of.arity, chosen.rank
            ),
            "best_epoch": best["epoch"],
            "epochs": len(history),
            "example": of.write(choose_example(data.test)),
        }
        return Outcome(sum(history["seconds"]), details)

    def open(self, run: Run, place: Place) -> Opened:
        from structnet.training.processes import own_device

        settings, device = run.settings(TreeLSTMRunSettings), own_device(place.device)
        model = run.load_model(lambda content: first_weights(settings)).to(device)
        of = OF_NAME[settings.data]
        return Opened(model, of, run.config["data"]["classes"], device)

    def read(self, run: Run, file: str, place: Place) -> Labelled:
        """The examples of a file like the published ones."""
        return OF_NAME[run.settings(TreeLSTMRunSettings).data].read(file)

    def measure(self, model: Opened, examples: Labelled, ask: Any) -> dict[str, Any]:
        """The accuracy; of lrt also by operators, and the mean over these groups."""
        import numpy as np

        from structnet.training import accuracy_by

        numbers = [model.classes.index(name) for name in model.ask_all(examples, ask.batch_size)]
        predicted, true = np.array(numbers), np.array(examples.labels)
        result: dict[str, Any] = {"accuracy": float((predicted == true).mean())}
        if model.of.groups is not None:
            groups = accuracy_by(predicted, true, model.of.groups(examples))
            result["accuracy_mean_over_operators"] = float(np.mean([a for a, _ in groups.values()]))
            result["accuracy_by_operators"] = {str(n): list(group) for n, group in groups.items()}
        return result

    def answer(self, model: Opened, texts: Sequence[str], ask: Any) -> list[Answer]:
        """What the model takes one example to be, and what it is."""
        trees = model.of.parse(texts)
        predicted, probability = model.ask(trees)
        true, words = model.of.truth(trees), model.of.in_words
        values = {
            "expression": model.of.write(trees),
            "class": predicted,
            "probability": probability,
            "true": true,
        }
        sure = percent(probability, 1)
        text = f"predicted {words(predicted)} with probability {sure}; true: {words(true)}"
        return [Answer(text, values)]

    def pictures(
        self, run: Run, data: Any = None, texts: Sequence[str] = (), place: Place | None = None
    ) -> Pictures:
        """``history.png``, ``tree.png`` and, of lrt, ``by_operators.png``."""
        from structnet.recipes.tree_lstm.pictures import draw_by_operators, draw_tree

        found = run.history_picture()
        # A training that goes on has a history, and no model yet.
        result = run.result or {}
        typed = texts or result.get("details", {}).get("example")
        if typed:
            model = self.open(run, place or Place())
            found["tree.png"] = partial(draw_tree, model, model.of.parse(typed))
        groups = result.get("test", {}).get("accuracy_by_operators")
        if groups:
            name = run.settings(TreeLSTMRunSettings).model.aggregator
            found["by_operators.png"] = partial(draw_by_operators, {name: groups})
        return found


@lru_cache(maxsize=1)  # a table of several models reads, or generates, its data once
def load(name: str, sizes: Sizes, data_dir: Path | None) -> TreeData:
    """The data of a run."""
    return OF_NAME[name].load(sizes, data_dir)


def choose_example(data: Labelled) -> tuple[Tree, ...]:
    """An example that makes a good picture."""
    sizes = [sum(tree.size for tree in data.example(i)) for i in range(len(data))]
    return data.example(nearest_size(sizes))
