"""The scorer of quoted answers over documents: its rules one by one, and the released scorer."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from semqa.bench.docqa import QuestionSet
from semqa.metrics.docqa import (
    DocsPrediction,
    DocsQuestion,
    DocsQuote,
    DocsReport,
    DocsScore,
    DocsScorer,
)

TEXTS = {
    "rules.md": (
        "# Pool rules\n\n"
        "The pool opens at **7 a.m.** in summer.\n"
        "In winter it opens at 9 a.m.\n\n"
        "| Guest | Price |\n|---|---|\n| Child | 2 euros |\n| Adult | 27 euros |\n\n"
        "Dogs may not swim. Dogs may not swim.\n"
    ),
    "news.txt": "The pool opens at 7 a.m. in summer.\nIt was painted blue.\n",
}
SUMMER = "The pool opens at 7 a.m. in summer."
OPENING = DocsQuestion(
    id="q1",
    question="When does the pool open?",
    documents=("rules.md",),
    facts=(("7 a.m.", "seven"), ("9 a.m.",)),
    evidence=(SUMMER, "In winter it opens at 9 a.m."),
    kind="single",
)
NOBODY = DocsQuestion("q2", "Who owns the pool?", ("rules.md", "news.txt"), answerable=False)


def score(*quotes: str | DocsQuote, question: DocsQuestion = OPENING, **more: Any) -> DocsScore:
    made = tuple(each if isinstance(each, DocsQuote) else DocsQuote(each) for each in quotes)
    return DocsScorer(TEXTS).score(question, DocsPrediction(made, **more))


def figures(*quotes: str | DocsQuote, question: DocsQuestion = OPENING) -> tuple[Any, Any]:
    found = score(*quotes, question=question)
    return found.recall, found.precision


def test_the_evidence_itself_scores_one() -> None:
    found = score(*OPENING.evidence)
    assert (found.score, found.recall, found.precision, found.missed) == (1.0, 1.0, 1.0, ())
    assert found.words == 15
    # As it is written, with marks and line ends, and as it is rendered, it is the same.
    assert score("opens at **7 a.m.** in summer.\nIn winter it opens at 9 a.m.").score == 1.0


def test_words_beside_the_evidence_cost_precision_and_missing_facts_recall() -> None:
    assert figures(SUMMER) == (0.5, 1.0)
    assert score(SUMMER).missed == ("9 a.m.",)
    # 7 words of evidence, 8 of other sentences.
    assert figures(SUMMER, "Dogs may not swim. Dogs may not swim.") == (0.5, 0.5)
    assert figures("Dogs may not swim.") == (0.0, 0.0)
    assert score("Dogs may not swim.").score == 0.0


def test_ticks_are_counted_by_what_the_answers_are() -> None:
    answers = [
        score(*OPENING.evidence, ticked=True),
        score(*OPENING.evidence),  # whether it has a ✓ is unknown
        score(SUMMER, ticked=False),
        score("Dogs may not swim.", ticked=True),
        score(abstained=True, ticked=False),
        score("Dogs may not swim.", question=NOBODY, ticked=True),
        score(question=NOBODY, abstained=True, ticked=False),
    ]
    assert DocsReport.of(answers).to_dict()["ticks"] == {
        "complete": {"ticked": 1, "n": 1},
        "partial": {"ticked": 0, "n": 1},
        "wrong": {"ticked": 1, "n": 1},
        "unanswerable": {"ticked": 1, "n": 2},
    }


def test_what_was_quoted_before_is_padding() -> None:
    assert figures(SUMMER, SUMMER) == (0.5, 0.5)
    assert figures(SUMMER, "opens at 7 a.m.") == (0.5, 8 / 12)
    # From another document it is no repetition.
    both = DocsQuestion(
        "q", "?", ("rules.md", "news.txt"), facts=(("7 a.m.",),), evidence=(SUMMER,)
    )
    assert figures(SUMMER, SUMMER, question=both) == (1.0, 1.0)
    assert figures(*[DocsQuote(SUMMER, "news.txt")] * 2, question=both) == (1.0, 0.5)
    # A document that the question is not asked of is no place; all are searched.
    assert figures(DocsQuote(SUMMER, "other.txt"), question=both) == (1.0, 1.0)


def test_a_fact_counts_whole_and_inside_evidence_alone() -> None:
    price = DocsQuestion(
        "q", "?", ("rules.md",), facts=(("7 euros",),), evidence=("| Adult | 27 euros |",)
    )
    assert figures("Adult | 27 euros", question=price)[0] == 0.0
    price = DocsQuestion(
        "q", "?", ("rules.md",), facts=(("euros",),), evidence=("Adult | 27 euros",)
    )
    assert figures("| Child | 2 euros |", question=price) == (0.0, 0.0)
    assert figures("Adult  27 euros", question=price) == (1.0, 1.0)


def test_a_quote_that_is_not_verbatim_earns_runs_of_words_and_facts() -> None:
    found = score("The pool opens at seven in summer")
    assert (found.not_verbatim, found.recall, found.precision) == (1, 0.5, 4 / 7)
    assert figures("It opens at 9 a.m. each day") == (0.5, 4 / 7)
    assert figures("at noon") == (0.0, 0.0)


def test_titles_and_marks_alone_are_no_quotes() -> None:
    titled = score(DocsQuote("rules", "rules.md", "title"), SUMMER)
    assert (titled.precision, titled.words) == (1.0, 8)
    for nothing in ((), (DocsQuote("rules", "rules.md", "title"),), ("***", " – ")):
        found = score(*nothing)
        assert (found.abstained, found.score, found.words) == (True, 0.0, 0)


def test_abstentions_and_errors() -> None:
    assert score(question=NOBODY).score == 1.0
    assert score(SUMMER, abstained=True, question=NOBODY).score == 1.0
    assert score(SUMMER, question=NOBODY).score == 0.0
    assert score(SUMMER, question=NOBODY).recall is None
    assert score(error="timeout", question=NOBODY).score == 0.0
    found = score(error="timeout")
    assert (found.error, found.abstained, found.score, found.recall) == (True, False, 0.0, 0.0)
    assert score(SUMMER, abstained=True).score == 0.0


def test_what_cannot_be_scored_is_told() -> None:
    scorer = DocsScorer(TEXTS)
    assert scorer.problems(OPENING) == scorer.problems(NOBODY) == []
    wrong = DocsQuestion(
        "q", "?", ("news.txt",), facts=(("blue",), ("7 a.m.",)), evidence=("painted blue",)
    )
    assert [("7 a.m." in each) for each in scorer.problems(wrong)] == [True]
    wrong = DocsQuestion("q", "?", ("news.txt",), facts=(("red",),), evidence=("painted red",))
    assert ["painted red" in each for each in scorer.problems(wrong)] == [True]


def test_means_are_over_the_questions_that_have_a_value() -> None:
    scores = [score(SUMMER), score(*OPENING.evidence), score(question=NOBODY)]
    report = DocsReport.of(scores)
    total = report.total
    f1 = (2 / 3 + 1) / 2
    assert (total.recall, total.precision, total.f1) == pytest.approx((0.75, 1.0, f1))
    assert total.docqa.value == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert total.docqa.interval is not None
    assert (total.fully_answered, total.false_abstentions) == (0.5, 0.0)
    assert total.abstained_on_unanswerable == 1.0
    assert total.abstained == pytest.approx(1 / 3)
    assert report == DocsReport.of(scores)
    assert report.kinds.keys() == {"single"}
    assert report.groups["collection"].recall is None
    assert json.loads(json.dumps(report.to_dict()))["groups"]["one document"]["n"] == 2


def _predictions(asked: QuestionSet, seed: int) -> list[dict[str, Any]]:
    """Make answers of all sorts: right, padded, repeated, altered, empty, failed, missing."""
    rng = random.Random(seed)
    documents = {name: file.source.text for name, file in asked.documents.items()}

    def part(text: str) -> str:
        at = rng.randrange(len(text))
        return text[at : at + rng.randrange(1, 300)]

    made: list[dict[str, Any]] = []
    for question in asked.questions:
        names = rng.choices(question.documents, k=rng.randrange(4))
        quotes: list[dict[str, Any]] = [{"text": text} for text in question.evidence]
        quotes += [{"text": part(documents[name]), "document": name} for name in names]
        quotes += [
            dict(each) for each in rng.choices(quotes or [{"text": "x"}], k=rng.randrange(3))
        ]
        rng.shuffle(quotes)
        for quote in quotes:
            if rng.random() < 0.3:  # a part of it, perhaps from inside a word
                quote["text"] = part(quote["text"])
            if rng.random() < 0.3:
                quote["text"] = quote["text"].replace(" a", rng.choice([" other", " ", " – 7"]))
            if rng.random() < 0.2:
                quote["document"] = rng.choice([*documents, "no-such.md", None])
            if rng.random() < 0.1:
                quote["field"] = rng.choice(["title", "body"])
        row = {"id": question.id, "quotes": quotes, "abstained": rng.random() < 0.1}
        row |= rng.choice([{}] * 15 + [{"quotes": []}] * 2 + [{"error": "too long"}])
        made.append(row)
    return rng.sample(made, len(made) - 3)


@pytest.mark.parametrize("seed", range(2))
def test_figures_are_those_of_the_released_scorer(shared: Path, tmp_path: Path, seed: int) -> None:
    released = shared / "data" / "docqa"
    if not released.is_dir():
        pytest.skip(f"needs the released questions: no folder {released}")
    path = released / "questions.jsonl"
    asked = QuestionSet.read(path)
    rows = _predictions(asked, seed)
    predictions, each = tmp_path / "predictions.jsonl", tmp_path / "each.jsonl"
    predictions.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = subprocess.run(
        [
            sys.executable,
            released / "score.py",
            path,
            predictions,
            "--json",
            "--per-question",
            each,
        ],
        capture_output=True,
        check=True,
    )
    expected = json.loads(done.stdout)
    theirs = [json.loads(line) for line in each.read_text("utf-8").splitlines()]

    given = {row["id"]: row for row in rows}
    scores = []
    for question in asked.questions:
        row = given.get(question.id, {"error": "missing", "quotes": []})
        quotes = tuple(
            DocsQuote(q["text"], q.get("document"), q.get("field")) for q in row["quotes"]
        )
        prediction = DocsPrediction(quotes, row.get("abstained", False), row.get("error"))
        scores.append(asked.scorer.score(question, prediction))

    for mine, row in zip(scores, theirs, strict=True):
        same = ("id", "score", "abstained", "error", "kind")
        assert {name: getattr(mine, name) for name in same} == {name: row[name] for name in same}
        assert (mine.recall, mine.precision) == (row.get("recall"), row.get("precision"))
        assert mine.words == row["quoted_words"]
        assert (list(mine.missed), mine.not_verbatim) == (
            row.get("missed", []),
            row.get("not_verbatim", 0),
        )
    report = DocsReport.of(scores).to_dict()
    named = {"words_quoted": "words", "full": "fully_answered", "questions": "n"}
    for name, value in expected.items():
        if name not in ("kinds", "groups"):
            assert report[named.get(name, name)] == pytest.approx(value), name
    for part in ("kinds", "groups"):
        assert list(report[part]) == list(expected[part])
        for key, row in expected[part].items():
            for name, value in row.items():
                assert report[part][key][named.get(name, name)] == pytest.approx(value), (key, name)
