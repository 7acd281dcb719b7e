"""Score a set of answers: one row per example, and means with confidence intervals."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING, Any

from semqa.attribution.citations.scores import (
    disambig_scores,
    dr_score,
    rouge_l,
    score_citations,
    string_match,
)
from semqa.metrics.bootstrap import mean_with_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.citations.examples import AnswerExample
    from semqa.attribution.judges.base import AnsweringJudge, EntailmentJudge

CITATIONS = "citations"
DISAMBIG = "disambig"

CITATION_SCORES = ("recall", "precision", "str_em", "str_hit", "rouge_l", "length")
DISAMBIG_SCORES = ("disambig_f1", "disambig_em", "disambig_hit", "rouge_l", "str_em", "length")


def citation_rows(
    examples: Sequence[AnswerExample],
    judge: EntailmentJudge,
    *,
    at_most: int | None = None,
    official: bool = False,
) -> list[dict[str, Any]]:
    """Return one row per answer: citation scores, short answers, ROUGE-L and word count."""
    cited = [example.cited(official=official) for example in examples]
    scores = score_citations(cited, judge, at_most=at_most, official=official)
    rows = []
    for example, found in zip(examples, scores, strict=True):
        row = _row_of(example, official=official)
        row |= found.to_dict()
        row["unscored"] = {**row.pop("unscored", {}), **_answer_scores(row, example, official)}
        rows.append(row)
    return rows


def disambig_rows(
    examples: Sequence[AnswerExample], judge: AnsweringJudge, *, official: bool
) -> list[dict[str, Any]]:
    """Return one row per answer: Disambig-F1, short answers, ROUGE-L and word count."""
    scores = disambig_scores(examples, judge, official=official)
    rows = []
    for example, found in zip(examples, scores, strict=True):
        row = _row_of(example, official=official)
        row["pairs"] = [pair.to_dict() for pair in found.pairs]
        values = {"disambig_f1": found.f1, "disambig_em": found.exact, "disambig_hit": found.hit}
        row |= values
        unscored = {} if found.unscored is None else dict.fromkeys(values, found.unscored)
        row["unscored"] = {**unscored, **_answer_scores(row, example, official)}
        rows.append(row)
    return rows


def summarise_citations(
    rows: Sequence[Mapping[str, Any]], *, resamples: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Return means over answers, 0-100 (``length`` in words), each with n and an interval."""
    results = _means(rows, CITATION_SCORES, resamples, seed)
    sentences = [sentence for row in rows for sentence in row["sentences"]]
    return results | {
        "answers": len(rows),
        "sentences": len(sentences),
        "sentences_supported": sum(sentence["supported"] for sentence in sentences),
        "sentences_uncited": sum(not sentence["citations"] for sentence in sentences),
        "citations": sum(len(sentence["precise"]) for sentence in sentences),
        "citations_precise": sum(sum(sentence["precise"]) for sentence in sentences),
    }


def summarise_disambig(
    rows: Sequence[Mapping[str, Any]], *, resamples: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Return means over answers, and the corpus-level DR of the answers with both scores."""
    results = _means(rows, DISAMBIG_SCORES, resamples, seed)
    both = [row for row in rows if None not in (row["disambig_f1"], row["rouge_l"])]
    f1, rouge = (
        fmean(row[name] for row in both) if both else None for name in ("disambig_f1", "rouge_l")
    )
    return {"answers": len(rows), "dr": dr_score(f1, rouge), "dr_n": len(both), **results}


def _row_of(example: AnswerExample, *, official: bool) -> dict[str, Any]:
    return {
        "id": example.key,
        "question": example.question,
        "output": example.text,
        "length": len(example.plain(official=official).split()),
    }


def _answer_scores(row: dict[str, Any], example: AnswerExample, official: bool) -> dict[str, str]:
    """Add the scores that need no judge to a row; return reasons for missing scores."""
    plain = example.plain(official=official)
    match = string_match(plain, example.short_answers, official=official)
    rouge = rouge_l(plain, example.references, official=official)
    row["str_em"] = match.value
    row["str_hit"] = None if match.value is None else 100.0 * (match.value == 100)
    row["rouge_l"] = rouge.value
    reasons = {"str_em": match.unscored, "str_hit": match.unscored, "rouge_l": rouge.unscored}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _means(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], resamples: int, seed: int
) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name in names:
        values = [row[name] for row in rows if row[name] is not None]
        results[name] = mean_with_interval(values, resamples=resamples, seed=seed)._asdict()
        reasons = Counter(row["unscored"][name] for row in rows if name in row["unscored"])
        if reasons:
            results[name]["unscored"] = dict(reasons)
    return results
