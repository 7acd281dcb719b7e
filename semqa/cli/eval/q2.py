"""`semqa eval q2`: Q² of responses, and its agreement with human labels."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from semqa.cli.eval.judging import (
    DefaultCommand,
    EntailmentPrompt,
    JudgeCommand,
    JudgeOptions,
    Limit,
    RecordOut,
    Resamples,
    Seed,
    count_note,
    judge_progress,
    say_interrupted,
    shown,
)
from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, progress_bar, say, write_file, write_result
from semqa.cli.tables import make_table, print_tables
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.table import Table

    from semqa.attribution.judges import CachedJudge
    from semqa.attribution.q2 import Q2, Response, Settings
    from semqa.attribution.q2.baselines import BertScore
    from semqa.attribution.q2.meta import Judged
    from semqa.attribution.q2.reading import ResponseFile
    from semqa.attribution.q2.record import Run
    from semqa.attribution.q2.responses import ResponseScore


PACKAGES = {"overlap": ("spacy",), "bleu": ("sacrebleu",), "bertscore": ("bert-score", "torch")}
"""Packages that the baselines use."""

BaselineOption = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        help="Also score overlap, words, bleu, bertscore or nli; repeatable.",
        show_default=False,
    ),
]
BertScoreModel = Annotated[
    str | None,
    typer.Option(
        "--bertscore-model",
        metavar="MODEL",
        help="Model for BERTScore: a folder or a Hub name.",
        show_default="roberta-large, rescaled",
    ),
]
BertScoreLayer = Annotated[
    int | None,
    typer.Option(
        "--bertscore-layer",
        min=1,
        help="Layer to compare, for models unknown to bert-score.",
        show_default=False,
    ),
]
DropRepeated = Annotated[
    bool,
    typer.Option(
        "--drop-repeated",
        help="Leave out repeated responses to the same knowledge.",
    ),
]


def check_baselines(names: Sequence[str] | None) -> None:
    """Raise if a baseline is unknown."""
    from semqa.attribution.q2.baselines import BASELINES

    for name in names or ():
        if name not in BASELINES:
            raise InputError(
                f"must be one of {', '.join(BASELINES)}, got {name!r}.",
                field="--baseline",
                value=name,
            )


class Baselines(NamedTuple):
    """Baseline scores of responses.

    Attributes:
        scores: for each response, its scores by baseline.
        described: settings of each baseline, for records.
        versions: versions of the packages used.
    """

    scores: Sequence[Mapping[str, float]]
    described: Mapping[str, Mapping[str, Any]]
    versions: Mapping[str, str]


def compute_baselines(
    names: Sequence[str] | None,
    responses: Sequence[Response],
    judge: Any,
    *,
    model: str | None = None,
    layer: int | None = None,
    official: bool = False,
) -> Baselines:
    """Compute baselines, each with a progress bar; see `baseline_scores`."""
    from semqa.attribution.q2.baselines import MODEL, BertScore, baseline_scores
    from semqa.attribution.records import versions

    wanted = list(dict.fromkeys(names or ()))
    bertscore = None
    if "bertscore" in wanted:
        bertscore = BertScore(model or MODEL, layers=layer)
        bertscore.load()  # raises before anything else is computed
    scores: list[dict[str, float]] = [{} for _ in responses]
    for name in wanted:
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
    packages = [package for name in wanted for package in PACKAGES.get(name, ())]
    described = {name: _described(name, judge, bertscore) for name in wanted}
    return Baselines(scores, described, versions(*packages))


def _described(name: str, judge: Any, bertscore: BertScore | None) -> dict[str, Any]:
    if name == "bertscore" and bertscore is not None:
        return {
            "model": bertscore.model,
            "layer": bertscore.layers,
            "rescaled": bertscore.rescale,
        }
    if name == "nli":
        return {"judge": judge.name, "identity": judge.identity}
    return {}


def explanation(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines that explain the score of a response, from its row in a record."""
    from semqa.attribution.judges.base import Entailment

    label = {None: "", True: "; people: inconsistent", False: "; people: consistent"}
    yield (
        f"{row['id']}: Q² {shown(row['q2'], 2)}, without NLI {shown(row['q2_no_nli'], 2)}"
        f"{label[row['inconsistent']]}"
    )
    yield f"  response:  {_line(row['response'])}"
    yield f"  knowledge: {_line(row['knowledge'])}"
    dropped = Counter(each["rejected"] for each in row["questions"] if each["rejected"] is not None)
    for question in row["questions"]:
        if question["rejected"] is not None:
            continue
        answer, entailment = question["knowledge_answer"], question["entailment"]
        says = "nothing" if answer is None else f"“{_line(answer['text'])}”"
        verdict = "" if entailment is None else f", {Entailment(**entailment).relation}"
        yield (
            f"  {_line(question['question'])} response: “{_line(question['span'])}”, knowledge: "
            f"{says}{verdict}: {shown(question['q2'], 2)}"
        )
    if row["fallback"] is not None:
        verdict = Entailment(**row["fallback"]).relation
        yield f"  no valid question; the whole response, given the knowledge: {verdict}"
    if dropped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
        yield f"  dropped: {reasons}"


