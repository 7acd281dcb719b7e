"""Questions over documents are read strictly, and an answer's quotes are told by their documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from semqa.bench.docqa import (
    AnswerFile,
    DocsAnswer,
    QuestionSet,
    TemporaryCollections,
    answer_key,
    answer_questions,
    whole_documents,
)
from semqa.errors import InputError, MissingExtraError, UnavailableError
from semqa.metrics.docqa import DocsQuestion, DocsQuote
from semqa.quotes import QuotedAnswer, Source
from semqa.retrieval.passages import library
from tests.documents import makers

QUESTION: dict[str, Any] = {
    "id": "q1",
    "question": "When was it built?",
    "documents": ["harbour.txt"],
    "facts": [["1890"]],
    "evidence": ["The harbour was built in 1890."],
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write questions beside two documents; a field that is None is left out."""
    (tmp_path / "documents" / "more").mkdir(parents=True)
    (tmp_path / "documents" / "harbour.txt").write_text(
        "The harbour was built in 1890. It burnt twice.\n"
    )
    (tmp_path / "documents" / "more" / "report.pdf").write_bytes(
        makers.pdf([["The bridge was built in 1932."]])
    )

    def write(*changes: dict[str, Any]) -> Path:
        path = tmp_path / "questions.jsonl"
        rows = [{**QUESTION, **each} for each in changes]
        kept = [{k: v for k, v in row.items() if v is not None} for row in rows]
        path.write_text("\n" + "".join(json.dumps(row) + "\n" for row in kept))
        return path

    return write


def test_questions_and_documents_of_several_kinds_are_read(write: Callable[..., Path]) -> None:
    bridge: dict[str, Any] = {"id": "q2", "kind": "pdf"}
    bridge |= {"documents": ["more/report.pdf", "harbour.txt"]}
    bridge |= {"facts": [["1932", "1930s"]], "evidence": ["The bridge was built in 1932."]}
    nobody = {"id": "q3", "answerable": False, "facts": None, "evidence": None}
    asked = QuestionSet.read(write({}, bridge, nobody))
    assert [question.id for question in asked.questions] == ["q1", "q2", "q3"]
    assert asked.questions[1] == DocsQuestion(
        id="q2",
        question=QUESTION["question"],
        documents=("more/report.pdf", "harbour.txt"),
        facts=(("1932", "1930s"),),
        evidence=("The bridge was built in 1932.",),
        kind="pdf",
    )
    found = whole_documents(asked.questions[1], asked.documents)
    assert [name for name, _ in found] == ["more/report.pdf", "harbour.txt"]
    assert found[1][1] == Source("The harbour was built in 1890. It burnt twice.\n", "harbour")
    assert "The bridge was built in 1932." in found[0][1].text


def test_evidence_is_copied_from_the_file_or_from_its_text(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "documents" / "plants.csv").write_text('bed,plant\nA1,"Phlox, white"\n')
    copied = [['A1,"Phlox, white"'], ["A1 | Phlox, white"]]
    rows: list[dict[str, Any]] = [
        {"id": text[0], "documents": ["plants.csv"], "facts": [["Phlox"]], "evidence": text}
        for text in copied
    ]
    asked = QuestionSet.read(write(*rows))
    assert [each.evidence for each in asked.questions] == [("A1 | Phlox, white",)] * 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"question": None}, "question is missing"),
        ({"facts": None}, "facts is missing"),
        ({"documents": "harbour.txt"}, '"documents"'),
        ({"documents": ["harbour.txt", "harbour.txt"]}, "documents names a file twice"),
        ({"answerable": "no"}, 'answerable must be true or false, got the string "no"'),
        ({"answerable": False}, "answerable is false, but there are facts"),
        ({"documents": ["port.txt"]}, 'No document "port.txt"'),
        ({"documents": ["../questions.jsonl"]}, "document name"),
        ({"evidence": ["It burnt thrice."]}, 'evidence "It burnt thrice." is in none'),
        ({"facts": [["189"]]}, 'fact "189" is not in the evidence'),
        ({"id": "q0"}, "is already used at"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    write: Callable[..., Path], change: dict[str, Any], said: str
) -> None:
    path = write({"id": "q0"}, change)
    with pytest.raises(InputError) as caught:
        QuestionSet.read(path)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert said in str(caught.value)


class Fake:
    """Writes what it is told to, or fails."""

    name = "fake"

    def __init__(self, *said: str | Exception) -> None:
        self._said = iter(said)
        self.asked: list[tuple[str, int]] = []

    def answer(self, question: str, sources: Sequence[Source], history: Any = ()) -> QuotedAnswer:
        self.asked.append((question, len(sources)))
        said = next(self._said)
        if isinstance(said, Exception):
            raise said
        return QuotedAnswer.parse(said, sources)


SOURCES = [
    ("a.md", Source("Ann sang in Oslo.", "Concert")),
    ("b.md", Source("Bob slept.", "Night")),
    ("b.md", Source("Kay left.", "Night")),
]


