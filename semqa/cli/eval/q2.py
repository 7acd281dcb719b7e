"""`semqa eval q2`: Q² of responses; how well it agrees with people is in `q2_meta`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semqa.attribution.judges.base import able
from semqa.cli.eval.default_command import DefaultCommand
from semqa.cli.eval.judge_options import JudgeOptions, takes_judge_options
from semqa.cli.eval.judging import (
    JUDGE_PANEL,
    count_note,
    judge_progress,
    say_interrupted,
)
from semqa.cli.eval.options import RecordOut, Resamples, Rescore, Seed, check_rescore
from semqa.cli.eval.q2_meta import meta
from semqa.cli.eval.q2_options import (
    BaselineOption,
    BertScoreLayer,
    BertScoreModel,
    DropRepeated,
    KnowledgeColumn,
    LabelColumn,
    ResponseColumn,
    check_baselines,
    compute_baselines,
)
from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_file, write_result
from semqa.cli.progress import progress_bar
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.judges import CachedJudge
    from semqa.attribution.q2 import Q2, Response, ResponseFile, ResponseScore, Run, Settings

__all__ = ["app", "run"]

BEAMS = 5

app = typer.Typer(
    name="q2",
    help="Q²: is a response consistent with the knowledge it was given, by questions about it. "
    "semqa eval q2 FILE is semqa eval q2 run FILE.",
    no_args_is_help=True,
    cls=DefaultCommand,
)
app.command("meta")(meta)


@app.command("run")
@takes_judge_options
def run(
    asking: JudgeOptions,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="CSV or JSON lines with the columns response and knowledge, or "
            "<system>_response for several systems; - for standard input.",
            show_default=False,
        ),
    ] = None,
    rescore: Rescore = None,
    out: RecordOut = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            help="A template of your own for engine:SPEC, with {{ premise }} and {{ hypothesis }}; "
            "the reply names entailment, neutral or contradiction.",
            metavar="NAME|PATH",
            show_default="engine-entailment",
            rich_help_panel=JUDGE_PANEL,
        ),
    ] = None,
    spans: Annotated[
        str,
        typer.Option(
            help="Finder of informative spans: rules, or spacy:MODEL; auto is the paper's model "
            "where it is installed, otherwise rules.",
        ),
    ] = "auto",
    beams: Annotated[int, typer.Option(min=1, max=50, help="Questions asked for a span.")] = BEAMS,
    every_question: Annotated[
        bool,
        typer.Option("--every-question", help="All valid questions count, not one a span."),
    ] = False,
    keep_personal: Annotated[
        bool, typer.Option("--keep-personal", help="Questions with I, you, my, your may count.")
    ] = False,
    no_nli: Annotated[
        bool, typer.Option("--no-nli", help="Only the variant without NLI; no judge of it needed.")
    ] = False,
    official: Annotated[
        bool,
        typer.Option("--official", help="Compare and fall back exactly as the released code does."),
    ] = False,
    baseline: BaselineOption = None,
    bertscore_model: BertScoreModel = None,
    bertscore_layer: BertScoreLayer = None,
    response_column: ResponseColumn = "response",
    knowledge_column: KnowledgeColumn = "knowledge",
    label_column: LabelColumn = "label",
    drop_repeated: DropRepeated = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many responses.")
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show each response's questions and answers first."),
    ] = False,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Score responses by questions about them: Q², and its variant without NLI, from 0 to 1.

    A run that was interrupted goes on where it stopped: give the same command
    again. Whose judgement it is, and what it is worth, is up to --judge.
    """
    from semqa.attribution.q2 import Columns, Settings, read_responses, read_run, with_ids

    check_baselines(baseline)
    check_rescore(rescore, files)
    check_stdin_once(*(files or ()), rescore)
    check_not_an_input(out, *(files or ()), rescore)
    computed = partial(compute_baselines, baseline, model=bertscore_model, layer=bertscore_layer)
    settings = Settings(beams, every_question, keep_personal, not no_nli, official)
    if rescore is not None:
        found = read_run(rescore)
        _check_unchanged(
            {
                "--spans": spans != "auto",
                "--beams": beams != BEAMS,
                "--every-question": every_question,
                "--keep-personal": keep_personal,
                "--no-nli": no_nli,
                "--official": official and not found.settings.official,
                "--drop-repeated": drop_repeated,
                "--limit": limit is not None,
            }
        )
        asked = asking.open(prompt) if "nli" in (baseline or ()) else None
        responses = [score.response for score in found.scores]
        found = computed(responses, asked, official=found.settings.official).added_to(found)
    else:
        columns = Columns(response_column, knowledge_column, label_column)
        read = [
            read_responses(path, columns=columns, drop_repeated=drop_repeated)
            for path in files or ()
        ]
        responses = with_ids(read)[:limit]
        asked = asking.open(prompt)
        measure = _measure(read, asked, spans, settings)
        baselines = computed(responses, asked, official=official)
        found = baselines.added_to(_run(read, responses, asked, measure, settings))
    record = found.to_dict(resamples=resamples, seed=seed)
    if out is not None:
        write_file(out, json_line(record, indent=1))
    rows = record.pop("rows")
    if as_json:
        write_result(json_line(record, indent=2))
    else:
        from semqa.cli.eval.q2_explain import explanation
        from semqa.cli.eval.q2_tables import run_notes, run_tables
        from semqa.cli.tables import print_tables

        if explain:
            for row in rows:
                write_result("\n".join(explanation(row)))
        print_tables(*run_tables(record))
        for note in run_notes(record):
            write_result(note)
        for note in count_note(int(record["judge"].get("unparsed", 0))):
            write_result(note)
        if out is not None:
            say(f"record: {out}")


