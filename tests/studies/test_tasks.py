"""TofuEval, AttrScore and Q² over HTTP: stages, marked spans, disagreements, exports and reports."""

from __future__ import annotations

import csv
import io
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.attrscore.examples import read_examples
from semqa.attribution.q2.reading import read_responses
from semqa.attribution.tofueval.data import (
    AnnotatedSentence,
    by_summary,
    read_annotations,
    read_key_points,
)
from semqa.errors import InputError
from semqa.studies.kind import Format, Input, Option, Question, Rated, Stage, Study
from semqa.studies.store import Store
from semqa.studies.tables import INDEPENDENT
from tests.studies.made import Person, make_study, served, write_lines
from tests.studies.tasks import (
    CLAIMS,
    MEETING,
    POINTS,
    TALK,
    TOPIC,
    attrscore_inputs,
    q2_inputs,
    tofueval_inputs,
    write_csv,
)


def exported(study: Study, form: Format) -> bytes:
    with closing(Store(study)) as store:
        return b"".join(study.kind.export(study, store.rated(), form))


def rows_of(study: Study) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported(study, "jsonl").splitlines()]


def cells_of(study: Study) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported(study, "csv").decode(), newline="")))


def reported(study: Study) -> dict[str, Any]:
    with closing(Store(study)) as store:
        return study.kind.report([(study, store.rated())]).record


# Questions


def test_spans_are_sorted_and_merged() -> None:
    question = Question("s", "Mark", "spans", part="p", length=10)
    assert question.check([[5, 7], [0, 2], [6, 10]]) == [[0, 2], [5, 10]]


@pytest.mark.parametrize(
    "spans", [[[0, 11]], [[3, 3]], [[-1, 2]], [[0, 1, 2]], [["0", "1"]], [[True, 2]], "all", [0, 1]]
)
def test_spans_that_are_not_in_the_text_are_refused(spans: object) -> None:
    with pytest.raises(InputError):
        Question("s", "Mark", "spans", part="p", length=10).check(spans)


def test_the_lines_of_an_answer_become_options() -> None:
    later = Stage("", (), (Question("q", "", "several", (Option(0, "none"),), lines_of="w"),))
    assert later.check({"q": [2]}, {"w": "one\n\n two "}) == {"q": [2]}
    with pytest.raises(InputError):
        later.check({"q": [3]}, {"w": "one\n\n two "})


# TofuEval


def rate_sentences(person: Person, task: Any, *labels: str) -> Any:
    for number, label in enumerate(labels, 1):
        values: dict[str, Any] = {f"s{number}": label}
        if label == "no":
            values[f"s{number}_why"] = "Only Ortiz says so."
            values[f"s{number}_types"] = ["Contradiction"]
        task = person.answer(task, **values)
    return task


@pytest.fixture
def summaries(tmp_path: Path) -> Study:
    inputs = tofueval_inputs(tmp_path / "in", systems="A")
    return make_study(tmp_path, "tofueval", inputs, raters="ann,ben", per_item=2)


def test_a_summary_is_rated_sentence_by_sentence(summaries: Study) -> None:
    with served(summaries) as site:
        ann = site.person("ann")
        task = ann.next()
        assert [stage["title"] for stage in task["stages"]] == ["Sentence 1 of 3"]
        task = rate_sentences(ann, task, "yes", "no")
        shown = [part for stage in task["stages"] for part in stage["parts"]]
        assert [part["at"] for part in shown if part.get("id") == "summary"] == [0, 1, 2]
        ann.answer(task, 400, s3="no")  # neither explanation nor type
        task = ann.answer(task, s3="yes")
        ann.answer(task, 400, relevance=4)
        ann.answer(task, 400, relevance=4, covered=[1, 0])
        done = ann.answer(task, relevance=4, covered=[1, 3])
        assert done["finished"]


def test_an_earlier_sentence_can_be_changed(summaries: Study) -> None:
    with served(summaries) as site:
        ann = site.person("ann")
        task = rate_sentences(ann, ann.next(), "yes", "no")
        first = {**task, "stage": 0}
        again = ann.answer(first, s1="no", s1_why="It says April.", s1_types=["Contradiction"])
        assert again["stage"] == 2
        assert again["values"]["s2_types"] == ["Contradiction"]
        again = ann.answer(again, s3="yes")
        done = ann.answer(again, relevance=5, covered=[0])
        assert done["finished"]
        done = ann.answer(first, s1="yes")
        assert done["finished"]
        assert "s1_why" not in done["values"]
        assert done["values"]["relevance"] == 5


