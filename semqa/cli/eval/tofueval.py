"""``semqa eval tofueval``: errors in summaries of dialogues, and judges that find them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semqa.cli.eval.judging import (
    AllowMissing,
    JudgeOptions,
    RecordOut,
    Rescore,
    check_rescore,
    count_note,
    judge_progress,
    make_table,
    shown,
    takes_judge_options,
    too_long_note,
)
from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.table import Table

    from semqa.attribution.judges import CachedJudge, PatientJudge
    from semqa.attribution.prompts import JudgePrompt
    from semqa.attribution.tofueval.data import AnnotatedSentence, SummaryKey
    from semqa.attribution.tofueval.judging import Coverage, Judgement
    from semqa.attribution.tofueval.meta import ErrorCounts, Evaluator, Rate


def rates_table(rates: Iterable[Rate], per: str) -> Table:
    """Return one row per dataset, category and split (or model), with both levels beside each other.

    Args:
        rates: all rates.
        per: ``split`` or ``model``: what rows are parted by, beside the pooled ones.
    """
    other = "model" if per == "split" else "split"
    rows: dict[tuple[str, str, str], dict[str, Rate]] = {}
    for rate in rates:
        if getattr(rate, other) == "all":
            name = (rate.dataset, rate.category, getattr(rate, per))
            rows.setdefault(name, {})[rate.level] = rate
    if len({dataset for dataset, _, _ in rows}) == 2:  # pooled over one
        rows = {name: levels for name, levels in rows.items() if name[0] != "all"}
    names = ("dataset", "topics", per)
    table = make_table(*names, "sentences", "err", "%", "summaries", "err", "%", left=3)
    for name, levels in rows.items():
        cells = [
            cell
            for level in ("sentence", "summary")
            for cell in (
                str(levels[level].n),
                str(levels[level].errors),
                f"{levels[level].percent:.1f}",
            )
        ]
        table.add_row(*name, *cells)
    return table


def types_table(counts: ErrorCounts) -> Table:
    """Return one row per type of error."""
    table = make_table("error", "sentences", "%", "alone")
    for name, count in counts.exploded.items():
        share = 100 * count / counts.inconsistent
        table.add_row(name, str(count), f"{share:.1f}", str(counts.single.get(name, 0)))
    return table


def evaluator_tables(row: Mapping[str, Any]) -> list[Table]:
    """Return the cells and the recall by type of error of an evaluator's first run."""
    run = row["runs"][0]
    means = {
        (cell["dataset"], cell["category"], cell["level"]): cell["balanced_accuracy"]
        for cell in row.get("mean", ())
    }
    title = f"{row['name']}" + (f" (run {run['run']} of {len(row['runs'])})" if means else "")
    columns = [title, "topics", "level", "n", "FPR", "FNR", "BAcc"]
    table = make_table(*columns, *(["BAcc, mean of runs"] if means else []), left=3)
    one = len({cell["dataset"] for cell in run["cells"]}) == 2
    for cell in run["cells"]:
        if one and cell["dataset"] == "all":  # pooled over one
            continue
        name = (cell["dataset"], cell["category"], cell["level"])
        shares = [shown(cell[key], 1) for key in ("fpr", "fnr", "balanced_accuracy")]
        mean = [shown(means.get(name), 1)] if means else []
        table.add_row(*name, str(cell["n"]), *shares, *mean)
    recall = make_table("recall by error", "n", "found", "%", "alone", "%")
    single = {each["error"]: each for each in run["recall_by_single_error_type"]}
    for each in run["recall_by_error_type"]:
        alone = single.get(each["error"])
        recall.add_row(
            each["error"],
            str(each["n"]),
            str(each["hits"]),
            shown(each["recall"], 1),
            "0" if alone is None else str(alone["n"]),
            "" if alone is None else shown(alone["recall"], 1),
        )
    return [table, *([recall] if run["recall_by_error_type"] else [])]


