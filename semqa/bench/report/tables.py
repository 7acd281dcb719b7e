"""The tables of a report: scores, quoting, breakdowns, and what ran."""

from __future__ import annotations

import re
from collections import Counter
from statistics import fmean, median
from typing import TYPE_CHECKING

from semqa.bench.report.table import Cell, Table, figure, number, words
from semqa.bench.results import RESAMPLES, SEED
from semqa.metrics import summarise
from semqa.metrics.bootstrap import mean_interval
from semqa.quotes import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from semqa.bench.report.runs import FinishedRun
    from semqa.data.quotesum import Question
    from semqa.metrics import ExampleScores

__all__ = [
    "GROUPINGS",
    "SCORES",
    "breakdown",
    "main_table",
    "quoting_table",
    "records_table",
]

SCORES = {
    "rougeLsum": "ROUGE-L",
    "sem_f1": "Sem-F1",
    "sem_recall": "Sem-Rec",
    "semqa": "SEMQA",
}
"""The scores of the paper's Table 2; its ROUGE-L is ROUGE-Lsum."""

_QUESTION_WORDS = ("who", "what", "when", "where", "which", "how", "why")


def main_table(runs: Sequence[FinishedRun]) -> Table:
    """Return the scores of all runs with their intervals, as the paper's Table 2, and our own."""
    rows = []
    several = len({run.data for run in runs}) > 1
    for run in runs:
        cells = [words(run.label), number(len({record.qid for record in run.records}), 0)]
        if several:
            cells.insert(1, words(_data_name(run)))
        for metric in SCORES:
            estimate = run.report.estimates[metric]
            why = "; ".join(f"{n} unscored: {reason}" for reason, n in estimate.unscored.items())
            cells.append(figure(estimate.value, estimate.interval, estimate.n, why=why))
        cells.append(_quoted_cell(run))
        rows.append(cells)
    columns = ["run", *(["data"] if several else []), "questions", *SCORES.values()]
    return Table(
        "scores",
        "Scores",
        [*columns, "Sem-F1 (quoted)"],
        _with_best(rows, runs, first=3 if several else 2),
        (
            f"0 to 100, with 95% percentile intervals of {RESAMPLES:,} resamples of questions (seed "
            f"{SEED}), and the best of those that are no human row in bold. "
            "ROUGE-L is ROUGE-Lsum; SEMQA is √(Sem-F1 · ROUGE-L) of the two means.",
            "Sem-F1 (quoted) is no score of the paper: it is Sem-F1 over the sources that the "
            "answer or a reference quotes, so that an answer without quotes scores 0; Sem-F1 itself "
            "gives it points for every source that some reference leaves alone.",
            *_human_note(runs),
            *_citation_note(runs),
        ),
    )


_VERDICTS = (Verdict.QUOTED, Verdict.UNVERIFIED, Verdict.UNQUOTED, Verdict.ABSTAINED)


def quoting_table(runs: Sequence[FinishedRun]) -> Table:
    """Return what quoting looked like in all runs."""
    rows = []
    for run in runs:
        answered = [record for record in run.records if record.error is None]
        statuses: Counter[str] = Counter()
        for record in answered:
            statuses.update(record.quotes)
        total = sum(record.words for record in answered)
        free = sum(record.free_words for record in answered)
        verdicts = Counter(record.verdict for record in answered)
        n = len(answered) or None
        seconds = [record.seconds for record in answered]
        rows.append(
            [
                words(run.label),
                number(statuses.total() / n if n else None),
                number(total / n if n else None),
                number(100 * (1 - free / total) if total else None, unit=" %"),
                *(
                    number(statuses[status], 0)
                    for status in ("verified", "misattributed", "fabricated", "malformed")
                ),
                *(number(verdicts[verdict], 0) for verdict in _VERDICTS),
                number(len(run.records) - len(answered), 0),
                number(median(seconds) if seconds and run.kind != "human" else None, 3),
            ]
        )
    return Table(
        "quoting",
        "What quoting looked like",
        (
            "run",
            "quotes per answer",
            "words per answer",
            "words quoted",
            "verified",
            "misattributed",
            "fabricated",
            "malformed",
            *(f"answers {verdict}" for verdict in _VERDICTS),
            "failed",
            "seconds per answer",
        ),
        rows,
        (
            "A quote is verified where it stands in the source that it names, character for "
            "character; misattributed where it stands in another; fabricated where it stands in "
            "none; malformed where its mark cannot be read. Seconds are the median.",
            "An answer is quoted if it quotes, every quote is verified, and no other word outside of "
            "quotes claims anything; unverified if a quote is not verified or lost its brackets; "
            "unquoted if it quotes nothing or claims something outside of quotes; abstained if it "
            "says that the sources do not answer.",
        ),
    )


def _sources(question: Question) -> str:
    return str(len(question.numbers))


def _question_word(question: Question) -> str:
    """Return the first question word of a question, which may follow others (``in which``).

    Example:
        >>> from semqa.data.quotesum import Question
        >>> [_question_word(Question("q", text, (), ())) for text in ("In WHICH year?", "What's up?")]
        ['which', 'what']
    """
    said = re.findall(r"\w+", question.question.lower())
    return next((word for word in said if word in _QUESTION_WORDS), "other")


def _origin(question: Question) -> str:
    return question.origin


GROUPINGS: dict[str, tuple[str, Callable[[Question], str]]] = {
    "sources": ("number of sources", _sources),
    "question-word": ("question word", _question_word),
    "origin": ("origin", _origin),
}
"""By what results are broken down: a title, and what group a question is of."""


