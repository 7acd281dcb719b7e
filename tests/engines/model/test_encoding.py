"""Prompts as token ids: text that cannot be encoded is an error."""

from __future__ import annotations

import pytest

from semqa import InputError, Source
from semqa.engines.model.text import PromptEncoder
from semqa.prompting import PromptBuilder
from tests.models import tiny


@pytest.mark.parametrize("name", ["llama-chat", "gpt2"])
@pytest.mark.parametrize(("question", "source"), [("Who \ud800?", "Ann."), ("Who?", "Ann \udfff.")])
def test_a_lone_surrogate_is_an_error(name: str, question: str, source: str) -> None:
    builder = PromptBuilder("zero-shot")
    encoder = PromptEncoder(tiny(name).tokenizer, is_encoder_decoder=False, form=builder.form)
    prompt = builder.build(question, [Source(source)])
    with pytest.raises(InputError, match="surrogate"):
        encoder.encode(prompt)
