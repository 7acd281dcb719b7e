"""The released code's parser, defects and all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semqa.attribution.attrscore.labels import FAMILIES, parse_label
from semqa.errors import InputError


def test_the_released_parser_is_reproduced(shared: Path) -> None:
    golden = json.loads((shared / "golden/attrscore.json").read_text(encoding="utf-8"))["parsing"]
    assert len(golden["cases"]) == 42
    for case in golden["cases"]:
        found = parse_label(case["output"], case["prompt_type"], official=True)
        assert (found or "None") == case["expected"], case
    for family in FAMILIES.values():
        assert dict(family.words) == golden["label_maps"][family.official]


@pytest.mark.parametrize(
    ("output", "family", "wrong", "right"),
    [
        ("Not Enough Information", "fact-checking", None, "Extrapolatory"),
        ("Unsupported", "fact-checking", "Attributable", "Extrapolatory"),
        ("not attributable", "attribution", "Attributable", "Extrapolatory"),
        ("Extrapolatory or Contradictory? Contradictory", "nli", None, "Contradictory"),
        ("Non-contradictory", "attribution", "Contradictory", None),
    ],
)
def test_its_defects_are_kept_apart(
    output: str, family: str, wrong: str | None, right: str | None
) -> None:
    assert parse_label(output, family, official=True) == wrong
    assert parse_label(output, family) == right


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(InputError):
        parse_label("Supported", "fact-check", official=True)
