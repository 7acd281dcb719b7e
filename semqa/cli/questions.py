"""`semqa questions`: collect questions that have several answers, with their passages."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.collections import find_collection, open_library
from semqa.cli.command import taking
from semqa.cli.inputs import check_files
from semqa.cli.options import AsJson, DataFolder, RayOptions
from semqa.cli.output import (
    json_line,
    progress_bar,
    resumable,
    say,
    terminal_width,
    waiting,
    write_result,
)
from semqa.cli.tables import print_tables, things_table
from semqa.data.files import ByteBudget, make_folder, open_input, write_atomic
from semqa.documents import Limits
from semqa.errors import InputError
from semqa.questions.rules import AmbigqaRules, DocumentRules, Rules

if TYPE_CHECKING:
    from semqa.questions.collect import Count
    from semqa.retrieval.passages import Collection

app = typer.Typer(
    help="Collect questions that have several answers in different passages.", no_args_is_help=True
)

Out = Annotated[
    Path, typer.Option("--out", "-o", help="Output folder; an interrupted run resumes.")
]
File = Annotated[
    Path,
    typer.Argument(metavar="QUESTIONS", help="A QuoteSum file, or a folder of semqa questions."),
]
Seed = Annotated[int, typer.Option(help="Random seed.")]


@app.command(cls=taking(Rules, RayOptions))
def paq(
    ctx: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="PAQ.unfiltered_metadata.jsonl or PAQ.metadata.jsonl, or .gz."
        ),
    ],
    passages: Annotated[Path, typer.Option(help="psgs_w100.tsv, or .gz.")],
    out: Out,
    as_json: AsJson = False,
) -> None:
    """Collect questions from PAQ's released files.

    The files are streamed, so they may be larger than memory. If you stop it,
    run the same command again to continue.
    """
    from semqa.questions.collect import Plan, collect_paq

    with ctx.obj[RayOptions].opened() as workers, resumable():
        plan = Plan(out, ctx.obj[Rules], progress_bar, workers)
        _show(out, collect_paq(plan, files, passages), as_json)


@app.command(cls=taking(AmbigqaRules, RayOptions))
def ambigqa(
    ctx: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="AmbigQA with evidence articles.")
    ],
    out: Out,
    as_json: AsJson = False,
) -> None:
    """Collect questions from AmbigQA's released files.

    Passages are the paragraphs of articles that contain an answer. Several
    passages of a page are kept if they do not overlap.
    """
    from semqa.questions.collect import Plan, collect_ambigqa

    with ctx.obj[RayOptions].opened() as workers, resumable():
        plan = Plan(out, ctx.obj[AmbigqaRules], progress_bar, workers)
        _show(out, collect_ambigqa(plan, files), as_json)


@app.command(cls=taking(DocumentRules))
def documents(
    ctx: typer.Context,
    out: Out,
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="Documents.")] = None,
    collection: Annotated[str | None, typer.Option(help="A collection instead of files.")] = None,
    ask: Annotated[
        str,
        typer.Option(
            metavar="JUDGE",
            help="Question generator: lexical, transformers:qg=MODEL or engine:SPEC.",
        ),
    ] = "lexical",
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Generate questions about your own documents, for you to check.

    A question is proposed if several documents seem to answer it. Many
    proposals are bad, so review them with semqa questions check.
    """
    from semqa.questions.collect import Plan, collect_documents

    with _documents(files or [], collection, data) as (found, identity), resumable():
        plan = Plan(out, ctx.obj[DocumentRules], progress_bar)
        counts = collect_documents(plan, found, identity, ask)
        _show(out, counts, as_json)
    if not as_json and counts[-1].questions:
        say(f"Review them with: semqa questions check {out}")


@contextmanager
def _documents(
    files: Sequence[Path], name: str | None, data: Path | None
) -> Iterator[tuple[Collection, dict[str, object]]]:
    """Open a collection, or create a temporary one from files while the block runs."""
    from semqa.retrieval.passages import Library

    if (name is None) == (not files):
        raise InputError("Name either documents or a --collection, not both.")
    if name is not None:
        kept = find_collection(open_library(data, name), "", name)
        yield kept, {each.name: each.sha256 for each in kept.documents()}
        return
    limits = Limits(seconds=600.0)
    contents: dict[str, bytes] = {}
    for path in files:
        if path.name in contents:
            raise InputError(f"Two documents have the name {path.name}.", where=str(path))
        with open_input(path, ByteBudget(limits.size)) as file:
            contents[path.name] = file.read_all()
    with TemporaryDirectory(prefix="semqa-questions-") as folder:
        # No encoder is needed, because questions use words from their passages.
        made = Library(folder, encoder=False, limits=limits).create("", "documents")
        with waiting("reading documents"):
            made.put_all(list(contents.items()))
        yield made, {each.name: each.sha256 for each in made.documents()}


@app.command()
def check(
    questions: File,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="File for kept questions.", show_default="checked.jsonl beside it"
        ),
    ] = None,
) -> None:
    """Review questions one by one: keep, edit or drop them.

    Each decision is saved at once; run the command again to continue. Dropped
    questions go to dropped.jsonl in the same folder as the kept ones.
    """
    from semqa.questions.curation import Checking

    path = _file(questions)
    kept = out or path.with_name("checked.jsonl")
    check_files(kept, path)
    if not sys.stdin.isatty():
        raise InputError(
            "needs a terminal.",
            field="check",
            hint='Or edit the file: delete unwanted rows, and set "checked" to true in the others.',
        )
    checking = Checking(path, kept, kept.with_name("dropped.jsonl"))
    for number, row in checking.left():
        _show_question(row, number, checking.total)
        try:
            answer = _decide()
            if answer == "q":
                break
            if answer == "e":
                row["question"] = typer.prompt("question", default=row["question"], err=True)
            checking.decide(row, keep=answer != "d")
        except typer.Abort:  # Ctrl-C or end of input
            break
    left = checking.total - checking.kept - checking.dropped
    say(
        f"{checking.kept} kept, {checking.dropped} dropped, {left} left; "
        f"kept questions are in {kept}"
    )


