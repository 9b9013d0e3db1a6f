"""What all recipes share: reading and writing settings, and the small records that they return.

A run is described by one frozen dataclass, the recipe's ``Settings``. Its fields are the flags of
``structnet train``, its docstring is their help, and a field that is a dataclass is a group of
flags, which the help calls by the class's ``TITLE``. Nothing here imports torch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from reprlib import Repr
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from structnet.checks import check_integer

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from matplotlib.axes import Axes

ROWS = re.compile(r"[\n,;\t]")  # a text with one of these is a row, not the number of an example
S = TypeVar("S", bound="DataclassInstance")
Say = Callable[[str], None]  # prints a line for the user
Pictures = dict[str, Callable[[], "Axes"]]  # file name -> function that draws it
Values = dict[str, Any]  # settings as in JSON: name -> value, without groups
SHORT = Repr()  # shortens inputs in errors, which may be whole files
SHORT.maxstring = 200


@dataclass(frozen=True)
class Place:
    """where to compute, and where to find the data; these may change when a run is resumed

    Args:
        data_dir: folder of published files, searched before the cache; and of a run's own file of
            data, if that is not where it was
        device: torch device: cpu, cuda, ...
        threads: number of CPU threads (default: one, unless the matrix products are so large that
            more are faster)
    """

    TITLE: ClassVar[str] = "runtime"

    data_dir: Path | None = None
    device: str = "cpu"
    threads: int | None = None

    def __post_init__(self) -> None:
        check_integer("threads", self.threads, 1, optional=True)


@dataclass(frozen=True)
class Ask:
    """What ``evaluate`` and ``predict`` accept.

    Attributes:
        TO_PREDICT: names of the flags that ``evaluate`` refuses.
    """

    TO_PREDICT: ClassVar[Sequence[str]] = ()

    place: Place = field(default_factory=Place)


@dataclass(frozen=True)
class AskOfWords(Ask):
    """What ``evaluate`` and ``predict`` accept for a model of words, or of labels.

    Args:
        top: number of words, or labels, to print, the likeliest first
    """

    TO_PREDICT: ClassVar[Sequence[str]] = ("top",)

    top: int = 5

    def __post_init__(self) -> None:
        check_integer("top", self.top, 1)


class Probabilities(NamedTuple):
    """The probabilities of classes, computed where a file or Python asks for them.

    Args:
        names: names of the classes of all answers, in the order of their columns.
        of: function that gives those of one answer.
    """

    names: Sequence[str]
    of: Callable[[], Mapping[str, float]]


class Answer(NamedTuple):
    """The answer of a model for one example.

    Args:
        words: the answer in words, one or more lines.
        values: the answer for JSON.
        shares: probability of each class, for files; None if there are none.
    """

    words: str
    values: dict[str, Any]
    shares: Probabilities | None = None


class Outcome(NamedTuple):
    """The outcome of a training, besides the model in the run's folder.

    Args:
        seconds: time of training and validation, including what a resumed run had taken before.
        details: other facts about the model and its training, for ``result.json``.
    """

    seconds: float
    details: dict[str, Any]


def result_of(
    model: str,
    data: Any,
    settings: Any,
    sizes: Mapping[str, int],
    tested: Mapping[str, Any],
    seconds: float,
) -> dict[str, Any]:
    """A result in its one form, for ``train``, ``evaluate`` and the other models of a table.

    Args:
        model: name of the model.
        data: name of the data set or file, or another description of the data for ``config.json``.
        settings: settings, or their values.
        sizes: number of examples in each part.
        tested: metric -> value.
        seconds: time that it took.
    """
    return {
        "model": model,
        "data": data,
        "sizes": dict(sizes),
        "test": tested,
        "settings": values_of(settings) if is_dataclass(settings) else settings,
        "seconds": round(seconds, 1),
    }


def values_of(settings: Any) -> Values:
    """Settings as in ``config.json``, where the fields of groups are beside the others.

    Example:
        >>> values_of(AskOfWords())
        {'data_dir': None, 'device': 'cpu', 'threads': None, 'top': 5}
    """
    values: Values = {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        values |= values_of(value) if is_dataclass(value) else {each.name: _written(value)}
    return values


def _written(value: Any) -> Any:
    if isinstance(value, Path):  # absolute, as the run may be resumed from another folder
        return str(value.resolve())
    return ",".join(map(str, value)) if isinstance(value, tuple) else value


def settings_from(cls: type[S], values: Mapping[str, Any]) -> S:
    """The settings that :func:`values_of` wrote; missing fields have their defaults.

    Example:
        >>> settings_from(AskOfWords, {"top": 7, "device": "cuda"})
        AskOfWords(place=Place(data_dir=None, device='cuda', threads=None), top=7)
    """
    arguments: Values = {}
    hints: dict[str, Any] = get_type_hints(cls)
    for each in fields(cls):
        hint = hints[each.name]
        if is_dataclass(hint):
            arguments[each.name] = settings_from(hint, values)  # type: ignore[arg-type]  # a class
        elif each.name in values:
            arguments[each.name] = _read(values[each.name], hint)
    return cls(**arguments)


def _read(value: Any, hint: Any) -> Any:
    kinds = (hint, *get_args(hint))  # the type itself, or all types of a union such as int | None
    if isinstance(value, str) and Path in kinds:
        return Path(value)
    parts = [get_args(kind)[0] for kind in kinds if is_several(kind)]
    if isinstance(value, str) and parts:
        return tuple(parts[0](part.strip()) for part in value.split(","))
    return value


def is_several(kind: Any) -> bool:
    """Whether values of a type are written with commas between them, as flags and in JSON.

    Example:
        >>> is_several(tuple[int, ...]), is_several(str)
        (True, False)
    """
    return get_origin(kind) in (tuple, Sequence)


def filled(group: S, known: Mapping[str, Any]) -> S:
    """A group of settings, with known values in place of None.

    Example:
        >>> filled(Place(device="cuda"), {"threads": 2, "device": "cpu", "epochs": 3})
        Place(data_dir=None, device='cuda', threads=2)
    """
    return replace(group, **{n: v for n, v in known.items() if getattr(group, n, 0) is None})


def is_file(data: str, files: Sequence[str]) -> bool:
    """Whether it is the path of a user's file, and not the name of a data set.

    Example:
        >>> is_file("houses.CSV", (".csv", ".tsv")), is_file("mnist", (".csv",))
        (True, False)
    """
    return data.lower().endswith(tuple(files))


def one_file(texts: Sequence[str], files: Sequence[str]) -> str | None:
    """The file to predict for, or rows that were given instead, a row on each line.

    None if numbers of examples were given.

    Raises:
        ValueError: there is more than one file, or a file, rows and numbers are mixed.

    Example:
        >>> one_file(["1,2", "3,4"], (".csv",)), one_file(["17", "18"], (".csv",))
        ('1,2\\n3,4', None)
    """
    named = [is_file(text, files) for text in texts]
    rows = [not name and bool(ROWS.search(text)) for text, name in zip(texts, named, strict=True)]
    if len(texts) > 1 and any(named + rows) and not all(rows):
        typed = SHORT.repr(" ".join(texts))
        raise ValueError(f"expected one file, or rows, or numbers of examples; got {typed}")
    return "\n".join(texts) if any(named + rows) else None


def example_number(text: str, size: int, files: str = "") -> int:
    """The number of a test example, checked.

    Args:
        text: number, as the user typed it.
        size: number of test examples.
        files: other inputs that are expected, for the error.

    Raises:
        ValueError: there is no such example.

    Example:
        >>> example_number("9", 9, "FILE.csv, or ")
        Traceback (most recent call last):
            ...
        ValueError: expected FILE.csv, or numbers of test examples, 0 to 8; got '9'
    """
    if not (text.isascii() and text.isdigit() and int(text) < size):
        expected = f"{files}numbers of test examples, 0 to {size - 1}"
        raise ValueError(f"expected {expected}; got {SHORT.repr(text)}")
    return int(text)


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """The end of an error about an unknown word: the most similar known word, if any.

    Example:
        >>> did_you_mean("listop", ["listops", "lrt"]), did_you_mean("chess", ["listops"])
        ("; did you mean 'listops'?", '')
    """
    near = get_close_matches(word.lower(), known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def parts(text: str | None, known: Sequence[str], flag: str) -> tuple[str, ...] | None:
    """The names in the value of a flag, separated by commas; None if the flag was not given.

    Raises:
        ValueError: a name is unknown.

    Example:
        >>> parts("sum, cp", ["sum", "full", "cp"], "--only")
        ('sum', 'cp')
    """
    if text is None:
        return None
    chosen = [name.strip() for name in text.split(",")]
    for name in (name for name in chosen if name not in known):
        expected = f"{flag} must name some of {', '.join(known)}"
        raise ValueError(f"{expected}; got {name!r}{did_you_mean(name, known)}")
    return tuple(dict.fromkeys(chosen))
