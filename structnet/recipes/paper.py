"""A table of a paper beside ours: which runs it needs, and what is written of them.

Figures that the papers give in percent are shares of 1 here and in the JSON; the text and the
picture have them in percent.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from structnet.recipes.run import Run

Members = Mapping[Any, "Sequence[Run]"]  # what is compared -> its runs, one a seed


class Member(NamedTuple):
    """One run of a table.

    Args:
        key: model that is compared: all runs of one key are of different seeds.
        folder: name of its folder.
        settings: settings of the run.
        train: function that trains it and gives its result; None for what follows the table's
            recipe.
        after: folder of a run of the same table, trained before, that ``train`` is given as well;
            None if it needs none.
    """

    key: Any
    folder: str
    settings: Any
    train: Callable[..., dict[str, Any]] | None = None
    after: str | None = None


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper.

    Attributes:
        data: names of the data sets that it can be about; of several, ``--data`` says which.
        name: function from the user's choice to the name of its files, without the ending.
        members: function from the user's choice and a seed to the runs with that seed.
        make: function from the user's choice and the trained runs to the table.
    """

    data: Sequence[str]
    name: Callable[[Any], str]
    members: Callable[[Any, int], Sequence[Member]]
    make: Callable[[Any, Members], Table]


class Row(NamedTuple):
    """One model in a table.

    Args:
        name: its name.
        paper: quantity -> the paper's figure; None, or not there, where it has none.
        ours: quantity -> our figures, one a seed.
        cells: other facts in words, column -> text.
    """

    name: str
    paper: Mapping[str, float | None]
    ours: Mapping[str, Sequence[float]]
    cells: Mapping[str, str] = {}


@dataclass(frozen=True)
class Table:
    """What a table says.

    Attributes:
        title: title.
        quantities: its columns, the paper's beside ours.
        rows: the models.
        notes: sentences that one has to know to read it.
        shares: the quantities that are shown in percent.
        pictures: file name -> what draws it, besides the bars of the table itself.
    """

    title: str
    quantities: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str]
    shares: Sequence[str] = ()
    pictures: Mapping[str, Callable[[], Axes]] = field(default_factory=dict)

    def markdown(self) -> str:
        """The table with what one has to know to read it; a dash where there is no figure.

        A quantity of which the paper says nothing has one column.

        Example:
            >>> row = Row("tree", {"error": 0.0162}, {"error": [0.015, 0.017]})
            >>> print(Table("Errors", ["error"], [row], ["Two seeds."], ["error"]).markdown())
            # Errors
            <BLANKLINE>
            | | error, %: paper | ours |
            |---|---|---|
            | tree | 1.62 | 1.60 ± 0.14 |
            <BLANKLINE>
            - Two seeds.
            <BLANKLINE>
        """
        told = {
            name: any(row.paper.get(name) is not None for row in self.rows)
            for name in self.quantities
        }
        heads = [self._shown(name) + ": paper | ours" * told[name] for name in self.quantities]
        lines = [f"| | {' | '.join([*self.rows[0].cells, *heads])} |"]
        lines.append("|---" * (lines[0].count("|") - 1) + "|")
        for row in self.rows:
            cells = [row.name, *row.cells.values()]
            for name in self.quantities:
                paper, ours = self._bar(row, name)
                cells += [figure(paper)] * told[name] + [mean_of(ours)]
            lines.append(f"| {' | '.join(cells)} |")
        notes = "\n".join(f"- {note}" for note in self.notes)
        return f"# {self.title}\n\n" + "\n".join(lines) + f"\n\n{notes}\n"

    def values(self) -> dict[str, Any]:
        """The same for JSON: row -> quantity -> the paper's figure, our mean, and each seed's."""
        rows: dict[str, dict[str, Any]] = {row.name: dict(row.cells) for row in self.rows}
        for row in self.rows:
            for name in self.quantities:
                ours = over_seeds(row.ours.get(name, ()))
                rows[row.name][name] = {"paper": row.paper.get(name), **ours}
        return {"table": self.title, "rows": rows, "notes": list(self.notes)}

    def draw(self) -> Axes:
        """The quantities side by side, as bars."""
        from structnet.plot.bars import Bar, plot_bars

        found = {
            self._shown(name): {row.name: Bar(*self._bar(row, name)) for row in self.rows}
            for name in self.quantities
        }
        return plot_bars(found, self.title)[0]

    def _bar(self, row: Row, name: str) -> tuple[float | None, list[float]]:
        """The paper's figure of one quantity and ours, as they are shown."""
        paper, ours = row.paper.get(name), list(row.ours.get(name, ()))
        if name not in self.shares:
            return paper, ours
        return None if paper is None else 100 * paper, [100 * value for value in ours]

    def _shown(self, name: str) -> str:
        return f"{name}, %" if name in self.shares else name


def written(table: Table, path: Path) -> dict[str, Any]:
    """Writes a table as ``.md``, ``.json`` and ``.png``, and gives what is in the JSON.

    Args:
        table: content.
        path: path of the files, without the ending.
    """
    from structnet.recipes.run import Run, save

    folder = Run(path.parent)
    folder.write_text(path.with_suffix(".md").name, table.markdown())
    drawn = {path.with_suffix(".png").name: table.draw, **table.pictures}
    pictures = [str(save(draw(), path.parent / name)) for name, draw in drawn.items()]
    result = {**table.values(), "folder": str(path.parent), "pictures": pictures}
    folder.write(path.with_suffix(".json").name, result)
    return result


def values_in(runs: Sequence[Run], sources: Mapping[str, str]) -> dict[str, list[float]]:
    """Quantity -> its value in each run's result, found by a dotted name."""

    def value(run: Run, source: str) -> Any:
        found: Any = run.ended
        for part in source.split("."):
            found = found[part]
        return found

    return {name: [value(run, source) for run in runs] for name, source in sources.items()}


def over_seeds(values: Sequence[float]) -> dict[str, Any]:
    """The mean and, of several values, the standard deviation of the sample.

    Example:
        >>> over_seeds([1.0, 3.0])["ours"], over_seeds([1.0])["deviation"]
        (2.0, None)
    """
    return {
        "ours": statistics.mean(values) if values else None,
        "deviation": statistics.stdev(values) if len(values) > 1 else None,
        "seeds": list(values),
    }


def mean_of(values: Sequence[float]) -> str:
    """The mean of the seeds and their deviation as the table has them.

    Example:
        >>> mean_of([1.0, 3.0]), mean_of([1.0])
        ('2.00 ± 1.41', '1.00')
    """
    found = over_seeds(values)
    more = "" if found["deviation"] is None else f" ± {figure(found['deviation'])}"
    return figure(found["ours"]) + more


def figure(value: float | None) -> str:
    """A figure as the table has it.

    Example:
        >>> figure(1.2345), figure(12345.6), figure(None)
        ('1.23', '12,346', '–')
    """
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) and value < 1000 else f"{value:,.0f}"
