"""The recipe of neural trees: a run from the root to what the tree says of a user's rows.

Nothing here imports torch before it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from structnet.datasets.catalogue import TABLES as FILES
from structnet.recipes.neural_tree.curves import FIGURES
from structnet.recipes.neural_tree.paper import TABLES, Choice
from structnet.recipes.neural_tree.settings import (
    DEFAULTS,
    PATHS,
    AskOfTree,
    NeuralTreeRunSettings,
    table_of_defaults,
)
from structnet.recipes.protocol import Recipe
from structnet.recipes.recipe import Answer, Outcome, Pictures, Place, Say, is_file, one_file
from structnet.recipes.words import counted

if TYPE_CHECKING:
    from structnet.recipes.arrays import ArrayData
    from structnet.recipes.neural_tree.runs import Opened
    from structnet.recipes.run import Run
    from structnet.routing import Reading, Samples

SHOWN = 0.01  # of the samples: branches that fewer take are folded in pictures


class NeuralTreeRecipe(Recipe):
    """Adaptive neural trees on images and tables."""

    name = "neural-tree"
    examples: ClassVar = {
        "train": f"""\
  structnet train neural-tree --data digits --out runs/digits
  structnet train neural-tree --data houses.csv --target price --width 32
  structnet train neural-tree --data mnist --data-dir data --primitives mnist_c --refine-epochs 30
  structnet train --resume runs/digits

