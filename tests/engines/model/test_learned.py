"""A model from `semqa train` is prompted as in training, unless the user sets options."""

from __future__ import annotations

from pathlib import Path

import pytest

from semqa.cli.choice import EngineOptions, choose
from semqa.engines.model.options import learned_files, learned_settings
from semqa.errors import InputError
from semqa.prompting import Template


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    for name, content in learned_files(Template.load("qsum"), "completion").items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_missing_options_default_to_those_of_training(trained: Path) -> None:
    prompts = choose(f"transformers:{trained}", EngineOptions()).prompts
    assert prompts is not None
    assert (prompts.count, prompts.form) == (0, "completion")
    template = prompts.create_builder().template
    assert template.raw == Template.load("qsum").raw
    assert template.name == "qsum"


def test_given_options_override_learned_ones_but_the_environment_does_not(trained: Path) -> None:
    values = {"shots": 2, "prompt": "zero-shot", "form": "chat"}
    given = EngineOptions(values, optional=frozenset({"prompt"}))
    prompts = choose(f"transformers:{trained}", given).prompts
    assert prompts is not None
    assert (prompts.count, prompts.form) == (2, "chat")
    assert prompts.template == str(trained / "semqa-prompt.jinja")


def test_other_models_have_no_learned_settings(tmp_path: Path) -> None:
    assert learned_settings(str(tmp_path)) == {}
    assert learned_settings("Qwen/Qwen2.5-0.5B-Instruct") == {}


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"prompt": "../other.jinja"}'])
def test_a_damaged_file_is_an_error(content: str, trained: Path) -> None:
    (trained / "semqa-asked.json").write_text(content)
    with pytest.raises(InputError, match=r"semqa-asked\.json"):
        choose(f"transformers:{trained}", EngineOptions())
