"""Tables of all runs: scores, quoting, comparisons, judgements, breakdowns and settings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from semqa.bench.report.families import READINGS, SCORES, disambig_note, mark_best, reading_cell
from semqa.bench.report.runs import FinishedRun, as_object
from semqa.bench.report.table import Cell, Table, figure, number
from semqa.bench.results import RESAMPLES, SEED
from semqa.data.quotesum import Question
from semqa.errors import InputError
from semqa.metrics import ExampleScores, summarise
from semqa.metrics.bootstrap import FEWEST, PairedTest, paired_bootstrap, question_mean
from semqa.metrics.statistics import holm
from semqa.quotes import Verdict

COMPARED_RESAMPLES = 10_000
LEVEL = 0.05


def main_table(runs: Sequence[FinishedRun]) -> Table:
    """Return the scores in the paper's Table 2 and Sem-F1 over quoted sources for all runs."""
    several = len({run.data for run in runs}) > 1
    rows = []
    for run in runs:
        cells = [Cell(run.label), number(len(run.qids), 0)]
        if several:
            limit = run.identity.get("limit")
            first = "" if limit is None else f", first {limit}"
            cells.insert(1, Cell(f"{run.identity.get('data')}{first}"))
        for metric in SCORES:
            estimate = run.report.estimates[metric]
            why = "; ".join(f"{n} unscored: {reason}" for reason, n in estimate.unscored.items())
            cells.append(figure(estimate.value, estimate.interval, estimate.n, why=why))
        rows.append([*cells, _quoted_cell(run)])
    if not several:
        rows = mark_best(rows, 2, [run.kind != "human" for run in runs])
    notes = [
        f"Scores from 0 to 100 with 95% percentile intervals ({RESAMPLES:,} bootstrap resamples of "
        f"questions, seed {SEED}). "
        + ("" if several else "The best run, human rows excluded, is in bold. ")
        + "ROUGE-L is ROUGE-Lsum; SEMQA is √(Sem-F1 · ROUGE-L) of the two means.",
        "Sem-F1 (quoted) is not in the paper. It is Sem-F1 over the sources quoted in the answer "
        "or in a reference, so an answer without quotes scores 0. Sem-F1 itself also gives such an "
        "answer points for each source that some reference does not quote.",
    ]
    if any(run.kind == "human" for run in runs):
        notes.append(
            "The human row is leave-one-out: each reference is scored against the other references "
            "of its question, one fewer than runs have. It is never in bold."
        )
    if cited := dict.fromkeys(str(run.settings.get("prompt")) for run in runs if run.cites):
        one = len(cited) == 1
        notes.append(
            f"{' and '.join(cited)} {'asks' if one else 'ask'} for citations instead of quotes, so "
            f"Sem-F1, Sem-Rec and SEMQA of {'its' if one else 'their'} runs are the scores of "
            "answers without quotes."
            + ("" if one else " See the table Prompts for comparable scores.")
        )
    columns = ["run", *(["data"] if several else []), "questions", *SCORES.values()]
    return Table("scores", "Scores", [*columns, "Sem-F1 (quoted)"], rows, notes)


def _quoted_cell(run: FinishedRun) -> Cell:
    pairs = zip(run.records, run.quoted, strict=True)
    mean = question_mean(
        ((record.qid, scores.f1) for record, scores in pairs), resamples=RESAMPLES, seed=SEED
    )
    if mean.value is None:
        return Cell("–", why="neither answers nor references quote a source")
    return figure(mean.value, mean.interval, mean.n)


def quoting_table(runs: Sequence[FinishedRun]) -> Table:
    """Return quote statistics for each run."""
    statuses = ("verified", "misattributed", "fabricated", "malformed")
    verdicts = (Verdict.QUOTED, Verdict.UNVERIFIED, Verdict.UNQUOTED, Verdict.ABSTAINED)
    rows = []
    for run in runs:
        answered = [record for record in run.records if record.error is None]
        quotes: Counter[str] = Counter()
        for record in answered:
            quotes.update(record.quotes)
        total = sum(record.words for record in answered)
        free = sum(record.free_words for record in answered)
        counts = Counter(record.verdict for record in answered)
        n = len(answered) or None
        seconds = [record.seconds for record in answered if run.kind != "human"]
        rows.append(
            [
                Cell(run.label),
                number(quotes.total() / n if n else None),
                number(total / n if n else None),
                number(100 * (1 - free / total) if total else None, unit=" %"),
                *(number(quotes[status], 0) for status in statuses),
                *(number(counts[verdict], 0) for verdict in verdicts),
                number(len(run.records) - len(answered), 0),
                number(median(seconds) if seconds else None, 3),
            ]
        )
    columns = ["run", "quotes per answer", "words per answer", "words quoted", *statuses]
    columns += [*(f"answers {verdict}" for verdict in verdicts), "failed", "seconds per answer"]
    notes = (
        "A quote is verified if it occurs verbatim in the source it cites, misattributed if it "
        "occurs in another source, fabricated if it occurs in no source, and malformed if its mark "
        "cannot be parsed. Seconds are medians.",
        "An answer is quoted if it has quotes, all of them are verified, and the text outside "
        "quotes claims nothing; unverified if a quote is not verified or lost its brackets; "
        "unquoted if it has no quotes or claims something outside them; abstained if it says that "
        "the sources do not answer.",
    )
    return Table("quoting", "Quoting", columns, rows, notes)


