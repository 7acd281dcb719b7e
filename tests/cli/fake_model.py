"""A fake language-model engine with all abilities of a real one, but no weights."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from semqa import QuotedAnswer, Source
from semqa.engines import Request
from semqa.engines.base import Generation
from semqa.prompting import Prompt, PromptBuilder


class FakeModel:
    """Quotes the first word of each source; without the constraint, it fabricates text."""

    made: list[FakeModel] = []  # noqa: RUF012 - emptied by each test

    def __init__(self, spec: str, options: Mapping[str, object]) -> None:
        prompts = options["prompts"]
        assert isinstance(prompts, PromptBuilder)
        self.name = spec
        self.batch_size = 2
        self.chat = prompts.form != "completion"
        self.prompts = prompts
        self.options = {name: value for name, value in options.items() if name != "prompts"}
        self.done: list[str] = []
        self.closed = False
        FakeModel.made.append(self)

    def warm_up(self, say: Callable[[str], None] | None = None) -> None:
        self.done.append("warm up")

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        return [self._generation(request) for request in requests]

    def answer(self, _question: str, sources: Sequence[Source], history: Any = ()) -> QuotedAnswer:
        return QuotedAnswer.parse("".join(self._pieces(sources)), sources)

    def stream(
        self, question: str, sources: Sequence[Source], history: Any = ()
    ) -> Generator[str, None, Generation]:
        yield from self._pieces(sources)
        return self._generation(Request(question, sources, history))

    def prompt(self, question: str, sources: Sequence[Source], history: Any = ()) -> Prompt:
        limit = self.options.get("context")
        assert limit is None or isinstance(limit, int)
        self.done.append("prompt")
        return self.prompts.build(
            question, sources, history, count_tokens=lambda prompt: len(prompt.text), limit=limit
        )

    def close(self) -> None:
        self.closed = True

    def _generation(self, request: Request) -> Generation:
        text = "".join(self._pieces(request.sources))
        finished = self.options["constraint"] == "on"
        return Generation(text, self.prompt(*request), 100, 40, finished)

    def _pieces(self, sources: Sequence[Source]) -> list[str]:
        pieces = [f"[ {k} {s.text.split()[0]} ] " for k, s in enumerate(sources, 1)]
        if self.options["constraint"] == "off":
            pieces += ["[ 1 made up ] ", "[ 2 ]"]
        return pieces