def test_key_points_are_written_before_the_summary_is_seen(tmp_path: Path) -> None:
    inputs = tofueval_inputs(tmp_path / "in", points=False, systems="A")
    study = make_study(tmp_path, "tofueval", inputs, raters="ann,ben", per_item=1)
    with served(study) as site:
        person = next(p for n in ("ann", "ben") if "end" not in (p := site.person(n)).next())
        task = person.next()
        assert "unsafe." in MEETING
        assert "The building is unsafe." not in json.dumps(task)
        task = person.answer(task, key_points="The roof leaks.\n\nIt costs 420,000.\n")
        person.answer({**task, "stage": 0}, 409, key_points="Another.")
        task = rate_sentences(person, task, "yes", "yes", "yes")
        options = task["stages"][-1]["questions"][1]["options"]
        assert [o["label"] for o in options] == [
            "The roof leaks.",
            "It costs 420,000.",
            "None of them",
        ]
        assert person.answer(task, relevance=5, covered=[2])["finished"]
    (whole,) = [row for row in rows_of(study) if "made" in row]
    assert whole["made"] == [False, True]
    assert whole["completeness"] == 0.5


def test_sentences_are_exported_as_released(summaries: Study, tmp_path: Path) -> None:
    with served(summaries) as site:
        for name, second in (("ann", "no"), ("ben", "yes")):
            person = site.person(name)
            task = rate_sentences(person, person.next(), "yes", second, "yes")
            person.answer(task, relevance=3 if name == "ann" else 2, covered=[1, 3])
    path = tmp_path / "out.csv"
    path.write_bytes(exported(summaries, "csv"))
    sentences = read_annotations([path])
    # An error counts if half of the raters found it.
    assert [each.inconsistent for each in sentences] == [False, True, False]
    assert sentences[1].errors == ("Contradiction",)
    assert sentences[1].explanation == "Only Ortiz says so."
    lines = [row for row in rows_of(summaries) if "sent_idx" in row]
    assert [(row["rater"], row["sent_label"]) for row in lines if row["sent_idx"] == 2] == [
        ("ann", "no"),
        ("ben", "yes"),
    ]
    record = reported(summaries)
    assert record["systems"]["model_A"]["relevant"]["value"] == 0.5
    assert record["systems"]["model_A"]["completeness"]["value"] == 0.5
    assert record["agreement"]["sentence"]["pairwise"]["value"] == pytest.approx(2 / 3)
    assert record["agreement"]["key point"]["pairwise"]["value"] == 1
    assert record["errors"]["exploded"] == {"Contradiction": 1}


def test_written_key_points_can_be_input_of_another_study(tmp_path: Path) -> None:
    inputs = tofueval_inputs(tmp_path / "in", points=False)
    study = make_study(tmp_path, "tofueval", inputs, raters="ann", per_item=1, design="key-points")
    with served(study) as site:
        ann = site.person("ann")
        ann.answer(ann.next(), key_points="\n".join(POINTS))
        assert ann.next()["end"] == "done"
    path = tmp_path / "points.csv"
    path.write_bytes(exported(study, "csv"))
    (found,) = read_key_points([path])
    assert (found.topic, found.points) == (TOPIC, POINTS)


