"""An engine that stands in for a language model: no weights, and every ability of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from semqa import QuotedAnswer, Source
from semqa.engines import Request
from semqa.prompting import Prompt, PromptBuilder

__all__ = ["FakeModel"]


class FakeModel:
    """Quotes the first word of each source; without the constraint it makes things up.

    Attributes:
        made: every engine that was created, with its options.
    """

    made: list[FakeModel] = []  # noqa: RUF012 - emptied by each test

    def __init__(self, spec: str, options: Mapping[str, object]) -> None:
        prompts = options["prompts"]
        assert isinstance(prompts, PromptBuilder)
        self.name = spec
        self.batch_size = 2
        self.prompts = prompts
        self.options = {name: value for name, value in options.items() if name != "prompts"}
        self.streamed = self.closed = False
        FakeModel.made.append(self)

    def answer(self, _question: str, sources: Sequence[Source]) -> QuotedAnswer:
        return QuotedAnswer.parse("".join(self._pieces(sources)), sources)

    def answer_batch(self, requests: Sequence[Request]) -> list[QuotedAnswer]:
        return [self.answer(*request) for request in requests]

    def stream(self, _question: str, sources: Sequence[Source]) -> Iterator[str]:
        self.streamed = True
        return iter(self._pieces(sources))

    def prompt(self, question: str, sources: Sequence[Source]) -> Prompt:
        limit = self.options.get("context")
        assert limit is None or isinstance(limit, int)
        return self.prompts.build(
            question, sources, count_tokens=lambda prompt: len(prompt.text), limit=limit
        )

    def close(self) -> None:
        self.closed = True

    def _pieces(self, sources: Sequence[Source]) -> list[str]:
        pieces = [f"[ {k} {s.text.split()[0]} ] " for k, s in enumerate(sources, 1)]
        if self.options["constraint"] == "off":
            pieces += ["[ 1 made up ] ", "[ 2 ]"]
        return pieces