def judged_table(judgements: Sequence[Judgement]) -> Table:
    """Return one row per model: texts, how many are inconsistent, how many replies have no verdict."""
    rows: dict[str, list[Judgement]] = {}
    for each in judgements:
        rows.setdefault(each.judged.key.model, []).append(each)
    level = judgements[0].judged.level if judgements else "text"
    table = make_table(
        "model",
        "sentences" if level == "sentence" else "summaries",
        "inconsistent",
        "%",
        "no verdict",
    )
    names = [*sorted(rows), *(["all"] if len(rows) > 1 else [])]
    for name in names:
        some = judgements if name == "all" and name not in rows else rows[name]
        wrong = sum(each.inconsistent is True for each in some)
        unread = sum(each.inconsistent is None for each in some)
        share = shown(100 * wrong / (len(some) - unread) if len(some) > unread else None, 1)
        table.add_row(name, str(len(some)), str(wrong), share, str(unread))
    return table


def tests_table(tests: Iterable[Mapping[str, Any]]) -> Table:
    """Return one row per paired test."""
    table = make_table(
        "against the first", "level", "BAcc difference", "interval", "p", "n", left=2
    )
    for test in tests:
        if "untested" in test:
            continue
        table.add_row(
            f"{test['a']} - {test['b']}",
            test["level"],
            f"{test['difference']:+.2f}",
            f"{test['low']:+.2f} – {test['high']:+.2f}",
            f"{test['p']:.4f}",
            str(test["n"]),
        )
    return table


JUDGED = "tofueval judgements"
RUNS_TEMPERATURE = 0.7
"""Of repeated runs, as in the paper."""

Documents = Annotated[
    list[Path] | None,
    typer.Option(
        "--documents",
        "-d",
        help="The dialogues: CSV or JSON lines with doc_id (or meeting_id) and source; repeat it.",
        show_default=False,
    ),
]
Summaries = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE...",
        help="Annotated sentences, CSV as released; or JSON lines with doc_id, topic, model_name "
        "and summary.",
        show_default=False,
    ),
]
PromptFile = Annotated[
    Path | None,
    typer.Option(help="Your own prompt, a Jinja template.", show_default=False),
]


@takes_judge_options
def topics(
    asking: JudgeOptions,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="The dialogues: CSV or JSON lines with doc_id and source.",
            show_default=False,
        ),
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=20, help="Topics of a document.")] = 3,
    prompt: PromptFile = None,
    out: RecordOut = None,
    as_json: AsJson = False,
) -> None:
    """Ask a language model for the topics of dialogues."""
    from semqa.attribution.judges import PatientJudge
    from semqa.attribution.tofueval.judging import find_topics

    check_not_an_input(out, *(files or ()))
    documents = _documents(files)
    template = load_prompt(prompt, "tofueval-topics")
    asked = asking.open()
    with judge_progress(asked, "topics"):
        patient = PatientJudge(asked)
        found = find_topics(list(documents.values()), patient, count=count, prompt=template)
    rows = [{"doc_id": f.doc_id, "topics": list(f.topics), "reply": f.reply} for f in found]
    record = _record("tofueval topics", asked, template, {"count": count}, rows)
    lines = [f"{f.doc_id}: {'; '.join(f.topics) or 'no topic in the reply'}" for f in found]
    tell_too_long(record, patient, "a reply without a topic")
    finish(record, out, lines, as_json=as_json)