def _decide() -> str:
    while True:
        answer = typer.prompt("keep, edit, drop or quit [k/e/d/q]", err=True).strip().lower()[:1]
        if answer in ("k", "e", "d", "q"):
            return str(answer)


def _show_question(row: Mapping[str, Any], number: int, total: int) -> None:
    lines = [f"\n{number} of {total}: {row['question']}"]
    for k in range(1, 9):
        if row.get(f"source{k}"):
            lines.append(f"[{k}] {row.get(f'short_ans_{k}', '')} — {row.get(f'title{k}', '')}")
            text = _around(str(row[f"source{k}"]), str(row.get(f"short_ans_{k}", "")))
            lines += textwrap.wrap(
                text, terminal_width(), initial_indent="    ", subsequent_indent="    "
            )
    say("\n".join(lines))


def _around(text: str, answer: str) -> str:
    """Return about two lines of context around an answer."""
    at = max(0, text.casefold().find(answer.casefold()))
    start, end = max(0, at - 100), at + len(answer) + 100
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


@app.command("sample")
def sample_command(
    questions: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file.")],
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Number of questions.")],
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Sample questions, balanced by question word and number of answers."""
    from semqa.questions.curation import find_questions, rows_of, sample, tally

    path = _file(questions)
    check_files(out, path)
    places = find_questions(path)
    drawn = sample(places, n, seed)
    write_atomic(out, rows_of(path, drawn))
    before, after = tally(places), tally(drawn)
    if as_json:
        write_result(json_line({"questions": len(drawn), "kinds": after, "of": before}, indent=2))
        return

    sizes = sorted({size for counts in before.values() for size in counts})
    rows = [
        (word, *(f"{after[word][n]} of {counts[n]}" if counts[n] else "" for n in sizes))
        for word, counts in sorted(before.items())
    ]
    print_tables(things_table(("", *(f"{size} answers" for size in sizes)), rows))
    write_result(f"{len(drawn):,} of {len(places):,} questions are in {out}")


@app.command("split")
def split_command(
    questions: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="Output folder.")],
    shares: Annotated[
        str, typer.Option(help="Percentages for train, dev and test.", metavar="T/D/T")
    ] = "60/7/33",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Split questions into train, dev and test; no page is in more than one split."""
    from semqa.questions.curation import find_questions, rows_of, separable, split

    path = _file(questions)
    wanted = _shares(shares)
    for name in wanted:
        check_files(out / f"{name}.jsonl", path)
    places = find_questions(path)
    if max(wanted.values()) < 1 and not separable(places):
        raise InputError(
            "There is only one question."
            if len(places) == 1
            else f"Any two of the {len(places):,} questions share a page, so all would be in one split.",
            where=str(path),
            hint="Collect questions from more documents.",
        )
    make_folder(out)
    found = split(places, wanted, seed)
    rows = []
    for name, chosen in found.places.items():
        write_atomic(out / f"{name}.jsonl", rows_of(path, chosen))
        pages = {page for place in chosen for page in place.pages}
        rows.append((name, len(chosen), f"{100 * len(chosen) / len(places):.1f}", len(pages)))
    if as_json:
        record = {
            "splits": {name: {"questions": n, "pages": pages} for name, n, _, pages in rows},
            "largest_group": found.largest,
        }
        write_result(json_line(record, indent=2))
        return

    print_tables(things_table(("split", "questions", "%", "pages"), rows))
    if found.largest > max(wanted.values()) * len(places):
        say(
            f"{found.largest:,} of {len(places):,} questions share pages and must stay together, "
            "so the shares are not met. Take a smaller sample first: semqa questions sample"
        )
    if empty := [name for name, share in wanted.items() if share and not found.places[name]]:
        say(f"No questions are left for {' and '.join(empty)}.")


def _shares(text: str) -> dict[str, float]:
    parts = text.split("/")
    numbers = [float(part) for part in parts if re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?", part)]
    if len(numbers) != 3 or len(parts) != 3 or abs(sum(numbers) - 100) > 1e-6:
        raise InputError(
            f"must be three percentages that sum to 100, such as 60/7/33, got {text!r}.",
            field="--shares",
            value=text,
        )
    return dict(zip(("train", "dev", "test"), (n / 100 for n in numbers), strict=True))


def _file(questions: Path) -> Path:
    """Return the file of questions, from a file or an output folder."""
    from semqa.questions.run import QUESTIONS_FILE

    if not questions.is_dir():
        return questions
    if not (questions / QUESTIONS_FILE).is_file():
        raise InputError(
            "This folder has no questions yet.",
            where=str(questions),
            hint="Run the command that collects them again.",
        )
    return questions / QUESTIONS_FILE


def _show(out: Path, counts: Sequence[Count], as_json: bool) -> None:
    from semqa.questions.run import QUESTIONS_FILE

    if as_json:
        steps = [each._asdict() for each in counts]
        write_result(json_line({"out": str(out), "steps": steps}, indent=2))
        return

    print_tables(things_table(("step", "questions", "answers"), counts))
    write_result(f"{counts[-1].questions:,} questions are in {out / QUESTIONS_FILE}")
