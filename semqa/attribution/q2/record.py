"""The record of a run: settings, judge, files, and every response with its questions.

It needs nothing beside it: scores are computed anew from what it holds, without any model.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from semqa.attribution.q2.measure import Settings
from semqa.attribution.q2.meta import Judged
from semqa.attribution.q2.responses import MEASURES, ResponseScore, summarise
from semqa.attribution.records import kind_of, must_be, read_record
from semqa.data.jsonl import Row, as_row
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from semqa.attribution.q2.reading import ResponseFile
    from semqa.attribution.records import Record

KIND = "semqa-q2"


@dataclass(frozen=True, slots=True)
class Run:
    """Scored responses, and how they came about.

    Attributes:
        judge: as `semqa.attribution.records.describe_judge` gives it.
        spans: the finder of informative spans.
        files: what was read: ``name``, ``sha256``, ``kind`` and counts.
        baselines: what the baselines among the scores were computed with, by name.
    """

    scores: tuple[ResponseScore, ...]
    settings: Settings
    judge: Mapping[str, Any]
    spans: str
    files: tuple[Mapping[str, Any], ...]
    baselines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def describe_file(file: ResponseFile) -> dict[str, Any]:
        """Return what a record says of a file."""
        return {
            "name": file.name,
            "sha256": file.sha256,
            "kind": file.kind,
            "responses": len(file.responses),
            "repeated": len(file.repeated),
            "dropped": file.dropped,
        }

    def to_dict(self, *, resamples: int = 1000, seed: int = 0) -> dict[str, Any]:
        """Return the record for JSON, its intervals by so many bootstrap resamples."""

        def summary(scores: Sequence[ResponseScore]) -> dict[str, Any]:
            return summarise(scores, resamples=resamples, seed=seed)

        groups: dict[str, list[ResponseScore]] = {}
        for score in self.scores:
            groups.setdefault(score.response.system or "", []).append(score)
        questions = [question for score in self.scores for question in score.questions]
        rejected = Counter(each.rejected for each in questions if each.rejected is not None)
        valid = [question for question in questions if question.valid]
        return {
            "kind": KIND,
            "n": len(self.scores),
            "scores": summary(self.scores),
            "systems": {name: summary(group) for name, group in groups.items()}
            if len(groups) > 1
            else {},
            "questions": {
                "spans": sum(score.spans for score in self.scores),
                "tried": len(questions),
                "valid": len(valid),
                "unanswered_by_knowledge": sum(question.answer is None for question in valid),
                "rejected": dict(rejected),
                "responses_without": sum(not score.valid for score in self.scores),
            },
            "settings": asdict(self.settings),
            "judge": dict(self.judge),
            "spans": self.spans,
            "files": [dict(file) for file in self.files],
            "baselines": {name: dict(how) for name, how in self.baselines.items()},
            "bootstrap": {"resamples": resamples, "seed": seed, "confidence": 0.95},
            "versions": dict(self.versions),
            "rows": [score.to_dict() for score in self.scores],
        }


def read_run(path: Path | str) -> Run:
    """Read a record; its scores are computed anew.

    Raises:
        InputError: the file is not such a record; the message names the row.
    """
    return run_of(read_record(path, KIND))


def read_if_run(path: Path) -> Run | None:
    """Read a file if it is a record; None for other files and standard input."""
    return read_run(path) if kind_of(path) == KIND else None


def judged_of(run: Run) -> list[Judged]:
    """Return the responses of a record with what its measures and baselines gave them."""
    names = [*MEASURES, *dict.fromkeys(name for score in run.scores for name in score.baselines)]
    if not run.settings.nli:
        names.remove("q2")
    return [
        Judged(score.response, {name: score.value(name) for name in names}) for score in run.scores
    ]


def run_of(record: Record) -> Run:
    """Take a decoded record."""
    top = Row(record.name, record.fields)
    files = top.fields.get("files")
    settings = as_row(top.fields.get("settings"), f"{record.name}: settings").fields
    judge = as_row(top.fields.get("judge"), f"{record.name}: judge")
    baselines = as_row(top.fields.get("baselines", {}), f"{record.name}: baselines").fields
    versions = as_row(top.fields.get("versions", {}), f"{record.name}: versions").fields
    if not isinstance(files, list):
        raise must_be(top, "files", "an array")
    unparsed = judge.fields.get("unparsed", 0)
    chosen = _settings(settings, record.name)
    return Run(
        tuple(
            ResponseScore.read(row, nli=chosen.nli, official=chosen.official) for row in record.rows
        ),
        chosen,
        {
            "name": judge.text("name"),
            "identity": judge.text("identity"),
            **({"unparsed": unparsed} if isinstance(unparsed, int) and unparsed else {}),
        },
        top.text("spans"),
        tuple(as_row(each, f"{record.name}: files").fields for each in files),
        {key: as_row(how, f"{record.name}: baselines").fields for key, how in baselines.items()},
        {key: str(version) for key, version in versions.items()},
    )


def _settings(fields: Mapping[str, Any], where: str) -> Settings:
    beams = fields.get("beams")
    flags = {name: fields.get(name) for name in ("nli", "official")}
    if (
        isinstance(beams, int)
        and beams >= 1
        and all(isinstance(flag, bool) for flag in flags.values())
    ):
        return Settings(beams=beams, **{name: bool(flag) for name, flag in flags.items()})
    raise InputError("must be those of the measure.", field="settings", value=fields, where=where)
