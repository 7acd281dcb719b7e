"""`semqa eval q2`: Q² of responses, and its agreement with human labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.checks import check_choice
from semqa.cli.command import Group
from semqa.cli.eval.judging import (
    EntailmentPrompt,
    JudgeCommand,
    Limit,
    RecordOut,
    Resamples,
    Seed,
    finish,
    judge_bar,
    judging,
    unparsed_note,
)
from semqa.cli.inputs import check_files
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, progress_bar, say, write_file, write_result
from semqa.cli.tables import figures_table, make_table, print_tables, shown, span, unscored_notes
from semqa.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from semqa.attribution.judges import CachedJudge
    from semqa.attribution.q2 import Q2, Response, Settings
    from semqa.attribution.q2.reading import ResponseFile
    from semqa.attribution.q2.responses import ResponseScore


class _Q2Group(Group):
    """A group where ``q2 FILE`` means ``q2 run FILE``.

    Write ``./NAME`` for a file that has the name of a command.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="Q²: check by question answering whether responses are consistent with their knowledge. "
    "semqa eval q2 FILE means semqa eval q2 run FILE.",
    no_args_is_help=True,
    cls=_Q2Group,
)

_NAMES = {
    "q2": "Q²",
    "q2_no_nli": "Q² without NLI",
    "overlap": "overlap",
    "words": "overlap of all words",
    "bleu": "BLEU",
    "bertscore": "BERTScore",
    "nli": "end-to-end NLI",
}
"""Names of measures in tables."""

_PACKAGES = {"overlap": ("spacy",), "bleu": ("sacrebleu",), "bertscore": ("bert-score", "torch")}
"""Packages that the baselines use."""

BaselineOption = Annotated[
    list[str] | None,
    typer.Option(help="Also score overlap, words, bleu, bertscore or nli; repeatable."),
]
BertScoreModel = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Model for BERTScore: a folder or a Hub name.",
        show_default="roberta-large, rescaled",
    ),
]
BertScoreLayer = Annotated[
    int | None, typer.Option(min=1, help="Layer to compare, for models unknown to bert-score.")
]
DropRepeated = Annotated[
    bool,
    typer.Option("--drop-repeated", help="Leave out repeated responses to the same knowledge."),
]


