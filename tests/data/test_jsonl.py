"""JSON lines: what is accepted, what is refused and in which words, and atomic writing."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.data.jsonl import read_rows, write_jsonl
from semqa.errors import InputError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("r.jsonl")


def message(file: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_rows(file))
    text = str(caught.value)
    assert "\n" not in text
    text.encode("utf-8")
    return text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"a": 1}\n{"b": "x"}\n', [{"a": 1}, {"b": "x"}]),
        (b'{"a": 1}\r\n{"b": 2}\r\n', [{"a": 1}, {"b": 2}]),
        (b'\xef\xbb\xbf{"a": 1}\n', [{"a": 1}]),
        (b'\xef\xbb\xbf\n{"a": 1}\n', [{"a": 1}]),
        (b'\n \t\r\n{"a": 1}\n\n', [{"a": 1}]),
        ('{"a": "\u2028\u0085 שלום e\u0301"}\n'.encode(), [{"a": "\u2028\u0085 שלום e\u0301"}]),
        (rb'{"a": "\ud83d\ude00"}', [{"a": "😀"}]),
        (rb'{"a": "\\ud83d"}', [{"a": r"\ud83d"}]),
        (b'{"a": {"b": [1.5, null, true]}}', [{"a": {"b": [1.5, None, True]}}]),
    ],
)
def test_accepted(file: Path, content: bytes, expected: list[object]) -> None:
    file.write_bytes(content)
    rows = list(read_rows(file))
    assert [row.fields for row in rows] == expected


def test_a_row_knows_its_line(file: Path) -> None:
    file.write_bytes(b'\n{"a": 1}\n\n{"a": 2}')
    assert [row.where for row in read_rows(file)] == ["r.jsonl:2", "r.jsonl:4"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "r.jsonl: the file is empty"),
        (b"\xef\xbb\xbf", "r.jsonl: the file is empty"),
        (b" \n\r\n", "r.jsonl: the file is empty"),
        (b'{"a": 1}\n\x00\x01', "r.jsonl:2: not text: NUL byte at offset 9"),
        ('{"a": 1}'.encode("utf-16"), "Save the file as UTF-8, not UTF-16"),
        (b'{"a": 1}\n{"a": "\xff"}', "r.jsonl:2: invalid UTF-8: byte 0xff at offset 16"),
        (b'\xef\xbb\xbf{"a": "\xc3"}', "r.jsonl:1: invalid UTF-8: byte 0xc3 at offset 10"),
        (b'{"a": 1}\n{"a" 2}', "r.jsonl:2: invalid JSON: Expecting ':' delimiter at column 6"),
        (b'{"a": 1', "r.jsonl:1: invalid JSON: Expecting ',' delimiter at column 8"),
        (b'{"a": 1\r\n', "r.jsonl:1: invalid JSON: Expecting ',' delimiter at column 8"),
        (b'{"a": 1} {"b": 2}', "r.jsonl:1: invalid JSON: Extra data at column 10"),
        (b'{"a": 1}\n\xef\xbb\xbf{"a": 1}', "r.jsonl:2: invalid JSON: Unexpected UTF-8 BOM"),
        (b"[1]", "r.jsonl:1: must be an object, got an array"),
        (b'"x"', 'r.jsonl:1: must be an object, got the string "x"'),
        (b"null", "r.jsonl:1: must be an object, got null"),
        (b'{"a": NaN}', "r.jsonl:1: invalid JSON: NaN is not JSON"),
        (b'{"a": -Infinity}', "r.jsonl:1: invalid JSON: -Infinity is not JSON"),
        (b'{"a": 1e999}', "r.jsonl:1: invalid JSON: the number 1e999 is too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "a number has too many digits"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', 'invalid JSON: duplicate key "c"'),
        (b'{"a":' * 100_000, "r.jsonl:1: invalid JSON: nested too deeply"),
        (b"[" * 100_000, "r.jsonl:1: invalid JSON: nested too deeply"),
        (rb'{"b": "x", "a": ["\ud800"]}', r'r.jsonl:1: "a" contains the lone'),
        (rb'{"\udfff": 1}', r"contains the lone surrogate \udfff"),
    ],
)
def test_refused(file: Path, content: bytes, expected: str) -> None:
    file.write_bytes(content)
    assert expected in message(file)


def test_missing_files_and_folders_are_rejected(file: Path, tmp_path: Path) -> None:
    assert message(file) == "r.jsonl: cannot be read: no such file."
    assert "it is a folder" in message(tmp_path)
    assert "the path has a NUL character" in message(Path("a\0b"))
    assert "\\udcff.jsonl: cannot be read" in message(Path("\udcff.jsonl"))
    (tmp_path / "loop").symlink_to("loop")
    assert "symbolic links" in message(tmp_path / "loop")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and /dev")
def test_files_that_fail_while_they_are_read_or_never_end() -> None:
    assert "/proc/self/mem: cannot be read: Input/output error" in message(Path("/proc/self/mem"))
    assert "/dev/zero:1: not text: NUL byte at offset 0" in message(Path("/dev/zero"))


def test_an_enormous_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_bytes(b'{"a": 1}\n' * 10)
    monkeypatch.setenv("SEMQA_MAX_BYTES", "89")
    assert message(file).startswith("r.jsonl: too large: at least 90 bytes")
    with pytest.raises(InputError, match="too large"):
        next(iter(read_rows(file)))
    monkeypatch.setenv("SEMQA_MAX_BYTES", "90")
    assert len(list(read_rows(file))) == 10


def test_an_enormous_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(b'{"a": 1}\n' * 10), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stream)
    monkeypatch.setenv("SEMQA_MAX_BYTES", "50")
    assert message(Path("-")).startswith("<stdin>: too large: at least 54 bytes")


def test_an_enormous_line(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_bytes(b'{"a": 1}\n{"a": "123456789"}\n')
    monkeypatch.setenv("SEMQA_MAX_LINE_BYTES", "18")
    assert message(file).startswith("r.jsonl:2: line too long: more than 18 bytes")
    monkeypatch.setenv("SEMQA_MAX_LINE_BYTES", "19")
    assert len(list(read_rows(file))) == 2


@pytest.mark.parametrize("value", ["0", "1e9", "1" * 19, "²"])
def test_an_invalid_limit(file: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    file.write_bytes(b"{}")
    monkeypatch.setenv("SEMQA_MAX_BYTES", value)
    assert message(file).startswith("SEMQA_MAX_BYTES must be a whole number")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(b'{"a": 1}\n{'), encoding="ascii")
    monkeypatch.setattr(sys, "stdin", stream)
    rows = read_rows("-")
    assert next(rows).fields == {"a": 1}
    with pytest.raises(InputError, match="<stdin>:2: invalid JSON"):
        next(rows)
    monkeypatch.setattr(sys, "stdin", None)
    assert message(Path("-")).startswith("<stdin>: cannot be read")


def test_a_field_must_be_a_string(file: Path) -> None:
    file.write_bytes(b'{"b": 7}')
    (row,) = read_rows(file)
    assert row.text("a", "") == ""
    with pytest.raises(InputError, match=r'r\.jsonl:1: a is missing; got the fields "b"'):
        row.text("a")
    with pytest.raises(InputError, match="b must be a string, got the number 7"):
        row.text("b", "")


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: json.dumps(text).encode()))
def test_any_bytes_give_rows_or_an_input_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "r.jsonl"
        file.write_bytes(content)
        try:
            rows = list(read_rows(file))
        except InputError as err:
            str(err).encode("utf-8")
        else:
            assert rows


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.lists(st.dictionaries(st.text(), json_values, max_size=4), min_size=1, max_size=4))
def test_round_trip(rows: list[dict[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "r.jsonl"
        write_jsonl(file, rows)
        assert [row.fields for row in read_rows(file)] == rows
        reference = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        assert file.read_bytes() == reference.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {1, 2}, b"x"])
def test_a_failed_write_keeps_the_old_file(file: Path, value: object) -> None:
    file.write_text("old", "utf-8")
    with pytest.raises(InputError, match=r'A row with the fields "a" cannot be written'):
        write_jsonl(file, [{"a": 1}, {"a": value}])
    assert file.read_text("utf-8") == "old"
    assert [path.name for path in Path().iterdir()] == ["r.jsonl"]


def test_importing_the_readers_is_light() -> None:
    heavy = "{'httpx', 'rich', 'typer', 'rapidfuzz', 'numpy', 'jinja2', 'asyncio', 'ssl'}"
    code = f"import sys, semqa.data, semqa.data.fetch; print(sorted({heavy} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