def _line(text: str) -> str:
    return " ".join(text.split())


def run_tables(record: Mapping[str, Any]) -> Iterator[Table]:
    """Yield a table of all responses, and one per system if there are several."""
    yield _scores("", record["scores"], record["bootstrap"]["confidence"])
    for name, scores in record["systems"].items():
        yield _scores(name or "no system", scores, record["bootstrap"]["confidence"])


def run_notes(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on the scores."""
    from semqa.attribution.q2.meta import measure_name

    questions = record["questions"]
    rejected = ", ".join(f"{count} {reason}" for reason, count in questions["rejected"].items())
    yield (
        f"questions: {questions['valid']} valid of {questions['tried']} tried about "
        f"{_count(questions['spans'], 'span')}{f' ({rejected})' if rejected else ''}; "
        f"{questions['unanswered_by_knowledge']} not answered by the knowledge; "
        f"{questions['responses_without']} of {_count(record['n'], 'response')} without a valid one"
    )
    for name, score in record["scores"].items():
        for reason, count in score["unscored"].items():
            yield f"unscored: {count} of {record['n']} ({reason}) in {measure_name(name)}"
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


def meta_tables(record: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of a meta-evaluation."""
    from semqa.attribution.q2.meta import measure_name

    for part, title in (("responses", "responses"), ("contexts", "responses to shared contexts")):
        if (found := record[part]) is not None and found["response_level"]:
            yield _levels(title, found["response_level"])
    if record["ratings"]:
        table = make_table("human ratings", "n", "Pearson", "Spearman")
        for name, row in record["ratings"].items():
            figures = (shown(row["pearson"]), shown(row["spearman"]))
            table.add_row(measure_name(name), str(row["n"]), *figures)
        yield table
    if record["three_way"]:
        table = make_table("three labels", "n", "at", "accuracy", "R contr.", "R neutral", "R ent.")
        for name, row in record["three_way"].items():
            at = ", ".join(f"{threshold:g}" for threshold in row["thresholds"])
            decided = [row["accuracy"], *row["recall"].values()]
            table.add_row(measure_name(name), str(row["n"]), at, *map(shown, decided))
        yield table
    contexts = record["contexts"]
    if contexts is not None and contexts["system_level"]:
        table = make_table("simulated systems", "Spearman", "95% interval", "contexts", "gap")
        for name, row in contexts["system_level"].items():
            table.add_row(
                measure_name(name),
                shown(row["spearman"]),
                _interval(row["interval"]),
                str(row["contexts"]),
                f"{row['gap']:.4f}",
            )
        yield table


def meta_notes(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on the scores of a meta-evaluation."""
    from semqa.attribution.q2.meta import measure_name

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
                yield f"unscored: {row['unscored']} labelled responses in {measure_name(name)}"
    if any(row["chosen"] for row in record["three_way"].values()):
        yield (
            "three labels: thresholds with the best accuracy on these responses; for others, give "
            "both with --threshold"
        )
    for name in record["unlabelled"]:
        yield f"{name}: no labels in the file, and none in its name"


def _levels(title: str, levels: Mapping[str, Mapping[str, Any]]) -> Table:
    from semqa.attribution.q2.meta import measure_name

    decided = ("accuracy", "P incons.", "R incons.", "P cons.", "R cons.")
    table = make_table(title, "n", "at", *decided, "ROC AUC")
    for name, row in levels.items():
        for at in row.get("thresholds", [row]):
            figures = [at["accuracy"]]
            figures += [
                at[c][f] for c in ("inconsistent", "consistent") for f in ("precision", "recall")
            ]
            table.add_row(
                measure_name(name),
                str(row["n"]),
                f"{at['threshold']:g}",
                *map(shown, [*figures, row["roc_auc"]]),
            )
    return table


def _scores(title: str, scores: Mapping[str, Mapping[str, Any]], confidence: float) -> Table:
    from semqa.attribution.q2.meta import measure_name

    table = make_table(title, "score", f"{confidence:.0%} interval", "n")
    for name, score in scores.items():
        table.add_row(
            measure_name(name), shown(score["value"]), _interval(score["interval"]), str(score["n"])
        )
    return table


def _interval(ends: Sequence[float] | None) -> str:
    return "" if ends is None else f"{ends[0]:.3f} – {ends[1]:.3f}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def meta(
    ctx: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Labelled responses: records or input files of semqa eval q2.",
            show_default=False,
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="Column with scores (<system>_NAME in a file of contexts); repeatable.",
            show_default=False,
        ),
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
        typer.Option("--official", help="Sample like the released code, to reproduce its results."),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Plot precision and recall to this .svg, .png or .pdf file.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write all scores and curves to this JSON file.", show_default=False
        ),
    ] = None,
    drop_repeated: DropRepeated = False,
    as_json: AsJson = False,
) -> None:
    """Compare metrics with human labels: precision, recall, accuracy, simulated systems.

    Labels come from the column label, or from the name of a file (consistent or
    inconsistent). Without --baseline and --measure, overlap and BLEU are
    computed, which need no judge.
    """
    from semqa.attribution.q2.meta import plot_levels
    from semqa.attribution.records import versions

    judge_options: JudgeOptions = ctx.obj[JudgeOptions]
    paths = files or []
    if not paths:
        raise InputError("No files. Name records or files of labelled responses.")
    check_stdin_once(*paths)
    check_not_an_input(out, *paths)
    check_not_an_input(plot, *paths)
    check_baselines(baseline)
    simulation = {"iterations": iterations, "seed": seed, "official": official}
    judged, described = _judged(paths, drop_repeated, measure or ())
    wanted = list(dict.fromkeys(baseline or ()))
    if not wanted and not measure and not any(each.scores for each in judged):
        wanted = ["overlap", "bleu"]
    judge = judge_options.open() if "nli" in wanted else None
    found = compute_baselines(
        wanted,
        [each.response for each in judged],
        judge,
        model=bertscore_model,
        layer=bertscore_layer,
        official=official,
    )
    judged = [
        each._replace(scores={**each.scores, **dict.fromkeys(wanted), **found.scores[place]})
        for place, each in enumerate(judged)
    ]
    measures = list(dict.fromkeys(name for each in judged for name in each.scores))
    thresholds = _thresholds(threshold or (), measures)
    record = _evaluated(judged, measures, thresholds, simulation)
    record |= {
        "files": described,
        "baselines": dict(found.described),
        "versions": versions("numpy", "scipy", "scikit-learn") | dict(found.versions),
    }
    if plot is not None:
        drawn = record["responses"] or record["contexts"] or {"response_level": {}}
        plot_levels(drawn["response_level"], plot)
    if out is not None:
        write_file(out, json_line(record, indent=1))
    for part in (record["responses"], record["contexts"]):
        for row in (part or {}).get("response_level", {}).values():
            del row["curves"]
    if as_json:
        write_result(json_line(record, indent=2))
        return
    print_tables(*meta_tables(record))
    for note in meta_notes(record):
        write_result(note)
    for path in (plot, out):
        if path is not None:
            say(f"written: {path}")


def _judged(
    paths: Sequence[Path], drop: bool, measures: Sequence[str]
) -> tuple[list[Judged], list[dict[str, Any]]]:
    """Read all files; with several, ids and contexts contain the file name."""
    from semqa.attribution.q2.meta import Judged
    from semqa.attribution.q2.reading import read_responses
    from semqa.attribution.q2.record import Run, read_judged

    found: list[Judged] = []
    described = []
    for path in paths:
        known = read_judged(path)
        if known is not None:
            part = known
            described.append({"name": str(path), "record": True, "responses": len(part)})
        else:
            file = read_responses(path, drop_repeated=drop, measures=measures)
            part = [Judged(each, dict(each.scores)) for each in file.responses]
            described.append(Run.describe_file(file))
        prefix = f"{path}#" if len(paths) > 1 else ""
        for each in part:
            given = each.response
            context = None if given.context is None else prefix + given.context
            renamed = replace(given, id=prefix + given.id, context=context)
            found.append(each._replace(response=renamed))
    return found, described


def _evaluated(
    judged: Sequence[Judged],
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

    def levels(some: Sequence[Judged]) -> dict[str, Any]:
        found = {name: response_level(some, name, *thresholds[name]) for name in measures}
        return {name: level for name, level in found.items() if level is not None}

    shared = [each for each in judged if each.response.context is not None]
    alone = [each for each in judged if each.response.context is None]
    rated = {name: rating_level(judged, name) for name in measures}
    sorted_ = {name: three_way(judged, name, *thresholds[name]) for name in measures}
    labelled = {
        _file(each)
        for each in judged
        if each.response.inconsistent is not None or each.response.rating is not None
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


def _file(judged: Judged) -> str:
    where, _, _ = judged.response.where.rpartition(":")
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


BEAMS = 5

app = typer.Typer(
    name="q2",
    help="Q²: check by question answering whether responses are consistent with their knowledge. "
    "semqa eval q2 FILE means semqa eval q2 run FILE.",
    no_args_is_help=True,
    cls=DefaultCommand,
)
app.command("meta", cls=JudgeCommand)(meta)


@app.command("run", cls=JudgeCommand)
def run(
    ctx: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            help="CSV or JSON lines with response and knowledge, or <system>_response for several "
            "systems; - for standard input.",
            show_default=False,
        ),
    ],
    out: RecordOut = None,
    prompt: EntailmentPrompt = None,
    spans: Annotated[
        str,
        typer.Option(
            help="How to find informative spans: rules, or spacy:MODEL; auto: the paper's model if "
            "installed, else rules.",
        ),
    ] = "auto",
    beams: Annotated[int, typer.Option(min=1, max=50, help="Questions per span.")] = BEAMS,
    official: Annotated[
        bool,
        typer.Option("--official", help="Compare and fall back exactly like the released code."),
    ] = False,
    personal: Annotated[
        bool, typer.Option("--personal", help="Keep personal questions (I, you, my, your).")
    ] = False,
    baseline: BaselineOption = None,
    bertscore_model: BertScoreModel = None,
    bertscore_layer: BertScoreLayer = None,
    drop_repeated: DropRepeated = False,
    limit: Limit = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="First show the questions and answers of each response."),
    ] = False,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Score responses by Q² and its variant without NLI, from 0 to 1.

    To resume an interrupted run, run the same command again. The quality of
    the scores depends on --judge.
    """
    from semqa.attribution.q2 import Settings
    from semqa.attribution.q2.reading import combine_responses, read_responses

    judge_options: JudgeOptions = ctx.obj[JudgeOptions]
    check_baselines(baseline)
    check_stdin_once(*files)
    check_not_an_input(out, *files)
    settings = Settings(beams, official, personal)
    read = [read_responses(path, drop_repeated=drop_repeated) for path in files]
    responses = combine_responses(read)[:limit]
    judge = judge_options.open(prompt)
    measure = _measure(read, judge, spans, settings)
    baselines = compute_baselines(
        baseline,
        responses,
        judge,
        model=bertscore_model,
        layer=bertscore_layer,
        official=official,
    )
    found = _run(read, responses, judge, measure, settings, baselines)
    record = found.to_dict(resamples=resamples, seed=seed)
    if out is not None:
        write_file(out, json_line(record, indent=1))
    rows = record.pop("rows")
    if as_json:
        write_result(json_line(record, indent=2))
    else:
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


def _measure(
    files: Sequence[ResponseFile], judge: CachedJudge, spans: str, settings: Settings
) -> Q2 | None:
    """Return the measure, or None for a file of steps, which already has the questions."""
    from semqa.attribution.judges.base import require_ability
    from semqa.attribution.q2 import Q2, create_span_finder

    if any(file.kind == "steps" for file in files):
        if len(files) > 1:
            raise InputError(
                "A file with steps of the released code must be the only file, got "
                f"{len(files)} files."
            )
        require_ability(judge, "entailment")
        return None
    return Q2(judge, create_span_finder(spans), settings)


def _run(
    files: Sequence[ResponseFile],
    responses: Sequence[Response],
    judge: CachedJudge,
    measure: Q2 | None,
    settings: Settings,
    baselines: Baselines,
) -> Run:
    from semqa.attribution.q2.record import Run
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
        tuple(
            replace(score, baselines=values)
            for score, values in zip(scores, baselines.scores, strict=True)
        ),
        settings,
        describe_judge(judge),
        spans,
        tuple(Run.describe_file(file) for file in files),
        baselines.described,
        versions(*(["spacy"] if spans.startswith("spacy") else [])) | dict(baselines.versions),
    )


def _finished(file: ResponseFile, judge: CachedJudge, settings: Settings) -> list[ResponseScore]:
    """Score the answers in a file of steps."""
    from semqa.attribution.judges.base import require_ability
    from semqa.attribution.q2.measure import compare_answers
    from semqa.attribution.q2.reading import class_from_name, scores_of_steps

    label = class_from_name(file.name)
    kept = {each.id for each in file.responses}
    scores = [
        score
        for score in scores_of_steps(file.steps, label, official=settings.official)
        if score.response.id in kept
    ]
    with judge_progress(judge, "Q²"):
        return compare_answers(scores, require_ability(judge, "entailment"))
