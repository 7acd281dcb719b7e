"""`semqa eval docs`: score quoted answers about your own documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semqa.cli.choice import Choice, EngineOptions, choose_each
from semqa.cli.inputs import check_files
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, progress_bar, resumable, say, write_result
from semqa.cli.tables import percent, print_tables, span, things_table
from semqa.data.files import display_name
from semqa.errors import InputError
from semqa.quotes import Source
from semqa.retrieval import DEFAULT_PASSAGES

if TYPE_CHECKING:
    from semqa.bench.docqa import AnswerFile, DocsAnswer, QuestionSet, TemporaryCollections
    from semqa.metrics.docqa import DocsFigures, DocsQuestion, DocsReport, DocsScore


def docs(
    ctx: typer.Context,
    questions: Annotated[
        Path,
        typer.Argument(
            metavar="QUESTIONS",
            help='JSON lines {"id", "question", "documents", "answerable", "facts", "evidence", '
            '"kind"}.',
        ),
    ],
    engine: Annotated[
        list[str] | None,
        typer.Option(
            envvar="SEMQA_ENGINE",
            show_default="see semqa models",
            help="Engine, as for semqa answer; repeat it to compare several.",
        ),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(help="Folder of the documents.", show_default="documents beside QUESTIONS"),
    ] = None,
    by: Annotated[
        Literal["files", "collection"],
        typer.Option(
            help="Answer from whole files, or from passages found in a collection of them."
        ),
    ] = "files",
    passages: Annotated[
        int, typer.Option(min=1, max=100, help="Passages to use from the collection.")
    ] = DEFAULT_PASSAGES,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Append each answer to this file; an interrupted run resumes from it.",
        ),
    ] = None,
    score_only: Annotated[
        Path | None,
        typer.Option(
            metavar="PREDICTIONS",
            help='Score these answers instead of running an engine: JSON lines {"id", "quotes", '
            '"abstained"}.',
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score quoted answers to your own questions about your own documents.

    A good answer quotes only what answers the question, and abstains if the
    documents do not answer it. See docs/eval-docs.md for the format of
    questions and the scores.
    """
    from semqa.bench.docqa import AnswerFile, QuestionSet, TemporaryCollections, read_answers

    options: EngineOptions = ctx.obj[EngineOptions]
    check_files(out, questions, score_only)
    how: dict[str, object] = {}
    if score_only is not None:
        if out is not None or "engine" in options.typed:
            raise InputError("--score-only cannot be combined with --engine or --out.")
        asked = QuestionSet.read(questions, documents)
        answers = _by_engine(read_answers(score_only), asked, score_only)
    else:
        names, choice = choose_each(engine, options)
        asked = QuestionSet.read(questions, documents)
        how["by"] = by
        collections = None
        if by == "collection":
            how["passages"] = passages
            collections = TemporaryCollections(asked.documents, passages)
        saved = resumable(saved=out is not None)
        with collections or nullcontext(), AnswerFile(out) as file, saved:
            answers = {name: _answer(choice(name), asked, collections, file, how) for name in names}
    rows = [_Row(spec, found, asked) for spec, found in answers.items()]
    if as_json:
        head = {"questions": str(questions), "n": len(asked.questions), **how}
        write_result(json_line({**head, "engines": [row.to_dict() for row in rows]}, indent=2))
    else:
        _show(rows, asked, how)
    for row in rows:
        row.say_failures()
    if all(row.failed == len(asked.questions) for row in rows):
        raise typer.Exit(1)


def _answer(
    choice: Choice,
    asked: QuestionSet,
    collections: TemporaryCollections | None,
    file: AnswerFile,
    how: Mapping[str, object],
) -> dict[str, DocsAnswer]:
    """Answer the questions that are not in the file yet; return the answers to all questions."""
    from semqa.bench.docqa import answer_key, answer_questions, whole_documents

    settings = {**asdict(choice), **how}
    if collections is not None:
        settings["found_by"] = collections.encoder
    spec, total = choice.engine, len(asked.questions)
    keys = {each.id: answer_key(each, asked.documents, settings) for each in asked.questions}
    pending = [each for each in asked.questions if not file.has(spec, each.id, key=keys[each.id])]
    done = total - len(pending)
    if done:
        say(f"{spec}: {done} of {total} questions are already answered")
    if pending:
        find: Callable[[DocsQuestion], Sequence[tuple[str, Source]]]
        if collections is None:
            find = partial(whole_documents, documents=asked.documents)
        else:
            find = collections.find
            with progress_bar("indexing", "files") as update:
                collections.prepare(pending, update)
        opened = choice.opened([each.question for each in pending])
        with opened as engine, progress_bar(spec, "examples") as update:
            for answer in answer_questions(engine, spec, pending, find, keys):
                file.append(answer)
                done += 1
                update(done, total)
    return {each.id: file.answers[spec, each.id] for each in asked.questions}


