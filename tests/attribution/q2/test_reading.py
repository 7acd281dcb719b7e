"""Files of responses, and records of runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.judges import create_judge
from semqa.attribution.q2 import Q2, Response, Settings
from semqa.attribution.q2.reading import combine_responses, read_responses
from semqa.attribution.q2.record import Run, read_judged
from semqa.attribution.q2.spans import RuleSpans
from semqa.attribution.records import describe_judge
from semqa.errors import InputError

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def run(text: str, name: str = "file.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return run


def test_one_response_a_row(write: Write) -> None:
    path = write(
        ',response,topic,knowledge,label,system\n0,"a, ""b""\nc",t,K,1,x\n7,nan,t,NA,0.0,\n,d,t,k,,\n'
    )
    file = read_responses(path)
    assert (file.kind, file.dropped, file.repeated) == ("responses", 0, [])
    found = [(r.id, r.text, r.knowledge, r.inconsistent, r.system) for r in file.responses]
    assert found == [
        ("0", 'a, "b"\nc', "K", True, "x"),
        ("1", "nan", "NA", False, None),
        ("2", "d", "k", None, None),
    ]
    assert [r.where.rpartition(":")[2] for r in file.responses] == ["2", "4", "5"]


TOPICAL_CHAT = [
    {
        "context": "Hi!",
        "fact": "red green blue\n",
        "annotators": ["a", "b", "c"],
        "responses": [
            {"response": text, "model": model, "Uses Knowledge": given, "Overall": [5, 5, 5]}
            for text, model, given in (
                ("red green blue\n", "Original Ground Truth", [1, 1, 1]),
                ("red\n", "Argmax Decoding", [1, 0, 1]),
                ("grey\n", "Argmax Decoding", [0, 0, 0]),
            )
        ],
    }
]
"""The form of ``tc_usr_data.json``."""


def test_ratings_of_topical_chat_are_read(write: Write) -> None:
    file = read_responses(write(json.dumps(TOPICAL_CHAT), "tc_usr_data.json"))
    assert [(r.system, r.rating) for r in file.responses] == [
        ("Original Ground Truth", 1),
        ("Argmax Decoding", pytest.approx(2 / 3)),
        ("Argmax Decoding", 0),
    ]
    assert {(r.knowledge, r.context) for r in file.responses} == {("red green blue\n", None)}
    for wrong in (
        [{"fact": "f"}],
        [{"fact": "f", "responses": [{"response": "r", "model": "m"}]}],
        [1],
        [],
    ):
        with pytest.raises(InputError):
            read_responses(write(json.dumps(wrong)))


def test_pairs_of_dialogue_nli_are_read(write: Write) -> None:
    pair = {"sentence1": "i have a dog .", "sentence2": "i have a pet .", "id": "x", "dtype": "y"}
    rows = [{**pair, "label": label} for label in ("positive", "neutral", "negative")]
    file = read_responses(write(json.dumps(rows), "dialogue_nli_dev.jsonl"))
    assert [(r.inconsistent, r.rating) for r in file.responses] == [
        (False, 1.0),
        (None, 0.5),
        (True, 0.0),
    ]
    assert {(r.knowledge, r.text) for r in file.responses} == {("i have a dog .", "i have a pet .")}
    with pytest.raises(InputError, match="item 0: label must be positive"):
        read_responses(write(json.dumps([{**pair, "label": "maybe"}])))


@pytest.mark.parametrize(
    ("name", "inconsistent"),
    [
        ("dodeca_consistent.csv", False),
        ("memnet-inconsistent.v2.csv", True),
        ("Inconsistent.csv", True),
        ("inconsistently.csv", None),
        ("consistent_and_inconsistent.csv", None),
        ("file.csv", None),
    ],
)
def test_a_files_name_is_its_class(write: Write, name: str, inconsistent: bool | None) -> None:
    path = write("response,knowledge\nr,k\n", name)
    (response,) = read_responses(path).responses
    assert response.inconsistent is inconsistent


def test_one_context_a_row_for_any_systems(write: Write) -> None:
    path = write(
        "knowledge,a_response,b_response,b_label,c_response,c_label,a_label,b_mine,a_mine,c_mine\n"
        "K,ra,rb,1,rc,0,0,.5,.25,1\n"
    )
    file = read_responses(path, measures=("mine",))
    assert file.kind == "contexts"
    found = [(r.id, r.system, r.text, r.inconsistent, r.context) for r in file.responses]
    assert found == [
        ("0/a", "a", "ra", False, "0"),
        ("0/b", "b", "rb", True, "0"),
        ("0/c", "c", "rc", False, "0"),
    ]
    assert [r.scores["mine"] for r in file.responses] == [0.25, 0.5, 1.0]


def test_repeated_responses_are_found_and_dropped(write: Write) -> None:
    path = write("response,knowledge\nr,k\nr,other\nr,k\nr,k\n")
    assert [each.id for each in read_responses(path).repeated] == ["2", "3"]
    once = read_responses(path, drop_repeated=True)
    assert ([each.id for each in once.responses], once.dropped) == (["0", "1"], 2)


def test_ids_of_several_files_differ(write: Write) -> None:
    one, two = (
        write("response,knowledge\nr,k\n", "1.csv"),
        write("response,knowledge\nr,k\n", "2.csv"),
    )
    files = [read_responses(one), read_responses(two)]
    assert [each.id for each in combine_responses(files[:1])] == ["0"]
    assert len({each.id for each in combine_responses(files)}) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("response,knowledge\n", r"file\.csv: There are"),
        ("a,b\n1,2\n", r"file\.csv: There is"),
        ("response,b\n1,2\n", r"file\.csv:2: .knowledge. is missing"),
        ("response,knowledge\nr, \n", r"file\.csv:2: knowledge is"),
        (
            "response,knowledge,label\nr,k,2\n",
            r"file\.csv:2: label must",
        ),
        ("response,knowledge,id\nr,k,x\nr,k,x\n", r"file\.csv:3: The id"),
        ("response,knowledge,response\nr,k,x\n", r"file\.csv:1: The column"),
        ("response,knowledge\nr,k,x\n", r"file\.csv:2: "),
        ('response,knowledge\n"r,k\n', r"file\.csv:2: invalid CSV"),
    ],
)
def test_wrong_files(write: Write, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_responses(write(text))


@given(
    st.text(st.sampled_from('response,knowldgab_\n"1. \r{}:') | st.characters(), max_size=80)
    | st.lists(
        st.lists(
            st.sampled_from(["response", "a_response", "knowledge", "label", "id", "1", "x", '"']),
            min_size=1,
        ),
        max_size=4,
    ).map(lambda rows: "\n".join(map(",".join, rows)))
)
def test_any_file_is_read_or_refused(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file.csv"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            file = read_responses(path)
        except InputError as error:
            refused = str(error)
        else:
            refused = str(path)
            assert all(each.text.strip() and each.knowledge.strip() for each in file.responses)
        assert refused.startswith(str(path))


STEPS = "id,response,cand,question,knowledge,knowledge_ans,score\n"


def test_steps_of_the_released_code(write: Write) -> None:
    file = read_responses(
        write(f",{STEPS}0,5,r,x,q?,k,[CLS],0\n1,5,r,y,p?,k,k,0.5\n", "a.steps.csv")
    )
    assert (file.kind, [r.id for r in file.responses], len(file.steps)) == ("steps", ["5"], 2)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,r,x,q?,k,a,2\n", r"file\.csv:2: score must"),
        ("0,r,x,q?,k,a,1\n0,r,x,q?,other,a,1\n", r"file\.csv:3: knowledge must"),
    ],
)
def test_wrong_steps(write: Write, row: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_responses(write(STEPS + row))


def made() -> Run:
    judge = create_judge("lexical")
    responses = [
        Response("1", "Ann built the bridge in 1932.", "Ann built it in 1933.", True, "a", "0"),
        Response("2", "oh yes", "no", None, "b", "0", scores={}, rating=0.5),
    ]
    scores = Q2(judge, RuleSpans()).score(responses)
    return Run(tuple(scores), Settings(), describe_judge(judge), "rules", ())


def test_a_record_is_read_for_its_scores(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    record = made().to_dict()
    path.write_text(json.dumps(record), encoding="utf-8")
    found = read_judged(path)
    assert found is not None
    assert [each.response.inconsistent for each in found] == [True, None]
    assert [each.response.rating for each in found] == [None, 0.5]
    assert [each.scores["q2"] for each in found] == [row["q2"] for row in record["rows"]]
    for name, wrong in (("q2", "1"), ("inconsistent", 1), ("baselines", []), ("response", None)):
        damaged = {**record, "rows": [{**record["rows"][0], name: wrong}]}
        path.write_text(json.dumps(damaged), encoding="utf-8")
        with pytest.raises(InputError, match=rf"row 1: {name} "):
            read_judged(path)
