"""A table of a paper with our figures beside the paper's: the runs that it needs, and its files.

Figures that the papers give in percent are shares from 0 to 1 here and in the JSON; the text and
the picture show them in percent.
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

Members = Mapping[Any, "Sequence[Run]"]  # model compared -> its runs, one per seed


class Member(NamedTuple):
    """One run of a table.

    Args:
        key: model that is compared; runs with the same key differ in their seeds.
        folder: name of the run's folder.
        settings: settings of the run.
        train: function that trains the model and returns its result; None to train by the table's
            recipe.
        after: folder of an earlier run of the same table that is also passed to ``train``; None if
            it needs none.
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
        data: names of the data sets for which it can be made; ``--data`` chooses one of several.
        name: function from the user's choice to the name of the table's files, without the ending.
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
        name: name of the model.
        paper: quantity -> the paper's figure; None or missing if the paper has none.
        ours: quantity -> our figures, one per seed.
        cells: other columns, name -> text.
    """

    name: str
    paper: Mapping[str, float | None]
    ours: Mapping[str, Sequence[float]]
    cells: Mapping[str, str] = {}


@dataclass(frozen=True)
class Table:
    """The content of a table.

    Attributes:
        title: title.
        quantities: columns, each with the paper's figures and ours.
        rows: the models.
        notes: sentences that are needed to read the table.
        shares: quantities that are shown in percent.
        pictures: file name -> function that draws it, besides the bars of the table itself.
    """

    title: str
    quantities: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str]
    shares: Sequence[str] = ()
    pictures: Mapping[str, Callable[[], Axes]] = field(default_factory=dict)

    def markdown(self) -> str:
        """The table and its notes in Markdown, with a dash for a missing figure.

        A quantity for which the paper has no figures has one column.

        Example:
            >>> row = Row("tree", {"error": 0.0162}, {"error": [0.015, 0.017]})
            >>> print(Table("Errors", ["error"], [row], ["Two seeds."], ["error"]).markdown())
            # Errors
            <BLANKLINE>
            | | error, %: paper | here |
            |---|---|---|
            | tree | 1.62 | 1.60 ± 0.14 |
            <BLANKLINE>
            - Two seeds.
            <BLANKLINE>
        """
        columns = {
            name: any(row.paper.get(name) is not None for row in self.rows)
            for name in self.quantities
        }
        heads = [self._shown(name) + ": paper | here" * columns[name] for name in self.quantities]
        lines = [f"| | {' | '.join([*self.rows[0].cells, *heads])} |"]
        lines.append("|---" * (lines[0].count("|") - 1) + "|")
        for row in self.rows:
            cells = [row.name, *row.cells.values()]
            for name in self.quantities:
                paper, ours = self._bar(row, name)
                cells += [figure(paper)] * columns[name] + [mean_of(ours)]
            lines.append(f"| {' | '.join(cells)} |")
        notes = "\n".join(f"- {note}" for note in self.notes)
        return f"# {self.title}\n\n" + "\n".join(lines) + f"\n\n{notes}\n"

    def values(self) -> dict[str, Any]:
        """The table for JSON: row -> quantity -> the paper's figure, our mean, each seed's."""
        rows: dict[str, dict[str, Any]] = {row.name: dict(row.cells) for row in self.rows}
        for row in self.rows:
            for name in self.quantities:
                ours = over_seeds(row.ours.get(name, ()))
                rows[row.name][name] = {"paper": row.paper.get(name), **ours}
        return {"table": self.title, "rows": rows, "notes": list(self.notes)}

    def draw(self) -> Axes:
        """Draws the quantities side by side, as bars."""
        from structnet.plot.bars import Bar, plot_bars

        bars = {
            self._shown(name): {row.name: Bar(*self._bar(row, name)) for row in self.rows}
            for name in self.quantities
        }
        return plot_bars(bars, self.title)[0]

    def _bar(self, row: Row, name: str) -> tuple[float | None, list[float]]:
        """The paper's figure of one quantity and ours, in percent if they are shares."""
        paper, ours = row.paper.get(name), list(row.ours.get(name, ()))
        if name not in self.shares:
            return paper, ours
        return None if paper is None else 100 * paper, [100 * value for value in ours]

    def _shown(self, name: str) -> str:
        return f"{name}, %" if name in self.shares else name


def written(table: Table, path: Path) -> dict[str, Any]:
    """Writes a table as ``.md``, ``.json`` and ``.png``, and returns the content of the JSON.

    Args:
        table: the table.
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
        result: Any = run.ended
        for part in source.split("."):
            result = result[part]
        return result

    return {name: [value(run, source) for run in runs] for name, source in sources.items()}


def over_seeds(values: Sequence[float]) -> dict[str, Any]:
    """The mean and, if there are several values, their sample standard deviation.

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
    """The mean over seeds and the standard deviation, as the table shows them.

    Example:
        >>> mean_of([1.0, 3.0]), mean_of([1.0])
        ('2.00 ± 1.41', '1.00')
    """
    summary = over_seeds(values)
    more = "" if summary["deviation"] is None else f" ± {figure(summary['deviation'])}"
    return figure(summary["ours"]) + more


def figure(value: float | None) -> str:
    """A figure as the table shows it.

    Example:
        >>> figure(1.2345), figure(12345.6), figure(None)
        ('1.23', '12,346', '–')
    """
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) and value < 1000 else f"{value:,.0f}"