def test_explanations_of_right_verdicts_are_rated(tmp_path: Path) -> None:
    sentences, documents = tofueval_inputs(tmp_path / "in", points=False, systems="A")
    text = sentences.path.read_text(encoding="utf-8")
    wrong = text.replace("The building is unsafe.,yes,,", "The building is unsafe.,no,Only Ortiz,")
    sentences.path.write_text(wrong, encoding="utf-8")
    key = {"doc_id": "council-3", "topic": TOPIC, "model_name": "model_A"}

    def judged(name: str, *rows: tuple[int, str, str]) -> Input:
        made = [
            {**key, "sent_idx": n, "text": f"Sentence {n}.", "label": label, "reply": reply}
            for n, label, reply in rows
        ]
        path = tmp_path / "in" / f"{name}.json"
        path.write_text(json.dumps({"kind": "tofueval judgements", "rows": made}))
        return Input(path)

    structured = json.dumps({"answer": "No", "explanation": "An opinion\ud800."})
    inputs = [
        sentences,
        documents,
        judged("gpt", (1, "no", "The date."), (2, "no", structured), (3, "yes", "All there.")),
        judged("llama", (2, "no", "Answer: No\nThe roof is fine.")),
    ]
    study = make_study(tmp_path, "explanations", inputs, raters="ann,ben,eve")
    assert [(i.system, i.data["explanation"]) for i in study.items] == [
        ("gpt", "An opinion?."),
        ("llama", "Answer: No\nThe roof is fine."),
    ]
    with served(study) as site:
        for name in ("ann", "ben", "eve"):
            person = site.person(name)
            while "end" not in (task := person.next()):
                shown = {part["label"]: part["text"] for part in task["stages"][0]["parts"]}
                assert shown["What a person wrote"] == "Only Ortiz"
                person.answer(task, right=shown["Explanation"] == "An opinion?." or name == "eve")
    assert reported(study)["labels"] == {
        "gpt": {"right": 1, "wrong": 0},
        "llama": {"right": 0, "wrong": 1},
        "all": {"right": 1, "wrong": 1},
    }
    cells = cells_of(study)
    assert [row["right"] for row in cells if row["evaluator"] == "gpt"] == ["True"] * 3
    assert {row["sent_idx"] for row in rows_of(study)} == {2}
    # Without annotations, every verdict of inconsistency is rated.
    assert len(study.kind.read(inputs[1:], "standard")) == 3


# AttrScore


def test_evidence_is_marked_and_exported(tmp_path: Path) -> None:
    study = make_study(
        tmp_path, "attrscore", attrscore_inputs(tmp_path / "in"), raters="ann,ben",
        per_item=2, design="independent",
    )  # fmt: skip
    with served(study) as site:
        for name in ("ann", "ben"):
            person = site.person(name)
            while "end" not in (task := person.next()):
                texts = {part["label"]: part["text"] for part in task["stages"][0]["parts"]}
                label = next(
                    row["label"] for row in CLAIMS if row["reference"] == texts["Reference"]
                )
                assert label not in json.dumps(task["stages"][0]["parts"])
                if label == "Extrapolatory":
                    label = "Contradictory" if name == "ann" else label
                if label != "Extrapolatory":
                    person.answer(task, 400, label=label)
                person.answer(task, label=label, evidence=[[4, 10]])
    rows = rows_of(study)
    assert {row["evidence"][0]["text"] for row in rows if row["evidence"]} == {
        row["reference"][4:10] for row in CLAIMS
    }
    path = tmp_path / "out.csv"
    path.write_bytes(exported(study, "csv"))
    assert [each.label for each in read_examples(path)] == ["Attributable", "Contradictory", None]
    record = reported(study)
    assert record["undecided"] == 1
    assert record["against_labels"]["confusion"]["counts"] == [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 0, 1],
    ]
    assert set(record["against_labels_by_domain"]) == {"history", "industry"}


# Q²


def test_a_third_rater_settles_what_two_disagree_about(tmp_path: Path) -> None:
    study = make_study(tmp_path, "q2", q2_inputs(tmp_path / "in"), raters="ann,ben,eve", per_item=2)
    said: dict[str, list[str]] = {}
    with served(study) as site:
        people = {name: site.person(name) for name in ("ann", "ben", "eve")}
        more = True
        while more:
            more = False
            for name, person in people.items():
                task = person.next()
                if "end" in task:
                    continue
                more = True
                text = next(
                    p["text"] for p in task["stages"][0]["parts"] if p.get("id") == "response"
                )
                said.setdefault(text, []).append(name)
                # All raters reject the "far" responses; only the first one rejects the others.
                wrong = text.startswith(("how", "skates")) or len(said[text]) == 1
                values = (
                    {"consistent": False, "claims": [[0, 3]]} if wrong else {"consistent": True}
                )
                person.answer(task, **values)
        for person in people.values():
            assert (end := person.next())["end"] == "done"
            assert end["more"] is False
        assert site.store.missing() == 0
    assert {text: len(names) for text, names in said.items()} == {
        TALK[0]["near_response"]: 3,
        TALK[0]["far_response"]: 2,
        TALK[1]["near_response"]: 3,
        TALK[1]["far_response"]: 2,
    }
    assert all(len(set(names)) == len(names) for names in said.values())
    cells = cells_of(study)
    assert [(row["near_label"], row["far_label"]) for row in cells] == [("0", "1"), ("0", "1")]
    record = reported(study)
    assert record["further_ratings"] == 2
    assert record["undecided"] == 0
    assert record["labels"]["far"] == {"consistent": 0, "inconsistent": 2}
    assert record["contexts"]["exactly_one"] == 2
    # Agreement leaves out the third rater.
    assert record["agreement"]["pairwise"]["value"] == 0.5
    path = tmp_path / "out.csv"
    path.write_bytes(exported(study, "csv"))
    assert [each.inconsistent for each in read_responses(path).responses] == [
        False, True, False, True,
    ]  # fmt: skip


