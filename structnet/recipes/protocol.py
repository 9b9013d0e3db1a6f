"""What a recipe is: all that the commands need of a family."""

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
    """What a run learns from, chooses by and is tested on; each part has a length."""

    @property
    def train(self) -> Any:
        """What is learnt from."""

    @property
    def validation(self) -> Any:
        """What is chosen by."""

    @property
    def test(self) -> Any:
        """What is tested on."""

    def describe(self) -> dict[str, Any]:
        """What ``config.json`` says of them, by which they are known again."""
        ...


def sizes_of(data: RunData) -> dict[str, int]:
    """How many examples each part of a run's data has."""
    return {"train": len(data.train), "validation": len(data.validation), "test": len(data.test)}


def sizes_in_words(data: RunData) -> str:
    """The same for people."""
    what = {"train": "to train on", "validation": "for validation", "test": "to test"}
    return ", ".join(f"{size:,} {what[part]}" for part, size in sizes_of(data).items())


class Recipe:
    """A family as the commands see it.

    What is said of it here costs no import of torch; what is done with it, by the methods that ask
    ``work``, stands in a module of that name beside the recipe's own.

    Attributes:
        name: the word after ``structnet train``.
        examples: "train", "reproduce" -> the commands, one a line, that their help shows; more may
            stand behind an empty line.
        data_sets: the names of the data sets that it learns from; the first one is the default of
            ``reproduce``.
        files: the endings of users' files that it learns from.
        parallel: may several processes of a ``torchrun`` train one model?
        draws_inputs: can pictures be of what a user types, and not only of the run's own data?
        Settings: a frozen dataclass with fields ``data`` and ``place`` and a method ``resolved``,
            which fills what was not said and refuses what does not go together.
        Ask: a subclass of :class:`.recipe.Ask`, which itself is the default.
        Choice: frozen dataclass of what ``reproduce`` may be told.
        tables: the papers' tables by number, others by name.
    """

    name: ClassVar[str]
    examples: ClassVar[Mapping[str, str]]
    data_sets: ClassVar[Sequence[str]]
    files: ClassVar[Sequence[str]]
    parallel: ClassVar[bool] = False
    draws_inputs: ClassVar[bool] = False
    Settings: ClassVar[type[Any]]
    Ask: ClassVar[type[Any]] = AskOfModel
    Choice: ClassVar[type[Any]]
    tables: ClassVar[Mapping[Any, PaperTable]]

    @property
    def work(self) -> Any:
        """The module beside the recipe's whose functions do what methods of their names say."""
        return import_module(f"{type(self).__module__.rpartition('.')[0]}.work")

    def of_data(self, data: str) -> Recipe:
        """The recipe of some data: this one, or another that knows them."""
        return self

    def load(self, settings: Any, say: Say) -> RunData:
        """The data of a run, with a word on them; what does not go together is refused."""
        return self.work.load(settings, say)

    def train(self, settings: Any, data: Any, run: Run, say: Say) -> Outcome:
        """Trains, or goes on from what is in the folder, and leaves ``model.safetensors``."""
        return self.work.train(settings, data, run, say)

    def open(self, run: Run, place: Place) -> Any:
        """The trained model of a run."""
        return self.work.open(run, place)

    def examples_of(self, run: Run, file: str | None, place: Place) -> Any:
        """The run's own test examples, or those of a user's file.

        Raises:
            CheckpointError: the run's own data are not the same any more.
        """
        if file is not None:
            return self.read(run, file, place)
        load = partial(self.load, say=lambda line: None)
        return run.read_again(self.Settings, load, place).test

    def read(self, run: Run, file: str, place: Place) -> Any:
        """The examples of a user's file, which is like the one that the run learnt from."""
        return self.work.read(run, file, place)

    def measure(self, model: Any, examples: Any, ask: Any) -> dict[str, Any]:
        """The metrics of a model on examples, as shares of 1 or in the units of the targets."""
        return self.work.measure(model, examples, ask)

    def answer(self, model: Any, texts: Sequence[str], ask: Any) -> list[Answer]:
        """What a model says of what the user typed."""
        return self.work.answer(model, texts, ask)

    def pictures(
        self, run: Run, data: Any = None, texts: Sequence[str] = (), place: Place | None = None
    ) -> Pictures:
        """File name -> what draws it, as far as the run has come; data are loaded if needed.

        Texts are given to recipes that draw inputs alone.
        """
        return self.work.pictures(run, data, texts, place)