@takes_judge_options
def summarise(
    asking: JudgeOptions,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="The dialogues: CSV or JSON lines with doc_id and source.",
            show_default=False,
        ),
    ] = None,
    wanted: Annotated[
        Path | None,
        typer.Option(
            "--topics",
            help="A record of topics, or JSON lines with doc_id and topic.",
            show_default=False,
        ),
    ] = None,
    words: Annotated[
        int, typer.Option(min=1, max=1000, help="Maximum words of a summary, exclusive.")
    ] = 50,
    model_name: Annotated[
        str | None, typer.Option(help="What the summaries are by.", show_default="the judge")
    ] = None,
    prompt: PromptFile = None,
    out: RecordOut = None,
    as_json: AsJson = False,
) -> None:
    """Ask a language model for summaries of dialogues, each on one topic."""
    from semqa.attribution.judges import PatientJudge
    from semqa.attribution.tofueval.judging import read_wanted
    from semqa.attribution.tofueval.judging import summarise as ask

    check_stdin_once(*(files or ()), wanted)
    check_not_an_input(out, *(files or ()), wanted)
    if wanted is None:
        raise InputError(
            "is needed; semqa eval tofueval topics makes such a file.", field="--topics"
        )
    documents = _documents(files)
    pairs = read_wanted(wanted)
    unknown = [doc_id for doc_id, _ in pairs if doc_id not in documents]
    if unknown:
        raise InputError(
            f"There is no document {unknown[0]!r} among the {len(documents)} that were given.",
            where=str(wanted),
        )
    template = load_prompt(prompt, "tofueval-summary")
    asked = asking.open()
    with judge_progress(asked, "summaries"):
        patient = PatientJudge(asked)
        found = ask(
            [(documents[doc_id], topic) for doc_id, topic in pairs],
            patient,
            words=words,
            model=model_name or "",
            prompt=template,
        )
    asked_for = len(found)
    found = [summary for summary in found if summary.text]
    rows = [each.to_dict() for each in found]
    record = _record("tofueval summaries", asked, template, {"words": words}, rows)
    tell_too_long(record, patient, "no summary")
    for note in count_note(asked_for - len(found) - patient.too_long, "no summary"):
        say(note)
    finish(record, out, [f"{s.doc_id}, {s.topic}: {s.text}" for s in found], as_json=as_json)


@takes_judge_options
def judge(
    asking: JudgeOptions,
    files: Summaries = None,
    documents: Documents = None,
    method: Annotated[
        Literal["direct", "explained", "entailment"],
        typer.Option(
            help="Ask for a verdict; for an explanation, then a verdict; or take the probability "
            "that the document entails the text."
        ),
    ] = "entailment",
    level: Annotated[
        Literal["sentence", "summary"], typer.Option(help="What is judged.")
    ] = "sentence",
    runs: Annotated[int, typer.Option(min=1, max=100, help="Sampled runs; the paper has 3.")] = 1,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=2.0, help="Sampling temperature.", show_default="0.7 for several runs"
        ),
    ] = None,
    extra: Annotated[
        bool, typer.Option("--extra", help="Judge Model-Extra too, which the paper does not have.")
    ] = False,
    prompt: PromptFile = None,
    out: RecordOut = None,
    rescore: Rescore = None,
    as_json: AsJson = False,
) -> None:
    """Judge whether summaries are consistent with their documents.

    What was judged is kept: a run that was interrupted or killed goes on
    where it stopped when the same command is given again. The record is
    what semqa eval tofueval score takes as --predictions.
    """
    from semqa.attribution.tofueval.data import EXTRA_MODEL
    from semqa.attribution.tofueval.judging import PROMPTS, judge_texts, read_texts

    check_rescore(rescore, files, *(documents or ()))
    check_stdin_once(*(files or ()), *(documents or ()), rescore)
    check_not_an_input(out, *(files or ()), *(documents or ()), rescore)
    if rescore is not None:
        record, found = _read_again(rescore)
        finish(record, out, None, as_json=as_json, table=found)
        return
    texts = read_texts(files or (), level, frozenset() if extra else frozenset({EXTRA_MODEL}))
    known = _documents(documents)
    if method == "entailment" and prompt is not None:
        raise InputError("excludes --method entailment.", field="--prompt")
    template = None if method == "entailment" else load_prompt(prompt, PROMPTS[method])
    if method == "entailment" and (runs > 1 or temperature):
        raise InputError(
            "samples replies; choose --method direct or explained.",
            field="--runs" if runs > 1 else "--temperature",
        )
    if runs > 1 and temperature == 0:
        raise InputError(
            "must be above 0 for several runs.", field="--temperature", value=temperature
        )
    if runs > 1 and temperature is None:
        temperature = RUNS_TEMPERATURE
    found, rows = [], []
    for number in range(1, runs + 1):
        asked = asking.open(temperature=temperature, seed=number if temperature else None)
        with judge_progress(asked, "judging" if runs == 1 else f"run {number}"):
            judged = judge_texts(texts, known, asked, method, template)
        found += judged
        rows += [each.to_dict() | ({"run": str(number)} if runs > 1 else {}) for each in judged]
        if number < runs:
            asked.close()
    settings = {"method": method, "level": level, "runs": runs, "temperature": temperature or 0.0}
    record = _record(JUDGED, asked, template, settings, rows)
    finish(record, out, None, as_json=as_json, table=found)


