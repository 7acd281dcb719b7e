"""Tables of all runs: scores, quoting, comparison with a baseline, judgements, breakdowns, settings."""

from __future__ import annotations

import re
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from semqa.bench.report.families import SCORES, disambig_cell, disambig_note, dr_cell, mark_best
from semqa.bench.report.runs import as_object, short_judge
from semqa.bench.report.table import Cell, Table, figure, number, words
from semqa.bench.results import RESAMPLES, SEED
from semqa.errors import InputError
from semqa.metrics import summarise
from semqa.metrics.bootstrap import paired_bootstrap, question_mean
from semqa.metrics.statistics import holm
from semqa.quotes import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from semqa.bench.report.runs import FinishedRun
    from semqa.data.quotesum import Question
    from semqa.metrics import ExampleScores
    from semqa.metrics.bootstrap import PairedTest

COMPARED_RESAMPLES = 10_000
LEVEL = 0.05


def main_table(runs: Sequence[FinishedRun]) -> Table:
    """Return the scores of all runs, as in the paper's Table 2, and Sem-F1 over quoted sources."""
    several = len({run.data for run in runs}) > 1
    rows = []
    for run in runs:
        cells = [words(run.label), number(len(run.qids), 0)]
        if several:
            limit = run.identity.get("limit")
            first = "" if limit is None else f", first {limit}"
            cells.insert(1, words(f"{run.identity.get('data')}{first}"))
        for metric in SCORES:
            estimate = run.report.estimates[metric]
            why = "; ".join(f"{n} unscored: {reason}" for reason, n in estimate.unscored.items())
            cells.append(figure(estimate.value, estimate.interval, estimate.n, why=why))
        rows.append([*cells, _quoted_cell(run)])
    if not several:
        rows = mark_best(rows, 2, [run.kind != "human" for run in runs])
    notes = [
        f"0 to 100, with 95% percentile intervals of {RESAMPLES:,} resamples of questions (seed "
        f"{SEED}); the best run, not counting human rows, in bold. "
        "ROUGE-L is ROUGE-Lsum; SEMQA is √(Sem-F1 · ROUGE-L) of the two means.",
        "Sem-F1 (quoted) is not a score of the paper: it is Sem-F1 over the sources that the "
        "answer or a reference quotes, so an answer without quotes scores 0. Sem-F1 itself "
        "gives it points for every source that some reference does not quote.",
    ]
    if any(run.kind == "human" for run in runs):
        notes.append(
            "The human row is leave-one-out: each reference against the others of its question. "
            "It is compared with one reference fewer, and never marked as the best."
        )
    if cited := dict.fromkeys(str(run.settings.get("prompt")) for run in runs if run.cites):
        one = len(cited) == 1
        notes.append(
            f"{' and '.join(cited)} {'asks' if one else 'ask'} for citations instead of quotes: "
            f"Sem-F1, Sem-Rec and SEMQA of {'its' if one else 'these'} runs are what the scorer "
            "gives to answers that quote nothing."
            + ("" if one else " Prompts has what can be compared.")
        )
    columns = ["run", *(["data"] if several else []), "questions", *SCORES.values()]
    return Table("scores", "Scores", [*columns, "Sem-F1 (quoted)"], rows, notes)


def _quoted_cell(run: FinishedRun) -> Cell:
    pairs = zip(run.records, run.quoted, strict=True)
    mean = question_mean(
        ((record.qid, scores.f1) for record, scores in pairs), resamples=RESAMPLES, seed=SEED
    )
    if mean.value is None:
        return Cell("–", why="nobody quotes a source")
    return figure(mean.value, mean.interval, mean.n)


def quoting_table(runs: Sequence[FinishedRun]) -> Table:
    """Return how each run quoted."""
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
        found = Counter(record.verdict for record in answered)
        n = len(answered) or None
        seconds = [record.seconds for record in answered if run.kind != "human"]
        rows.append(
            [
                words(run.label),
                number(quotes.total() / n if n else None),
                number(total / n if n else None),
                number(100 * (1 - free / total) if total else None, unit=" %"),
                *(number(quotes[status], 0) for status in statuses),
                *(number(found[verdict], 0) for verdict in verdicts),
                number(len(run.records) - len(answered), 0),
                number(median(seconds) if seconds else None, 3),
            ]
        )
    columns = ["run", "quotes per answer", "words per answer", "words quoted", *statuses]
    columns += [*(f"answers {verdict}" for verdict in verdicts), "failed", "seconds per answer"]
    notes = (
        "A quote is verified if it stands in the source that it names, character for character; "
        "misattributed if it stands in another source; fabricated if it stands in none; malformed "
        "if its mark cannot be parsed. Seconds are the median.",
        "An answer is quoted if it quotes, every quote is verified, and no other word outside of "
        "quotes claims anything; unverified if a quote is not verified or lost its brackets; "
        "unquoted if it quotes nothing or claims something outside of quotes; abstained if it "
        "says that the sources do not answer.",
    )
    return Table("quoting", "What quoting looked like", columns, rows, notes)