def breakdown(runs: Sequence[FinishedRun], key: str, metric: str = "semqa") -> Table | None:
    """Return one score of all runs whose data is there, by groups of questions.

    Args:
        runs: of any data.
        key: one of `GROUPINGS`.
        metric: what is broken down.

    Returns:
        None where no run has its data.
    """
    title, group_of = GROUPINGS[key]
    grouped = {run.label: _by_group(run, group_of) for run in runs if run.items is not None}
    names = {name for groups in grouped.values() for name in groups}
    if not names:
        return None
    order = sorted(names, key=lambda name: (not name.isdigit(), name == "other", name))
    rows: list[list[Cell]] = []
    for label, groups in grouped.items():
        cells = [words(label)]
        for name in order:
            scores = groups.get(name, [])
            report = summarise(scores, resamples=RESAMPLES, seed=SEED)
            estimate = report.estimates[metric]
            questions = len({each.qid for each in scores if each.value(metric) is not None})
            around = estimate.interval if questions > 1 else None
            cells.append(figure(estimate.value, around, questions))
        rows.append(cells)
    return Table(
        f"by-{key}",
        f"{SCORES[metric]} by {title}",
        ("run", *(f"{name} (n = {_most(grouped, name)})" for name in order)),
        rows,
        ("n is the number of questions that have a score; one alone has no interval.",),
    )


def _by_group(
    run: FinishedRun, group_of: Callable[[Question], str]
) -> dict[str, list[ExampleScores]]:
    groups: dict[str, list[ExampleScores]] = {}
    for item, scores in zip(run.items or (), run.scores, strict=True):
        groups.setdefault(group_of(item.question), []).append(scores)
    return groups


def _most(grouped: Mapping[str, Mapping[str, Sequence[ExampleScores]]], name: str) -> int:
    return max(len({s.qid for s in groups.get(name, ())}) for groups in grouped.values())


def records_table(runs: Sequence[FinishedRun]) -> Table:
    """Return what each run was, as its record says."""
    rows = []
    for run in runs:
        identity, told = run.identity, run.results
        versions, machine = told.get("versions"), told.get("machine")
        rows.append(
            [
                words(run.label),
                words(run.folder),
                words(str(identity.get("engine"))),
                words(_settings(run)),
                words(
                    f"{run.prompts.get('template')} {str(run.prompts.get('sha256'))[:12]}"
                    if run.prompts
                    else "–"
                ),
                words(f"{identity.get('data')} {str(identity.get('data_sha256'))[:12]}"),
                words(str(identity.get("semqa"))),
                words(_join(identity.get("model_versions")) or _join(versions)),
                words(_join(machine, ("processor", "gpus", "python"))),
            ]
        )
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


def _settings(run: FinishedRun) -> str:
    left = ("engine", "data", "prompt")
    return ", ".join(
        f"{key}={value}"
        for key, value in run.settings.items()
        if key not in left and value is not None
    )


def _join(found: object, keys: Sequence[str] | None = None) -> str:
    if not isinstance(found, dict):
        return ""
    shown = found if keys is None else {key: found[key] for key in keys if key in found}
    return ", ".join(
        f"{key} {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in shown.items()
    )


def _data_name(run: FinishedRun) -> str:
    limit = run.identity.get("limit")
    first = "" if limit is None else f", first {limit}"
    return f"{run.identity.get('data')}{first}"


def _quoted_cell(run: FinishedRun) -> Cell:
    if run.quoted is None:
        return Cell("–", why="needs the data")
    groups: dict[str, list[float]] = {}
    for record, scores in zip(run.records, run.quoted, strict=True):
        own = groups.setdefault(record.qid, [])
        if scores.f1 is not None:
            own.append(scores.f1)
    values = [value for group in groups.values() for value in group]
    if not values:
        return Cell("–", why="nobody quotes a source")
    interval = mean_interval(list(groups.values()), resamples=RESAMPLES, seed=SEED)
    return figure(fmean(values), interval, len(values))


def _with_best(
    rows: Sequence[Sequence[Cell]], runs: Sequence[FinishedRun], first: int
) -> list[list[Cell]]:
    """Mark the best score of each column among the runs that are not the human row."""
    from dataclasses import replace

    made = [list(row) for row in rows]
    if len({run.data for run in runs}) > 1:
        return made
    for column in range(first, len(made[0])):
        found = {
            at: row[column].value
            for at, row in enumerate(made)
            if runs[at].kind != "human" and row[column].value is not None
        }
        if len(found) > 1:
            best = max(value for value in found.values() if value is not None)
            for at, value in found.items():
                if value == best:
                    made[at][column] = replace(made[at][column], strong=True)
    return made


def _human_note(runs: Sequence[FinishedRun]) -> list[str]:
    if not any(run.kind == "human" for run in runs):
        return []
    return [
        "The human row is leave-one-out: each reference against the others of its question, "
        "so it is measured against one reference fewer, and never marked as the best."
    ]


def _citation_note(runs: Sequence[FinishedRun]) -> list[str]:
    named = dict.fromkeys(str(run.settings.get("prompt")) for run in runs if run.cites)
    if not named:
        return []
    return [
        f"{' and '.join(named)} ask for citations in place of quotes: Sem-F1, Sem-Rec and SEMQA of "
        "these runs are what the scorer gives to answers that quote nothing. Prompts has what can "
        "be compared."
        if len(named) > 1
        else f"{next(iter(named))} asks for citations in place of quotes: Sem-F1, Sem-Rec and SEMQA "
        "of its runs are what the scorer gives to answers that quote nothing."
    ]
