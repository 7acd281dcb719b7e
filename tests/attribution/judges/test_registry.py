"""Judges by name, and what is wrong with a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from semqa.attribution.judges import create_judge
from semqa.attribution.judges.models import DEFAULTS, ModelSettings, read_parts
from semqa.errors import InputError


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("lexicla", "Judge 'lexicla'"),
        ("lexical:x", "lexical takes"),
        ("engine", "engine needs"),
        ("engine:lead-2", "asks no language model"),
        ("engine:nobody:x", "unknown engine"),
        ("transformers:nil=x", "did you mean nli="),
        ("transformers:nli=a/b,nli=c/d", "nli is"),
        ("transformers:lm", "lm needs"),
        ("transformers:nli=/no/such/folder", "no such folder"),
        ("transformers:nli=a/b,words=1", "words must"),
        ("transformers:nli=a/b,stride=x", "stride must"),
        ("transformers:nli=a/b,ask-format=x", "ask_format must"),
    ],
)
def test_what_is_wrong_with_a_specification_is_said(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        create_judge(spec)


def test_parts_may_take_the_papers_models() -> None:
    assert read_parts("", "") == (DEFAULTS, {})
    assert read_parts("", "nli,qa=x/y, words = yes/no ,ask-format=a: {answer} c: {context}") == (
        {"nli": DEFAULTS["nli"], "qa": "x/y"},
        {"words": "yes/no", "ask_format": "a: {answer} c: {context}"},
    )


def test_settings_that_change_no_result_are_no_part_of_an_identity() -> None:
    plain = ModelSettings().identity()
    assert ModelSettings(device="cpu", batch_size=3).identity() == plain
    assert ModelSettings(words="yes/no").identity() != plain


def test_a_judge_of_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no config.json"):
        create_judge(f"transformers:qa={tmp_path}")
