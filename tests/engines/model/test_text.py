"""Text from tokens, piece by piece, and tokens from prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import InputError, Source
from semqa.decoding import Vocabulary
from semqa.engines.model.text import AnswerText, PromptEncoder, find_stop
from semqa.prompting import PromptBuilder
from tests.models import tiny

BYTES = [bytes([byte]) for byte in range(256)] + ["日".encode(), b" a", b""]


@given(st.lists(st.integers(0, 258), max_size=30), st.booleans(), st.text("ab 日é", max_size=6))
def test_pieces_joined_are_the_decoded_text(tokens: list[int], strips: bool, text: str) -> None:
    vocabulary = Vocabulary.from_tokens(BYTES, [258], strips_leading_space=strips)
    tokens = [*text.encode(), *tokens]
    written = AnswerText(vocabulary)
    assert "".join(map(written.add, tokens)) + written.end() == vocabulary.decode(tokens)


@given(
    st.lists(st.sampled_from(["a", "b", "ab", "\n", "\nQ", ":", "Q:"]), max_size=12),
    st.sampled_from([["\nQ:"], ["ab", "ba"], ["aa", "\n\n"]]),
)
def test_a_stop_is_cut_off_when_the_last_token_completes_it(
    pieces: list[str], stops: list[str]
) -> None:
    vocabulary = Vocabulary.from_tokens([*(piece.encode() for piece in pieces), b""], [len(pieces)])
    written = AnswerText(vocabulary, stops)
    shown = "".join(written.add(token) for token in range(len(pieces)))
    text = "".join(pieces)
    assert text.startswith(shown)
    at = find_stop(text, len(pieces[-1]) if pieces else 0, stops)
    assert shown + written.end() == (text if at is None else text[:at])
    if at is None:
        assert len(text) - len(shown) < max(map(len, stops))


@pytest.mark.parametrize("name", ["llama-chat", "gpt2"])
@pytest.mark.parametrize(("question", "source"), [("Who \ud800?", "Ann."), ("Who?", "Ann \udfff.")])
def test_a_lone_surrogate_is_an_error(name: str, question: str, source: str) -> None:
    builder = PromptBuilder("zero-shot")
    encoder = PromptEncoder(tiny(name).tokenizer, is_encoder_decoder=False, form=builder.form)
    prompt = builder.build(question, [Source(source)])
    with pytest.raises(InputError, match="surrogate"):
        encoder.encode(prompt)
