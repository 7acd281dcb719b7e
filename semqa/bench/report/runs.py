"""Load finished runs from their folders and score their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal, NamedTuple

from semqa.attribution.citations.scores import DisambigScores
from semqa.bench.folder import (
    ABOUT_FILE,
    EXAMPLES_FILE,
    JUDGED_FILE,
    RESULTS_FILE,
    RUN_FILE,
    read_records,
)
from semqa.bench.grid import GRID_FILE
from semqa.bench.judging import disambig_again
from semqa.bench.plan import HUMAN, Item, data_digest, items_of, labels_of, settings_of_identity
from semqa.bench.record import Record
from semqa.bench.results import RESAMPLES, SEED, score_item
from semqa.data.files import BYTES_SETTING, MAX_BYTES, setting
from semqa.data.jsonl import decode_row, read_lines, read_object
from semqa.decoding.policy import QuotePolicy
from semqa.errors import InputError
from semqa.metrics import Example, ExampleScores, Report, summarise
from semqa.metrics.scores import QuotedScores, quoted_f1

Kind = Literal["human", "engine", "baseline"]

RULES = ("constraint", "quote_from", *(each.name for each in fields(QuotePolicy)))
"""Settings of the copy constraint; they have no effect without it."""

MAX_NAMED = 5  # runs named in one note


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run with its scores, as used in a report.

    Attributes:
        kind: the human row, a baseline (``lead-K``, ``tail-K``) or an engine.
        records: rows of the run, in the order of the data.
        quoted: scores over quoted sources, one per row.
        expected: number of rows once the run is complete.
        results: contents of ``results.json``; empty if the run is not complete.
        read: a judge's Disambig scores, one per row; None if no judge has seen these answers.
    """

    folder: str
    label: str
    kind: Kind
    identity: Mapping[str, object]
    settings: Mapping[str, object]
    records: Sequence[Record]
    scores: Sequence[ExampleScores]
    report: Report
    quoted: Sequence[QuotedScores]
    items: Sequence[Item]
    expected: int
    results: Mapping[str, object]
    read: Sequence[DisambigScores] | None = None

    @property
    def prompts(self) -> Mapping[str, object]:
        """Prompt settings; empty if the run used no model."""
        return as_object(self.identity.get("prompts"))

    @property
    def cites(self) -> bool:
        """Whether the prompt asks for citations instead of quotes."""
        return self.prompts.get("answers") == "citations"

    @property
    def data(self) -> str:
        """Digest of the data and the limit on its questions."""
        return f"{self.identity.get('data_sha256')}/{self.identity.get('limit')}"

    @property
    def qids(self) -> set[str]:
        """Ids of the questions."""
        return {record.qid for record in self.records}


class Loaded(NamedTuple):
    """The runs in a folder, and notes for the reader of a report."""

    runs: list[FinishedRun]
    notes: list[str]


class _Found(NamedTuple):
    folder: Path
    identity: Mapping[str, object]
    name: str | None
    data: Path | None


class _GridCell(NamedTuple):
    folder: Path
    label: str
    state: object
    error: object


def as_object(value: object) -> Mapping[str, object]:
    """Return a JSON object, or an empty one if the value is not an object."""
    return value if isinstance(value, dict) else {}