def choose_baseline(runs: Sequence[FinishedRun], name: str | None) -> FinishedRun:
    """Return the run to compare the others with.

    Args:
        name: its label or folder; by default the first run that is not a human row.
    """
    if name is None:
        return next((run for run in runs if run.kind != "human"), runs[0])
    for run in runs:
        if name in (run.label, run.folder):
            return run
    known = ", ".join(repr(run.label) for run in runs)
    raise InputError(f"must be one of {known}, got {name!r}.", field="baseline", value=name)


def comparison_table(runs: Sequence[FinishedRun], baseline: FinishedRun) -> Table | None:
    """Return the differences from the baseline, with Holm's correction over all tests.

    Runs over other questions are left out, with a note. Return None if nothing can be compared.

    Source: Holm 1979; `semqa.metrics.bootstrap.paired_bootstrap`.
    """
    tests: dict[tuple[str, str], PairedTest] = {}
    notes: list[str] = []
    for run in runs:
        if run is baseline:
            continue
        if not _same_questions(run, baseline):
            notes.append(f"{run.label} is not compared because its questions differ.")
            continue
        for metric in SCORES:
            try:
                tests[run.label, metric] = paired_bootstrap(
                    run.scores,
                    baseline.scores,
                    metric=metric,
                    resamples=COMPARED_RESAMPLES,
                    seed=SEED,
                )
            except InputError as error:
                notes.append(f"{run.label} is not compared: {error}")
    if not tests:
        return None
    corrected = dict(zip(tests, holm([t.p for t in tests.values()]), strict=True))
    rows: list[list[Cell]] = []
    for run in runs:
        if not any(label == run.label for label, _ in tests):
            continue
        cells = [Cell(run.label)]
        for metric in SCORES:
            test = tests.get((run.label, metric))
            if test is None:
                cells += [Cell("–", why="not compared"), Cell("–")]
                continue
            p = corrected[run.label, metric]
            cells.append(figure(test.difference, (test.low, test.high), test.n, signed=True))
            shown = f"{p:.3f}" if p >= 0.001 else "< 0.001"
            strong = p < LEVEL and test.n >= FEWEST
            cells.append(Cell(shown, p, strong=strong, why=f"uncorrected {test.p:.4f}"))
        rows.append(cells)
    explanations = [
        f"Differences in points with 95% intervals, from a paired bootstrap over questions "
        f"({COMPARED_RESAMPLES:,} resamples, seed {SEED}). P-values are two-sided and Holm-corrected for the "
        f"{len(tests)} tests in this table; those below {LEVEL:g} are in bold, unless they come "
        f"from fewer than {FEWEST} questions, which makes them too small. Intervals are not "
        "corrected: an interval without 0 proves nothing if its p is not in bold."
    ]
    smallest = 1 / (1 + COMPARED_RESAMPLES)
    if len(tests) * smallest >= LEVEL:
        explanations.append(
            f"No p-value can be in bold here: the smallest p of {COMPARED_RESAMPLES:,} resamples is "
            f"{smallest:.1g}, which Holm's correction multiplies by {len(tests):,}. Report fewer "
            "runs at once."
        )
    columns = ["run", *(each for name in SCORES.values() for each in (f"Δ {name}", f"p ({name})"))]
    return Table("comparison", f"Against {baseline.label}", columns, rows, [*explanations, *notes])


def not_compared(runs: Sequence[FinishedRun], baseline: FinishedRun) -> str:
    """Return why nothing can be compared with the baseline."""
    if not any(_same_questions(run, baseline) for run in runs if run is not baseline):
        return f"no other run has the same questions as {baseline.label}"
    if len(baseline.qids) == 1:
        return "a single question has no variance"
    return f"no question is scored in both {baseline.label} and another run"


def _same_questions(run: FinishedRun, other: FinishedRun) -> bool:
    return run.data == other.data and run.qids == other.qids


