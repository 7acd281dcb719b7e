"""Writing studies over HTTP: validation, reviews, rounds and exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from semqa.data.quotesum import read_quotesum
from semqa.quotes import QuotedAnswer, Source
from semqa.studies.folder import kind_of
from semqa.studies.kind import Input, Study
from semqa.studies.writing import (
    Place,
    as_json,
    covered_short_answers,
    pieces_of,
    read_pieces,
    verified,
    words_of,
)
from tests.studies.made import Person, Site, make_study, served, write_lines

QUESTION = {
    "qid": "q1",
    "question": "who sang it?",
    "title1": "The first record",
    "source1": "🎄 It was sung by Bing Crosby in 1943.",
    "short_ans_1": "Bing Crosby",
    "source2": "Josh Gates sang it again in 2014 [live].",
    "short_ans_2": "Josh Gates",
}
BING = {"source": 1, "field": "body", "start": 17, "end": 28}
JOSH = {"source": 2, "field": "body", "start": 0, "end": 10}


def writing(folder: Path, rows: list[dict[str, Any]] | None = None, **settings: Any) -> Study:
    folder.mkdir(parents=True, exist_ok=True)
    path = write_lines(folder / "questions.jsonl", rows or [QUESTION])
    return make_study(folder, "writing", [Input(path)], **settings)


def exported(site: Site) -> list[dict[str, Any]]:
    study = site.store.study
    lines = list(study.kind.export(study, site.store.rated(), "jsonl"))
    path = study.folder / "out.jsonl"
    path.write_bytes(b"".join(lines))
    read_quotesum(path)
    ((name, whole),) = study.kind.released(study, site.store.rated()).items()
    assert (name, list(whole)) == ("writing.jsonl", lines)
    return [json.loads(line) for line in lines]


def write(person: Person, *pieces: Any, status: int = 200, **more: Any) -> Any:
    return person.answer(person.next(), status, answer=list(pieces), **more)


def test_quotes_are_taken_from_the_passage_by_the_server(tmp_path: Path) -> None:
    with served(writing(tmp_path)) as site:
        done = write(site.person("ann"), " By\n", BING, "and  also", JOSH, ".", comment=" Fine. ")
        assert done["finished"]
        (row,) = exported(site)
    assert row["summary"] == "By [ 1 Bing Crosby ] and also [ 2 Josh Gates ] ."
    assert row["covered_short_answers"] == "[ 1 Bing Crosby ] [ 2 Josh Gates ]"
    assert (row["short_ans_2"], row["source1"]) == ("Josh Gates", QUESTION["source1"])
    assert (row["unique_id"], row["writer"], row["comment"]) == ("q1_0", "ann", "Fine.")


def test_short_answers_are_not_shown_to_writers(tmp_path: Path) -> None:
    rows = [{**QUESTION, "short_ans_1": "SECRET", "summary": "SECRET", "unique_id": "x"}]
    with served(writing(tmp_path, rows)) as site:
        assert "SECRET" not in json.dumps(site.person("ann").next())


INVALID: list[tuple[Any, str]] = [
    ([], "no quotes"),
    (["Bing Crosby."], "no quotes"),
    (["a [ 1 Bing ]", BING], "Square brackets"),
    ([{**BING, "source": 3}], "no passage 3"),
    ([{**BING, "source": 0}], "no passage 0"),
    ([{**BING, "start": 28}], "not in passage 1"),
    ([{**BING, "start": -1}], "not in passage 1"),
    ([{**BING, "end": 999}], "not in passage 1"),
    ([{**BING, "end": 29}], "begins or ends with a space"),
    ([{**BING, "start": True}], "invalid place"),
    ([{**BING, "field": "url"}], "invalid place"),
    ([{**BING, "text": "White Christmas"}], "strings and quotes"),
    ([{"source": 2, "field": "body", "start": 0, "end": 40}], "square bracket"),
    (["word " * 99, BING], "101 words"),
    ([BING, "bell \x07"], "control characters"),
    (["x"] * 401, "at most 400"),
    ("By Bing", "at most 400"),
]


def test_invalid_answers_are_refused(tmp_path: Path) -> None:
    with served(writing(tmp_path)) as site:
        ann = site.person("ann")
        for pieces, why in INVALID:
            assert why in ann.answer(ann.next(), 400, answer=pieces)["error"]["message"]
        assert site.store.rated() == []


def test_quoted_passages_cannot_be_left_out(tmp_path: Path) -> None:
    with served(writing(tmp_path)) as site:
        ann = site.person("ann")
        write(ann, BING, status=400, left_out=[1])
        write(ann, BING, status=400, left_out=[7])
        write(ann, status=400, left_out=[1, 2])  # without a reason
        write(ann, left_out=[1, 2], comment="They are about something else.")
        ben = site.person("ben")
        write(ben, BING, left_out=[2])
        (row,) = exported(site)
    assert (row["writer"], row["left_out"]) == ("ben", [2])


def test_an_answer_comes_back_with_a_remark_until_it_is_accepted(tmp_path: Path) -> None:
    with served(writing(tmp_path)) as site:
        site.store.add_reviewers(["fay"])
        ann, fay = site.person("ann"), site.person("fay")
        task = ann.next()
        ann.answer(task, answer=[BING])
        (row,) = fay.get("/v1/reviews")["answers"]
        assert (row["writer"], row["state"]) == ("ann", "waiting")
        shown = fay.get(f"/v1/reviews/{row['id']}")
        assert {part["kind"] for part in shown["parts"]} == {"text", "answer", "sources"}
        first = {"answer": shown["answer"], "accepted": False}
        fay.post(f"/v1/reviews/{row['id']}", {**first, "remark": "  "}, 400)
        fay.post(f"/v1/reviews/{row['id']}", {**first, "remark": "And the other one?"})
        fay.post(f"/v1/reviews/{row['id']}", {**first, "remark": "And the other one?"})
        assert site.store.rated() == []

        again = ann.next()
        assert again["id"] == task["id"]
        assert [each["remark"] for each in again["reviews"]] == ["And the other one?"]
        ann.answer(again, answer=[BING, "and", JOSH])
        # A review applies only to the version that was read.
        late = {"answer": shown["answer"], "accepted": True}
        fay.post(f"/v1/reviews/{row['id']}", late, 409)
        newer = fay.get(f"/v1/reviews/{row['id']}")
        assert len(newer["history"]) == 2
        fay.post(f"/v1/reviews/{row['id']}", {"answer": newer["answer"], "accepted": True})
        ann.answer(again, 409, answer=[BING])
        (row,) = exported(site)
        assert row["summary"] == "[ 1 Bing Crosby ] and [ 2 Josh Gates ]"
        assert row["revision"] == 2


def test_rounds_are_sequential_and_the_pilot_is_reviewed_first(tmp_path: Path) -> None:
    rows = [{**QUESTION, "qid": f"q{n}", "question": f"who sang {n}?"} for n in range(7)]
    with served(writing(tmp_path, rows, pilot=2, batch=2, per_item=1)) as site:
        site.store.add_reviewers(["fay"])
        fay = site.person("fay")
        seen: dict[str, list[str]] = {}
        for name in ("ann", "ben", "eve"):
            person = site.person(name)
            seen[name] = []
            while "end" not in (task := person.next()):
                seen[name].append(task["stages"][0]["parts"][0]["text"])
                person.answer(task, answer=[BING])
            assert person.next()["end"] == "held"
        assert all(set(own) == {"who sang 0?", "who sang 1?"} for own in seen.values())
        for row in fay.get("/v1/reviews")["answers"]:
            shown = fay.get(f"/v1/reviews/{row['id']}")
            fay.post(f"/v1/reviews/{row['id']}", {"answer": shown["answer"], "accepted": True})
        later: dict[str, list[int]] = {}
        for name in ("ann", "ben", "eve"):
            person = site.person(name)
            later[name] = []
            while "end" not in (task := person.next()):
                number = int(task["stages"][0]["parts"][0]["text"].split()[-1].strip("?"))
                later[name].append((number - 2) // 2)
                person.answer(task, answer=[BING])
            assert person.next()["end"] == "done"
            assert person.next()["unread"] == len(later[name])
        # Five questions with one writer each, batch by batch.
        assert sum(map(len, later.values())) == 5
        assert all(own == sorted(own) for own in later.values())
        assert len(exported(site)) == 6
        said = site.person("owner").get("/v1/progress")
        assert (said["wanted"], said["ratings"], said["unread"]) == (11, 6, 5)


def test_answers_to_correct_start_from_predictions(tmp_path: Path) -> None:
    tmp_path.joinpath("in").mkdir()
    rows = [QUESTION, {**QUESTION, "qid": "q2"}]
    questions = write_lines(tmp_path / "in" / "q.jsonl", rows)
    text = "By [ 1 Bing Crosby ]: [ 2 nobody ever ] [sic]. [ 1 The first record ]"
    answers = write_lines(tmp_path / "in" / "p.jsonl", [{"qid": "q2", "prediction": text}])
    study = make_study(tmp_path, "writing", [Input(questions), Input(answers)])
    with served(study) as site:
        ann = site.person("ann")
        task = ann.next()
        part = task["stages"][0]["parts"][1]
        title = {"source": 1, "field": "title", "start": 0, "end": 16}
        assert part["start"] == ["By", BING, ":", "nobody ever", "(sic).", title]
        assert part["lost"] == ["nobody ever"]
        ann.answer(task, answer=part["start"])
        assert ann.next()["end"] == "done"
        (row,) = exported(site)
    assert row["qid"] == "q2"
    assert row["summary"] == "By [ 1 Bing Crosby ] : nobody ever (sic). [ 1 The first record ]"


def test_saved_answers_include_their_question_and_sources(tmp_path: Path) -> None:
    sources = [Source(f"Text {n} says {n}.", title=f"T{n}") for n in range(12)]
    answer = QuotedAnswer.parse("It is [ 11 10 ] .", sources)
    path = tmp_path / "saved.json"
    path.write_text(json.dumps({**answer.to_dict("what?"), "question": "what?"}), "utf-8")
    (item,) = kind_of("writing").read([Input(path)], "standard")
    assert [each["text"] for each in item.data["sources"]][:2] == [
        sources[10].text,
        sources[0].text,
    ]
    assert len(item.data["sources"]) == 8
    assert item.data["start"] == "It is [ 1 10 ] ."


def test_released_answers_are_read_and_written_as_they_are(shared: Path) -> None:
    """Covered short answers equal the release; marked answers round-trip."""
    answers = agreed = same = 0
    for question in read_quotesum(shared / "data/quotesum/dev_a.jsonl"):
        for reference in question.references:
            pieces, lost = pieces_of(reference.text, question.sources)
            if lost:  # the released quote is not verbatim
                continue
            answers += 1
            given = read_pieces(as_json(pieces), question.sources)
            found = covered_short_answers(given, question.sources, reference.source_answers)
            agreed += found == reference.short_answers
            same += verified(given, question.sources) == reference.text
    assert (answers, agreed, same) == (126, 126, 126)


def test_the_word_count_leaves_out_marks() -> None:
    sources = [Source("Bing Crosby, 1943 – a hit.")]
    assert words_of(["By", Place(1, "body", 0, 25), ", he said ."], sources) == 8


def test_reviewers_and_writers_do_not_see_each_others_pages(tmp_path: Path) -> None:
    with served(writing(tmp_path)) as site:
        site.store.add_reviewers(["fay"])
        site.person("ann").get("/v1/reviews", 404)
        site.person("owner").get("/v1/reviews", 404)
        site.person("fay").get("/v1/next", 404)
        assert site.person("fay").get("/v1/study")["role"] == "reviewer"
        names = [each["name"] for each in site.person("owner").get("/v1/progress")["raters"]]
        assert names == ["ann", "ben", "eve"]
