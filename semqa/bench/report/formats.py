"""Tables as Markdown, LaTeX and CSV. What runs are called is anybody's text, and is escaped."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from semqa.quotes.render.common import safe_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.bench.report.table import Cell, Table

__all__ = ["to_csv", "to_latex", "to_markdown"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
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
}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_markdown(tables: Sequence[Table], title: str, notes: Sequence[str] = ()) -> str:
    """Return tables as a Markdown document of GitHub's flavour."""
    parts = [f"# {_md(title)}"]
    parts += ["\n".join(f"- {_md(note)}" for note in notes)] if notes else []
    for table in tables:
        parts.append(f"## {_md(table.title)}")
        head = f"| {' | '.join(map(_md, table.columns))} |"
        rule = "|---|" + "---:|" * (len(table.columns) - 1)
        rows = [f"| {' | '.join(map(_md_cell, row))} |" for row in table.rows]
        parts.append("\n".join([head, rule, *rows]))
        parts += [_md(note) for note in table.notes]
    return "\n\n".join(parts) + "\n"


def to_latex(tables: Sequence[Table]) -> str:
    """Return tables as LaTeX for the package booktabs, one ``table`` each."""
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
            *(" & ".join(map(_tex_cell, row)) + r" \\" for row in table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{_tex(' '.join([table.title + '.', *table.notes]))}}}",
            rf"\label{{tab:{table.key}}}",
            r"\end{table}",
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def to_csv(table: Table) -> str:
    """Return a table as CSV, figures in full; intervals, standard deviations and n stand in columns of their own.

    A text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    ranged = [
        any(row[at].low is not None for row in table.rows) for at in range(len(table.columns))
    ]
    counted = [any(row[at].n is not None for row in table.rows) for at in range(len(table.columns))]
    spread = [
        any(row[at].spread is not None for row in table.rows) for at in range(len(table.columns))
    ]
    stream = io.StringIO()
    out = csv.writer(stream, lineterminator="\n")
    header: list[str] = []
    for at, name in enumerate(table.columns):
        header.append(_plain(name))
        more = [*(("low", "high") if ranged[at] else ()), *(("SD",) if spread[at] else ())]
        more += ["n"] if counted[at] else []
        header += [_plain(f"{name} {each}") for each in more]
    out.writerow(header)
    for row in table.rows:
        cells: list[str] = []
        for at, cell in enumerate(row):
            cells.append(_figure(cell))
            cells += [_number(cell.low), _number(cell.high)] if ranged[at] else []
            cells += [_number(cell.spread)] if spread[at] else []
            cells += [_number(cell.n)] if counted[at] else []
        out.writerow(cells)
    return stream.getvalue()


def _figure(cell: Cell) -> str:
    if cell.value is not None:
        return _number(cell.value)
    return "" if cell.text == "–" else _plain(cell.text)


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)


def _plain(text: str) -> str:
    text = safe_text(text).replace("\n", " ")
    return f"'{text}" if text.startswith(_FORMULA) else text


def _md(text: str) -> str:
    text = " ".join(safe_text(text).split())
    return re.sub(r"([\\`*_{}\[\]<>#|~&!])", r"\\\1", text)


def _md_cell(cell: Cell) -> str:
    text = _md(cell.text)
    text = f"**{text}**" if cell.strong and text else text
    return f"{text} ({cell.interval})" if cell.interval else text


def _tex(text: str) -> str:
    text = " ".join(safe_text(text).split())
    return "".join(_LATEX.get(character, character) for character in text)


def _tex_cell(cell: Cell) -> str:
    text = _tex(cell.text)
    text = rf"\textbf{{{text}}}" if cell.strong and text else text
    return rf"{text} {{\scriptsize [{_tex(cell.interval)}]}}" if cell.interval else text
