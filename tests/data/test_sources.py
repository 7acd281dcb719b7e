"""A user's own sources: documents and JSON, whatever may be in them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from semqa import InputError, Source
from semqa.data import read_sources, read_sources_jsonl
from semqa.data.sources import GivenAnswer, answers_of, read_answers
from tests.documents import makers


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_text_file_is_one_source() -> None:
    Path("The Tower.txt").write_bytes(b"\xef\xbb\xbfBuilt in 1801.\r\n\r\nBurnt down.\n")
    Path("notes.on.harbours.md").write_text("# שלום [ 1 x ] e\u0301 👩‍👩‍👧", "utf-8")
    assert read_sources([Path("The Tower.txt"), "notes.on.harbours.md"]) == (
        Source("Built in 1801.\r\n\r\nBurnt down.\n", "The Tower"),
        Source("# שלום [ 1 x ] e\u0301 👩‍👩‍👧", "שלום [ 1 x ] e\u0301 👩‍👩‍👧"),
    )


def test_documents_are_read_as_collections_read_them() -> None:
    Path("sub").mkdir()
    Path("sub/a.html").write_text("<title>Oslo</title><h2>Port</h2><p>Built  in 1890.</p>", "utf-8")
    Path("b.CSV").write_text("ship,length\nOda,12\n", "utf-8")
    Path("c.pdf").write_bytes(makers.pdf([["The ferry leaves."], ["It returns."]], title="Ferries"))
    Path("report").write_bytes(makers.docx("One.", "Two."))
    Path("e.md").write_text("# Kept\r\n", "utf-8", newline="")
    assert read_sources(["sub/a.html", "b.CSV", "c.pdf", "report", "e.md"]) == (
        Source("## Port\n\nBuilt in 1890.", "Oslo"),
        Source("| ship | length |\n| --- | --- |\n| Oda | 12 |", "b"),
        Source("The ferry leaves.\n\nIt returns.", "Ferries"),
        Source("One.\n\nTwo.", "report"),
        Source("# Kept\r\n", "Kept"),
    )


def test_a_markdown_file_without_a_heading_at_its_start_has_its_name() -> None:
    Path("a.b.md").write_text("Notes\n\n# Harbour\n", "utf-8")
    Path("c.txt").write_text("# a comment\n", "utf-8")
    Path("d.md").write_text("# **\nx\n", "utf-8")
    assert [each.title for each in read_sources(["a.b.md", "c.txt", "d.md"])] == ["a.b", "c", "d"]


def test_the_first_of_several_main_headings_is_no_title() -> None:
    Path("cooks.md").write_text("# Ann\nCook.\n\n# Bob\nCook.\n", "utf-8")
    assert [each.title for each in read_sources(["cooks.md"])] == ["cooks"]


def test_documents_with_one_title_are_told_apart_by_their_names() -> None:
    for folder, name in (("2024", "may"), ("2024", "june"), ("2025", "june")):
        Path(folder).mkdir(exist_ok=True)
        Path(f"{folder}/{name}.html").write_text(f"<title>Minutes</title><p>{name}</p>", "utf-8")
        Path(f"{folder}/{name}.txt").write_text(name, "utf-8")
    pages = read_sources(["2024/may.html", "2024/june.html"])
    assert [each.title for each in pages] == ["Minutes (may)", "Minutes (june)"]
    notes = read_sources(["2024/may.txt", "2024/june.txt", "2025/june.txt"])
    assert len({each.title for each in notes}) == 3


@pytest.mark.parametrize(
    "code",
    ["```sh\n# install\nmake\n```", "~~~\n# install", "````\n```\n# install\n```\n````", "# "],
)
def test_comments_in_code_and_empty_headings_are_no_headings(code: str) -> None:
    Path("code.md").write_text(f"# Setup\n\n{code}\n", "utf-8")
    assert [each.title for each in read_sources(["code.md"])] == ["Setup"]


def test_text_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Grün.".encode())))
    assert read_sources(["-"]) == (Source("Grün."),)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", b"", "a.txt: This source has no text"),
        ("a.txt", b"abc\x00", "a.txt: Unsupported file type: binary data"),
        ("a.txt", "abc".encode("utf-16"), "Save the file as UTF-8, not UTF-16"),
        ("a.jsonl", b"{}", "a.jsonl: This file is JSON"),
        ("a.pdf", b"%PDF-1.7", "a.pdf: The file cannot be read as pdf"),
        ("a.docx", b"hello", "a.docx: The file is not a Word document"),
        ("a.html", b"<p> </p>", "a.html: The document has no text"),
    ],
)
def test_refused_text_files(name: str, content: bytes, expected: str) -> None:
    Path(name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_sources([name])
    assert expected in str(caught.value)


def test_text_given_as_json_lines_is_an_error_with_a_hint() -> None:
    Path("a.txt").write_text("It rained.", "utf-8")
    with pytest.raises(InputError, match="This file is a document"):
        read_sources_jsonl("a.txt")
    Path("a.txt").write_text('{"text": "It rained."}', "utf-8")
    assert read_sources_jsonl("a.txt") == (Source("It rained."),)


def test_no_files_and_no_such_file() -> None:
    with pytest.raises(InputError, match="No sources"):
        read_sources([])
    with pytest.raises(InputError, match=r"gone\.txt: cannot be read: no such file"):
        read_sources(["gone.txt"])
    with pytest.raises(InputError, match="This is a folder"):
        read_sources(["."])


def test_all_files_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{k}.txt" for k in range(3)]
    for name in names:
        Path(name).write_text("1234", "utf-8")
    monkeypatch.setenv("SEMQA_MAX_BYTES", "11")
    with pytest.raises(InputError) as caught:
        read_sources(names)
    assert "2.txt: too large: at least 12 bytes" in str(caught.value)
    monkeypatch.setenv("SEMQA_MAX_BYTES", "12")
    monkeypatch.setenv("SEMQA_MAX_SOURCES", "2")
    with pytest.raises(InputError) as caught:
        read_sources(names)
    assert "SEMQA_MAX_SOURCES" in str(caught.value)
    monkeypatch.setenv("SEMQA_MAX_SOURCES", "3")
    assert len(read_sources(names)) == 3


ROWS = (
    {"text": "Built in 1801.", "title": "Tower", "url": "https://x.example/t", "score": 0.5},
    {"text": "Older.", "title": None, "url": None},
    {"text": "", "title": "Title only"},
)
SOURCES = (
    Source("Built in 1801.", "Tower", "https://x.example/t"),
    Source("Older."),
    Source("", "Title only"),
)


@pytest.mark.parametrize(
    "content",
    [
        "\n".join(map(json.dumps, ROWS)),
        "\n\r\n".join(map(json.dumps, ROWS)) + "\n\n",
        json.dumps(ROWS),
        "\n \n" + json.dumps(ROWS, indent=2) + "\n",
        "\ufeff" + json.dumps(ROWS),
        "\ufeff" + "\n".join(map(json.dumps, ROWS)),
    ],
)
def test_lines_and_arrays(content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("s.jsonl").write_bytes(content.encode())
    assert read_sources_jsonl(Path("s.jsonl")) == SOURCES
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    assert read_sources_jsonl("-") == SOURCES


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "s.jsonl: the file is empty"),
        (b"[]", "s.jsonl: The array is empty"),
        (b'[{"text": "x"}, 3]', "s.jsonl: item 2: must be an object, got the number 3"),
        (b'[{"text": "x"},\n\n {"text" 2}]', "s.jsonl: invalid JSON: Expecting ':' delimiter "
         "at line 3, column 10"),
        (b'{"text": "x"}\n{"title": "x"}', "s.jsonl:2: text is missing; got the fields"),
        (b'{"text": null}', "s.jsonl:1: text must be a string, got null"),
        (b'{"text": "x", "title": 3}', "title must be a string, got the number 3"),
        (b'{"text": "x", "url": []}', "url must be a string, got an array"),
        (b'{"text": " ", "title": ""}', "s.jsonl:1: This source has no text"),
        (b'[{"text": "\xff"}]', "s.jsonl: invalid UTF-8: byte 0xff at offset 11"),
        (rb'[{"text": "\ud800"}]', "lone surrogate \\ud800"),
    ],
)  # fmt: skip
def test_refused_json(content: bytes, expected: str) -> None:
    Path("s.jsonl").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_sources_jsonl("s.jsonl")
    assert expected in str(caught.value)


ROW = {"question": "Who?", "answer": "[ 1 Ann ]", "sources": [{"text": "Ann", "title": "T"}]}
READ = GivenAnswer("1", "Who?", "[ 1 Ann ]", (Source("Ann", "T"),))


@pytest.mark.parametrize(
    "text",
    [
        f"\n{json.dumps(ROW)}\n\n",
        json.dumps(ROW, indent=2),
        json.dumps(ROW).replace("[{", "\n[{"),
        json.dumps([ROW]),
    ],
)
def test_one_answer_on_a_line_over_lines_or_in_an_array(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    assert read_answers(tmp_path / "a.json") == [READ]


def test_keys_are_the_rows_own_or_their_numbers(tmp_path: Path) -> None:
    other = {"prediction": "x", "sources": ROW["sources"]}
    rows = [{**ROW, "qid": "q"}, {**other, "id": "i"}, other]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert [each.key for each in read_answers(tmp_path / "a.jsonl")] == ["q", "i", "3"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"answer": "x"}', "a.jsonl:1: sources must be"),
        ('{"answer": "x", "sources": [], "dropped": 3}', "a.jsonl:1"),
        (
            '{"answer": "x", "sources": [], "dropped": [{"source": 1, "text": "x"}]}',
            "dropped.0.reason is missing",
        ),
        ('{"answer": 3, "sources": [{"text": "a"}]}', "answer must be a string"),
        ('{"sources": [{"text": "a"}]}', "prediction is missing"),
        ('{"answer": "x", "sources": [{"txt": "a"}]}', "a.jsonl:1: source 1: text is missing"),
        (
            '{"answer": "x", "sources": [{"text": "a"}], "id": "q"}\n' * 2,
            "a.jsonl:2: The key 'q' is already used",
        ),
        ("[]", "The array is empty"),
    ],
)
def test_errors_name_the_field(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "a.jsonl").write_text(row, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_answers(tmp_path / "a.jsonl")
    assert message in str(caught.value)


def test_relevance_is_kept_while_the_quotes_are_the_same(tmp_path: Path) -> None:
    answer = READ.read().with_relevance([0.7], ["and when?"], 0.6)
    record = {"question": "Who?", **answer.to_dict()}
    (tmp_path / "a.json").write_text(json.dumps(record), encoding="utf-8")
    (given,) = read_answers(tmp_path / "a.json")
    read = given.read()
    assert (read.relevance, read.unanswered, read.answerable) == (0.7, ("and when?",), 0.6)
    assert given._replace(text="[ 1 T ]").read().relevance is None
    record["quotes"] = [{"text": "Ann", "relevance": 2}]
    (tmp_path / "a.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InputError, match=r"quotes\.0\.relevance must be"):
        read_answers(tmp_path / "a.json")


MARK = {"source": 1, "text": "Lee", "reason": "no", "answer_start": 16, "answer_end": 19, "plain_start": 10, "plain_end": 13}  # fmt: skip
DROPPED = {"answer": "It is [ 1 Ann ] Lee.", "sources": [{"text": "Ann"}], "dropped": [MARK]}


def test_dropped_marks_of_a_record_count() -> None:
    (record,) = answers_of(json.dumps(DROPPED).encode(), "a.json")
    answer = record.read()
    assert [mark.text for mark in answer.dropped] == ["Lee"]
    assert (answer.verdict().value, answer.verified) == ("unverified", False)


@pytest.mark.parametrize("wrong", [{"text": "Ley"}, {"plain_start": 9}, {"answer_end": 99}])
def test_dropped_marks_must_stand_in_free_text(wrong: dict[str, object]) -> None:
    content = json.dumps({**DROPPED, "dropped": [{**MARK, **wrong}]}).encode()
    (record,) = answers_of(content, "a.json")
    with pytest.raises(InputError, match="dropped"):
        record.read()
