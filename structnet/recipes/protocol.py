"""The interface of a recipe: everything that the commands need from a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from structnet.recipes.recipe import Answer, Outcome, Pictures, Place, Say
from structnet.recipes.recipe import Ask as AskOfModel

if TYPE_CHECKING:
    from structnet.recipes.paper import PaperTable
    from structnet.recipes.run import Run


class RunData(Protocol):
    """The data of a run in three parts, each of which has a length."""

    @property
    def train(self) -> Any:
        """The training examples."""

    @property
    def validation(self) -> Any:
        """The examples by which the run makes its choices."""

    @property
    def test(self) -> Any:
        """The test examples."""

    def describe(self) -> dict[str, Any]:
        """The description in ``config.json``, by which the same data are recognized."""
        ...


def sizes_of(data: RunData) -> dict[str, int]:
    """The number of examples in each part of a run's data."""
    return {"train": len(data.train), "validation": len(data.validation), "test": len(data.test)}


def sizes_in_words(data: RunData) -> str:
    """The number of examples in each part of a run's data, in words."""
    what = {"train": "to train on", "validation": "for validation", "test": "to test"}
    return ", ".join(f"{size:,} {what[part]}" for part, size in sizes_of(data).items() if size)


class Work(Protocol):
    """The functions of the module that a recipe names, by which the commands do their work.

    Settings, data, models, examples and questions are of the family's own types.
    """

    def load(self, settings: Any, say: Say) -> RunData:
        """The data of a run, which it also reports; settings that do not fit them are refused."""
        ...

    def train(self, settings: Any, data: Any, run: Run, say: Say) -> Outcome:
        """Trains, or resumes from the state in the folder, and writes ``model.safetensors``."""
        ...

    def open(self, run: Run, place: Place) -> Any:
        """The trained model of a run."""
        ...

    def read(self, run: Run, file: str, place: Place) -> Any:
        """The examples of a user's file of the same kind as the one that the run learned from."""
        ...

    def measure(self, model: Any, examples: Any, ask: Any) -> dict[str, Any]:
        """The metrics of a model on examples: shares from 0 to 1, or in the targets' units."""
        ...

    def answer(self, model: Any, texts: Sequence[str], ask: Any) -> list[Answer]:
        """The answers of a model to the user's inputs."""
        ...

    def pictures(self, run: Run, data: Any, texts: Sequence[str], place: Place | None) -> Pictures:
        """File name -> function that draws it, for what exists of the run so far.

        Args:
            run: run.
            data: data of the run; None to load them if they are needed.
            texts: inputs to draw; none unless the recipe ``draws_inputs``.
            place: place to load them at; None for the one that the run was trained at.
        """
        ...


class Recipe:
    """A family of models, as the commands see it.

    The attributes can be read without an import of torch.

    Attributes:
        name: the word after ``structnet train``.
        module: name of the module whose functions are ``work``.
        examples: for "train" and "reproduce", the example commands in their help, one per line;
            other text may follow an empty line.
        refused: names of settings that it always refuses, which its help does not name.
        parallel: True if several processes of ``torchrun`` may train one model.
        draws_inputs: True if pictures can show the user's inputs, not only the run's own data.
        Settings: a frozen dataclass, a subclass of :class:`.RunSettings`.
        Ask: flags of ``evaluate`` and ``predict``, :class:`.recipe.Ask` or a subclass.
        Choice: a frozen dataclass with the flags of ``reproduce``.
        tables: the papers' tables by number, others by name.
    """

    name: ClassVar[str]
    module: ClassVar[str]
    examples: ClassVar[Mapping[str, str]]
    refused: ClassVar[Sequence[str]] = ()
    parallel: ClassVar[bool] = False
    draws_inputs: ClassVar[bool] = False
    Settings: ClassVar[type[Any]]
    Ask: ClassVar[type[Any]] = AskOfModel
    Choice: ClassVar[type[Any]]
    tables: ClassVar[Mapping[Any, PaperTable]]

    @property
    def work(self) -> Work:
        """The functions that do the work of the commands."""
        work: Any = import_module(self.module)
        return work

    def of_data(self, data: str) -> Recipe:
        """The recipe for some data: this one, or another that knows the data."""
        return self

    def examples_of(self, run: Run, file: str | None, place: Place) -> Any:
        """The run's own test examples, or those of a user's file.

        Raises:
            CheckpointError: the run's own data have changed.
        """
        if file is not None:
            return self.work.read(run, file, place)
        load = partial(self.work.load, say=lambda line: None)
        return run.read_again(self.Settings, load, place).test
