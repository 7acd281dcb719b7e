"""A fake vLLM server that supports semqa's processor, grammars or neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from semqa import InputError
from semqa.decoding.vllm.request import ConstraintRequest
from tests.engines.openai.server import Answer, Asked, error


@dataclass
class FakeVllm:
    """Answers like vLLM, with or without semqa's processor and structured outputs.

    Attributes:
        processor: whether semqa's processor is installed.
        grammar: whether grammars are enforced.
        chat: whether there is a chat template.
        free: the unconstrained answer.
        lies: whether the processor is installed but has no effect.
        ends: whether answers end before the token limit.
    """

    processor: bool = False
    grammar: bool = False
    chat: bool = True
    free: str = "By [ 1 bing crosby ] in [ 1 1999 ], [sic]."
    lies: bool = False
    ends: bool = True

    def __call__(self, asked: Asked) -> Answer:
        if asked.chat and not self.chat:
            return error(
                400, "As of transformers v4.44, default chat template is no longer allowed."
            )
        keys = asked.body.get("vllm_xargs")
        if self.processor and keys is not None:
            try:
                request = ConstraintRequest.from_extra_args(keys)
            except InputError as refusal:
                return error(400, str(refusal), param=refusal.field)
            if request is not None and not self.lies:
                return self._written(_quoting(request))
        grammar = (asked.body.get("structured_outputs") or {}).get("grammar")
        if self.grammar and grammar is not None:
            return self._written(obey(grammar))
        return self._written(self.free)

    def _written(self, text: str) -> Answer:
        return Answer(text, "stop" if self.ends else "length")


def _quoting(request: ConstraintRequest) -> str:
    spans = (f"[ {k} {source.text.split()[0]} ]" for k, source in enumerate(request.sources, 1))
    return "So " + " and ".join(spans) + "."


def obey(grammar: str) -> str:
    """Return the answer of a model that prefers quotes and short answers, under a grammar."""
    import llguidance

    tokenizer = llguidance.LLTokenizer("byte")
    matcher: Any = llguidance.LLMatcher(tokenizer, grammar, log_level=0)
    assert not matcher.get_error(), matcher.get_error()
    written = bytearray()
    while len(written) < 300:
        mask = np.frombuffer(matcher.compute_bitmask(), np.uint32)
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
        allowed = [int(token) for token in bits.nonzero()[0] if token < 256]
        if not allowed or (matcher.is_accepting() and written.endswith(b"]")):
            break
        likes = [token for token in b"[ 1]" if token in allowed]
        token = likes[0] if likes else allowed[len(allowed) // 2]
        written.append(token)
        assert matcher.consume_token(token)
    return written.decode()