def test_a_corrected_answer_keeps_its_place_among_the_first_two(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "one.csv", ["response", "knowledge"], [{"response": "It is so", "knowledge": "It is."}])  # fmt: skip
    study = make_study(tmp_path, "q2", [Input(path)], raters="ann,ben,eve", per_item=2)
    wrong: dict[str, Any] = {"consistent": False, "claims": [[0, 2]]}
    with served(study) as site:
        tasks = {}
        for name in ("ann", "ben", "eve"):
            if "end" not in (task := site.person(name).next()):
                tasks[name] = task
        first, second = tasks
        site.person(first).answer(tasks[first], consistent=True)
        site.person(second).answer(tasks[second], **wrong)
        third = site.person(({"ann", "ben", "eve"} - tasks.keys()).pop())
        third.answer(third.next(), consistent=True)
        site.person(first).answer(tasks[first], **wrong)
    record = reported(study)
    assert (record["ratings"], record["further_ratings"]) == (3, 1)
    assert record["agreement"]["pairwise"]["value"] == 1


def test_adjudication_is_reassigned_if_the_rater_leaves(tmp_path: Path) -> None:
    inputs = q2_inputs(tmp_path / "in")
    study = make_study(tmp_path, "q2", inputs, raters="ann,ben,eve", per_item=2)
    with served(study) as site:
        names = ("ann", "ben", "eve")
        for name in names:
            person = site.person(name)
            while "end" not in (task := person.next()) and task["number"] <= 2:
                values: dict[str, Any] = {"consistent": name == "ann", "claims": [[0, 1]]}
                person.answer(task, **values)
        site.store.add_raters(["dan"])
        site.store.remove_rater("eve")
        assert site.store.missing() == 0