defaults of the data sets:
{table_of_defaults()}""",
        "reproduce": """\
  structnet reproduce neural-tree --table 4 --data mnist --data-dir data
  structnet reproduce neural-tree --table 6 --data mnist --data-dir data
  structnet reproduce neural-tree --table 3 --data sarcos --data-dir data --seeds 3""",
    }
    data_sets = tuple(DEFAULTS)
    files = FILES
    Settings = NeuralTreeRunSettings
    Ask = AskOfTree
    Choice = Choice
    tables = TABLES | FIGURES

    def load(self, settings: NeuralTreeRunSettings, say: Say) -> ArrayData:
        from structnet.recipes.neural_tree.data import load_data
        from structnet.recipes.neural_tree.runs import root_of

        say(f"reading {settings.data} ...")
        data = load_data(settings)
        say(f"data: {data.in_words()}")
        root_of(settings, data.describe())
        return data

    def train(
        self, settings: NeuralTreeRunSettings, data: ArrayData, run: Run, say: Say
    ) -> Outcome:
        """Grows, refines and prunes a tree, from what is in the folder."""
        from structnet.neural_tree import train
        from structnet.recipes.neural_tree import runs
        from structnet.recipes.neural_tree.answers import measured
        from structnet.recipes.neural_tree.data import everything
        from structnet.routing.report import summary, text_of
        from structnet.routing.visits import passing
        from structnet.training import evaluate
        from structnet.training.processes import own_device

        described, device = data.describe(), own_device(settings.place.device)
        epochs: Any = settings.training.refine_epochs  # resolved: not None
        say(
            "going on from what has grown"
            if (run.folder / runs.GROWN).exists()
            else "growing: first the root is trained, then each leaf is split, deepened or kept; "
            f"then the whole tree is refined, {counted(epochs, 'epoch')}"
        )
        trained = train(
            runs.root_of(settings, described),
            settings.training.told(),
            data.train,
            data.validation,
            everything(data) if settings.rows.finish else None,
            device=device,
            folder=run.folder,
            callbacks=[lambda found: run.write_history(found.history)],
            progress=True,
        )
        run.write_history(trained.history)
        tree, grown = trained.tree, runs.tree_of(run, runs.GROWN).to(device)
        if settings.training.prune is not None:
            before = counted(grown.num_leaves, "leaf", "leaves")
            say(f"pruning: {tree.num_leaves:,} of {before} stay")
        run.save_model(tree, {"tree": tree.config()})
        size = summary(tree, data.test)
        run.write_text("summary.txt", f"{size}\n\n{text_of(data.reading(tree))}\n")
        details = {
            "primitives": settings.modules.primitives,
            "validation_loss": evaluate(tree, data.validation, device=device)["loss"],
            "before_refinement": {
                "test": measured(grown, data.test, described),
                "validation_loss": evaluate(grown, data.validation, device=device)["loss"],
                "decided": passing(grown, data.test)[1],
            },
            **runs.details_of(size, trained),
        }
        return Outcome(details["growth_seconds"] + details["refine_seconds"], details)

    def open(self, run: Run, place: Place) -> Opened:
        from structnet.recipes.neural_tree.runs import Opened, tree_of
        from structnet.training.processes import own_device

        tree = tree_of(run).to(own_device(place.device))
        return Opened(run, tree, place, run.config["data"])

    def read(self, run: Run, file: str, place: Place) -> Samples:
        """The rows of a table like the one that the run learnt from.

        Raises:
            ValueError: the run learnt from no table, or the file is none.
        """
        from structnet.recipes.arrays import labelled_rows

        settings = run.settings(NeuralTreeRunSettings)
        if not is_file(settings.data, FILES):
            raise ValueError(
                f"--data is for runs on a table, FILE.csv; {run} was trained on {settings.data} "
                "and is measured on its test data"
            )
        if not is_file(file, FILES):
            raise ValueError(f"--data must be FILE.csv or FILE.tsv for {run}; got {file!r}")
        return labelled_rows(file, run.config["data"], settings.rows.target)

    def measure(self, model: Opened, examples: Samples, ask: AskOfTree) -> dict[str, float]:
        """The accuracy, or the mean squared error, of each way to go through the tree."""
        from structnet.recipes.neural_tree.answers import measured

        paths = PATHS if ask.path is None else (ask.path,)
        return measured(model.tree, examples, model.data, paths, ask.batch_size)

    def answer(self, model: Opened, texts: Sequence[str], ask: AskOfTree) -> list[Answer]:
        """What a tree predicts for the rows of a file, or for test examples, and why.

        Raises:
            ValueError: there is more than one file, or a file and a number, or no such example.
        """
        from structnet.recipes.neural_tree.answers import of_example, of_rows

        path = ask.path or "multi"
        file = one_file(texts, FILES)
        if file is not None:
            return of_rows(model, file, path)
        test = self.own_data(model.run, model.place).test
        return [of_example(model, test, text, path) for text in texts]

    def pictures(
        self, run: Run, data: Any = None, texts: Sequence[str] = (), place: Place | None = None
    ) -> Pictures:
        """The tree as it grew and as it was refined, its leaves, and its regions of a plane."""
        from structnet import plot
        from structnet.neural_tree import Decision
        from structnet.recipes.neural_tree import runs

        if not len(run.history):
            return {}
        data = data or self.own_data(run, place)
        decisions = [Decision(**each) for each in runs.decisions_of(run)]

        @cache  # of two pictures
        def grown() -> Reading:
            return data.reading(runs.tree_of(run, runs.GROWN))

        found = {
            "growth.png": lambda: plot.plot_growth(run.history, decisions)[0],
            "tree_grown.png": lambda: plot.plot_neural_tree(grown(), min_share=SHOWN),
        }
        if not run.model_file.exists():
            return found
        told = data.reading(runs.tree_of(run))
        found["tree.png"] = lambda: plot.plot_neural_tree(told, min_share=SHOWN)
        if "refine" in run.history["phase"]:
            found["refinement.png"] = lambda: plot.plot_refinement(
                grown(), told, told.samples, min_share=SHOWN
            )[0]
        if len(told.tree.shape) == 3:
            found["leaves.png"] = lambda: plot.plot_leaf_means(told, told.samples)
        if told.class_names is not None:
            found["classes.png"] = lambda: plot.plot_leaf_classes(told, told.samples)
        if tuple(told.tree.shape) == (2,) and (told.class_names or data.arrays.num_outputs == 1):
            found["partition.png"] = lambda: plot.plot_partition(told, told.samples)
        return found