@takes_judge_options
def classify(
    asking: JudgeOptions,
    files: Summaries = None,
    documents: Documents = None,
    extra: Annotated[
        bool, typer.Option("--extra", help="Take Model-Extra too, which the paper does not have.")
    ] = False,
    prompt: PromptFile = None,
    out: RecordOut = None,
    as_json: AsJson = False,
) -> None:
    """Ask a language model which errors sentences make.

    Of annotated sentences those that err are asked about; of a record of
    judge, those that were found inconsistent.
    """
    from collections import Counter

    from semqa.attribution.judges import PatientJudge
    from semqa.attribution.tofueval.judging import classify_errors

    check_stdin_once(*(files or ()), *(documents or ()))
    check_not_an_input(out, *(files or ()), *(documents or ()))
    wrong = _wrong_sentences(files, extra=extra)
    known = _documents(documents)
    template = load_prompt(prompt, "tofueval-error-types")
    asked = asking.open()
    with judge_progress(asked, "errors"):
        patient = PatientJudge(asked)
        found = classify_errors(wrong, known, patient, template)
    counts = Counter(name for each in found for name in each.errors)
    unread = sum(not each.errors for each in found)
    record = _record("tofueval errors", asked, template, {}, [each.to_dict() for each in found])
    record["results"] = {"sentences": len(found), "types": dict(counts), "unread": unread}
    tell_too_long(record, patient, "a reply without a type")
    lines = [f"{name}: {count}" for name, count in counts.most_common()]
    finish(
        record, out, [*lines, f"no type in the reply: {unread} of {len(found)}"], as_json=as_json
    )


def load_prompt(path: Path | None, name: str) -> JudgePrompt:
    """Return the user's prompt, or ours."""
    from semqa.attribution.prompts import JudgePrompt

    return JudgePrompt.load(name if path is None else path)


def finish(
    record: dict[str, Any],
    out: Path | None,
    lines: Sequence[str] | None,
    *,
    as_json: bool,
    table: Sequence[Judgement] | None = None,
) -> None:
    """Write the record if asked to, and print it or its summary."""
    from semqa.attribution.records import write_record

    if out is not None:
        write_record(out, record)
    if as_json:
        write_result(json_line(record, indent=2))
        return
    if table is not None:
        from semqa.cli.tables import print_tables

        print_tables(judged_table(table))
    for line in lines or ():
        write_result(line)


def tell_too_long(record: dict[str, Any], judge: PatientJudge, taken_for: str) -> None:
    """Record how many inputs were too long for the judge, and say so."""
    record["config"]["too_long"] = judge.too_long
    for note in too_long_note(judge.too_long, taken_for):
        say(note)


def _record(
    kind: str,
    asked: CachedJudge,
    prompt: JudgePrompt | None,
    settings: Mapping[str, object],
    rows: list[dict[str, Any]],
) -> dict[str, Any]:
    from semqa.attribution.records import describe_judge, versions

    config: dict[str, Any] = {"judge": describe_judge(asked), **settings}
    if prompt is not None:
        config["prompt"] = {"name": prompt.name, "sha256": prompt.sha256}
    asked.close()
    return {"kind": kind, "config": config, "versions": versions(), "rows": rows}


def _documents(files: Sequence[Path] | None) -> dict[str, Any]:
    from semqa.attribution.tofueval.data import read_documents

    if not files:
        raise InputError(
            "Name the documents: CSV or JSON lines with doc_id and source.",
            hint="The release of TofuEval has ids alone: see docs/attribution/tofueval.md.",
        )
    return dict(read_documents(files))


def _wrong_sentences(files: Sequence[Path] | None, *, extra: bool) -> list[Any]:
    from semqa.attribution.records import read_record_rows
    from semqa.attribution.tofueval.data import EXTRA_MODEL, read_annotations
    from semqa.attribution.tofueval.judging import Judged, judgement_of

    wrong: list[Judged] = []
    for path in files or ():
        if path.suffix.lower() == ".csv":
            read = read_annotations([path])
            wrong += [Judged(s.key, s.index, s.text) for s in read if s.inconsistent]
        else:
            said = [judgement_of(row) for row in read_record_rows(path)]
            wrong += [each.judged for each in said if each.inconsistent]
    kept = [each for each in wrong if extra or each.key.model != EXTRA_MODEL]
    if not kept:
        raise InputError("No sentence in these files errs.")
    return list(dict.fromkeys(kept))