def judged_table(runs: Sequence[FinishedRun]) -> Table | None:
    """Return the judges' scores; None if no run was judged."""
    judged = [run for run in runs if run.results.get("judged")]
    if not judged:
        return None
    rows = []
    for run in judged:
        scores = as_object(run.results.get("judged"))
        ais = as_object(scores.get("auto_ais"))
        n = as_object(ais.get("n"))
        cells = [Cell(run.label), Cell(str(scores.get("judge")))]
        cells += [
            _judged_cell(ais.get(key), ais.get(f"{key}_interval"), n.get(key))
            for key in ("sentences", "answers")
        ]
        cells += [
            _judged_cell(found.get("value"), found.get("interval"), found.get("n"))
            for found in (
                as_object(scores.get(f"citation_{key}")) for key in ("recall", "precision")
            )
        ]
        rows.append([*cells, *(reading_cell(run, name) for name in READINGS)])
    columns = ["run", "judge", "AutoAIS, sentences", "AutoAIS, answers", "citation recall"]
    columns += ["citation precision", *READINGS.values()]
    notes = [
        "Scores from 0 to 100 by the judge shown. They are judgements, not verifications, and "
        "scores of different judges are not comparable. Failed and empty answers count only in "
        "Disambig-F1, where they score 0. 95% intervals are bootstrap percentiles over questions; "
        "for AutoAIS of answers they are Wilson intervals if each question has one answer.",
        *disambig_note(judged),
    ]
    return Table("judged", "Judged", columns, rows, notes)


def _judged_cell(value: object, interval: object, n: object) -> Cell:
    if not isinstance(value, int | float):
        return Cell("–", why="the judge does not give this score")
    ends = interval if isinstance(interval, list) and len(interval) == 2 else []
    bounds = [float(end) for end in ends if isinstance(end, int | float)]
    count = n if isinstance(n, int) else None
    return figure(float(value), bounds if len(bounds) == 2 else None, count)


def _question_word(question: Question) -> str:
    """Return the first question word, which need not come first (``in which``).

    Example:
        >>> from semqa.data.quotesum import Question
        >>> [_question_word(Question("q", text, (), ())) for text in ("In WHICH year?", "What's up?")]
        ['which', 'what']
    """
    known = ("who", "what", "when", "where", "which", "how", "why")
    found = re.findall(r"\w+", question.question.lower())
    return next((word for word in found if word in known), "other")


GROUPINGS: dict[str, tuple[str, Callable[[Question], str]]] = {
    "sources": ("number of sources", lambda question: str(len(question.numbers))),
    "question-word": ("question word", _question_word),
    "origin": ("origin", lambda question: question.origin),
}
"""Breakdowns of the results: title, and function from question to group."""


def breakdown(runs: Sequence[FinishedRun], key: str) -> Table:
    """Return SEMQA by group of questions."""
    title, group_of = GROUPINGS[key]
    grouped: dict[str, dict[str, list[ExampleScores]]] = {}
    for run in runs:
        own = grouped.setdefault(run.label, {})
        for item, scores in zip(run.items, run.scores, strict=True):
            own.setdefault(group_of(item.question), []).append(scores)
    names = {name for groups in grouped.values() for name in groups}
    order = sorted(names, key=lambda name: (not name.isdigit(), name == "other", name))
    rows: list[list[Cell]] = []
    for label, groups in grouped.items():
        cells = [Cell(label)]
        for name in order:
            found = groups.get(name, [])
            estimate = summarise(found, resamples=RESAMPLES, seed=SEED).estimates["semqa"]
            questions = len({each.qid for each in found if each.semqa is not None})
            cells.append(
                figure(estimate.value, estimate.interval if questions > 1 else None, questions)
            )
        rows.append(cells)
    counts = {
        name: max(len({s.qid for s in groups.get(name, ())}) for groups in grouped.values())
        for name in order
    }
    columns = ("run", *(f"{name} (n = {counts[name]})" for name in order))
    note = "n is the number of scored questions. Groups of one question have no interval."
    return Table(f"by-{key}", f"{SCORES['semqa']} by {title}", columns, rows, (note,))


def records_table(runs: Sequence[FinishedRun]) -> Table:
    """Return the settings, data and environment of each run."""
    rows = []
    for run in runs:
        identity, results = run.identity, run.results
        settings = [
            f"{key}={value}"
            for key, value in run.settings.items()
            if key not in ("engine", "data", "prompt") and value is not None
        ]
        prompt = f"{run.prompts.get('template')} {str(run.prompts.get('sha256'))[:12]}"
        machine = as_object(results.get("machine"))
        shown = [
            run.label,
            run.folder,
            str(identity.get("engine")),
            ", ".join(settings),
            prompt if run.prompts else "–",
            f"{identity.get('data')} {str(identity.get('data_sha256'))[:12]}",
            str(identity.get("semqa")),
            _join(as_object(identity.get("model_versions")))
            or _join(as_object(results.get("versions"))),
            _join({k: machine[k] for k in ("processor", "gpus", "python") if k in machine}),
        ]
        rows.append([Cell(each) for each in shown])
    columns = (
        "run",
        "folder",
        "engine",
        "settings",
        "prompt",
        "data",
        "semqa",
        "versions",
        "machine",
    )
    return Table("records", "Runs", columns, rows)


def _join(found: Mapping[str, object]) -> str:
    return ", ".join(
        f"{key} {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in found.items()
    )
