"""The folder of a run: its files, and how they are read and written.

==========================  ====================================================================
``config.json``             the model's name, its settings, a description of the data, and ``FORM``;
                            a trained model may have its own copy of these, which then counts
``checkpoint.safetensors``  the state of a training after its last whole epoch (of neural trees
                            ``growth.safetensors`` and ``refinement/``)
``history.jsonl``           one record per epoch
``model.safetensors``       the weights
``result.json``             the result; only pictures are written after it
``example.json``            for the user's own trees: one of them, to be drawn
``*.png``                   pictures
==========================  ====================================================================
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from structnet.recipes.recipe import Pictures, Place, S, settings_from, values_of
from structnet.training.checkpoint import (
    MALFORMED,
    CheckpointError,
    bounded,
    load_model,
    save_model,
)
from structnet.training.files import replacing
from structnet.training.history import History
from structnet.training.processes import is_first_process

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from torch import nn

MODEL = "model.safetensors"
FORM = 1  # of a run's files; a version that writes what others cannot read has a higher one
KEYS = ("model", "settings", "data")
M = TypeVar("M", bound="nn.Module")
PLACES = tuple(values_of(Place()))


class Run:
    """A run's folder; none of its files need exist.

    Args:
        folder: path of the folder.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)

    def __str__(self) -> str:
        return str(self.folder)

    @property
    def started(self) -> bool:
        """Whether there is a run in the folder."""
        return (self.folder / "config.json").exists()

    @property
    def model_file(self) -> Path:
        """The file of the trained model, which need not exist."""
        return self.folder / MODEL

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the run, that of its trained model if there is one.

        Raises:
            CheckpointError: there is no run in the folder, a file of it is damaged, or another
                version made it.
        """
        return self._of_model() or self._config

    @property
    def _config(self) -> dict[str, Any]:
        """The content of ``config.json``."""
        config = self.read("config.json")
        if config is None:
            raise CheckpointError(
                f"{self} holds no run: it has no config.json; expected a folder made by "
                "structnet train"
            )
        missing = [key for key in KEYS if not config.get(key)]
        wrong = not isinstance(config.get("settings"), dict)
        wrong |= not isinstance(config.get("data"), dict | str)  # the name, for a baseline
        if missing or wrong or not isinstance(config["model"], str):
            raise CheckpointError(
                f"{self}/config.json was not written by structnet train"
                + (f": it lacks {', '.join(missing)}" if missing else "")
            )
        if config.get("form") != FORM:
            raise self._of_another_version()
        return config

    def _of_another_version(self) -> CheckpointError:
        return CheckpointError(f"{self} was made by another version of structnet; train it again")

    def _of_model(self) -> dict[str, Any] | None:
        """The configuration stored with the weights; None if either is missing."""
        file = self.model_file
        if not self.started or not file.exists() or not self._config:
            return None
        status = file.stat()
        content = _content(file, status.st_mtime_ns, status.st_size)
        if not set(KEYS) <= content.keys():
            return None
        # The other keys may be large.
        return copy.deepcopy({key: content[key] for key in KEYS})

    def settings(self, cls: type[S], place: Place | None = None) -> S:
        """The settings of the run, as an instance of its recipe's settings.

        Args:
            cls: the recipe's settings.
            place: place where the run is used now; None for the one where it was trained.

        Raises:
            CheckpointError: the file is damaged, or its settings are invalid.
        """
        here = {} if place is None else values_of(place)
        place_values = {name: value for name, value in here.items() if value is not None}
        values = {**self.config["settings"], **place_values}
        try:
            settings = settings_from(cls, values)
        except MALFORMED as error:
            raise CheckpointError(f"the settings of {self} cannot be used: {error}") from None
        if values.keys() != values_of(settings).keys():  # else defaults would fill in
            raise self._of_another_version()
        return located(settings, place)

    def settings_to_resume(self, cls: type[S]) -> S:
        """The settings of the run with the free ones as they were when it was last resumed.

        Args:
            cls: the recipe's settings.

        Raises:
            CheckpointError: the file is damaged, or its settings are invalid.
        """
        values = self._config["settings"]
        saved: Any = self.settings(cls)  # a RunSettings
        changed = {name: values[name] for name in saved.free if name in values}
        return settings_from(cls, values_of(saved) | changed)

    @property
    def result(self) -> dict[str, Any] | None:
        """The result of the run; None if it has not ended.

        Raises:
            CheckpointError: the file is damaged.
        """
        result = self.read("result.json") or {}
        return result if "test" in result else None

    @property
    def ended(self) -> dict[str, Any]:
        """The result of a run that has ended.

        Raises:
            CheckpointError: the run has not ended.
        """
        result = self.result
        if result is None:
            raise CheckpointError(f"{self} has not ended; expected its result.json")
        return result

    @property
    def history(self) -> History:
        """The records of the epochs so far."""
        file = self.folder / "history.jsonl"
        return History.load(file) if file.exists() else History()

    def history_picture(self) -> Pictures:
        """``history.png`` with the function that draws it; empty before the first epoch ends."""
        from structnet.plot import plot_history

        return {"history.png": lambda: plot_history(self.history)[0]} if len(self.history) else {}

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Writes one of the JSON files, completely or not at all."""
        self.write_text(name, json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def write_config(self, config: Mapping[str, Any]) -> None:
        """Writes ``config.json``.

        Args:
            config: mapping that has the model's name, its settings and a description of the data.
        """
        self.write("config.json", {"form": FORM, **{key: config[key] for key in KEYS}})

    def write_text(self, name: str, text: str) -> None:
        """Writes a file, completely or not at all."""
        with replacing(self.folder / name) as file:
            file.write(text.encode())

    def write_history(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Writes the records of all epochs, completely or not at all."""
        History(records).save(self.folder / "history.jsonl")

    def save_model(self, model: nn.Module, more: Mapping[str, Any] | None = None) -> None:
        """Writes the weights, with the configuration in the same file."""
        save_model(self.model_file, model, {**self._config, **(more or {})})

    def trained_file(self, name: str = MODEL) -> Path:
        """The file of the trained model.

        Args:
            name: name of the file.

        Raises:
            CheckpointError: the file does not exist yet.
        """
        file = self.folder / name
        if not file.exists():
            raise CheckpointError(
                f"{self} has no {name}, as its training has not ended; continue it with: "
                f"structnet train --resume {self}"
            )
        return file

    def load_model(self, build: Callable[[dict], M], name: str = MODEL) -> M:
        """A trained model in evaluation mode.

        Args:
            build: function from the content stored with the weights to the untrained model; the
                content also has the names of the ``tensors``.
            name: name of the file.

        Raises:
            CheckpointError: there is no trained model yet, or its file is damaged.
        """
        file = self.trained_file(name)
        weights, content = load_model(file)
        try:
            with bounded(weights):
                model = build({**content, "tensors": list(weights)})
            model.load_state_dict(weights)
        except CheckpointError:
            raise
        except (RuntimeError, *MALFORMED):
            raise CheckpointError(f"{file} does not fit the model of {self}") from None
        return model.eval()

    def refuse_other(self, settings: Any) -> None:
        """Refuses a folder that has a run with other settings.

        Raises:
            ValueError: the folder has such a run.
        """
        saved = self.settings(type(settings)) if self.started else settings
        for name, before, now in _different(saved, settings):
            raise ValueError(
                f"{self} was trained with {name} {before}, not {now}; choose another folder with "
                "--out"
            )

    def forget(self, before: set[str]) -> None:
        """Deletes the run's new files if nothing has been trained, so that there is no run.

        Args:
            before: names of the files that existed before.
        """
        from structnet.estimators.file import CLAIM

        new = {path.name for path in self.folder.iterdir()} - before
        if new <= {"config.json", CLAIM}:
            for name in new:
                (self.folder / name).unlink()

    def refuse_any(self) -> None:
        """Refuses a folder that has a run.

        Raises:
            ValueError: the folder has a run.
        """
        # Only the first process looks: it may be writing already when the others come here.
        if is_first_process() and self.started:
            raise ValueError(
                f"{self} already has a run; choose another folder with --out, or continue that run "
                f"with --resume {self}"
            )

    def going_on(self, saved: Any, settings: Any) -> Any:
        """The settings of a resumed run: its own, except for the place and those that are free.

        Args:
            saved: settings with which it was started.
            settings: the same settings, changed by what the user gives now.

        Raises:
            ValueError: another setting has changed.
        """
        free = saved.free
        with suppress(ValueError):  # the error below, which names the setting, explains it better
            settings = settings.resolved()
        but = f" except {' and '.join(free)}".replace("_", "-") if free else ""
        for name, before, now in _different(saved, settings, free):
            raise ValueError(
                f"{self} was started with {name} {before}, and a resumed run keeps its "
                f"settings{but}; got {name} {now}"
            )
        return located(settings.resolved(), settings.place)

    def check_same_data(self, data: Mapping[str, Any]) -> None:
        """Checks that the data read now are those of the run.

        Args:
            data: description of the data read now, as in ``config.json``.

        Raises:
            CheckpointError: the data differ; the message names what differs.
        """
        known = self.config["data"]
        differ = [name for name in {**known, **data} if known.get(name) != data.get(name)]
        names = {Path(str(each.get("name"))).name for each in (known, data)}
        if len(names) == 1 and "name" in differ:
            differ.remove("name")  # of a file that is in another folder now
        if differ and known.get("content") is not None and known["content"] == data.get("content"):
            raise self._of_another_version()  # which read the same files differently
        if differ:
            raise CheckpointError(
                f"the data are not those of {self}: other {', '.join(differ)} than in its "
                "config.json; bring the old data back (--data-dir names their folder), or train a "
                "new run"
            )

    def read_again(self, cls: type[S], load: Callable[[S], Any], place: Place | None = None) -> Any:
        """The data of the run, read again.

        Args:
            cls: the recipe's settings.
            load: function from the settings to the data.
            place: place where the data are read; None for the one where the run was trained.

        Raises:
            CheckpointError: the data have changed.
        """
        data = load(self.settings(cls, place))
        self.check_same_data(data.describe())
        return data

    def read(self, name: str) -> dict[str, Any] | None:
        """The content of one of the JSON files; None if there is no such file.

        Raises:
            CheckpointError: the file is damaged.
        """
        if not (self.folder / name).exists():
            return None
        try:
            content = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except ValueError:  # not JSON, or not even text
            content = None
        if not isinstance(content, dict):
            raise CheckpointError(f"{self}/{name} is damaged; expected one JSON object")
        return content


def located(settings: S, place: Place | None) -> S:
    """The settings with data in ``place.data_dir`` if their file is not where it was."""
    data = Path(getattr(settings, "data", ""))
    if place is None or place.data_dir is None or not data.is_absolute() or data.exists():
        return settings
    there = (place.data_dir / data.name).resolve()
    return replace(settings, **{"data": str(there)}) if there.exists() else settings


@lru_cache(maxsize=8)  # read often, and the file may be large
def _content(file: Path, changed: int, size: int) -> dict[str, Any]:
    return load_model(file)[1]


def _different(
    saved: Any, settings: Any, free: Sequence[str] = ()
) -> Iterator[tuple[str, Any, Any]]:
    """The settings that differ, except the place and free ones: flag, old and new value."""
    before = values_of(saved)
    for name, value in values_of(settings).items():
        if name not in (*PLACES, *free) and before[name] != value:
            yield name.replace("_", "-"), before[name], value


def save(ax: Axes, path: Path) -> Path:
    """Writes the figure of an axes to a file, and closes it."""
    import matplotlib.pyplot as plt

    figure: Any = ax.figure  # a figure, never a subfigure
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=150, bbox_inches="tight")
    plt.close(figure)
    return path