def answers(engine: Fake, count: int = 1) -> list[DocsAnswer]:
    questions = [DocsQuestion(f"q{n}", f"Who? {n}", ("a.md", "b.md")) for n in range(count)]
    keys = {question.id: "k" for question in questions}
    return list(answer_questions(engine, "spec", questions, lambda _question: SOURCES, keys))


def test_a_quote_has_the_document_that_it_is_in() -> None:
    said = "[ 2 Night ] [ 1 Ann sang ] [ 1 Kay left. ] [ 1 Night ] [ 2 Bob sang ] [ 9 Bob sang ]"
    (answer,) = answers(Fake(said))
    assert answer.prediction.quotes == (
        DocsQuote("Night", "b.md", "title"),
        DocsQuote("Ann sang", "a.md", "body"),
        DocsQuote("Kay left.", "b.md", "body"),  # misattributed
        DocsQuote("Night", "b.md", "title"),
        DocsQuote("Bob sang", "b.md", None),  # in no source
        DocsQuote("Bob sang", None, None),
    )
    assert (answer.answer, answer.prediction.abstained) == (said, False)


def test_abstentions_count_and_failures_do_not_end_the_run() -> None:
    found = answers(
        Fake("The sources do not answer this question.", InputError("too long"), "[ 1 Ann ]"), 3
    )
    assert [each.prediction.abstained for each in found] == [True, False, False]
    assert [each.prediction.error for each in found] == [None, "too long", None]
    assert [each.id for each in found] == ["q0", "q1", "q2"]
    nothing = DocsQuestion("q", "Who?", ("a.md",))
    (empty,) = answer_questions(Fake(), "spec", [nothing], lambda _question: [], {"q": ""})
    assert empty.prediction.abstained


def test_what_is_not_there_ends_the_run() -> None:
    down = UnavailableError("no connection")
    engine = Fake(down, "[ 1 Ann ]", down, down, down, "[ 1 Ann ]")
    with pytest.raises(UnavailableError, match="no connection"):
        answers(engine, 6)
    assert len(engine.asked) == 5
    with pytest.raises(MissingExtraError):
        answers(Fake(MissingExtraError("run pip install")))


def test_a_collection_is_made_of_each_list_of_documents(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Words only: no model is loaded.
    monkeypatch.setattr(library, "packaged_encoder", lambda: None)
    names = ["harbour.txt", "more/report.pdf"]
    asked = QuestionSet.read(
        write({}, {"id": "q2", "documents": names}, {"id": "q3", "documents": names[::-1]})
    )
    told: list[tuple[int, int]] = []
    with TemporaryCollections(asked.documents, 1) as collections:
        collections.prepare(asked.questions, lambda done, total: told.append((done, total)))
        assert told == [(0, 3), (1, 3)]
        collections.prepare(asked.questions, lambda done, total: told.append((done, total)))
        assert len(told) == 2
        found = collections.find(asked.questions[2])
        assert [(name, source.text[:11]) for name, source in found] == [
            ("harbour.txt", "The harbour")
        ]
        bridge = DocsQuestion("q", "Which bridge?", tuple(names))
        assert [name for name, _ in collections.find(bridge)] == ["more/report.pdf"]


def test_answers_survive_a_kill_and_later_ones_count(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    first = DocsAnswer("q1", "bm25", "[ 1 é ]", (DocsQuote("é", "a.md"),), seconds=0.5, key="k")
    failed = DocsAnswer("q2", "bm25", error="too long", seconds=0.1, key="k")
    with AnswerFile(path) as file:
        file.append(first)
        file.append(failed)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])  # a line that was cut off
    better = DocsAnswer("q2", "bm25", abstained=True, seconds=0.2, key="k")
    with AnswerFile(path) as file:
        assert path.read_bytes() == whole
        assert file.answers == {("bm25", "q1"): first, ("bm25", "q2"): failed}
        assert file.has("bm25", "q1", key="k")
        assert not file.has("bm25", "q1", key="other")
        assert not file.has("lead-1", "q1", key="k")
        assert not file.has("bm25", "q2", key="k")  # it failed
        file.append(better)
    with AnswerFile(path) as file:
        assert file.answers["bm25", "q2"] == better


@pytest.mark.parametrize("text", ["my notes", '{"id": "q1"}\nmy notes\n', '{"x": 1}\n', "[1]\nx"])
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=r"notes\.txt"):
        AnswerFile(path)
    assert path.read_text() == text
    with pytest.raises(InputError, match="not a regular file"):
        AnswerFile(tmp_path)


def test_a_key_changes_with_what_an_answer_depends_on(write: Callable[..., Path]) -> None:
    asked = QuestionSet.read(write({}))
    (question,) = asked.questions
    key = answer_key(question, asked.documents, {"by": "files"})
    assert key == answer_key(question, asked.documents, {"by": "files"})
    assert key != answer_key(question, asked.documents, {"by": "collection"})
    path = write({"question": "When did it burn?"})
    again = QuestionSet.read(path)
    assert key != answer_key(again.questions[0], again.documents, {"by": "files"})
    document = path.parent / "documents" / "harbour.txt"
    document.write_text(document.read_text() + "New.")
    again = QuestionSet.read(write({}))
    assert key != answer_key(again.questions[0], again.documents, {"by": "files"})
