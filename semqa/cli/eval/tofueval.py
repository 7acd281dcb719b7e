"""``semqa eval tofueval``: factual errors in dialogue summaries, and judges that detect them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from semqa.cli.eval.judging import (
    AllowMissing,
    JudgeCommand,
    RecordOut,
    Seed,
    finish,
    judging,
    too_long_note,
)
from semqa.cli.inputs import check_files
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.cli.tables import make_table, print_tables, shown, things_table
from semqa.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from semqa.attribution.judges import CachedJudge, TolerantJudge
    from semqa.attribution.prompts import JudgePrompt
    from semqa.attribution.tofueval.data import AnnotatedSentence, SummaryKey
    from semqa.attribution.tofueval.judging import Judged, Judgement
    from semqa.attribution.tofueval.meta import ErrorCounts, Evaluator, Rate

_T = TypeVar("_T")

app = typer.Typer(
    help="TofuEval: factual consistency of topic-focused dialogue summaries, and of its judges.",
    no_args_is_help=True,
)

RUNS_TEMPERATURE = 0.7
"""Sampling temperature of repeated runs, as in the paper."""

Summaries = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="Annotated sentences (CSV as released), or JSON lines with doc_id, topic, model_name "
        "and summary.",
    ),
]
PromptFile = Annotated[Path | None, typer.Option(help="Your own prompt, as a Jinja template.")]


@app.command("judge", cls=JudgeCommand)
def judge(
    ctx: typer.Context,
    files: Summaries = None,
    documents: Annotated[
        list[Path] | None,
        typer.Option(
            "--documents",
            "-d",
            help="Dialogues: CSV or JSON lines with doc_id (or meeting_id) and source; repeatable.",
        ),
    ] = None,
    method: Annotated[
        Literal["direct", "explained", "entailment"],
        typer.Option(
            help="Ask for a verdict (direct) or for an explanation and a verdict (explained), or use "
            "the probability that the document entails the text (entailment)."
        ),
    ] = "entailment",
    level: Annotated[
        Literal["sentence", "summary"], typer.Option(help="Unit to judge.")
    ] = "sentence",
    runs: Annotated[int, typer.Option(min=1, max=100, help="Sampled runs; 3 in the paper.")] = 1,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=2.0, help="Sampling temperature.", show_default="0.7 for several runs"
        ),
    ] = None,
    prompt: PromptFile = None,
    out: RecordOut = None,
    as_json: AsJson = False,
) -> None:
    """Judge whether summaries are consistent with their documents.

    To resume an interrupted run, run the same command again: judgements are
    cached. Pass the record to semqa eval tofueval score as --predictions.
    """
    from semqa.attribution.prompts import JudgePrompt
    from semqa.attribution.tofueval.data import EXTRA_MODEL, read_documents
    from semqa.attribution.tofueval.judging import PROMPTS, judge_texts, read_texts

    check_files(out, *(files or ()), *(documents or ()))
    texts = read_texts(files or (), level, frozenset({EXTRA_MODEL}))
    if not documents:
        raise InputError(
            "No documents. Name CSV or JSON lines with doc_id and source in --documents.",
            hint="TofuEval's release has only ids; see docs/attribution/tofueval.md.",
        )
    known = read_documents(documents)
    if method == "entailment":
        if prompt is not None:
            raise InputError("cannot be combined with --method entailment.", field="--prompt")
        if runs > 1 or temperature:
            raise InputError(
                "needs --method direct or explained.",
                field="--runs" if runs > 1 else "--temperature",
            )
    if runs > 1 and temperature == 0:
        raise InputError(
            "must be above 0 for several runs.", field="--temperature", value=temperature
        )
    if runs > 1 and temperature is None:
        temperature = RUNS_TEMPERATURE
    template = None if method == "entailment" else JudgePrompt.load(prompt or PROMPTS[method])
    found, rows = [], []
    for number in range(1, runs + 1):
        sampling: Any = {"temperature": temperature, "seed": number if temperature else None}
        with judging(ctx, "judging" if runs == 1 else f"run {number}", **sampling) as judge:
            judged = judge_texts(texts, known, judge, method, template)
        found += judged
        rows += [each.to_dict() | ({"run": str(number)} if runs > 1 else {}) for each in judged]
    settings = {"method": method, "level": level, "runs": runs, "temperature": temperature or 0.0}
    record = _record("tofueval judgements", judge, template, settings, rows)
    finish(record, out, lambda: print_tables(_judged_table(found)), as_json=as_json)


@app.command("completeness", cls=JudgeCommand)
def completeness(
    ctx: typer.Context,
    files: Summaries = None,
    key_points: Annotated[
        list[Path] | None,
        typer.Option(
            "--key-points",
            "-k",
            help="CSV with doc_id, topic and key_points, as released; repeatable.",
        ),
    ] = None,
    out: RecordOut = None,
    as_json: AsJson = False,
) -> None:
    """Judge what share of their topic's key points summaries entail."""
    from semqa.attribution.judges import TolerantJudge
    from semqa.attribution.tofueval.data import read_key_points
    from semqa.attribution.tofueval.judging import (
        NO_POINTS,
        judge_coverage,
        mean_completeness,
        read_texts,
    )
    from semqa.attribution.tofueval.judging import completeness as share_covered

    if not files or not key_points:
        raise InputError("Name both summaries and --key-points.")
    check_files(out, *files, *key_points)
    summaries = read_texts(files, "summary")
    known = {(each.doc_id, each.topic): each.points for each in read_key_points(key_points)}
    points: dict[SummaryKey, tuple[str, ...]] = {}
    for each in summaries:
        if (each.key.doc_id, each.key.topic) not in known:
            raise InputError(
                f"has no row for the document {each.key.doc_id!r} with the topic "
                f"{each.key.topic!r}.",
                field="--key-points",
            )
        points[each.key] = known[each.key.doc_id, each.key.topic]
    with judging(ctx, "key points") as judge:
        patient = TolerantJudge(judge)
        made = judge_coverage(summaries, points, patient)
    scores = [share_covered(each) for each in made]
    rows = [
        {**each.key.to_dict(), "made": list(covered), "completeness": score.value}
        | ({"unscored": score.unscored} if score.unscored else {})
        for each, covered, score in zip(summaries, made, scores, strict=True)
    ]
    record = _record("tofueval completeness", judge, None, {}, rows, patient, "not made")
    lines = []
    for name, own in _by_model(summaries, scores).items():
        mean = mean_completeness(own)
        bare = len(own) - mean.n
        reasons = {NO_POINTS: bare} if bare else {}
        record["results"][name] = {**mean.to_dict(), "reasons": reasons}
        value = "unscored" if mean.value is None else f"{100 * mean.value:.1f}%"
        left = f"; left out: {bare} ({NO_POINTS})" if bare else ""
        lines.append(f"{name}: {value} of key points, over {mean.n} summaries{left}")
    finish(record, out, lambda: write_result("\n".join(lines)), as_json=as_json)