def _read_again(path: Path) -> tuple[dict[str, Any], list[Judgement]]:
    from semqa.attribution.records import read_record
    from semqa.attribution.tofueval.judging import judgement_of

    record = read_record(path, JUDGED)
    found = [judgement_of(row) for row in record.rows]
    rows = [
        each.to_dict() | ({"run": row.fields["run"]} if "run" in row.fields else {})
        for each, row in zip(found, record.rows, strict=True)
    ]
    return {**record.fields, "rows": rows}, found


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
        raise InputError("Name summaries and --key-points.")
    if prompt is not None and not by_prompt:
        raise InputError("needs --by-prompt.", field="--prompt")
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
        raise InputError("Name at least one file.")
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
    lines = [
        f"{name}: "
        + ("unscored" if found["relevance"] is None else f"{found['relevance']:.2f} relevant")
        + f", of {found['n'] - found['unread']}"
        + (f"; no rating in {found['unread']}" if found["unread"] else "")
        for name, found in results.items()
    ]
    finish(record, out, lines, as_json=as_json)


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
                f"must be a number from 1 to {HIGHEST_RATING} or null, got {describe(rating)}.",
                field="rating",
                where=row.where,
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
                f"lack the document {key.doc_id!r} with the topic {key.topic!r}.",
                field="--key-points",
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
    lines = []
    for name, some in groups.items():
        mean = mean_completeness(each.score for each in some)
        unscored: dict[str, int] = {}
        for each in some:
            if each.score.unscored is not None:
                unscored[each.score.unscored] = unscored.get(each.score.unscored, 0) + 1
        results[name] = {**mean.to_dict(), "reasons": unscored}
        value = "unscored" if mean.value is None else f"{100 * mean.value:.1f}%"
        left = "".join(f"; left out: {count} ({reason})" for reason, count in unscored.items())
        lines.append(f"{name}: {value} of key points, over {mean.n} summaries{left}")
    record["results"] = results
    record["rows"] = [each.to_dict() for each in found]
    finish(record, out, lines, as_json=as_json)


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
        raise InputError(f"Not a row of completeness: {error}.", where=where) from error
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


Annotations = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE...",
        help="Annotated sentences, CSV as released ({dataset}_factual_eval_{split}.csv).",
        show_default=False,
    ),
]
Categories = Annotated[
    list[Path] | None,
    typer.Option(
        "--topics",
        help="Which topics are main and which marginal, JSON ({dataset}_topic_category.json); "
        "repeat it for more.",
        show_default=False,
    ),
]
Splits = Annotated[
    Path | None,
    typer.Option(
        "--splits",
        help="Which documents are in which split, JSON; otherwise the files' names say.",
        show_default=False,
    ),
]
Extra = Annotated[
    bool,
    typer.Option("--extra", help="Count Model-Extra too, which the paper does not have."),
]


