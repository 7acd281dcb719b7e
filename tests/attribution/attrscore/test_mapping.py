"""Related tasks in AttrScore's terms."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.attrscore.mapping import balanced, map_examples
from semqa.errors import InputError

A, C, E = "Attributable", "Contradictory", "Extrapolatory"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("task", "claim", "reference", "column", "spelled"),
    [
        ("fact-checking", "claim", "evidence", "label", {"SUPPORTS": A, "REFUTES": C, "NOT ENOUGH INFO": E, "Supported": A, "Not Enough Evidence": E, "SUPPORT": A, "CONTRADICT": C, "true": A, "false": C, "unproven": E, "mixture": E}),
        ("nli", "sentence2", "sentence1", "gold_label", {"entailment": A, "neutral": E, "contradiction": C}),
        ("nli", "hypothesis", "premise", "label", {0: A, 1: E, 2: C}),
        ("nli", "hypothesis", "context", "label", {"e": A, "n": E, "c": C}),
        ("summarization", "summary", "document", "label", {"factual": A, "extrinsic": E, "intrinsic": C, "CORRECT": A, "INCORRECT": E, "Non-hallucinated": A, "Non-factual Hallucination": E, "Factual Hallucination": E, "Intrinsic Hallucination": C}),
    ],
)  # fmt: skip
def test_each_spelling_has_its_label_as_in_appendix_a4(
    tmp_path: Path, task: str, claim: str, reference: str, column: str, spelled: dict[Any, str]
) -> None:
    file = write(
        tmp_path / "d.jsonl",
        [{claim: f"c{word}", reference: f"r{word}", column: word} for word in spelled],
    )
    mapped = map_examples(file, task)
    assert [each.label for each in mapped.examples] == list(spelled.values())
    assert [each.answer for each in mapped.examples] == [f"c{word}" for word in spelled]
    assert [each.reference for each in mapped.examples] == [f"r{word}" for word in spelled]
    assert mapped.examples[0].how == {"made": f"mapped from {task}", "label": next(iter(spelled))}
    assert not mapped.skipped


def test_rows_without_a_label_are_skipped_and_counted(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"sentence1": "p", "sentence2": "h", "gold_label": label} for label in ("-", "neutral", "")
    ]
    rows += [
        {"premise": "p", "hypothesis": "h", "label": label} for label in (-1, "not_entailment")
    ]
    mapped = map_examples(write(tmp_path / "d.jsonl", rows), "nli")
    assert len(mapped.examples) == 1
    assert mapped.skipped == {
        "no agreed label": 3,
        "no label corresponds to notentailment": 1,
    }


def test_snli_s_tables_are_read(tmp_path: Path) -> None:
    file = tmp_path / "snli_1.0_dev.tsv"
    file.write_text(
        'gold_label\tsentence1\tsentence2\nneutral\tTwo "men talk.\tMen talk.\n-\ta\tb\n'
    )
    mapped = map_examples(file, "nli")
    assert [(e.reference, e.answer, e.label) for e in mapped.examples] == [
        ('Two "men talk.', "Men talk.", E)
    ]


def test_spellings_of_one_s_own(tmp_path: Path) -> None:
    rows = [
        {"claim": "s", "evidence": ["one", "two"], "label": word}
        for word in ("Half True", "pants-on-fire", "unproven")
    ]
    mapped = map_examples(
        write(tmp_path / "d.jsonl", rows),
        "fact-checking",
        {"half true": None, "pants on fire": "Contradictory", "Unproven": "Extrapolatory"},
    )
    assert [(e.reference, e.label) for e in mapped.examples] == [("one two", C), ("one two", E)]
    assert mapped.skipped == {"no label corresponds to halftrue": 1}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"claim": "c", "evidence": "e", "label": "maybe"}, r"d\.jsonl:1: label is"),
        ({"claim": "c", "label": "SUPPORTS"}, r"d\.jsonl:1: The reference is missing"),
        ({"claim": "c", "label": "SUPPORTS", "evidence": [[1, 2, "Page", 3]]}, r"d\.jsonl:1: evidence must"),
        ({"claim": "c", "evidence": "e", "label": [1]}, r"d\.jsonl:1: label must"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        map_examples(write(tmp_path / "d.jsonl", [row]), "fact-checking")


def test_a_balanced_draw_is_seeded(tmp_path: Path) -> None:
    rows = [
        {"hypothesis": f"h{i}", "premise": "p", "label": (0, 0, 0, 1, 2)[i % 5]} for i in range(50)
    ]
    examples = map_examples(write(tmp_path / "d.jsonl", rows), "nli").examples
    drawn = balanced(examples, None, 1)
    assert Counter(each.label for each in drawn) == {A: 10, C: 10, E: 10}
    assert balanced(examples, None, 1) == drawn != balanced(examples, None, 2)
    assert len(balanced(examples, 4, 1)) == 12
    with pytest.raises(InputError, match="Cannot balance"):
        balanced([each for each in examples if each.label != C], None, 1)
