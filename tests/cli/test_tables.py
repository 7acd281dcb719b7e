"""Tables in terminals of every width: numbers are never split, and names wrap if needed."""

from __future__ import annotations

import pytest
from rich import box
from rich.table import Table

from semqa.cli.tables import print_tables

NAME = "an-organisation/a-model-of-a-name-that-goes-on-instruct-q4"
FIGURES = ("1390", "99.0* 96–100", "unscored", "-0.84 – +9.09")
TITLES = ("system", "n", "Int & AIS", "precision", "95% interval")


def shown(
    name: str, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[list[str]]:
    """Print a table and return the words of each line's columns."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for place, title in enumerate(TITLES):
        table.add_column(title, justify="right" if place else "left")
    table.add_row(name, *FIGURES)
    monkeypatch.setenv("COLUMNS", str(columns))
    print_tables(table)
    lines = capsys.readouterr().out.splitlines()
    rule = next(place for place, line in enumerate(lines) if "──" in line)
    assert all(len(line) == len(lines[rule]) for line in lines)
    return [line.split() for line in lines[rule + 1 :]]


@pytest.mark.parametrize("columns", [1, 60, 100])
@pytest.mark.parametrize("name", ["t5", NAME])
def test_nothing_is_cut_off(
    name: str, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(name, columns, monkeypatch, capsys)
    words = [word for line in lines for word in line]
    for figure in FIGURES:
        assert set(figure.split()) <= set(words)
    figures = {word for figure in FIGURES for word in figure.split()}
    assert "".join(word for word in words if word not in figures) == name


def test_a_name_is_whole_before_an_interval_is_on_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    narrow = shown("t5-base-no-evidence", 60, monkeypatch, capsys)
    assert narrow[0][:3] == ["t5-base-no-evidence", "1390", "99.0*"]
    assert "96–100" in narrow[1]
    wide = shown("t5-base-no-evidence", 100, monkeypatch, capsys)
    assert wide[0] == ["t5-base-no-evidence", *" ".join(FIGURES).split()]