def load_runs(folder: Path, data: Sequence[Path] = ()) -> Loaded:
    """Load all runs below a folder.

    Args:
        data: QuoteSum files of the runs. A run's data is searched by digest in these files, then at
            its original path.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder.", hint="Give a folder written by semqa bench.")
    for path in data:
        if not path.is_file():
            raise InputError(f"{path} is not a file.", field="data", value=str(path))
    digests = {path: data_digest(path) for path in data}
    found: list[_Found] = []
    notes: list[str] = []
    remarks: list[tuple[str, str]] = []
    cells = _read_grids(folder, notes)
    for path in _in_order(folder, cells):
        try:
            identity = read_object(path / RUN_FILE)
            about = read_object(path / ABOUT_FILE) if (path / ABOUT_FILE).is_file() else {}
            name = about.get("name")
            where = _find_data(identity, about, path, digests)
            found.append(_Found(path, identity, name if isinstance(name, str) else None, where))
        except InputError as error:
            notes.append(f"left out: {error}")
    runs: list[FinishedRun] = []
    for each in found:
        try:
            runs.append(_load(each, folder))
        except InputError as error:
            notes.append(f"left out: {error}")
    trials = [run.folder for run in runs if any(_is_trial(run, other) for other in runs)]
    remarks += [
        (each, "left out because the same run over all questions is here") for each in trials
    ]
    runs = [run for run in runs if run.folder not in trials]
    labels = labels_of([run.settings for run in runs])
    runs = [replace(run, label=run.label or label) for run, label in zip(runs, labels, strict=True)]
    remarks += [(run.label, note) for run in runs for note in _remarks(run)]
    if not runs:
        why = "; ".join(notes[:3]) or "Make one with: semqa bench quotesum"
        raise InputError(f"{folder} has no readable run.", hint=why)
    loaded = {each.folder for each in found}
    for cell in cells:
        if cell.folder not in loaded and cell.state == "failed":
            remarks.append((cell.label, f"missing because it failed: {cell.error}"))
        elif cell.folder not in loaded and cell.state == "waiting":
            remarks.append((cell.label, "missing because it has not run yet"))
    names = [run.label for run in runs]
    runs = [
        run if names.count(run.label) == 1 else replace(run, label=f"{run.label} [{run.folder}]")
        for run in runs
    ]
    return Loaded(runs, [*notes, *_grouped(remarks)])


def _read_grids(folder: Path, notes: list[str]) -> list[_GridCell]:
    """Return the runs of all grids below a folder, sorted by grid file."""
    found = []
    for path in sorted(folder.rglob(GRID_FILE)):
        try:
            cells = read_object(path).get("cells")
        except InputError as error:
            notes.append(f"grid order ignored: {error}")
            continue
        for cell in cells if isinstance(cells, list) else []:
            if isinstance(cell, dict) and isinstance(cell.get("folder"), str):
                at, label = path.parent / cell["folder"], str(cell.get("label"))
                found.append(_GridCell(at, label, cell.get("state"), cell.get("error")))
    return found


def _in_order(folder: Path, cells: Sequence[_GridCell]) -> list[Path]:
    order: dict[Path, int] = {}
    for cell in cells:
        order.setdefault(cell.folder, len(order))
    found = {path.parent for path in folder.rglob(RUN_FILE)}
    return sorted(found, key=lambda path: (order.get(path, len(order)), path))


def _find_data(
    identity: Mapping[str, object],
    about: Mapping[str, object],
    folder: Path,
    digests: dict[Path, str],
) -> Path | None:
    candidates = list(digests)
    original = about.get("data_path")
    if isinstance(original, str) and "\0" not in original:
        candidates += [Path(original), *(parent / original for parent in folder.parents)]
    most = setting(BYTES_SETTING, MAX_BYTES)
    for path in candidates:
        try:
            if path not in digests and path.is_file() and path.stat().st_size <= most:
                digests[path] = data_digest(path)
        except OSError:
            continue
        if path in digests and digests[path] == identity.get("data_sha256"):
            return path
    return None


def _is_trial(run: FinishedRun, other: FinishedRun) -> bool:
    """Return whether a run with a limit is part of the same run without one."""
    return (
        run.identity.get("limit") is not None
        and {**run.identity, "limit": None} == other.identity
        and run.qids <= other.qids
    )


def _load(found: _Found, top: Path) -> FinishedRun:
    """Load a run; its label is its name, or empty."""
    path = found.folder / EXAMPLES_FILE
    rows = read_records(path) if path.is_file() else {}
    if found.data is None:
        raise InputError(
            f"{found.folder}: data file {found.identity.get('data')} not found.",
            hint="Give the file with --data.",
        )
    every = items_of(found.identity, found.data, found.folder)
    items = [item for item in every if item.key in rows]
    records = [rows[item.key] for item in items]
    pairs = list(zip(items, records, strict=True))
    scores = [score_item(item, record.prediction) for item, record in pairs]
    if not records:
        raise InputError(f"{found.folder} has no answers.", hint="Run it first.")
    engine = str(found.identity.get("engine"))
    kind: Kind = "human" if engine == HUMAN else "engine"
    if engine.startswith(("lead-", "tail-")):
        kind = "baseline"
    results = found.folder / RESULTS_FILE
    return FinishedRun(
        folder=str(found.folder.relative_to(top)),
        label=found.name or "",
        kind=kind,
        identity=found.identity,
        settings=settings_of_identity(found.identity),
        records=records,
        scores=scores,
        report=summarise(scores, resamples=RESAMPLES, seed=SEED),
        quoted=[_quoted(item, record.prediction) for item, record in pairs],
        items=items,
        expected=len(every),
        results=read_object(results) if results.is_file() else {},
        read=_read_judged(found.folder / JUDGED_FILE, records),
    )


def _read_judged(path: Path, records: Sequence[Record]) -> list[DisambigScores] | None:
    """Return a judge's Disambig scores if they are for exactly these answers."""
    if not path.is_file():
        return None
    found: dict[str, DisambigScores] = {}
    predictions = {record.id: record.prediction for record in records}
    for line in read_lines(path):
        row = decode_row(line)
        key = row.text("id")
        if predictions.get(key) == row.text("prediction"):
            scores = disambig_again(row.fields, row.where)
            if scores is not None:
                found[key] = scores
    return [found[record.id] for record in records] if found.keys() == predictions.keys() else None


