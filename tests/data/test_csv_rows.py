"""CSV as records of text: read strictly, written as it was read."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.data.csv_rows import CsvFile, CsvRecord, encode_csv, encode_record, read_csv
from semqa.errors import InputError

CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=8)
TABLES = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=6)
)


@pytest.mark.parametrize(
    "content",
    [
        "a,b\r\n1,2\r\n",
        "a,b\n1,2",
        "\ufeffa,b\r\n1,2\r\n",
        'a,b\r\n"1","2"\r\n',
        'a,b\n\n1,"two\nlines, and ""more"""\n\n3,4\n\n\n',
        "a ,b\r\n, NA \r\n",
        'a,b\nsay "1" now,2\n',
    ],
)
def test_a_file_is_written_as_it_was_read(content: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode())
    assert b"".join(encode_csv(read_csv(path))) == path.read_bytes()


@given(TABLES, st.sampled_from(["\n", "\r\n"]))
def test_cells_are_those_of_the_standard_library(table: list[list[str]], line_end: str) -> None:
    content = "".join(encode_record(row, line_end) for row in table)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(content.encode())
        found = read_csv(path)
    rows = [found.header, *(record.cells for record in found.records)]
    assert rows == [tuple(row) for row in csv.reader(io.StringIO(content, newline=""))]
    assert rows == [tuple(row) for row in table]


def test_places_and_nothing_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    long = "x\n" * 90_000
    path.write_text(f'a,b\n"x\ny",NA\n\n-,\n"{long}",', encoding="utf-8")
    found = read_csv(path)
    assert [record.cells for record in found.records] == [("x\ny", "NA"), ("-", ""), (long, "")]
    assert [record.where for record in found.records] == [f"{path}:{n}" for n in (2, 5, 6)]


def test_a_record_made_follows_one_without_a_line_end(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2", encoding="utf-8")
    found = read_csv(path)
    more = CsvFile(
        found.name, found.header, (*found.records, CsvRecord("", ("3", "x,y"))), found.header_raw
    )
    assert b"".join(encode_csv(more)) == b'a,b\n1,2\n3,"x,y"\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"a,b\n1\n", "t.csv:2: This row has 1 cells, the header 2"),
        (b'a,b\n1,2\n"3,4\n5,6\n', "t.csv:3: invalid CSV"),
        (b'a,b\n"1"x,2\n', "t.csv:2: invalid CSV"),
        (b"a,b\n1,\xff\n", "t.csv:2: invalid UTF-8: byte 0xff"),
        (b"a\0b\n", "not text: NUL byte"),
        (b"a,b\r1,2\r", "t.csv:1: invalid CSV"),
    ],
)
def test_invalid_tables_are_rejected(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_csv(path)
    assert message in str(caught.value)