@app.command("relevance", cls=JudgeCommand)
def relevance(
    ctx: typer.Context,
    files: Summaries = None,
    prompt: PromptFile = None,
    out: RecordOut = None,
    as_json: AsJson = False,
) -> None:
    """Rate from 1 to 5 how much of a summary is about its topic; 3 or more is relevant."""
    from semqa.attribution.judges import TolerantJudge
    from semqa.attribution.prompts import JudgePrompt
    from semqa.attribution.tofueval.judging import mean_relevance, rate_relevance, read_texts

    if not files:
        raise InputError("No files. Name at least one file of summaries.")
    check_files(out, *files)
    summaries = read_texts(files, "summary")
    template = JudgePrompt.load(prompt or "tofueval-relevance")
    with judging(ctx, "relevance") as judge:
        patient = TolerantJudge(judge)
        found = rate_relevance(summaries, patient, template)
    rows = [
        {**each.key.to_dict(), "rating": rating, "reply": reply}
        for each, (rating, reply) in zip(summaries, found, strict=True)
    ]
    taken_for = "a reply without a rating"
    record = _record("tofueval relevance", judge, template, {}, rows, patient, taken_for)
    lines = []
    for name, ratings in _by_model(summaries, [rating for rating, _ in found]).items():
        mean, unread = mean_relevance(ratings), ratings.count(None)
        record["results"][name] = {"n": len(ratings), "relevance": mean.value, "unread": unread}
        value = "unscored" if mean.value is None else f"{mean.value:.2f} relevant"
        left = f"; no rating in {unread}" if unread else ""
        lines.append(f"{name}: {value}, of {mean.n}{left}")
    finish(record, out, lambda: write_result("\n".join(lines)), as_json=as_json)