def _quoted(item: Item, prediction: str) -> QuotedScores:
    question = item.question
    texts = list(question.texts)
    if item.left_out is not None:
        prediction = texts.pop(item.left_out)
        if not texts:
            return QuotedScores(None, None, None)
    return quoted_f1(Example(question.qid, prediction, tuple(texts), (), question.numbers))


def _remarks(run: FinishedRun) -> list[str]:
    """Return notes on one run for the reader of a report."""
    notes = []
    if len(run.records) < run.expected:
        notes.append(f"not finished: {len(run.records)} of {run.expected} examples")
    if run.read is None and "disambig_f1" in as_object(run.results.get("judged")):
        notes.append(
            "Disambig-F1 is missing because answers changed after they were judged; judge again "
            "with --judge"
        )
    failed = sum(record.error is not None for record in run.records)
    if failed:
        notes.append(
            f"{failed} of {len(run.records)} examples failed and are scored as empty answers"
        )
    exemplars = as_object(run.results.get("exemplars"))
    asked, mean = exemplars.get("asked"), exemplars.get("mean")
    if exemplars.get("up_to") is False and isinstance(asked, int) and isinstance(mean, int | float):
        if asked and not exemplars.get("most"):
            notes.append(f"exemplars: {asked} requested, but none fit the prompt (0-shot scores)")
        elif mean < asked:
            notes.append(f"exemplars: {asked} requested, {mean:.1f} per prompt on average")
    return notes


def _grouped(notes: Sequence[tuple[str, str]]) -> list[str]:
    """Format (label, note) pairs as lines; a note on several runs appears once."""
    labels_by_text: dict[str, list[str]] = {}
    for label, text in notes:
        labels_by_text.setdefault(text, []).append(label)
    lines = []
    for text, labels in labels_by_text.items():
        more = [f"and {len(labels) - MAX_NAMED} more"] if len(labels) > MAX_NAMED else []
        listed = "; ".join([*labels[:MAX_NAMED], *more])
        several = f"{len(labels)} runs: {text} ({listed})"
        lines.append(f"{labels[0]}: {text}" if len(labels) == 1 else several)
    return lines
