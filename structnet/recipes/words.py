"""Results in words, as the commands print them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from structnet.datasets.tree_file_formats import Place
from structnet.routing.words import aligned, in_digits, percent

MOST_CLASSES = 12  # of a confusion matrix that is printed whole
MOST_MISTAKES = 10  # printed, as pairs of classes or one by one


def counted(number: int, one: str, several: str | None = None) -> str:
    """A number with its noun; the plural is the singular with an s by default.

    Example:
        >>> counted(1, "thread"), counted(1000, "leaf", "leaves")
        ('1 thread', '1,000 leaves')
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def outputs(number: int, classes: bool) -> str:
    """The number of classes or targets to predict, in words.

    Example:
        >>> outputs(10, classes=True), outputs(1, classes=False)
        ('10 classes', '1 target')
    """
    return counted(number, "class", "classes") if classes else counted(number, "target")


def in_words(entry: Mapping[str, Any]) -> str:
    """A prediction, or the true class or values, as one line.

    Example:
        >>> in_words({"class": "oak", "probability": 0.5})
        'class oak, 50.0 %'
        >>> in_words({"values": {"price": 390364.9, "rooms": 2.0}})
        'price 390365, rooms 2'
    """
    if "values" in entry:
        return ", ".join(f"{name} {in_digits(value, 6)}" for name, value in entry["values"].items())
    sure = f", {percent(entry['probability'], 1)}" if "probability" in entry else ""
    return f"class {entry['class']}{sure}"


def metrics(tested: Mapping[str, Any]) -> Iterator[str]:
    """The results of a test, one metric per line, then confusions, mistakes and faults.

    Example:
        >>> confusion = {"classes": ["no", "yes"], "counts": [[20, 3], [0, 17]]}
        >>> print(*metrics({"accuracy": 0.925, "confusion": confusion}), sep="\\n")
        accuracy: 0.925
        confusion (a row a true class, a column a predicted one):
               no  yes
           no  20    3
          yes   0   17
    """
    for name, value in tested.items():
        if isinstance(value, float):
            yield f"{name}: {in_digits(value)}"
    if "confusion" in tested:
        yield from _confusion(**tested["confusion"])
    for each in tested.get("mistakes", [])[:MOST_MISTAKES]:
        yield f"mistake: {place_of(each)}: {each['true']} taken for {each['predicted']}"
    if "unknown_classes" in tested:
        yield f"classes that were not trained on: {', '.join(tested['unknown_classes'])}"
    if "unreadable" in tested:
        first, number = tested["unreadable"][0], counted(len(tested["unreadable"]), "example")
        yield (
            f"left out: {number} that cannot be read; the first: {place_of(first)}, "
            f"{first['fault']}"
        )


def place_of(entry: Mapping[str, Any]) -> Place:
    """The place of an example that has a ``file``, a ``line`` or both."""
    return Place(entry.get("file", ""), entry.get("line", 0))


def _confusion(classes: Sequence[str], counts: Sequence[Sequence[int]]) -> Iterator[str]:
    if len(classes) <= MOST_CLASSES:
        yield "confusion (a row a true class, a column a predicted one):"
        rows = [
            ["", *classes],
            *([name, *map(str, row)] for name, row in zip(classes, counts, strict=True)),
        ]
        yield from (f"  {line}" for line in aligned(rows))
        return
    mistakes = [
        (number, true, guess)
        for true, row in zip(classes, counts, strict=True)
        for guess, number in zip(classes, row, strict=True)
        if number and true != guess
    ]
    mistakes.sort(key=lambda each: -each[0])
    yield f"the most frequent confusions of {len(classes)} classes:"
    for number, true, guess in mistakes[:MOST_MISTAKES]:
        yield f"  {true} taken for {guess}: {number:,}"