def _check_unchanged(options: Mapping[str, bool]) -> None:
    """See that a record is scored as it was made."""
    for option, given in options.items():
        if given:
            raise InputError(
                f"{option}: got it with --rescore, expected what the record was made with: its "
                "questions are asked already; leave it out, or score the files again"
            )


def _measure(
    files: Sequence[ResponseFile], judge: CachedJudge, spans: str, settings: Settings
) -> Q2 | None:
    """Return the measure, or None for a file of steps, whose questions are asked already."""
    from semqa.attribution.q2 import Q2, create_span_finder

    if any(file.kind == "steps" for file in files):
        if len(files) > 1:
            raise InputError(
                f"files: got {len(files)} with steps of the released code among them, expected one "
                "such file alone; give them one by one"
            )
        if settings.nli:
            able(judge, "entailment")
        return None
    return Q2(judge, create_span_finder(spans), settings)


def _run(
    files: Sequence[ResponseFile],
    responses: Sequence[Response],
    judge: CachedJudge,
    measure: Q2 | None,
    settings: Settings,
) -> Run:
    from semqa.attribution.q2 import Run
    from semqa.attribution.records import describe_judge, versions

    try:
        if measure is None:
            scores = _finished(files[0], judge, settings)[: len(responses)]
        else:
            with progress_bar("Q²", "examples") as update:
                scores = measure.score(responses, update)
    except KeyboardInterrupt:
        say_interrupted(judge)
        raise
    spans = "steps of a file" if measure is None else measure.finder.name
    return Run(
        tuple(scores),
        settings,
        describe_judge(judge),
        spans,
        tuple(Run.describe_file(file) for file in files),
        {},
        versions(*(["spacy"] if spans.startswith("spacy") else [])),
    )


def _finished(file: ResponseFile, judge: CachedJudge, settings: Settings) -> list[ResponseScore]:
    """Compare the answers of a file of steps."""
    from semqa.attribution.q2.measure import compare_answers
    from semqa.attribution.q2.reading import scores_of_steps

    labels = {response.inconsistent for response in file.responses}
    default = labels.pop() if len(labels) == 1 else None
    scores = scores_of_steps(file.steps, default, official=settings.official)
    if not settings.nli:
        return [replace(score, nli=False) for score in scores]
    with judge_progress(judge, "Q²"):
        return compare_answers(scores, able(judge, "entailment"))
