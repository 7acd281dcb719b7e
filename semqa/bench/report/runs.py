"""The runs that a report tells of, read from their folders; with the data, scored anew."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from semqa.bench.disambig import disambig_again
from semqa.bench.folder import (
    ABOUT_FILE,
    EXAMPLES_FILE,
    JUDGED_FILE,
    RESULTS_FILE,
    RUN_FILE,
    read_object,
)
from semqa.bench.labels import labels_of, settings_of_identity
from semqa.bench.plan import HUMAN, data_digest
from semqa.bench.report.grids import GridCell, missing, read_grids
from semqa.bench.report.names import printed_engines, with_printed_engine
from semqa.bench.report.notes import Note, grouped
from semqa.bench.rescore import items_of, read_records
from semqa.bench.results import RESAMPLES, SEED, score_item
from semqa.data.files import BYTES_SETTING, MAX_BYTES, setting
from semqa.data.jsonl import decode_row, read_lines
from semqa.decoding.policy import QuotePolicy
from semqa.errors import InputError
from semqa.metrics import METRICS, Example, ExampleScores, summarise
from semqa.metrics.quoted_f1 import QuotedScores, quoted_f1, quoted_leave_one_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.citations.scores import DisambigScores
    from semqa.bench.plan import Item
    from semqa.bench.record import Record
    from semqa.metrics import Report

__all__ = ["RULES", "FinishedRun", "Loaded", "load_runs"]

EARLIER = ("numbers", "names", "max_words", "max_free_words", "max_span_words", "min_quotes")
"""Rules of runs that earlier versions made."""

MOST_POINTS = 100 + 1e-6
"""Largest score of a row: rounding may add a little to 100."""

Kind = Literal["human", "engine", "baseline"]

RULES = ("constraint", "quote_from", *(each.name for each in fields(QuotePolicy)), *EARLIER)
"""Settings of how an engine is kept to verbatim quotes; rules have no effect without a constraint."""


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """One run, as a report needs it.

    Attributes:
        folder: its path below the folder of the report.
        label: its name, or what tells it from the others; every run has another.
        kind: whether it is the human row, a baseline (``lead-K``, ``tail-K``) or an engine.
        identity: what was run.
        settings: what it is told apart by; a model in a folder goes by the folder's own name.
        records: its rows, in the order of the data where that is there.
        scores: one for each row.
        report: what they sum up to, with intervals.
        quoted: scores over the sources that somebody quotes, one for each row; None without data.
        items: what was asked, one for each row; None without data.
        expected: how many rows a finished run has; None without data.
        results: what the run itself summed up; empty where it was not finished.
        read: what a judge read off each row's answer; None where no judge did, or of other answers.
    """

    folder: str
    label: str
    kind: Kind
    identity: Mapping[str, object]
    settings: Mapping[str, object]
    records: Sequence[Record]
    scores: Sequence[ExampleScores]
    report: Report
    quoted: Sequence[QuotedScores] | None
    items: Sequence[Item] | None
    expected: int | None
    results: Mapping[str, object]
    read: Sequence[DisambigScores] | None = None

    @property
    def prompts(self) -> Mapping[str, object]:
        """How its questions were put to a model; empty where none was asked."""
        return _object(self.identity.get("prompts"))

    @property
    def cites(self) -> bool:
        """Whether its prompt asks for citations, which quote nothing."""
        return self.prompts.get("answers") == "citations"

    @property
    def data(self) -> str:
        """The digest of its data, with how much of it was asked."""
        return f"{self.identity.get('data_sha256')}/{self.identity.get('limit')}"


class Loaded(NamedTuple):
    """What a folder holds.

    Attributes:
        runs: in the order of the grid, others after it by their folders.
        notes: what was left out, and why.
    """

    runs: list[FinishedRun]
    notes: list[str]


class _Read(NamedTuple):
    folder: Path
    identity: Mapping[str, object]
    name: str | None
    data: Path | None


def load_runs(folder: Path, data: Sequence[Path] = ()) -> Loaded:
    """Read all runs below a folder.

    Args:
        folder: that of a grid, of one run, or of several of them.
        data: QuoteSum files that they may have run over. Each run is looked for its data among
            these, then where its data lay; the digest decides. With its data a run is scored anew;
            without, its rows' own scores are taken.

    Raises:
        InputError: there is no run, or a file of `data` cannot be read.
    """
    if not folder.is_dir():
        raise InputError(
            f"{folder}: not a folder: got no folder of that name, expected one that semqa bench "
            "wrote; check the path"
        )
    digests = {path: data_digest(path) for path in data if _regular(path)}
    read: list[_Read] = []
    notes: list[str] = []
    told_of: list[Note] = []
    cells = read_grids(folder, notes)
    for path in _ordered(folder, cells):
        try:
            identity = read_object(path / RUN_FILE)
            about = read_object(path / ABOUT_FILE) if (path / ABOUT_FILE).is_file() else {}
            name = about.get("name")
            found = _find_data(identity, about, path, digests)
            read.append(_Read(path, identity, name if isinstance(name, str) else None, found))
        except InputError as error:
            notes.append(f"left out: {error}")
    told = [settings_of_identity(each.identity) for each in read]
    engines = printed_engines(list(dict.fromkeys(str(each["engine"]) for each in told)))
    printed = [with_printed_engine(each, engines) for each in told]
    runs: list[FinishedRun] = []
    for each, label, settings in zip(read, labels_of(printed), printed, strict=True):
        try:
            runs.append(_load(each, each.name or label, settings, folder))
        except InputError as error:
            notes.append(f"left out: {error}")
            continue
        told_of += _notes(runs[-1], each)
    if not runs:
        raise InputError(
            f"{folder}: holds no run: got "
            + (f"{len(notes)} that cannot be read" if notes else f"no {RUN_FILE} below it")
            + ", expected one or more; "
            + ("; ".join(notes[:3]) if notes else "make some with: semqa bench quotesum")
        )
    told_of += missing(cells, {each.folder for each in read})
    return Loaded(_apart(runs), [*notes, *grouped(told_of)])


def _regular(path: Path) -> bool:
    if not path.is_file():
        raise InputError(f"{path}: cannot be read: got no such file, expected the data of the runs")
    return True


def _ordered(folder: Path, cells: Sequence[GridCell]) -> list[Path]:
    found = sorted(path.parent for path in folder.rglob(RUN_FILE))
    order: dict[Path, int] = {}
    for cell in cells:
        order.setdefault(cell.folder, len(order))
    return sorted(found, key=lambda path: (order.get(path, len(order)), path))


def _find_data(
    identity: Mapping[str, object],
    about: Mapping[str, object],
    folder: Path,
    digests: dict[Path, str],
) -> Path | None:
    wanted = identity.get("data_sha256")
    lay = about.get("data_path")
    candidates = list(digests)
    most = setting(BYTES_SETTING, MAX_BYTES)
    if isinstance(lay, str) and "\0" not in lay:
        candidates += [Path(lay), *(parent / lay for parent in folder.parents)]
    for path in candidates:
        try:
            fits = path in digests or (path.is_file() and path.stat().st_size <= most)
            if fits and path not in digests:
                digests[path] = data_digest(path)
        except OSError:
            continue
        if digests.get(path) == wanted:
            return path
    return None


def _load(read: _Read, label: str, settings: Mapping[str, object], top: Path) -> FinishedRun:
    path = read.folder / EXAMPLES_FILE
    rows = read_records(path) if path.is_file() else {}
    items: list[Item] | None = None
    if read.data is None:
        records = list(rows.values())
        scores = [_stored(record) for record in records]
        quoted = None
    else:
        every = items_of(read.identity, read.data, read.folder)
        items = [item for item in every if item.key in rows]
        records = [rows[item.key] for item in items]
        scores = [
            score_item(item, record.prediction) for item, record in zip(items, records, strict=True)
        ]
        quoted = [
            _quoted(item, record.prediction) for item, record in zip(items, records, strict=True)
        ]
    if not records:
        raise InputError(
            f"{read.folder}: has no answers: got no row in {EXAMPLES_FILE}, expected some; run it first"
        )
    engine = str(read.identity.get("engine"))
    kind: Kind = "engine"
    if engine == HUMAN:
        kind = "human"
    elif engine.startswith(("lead-", "tail-")):
        kind = "baseline"
    results = read.folder / RESULTS_FILE
    return FinishedRun(
        folder=str(read.folder.relative_to(top)),
        label=label,
        kind=kind,
        identity=read.identity,
        settings=settings,
        records=records,
        scores=scores,
        report=summarise(scores, resamples=RESAMPLES, seed=SEED),
        quoted=quoted,
        items=items,
        expected=None if read.data is None else len(every),
        results=read_object(results) if results.is_file() else {},
        read=_read_judged(read.folder / JUDGED_FILE, records),
    )


def _read_judged(path: Path, records: Sequence[Record]) -> list[DisambigScores] | None:
    """Return what a judge read, if it read these very answers."""
    if not path.is_file():
        return None
    found: dict[str, DisambigScores] = {}
    told = {record.id: record.prediction for record in records}
    for line in read_lines(path):
        row = decode_row(line)
        key = row.text("id")
        if told.get(key) == row.text("prediction"):
            scores = disambig_again(row.fields, row.where)
            if scores is not None:
                found[key] = scores
    return [found[record.id] for record in records] if found.keys() == told.keys() else None


def _stored(record: Record) -> ExampleScores:
    """Return the scores that a row has, each a number or None."""
    values: dict[str, float | None] = {}
    for metric in METRICS:
        value = record.scores.get(metric)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        found = float(str(value)) if is_number else -1.0
        values[metric] = found if 0 <= found <= MOST_POINTS else None
    given = record.scores.get("unscored")
    reasons = {str(k): str(v) for k, v in given.items()} if isinstance(given, dict) else {}
    for metric, one in values.items():
        if one is None:
            reasons.setdefault(metric, "the row has no score")
    return ExampleScores(record.qid, **values, unscored=reasons)


def _quoted(item: Item, prediction: str) -> QuotedScores:
    question = item.question
    if item.left_out is not None:
        return quoted_leave_one_out(question.texts, question.numbers)[item.left_out]
    return quoted_f1(
        Example(question.qid, prediction, question.texts, question.short_answers, question.numbers)
    )


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _notes(run: FinishedRun, read: _Read) -> list[Note]:
    notes = []
    if run.expected is not None and len(run.records) < run.expected:
        notes.append(f"not finished: {len(run.records)} of {run.expected} examples")
    if run.read is None and "disambig_f1" in _object(run.results.get("judged")):
        notes.append(
            "its answers are others than those that were judged, so Disambig-F1 is missing; judge "
            "it again with --judge"
        )
    if read.data is None:
        notes.append(
            f"its data ({read.identity.get('data')}) was not found, so its scores are those of its "
            "rows, and its examples have no sources; name the file with --data"
        )
    failed = sum(record.error is not None for record in run.records)
    if failed:
        notes.append(f"{failed} of {len(run.records)} examples failed, scored as empty answers")
    found = _object(run.results.get("exemplars"))
    asked, mean = found.get("asked"), found.get("mean")
    if found.get("up_to") is False and isinstance(asked, int) and isinstance(mean, int | float):
        if asked and not found.get("most"):
            notes.append(f"exemplars: {asked} asked, none fit: these are the scores of 0 shots")
        elif mean < asked:
            notes.append(f"exemplars: {asked} asked, {mean:.1f} in a prompt on average")
    return [Note(run.label, note) for note in notes]


def _apart(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """Give runs that share a name their folder besides."""
    from dataclasses import replace

    names = [run.label for run in runs]
    return [
        run if names.count(run.label) == 1 else replace(run, label=f"{run.label} [{run.folder}]")
        for run in runs
    ]