def choose_baseline(runs: Sequence[FinishedRun], name: str | None) -> FinishedRun:
    """Return the run that others are compared with.

    Args:
        name: label or folder of one; by default the first that is not the human row.
    """
    if name is None:
        return next((run for run in runs if run.kind != "human"), runs[0])
    for run in runs:
        if name in (run.label, run.folder):
            return run
    known = ", ".join(repr(run.label) for run in runs)
    raise InputError(f"must be one of {known}, got {name!r}.", field="baseline", value=name)


def comparison_table(
    runs: Sequence[FinishedRun], baseline: FinishedRun, resamples: int = COMPARED_RESAMPLES
) -> Table | None:
    """Return how each run differs from the baseline, with Holm's correction over all tests.

    Runs over other questions are left out, with a note. None if there is nothing to compare.

    Source: Holm 1979; `semqa.metrics.bootstrap.paired_bootstrap`.
    """
    tests: dict[tuple[str, str], PairedTest] = {}
    notes: list[str] = []
    for run in runs:
        if run is baseline:
            continue
        if not _same_questions(run, baseline):
            notes.append(f"Not compared because it is over other questions: {run.label}.")
            continue
        for metric in SCORES:
            try:
                tests[run.label, metric] = paired_bootstrap(
                    run.scores, baseline.scores, metric=metric, resamples=resamples, seed=SEED
                )
            except InputError as error:
                notes.append(f"Not compared: {run.label}: {error}")
    if not tests:
        return None
    corrected = dict(zip(tests, holm([t.p for t in tests.values()]), strict=True))
    rows: list[list[Cell]] = []
    for run in runs:
        if not any(label == run.label for label, _ in tests):
            continue
        cells = [words(run.label)]
        for metric in SCORES:
            test = tests.get((run.label, metric))
            if test is None:
                cells += [Cell("–", why="not compared"), Cell("–")]
                continue
            p = corrected[run.label, metric]
            cells.append(figure(test.difference, (test.low, test.high), test.n, signed=True))
            shown = f"{p:.3f}" if p >= 0.001 else "< 0.001"
            cells.append(Cell(shown, p, strong=p < LEVEL, why=f"uncorrected {test.p:.4f}"))
        rows.append(cells)
    told = [
        f"Differences in points with 95% intervals, by a paired bootstrap of {resamples:,} "
        f"resamples over questions (seed {SEED}); two-sided p, corrected by Holm for all "
        f"{len(tests)} tests of this table; bold if below {LEVEL:g}. Intervals are not "
        "corrected: one without 0 is no proof if its p is not bold."
    ]
    least = 1 / (1 + resamples)
    if len(tests) * least >= LEVEL:
        told.append(
            f"No difference can be bold here: the least p of {resamples:,} resamples is "
            f"{least:.1g}, which Holm multiplies by {len(tests):,} tests. Report fewer runs at once."
        )
    columns = ["run", *(each for name in SCORES.values() for each in (f"Δ {name}", f"p ({name})"))]
    return Table("comparison", f"Against {baseline.label}", columns, rows, [*told, *notes])


def not_compared(runs: Sequence[FinishedRun], baseline: FinishedRun) -> str:
    """Return why there is nothing to compare the baseline with."""
    if not any(_same_questions(run, baseline) for run in runs if run is not baseline):
        return f"no other run is over the questions of {baseline.label}"
    if len(baseline.qids) == 1:
        return "one question shows no spread"
    return f"no question has a score of {baseline.label} and of another run"


def _same_questions(run: FinishedRun, other: FinishedRun) -> bool:
    return run.data == other.data and run.qids == other.qids


