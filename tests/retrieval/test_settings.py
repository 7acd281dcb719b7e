"""Settings of prompts: what goes together, and what is taken where nothing is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from semqa import InputError, Source
from semqa.retrieval.settings import PromptSettings
from tests.cli.conftest import EXAMPLES

TRAIN = EXAMPLES / "quotesum.jsonl"


def test_defaults() -> None:
    assert (PromptSettings().template, PromptSettings().count) == ("qsum", 5)
    assert (PromptSettings(shots=0).template, PromptSettings(shots=0).count) == ("zero-shot", 0)
    with_file = PromptSettings(train=TRAIN)
    assert (with_file.template, with_file.count, with_file.strategy) == ("qsum", 5, "knn")
    assert PromptSettings(train=TRAIN, shots=0).template == "zero-shot"
    assert PromptSettings(train=TRAIN, prompt="alce", shots=2).template == "alce"


def test_without_a_file_the_exemplars_are_those_that_come_with_semqa() -> None:
    for shots, qids in ((None, ["semqa_5", "semqa_4", "semqa_3", "semqa_2", "semqa_1"]), (0, [])):
        prompt = PromptSettings(shots=shots).create_builder().build("Who?", [Source("a")])
        assert [exemplar.qid for exemplar in prompt.exemplars] == qids


def test_makes_a_builder_that_leaves_the_question_out() -> None:
    settings = PromptSettings(train=TRAIN, shots=2, exemplars="fixed")
    builder = settings.create_builder([("Asked otherwise?", "EXAMPLE_1")])
    sources = [Source("a")]
    seen = [e.qid for e in builder.build("asked otherwise", sources).exemplars]
    assert seen == ["EXAMPLE_3", "EXAMPLE_2"]
    seen = [e.qid for e in builder.build("Who crossed Antarctica alone", sources).exemplars]
    assert "EXAMPLE_1" not in seen


@pytest.mark.parametrize(
    ("strategy", "count", "seen"),
    [
        ("random", 5, {"EXAMPLE_2", "EXAMPLE_3"}),
        ("fixed:EXAMPLE_1,EXAMPLE_3,EXAMPLE_3", 2, {"EXAMPLE_3"}),
    ],
)
def test_without_a_number_there_are_as_many_as_there_are(
    strategy: str, count: int, seen: set[str]
) -> None:
    """The named ones, or up to five; the question itself is the first of the three in the file."""
    question, sources = "who crossed antarctica alone", [Source("a")]
    settings = PromptSettings(train=TRAIN, exemplars=strategy)
    assert settings.count == count
    builder = settings.create_builder()
    builder.prepare([question])
    prompt = builder.build(question, sources)
    assert {exemplar.qid for exemplar in prompt.exemplars} == seen
    asked = PromptSettings(train=TRAIN, exemplars=strategy, shots=len(seen) + 1).create_builder()
    assert asked.identity() != builder.identity()
    for act in (lambda: asked.prepare([question]), lambda: asked.build(question, sources)):
        with pytest.raises(InputError, match=f"{len(seen) + 1}"):
            act()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"shots": 6}, "shots"),
        ({"exemplars": "knn"}, "exemplars needs"),
        ({"encoder": "m", "train": TRAIN, "shots": 0}, "encoder needs"),
        ({"encoder": "m", "train": TRAIN, "exemplars": "random"}, "encoder has no effect"),
        ({"train": TRAIN, "exemplars": "best"}, "exemplars must"),
    ],
)  # fmt: skip
def test_incompatible_settings_are_rejected(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        PromptSettings(**settings)
    assert str(caught.value).startswith(said)


def test_missing_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read"):
        PromptSettings(train=tmp_path / "none.jsonl").create_builder()
    with pytest.raises(InputError, match="Unknown prompt 'qsun'"):
        PromptSettings(prompt="qsun").create_builder()
    with pytest.raises(InputError, match="must be an existing folder"):
        PromptSettings(train=TRAIN, encoder="./none").create_builder()
