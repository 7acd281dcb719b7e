"""`semqa score`: score predictions against the references of QuoteSum."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.inputs import check_files
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.cli.tables import SHOWN, comparison_table, print_tables, quotesum_notes, scores_table
from semqa.data.files import display_name
from semqa.data.jsonl import write_jsonl
from semqa.data.quotesum import Question, match_predictions, read_predictions, read_quotesum
from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.metrics import Example, Report
    from semqa.metrics.bootstrap import PairedTest

COMPARED = ("rougeLsum", "sem_f1", "sem_recall", "semqa")
"""Scores that `--baseline` tests: the four in the paper's main table."""

_LOOSE_MARK = re.compile(r"\[\s*+[1-9][\s:,.]++[^\[\]]++\]")
"""A mark such as ``[1 span]``, which the official scorer takes for text."""

INTERVAL_RESAMPLES = 1_000
TEST_RESAMPLES = 10_000


def score(
    references: Annotated[Path, typer.Option("--references", "-r", help="QuoteSum JSON lines.")],
    predictions: Annotated[
        Path,
        typer.Option(
            "--predictions", "-p", help='JSON lines {"qid", "prediction"}; - for standard input.'
        ),
    ],
    baseline: Annotated[
        Path | None, typer.Option(help="Predictions to compare with in a paired bootstrap test.")
    ] = None,
    per_example: Annotated[
        Path | None, typer.Option(help="Write scores per question to this JSON lines file.")
    ] = None,
    official: Annotated[
        bool,
        typer.Option("--official", help="Also give what the authors' scorer and notebook print."),
    ] = False,
    all_sources: Annotated[
        bool,
        typer.Option("--all-sources", help="Also score source 8, which the official scorer skips."),
    ] = False,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Score missing predictions as empty answers.")
    ] = False,
    resamples: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=1_000_000,
            help="Bootstrap resamples; 0 for no intervals.",
            show_default="1,000 for intervals, 10,000 for tests",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, envvar="SEMQA_SEED", help="Random seed.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Score predictions by ROUGE, Sem-F1, Sem-Rec and SEMQA, from 0 to 100.

    Scores equal those of the dataset authors' scorer wherever it defines them.
    """
    from semqa.attribution.records import versions
    from semqa.metrics import score_example, summarise

    check_files(per_example, references, predictions, baseline)
    if baseline is not None and resamples == 0:
        raise InputError("must be at least 1 with --baseline, got 0.", field="resamples", value=0)
    questions = read_quotesum(references)
    drawn = INTERVAL_RESAMPLES if resamples is None else resamples
    files = [predictions, *([] if baseline is None else [baseline])]
    read = [_examples(questions, path, allow_missing=allow_missing) for path in files]
    rows = [
        [score_example(each, official=official, all_sources=all_sources) for each in examples]
        for examples in read
    ]
    if unread := sum(_is_unread(each.prediction, all_sources=all_sources) for each in read[0]):
        say(
            f"{display_name(predictions)}: {unread} of {len(read[0])} predictions have marks, but none "
            "that is read as a quote. Write them with these spaces: [ 1 span ]."
        )
    summed = partial(summarise, official=official, all_sources=all_sources, seed=seed)
    report = summed(rows[0], resamples=drawn)
    if per_example is not None:
        write_jsonl(per_example, (row.to_dict() for row in report.examples))
    tests: list[PairedTest] = []
    notes: list[str] = []
    if baseline is not None:
        other = summed(rows[1], resamples=0)
        tests, notes = _compare(report, other, resamples or TEST_RESAMPLES, seed)
    record = {**report.to_dict(), "versions": versions("numpy", "rapidfuzz")}
    if as_json:
        if baseline is not None:
            shown = [_test_record(test) for test in tests]
            record["baseline"] = {**other.to_dict(), "tests": shown, "untested": notes}
        write_result(json_line(record, indent=2))
    else:
        print_tables(scores_table(record), *([comparison_table(tests)] if tests else []))
        for note in (*quotesum_notes(record), *_official_notes(record), *notes):
            write_result(note)


def _compare(
    report: Report, other: Report, resamples: int, seed: int
) -> tuple[list[PairedTest], list[str]]:
    """Test each score; the notes list untestable ones, such as recall without short answers."""
    from semqa.metrics.bootstrap import FEWEST, paired_bootstrap

    tests, notes = [], []
    for metric in COMPARED:
        try:
            test = paired_bootstrap(
                report.examples, other.examples, metric=metric, resamples=resamples, seed=seed
            )
        except InputError as error:
            notes.append(f"not compared: {error}")
        else:
            tests.append(test)
    if any(test.n < FEWEST for test in tests):
        notes.append(f"p-values from fewer than {FEWEST} questions are too small.")
    return tests, notes


def _official_notes(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the authors' notebook prints, and which scores are NaN there (`--official`)."""
    if published := record.get("published"):
        figures = ", ".join(
            f"{SHOWN[metric]} {'NaN' if value is None else f'{value:.2f}'}"
            for metric, value in published.items()
        )
        yield f"the authors' notebook prints: {figures}"
    if nan := record.get("nan"):
        yield f"NaN in the authors' scorer: {', '.join(SHOWN.get(each, each) for each in nan)}"


def _examples(
    questions: Sequence[Question], predictions: Path, *, allow_missing: bool
) -> list[Example]:
    from semqa.metrics import Example

    given, name = read_predictions(predictions), display_name(predictions)
    texts = match_predictions(questions, given, allow_missing=allow_missing, name=name)
    if missing := len(questions) - len(given):
        say(
            f"{name}: {missing} of {len(questions)} questions have no prediction and are scored as "
            "empty answers."
        )
    return [
        Example(question.qid, text, question.texts, question.short_answers, question.numbers)
        for question, text in zip(questions, texts, strict=True)
    ]


def _is_unread(prediction: str, *, all_sources: bool) -> bool:
    from semqa.metrics.text import split_marks

    read = len(split_marks(prediction, all_sources=all_sources)) > 1
    return not read and _LOOSE_MARK.search(prediction) is not None


def _test_record(test: PairedTest) -> dict[str, object]:
    return {
        "metric": test.metric,
        "n": test.n,
        "difference": test.difference,
        "interval": [test.low, test.high],
        "p": test.p,
    }
