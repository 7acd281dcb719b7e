"""A table of a report, whatever it is written as."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Cell", "Table", "figure", "number", "words"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Attributes:
        text: what a reader sees, but for the interval.
        value: the figure behind it, in full; None for words, and where there is none.
        low: lower end of its 95% interval.
        high: upper end of it.
        n: examples that it rests on, where that is not the row's.
        strong: whether it stands out.
        why: why there is no figure; or more on it.
        spread: standard deviation over the runs that the figure is the mean of, in place of an
            interval.
    """

    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    strong: bool = False
    why: str = ""
    spread: float | None = None

    @property
    def interval(self) -> str:
        """The interval or standard deviation, as a reader sees it; empty without one."""
        if self.spread is not None:
            return f"SD {self.spread:.2f}"
        if self.low is None or self.high is None:
            return ""
        signed = self.text[:1] in "+−"
        form = "{:+.1f}–{:+.1f}" if signed else "{:.1f}–{:.1f}"
        return form.format(self.low, self.high).replace("-", "−").replace("–", " – ")


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        key: names it in files: lower-case letters and hyphens.
        title: for a reader.
        columns: their names; the first is that of the rows.
        rows: as many cells each.
        notes: what a reader must know of it.
    """

    key: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Return the table ready for JSON, figures in full."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [[_plain(cell) for cell in row] for row in self.rows],
            "notes": list(self.notes),
        }


def words(text: str, *, strong: bool = False, why: str = "") -> Cell:
    """Return a cell that holds words."""
    return Cell(text, strong=strong, why=why)


def number(value: float | None, places: int = 1, *, unit: str = "", why: str = "") -> Cell:
    """Return a cell that holds a number; a dash where there is none.

    Example:
        >>> number(0.914, 2).text, number(None).text
        ('0.91', '–')
    """
    return Cell("–" if value is None else f"{value:,.{places}f}{unit}", value, why=why)


def figure(
    value: float | None,
    interval: Sequence[float] | None = None,
    n: int | None = None,
    *,
    signed: bool = False,
    why: str = "",
) -> Cell:
    """Return a cell that holds a score with its interval.

    Args:
        value: the score; None where there is none.
        interval: low and high end of its 95% interval.
        n: examples that it rests on.
        signed: show a plus before what is above 0, as of differences.
        why: why there is no score; or more on it.

    Example:
        >>> figure(-1.25, (-2.0, 0.5), signed=True).text
        '−1.2'
    """
    if value is None:
        return Cell("–", n=n, why=why or "unscored")
    low, high = interval if interval is not None else (None, None)
    text = (f"{value:+.1f}" if signed else f"{value:.1f}").replace("-", "−")
    return Cell(text, value, low, high, n, why=why)


def _plain(cell: Cell) -> object:
    if cell.value is None and cell.n is None and not cell.why:
        return cell.text
    row: dict[str, object] = {"value": cell.value}
    if cell.low is not None:
        row["interval"] = [cell.low, cell.high]
    if cell.spread is not None:
        row["sd"] = cell.spread
    if cell.n is not None:
        row["n"] = cell.n
    if cell.why:
        row["note"] = cell.why
    return row
