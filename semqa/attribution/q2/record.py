"""The record of a run: settings, judge, files, and all responses with their questions."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from semqa.attribution.q2.meta import Judged
from semqa.attribution.q2.responses import MEASURES, Response, summarise
from semqa.attribution.records import invalid_field, kind_of, read_record
from semqa.data.jsonl import describe
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from semqa.attribution.q2.measure import Settings
    from semqa.attribution.q2.reading import ResponseFile
    from semqa.attribution.q2.responses import ResponseScore
    from semqa.data.jsonl import Row

KIND = "semqa-q2"


@dataclass(frozen=True, slots=True)
class Run:
    """Scored responses; the settings, judge, span finder and files; settings of the baselines."""

    scores: tuple[ResponseScore, ...]
    settings: Settings
    judge: Mapping[str, Any]
    spans: str
    files: tuple[Mapping[str, Any], ...]
    baselines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def describe_file(file: ResponseFile) -> dict[str, Any]:
        """Return the description of a file for a record."""
        return {
            "name": file.name,
            "sha256": file.sha256,
            "kind": file.kind,
            "responses": len(file.responses),
            "repeated": len(file.repeated),
            "dropped": file.dropped,
        }

    def to_dict(self, *, resamples: int = 1000, seed: int = 0) -> dict[str, Any]:
        """Return the JSON-ready record, with bootstrap intervals."""

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
            "systems": {n: summary(group) for n, group in groups.items() if len(groups) > 1},
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
            "baselines": {name: dict(setting) for name, setting in self.baselines.items()},
            "bootstrap": {"resamples": resamples, "seed": seed, "confidence": 0.95},
            "versions": dict(self.versions),
            "rows": [score.to_dict() for score in self.scores],
        }


def read_judged(path: Path) -> list[Judged] | None:
    """Read the responses of a record with their scores; None for other files and standard input."""
    if kind_of(path) != KIND:
        return None
    return [_judged(row) for row in read_record(path, KIND).rows]


def _judged(row: Row) -> Judged:
    inconsistent, baselines = row.fields.get("inconsistent"), row.fields.get("baselines", {})
    if not (inconsistent is None or isinstance(inconsistent, bool)):
        raise invalid_field(row, "inconsistent", "true, false or null")
    if not isinstance(baselines, dict):
        raise invalid_field(row, "baselines", "an object of numbers")
    rating = row.fields.get("rating")
    scores = {**{name: row.fields.get(name) for name in MEASURES}, **baselines}
    for name, score in (*scores.items(), ("rating", rating)):
        if not (score is None or (isinstance(score, int | float) and math.isfinite(score))):
            raise InputError(
                f"must be a number, got {describe(score)}.", field=name, where=row.where
            )
    response = Response(
        row.text("id"),
        row.text("response"),
        row.text("knowledge"),
        inconsistent,
        _optional(row, "system"),
        _optional(row, "context"),
        row.where,
        rating=rating,  # type: ignore[arg-type]  # checked above
    )
    return Judged(response, scores)


def _optional(row: Row, name: str) -> str | None:
    return None if row.fields.get(name) is None else row.text(name)
