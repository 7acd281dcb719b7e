"""`semqa study`: from files to a study, its raters, an export and a report."""

from __future__ import annotations

import csv
import io
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from semqa.data.quotesum import read_quotesum
from semqa.studies.folder import open_study
from semqa.studies.kind import Rated
from semqa.studies.store import Store
from tests.cli.conftest import Command
from tests.studies.made import EXAMPLES, OUTPUTS, rate, served, write_lines

SCALES = ("fluency", "comprehensiveness", "correctness", "attribution")


@pytest.fixture
def study(semqa: Command, tmp_path: Path) -> Path:
    """A study that two raters have finished and the third has not started."""
    rows = [{"qid": f"EXAMPLE_{n}", "prediction": "[ 1 x ] it was ."} for n in (1, 2, 3)]
    path = write_lines(tmp_path / "ours.jsonl", rows)
    made = semqa(
        "study", "new", "semqa", EXAMPLES, f"mine={path}", f"human={EXAMPLES}",
        "-o", "s", "--raters", "ann,ben,eve",
    )  # fmt: skip
    assert "6 items, 18 ratings by 3 raters" in made.err
    with closing(Store(open_study(tmp_path / "s"))) as store:
        for name, level in (("ann", 2), ("ben", 4)):
            rate(store, name, dict.fromkeys(SCALES, level))
    return tmp_path / "s"


def test_a_study_goes_from_files_to_a_table(semqa: Command, study: Path) -> None:
    shown = semqa("study", "report", study).out
    assert "mine 3.00 3.00–3.00 3.00" in " ".join(shown.split())
    assert "12 ratings of 6 answers by 2 raters" in shown
    record = semqa("study", "report", study, "--json").json
    assert record["means"]["human"]["fluency"] == {"value": 3, "n": 6, "interval": [3, 3]}
    assert [each["done"] for each in record["raters"]] == [6, 6, 0]
    table = semqa("study", "export", study, "-o", "-", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(table, newline="")))
    assert {(row["rater"], row["fluency"]) for row in rows} == {("ann", "2"), ("ben", "4")}
    semqa("study", "export", study, "-o", "out.jsonl")
    lines = (study.parent / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["qid"] for line in lines] == [row["qid"] for row in rows]


def test_raters_are_added_and_removed(semqa: Command, study: Path) -> None:
    semqa("study", "raters", study, "--remove", "eve")
    left = semqa("study", "raters", study, "--json").json
    assert left["missing"] == 6
    assert "6 ratings have no rater" in semqa("study", "raters", study).err
    semqa("study", "raters", study, "--add", "dan")
    now = semqa("study", "raters", study, "--json").json
    assert now["missing"] == 0
    assert {each["rater"]: each["total"] for each in now["raters"]}["dan"] == 6
    links = semqa("study", "raters", study, "--links", "https://example.org/study").out.split()
    assert links[::2] == ["owner", "ann", "ben", "dan"]
    assert all(link.startswith("https://example.org/study/#") for link in links[1::2])


def test_studies_of_two_designs_are_compared(semqa: Command, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "outputs.jsonl", OUTPUTS)
    answers: dict[str, dict[str, Any]] = {
        "attribution-only": {"attributable": True},
        "one-question": {"both": "yes"},
    }
    for design, values in answers.items():
        semqa("study", "new", "ais", path, "-o", design, "--design", design, "--per-item", "2")
        with closing(Store(open_study(tmp_path / design))) as store:
            for name in ("rater-1", "rater-2"):
                rate(store, name, values)
        semqa("study", "export", design, "-o", f"{design}.jsonl")
    shown = semqa("study", "report", *answers).out
    assert "one-question: rater-2" in shown
    # The same from the exports.
    files = [part for design in answers for part in ("--ratings", f"{design}.jsonl")]
    again = semqa("eval", "ais", *files, "--by", "design").out
    assert again[: again.index(" seconds")] in shown


def test_an_unrated_item_has_no_label_in_an_export(semqa: Command, tmp_path: Path) -> None:
    folder, out = tmp_path / "study", tmp_path / "labels.csv"
    semqa("study", "new", "attrscore", EXAMPLES.with_name("attrscore.csv"), "-o", folder)

    def exported() -> tuple[list[str], str]:
        done = semqa("study", "export", folder, "-o", out)
        with out.open(encoding="utf-8", newline="") as file:
            return [row["label"] for row in csv.DictReader(file)], done.err

    labels, said = exported()
    assert labels == [""] * 9
    assert "9 of 9 items not rated yet: the export has no verdict for them" in said
    with closing(Store(open_study(folder))) as store:
        given = {"label": "Contradictory", "evidence": [[0, 3]]}
        store.take_in([Rated(each, "ann", given, 1.0, 1) for each in store.study.items[:7]])
    labels, said = exported()
    assert labels == ["Contradictory"] * 7 + [""] * 2
    assert "2 of 9 items not rated yet" in said
    done = semqa("study", "export", folder, "-o", tmp_path / "whole")
    assert "2 of 9 items not rated yet" in done.err
    assert (tmp_path / "whole" / "attrscore.csv").read_bytes() == out.read_bytes()


def test_only_accepted_answers_are_exported(semqa: Command, tmp_path: Path) -> None:
    folder, out = tmp_path / "study", tmp_path / "out.jsonl"
    semqa(
        "study", "new", "writing", EXAMPLES, "-o", folder,
        "--raters", "ann,ben,eve", "--reviewers", "fay",
    )  # fmt: skip
    with served(open_study(folder)) as site:
        ann, fay = site.person("ann"), site.person("fay")
        quote = {"source": 1, "field": "body", "start": 0, "end": 1}
        for _ in range(2):
            ann.answer(ann.next(), answer=[quote])
        row = fay.get("/v1/reviews")["answers"][0]
        shown = fay.get(f"/v1/reviews/{row['id']}")
        fay.post(f"/v1/reviews/{row['id']}", {"answer": shown["answer"], "accepted": True})
    done = semqa("study", "export", folder, "-o", out)
    assert len(read_quotesum(out)) == 1
    assert "1 finished answer left out" in done.err
    semqa("study", "export", folder, "-o", tmp_path / "released")
    assert (tmp_path / "released" / "writing.jsonl").read_bytes() == out.read_bytes()
    table = semqa("study", "export", folder, "-o", tmp_path / "out.csv")
    assert (table.code, "must be jsonl" in table.err) == (2, True)
    assert not (tmp_path / "out.csv").exists()
    assert "1 answer to 1 question" in semqa("study", "report", folder).out
