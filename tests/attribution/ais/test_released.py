"""Released files with everything that is odd about them."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from semqa.attribution.ais.rates import system_rates
from semqa.attribution.ais.released import (
    COLUMNS,
    ReleasedFile,
    data_checks,
    drop_duplicates,
    read_released,
    with_verdicts,
)
from semqa.data.csv_rows import encode_csv, read_csv
from semqa.errors import InputError
from tests.attribution.ais.makers import released_csv


def read(tmp_path: Path, content: str) -> ReleasedFile:
    path = tmp_path / "ann_toy.csv"
    path.write_bytes(content.encode())
    return read_released(path)


@pytest.mark.parametrize("marker", ["", "-", "#N/A", "NA ( Flagged)", "nan"])
def test_markers_of_nothing(marker: str, tmp_path: Path) -> None:
    flagged = {"INT": marker, "INT & AIS": marker, "Flagged": "1", "Q1": marker, "Q2": marker}
    flagged |= {"# agree (INT)": marker, "# agree (AIS)": marker}
    file = read(tmp_path, released_csv([flagged, {"doc-url": marker}]))
    first, second = file.verdicts
    assert (first.flagged, first.interpretable, first.attributable) == (True, None, None)
    assert (first.agree_int, first.agree_ais) == (None, None)
    assert (second.flagged, second.interpretable, second.attributable) == (False, True, True)
    assert second.doc_url == ""
    assert data_checks(file.rows) == {"same item and system as an earlier row": 1}


@pytest.mark.parametrize(
    "header",
    [
        ("ex-idx ", *COLUMNS[1:]),
        (" EX-IDX", *COLUMNS[1:5], "int", "int  & ais", "flagged", *COLUMNS[8:]),
        (*COLUMNS[:10], "Q1 agree", "Q2 agree"),
    ],
)
def test_names_of_columns_vary(header: tuple[str, ...], tmp_path: Path) -> None:
    content = released_csv([{"INT & AIS": "0", "# agree (AIS)": "3"}], header=header)
    verdict = read(tmp_path, content).verdicts[0]
    assert (verdict.item, verdict.system, verdict.task) == ("1:1", "m", "toy")
    assert (verdict.interpretable, verdict.attributable) == (True, False)
    assert (verdict.agree_int, verdict.agree_ais) == (5, 3)


def test_words_and_odd_counts_do_not_overrule_the_numbers(tmp_path: Path) -> None:
    unclear = {"INT": "0", "INT & AIS": "0", "Q1": "No, the response is unclear.}}"}
    file = read(tmp_path, released_csv([unclear | {"# agree (INT)": "6", "# agree (AIS)": "-1"}]))
    (verdict,) = file.verdicts
    assert (verdict.interpretable, verdict.attributable) == (False, None)
    assert (verdict.agree_int, verdict.agree_ais) == (6, None)


def test_numbers_that_contradict_each_other_are_remarked(tmp_path: Path) -> None:
    rows = [
        {"Flagged": "1", "ex-idx": "1"},
        {"INT": "0", "Q2": "", "ex-idx": "2"},
        {"INT": "", "INT & AIS": "-", "Q2": "", "ex-idx": "3"},
        {"INT": "1.0", "INT & AIS": "0.0", "Q2": "No, not fully attributable.", "ex-idx": "4"},
    ]
    file = read(tmp_path, released_csv(rows))
    assert data_checks(file.rows) == {
        "INT or INT & AIS is 1 though the row is flagged, which counts as flagged": 1,
        "INT & AIS is 1 though INT is 0, which counts as 0": 1,
        "Flagged, INT or INT & AIS is empty, which counts as 0": 1,
    }
    (rates,) = system_rates(file.verdicts)
    counts = [rates[name]["count"] for name in ("flag", "int", "ais", "int_and_ais")]
    assert counts == [1, 1, 0, 0]
    assert (rates["ais"]["n"], rates["int_and_ais"]["n"]) == (1, 3)


def test_doubles_are_counted_and_can_be_dropped(tmp_path: Path) -> None:
    file = read(tmp_path, released_csv([{}, {}, {"INT & AIS": "0"}, {"model-name": "other"}]))
    found = data_checks(file.rows)
    assert found["identical to an earlier row"] == 1
    assert found["same item and system as an earlier row"] == 2
    assert [v.attributable for v in drop_duplicates(file.verdicts)] == [True, True]
    assert system_rates(file.verdicts)[0]["n"] == 3


@pytest.mark.parametrize(
    ("quoting", "line_end"), [(csv.QUOTE_MINIMAL, "\n"), (csv.QUOTE_ALL, "\r\n")]
)
def test_files_are_written_as_they_were(quoting: int, line_end: str, tmp_path: Path) -> None:
    rows = [
        {"Q1": "No, the response is unclear.}}", "INT": "0", "INT & AIS": "0"},
        {"output": 'two\nlines, and a "quote"', "ex-idx": " 7 "},
        {"ex-idx": "8", "INT": "NA", "INT & AIS": "", "Flagged": "1", "# agree (INT)": "-"},
    ]
    content = released_csv(
        rows, header=("ex-idx ", *COLUMNS[1:]), line_end=line_end, quoting=quoting
    )
    verdicts = read(tmp_path, content).verdicts
    written = encode_csv(with_verdicts(read_csv(tmp_path / "ann_toy.csv"), verdicts))
    assert b"".join(written) == content.encode()


def test_a_changed_row_is_written_anew_and_keeps_what_is_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "ann_toy.csv"
    lines = released_csv([{}, {"ex-idx": "2:2"}], line_end="\n").splitlines()
    content = "\n".join(f"{line},{extra}" for line, extra in zip(lines, "x12", strict=True))
    path.write_text(content, encoding="utf-8")
    first, second = read_released(path).verdicts
    changed = replace(second, attributable=False, agree_ais=3)
    path.write_bytes(b"".join(encode_csv(with_verdicts(read_csv(path), [first, changed]))))
    again = path.read_text(encoding="utf-8").splitlines()
    assert again[:2] == content.splitlines()[:2]
    assert again[2].endswith(",5,3,2")
    assert read_released(path).verdicts == (first, changed)
    path.write_bytes(b"".join(encode_csv(with_verdicts(read_csv(path), [changed]))))
    assert read_released(path).verdicts == (changed,)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (released_csv([{}, {"INT": "maybe"}]), "ann_toy.csv:3: INT must"),
        (released_csv([{"Flagged": "2"}]), "ann_toy.csv:2: Flagged must"),
        (released_csv([{"# agree (INT)": "all"}]), "ann_toy.csv:2: # agree"),
        (released_csv([{"output": "a\nb"}, {"model-name": " "}]), "ann_toy.csv:4: model-name is"),
        (
            released_csv([{}], header=[name for name in COLUMNS if name != "INT"] + ["x"]),
            "ann_toy.csv: The column",
        ),
        (
            released_csv([{}], header=[*COLUMNS[:9], "INT", *COLUMNS[10:]]),
            "ann_toy.csv: The column",
        ),
    ],
)
def test_what_cannot_be_read_is_named(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert message in str(caught.value)
