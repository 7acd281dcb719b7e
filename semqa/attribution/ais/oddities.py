"""What is odd in a released file: counted, named, and never silently corrected."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.attribution.ais.released import ReleasedRow
    from semqa.attribution.ais.verdict import Verdict

__all__ = ["drop_doubles", "oddities"]

_STRAY = "{}[] \t\r\n"
_OF_FIVE = (3, 4, 5)


def oddities(rows: Sequence[ReleasedRow]) -> dict[str, int]:
    """Return how many rows are odd, by what is odd about them; nothing that no row has.

    None of it changes a rate: what counts is INT, INT & AIS and Flagged.

    Args:
        rows: of one file.
    """
    found: Counter[str] = Counter()
    for row in rows:
        found.update(_of_row(row))
    full = Counter(row.record.cells for row in rows if row.record is not None)
    found["the same as an earlier row in every cell"] = full.total() - len(full)
    outputs = Counter(row.verdict.key for row in rows)
    found["of an item and system that an earlier row has"] = outputs.total() - len(outputs)
    return {name: count for name, count in found.items() if count}


def drop_doubles(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the first verdict on each item and system."""
    kept: dict[tuple[str, ...], Verdict] = {}
    for verdict in verdicts:
        kept.setdefault(verdict.key, verdict)
    return list(kept.values())


def _of_row(row: ReleasedRow) -> list[str]:
    verdict = row.verdict
    found = list(row.remarks)
    labels = (row.int_label, row.ais_label)
    if any(label.strip() and label.strip(_STRAY) != label for label in labels):
        found.append("stray characters in a label")
    # By their first word: the wording differs between tasks, and "NA" is no "no".
    second = row.ais_label.strip(_STRAY).partition(" ")[0].rstrip(",.").lower()
    answered = second in ("yes", "no")
    if answered and verdict.interpretable is False:
        found.append("Q2 is answered though INT is 0")
    if verdict.interpretable and not answered:
        found.append("Q2 is not answered though INT is 1")
    if second == "yes" and not verdict.attributable and not row.remarks:
        found.append("Q2 says yes though INT & AIS is 0")
    if verdict.interpretable is not None and verdict.agree_int not in _OF_FIVE:
        found.append("# agree (INT) is not 3 to 5")
    if verdict.attributable is not None and verdict.agree_ais not in _OF_FIVE:
        found.append("# agree (AIS) is not 3 to 5")
    return found
