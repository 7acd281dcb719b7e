"""Ratings, verdicts and released files made for tests."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from semqa.attribution.ais.ratings import Rating, Verdict
from semqa.attribution.ais.released import COLUMNS
from semqa.data.jsonl import write_jsonl

ROW: dict[str, str] = {
    "ex-idx": "1:1",
    "doc-url": "NA",
    "doc-url-hash": "NA",
    "model-name": "m",
    "output": "It is so.",
    "INT": "1",
    "INT & AIS": "1",
    "Flagged": "0",
    "Q1": "Yes, I understand it.",
    "Q2": "Yes, fully attributable.",
    "# agree (INT)": "5",
    "# agree (AIS)": "4",
}


def released_csv(
    rows: Sequence[dict[str, str]],
    *,
    header: Sequence[str] = COLUMNS,
    line_end: str = "\r\n",
    quoting: Any = csv.QUOTE_MINIMAL,
) -> str:
    """A released file of rows that differ from `ROW` as told; `header` renames the columns."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=line_end, quoting=quoting)
    writer.writerow(header)
    for row in rows:
        cells = ROW | row
        writer.writerow([cells[name] for name in COLUMNS])
    return out.getvalue()


def verdicts(
    system: str, *, flagged: int = 0, unclear: int = 0, not_ais: int = 0, ais: int = 0
) -> list[Verdict]:
    """Verdicts of a system: so many of each kind, on items numbered through."""
    kinds: list[tuple[bool, bool | None, bool | None]] = [
        *[(True, None, None)] * flagged,
        *[(False, False, None)] * unclear,
        *[(False, True, False)] * not_ais,
        *[(False, True, True)] * ais,
    ]
    return [Verdict(str(number), system, "", *kind) for number, kind in enumerate(kinds)]


def said(answers: str, **fields: Any) -> list[Rating]:
    """Ratings of one output, a letter each: f flagged, u unclear, n not attributable, y is."""
    kinds: dict[str, dict[str, bool]] = {
        "f": {"flagged": True},
        "u": {"interpretable": False},
        "n": {"interpretable": True, "attributable": False},
        "y": {"interpretable": True, "attributable": True},
    }
    common: dict[str, Any] = {"item": "1", "system": "m"} | fields
    return [
        Rating(annotator=f"a{number}", **common, **kinds[letter])  # type: ignore[arg-type]
        for number, letter in enumerate(answers)
    ]


def write_ratings(path: Path, ratings: Sequence[Rating]) -> None:
    write_jsonl(path, (rating.to_dict() for rating in ratings))
