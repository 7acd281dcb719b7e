"""Training data made of questions and answers: every promise on every row."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from semqa.attribution.attrscore.answers import (
    AnswerMatcher,
    Forms,
    kind_of,
    occurrences,
    question_type,
)
from semqa.attribution.attrscore.labels import LABELS
from semqa.attribution.attrscore.simulation import (
    Candidates,
    QAItem,
    read_qa,
    replace_answers,
    simulate,
)
from semqa.errors import InputError

PEOPLE = ("Ann Lee", "Bob Ray", "Cid Orr", "Dee Fox", "Eve Poe", "Flo Kay")
TOWNS = ("Arden", "Borwick", "Calder", "Denholm", "Elsdon", "Fyvie")


def items(count: int = 60) -> list[QAItem]:
    """Questions by name, year, number and phrase; some answers have two forms and two places."""
    made = []
    for i in range(count):
        person, town, year, feet = PEOPLE[i % 6], TOWNS[i % 5], 1850 + 2 * i, 100 + 7 * i
        text = (
            f"The bridge {i} at {town} was built in {year} by {person}. It is {feet} feet long. "
            f"{person.split()[1]} was paid well for it, and rested in the shade of its arches."
        )
        asked = (
            ("Who built the bridge {}?", (person, person.split()[1])),
            ("When was bridge {} built?", (str(year),)),
            ("How long is bridge {}?", (f"{feet} feet",)),
            ("Where did they rest by bridge {}?", ("in the shade",)),
        )[i % 4]
        made.append(QAItem(f"q{i}", asked[0].format(i), asked[1], text))
    return made


@pytest.mark.parametrize("every_label", [False, True])
@pytest.mark.parametrize("seed", [0, 7])
def test_every_row_is_what_its_label_says(every_label: bool, seed: int) -> None:
    given_items = {item.id: item for item in items()}
    made = simulate(list(given_items.values()), every_label=every_label, seed=seed)
    contexts = {item.context for item in given_items.values()}
    counts = Counter(each.label for each in made.examples)
    assert set(counts) == set(LABELS)
    assert len(set(counts.values())) == 1
    assert len({each.id for each in made.examples}) == len(made.examples)
    ways: Counter[str] = Counter()
    for each in made.examples:
        item = given_items[str(each.how["question"])]
        right = AnswerMatcher.of(item.answers)
        ways[str(each.how["made"])] += 1
        assert each.query == item.question
        match each.how["made"]:
            case "as is":
                assert (each.label, each.answer, each.reference) == (
                    "Attributable", item.answers[0], item.context,
                )  # fmt: skip
            case "answer substitution":
                assert (each.label, each.reference) == ("Contradictory", item.context)
                assert not right.within(Forms.of(each.answer))
                assert not AnswerMatcher.of([each.answer]).within(Forms.of(item.answers[0]))
                assert kind_of(each.answer) == kind_of(item.answers[0])
            case "context substitution":
                assert (each.label, each.answer) == ("Contradictory", item.answers[0])
                assert not right.within(Forms.of(each.reference))
                assert str(each.how["substitute"]) in each.reference
                assert each.reference not in contexts
            case "BM25 negative":
                assert (each.label, each.answer) == ("Extrapolatory", item.answers[0])
                assert each.reference in contexts - {item.context}
                assert not right.within(Forms.of(each.reference))
            case other:
                pytest.fail(f"unknown making {other}")
    if not every_label:
        assert len({each.how["question"] for each in made.examples}) == len(made.examples)
    assert (
        abs(ways["answer substitution"] - ways["context substitution"])
        <= counts["Contradictory"] // 3
    )


def test_the_seed_and_nothing_else_decides() -> None:
    first, again = simulate(items(), seed=3), simulate(items(), seed=3)
    assert first == again
    assert simulate(items(), seed=4).examples != first.examples
    few = simulate(items(), seed=3, per_label=5)
    assert len(few.examples) == 15
    assert few.examples == tuple(e for e in first.examples if e in few.examples)


def test_what_cannot_be_balanced_is_refused() -> None:
    with pytest.raises(InputError, match="Cannot create Contradictory"):
        simulate([QAItem("1", "Who came?", ("Ann Lee",), "Ann Lee came.")])


def test_negatives_are_the_nearest_by_words() -> None:
    made = [
        QAItem("1", "Who painted the red barn?", ("Ann Lee",), "Ann Lee painted the red barn."),
        QAItem("2", "Who sold the blue boat?", ("Bob Ray",), "Bob Ray sold the blue boat."),
        QAItem("3", "Who cleaned the red barn?", ("Cid Orr",), "Cid Orr cleaned the red barn."),
        QAItem("4", "Who bought the red barn?", ("Dee Fox",), "Dee Fox, not Ann Lee, bought the red barn."),
    ]  # fmt: skip
    negatives = [e for e in simulate(made, every_label=True).examples if e.label == "Extrapolatory"]
    by_question = {e.how["question"]: e for e in negatives}
    # The fourth is as near, but holds the answer.
    assert by_question["1"].reference == made[2].context


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("yes", "boolean"), ("1932", "year"), ("in 1932", "year"), ("the 1980s", "decade"),
        ("19th century", "century"), ("May", "month"), ("Sunday", "weekday"), ("May 1840", "month and year"),
        ("7 May 1840", "date"), ("May 7, 1840", "date"), ("1840-05-07", "date"), ("12%", "percentage"),
        ("12.5 percent", "percentage"), ("$5 million", "money"), ("3rd", "ordinal"), ("twelve", "number"),
        ("1,200", "number"), ("3.5 million", "number"), ("12 miles", "quantity of miles"),
        ("Ann Lee", "name"), ("the University of Oxford", "name"), ("Ludwig van Beethoven", "name"),
        ("in the rain", "phrase"), ("", "phrase"), ("12345678901234567890", "number"),
    ],
)  # fmt: skip
def test_kinds_of_answers(answer: str, kind: str) -> None:
    assert kind_of(answer) == kind


def test_candidates_are_never_the_answer_in_other_words() -> None:
    pool = [
        QAItem("1", "Who built it?", ("Ann Lee",), "By Ann Lee."),
        QAItem("2", "Who built it?", ("Mrs Ann Lee",), "By Mrs Ann Lee."),
        QAItem("3", "Who built it?", ("Lee",), "By Lee."),
        QAItem("4", "Who built it?", ("ANN  LEE",), "By ANN LEE."),
        QAItem("5", "Who sold it?", ("Bob Ray",), "By Bob Ray."),
        QAItem("6", "How many?", ("twelve",), "twelve"),
        QAItem("7", "How many?", ("12",), "12"),
        QAItem("8", "How many?", ("1,200",), "1,200"),
        QAItem("9", "How many?", ("1200",), "1200"),
    ]
    candidates = Candidates(pool)
    found = set(candidates.of(pool[0], Random(1)))
    assert found == {"Bob Ray"}
    for item, same in ((pool[5], "12"), (pool[7], "1200")):
        texts = set(candidates.of(item, Random(1)))
        assert texts
        assert same not in texts


def test_candidates_for_the_same_question_word_come_first() -> None:
    pool = [QAItem(str(i), f"Who is {i}?", (name,), name) for i, name in enumerate(PEOPLE)]
    pool += [QAItem(f"t{i}", f"Where is {i}?", (town,), town) for i, town in enumerate(TOWNS)]
    found = list(Candidates(pool).of(pool[0], Random(2)))
    assert set(found[:5]) == set(PEOPLE[1:])
    assert set(found[5:]) == set(TOWNS)


@pytest.mark.parametrize(
    ("text", "phrase", "places"),
    [
        ("Ann Lee met ANN\nLEE; Leeann did not.", "Ann Lee", [(0, 7), (12, 19)]),
        ("in 1910, and 10, and 10.5, and 1,010, and 3.10", "10", [(13, 15)]),
        ("U.S. (US)", "U.S.", [(0, 4)]),
        ("C++ and C", "C", [(0, 1), (8, 9)]),
        ("東京は大きい。", "東京", [(0, 2)]),
        ("nothing", "", []),
        ("a.c abc", "a.c", [(0, 3)]),
    ],
)
def test_where_a_phrase_stands(text: str, phrase: str, places: list[tuple[int, int]]) -> None:
    assert occurrences(text, phrase) == places


@pytest.mark.parametrize(
    ("answer", "text", "held"),
    [
        ("The Beatles", "by beatles, in 1964", True),
        ("well-known", "a well known man", True),
        ("U.S.", "in the US of old", True),
        ("12", "all twelve came", True),
        ("1,200", "1200 people", True),
        ("first", "the 1st of May", True),
        ("10", "in 1910", False),
        ("Lee", "Leeds", False),
        ("東京", "日本の東京都", True),
        ("Zoë", "ZOË came", True),
    ],
)
def test_a_text_holds_an_answer_however_it_is_written(answer: str, text: str, held: bool) -> None:
    assert AnswerMatcher.of([answer]).within(Forms.of(text)) is held


@given(
    st.lists(
        st.sampled_from(["Ann", "Lee", "Ann Lee", "bridge", "10", "1910", "-", "."]), max_size=12
    )
)
def test_nothing_of_an_answer_is_left_by_substitution(words: list[str]) -> None:
    text = " ".join(words)
    answers = ("Ann Lee", "Lee")
    new, count = replace_answers(text, answers, "Bob Ray")
    assume(count)
    assert not AnswerMatcher.of(answers).within(Forms.of(new))
    assert new.count("Bob Ray") == count


@pytest.mark.parametrize(
    ("question", "asked"),
    [("By whom was it built?", "who"), ("In what year?", "which year"), ("Name the river.", "")],
)
def test_what_is_asked_for(question: str, asked: str) -> None:
    assert question_type(question) == asked


SQUAD = {
    "data": [
        {
            "title": "Bridges",
            "paragraphs": [
                {
                    "context": "Ann Lee built it in 1932.",
                    "qas": [
                        {"id": "a", "question": "Who built it?", "answers": [{"text": "Ann Lee", "answer_start": 0}] * 3},
                        {"id": "b", "question": "Why?", "answers": [], "is_impossible": True},
                        {"id": "c", "question": "Where?", "answers": [{"text": "Arden"}]},
                    ],
                }
            ],
        }
    ]
}  # fmt: skip


def test_squad_is_read(tmp_path: Path) -> None:
    (tmp_path / "squad.json").write_text(json.dumps(SQUAD))
    qa = read_qa(tmp_path / "squad.json")
    assert qa.items == (QAItem("a", "Who built it?", ("Ann Lee",), "Ann Lee built it in 1932."),)
    assert qa.skipped == {"no answer": 1, "the answer is not in the context": 1}


def test_rows_of_questions_are_read(tmp_path: Path) -> None:
    rows = [
        {"question": "Who?", "answers": {"text": ["Ann"], "answer_start": [0]}, "context": "Ann did."},
        {"question": "Who?", "answer": ["Bob", "Robert"], "ctxs": [{"text": "x"}, {"text": "Robert did."}]},
        {"query": "Who?", "answer": "Cid", "contexts": ["Cid did."]},
    ]  # fmt: skip
    (tmp_path / "qa.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_qa(tmp_path / "qa.jsonl").items == (
        QAItem("1", "Who?", ("Ann",), "Ann did."),
        QAItem("2", "Who?", ("Robert", "Bob"), "Robert did."),
        QAItem("3", "Who?", ("Cid",), "Cid did."),
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"answers": ["a"], "context": "a"}, r"qa\.jsonl:1: The question is missing"),
        ({"question": "q", "answers": ["a"]}, r"qa\.jsonl:1: The passage"),
        (
            {"question": "q", "answers": 3, "context": "c"},
            r"qa\.jsonl:1: answers must",
        ),
        ({"question": " ", "answers": ["a"], "context": "c"}, r"qa\.jsonl:1: question is"),
        ({"question": "q", "answers": ["a"], "ctxs": [3]}, r"qa\.jsonl:1: ctxs must"),
    ],
)
def test_a_bad_question_is_named(tmp_path: Path, row: dict[str, object], message: str) -> None:
    (tmp_path / "qa.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=message):
        read_qa(tmp_path / "qa.jsonl")
