"""``semqa eval tofueval completeness`` and ``relevance``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.eval.judge_options import JudgeOptions, takes_judge_options
from semqa.cli.eval.judging import judge_progress
from semqa.cli.eval.options import RecordOut, Rescore, check_rescore
from semqa.cli.eval.tofueval_ask import (
    PromptFile,
    Summaries,
    finish,
    load_prompt,
    tell_too_long,
)
from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.attribution.tofueval.data import SummaryKey
    from semqa.attribution.tofueval.judging import Coverage

__all__ = ["completeness", "relevance"]

COVERED = "tofueval completeness"
RATED = "tofueval relevance"


@takes_judge_options
def completeness(
    asking: JudgeOptions,
    files: Summaries = None,
    key_points: Annotated[
        list[Path] | None,
        typer.Option(
            "--key-points",
            "-k",
            help="CSV with doc_id, topic and key_points, as released; repeat it for more.",
            show_default=False,
        ),
    ] = None,
    by_prompt: Annotated[
        bool,
        typer.Option(
            "--by-prompt", help="Ask about all key points at once, rather than for entailment."
        ),
    ] = False,
    prompt: PromptFile = None,
    out: RecordOut = None,
    rescore: Rescore = None,
    as_json: AsJson = False,
) -> None:
    """Judge how many of their topic's key points summaries make."""
    from semqa.attribution.judges import PatientJudge
    from semqa.attribution.records import read_record
    from semqa.attribution.tofueval.data import read_key_points
    from semqa.attribution.tofueval.judging import judge_coverage, read_texts, whole_summaries

    check_rescore(rescore, files, *(key_points or ()))
    check_stdin_once(*(files or ()), *(key_points or ()), rescore)
    check_not_an_input(out, *(files or ()), *(key_points or ()), rescore)
    if rescore is not None:
        record = read_record(rescore, COVERED)
        found = [_coverage(row.fields, row.where) for row in record.rows]
        _finish_coverage(dict(record.fields), found, out, as_json=as_json)
        return
    if not files or not key_points:
        raise InputError(
            "completeness: got no summaries or no --key-points, expected both; name the files"
        )
    if prompt is not None and not by_prompt:
        raise InputError("--prompt: got one without --by-prompt, expected both; add it")
    summaries = whole_summaries(read_texts(files, "summary"))
    points = _points_of(
        summaries, [(p.doc_id, p.topic, p.points) for p in read_key_points(key_points)]
    )
    template = load_prompt(prompt, "tofueval-key-points") if by_prompt else None
    asked = asking.open()
    with judge_progress(asked, "key points"):
        patient = PatientJudge(asked)
        found = judge_coverage(summaries, points, patient, template, by_prompt=by_prompt)
    made = {"kind": COVERED, **_config(asked, template, by_prompt=by_prompt)}
    tell_too_long(made, patient, "a reply that cannot be read" if by_prompt else "not made")
    _finish_coverage(made, found, out, as_json=as_json)


@takes_judge_options
def relevance(
    asking: JudgeOptions,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="Summaries as for judge; with --rated, JSON lines with a rating from 1 to 5 and "
            "perhaps model_name.",
            show_default=False,
        ),
    ] = None,
    rated: Annotated[
        bool, typer.Option("--rated", help="Take the ratings that the files have; ask no judge.")
    ] = False,
    prompt: PromptFile = None,
    out: RecordOut = None,
    as_json: AsJson = False,
) -> None:
    """Rate from 1 to 5 how much of a summary is about its topic; 3 and more count as relevant."""
    from semqa.attribution.judges import PatientJudge
    from semqa.attribution.tofueval.judging import rate_relevance, read_texts, whole_summaries

    if not files:
        raise InputError("relevance: got no file, expected at least one; name one")
    check_stdin_once(*files)
    check_not_an_input(out, *files)
    if rated:
        rows = [row for path in files for row in _ratings(path)]
        config: dict[str, Any] = {"config": {"rated": True}}
    else:
        summaries = whole_summaries(read_texts(files, "summary"))
        template = load_prompt(prompt, "tofueval-relevance")
        asked = asking.open()
        with judge_progress(asked, "relevance"):
            patient = PatientJudge(asked)
            found = rate_relevance(summaries, patient, template)
        rows = [
            {**_named(key), "rating": rating, "reply": reply}
            for (key, _), (rating, reply) in zip(summaries, found, strict=True)
        ]
        config = _config(asked, template)
        tell_too_long(config, patient, "a reply without a rating")
    results = _means(rows)
    record = {"kind": RATED, **config, "results": results, "rows": rows}
    shown = [
        f"{name}: "
        + ("unscored" if found["relevance"] is None else f"{found['relevance']:.2f} relevant")
        + f", of {found['n'] - found['unread']}"
        + (f"; no rating in {found['unread']}" if found["unread"] else "")
        for name, found in results.items()
    ]
    finish(record, out, shown, as_json=as_json)