def _judged_table(judgements: Sequence[Judgement]) -> Table:
    """Return one row per model: texts, inconsistent texts, and replies without a verdict."""
    whole = bool(judgements) and judgements[0].judged.index is None
    texts = "summaries" if whole else "sentences"
    table = make_table("model", texts, "inconsistent", "%", "no verdict")
    ordered = sorted(judgements, key=lambda each: each.judged.key.model)
    for name, some in _by_model([each.judged for each in ordered], ordered).items():
        wrong = sum(each.inconsistent is True for each in some)
        unread = sum(each.inconsistent is None for each in some)
        share = shown(100 * wrong / (len(some) - unread) if len(some) > unread else None, 1)
        table.add_row(name, str(len(some)), str(wrong), share, str(unread))
    return table


def _by_model(texts: Sequence[Judged], values: Sequence[_T]) -> dict[str, list[_T]]:
    """Return the values of each model's texts, and of all if there are several models."""
    groups: dict[str, list[_T]] = {}
    for text, value in zip(texts, values, strict=True):
        groups.setdefault(text.key.model, []).append(value)
    return {**groups, "all": list(values)} if len(groups) > 1 else groups


def _record(
    kind: str,
    judge: CachedJudge,
    prompt: JudgePrompt | None,
    settings: Mapping[str, object],
    rows: Sequence[Mapping[str, Any]],
    patient: TolerantJudge | None = None,
    taken_for: str = "",
) -> dict[str, Any]:
    """Return a record, and print a note on inputs that were too long for the judge."""
    from semqa.attribution.records import describe_judge, versions

    config: dict[str, Any] = {"judge": describe_judge(judge), **settings}
    if prompt is not None:
        config["prompt"] = {"name": prompt.name, "sha256": prompt.sha256}
    record: dict[str, Any] = {"kind": kind, "config": config, "versions": versions()}
    if patient is not None:
        config["too_long"] = patient.too_long
        record["results"] = {}
        for note in too_long_note(patient.too_long, taken_for):
            say(note)
    return {**record, "rows": rows}


Annotations = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="Annotated sentences: CSV as released ({dataset}_factual_eval_{split}.csv).",
    ),
]
Categories = Annotated[
    list[Path] | None,
    typer.Option(
        help="Main and marginal topics: JSON ({dataset}_topic_category.json); repeatable."
    ),
]


@app.command("rates")
def rates(files: Annotations = None, topics: Categories = None, as_json: AsJson = False) -> None:
    """Compute error rates of summaries by topic and split, and count error types."""
    from semqa.attribution.tofueval.data import by_summary, count_duplicates
    from semqa.attribution.tofueval.meta import count_errors, error_rates

    sentences, categories = _annotated(files, topics)
    found = error_rates(sentences, categories)
    errors = count_errors(sentences)
    twice = count_duplicates(sentences)
    if as_json:
        record = {
            "sentences": len(sentences),
            "summaries": len(by_summary(sentences)),
            "doubled": twice,
            "rates": [rate.to_dict() for rate in found],
            "errors": errors._asdict(),
        }
        write_result(json_line(record, indent=2))
        return
    print_tables(_rates_table(found))
    if errors.exploded:
        print_tables(_types_table(errors))
    if errors.several:
        write_result(f"{errors.several} of {errors.inconsistent} sentences have several errors")
    if twice:
        write_result(f"{twice} sentences occur twice and count twice")