def test_two_raters_cannot_settle_their_own_disagreements(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one more"):
        make_study(tmp_path, "q2", q2_inputs(tmp_path / "in"), raters="ann,ben", per_item=2)


def test_labels_of_a_gold_file_are_the_expected_answers(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    row = {"response": "It opened in 1913.", "knowledge": "It opened in 1931.", "label": "1"}
    gold = Input(write_csv(tmp_path / "in" / "gold.csv", list(row), [row]), gold=True)
    inputs = [*q2_inputs(tmp_path / "in"), gold]
    study = make_study(
        tmp_path, "q2", inputs, raters="ann,ben,eve", per_item=2, qualify=1, threshold=1.0
    )
    with served(study) as site:
        ann = site.person("ann")
        ann.answer(ann.next(), consistent=True)
        assert ann.next() == {"end": "failed"}
    assert "gold" not in exported(study, "csv").decode()


# Exports and imports


def test_labels_go_to_the_rows_with_the_ids_of_their_items(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    rows = [
        {"id": name, "system": "m", "response": f"{name} is so", "knowledge": "No."}
        for name in ("b", "a")
    ]
    path = write_csv(folder / "own_consistent.csv", list(rows[0]), rows)
    study = make_study(tmp_path, "q2", [Input(path)], raters="ann", per_item=1, design=INDEPENDENT)
    with closing(Store(study)) as store:
        store.take_in(
            [Rated(item, "x", {"consistent": item.item == "b"}, 1.0, 1) for item in study.items]
        )
        released = study.kind.released(study, store.rated())
    assert [(row["id"], row["label"]) for row in cells_of(study)] == [("b", "0"), ("a", "1")]
    assert {name: b"".join(lines) for name, lines in released.items()} == {
        path.name: exported(study, "csv")
    }


def test_unrated_responses_have_no_label(tmp_path: Path) -> None:
    """Neither that of the input, nor the class in the file's name."""
    for number, first in enumerate(({}, {"label": "0"})):
        rows = [
            {"response": text, "knowledge": "No.", **first} for text in ("It is so", "It is not so")
        ]
        folder = tmp_path / str(number)
        folder.mkdir()
        path = write_csv(folder / "own_consistent.csv", list(rows[0]), rows)
        study = make_study(folder, "q2", [Input(path)], per_item=2)
        for rated, expected in ((0, [None, None]), (1, [True, None])):
            ratings = [
                Rated(item, "x", {"consistent": False}, 1.0, 1) for item in study.items[:rated]
            ]
            path.write_bytes(b"".join(study.kind.export(study, ratings, "csv")))
            assert [each.inconsistent for each in read_responses(path).responses] == expected


def test_unrated_sentences_and_topics_are_left_out(tmp_path: Path) -> None:
    inputs = tofueval_inputs(tmp_path / "in")
    annotated, *_, points = (each.path for each in inputs)
    study = make_study(tmp_path / "a", "tofueval", inputs, per_item=2)
    header, *lines = annotated.read_bytes().splitlines(keepends=True)
    assert b"".join(study.kind.export(study, [], "csv")) == header
    values = {"s1": "yes", "s2": "yes"}
    ratings = [Rated(study.items[1], "ann", values, 1.0, 1)]  # model B's two sentences
    assert b"".join(study.kind.export(study, ratings, "csv")) == header + b"".join(lines[3:])
    topics = make_study(tmp_path / "b", "tofueval", inputs, per_item=2, design="key-points")
    header, line = points.read_bytes().splitlines(keepends=True)
    ratings = [Rated(topics.items[0], "ann", {"key_points": "\n".join(POINTS)}, 1.0, 1)]
    for given, expected in (([], header), (ratings, header + line)):
        assert b"".join(topics.kind.export(topics, given, "csv")) == expected


@pytest.mark.parametrize("kind", ["attrscore", "q2", "tofueval"])
def test_tables_come_back_byte_for_byte_if_the_raters_agree_with_them(
    tmp_path: Path, shared: Path, kind: str
) -> None:
    folder = shared / "data" / kind
    if kind == "attrscore":
        inputs = attrscore_inputs(tmp_path / "in")
    elif kind == "q2":
        (path,) = folder.glob("*_annotation.csv")
        inputs = [Input(path)]
        labels = {(r.context, r.system): not r.inconsistent for r in read_responses(path).responses}
    else:
        paths = [folder / f"mediasum_factual_eval_{split}.csv" for split in ("dev", "test")]
        sentences = read_annotations(paths)
        ids = dict.fromkeys(each.key.doc_id for each in sentences)
        rows = [{"doc_id": each, "source": "Not part of the release."} for each in ids]
        inputs = [Input(path) for path in (*paths, write_lines(tmp_path / "d.jsonl", rows))]
        by_item: dict[tuple[str, ...], list[AnnotatedSentence]] = {
            (key.dataset, split, key.doc_id, key.topic, key.model): own
            for (split, key), own in by_summary(sentences).items()
        }
    study = make_study(tmp_path, kind, inputs, per_item=2)
    tables = {each.path.name: each.path for each in inputs if each.path.suffix == ".csv"}
    ratings: list[Rated] = []
    for item in study.items:
        if kind == "attrscore":
            values = {"label": item.data["label"]}
        elif kind == "q2":
            values = {"consistent": labels[item.item, item.system]}
        else:
            values = {}
            for each in by_item[study.kind.key(item)]:
                values |= {
                    f"s{each.index}": "no" if each.inconsistent else "yes",
                    f"s{each.index}_why": each.explanation,
                    f"s{each.index}_types": each.errors,
                }
        ratings.append(Rated(item, "ann", values, 1.0, 1))
    found = study.kind.released(study, ratings)
    assert {name: b"".join(lines) for name, lines in found.items()} == {
        name: path.read_bytes() for name, path in tables.items()
    }
