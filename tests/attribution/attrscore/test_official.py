"""The released code's parser, defects and all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semqa.attribution.attrscore.labels import FAMILIES, official_label, parse_label
from semqa.errors import InputError

RELEASED = {
    "attribution-no-definition": "attribution",
    "attribution-with-definition": "attribution-defined",
}


def test_the_released_parser_is_reproduced(shared: Path) -> None:
    golden = json.loads((shared / "golden/attrscore.json").read_text(encoding="utf-8"))["parsing"]
    assert len(golden["cases"]) == 42
    for case in golden["cases"]:
        family = RELEASED.get(case["prompt_type"], case["prompt_type"])
        found = official_label(case["output"], family)
        assert (found or "None") == case["expected"], case
    for name, words in golden["label_maps"].items():
        assert dict(FAMILIES[RELEASED.get(name, name)].words) == words


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
    assert official_label(output, family) == wrong
    assert parse_label(output) == right


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(InputError):
        official_label("Supported", "fact-check")