def _rates_table(rates: Iterable[Rate]) -> Table:
    """Return one row per dataset, category and split, with both levels side by side."""
    rows: dict[tuple[str, str, str], dict[str, Rate]] = {}
    for rate in rates:
        if rate.model == "all":
            rows.setdefault((rate.dataset, rate.category, rate.split), {})[rate.level] = rate
    if len({dataset for dataset, _, _ in rows}) == 2:  # pooled over one
        rows = {name: levels for name, levels in rows.items() if name[0] != "all"}
    names = ("dataset", "topics", "split")
    table = make_table(*names, "sentences", "err", "%", "summaries", "err", "%", left=3)
    for name, levels in rows.items():
        both = (levels["sentence"], levels["summary"])
        cells = [(str(each.n), str(each.errors), f"{each.percent:.1f}") for each in both]
        table.add_row(*name, *cells[0], *cells[1])
    return table


def _types_table(counts: ErrorCounts) -> Table:
    rows = [
        (
            name,
            str(count),
            f"{100 * count / counts.inconsistent:.1f}",
            str(counts.single.get(name, 0)),
        )
        for name, count in counts.exploded.items()
    ]
    return things_table(("error", "sentences", "%", "alone"), rows)


@app.command("score")
def score(
    files: Annotations = None,
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            "--predictions",
            "-p",
            help="Predictions of an evaluator: JSON lines, or a record of judge. Repeat it to "
            "compare other evaluators with the first.",
        ),
    ] = None,
    topics: Categories = None,
    split: Annotated[
        str | None,
        typer.Option(help="Score this split, or all.", show_default="test if there is one"),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Texts with at most this score are inconsistent.", show_default="tuned on dev"
        ),
    ] = None,
    by_document: Annotated[
        bool,
        typer.Option(
            "--by-document", help="Resample documents, not sentences, to compare evaluators."
        ),
    ] = False,
    resamples: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Bootstrap resamples.")
    ] = 10_000,
    seed: Seed = 0,
    allow_missing: AllowMissing = False,
    as_json: AsJson = False,
) -> None:
    """Score evaluators against annotations: BAcc, FPR, FNR, recall by error, kappa between runs.

    Predictions are JSON lines or CSV with doc_id, topic, model_name, sent_idx and
    either label (yes: consistent, no, or null) or score (high: consistent).
    Without sent_idx, a line is about a whole summary. The field run identifies
    repeated runs. The threshold of scores is tuned on the split dev.
    """
    from semqa.attribution.records import versions
    from semqa.attribution.tofueval.meta import score_evaluators

    if not predictions:
        raise InputError("is missing.", field="--predictions")
    check_files(None, *(files or ()), *predictions)
    sentences, categories = _annotated(files, topics)
    settings: dict[str, Any] = {
        "split": split,
        "threshold": threshold,
        "by_document": by_document,
        "resamples": resamples,
        "seed": seed,
    }
    results = score_evaluators(sentences, categories, _evaluators(predictions), **settings)
    if not allow_missing:
        _check_complete(results)
    if as_json:
        record = {
            "kind": "tofueval score",
            "config": {"settings": settings},
            "results": results,
            "versions": versions("numpy"),
        }
        write_result(json_line(record, indent=2))
    else:
        _show(results)