def judged_table(runs: Sequence[FinishedRun]) -> Table | None:
    """Return what judges said of the runs; None if none was judged."""
    judged = [run for run in runs if run.results.get("judged")]
    if not judged:
        return None
    rows = []
    for run in judged:
        told = as_object(run.results.get("judged"))
        ais = as_object(told.get("auto_ais"))
        n = as_object(ais.get("n"))
        cells = [words(run.label), words(short_judge(str(told.get("judge"))))]
        cells += [
            _judged_cell(ais.get(key), ais.get(f"{key}_interval"), n.get(key))
            for key in ("sentences", "answers")
        ]
        cells += [
            _judged_cell(found.get("value"), found.get("interval"), found.get("n"))
            for found in (as_object(told.get(f"citation_{key}")) for key in ("recall", "precision"))
        ]
        rows.append([*cells, disambig_cell(run), dr_cell(run)])
    columns = ["run", "judge", "AutoAIS, sentences", "AutoAIS, answers", "citation recall"]
    columns += ["citation precision", "Disambig-F1", "DR"]
    notes = [
        "Judgements, not verifications: 0 to 100, by the judge named; figures of two judges do not "
        "compare. Answers that failed or are empty count in Disambig-F1 only, where they score 0. "
        "95% intervals: percentiles over resamples of questions; Wilson's for AutoAIS of answers if "
        "each question has one answer.",
        *disambig_note(judged),
    ]
    return Table("judged", "Judged", columns, rows, notes)


def _judged_cell(value: object, interval: object, n: object) -> Cell:
    if not isinstance(value, int | float):
        return Cell("–", why="not judged by such a judge")
    ends = interval if isinstance(interval, list) and len(interval) == 2 else []
    around = [float(end) for end in ends if isinstance(end, int | float)]
    count = n if isinstance(n, int) else None
    return figure(float(value), around if len(around) == 2 else None, count)


def _question_word(question: Question) -> str:
    """Return the first question word of a question, which may follow others (``in which``).

    Example:
        >>> from semqa.data.quotesum import Question
        >>> [_question_word(Question("q", text, (), ())) for text in ("In WHICH year?", "What's up?")]
        ['which', 'what']
    """
    known = ("who", "what", "when", "where", "which", "how", "why")
    said = re.findall(r"\w+", question.question.lower())
    return next((word for word in said if word in known), "other")


GROUPINGS: dict[str, tuple[str, Callable[[Question], str]]] = {
    "sources": ("number of sources", lambda question: str(len(question.numbers))),
    "question-word": ("question word", _question_word),
    "origin": ("origin", lambda question: question.origin),
}
"""How results are broken down: a title, and the group of a question."""


def breakdown(runs: Sequence[FinishedRun], key: str) -> Table:
    """Return SEMQA by groups of questions."""
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
        cells = [words(label)]
        for name in order:
            found = groups.get(name, [])
            estimate = summarise(found, resamples=RESAMPLES, seed=SEED).estimates["semqa"]
            questions = len({each.qid for each in found if each.semqa is not None})
            cells.append(
                figure(estimate.value, estimate.interval if questions > 1 else None, questions)
            )
        rows.append(cells)
    most = {
        name: max(len({s.qid for s in groups.get(name, ())}) for groups in grouped.values())
        for name in order
    }
    columns = ("run", *(f"{name} (n = {most[name]})" for name in order))
    note = "n is the number of questions that have a score; a single one has no interval."
    return Table(f"by-{key}", f"{SCORES['semqa']} by {title}", columns, rows, (note,))


def records_table(runs: Sequence[FinishedRun]) -> Table:
    """Return what each run was, from its record."""
    rows = []
    for run in runs:
        identity, told = run.identity, run.results
        settings = [
            f"{key}={value}"
            for key, value in run.settings.items()
            if key not in ("engine", "data", "prompt") and value is not None
        ]
        prompt = f"{run.prompts.get('template')} {str(run.prompts.get('sha256'))[:12]}"
        machine = as_object(told.get("machine"))
        shown = [
            run.label,
            run.folder,
            str(identity.get("engine")),
            ", ".join(settings),
            prompt if run.prompts else "–",
            f"{identity.get('data')} {str(identity.get('data_sha256'))[:12]}",
            str(identity.get("semqa")),
            _join(as_object(identity.get("model_versions")))
            or _join(as_object(told.get("versions"))),
            _join({k: machine[k] for k in ("processor", "gpus", "python") if k in machine}),
        ]
        rows.append([words(each) for each in shown])
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
    return Table("records", "What was run", columns, rows)


def _join(found: Mapping[str, object]) -> str:
    return ", ".join(
        f"{key} {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in found.items()
    )
