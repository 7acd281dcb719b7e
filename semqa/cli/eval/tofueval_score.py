"""``semqa eval tofueval rates`` and ``score``: what needs annotations, and no judge."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semqa.cli.eval.options import RecordOut, Rescore, check_rescore
from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.tofueval.data import AnnotatedSentence
    from semqa.attribution.tofueval.meta import Evaluator

__all__ = ["Categories", "Extra", "Splits", "rates", "read_sentences", "score"]

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
    from semqa.cli.eval.tofueval_tables import rates_table, types_table
    from semqa.cli.tables import print_tables

    tables = [rates_table(found, "model" if by_model else "split")]
    print_tables(*tables, *([types_table(errors)] if errors.exploded else []))
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
        int, typer.Option(min=1, max=1_000_000, help="Of the paired bootstrap.")
    ] = 10_000,
    seed: Annotated[int, typer.Option(min=0, envvar="SEMQA_SEED", help="Of its draws.")] = 0,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Leave out texts without a prediction.")
    ] = False,
    out: RecordOut = None,
    rescore: Rescore = None,
    as_json: AsJson = False,
) -> None:
    """Hold evaluators to the annotations: BAcc, FPR, FNR, recall by error, agreement with themselves.

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
            raise InputError(
                "--predictions: got none, expected what an evaluator said; name a file"
            )
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
        InputError: there are none, or a file is not usable.
    """
    from semqa.attribution.tofueval.data import EXTRA_MODEL, read_annotations, read_splits

    if not files:
        raise InputError("annotations: got no file, expected at least one; name a CSV file")
    check_stdin_once(*files)
    found = read_annotations(files, None if splits is None else read_splits(splits))
    kept = found if extra else [s for s in found if s.key.model != EXTRA_MODEL]
    if not kept:
        raise InputError(
            f"{files[0]}: no sentences: got {len(found)}, all of {EXTRA_MODEL}, expected some of "
            "other models; give --extra"
            if found
            else f"{files[0]}: no sentences: got a header alone, expected rows; check the file"
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
            f"--topics: got categories of {', '.join(map(repr, categories))}, expected those of the "
            f"dataset {sentences[0].key.dataset!r}; name the file {{dataset}}_topic_category.json"
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
                # Who judges whole summaries alone has no sentences, and is not asked for them.
                if count and (level in cells or not cells):
                    raise InputError(
                        f"{evaluator['name']}: missing predictions: got none for {count} texts at the "
                        f"level {level}, expected one for each; add them, or give --allow-missing"
                    )


def _show(results: dict[str, object]) -> None:
    from semqa.cli.eval.tofueval_tables import evaluator_tables, figure, tests_table
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
                    f"kappa between runs, {dataset}: {figure(mean['value'], 3)}"
                    + (f" ({mean['unscored']})" if mean["value"] is None else "")
                )
    if isinstance(tests, list) and tests:
        print_tables(tests_table(tests))
        for test in tests:
            if "untested" in test:
                write_result(
                    f"not compared: {test['a']} at the level {test['level']}: {test['untested']}"
                )
