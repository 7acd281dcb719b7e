"""Scoring a run again from what it wrote: no engine, no model, no prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.bench.folder import (
    EXAMPLES_FILE,
    RESULTS_FILE,
    RUN_FILE,
    own_errors,
    pretty,
    read_object,
)
from semqa.bench.plan import Plan, data_digest
from semqa.bench.record import Record
from semqa.bench.results import make_results, score_items
from semqa.data.atomic import write_atomic
from semqa.data.jsonl import Line, decode_row, encode_row
from semqa.data.lock import locked
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from semqa.bench.plan import Item
    from semqa.bench.workers import Workers
    from semqa.metrics import ExampleScores

__all__ = ["items_of", "read_records", "rescore"]


def rescore(out: Path, data: Path, workers: Workers | None = None) -> dict[str, object]:
    """Score the predictions of a finished run again, and write rows and results anew.

    What was measured while it ran stays: answers, times, versions, machine, judgements.

    Args:
        out: the folder of the run.
        data: the QuoteSum file that it ran over, under whatever name.
        workers: score, in place of this process.

    Returns:
        The results, as in ``results.json``.

    Raises:
        InputError: the folder holds no finished run, or the data is not that of the run.
        UnavailableError: another process is at work in the folder, or the disk failed.
    """
    if not (out / RUN_FILE).is_file():
        raise InputError(
            f"{out}: holds no run: got a folder without {RUN_FILE}, expected one that semqa bench "
            "wrote; name another"
        )
    with own_errors(out), locked(out / ".lock", wait_seconds=0):
        identity = read_object(out / RUN_FILE)
        items = items_of(identity, data, out)
        found = read_records(out / EXAMPLES_FILE) if (out / EXAMPLES_FILE).is_file() else {}
        missing = [item.key for item in items if item.key not in found]
        if missing:
            raise InputError(
                f"{out}: is not finished: got no answer to {len(missing)} of {len(items)} examples, "
                f"the first is {missing[0]!r}, expected one to each; run it to its end first"
            )
        predictions = [found[item.key].prediction for item in items]
        scores = (score_items if workers is None else workers.score)(items, predictions)
        records = [_scored(found[item.key], each) for item, each in zip(items, scores, strict=True)]
        results = make_results(items, records, identity, scorer=lambda _items, _texts: scores)
        if (out / RESULTS_FILE).is_file():
            before = read_object(out / RESULTS_FILE)
            kept = ("versions", "machine", "judged")
            results |= {key: before[key] for key in kept if key in before}
        write_atomic(out / EXAMPLES_FILE, (encode_row(each.to_dict()) for each in records))
        write_atomic(out / RESULTS_FILE, [pretty(results)])
    return results


def items_of(identity: Mapping[str, object], data: Path, out: Path) -> list[Item]:
    """Return what a run was to answer, from the data that it ran over.

    Args:
        identity: as its ``run.json`` says.
        data: a QuoteSum file.
        out: the folder, for messages.

    Raises:
        InputError: the file cannot be read, or is not that of the run.
    """
    limit = identity.get("limit")
    plan = Plan(
        data,
        str(identity.get("engine")),
        limit=limit if isinstance(limit, int) and limit > 0 else None,
    )
    questions = plan.questions()
    if (digest := data_digest(data)) != identity.get("data_sha256"):
        raise InputError(
            f"{data}: not the data of {out}: got the SHA-256 {digest[:12]}…, expected "
            f"{str(identity.get('data_sha256'))[:12]}…, which is {identity.get('data')!r}; name "
            "that file"
        )
    return plan.items(questions)


def read_records(path: Path) -> dict[str, Record]:
    """Read the rows of a run by their ids, without changing the file.

    Of several rows of one example the last that has an answer counts, else the last. A line that a
    killed process tore is left out.

    Raises:
        InputError: a row cannot be read.
    """
    from semqa.data.files import display_name

    found: dict[str, Record] = {}
    raw = path.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    offset = 0
    for number, line in enumerate(whole.splitlines(keepends=True), 1):
        if line.strip():
            row = decode_row(Line(f"{display_name(path)}:{number}", line, offset))
            record = Record.read(row)
            if record.error is None or record.id not in found or found[record.id].error is not None:
                found[record.id] = record
        offset += len(line)
    return found


def _scored(record: Record, scores: ExampleScores) -> Record:
    from dataclasses import replace

    shown = scores.to_dict()
    del shown["qid"]
    return replace(record, scores=shown)