def _by_engine(
    answers: Mapping[tuple[str, str], DocsAnswer], asked: QuestionSet, path: Path
) -> dict[str, dict[str, DocsAnswer]]:
    """Group answers by engine; answers to other questions are left out."""
    known = {question.id for question in asked.questions}
    found: dict[str, dict[str, DocsAnswer]] = {}
    for (engine, key), answer in answers.items():
        if key in known:
            found.setdefault(engine or path.stem, {})[key] = answer
    if not found:
        raise InputError("No answer has the id of a question.", where=display_name(path))
    return found


class _Row:
    """The scores of an engine, with its median time per answer and its number of failures."""

    def __init__(self, engine: str, answers: Mapping[str, DocsAnswer], asked: QuestionSet) -> None:
        from semqa.metrics.docqa import DocsPrediction, DocsReport

        missing = DocsPrediction(error="no answer in the file")
        self.engine = engine
        predictions = {
            each.id: answers[each.id].prediction if each.id in answers else missing
            for each in asked.questions
        }
        self.scores: list[DocsScore] = [
            asked.scorer.score(each, predictions[each.id]) for each in asked.questions
        ]
        self.report: DocsReport = DocsReport.of(self.scores)
        self.failed = self.report.total.errors
        self._failure = next(
            (f"{key}: {each.error}" for key, each in predictions.items() if each.error), ""
        )
        times = [each.seconds for each in answers.values() if each.seconds is not None]
        self.seconds = median(times) if times else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            **self.report.to_dict(),
            "seconds_p50": self.seconds,
            "rows": [asdict(score) for score in self.scores],
        }

    def say_failures(self) -> None:
        if self.failed:
            total = len(self.scores)
            say(f"{self.engine}: {self.failed} of {total} questions failed; {self._failure}")


def _show(rows: Sequence[_Row], asked: QuestionSet, how: Mapping[str, object]) -> None:
    headers = ("engine", "docqa", "interval", "recall", "precision", "F1", "full")
    times = ("abstained", "wrongly", "seconds")
    tables = [things_table((*headers, *times), [_cells(row) for row in rows])]
    if len(rows) == 1:
        parts = {**rows[0].report.kinds, **rows[0].report.groups}
        kinds = [(name, *_kind_cells(part)) for name, part in parts.items() if part.n]
        titles = ("kind", "n", "docqa", "recall", "precision", "full", "abstained")
        tables.append(things_table(titles, kinds))
    if any(ticks.n for row in rows for ticks in row.report.total.ticks.values()):
        answers = ("ticked", "complete", "in part", "wrong", "unanswerable")
        tables.append(things_table(answers, [_tick_cells(row) for row in rows]))
    print_tables(*tables)
    answerable = sum(question.answerable for question in asked.questions)
    sources = {
        "files": "; answered from whole files",
        "collection": f"; answered from {how.get('passages')} passages of a collection",
    }.get(str(how.get("by")), "")
    write_result(
        f"questions: {len(asked.questions)}, documents: {len(asked.documents)}{sources}\n"
        "interval: 95%, bootstrap over questions; full: all facts found; seconds: median\n"
        f"abstained: on unanswerable questions ({len(asked.questions) - answerable}); wrongly: on "
        f"answerable ones ({answerable})"
    )


def _cells(row: _Row) -> tuple[str, ...]:
    total = row.report.total
    shares = (
        total.recall,
        total.precision,
        total.f1,
        total.fully_answered,
        total.abstained_on_unanswerable,
        total.false_abstentions,
    )
    return (
        row.engine,
        percent(total.docqa.value, "–"),
        span(total.docqa.interval, 1, times=100).replace(" ", ""),
        *(percent(share, "–") for share in shares),
        "" if row.seconds is None else f"{row.seconds:.3f}",
    )


def _kind_cells(figures: DocsFigures) -> tuple[str | int, ...]:
    shares = (figures.recall, figures.precision, figures.fully_answered, figures.abstained)
    return (figures.n, *(percent(share, "–") for share in (figures.docqa.value, *shares)))


def _tick_cells(row: _Row) -> tuple[str, ...]:
    ticks = row.report.total.ticks.values()
    return (row.engine, *(f"{each.ticked} of {each.n}" for each in ticks))
