"""Tables of scores for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from semqa.cli.output import terminal_width
from semqa.quotes.render.common import safe_text

if TYPE_CHECKING:
    from rich.table import Table

    from semqa.metrics.bootstrap import PairedTest

SHOWN = {
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "rougeLsum": "ROUGE-Lsum",
    "sem_f1": "Sem-F1",
    "sem_recall": "Sem-Rec",
    "semqa": "SEMQA",
}
"""Scores in tables, with the names used in the paper."""


MIN_WIDTH = 60
"""Minimum width of a table."""

MIN_NAME_WIDTH = 16
"""Minimum width of row names; longer names wrap."""


def make_table(*columns: str, left: int = 1) -> Table:
    """Return an empty table; the first `left` columns are text."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < left else "right", overflow="fold")
    return table


def shown(value: float | None, digits: int = 3, *, times: float = 1) -> str:
    """Format a score."""
    return "unscored" if value is None else f"{times * value:.{digits}f}"


def percent(value: float | None, missing: str = "unscored") -> str:
    """Format a share as a percentage."""
    return missing if value is None else f"{100 * value:.1f}"


def span(ends: Sequence[float] | None, digits: int = 3, *, times: float = 1) -> str:
    """Format an interval."""
    return "" if ends is None else " – ".join(f"{times * end:.{digits}f}" for end in ends)


Figure = tuple[str, float | None, Sequence[float] | None, int]
"""A score: name, value, interval and number of items."""


def figures_table(
    title: str, rows: Iterable[Figure], digits: int = 2, *, confidence: float = 0.95
) -> Table:
    """Return one row per score."""
    table = make_table(title, "score", f"{confidence:.0%} interval", "n")
    for name, value, interval, n in rows:
        style = "bold" if name == "SEMQA" else None
        table.add_row(name, shown(value, digits), span(interval, digits), str(n), style=style)
    return table


def scores_table(record: Mapping[str, Any]) -> Table:
    """Return the scores of predictions for QuoteSum."""
    rows = [
        (name, record[metric], record["intervals"].get(metric), record["scored"][metric])
        for metric, name in SHOWN.items()
    ]
    return figures_table("", rows, confidence=record["confidence"])


def unscored_notes(n: int, reasons: Iterable[tuple[str, Mapping[str, int]]]) -> list[str]:
    """Return one line per reason for unscored items, with the scores concerned.

    `n` is the number of all items; `reasons` has the name of each score, and how many items it
    leaves out by reason.
    """
    names: dict[tuple[str, int], list[str]] = {}
    every = dict(reasons)
    for name, counts in every.items():
        for found in counts.items():
            names.setdefault(found, []).append(name)
    return [
        f"unscored: {count} of {n} ({reason}) in "
        + ("all scores" if 1 < len(own) == len(every) else ", ".join(own))
        for (reason, count), own in names.items()
    ]


def quotesum_notes(record: Mapping[str, Any]) -> list[str]:
    """Return `unscored_notes` on the scores of predictions for QuoteSum."""
    reasons = ((name, record["unscored"].get(key, {})) for key, name in SHOWN.items())
    return unscored_notes(record["n"], reasons)


def comparison_table(tests: Sequence[PairedTest]) -> Table:
    """Return one row per test: difference from the baseline, interval and p-value."""
    table = make_table("against the baseline", "difference", "interval", "p", "n")
    for test in tests:
        table.add_row(
            SHOWN[test.metric],
            f"{test.difference:+.2f}",
            f"{test.low:+.2f} – {test.high:+.2f}",
            f"{test.p:.4f}",
            str(test.n),
        )
    return table


def things_table(headers: Sequence[str], rows: Sequence[Sequence[str | int]]) -> Table:
    """Return a table of cells, with control characters escaped."""
    table = make_table(*headers)
    for row in rows:
        table.add_row(*(f"{cell:,}" if isinstance(cell, int) else safe_text(cell) for cell in row))
    return table


def judged_table(judged: Mapping[str, Any]) -> Table:
    """Return the judge's scores of a run, from `semqa.bench.judging.judge_records`."""
    rows: list[Figure] = []
    if "auto_ais" in judged:
        ais = judged["auto_ais"]
        n = ais["n"]
        rows += [
            ("AutoAIS, sentences", ais["sentences"], ais["sentences_interval"], n["sentences"]),
            ("AutoAIS, answers", ais["answers"], ais["answers_interval"], n["answers"]),
        ]
    rows += [
        (name, judged[key]["value"], judged[key].get("interval"), judged[key]["n"])
        for name, key in (
            ("citation recall", "citation_recall"),
            ("citation precision", "citation_precision"),
            ("Disambig-F1", "disambig_f1"),
            ("answered exactly", "disambig_em"),
            ("DR", "dr"),
        )
        if key in judged
    ]
    return figures_table(f"judged by {judged['judge']}", rows)


def print_tables(*tables: Table) -> None:
    """Print tables to standard output at the width of the terminal, or wider if numbers need it.

    Cells with several words, such as intervals, wrap before row names do.
    """
    from rich.console import Console

    # The terminal may wrap lines, but a truncated number would mislead.
    width = max(MIN_WIDTH, terminal_width())
    for table in tables:
        console = Console(
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
            width=_fit(table, width),
        )
        console.print(table)


def _fit(table: Table, width: int) -> int:
    """Set column widths so that no number is split and no name is truncated; return the width."""
    from rich.cells import cell_len

    headers = [str(column.header) for column in table.columns]
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    longest = [
        max((cell_len(word) for text in (header, *column) for word in text.split()), default=0)
        for header, column in zip(headers, cells, strict=True)
    ]
    whole = [
        max((least, *map(cell_len, column))) for least, column in zip(longest, cells, strict=True)
    ]
    full = [max(least, cell_len(header)) for least, header in zip(whole, headers, strict=True)]
    between = 3 * len(headers) - 1  # spacing of box.SIMPLE between and around columns
    room = width - between
    if sum(full) <= room:
        return width
    name = min(whole[0], max(MIN_NAME_WIDTH, width // 3))
    # Headers wrap first, then cells with several words.
    options = (full[1:], whole[1:], longest[1:])
    others = next((widths for widths in options if name + sum(widths) <= room), longest[1:])
    name = min(full[0], max(name, room - sum(others)))
    for column, columns in zip(table.columns, (name, *others), strict=True):
        column.width, column.no_wrap, column.overflow = columns, False, "fold"
    return max(width, between + name + sum(others))