def rates(
    files: Annotations = None,
    topics: Categories = None,
    splits: Splits = None,
    extra: Extra = False,
    by_model: Annotated[
        bool, typer.Option("--by-model", help="Part rows by model rather than by split.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count how often summaries err, by topic, split and model, and the types of errors."""
    from semqa.attribution.tofueval.data import by_summary, doubled, read_categories
    from semqa.attribution.tofueval.meta import count_errors, error_rates, lengths

    sentences = read_sentences(files, splits, extra=extra)
    categories = read_categories(topics or ())
    _check_categories(sentences, categories)
    found = error_rates(sentences, categories)
    errors = count_errors(sentences)
    if as_json:
        record = {
            "sentences": len(sentences),
            "summaries": len(by_summary(sentences)),
            "doubled": doubled(sentences),
            "extra": extra,
            "rates": [rate.to_dict() for rate in found],
            "errors": errors.to_dict(),
            "lengths": {name: mean.to_dict() for name, mean in lengths(sentences).items()},
        }
        write_result(json_line(record, indent=2))
        return
    from semqa.cli.tables import print_tables

    tables = [rates_table(found, "model" if by_model else "split")]
    print_tables(*tables, *([types_table(errors)] if errors.exploded else []))
    if by_model:
        write_result("the release shuffles the letters of models by topic: a letter is not a model")
    if errors.several:
        write_result(f"{errors.several} of {errors.inconsistent} sentences have several errors")
    if count := doubled(sentences):
        write_result(f"{count} sentences are there twice, and count twice")


def score(
    files: Annotations = None,
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            "--predictions",
            "-p",
            help="What an evaluator said: JSON lines, or a record of judge; repeat it for more "
            "evaluators, which are compared with the first.",
            show_default=False,
        ),
    ] = None,
    topics: Categories = None,
    splits: Splits = None,
    split: Annotated[
        str | None,
        typer.Option(help="Score this split, or all.", show_default="test where there is one"),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Up to this score a text is inconsistent.", show_default="tuned on the split dev"
        ),
    ] = None,
    labels: Annotated[
        bool,
        typer.Option("--labels", help="Take verdicts where predictions have scores as well."),
    ] = False,
    as_runs: Annotated[
        bool,
        typer.Option("--as-runs", help="Take the files of predictions as runs of one evaluator."),
    ] = False,
    extra: Extra = False,
    by_document: Annotated[
        bool,
        typer.Option(
            "--by-document", help="Draw documents, not sentences, when evaluators are compared."
        ),
    ] = False,
    resamples: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Bootstrap resamples.")
    ] = 10_000,
    seed: Annotated[int, typer.Option(min=0, envvar="SEMQA_SEED", help="Random seed.")] = 0,
    allow_missing: AllowMissing = False,
    out: RecordOut = None,
    rescore: Rescore = None,
    as_json: AsJson = False,
) -> None:
    """Score evaluators by the annotations: BAcc, FPR, FNR, recall by error, kappa between runs.

    Predictions are JSON lines with doc_id, topic, model_name, sent_idx and
    either label (yes: consistent, no, or null) or score (high: consistent);
    without sent_idx a line is about a whole summary. A field run names
    repeated runs. Scores get a threshold that is tuned on the split dev.
    """
    from semqa.attribution.records import read_record, versions, write_record
    from semqa.attribution.tofueval.data import read_categories
    from semqa.attribution.tofueval.scoring import (
        KIND,
        Benchmark,
        Settings,
        benchmark_of,
        rows_of,
        score_evaluators,
    )

    check_rescore(rescore, files, *(predictions or ()))
    check_stdin_once(*(files or ()), *(predictions or ()), rescore)
    check_not_an_input(out, *(files or ()), *(predictions or ()), rescore)
    if rescore is not None:
        benchmark = benchmark_of(read_record(rescore, KIND))
    else:
        if not predictions:
            raise InputError("is needed.", field="--predictions")
        sentences = read_sentences(files, splits, extra=extra)
        categories = read_categories(topics or ())
        _check_categories(sentences, categories)
        settings = Settings(split, threshold, by_document, resamples, seed)
        evaluators = _evaluators(predictions, labels=labels, as_runs=as_runs)
        benchmark = Benchmark(sentences, categories, evaluators, settings)
    results = score_evaluators(benchmark)
    if not allow_missing and rescore is None:
        _check_complete(results)
    record = {
        "kind": KIND,
        "config": {
            "settings": dataclasses.asdict(benchmark.settings),
            "evaluators": [
                {"name": each.name, "runs": list(each.runs), "scored": each.scored}
                for each in benchmark.evaluators
            ],
        },
        "results": results,
        "versions": versions("numpy"),
    }
    if out is not None:
        write_record(out, {**record, "rows": list(rows_of(benchmark))})
    if as_json:
        write_result(json_line(record, indent=2))
        return
    _show(results)