def _means(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean relevance and unread ratings of each model and of all."""
    from semqa.attribution.tofueval.judging import mean_relevance

    groups: dict[str, list[float | None]] = {}
    for row in rows:
        groups.setdefault(row["model_name"], []).append(row["rating"])
    if len(groups) > 1:
        groups["all"] = [row["rating"] for row in rows]
    return {
        name: {
            "n": len(ratings),
            "relevance": mean_relevance(ratings).value,
            "unread": ratings.count(None),
        }
        for name, ratings in groups.items()
    }


def _ratings(path: Path) -> list[dict[str, Any]]:
    from semqa.attribution.records import read_record_rows
    from semqa.attribution.tofueval.judging import HIGHEST_RATING
    from semqa.data.jsonl import describe

    found = []
    for row in read_record_rows(path):
        rating = row.fields.get("rating")
        number = isinstance(rating, int | float) and not isinstance(rating, bool)
        if rating is not None and not (number and 1 <= rating <= HIGHEST_RATING):  # type: ignore[operator]
            raise InputError(
                f"{row.where}: not a rating: got {describe(rating)}, expected a number from 1 to "
                f"{HIGHEST_RATING}, or null; correct it"
            )
        model = row.text("model_name", "") or "summary"
        found.append({**row.fields, "model_name": model, "rating": rating})
    return found


def _points_of(
    summaries: Iterable[tuple[SummaryKey, str]],
    known: Iterable[tuple[str, str, tuple[str, ...]]],
) -> dict[SummaryKey, tuple[str, ...]]:
    points = {(doc_id, topic): each for doc_id, topic, each in known}
    found = {}
    for key, _ in summaries:
        if (key.doc_id, key.topic) not in points:
            raise InputError(
                f"--key-points: missing: got none for the document {key.doc_id!r} and the topic "
                f"{key.topic!r}, expected a row for each; add it"
            )
        found[key] = points[key.doc_id, key.topic]
    return found


def _finish_coverage(
    record: dict[str, Any], found: Sequence[Coverage], out: Path | None, *, as_json: bool
) -> None:
    from semqa.attribution.tofueval.judging import mean_completeness

    groups: dict[str, list[Coverage]] = {}
    for each in found:
        groups.setdefault(each.key.model, []).append(each)
    if len(groups) > 1:
        groups["all"] = list(found)
    results = {}
    shown = []
    for name, some in groups.items():
        mean = mean_completeness(each.score for each in some)
        unscored: dict[str, int] = {}
        for each in some:
            if each.score.unscored is not None:
                unscored[each.score.unscored] = unscored.get(each.score.unscored, 0) + 1
        results[name] = {**mean.to_dict(), "reasons": unscored}
        value = "unscored" if mean.value is None else f"{100 * mean.value:.1f}%"
        left = "".join(f"; left out: {count} ({reason})" for reason, count in unscored.items())
        shown.append(f"{name}: {value} of key points, over {mean.n} summaries{left}")
    record["results"] = results
    record["rows"] = [each.to_dict() for each in found]
    finish(record, out, shown, as_json=as_json)


def _coverage(fields: dict[str, Any], where: str) -> Coverage:
    from semqa.attribution.judges.replies import read_points
    from semqa.attribution.tofueval.data import SummaryKey
    from semqa.attribution.tofueval.judging import Coverage

    try:
        key = SummaryKey(
            *(str(fields[name]) for name in ("dataset", "doc_id", "topic", "model_name"))
        )
        made, reply = tuple(fields["made"]), fields.get("reply")
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{where}: not a row of completeness: got {error}, expected what --out wrote; write it again"
        ) from error
    if reply is not None:
        return Coverage(key, tuple(read_points(str(reply), len(made))), str(reply))
    return Coverage(key, made)


def _named(key: SummaryKey) -> dict[str, str]:
    return {
        "dataset": key.dataset,
        "doc_id": key.doc_id,
        "topic": key.topic,
        "model_name": key.model,
    }


def _config(asked: Any, template: Any, **settings: object) -> dict[str, Any]:
    from semqa.attribution.records import describe_judge, versions

    config: dict[str, Any] = {"judge": describe_judge(asked), **settings}
    if template is not None:
        config["prompt"] = {"name": template.name, "sha256": template.sha256}
    asked.close()
    return {"config": config, "versions": versions()}
