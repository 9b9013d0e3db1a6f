"""The folder of a run: what lies in it, and how it is read and written.

==========================  ====================================================================
``config.json``             settings, vocabulary, classes, origin and sizes of the data
``checkpoint.safetensors``  the state of the training after its last whole epoch
``history.jsonl``           one record an epoch
``model.safetensors``       the weights of the best epoch
``result.json``             what the run came to; it is written last
``history.png``,            pictures; the last of them for lrt
``tree.png``,
``by_operators.png``
==========================  ====================================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from structnet.cli.models import build_model
from structnet.cli.settings import Settings, differences
from structnet.cli.tasks import TASKS, Task
from structnet.training.checkpoint import CheckpointError, load_model, save_model
from structnet.training.history import History
from structnet.trees.vocabulary import Vocabulary

CONFIG_KEYS = ("settings", "vocabulary", "classes", "data")


class Run:
    """A run's folder; the files in it need not be there.

    Args:
        folder: its path.
    """

    keys: tuple[str, ...] = CONFIG_KEYS
    tasks: tuple[str, ...] = tuple(TASKS)

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)

    def __str__(self) -> str:
        return str(self.folder)

    @property
    def started(self) -> bool:
        """Is there a run in the folder?"""
        return (self.folder / "config.json").exists()

    def refuse_other(self, settings: Settings) -> None:
        """Raise ValueError if a run in the folder was trained with other settings."""
        differ = differences(self.config["settings"], settings) if self.started else []
        if differ:
            name = differ[0]
            raise ValueError(
                f"{self} was trained with {name.replace('_', '-')} "
                f"{self.config['settings'].get(name)}, not {settings[name]}; name another folder "
                "with --out"
            )

    @property
    def config(self) -> dict[str, Any]:
        """What the run was told.

        Raises:
            CheckpointError: there is no run in the folder, or its file is damaged.
        """
        if not self.started:
            raise CheckpointError(
                f"{self} holds no run: it has no config.json; expected a folder made by "
                "structnet train"
            )
        config = self._read("config.json")
        missing = [key for key in self.keys if key not in config]
        settings = config.get("settings")
        if missing or not isinstance(settings, dict) or settings.get("task") not in self.tasks:
            raise CheckpointError(
                f"{self}/config.json is not one that structnet train wrote"
                + (f": it lacks {', '.join(missing)}" if missing else "")
            )
        return config

    @property
    def result(self) -> dict[str, Any] | None:
        """What the run came to; None if it has not ended.

        Raises:
            CheckpointError: the file is damaged.
        """
        return self._read("result.json") if (self.folder / "result.json").exists() else None

    @property
    def history(self) -> History:
        """The records of the epochs so far."""
        file = self.folder / "history.jsonl"
        return History.load(file) if file.exists() else History()

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Writes one of the JSON files, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f".{name}.tmp"
        text = json.dumps(content, indent=2, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(self.folder / name)

    def save_model(self, model: nn.Module, config: Mapping[str, Any]) -> None:
        """Writes the weights, with the configuration beside them in the same file."""
        save_model(self.folder / "model.safetensors", model, config)

    def _read(self, name: str) -> dict[str, Any]:
        try:
            content = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except ValueError:  # not JSON, or not even text
            content = None
        if not isinstance(content, dict):
            raise CheckpointError(f"{self}/{name} is damaged; expected one JSON object")
        return content


def check_same_data(run: Run, found: Mapping[str, Any]) -> None:
    """Checks that the data at hand are those of a run.

    Args:
        run: the run.
        found: what the data at hand are, as its ``config.json`` describes data.

    Raises:
        CheckpointError: they are not; it names what differs.
    """
    known = run.config["data"]
    differ = [name for name in {**known, **found} if known.get(name) != found.get(name)]
    if differ:
        raise CheckpointError(
            f"the data at hand are not those of {run}: other {', '.join(differ)} than in its "
            "config.json; bring the old data back (--data-dir names their folder), or train a new "
            "run"
        )


class Trained:
    """A run's model, with what it takes to ask it something.

    Args:
        run: the run.
        device: where the model goes.

    Raises:
        CheckpointError: there is no trained model, or its file is damaged.
    """

    def __init__(self, run: Run, device: Any = "cpu"):
        self.run, self.device = run, device
        self.config = run.config
        self.settings: dict[str, Any] = self.config["settings"]
        self.task: Task = TASKS[self.settings["task"]]
        self.vocabulary = Vocabulary.from_dict(self.config["vocabulary"])
        self.classes: list[str] = self.config["classes"]
        self.model = self._load().to(device).eval()

    def _load(self) -> nn.Module:
        file = self.run.folder / "model.safetensors"
        if not file.exists():
            raise CheckpointError(
                f"{self.run} has no model.safetensors, as its training has not ended; continue it "
                f"with: structnet train --resume {self.run}"
            )
        state, _ = load_model(file)
        model = build_model(self.config)
        try:
            model.load_state_dict(state)
        except RuntimeError:
            raise CheckpointError(f"{file} does not fit the model of config.json") from None
        return model