def read_sentences(
    files: Sequence[Path] | None, splits: Path | None, *, extra: bool
) -> list[AnnotatedSentence]:
    """Read annotated sentences, and say what is left out.

    Raises:
        InputError: there are none, or a file is invalid.
    """
    from semqa.attribution.tofueval.data import EXTRA_MODEL, read_annotations, read_splits

    if not files:
        raise InputError("Name at least one CSV file of annotations.")
    check_stdin_once(*files)
    found = read_annotations(files, None if splits is None else read_splits(splits))
    kept = found if extra else [s for s in found if s.key.model != EXTRA_MODEL]
    if not kept:
        raise InputError(
            f"All {len(found)} sentences are of {EXTRA_MODEL}; --extra counts them."
            if found
            else "There are no sentences below the header.",
            where=str(files[0]),
        )
    if len(kept) < len(found):
        say(f"left out: {len(found) - len(kept)} sentences of {EXTRA_MODEL}; --extra counts them")
    return kept


def _check_categories(sentences: Sequence[AnnotatedSentence], categories: object) -> None:
    from semqa.attribution.tofueval.meta import categories_of

    if not categories or not isinstance(categories, dict):
        return
    unknown = categories_of(sentences, categories).count("")
    if unknown == len(sentences):
        raise InputError(
            f"has no topic of the dataset {sentences[0].key.dataset!r}; name the file {{dataset}}_topic_category.json.",
            field="--topics",
        )
    if unknown:
        say(f"{unknown} sentences have a topic of no category; they count among all topics alone")


def _evaluators(paths: Sequence[Path], *, labels: bool, as_runs: bool) -> list[Evaluator]:
    from semqa.attribution.records import read_record_rows
    from semqa.attribution.tofueval.meta import evaluator_of

    if as_runs:
        rows = [
            dataclasses.replace(row, fields={"run": path.stem, **row.fields})
            for path in paths
            for row in read_record_rows(path)
        ]
        return [evaluator_of(rows, "runs", labels=labels)]
    found: list[Evaluator] = []
    for path in paths:
        name, number = path.stem or "-", 2
        while name in [each.name for each in found]:
            name, number = f"{path.stem} {number}", number + 1
        found.append(evaluator_of(read_record_rows(path), name, labels=labels))
    return found


def _check_complete(results: dict[str, object]) -> None:
    evaluators = results["evaluators"]
    for evaluator in evaluators if isinstance(evaluators, list) else ():
        for run in evaluator["runs"]:
            cells = {cell["level"] for cell in run["cells"]}
            for level, count in run["missing"].items():
                # An evaluator of whole summaries needs no predictions of sentences.
                if count and (level in cells or not cells):
                    raise InputError(
                        f"{evaluator['name']} has no prediction for {count} texts at the level {level}.",
                        hint="Add them, or use --allow-missing.",
                    )


def _show(results: dict[str, object]) -> None:
    from semqa.cli.tables import print_tables

    evaluators, tests = results["evaluators"], results["tests"]
    for row in evaluators if isinstance(evaluators, list) else ():
        print_tables(*evaluator_tables(row))
        for level, found in row["runs"][0]["thresholds"].items():
            value = "none: nothing is inconsistent" if found["value"] is None else found["value"]
            write_result(f"threshold for a {level}: {value}")
        for level, count in row["runs"][0]["unread"].items():
            if count:
                write_result(f"left out: {count} at the level {level}, whose reply has no verdict")
        if "self_agreement" in row:
            agreement = row["self_agreement"]
            of_each = agreement["datasets"]
            kappas = of_each if len(of_each) == 1 else {**of_each, "all": agreement["mean"]}
            for dataset, mean in kappas.items():
                write_result(
                    f"kappa between runs, {dataset}: {shown(mean['value'])}"
                    + (f" ({mean['unscored']})" if mean["value"] is None else "")
                )
    if isinstance(tests, list) and tests:
        print_tables(tests_table(tests))
        for test in tests:
            if "untested" in test:
                write_result(
                    f"not compared: {test['a']} at the level {test['level']}: {test['untested']}"
                )


app = typer.Typer(
    name="tofueval",
    help="TofuEval: do summaries on a topic say what the dialogue says, and does a judge see it?",
    no_args_is_help=True,
)
app.command("topics")(topics)
app.command("summarise")(summarise)
app.command("judge")(judge)
app.command("classify")(classify)
app.command("completeness")(completeness)
app.command("relevance")(relevance)
app.command("rates")(rates)
app.command("score")(score)
