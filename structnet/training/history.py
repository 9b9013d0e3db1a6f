"""The records of a training run, one per epoch, and the choice of the best epoch."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from structnet.checks import wrong
from structnet.training.files import naming, replacing

# Ends of names that leave no doubt. "score" does: of Brier's, the lowest is best.
LOWER_IS_BETTER = ("loss", "error", "perplexity", "mse", "mae", "nll")
HIGHER_IS_BETTER = ("accuracy", "precision", "recall", "f1", "auc", "r2", "likelihood")


class History:
    """The records of a training run, one dictionary per epoch, stored on disk as JSON lines.

    ``fit`` writes these fields: ``epoch`` (from 1), ``loss`` (mean over the training examples as
    they were trained on), ``validation_loss`` and ``validation_<metric>`` if there are validation
    data, ``best`` (whether this epoch was the best so far), ``learning_rate`` (at the epoch's first
    step), ``seconds`` (including validation) and ``examples_per_second`` (of training alone).

    Args:
        records: records to start with, in order.

    Example:
        >>> history = History([{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.5}])
        >>> history["loss"]
        [2.0, 1.5]
        >>> history[-1]
        {'epoch': 2, 'loss': 1.5}
    """

    def __init__(self, records: Iterable[Mapping] = ()):
        self.records: list[dict] = [dict(record) for record in records]

    def append(self, record: Mapping) -> None:
        """Adds the record of one more epoch."""
        self.records.append(dict(record))

    @property
    def best(self) -> dict | None:
        """The record of the epoch whose weights ``fit`` leaves in the model.

        This is the best epoch on the validation data, or the last epoch without validation data. It
        is None if no epoch was the best: before the first epoch; if none was better than the start
        that ``keep_start`` keeps; or if none had a finite value, when the last weights stay.
        """
        # Without validation data no record has the field, and the last one counts.
        judged = any("best" in record for record in self.records)
        kept = [record for record in self.records if record.get("best") or not judged]
        return kept[-1] if kept else None

    @property
    def epochs_since_best(self) -> int:
        """The number of epochs since the last best one; all epochs if none was ever the best."""
        for passed, record in enumerate(reversed(self.records)):
            if record.get("best"):
                return passed
        return len(self.records)

    def save(self, path: str | Path) -> None:
        """Writes one line of JSON per record, replacing the file in one step."""
        with replacing(path) as file:
            file.write("".join(map(_line, self.records)).encode())

    def append_last_to(self, path: str | Path) -> None:
        """Adds the last record to a file that holds the others."""
        with naming(path), Path(path).open("a", encoding="utf-8") as file:
            file.write(_line(self.records[-1]))

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Reads a file written by ``save``, without a last line that was cut short.

        Raises:
            ValueError: another line is not a JSON object.
        """
        # Undecodable bytes can only be the torn end of a line, which the JSON reader then refuses.
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
        history = cls()
        for number, line in enumerate(lines, 1):
            try:
                history.append(json.loads(line))
            except (ValueError, TypeError):
                if number < len(lines):
                    raise ValueError(
                        f"{path}, line {number}: expected one JSON object per line, got "
                        f"{line[:60]!r}"
                    ) from None
        return history

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[dict]:
        return iter(self.records)

    def __getitem__(self, key: int | str) -> dict | list:
        """The record at a place, or the values of one field over all epochs.

        Raises:
            KeyError: no record has the field.
            IndexError: there is no record at that place.
        """
        if not isinstance(key, str):
            return self.records[key]
        if self.records and not any(key in record for record in self.records):
            fields = ", ".join(self.records[-1])
            raise KeyError(f"no record has a field {key!r}; the fields are {fields}")
        return [record.get(key) for record in self.records]

    def __repr__(self) -> str:
        return f"<History of {len(self)} epochs, best {self.best}>"


def _line(record: Mapping) -> str:
    return json.dumps(record) + "\n"


@dataclass(frozen=True)
class Monitor:
    """The validation value that decides which epoch is best, and its direction.

    Of two epochs with the same value the one with the lower loss is better.

    Args:
        name: ``"loss"`` or the name of a metric.
        mode: ``"min"`` if lower is better, ``"max"`` if higher is; None where the name tells:
            ``"min"`` for names that end in loss, error, perplexity, mse, mae or nll, ``"max"`` for
            accuracy, precision, recall, f1, auc, r2 or likelihood.

    Raises:
        ValueError: the mode is none of these, or None though the name does not tell.

    Example:
        >>> best = {"accuracy": 0.8, "loss": 0.5}
        >>> Monitor("accuracy").improves({"accuracy": 0.9, "loss": 0.6}, best)
        True
        >>> Monitor("accuracy").improves({"accuracy": 0.8, "loss": 0.4}, best)
        True
        >>> Monitor("loss").improves({"accuracy": 0.9, "loss": 0.6}, best)
        False
    """

    name: str = "loss"
    mode: str | None = None

    def __post_init__(self) -> None:
        if self.mode not in (None, "min", "max"):
            raise wrong("mode", "'min', 'max' or None", self.mode, "fit")
        is_clear = self.name.lower().endswith(LOWER_IS_BETTER + HIGHER_IS_BETTER)
        if self.mode is None and not is_clear:
            expected = f"'min' or 'max', as the name {self.name!r} does not tell which is better"
            raise wrong("mode", expected, self.mode, "fit")

    @property
    def lower(self) -> bool:
        """Whether a lower value is better."""
        if self.mode is None:
            return self.name.lower().endswith(LOWER_IS_BETTER)
        return self.mode == "min"

    def improves(self, scores: Mapping[str, float], best: Mapping[str, float] | None) -> bool:
        """Whether the scores are better than the best so far; a value must be finite for that."""
        value = scores[self.name]
        if not math.isfinite(value):
            return False
        if best is None:
            return True
        if value == best[self.name]:
            return math.isfinite(scores["loss"]) and not scores["loss"] >= best["loss"]
        return value < best[self.name] if self.lower else value > best[self.name]
