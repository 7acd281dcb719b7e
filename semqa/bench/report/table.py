"""Report tables, and their output as Markdown, LaTeX and CSV.

Run names and notes are untrusted; each format escapes them.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from semqa.quotes.render.common import safe_text


@dataclass(frozen=True, slots=True)
class Cell:
    """One table cell.

    Attributes:
        value: unrounded figure; None for text and missing figures.
        n: number of examples, if it differs from that of the row.
        why: reason why the figure is missing, or a remark on it.
        spread: standard deviation over the averaged runs, instead of an interval.
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
        """The interval or standard deviation as text, or an empty string."""
        if self.spread is not None:
            return f"SD {self.spread:.2f}"
        if self.low is None or self.high is None:
            return ""
        signed = self.text[:1] in "+−"
        form = "{:+.1f}–{:+.1f}" if signed else "{:.1f}–{:.1f}"
        return form.format(self.low, self.high).replace("-", "−").replace("–", " – ")

    def to_json(self) -> object:
        """Return the text of a text cell, otherwise the unrounded figures."""
        if self.value is None and self.n is None and not self.why:
            return self.text
        row: dict[str, object] = {"value": self.value}
        if self.low is not None:
            row["interval"] = [self.low, self.high]
        optional = {"sd": self.spread, "n": self.n, "note": self.why or None}
        return row | {key: value for key, value in optional.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        key: name used in files, of lower-case letters and hyphens.
    """

    key: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the table for JSON, with unrounded figures."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [[cell.to_json() for cell in row] for row in self.rows],
            "notes": list(self.notes),
        }


def number(value: float | None, places: int = 1, *, unit: str = "") -> Cell:
    """Return a cell with a number, or a dash for None.

    Example:
        >>> number(0.914, 2).text, number(None).text
        ('0.91', '–')
    """
    return Cell("–" if value is None else f"{value:,.{places}f}{unit}", value)


def figure(
    value: float | None,
    interval: Sequence[float] | None = None,
    n: int | None = None,
    *,
    signed: bool = False,
    why: str = "",
) -> Cell:
    """Return a cell with a score and its interval.

    Args:
        why: reason why the score is undefined, or a remark on it.

    Example:
        >>> figure(-1.25, (-2.0, 0.5), signed=True).text
        '−1.2'
    """
    if value is None:
        return Cell("–", n=n, why=why or "unscored")
    low, high = interval if interval is not None else (None, None)
    text = (f"{value:+.1f}" if signed else f"{value:.1f}").replace("-", "−")
    return Cell(text, value, low, high, n, why=why)


def to_markdown(tables: Sequence[Table], notes: Sequence[str] = ()) -> str:
    """Return tables as a document in GitHub Flavored Markdown."""

    def shown(cell: Cell) -> str:
        text = _md(cell.text)
        text = f"**{text}**" if cell.strong and text else text
        return f"{text} ({cell.interval})" if cell.interval else text

    parts = ["# QuoteSum"]
    parts += ["\n".join(f"- {_md(note)}" for note in notes)] if notes else []
    for table in tables:
        parts.append(f"## {_md(table.title)}")
        head = f"| {' | '.join(map(_md, table.columns))} |"
        rule = "|---|" + "---:|" * (len(table.columns) - 1)
        rows = [f"| {' | '.join(map(shown, row))} |" for row in table.rows]
        parts.append("\n".join([head, rule, *rows]))
        parts += [_md(note) for note in table.notes]
    return "\n\n".join(parts) + "\n"


def to_latex(tables: Sequence[Table]) -> str:
    """Return tables as LaTeX ``table`` environments, for the booktabs package."""

    def shown(cell: Cell) -> str:
        text = _tex(cell.text)
        text = rf"\textbf{{{text}}}" if cell.strong and text else text
        return rf"{text} {{\scriptsize [{_tex(cell.interval)}]}}" if cell.interval else text

    parts = ["% needs \\usepackage{booktabs}"]
    for table in tables:
        columns = "l" + "r" * (len(table.columns) - 1)
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(map(_tex, table.columns)) + r" \\",
            r"\midrule",
            *(" & ".join(map(shown, row)) + r" \\" for row in table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{_tex(' '.join([table.title + '.', *table.notes]))}}}",
            rf"\label{{tab:{table.key}}}",
            r"\end{table}",
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def to_csv(table: Table) -> str:
    """Return a table as CSV with unrounded figures; intervals, deviations and n are extra columns.

    Text that a spreadsheet would treat as a formula is prefixed with an apostrophe.
    """
    extra = [
        [
            name
            for name in ("low", "high", "spread", "n")
            if any(getattr(cell, name) is not None for cell in column)
        ]
        for column in (zip(*table.rows, strict=True) if table.rows else ([] for _ in table.columns))
    ]
    stream = io.StringIO()
    out = csv.writer(stream, lineterminator="\n")
    header: list[str] = []
    for name, more in zip(table.columns, extra, strict=True):
        header.append(_csv(name))
        header += [_csv(f"{name} {'SD' if each == 'spread' else each}") for each in more]
    out.writerow(header)
    for row in table.rows:
        cells: list[str] = []
        for cell, more in zip(row, extra, strict=True):
            text = "" if cell.text == "–" else _csv(cell.text)
            cells.append(text if cell.value is None else repr(cell.value))
            numbers = [getattr(cell, each) for each in more]
            cells += ["" if each is None else repr(each) for each in numbers]
        out.writerow(cells)
    return stream.getvalue()


def _csv(text: str) -> str:
    text = safe_text(text).replace("\n", " ")
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _md(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~&!])", r"\\\1", " ".join(safe_text(text).split()))


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",
        "]": "{]}",
        "*": "{*}",
        "–": "--",
        "−": "$-$",
        "Δ": r"$\Delta$",
        "√": r"$\surd$",
        "·": r"$\cdot$",
        **{character: rf"\{character}" for character in "&%$#_{}"},
    }
)


def _tex(text: str) -> str:
    return " ".join(safe_text(text).split()).translate(_LATEX)