def _annotated(
    files: Sequence[Path] | None, topics: Sequence[Path] | None
) -> tuple[list[AnnotatedSentence], dict[str, dict[str, str]]]:
    """Read annotated sentences and topic categories, and report skipped rows."""
    from semqa.attribution.tofueval.data import EXTRA_MODEL, read_annotations, read_categories
    from semqa.attribution.tofueval.meta import category_of

    if not files:
        raise InputError("No files. Name at least one CSV file of annotations.")
    check_files(None, *files)
    found = read_annotations(files)
    kept = [each for each in found if each.key.model != EXTRA_MODEL]
    if not kept:
        raise InputError(
            f"All {len(found)} sentences are by {EXTRA_MODEL}, which is not in the paper."
            if found
            else "The file has no sentences.",
            where=str(files[0]),
        )
    if len(kept) < len(found):
        say(f"left out: {len(found) - len(kept)} sentences by {EXTRA_MODEL}, not in the paper")
    categories = read_categories(topics or ())
    unknown = sum(not category_of(each.key, categories) for each in kept) if categories else 0
    if unknown == len(kept):
        raise InputError(
            f"has no topic of the dataset {kept[0].key.dataset!r}.",
            field="--topics",
            hint="Name the file {dataset}_topic_category.json.",
        )
    if unknown:
        say(f"{unknown} sentences have a topic without a category and count only in all topics")
    return kept, categories


def _evaluators(paths: Sequence[Path]) -> list[Evaluator]:
    from semqa.attribution.tofueval.meta import read_evaluator

    found: dict[str, Evaluator] = {}
    for path in paths:
        name, number = path.stem or "-", 2
        while name in found:
            name, number = f"{path.stem} {number}", number + 1
        found[name] = read_evaluator(path, name)
    return list(found.values())


def _check_complete(results: Mapping[str, Any]) -> None:
    for evaluator in results["evaluators"]:
        for run in evaluator["runs"]:
            cells = {cell["level"] for cell in run["cells"]}
            for level, count in run["missing"].items():
                # An evaluator of whole summaries needs no predictions for sentences.
                if count and (level in cells or not cells):
                    raise InputError(
                        f"{evaluator['name']} has no predictions for {count} texts at {level} "
                        "level.",
                        hint="Add them, or use --allow-missing.",
                    )


def _show(results: Mapping[str, Any]) -> None:
    for row in results["evaluators"]:
        print_tables(*_evaluator_tables(row))
        for level, found in row["runs"][0]["thresholds"].items():
            value = found["value"]
            text = "none: nothing is inconsistent" if value is None else f"{value:.4g}"
            write_result(f"threshold for a {level}: {text}")
        for level, count in row["runs"][0]["unread"].items():
            if count:
                write_result(f"left out: {count} replies at {level} level without a verdict")
        if agreement := row.get("self_agreement"):
            of_each = agreement["datasets"]
            kappas = of_each if len(of_each) == 1 else {**of_each, "all": agreement["mean"]}
            for dataset, mean in kappas.items():
                why = f" ({mean['unscored']})" if mean["value"] is None else ""
                write_result(f"kappa between runs, {dataset}: {shown(mean['value'])}{why}")
    for dataset, found in results["kappa_and_bacc"].items():
        write_result(
            f"kappa and BAcc of {found['n']} evaluators, {dataset}: Pearson "
            f"{shown(found['pearson'])}, Spearman {shown(found['spearman'])}"
        )
    if not results["tests"]:
        return
    columns = ("against the first", "level", "BAcc difference", "interval", "p", "n")
    table = make_table(*columns, left=2)
    for test in results["tests"]:
        if "untested" not in test:
            table.add_row(
                f"{test['a']} - {test['b']}",
                test["level"],
                f"{test['difference']:+.2f}",
                f"{test['low']:+.2f} – {test['high']:+.2f}",
                f"{test['p']:.4f}",
                str(test["n"]),
            )
    print_tables(table)
    for test in results["tests"]:
        if "untested" in test:
            write_result(f"not compared: {test['a']} at {test['level']} level: {test['untested']}")


def _evaluator_tables(row: Mapping[str, Any]) -> list[Table]:
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
    if not run["recall_by_error_type"]:
        return [table]
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
    return [table, recall]