@app.command("run", cls=JudgeCommand)
def run(
    ctx: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            help="CSV or JSON lines with response and knowledge, or <system>_response for several "
            "systems; - for standard input."
        ),
    ],
    out: RecordOut = None,
    prompt: EntailmentPrompt = None,
    spans: Annotated[
        str,
        typer.Option(
            help="How to find informative spans: rules, or spacy:MODEL; auto: the paper's model if "
            "installed, else rules."
        ),
    ] = "auto",
    beams: Annotated[int, typer.Option(min=1, max=50, help="Questions per span.")] = 5,
    official: Annotated[
        bool,
        typer.Option("--official", help="Compare and fall back exactly as the released code does."),
    ] = False,
    personal: Annotated[
        bool, typer.Option("--personal", help="Keep personal questions (I, you, my, your).")
    ] = False,
    baseline: BaselineOption = None,
    bertscore_model: BertScoreModel = None,
    bertscore_layer: BertScoreLayer = None,
    drop_repeated: DropRepeated = False,
    limit: Limit = None,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Score responses by Q² and its variant without NLI, from 0 to 1.

    To resume an interrupted run, run the same command again. The quality of
    the scores depends on --judge.
    """
    from semqa.attribution.q2 import Settings
    from semqa.attribution.q2.measure import run_record
    from semqa.attribution.q2.reading import combine_responses, read_responses
    from semqa.attribution.records import describe_judge, versions

    _check_baselines(baseline)
    check_files(out, *files)
    settings = Settings(beams, official, personal)
    read = [read_responses(path, drop_repeated=drop_repeated, official=official) for path in files]
    responses = combine_responses([(each.name, each.responses) for each in read])[:limit]
    with judging(ctx, prompt=prompt) as judge:
        measure = _measure(read, judge, spans, settings)
        baselines, described = _baselines(
            baseline, responses, judge, bertscore_model, bertscore_layer, official=official
        )
        scores, finder = _scores(read, responses, judge, measure)
        judged_by = describe_judge(judge)
    packages = ["spacy"] if finder.startswith("spacy") else []
    record = run_record(
        [replace(each, baselines=own) for each, own in zip(scores, baselines, strict=True)],
        {
            "settings": asdict(settings),
            "judge": judged_by,
            "spans": finder,
            "files": [file.describe() for file in read],
            "baselines": described["baselines"],
            "versions": versions(*packages) | described["versions"],
        },
        resamples=resamples,
        seed=seed,
    )

    def show() -> None:
        print_tables(*_run_tables(record))
        for note in (*_run_notes(record), *unparsed_note(judged_by.get("unparsed", 0))):
            write_result(note)

    finish(record, out, show, as_json=as_json, hidden=("rows",))


def _check_baselines(names: Sequence[str] | None) -> None:
    from semqa.attribution.q2.baselines import BASELINES

    for name in names or ():
        check_choice("--baseline", name, BASELINES)


def _baselines(
    names: Sequence[str] | None,
    responses: Sequence[Response],
    judge: CachedJudge | None,
    model: str | None,
    layer: int | None,
    *,
    official: bool,
) -> tuple[list[dict[str, float]], dict[str, Any]]:
    """Return the baseline scores of each response, and settings and versions for records."""
    from semqa.attribution.q2.baselines import MODEL, BertScore, baseline_scores
    from semqa.attribution.records import versions

    described: dict[str, dict[str, Any]] = {name: {} for name in names or ()}
    bertscore = None
    if "bertscore" in described:
        bertscore = BertScore(model or MODEL, layers=layer)
        bertscore.load()  # raises before anything else is computed
        settings = {"model": bertscore.model, "layer": bertscore.layers}
        described["bertscore"] = {**settings, "rescaled": bertscore.rescale}
    if "nli" in described and judge is not None:
        described["nli"] = {"judge": judge.name, "identity": judge.identity}
    scores: list[dict[str, float]] = [{} for _ in responses]
    for name in described:
        with progress_bar(name, "examples") as update:
            values = baseline_scores(
                name,
                responses,
                judge=judge,
                bertscore=bertscore,
                official=official,
                on_progress=update,
            )
        for found, value in zip(scores, values, strict=True):
            if value is not None:
                found[name] = value
    packages = [package for name in described for package in _PACKAGES.get(name, ())]
    return scores, {"baselines": described, "versions": versions(*packages)}


def _measure(
    files: Sequence[ResponseFile], judge: CachedJudge, spans: str, settings: Settings
) -> Q2 | None:
    """Return the measure, or None for a file of steps, which already has the questions."""
    from semqa.attribution.q2 import Q2, create_span_finder

    if all(file.kind != "steps" for file in files):
        return Q2(judge, create_span_finder(spans), settings)
    if len(files) > 1:
        raise InputError(
            f"A file with steps of the released code must be the only file, got {len(files)} files."
        )
    judge.require("entailment")
    return None


def _scores(
    files: Sequence[ResponseFile],
    responses: Sequence[Response],
    judge: CachedJudge,
    measure: Q2 | None,
) -> tuple[list[ResponseScore], str]:
    """Return the scores of responses, and how their spans were found."""
    from semqa.attribution.q2.measure import compare_answers

    if measure is not None:
        with progress_bar("Q²", "examples") as update:
            return measure.score(responses, update), measure.finder.name
    kept = {each.id for each in responses}
    with judge_bar(judge, "Q²"):
        scores = compare_answers(
            [each for each in files[0].steps if each.response.id in kept], judge
        )
    return scores, "steps of a file"


def _run_tables(record: Mapping[str, Any]) -> Iterator[Table]:
    tables = {"": record["scores"]}
    tables |= {name or "no system": scores for name, scores in record["systems"].items()}
    for title, scores in tables.items():
        rows = [
            (_NAMES.get(name, name), score["value"], score["interval"], score["n"])
            for name, score in scores.items()
        ]
        yield figures_table(title, rows, 3, confidence=record["bootstrap"]["confidence"])


def _run_notes(record: Mapping[str, Any]) -> Iterator[str]:
    questions = record["questions"]
    rejected = ", ".join(f"{count} {reason}" for reason, count in questions["rejected"].items())
    yield (
        f"questions: {questions['valid']} valid of {questions['tried']} tried about "
        f"{_count(questions['spans'], 'span')}{f' ({rejected})' if rejected else ''}; "
        f"{questions['unanswered_by_knowledge']} not answered by the knowledge; "
        f"{questions['responses_without']} of {_count(record['n'], 'response')} without a valid one"
    )
    for name, score in record["scores"].items():
        yield from unscored_notes(record["n"], [(_NAMES.get(name, name), score["unscored"])])
    for file in record["files"]:
        if file.get("repeated"):
            yield (
                f"{file['name']}: {file['repeated']} of {file['responses']} responses are "
                "repeated; leave them out with --drop-repeated"
            )
    settings = record["settings"]
    yield (
        f"judge: {record['judge']['name']}; spans: {record['spans']}; rules: "
        f"{'those of the released code' if settings['official'] else 'default'}"
    )


def _meta_tables(record: Mapping[str, Any]) -> Iterator[Table]:
    for part, title in (("responses", "responses"), ("contexts", "responses to shared contexts")):
        if (found := record[part]) is not None and found["response_level"]:
            yield _levels(title, found["response_level"])
    if record["ratings"]:
        table = make_table("human ratings", "n", "Pearson", "Spearman")
        for name, row in record["ratings"].items():
            figures = (shown(row["pearson"]), shown(row["spearman"]))
            table.add_row(_NAMES.get(name, name), str(row["n"]), *figures)
        yield table
    if record["three_way"]:
        table = make_table("three labels", "n", "at", "accuracy", "R contr.", "R neutral", "R ent.")
        for name, row in record["three_way"].items():
            at = ", ".join(f"{threshold:g}" for threshold in row["thresholds"])
            decided = [row["accuracy"], *row["recall"].values()]
            table.add_row(_NAMES.get(name, name), str(row["n"]), at, *map(shown, decided))
        yield table
    contexts = record["contexts"]
    if contexts is not None and contexts["system_level"]:
        table = make_table("simulated systems", "Spearman", "95% interval", "contexts", "gap")
        for name, row in contexts["system_level"].items():
            table.add_row(
                _NAMES.get(name, name),
                shown(row["spearman"]),
                span(row["interval"]),
                str(row["contexts"]),
                f"{row['gap']:.4f}",
            )
        yield table


def _meta_notes(record: Mapping[str, Any]) -> Iterator[str]:
    contexts = record["contexts"]
    if contexts is not None:
        counts = contexts["annotation"]
        by_system = ", ".join(f"{n} of {name}" for name, n in counts["inconsistent"].items())
        yield (
            f"{counts['contexts']} contexts; inconsistent: {by_system}; exactly one in "
            f"{counts['exactly_one']}, all in {counts['both']}, none in {counts['none']}"
        )
    for part in ("responses", "contexts"):
        for name, row in (record[part] or {}).get("response_level", {}).items():
            if row["unscored"]:
                yield f"unscored: {row['unscored']} labelled responses in {_NAMES.get(name, name)}"
    if any(row["chosen"] for row in record["three_way"].values()):
        yield (
            "three labels: thresholds with the best accuracy on these responses; for others, give "
            "both with --threshold"
        )
    for name in record["unlabelled"]:
        yield f"{name}: no labels in the file, and none in its name"


def _levels(title: str, levels: Mapping[str, Mapping[str, Any]]) -> Table:
    decided = ("accuracy", "P incons.", "R incons.", "P cons.", "R cons.")
    table = make_table(title, "n", "at", *decided, "ROC AUC")
    for name, row in levels.items():
        for at in row.get("thresholds", [row]):
            figures = [at["accuracy"]]
            figures += [
                at[c][f] for c in ("inconsistent", "consistent") for f in ("precision", "recall")
            ]
            table.add_row(
                _NAMES.get(name, name),
                str(row["n"]),
                f"{at['threshold']:g}",
                *map(shown, [*figures, row["roc_auc"]]),
            )
    return table


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@app.command("meta", cls=JudgeCommand)
def meta(
    ctx: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Labelled responses: records or input files of semqa eval q2."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="Column with scores (<system>_NAME in a file of contexts); repeatable."),
    ] = None,
    baseline: BaselineOption = None,
    bertscore_model: BertScoreModel = None,
    bertscore_layer: BertScoreLayer = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            help="Scores above it mean consistent: a number, or MEASURE=NUMBER; repeatable.",
            show_default="0.5",
        ),
    ] = None,
    iterations: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Number of simulations of systems.")
    ] = 1000,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, envvar="SEMQA_SEED", help="Random seed.")
    ] = 0,
    official: Annotated[
        bool,
        typer.Option("--official", help="Reproduce the sampling of the released code."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write all scores and curves to this JSON file."),
    ] = None,
    drop_repeated: DropRepeated = False,
    as_json: AsJson = False,
) -> None:
    """Compare metrics with human labels: precision, recall, accuracy, simulated systems.

    Labels come from the column label, or from the name of a file (consistent or
    inconsistent). Without --baseline and --measure, overlap and BLEU are
    computed, which need no judge.
    """
    from semqa.attribution.records import versions

    paths = files or []
    if not paths:
        raise InputError("No files. Name records or files of labelled responses.")
    check_files(out, *paths)
    _check_baselines(baseline)
    judged, described = _read_judged(paths, drop_repeated, measure or ())
    wanted = list(dict.fromkeys(baseline or ()))
    if not wanted and not measure and not any(each.scores for each in judged):
        wanted = ["overlap", "bleu"]
    with judging(ctx) if "nli" in wanted else nullcontext() as judge:
        scores, computed = _baselines(
            wanted, judged, judge, bertscore_model, bertscore_layer, official=official
        )
    judged = [
        replace(each, scores={**each.scores, **dict.fromkeys(wanted), **own})
        for each, own in zip(judged, scores, strict=True)
    ]
    measures = list(dict.fromkeys(name for each in judged for name in each.scores))
    thresholds = _thresholds(threshold or (), measures)
    simulation = {"iterations": iterations, "seed": seed, "official": official}
    record = _evaluated(judged, measures, thresholds, simulation)
    record |= {
        "files": described,
        "baselines": computed["baselines"],
        "versions": versions("numpy", "scipy", "scikit-learn") | computed["versions"],
    }
    if out is not None:
        write_file(out, json_line(record, indent=1))
    for part in (record["responses"], record["contexts"]):
        for row in (part or {}).get("response_level", {}).values():
            del row["curves"]
    if as_json:
        write_result(json_line(record, indent=2))
        return
    print_tables(*_meta_tables(record))
    for note in _meta_notes(record):
        write_result(note)
    if out is not None:
        say(f"written: {out}")


def _read_judged(
    paths: Sequence[Path], drop: bool, measures: Sequence[str]
) -> tuple[list[Response], list[dict[str, Any]]]:
    """Return the responses of all files, and the descriptions of the files."""
    from semqa.attribution.q2.meta import read_judged
    from semqa.attribution.q2.reading import combine_responses, read_responses

    found: list[tuple[str, Sequence[Response]]] = []
    described = []
    for path in paths:
        part: Sequence[Response] | None = read_judged(path)
        if part is not None:
            described.append({"name": str(path), "record": True, "responses": len(part)})
        else:
            file = read_responses(path, drop_repeated=drop, measures=measures)
            part = file.responses
            described.append(file.describe())
        found.append((str(path), part))
    return combine_responses(found), described


def _evaluated(
    judged: Sequence[Response],
    measures: Sequence[str],
    thresholds: Mapping[str, Sequence[float]],
    simulation: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the record of responses without context and of those to shared contexts."""
    from semqa.attribution.q2.meta import (
        INCONSISTENT,
        RATES,
        SIZE,
        annotation_counts,
        contexts_of,
        rating_level,
        response_level,
        system_level,
        three_way,
    )

    def levels(some: Sequence[Response]) -> dict[str, Any]:
        found = {name: response_level(some, name, *thresholds[name]) for name in measures}
        return {name: level for name, level in found.items() if level is not None}

    shared = [each for each in judged if each.context is not None]
    alone = [each for each in judged if each.context is None]
    rated = {name: rating_level(judged, name) for name in measures}
    sorted_ = {name: three_way(judged, name, *thresholds[name]) for name in measures}
    labelled = {
        _file(each) for each in judged if each.inconsistent is not None or each.rating is not None
    }
    record: dict[str, Any] = {
        "kind": "semqa-q2-meta",
        "n": len(judged),
        "responses": None,
        "contexts": None,
        "ratings": {name: row for name, row in rated.items() if row is not None},
        "three_way": {name: row for name, row in sorted_.items() if row is not None},
        "unlabelled": sorted({_file(each) for each in judged} - labelled),
    }
    if alone:
        record["responses"] = {"n": len(alone), "response_level": levels(alone)}
    if shared:
        systems = {name: system_level(contexts_of(shared, name), **simulation) for name in measures}
        made_up = {"rates": list(RATES), "inconsistent": list(INCONSISTENT), "size": SIZE}
        record["contexts"] = {
            "n": len(shared),
            "annotation": annotation_counts(shared),
            "response_level": levels(shared),
            "system_level": {name: row for name, row in systems.items() if row is not None},
            "simulation": {**made_up, **simulation},
        }
    return record


def _file(response: Response) -> str:
    where, _, _ = response.where.rpartition(":")
    return where


def _thresholds(given: Sequence[str], measures: Sequence[str]) -> dict[str, list[float]]:
    """Return the thresholds of each measure: its own, else the general ones, else 0.5."""
    own: dict[str, list[float]] = {name: [] for name in ("", *measures)}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or name not in own:
            raise InputError(
                f"must be a number, or MEASURE=NUMBER with one of {', '.join(measures)}, got {text!r}.",
                field="--threshold",
                value=text,
            )
        own[name].append(value)
    return {name: own[name] or own[""] or [0.5] for name in measures}
