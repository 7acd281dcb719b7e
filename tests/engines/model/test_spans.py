"""Plans: which spans an answer quotes, tested without a model."""

from __future__ import annotations

from semqa import QuotedAnswer, Source
from semqa.engines import Request
from semqa.engines.extractive.documents import contenders, weigh, write
from semqa.engines.model.spans import Candidate, Place, connectors, plan, propose, read_documents

SOURCES = [
    Source("The bridge was opened in 1932 by the mayor. It is blue.", "Marrow Bridge"),
    Source("After the flood a new bridge was opened in 1954.", "New bridge"),
    Source("Cats eat fish.", "Cats"),
]
QUESTION = "When was the bridge opened?"


def place(source: int, strength: float, *worths: float) -> Place:
    texts = [f"span {source} {number}" for number in range(len(worths))]
    return Place(
        source,
        strength,
        tuple(
            Candidate(f"[ {source} {text} ]", (text,), worth, 3, follows=False)
            for text, worth in zip(texts, worths, strict=True)
        ),
    )


def nothing(places: list[Place]) -> list[list[float]]:
    return [[0.0] * len(each.candidates) for each in places]


def quoted(places: list[Place]) -> list[str]:
    return [each.candidates[0].plain[0] for each in places]


def test_proposals_are_verbatim_and_from_the_given_sources() -> None:
    places = propose(Request(QUESTION, SOURCES))
    assert [each.source for each in places][:2] == [1, 2]
    for each in places:
        for candidate in each.candidates:
            answer = QuotedAnswer.parse(candidate.text, SOURCES)
            assert answer.verified
            assert [quote.text for quote in answer.quotes] == list(candidate.plain)
            assert {quote.source for quote in answer.quotes} == {each.source}
    assert {each.source for each in propose(Request(QUESTION, SOURCES), [2])} == {2}
    assert not propose(Request("Who invented the telephone?", SOURCES))


def test_an_abbreviation_is_a_list() -> None:
    sources = [Source("The Rapid Transit Department (RTD) ran it."), Source("Read The Docs (RTD).")]
    places = propose(Request("What does RTD stand for?", sources))
    assert [each.kind for each in places] == ["expansion", "expansion"]
    first, second = places
    assert connectors("", first, first.candidates[0], last=False) == ["It stands for "]
    before = "It stands for " + first.candidates[0].text
    assert connectors(before, second, second.candidates[0], last=True) == [", or "]


def test_without_a_model_the_proposals_decide() -> None:
    places = [place(1, 1.0, 0.9, 0.8), place(2, 0.3, 0.9), place(3, 0.7, 0.9)]
    kept = plan(places, nothing(places), nothing(places))
    assert quoted(kept) == ["span 1 0", "span 3 0"]


def test_a_confident_model_decides() -> None:
    places = [place(1, 1.0, 0.9, 0.8), place(2, 0.3, 0.9), place(3, 0.7, 0.9)]
    sure = [[0.0, 20.0], [60.0], [-40.0]]
    kept = plan(places, nothing(places), sure)
    assert quoted(kept) == ["span 1 1", "span 2 0"]


def test_word_limit_and_repetitions() -> None:
    twice = [place(1, 1.0, 0.9), Place(2, 0.9, place(1, 0.9, 0.9).candidates)]
    assert len(plan(twice, nothing(twice), nothing(twice))) == 1
    many = [place(1, 1.0, 0.9), place(2, 0.9, 0.9), place(3, 0.8, 0.9)]
    assert [each.source for each in plan(many, nothing(many), nothing(many), max_words=7)] == [1, 2]
    assert not plan(many, nothing(many), nothing(many), max_words=2)


def test_a_model_chooses_among_the_lines_of_a_document() -> None:
    adults, guided = "A visit costs €5 for adults.", "A visit with a guide costs €9."
    sources = [Source(f"# Fees\n\n{adults}\n\n{guided}\n\nDogs are free.")]
    reading = read_documents(Request("What does a visit cost?", sources))
    assert reading is not None
    lines = contenders(reading, sources)
    assert {*lines.values()} == {f"[ 1 {adults} ]", f"[ 1 {guided} ]"}
    for row, line in lines.items():
        (left,) = {*lines.values()} - {line}
        assert write(weigh(reading, {row: -9.0}), sources, 100) == left
    assert read_documents(Request(QUESTION, SOURCES)) is None
