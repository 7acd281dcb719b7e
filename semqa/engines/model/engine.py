"""Base classes of the engines with a language model, and of those that run the model locally."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.decoding.breach import find_breach
from semqa.engines.base import Generation, Request, check_request
from semqa.engines.model.options import check_fits, check_template, default_prompts
from semqa.engines.model.spans import GENERIC_QUESTION
from semqa.engines.model.text import AnswerText
from semqa.errors import InputError, PromptTooLongError
from semqa.prompting import Prompt
from semqa.prompting.prompt import Spelling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.decoding import CopyConstraint, Vocabulary
    from semqa.engines.model.text import PromptEncoder
    from semqa.engines.options import AnswerOptions
    from semqa.history import Exchange
    from semqa.prompting import PromptBuilder
    from semqa.quotes import QuotedAnswer, Source


class ModelEngine:
    """An engine with a language model."""

    options: AnswerOptions

    def __init__(self, name: str, options: AnswerOptions, prompts: PromptBuilder | None) -> None:
        self.name = name
        self.options = options
        self.batch_size = options.batch_size
        self._prompts = prompts or default_prompts()
        if options.constrained:
            check_template(self._prompts.template)

    def answer(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer:
        """Answer one question."""
        return self.answer_batch([Request(question, sources, history)])[0]

    def answer_batch(self, requests: Sequence[Request]) -> list[QuotedAnswer]:
        """Answer several questions, in a batch if possible; raises like `answer`.

        With transformers, each answer is the same as without a batch, apart from rounding that
        depends on the input shape. This is negligible in float32; in half precision it changes the
        last digits of a score, so near-ties may be decided differently.
        """
        return [
            generation.read(request.sources)
            for request, generation in zip(requests, self.generate(requests), strict=True)
        ]

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return the model's output for each request."""
        raise NotImplementedError

    def _check(self, request: Request) -> None:
        check_request(request.question, request.sources)
        if self.options.constrained:
            self.options.check_sources(len(request.sources))


_MOST_PER_TOKEN = 6
"""Maximum number of characters per token of prose; excerpts that need more are not tried."""


def build_within(limit: int, build: Callable[[Request], Prompt], request: Request) -> Prompt:
    """Return the prompt for a request, from excerpts of the sources if they do not fit.

    Answers may quote the rest too.

    Args:
        limit: maximum tokens of a prompt.
        build: returns a prompt with as many exemplars as fit, or raises PromptTooLongError.
    """
    try:
        return build(request)
    except PromptTooLongError as error:
        too_long = error
    from semqa.engines.model.excerpts import LEAST, Excerpts

    excerpts = Excerpts(request)
    length = sum(len(source.text) for source in request.sources)
    characters = min(length, _MOST_PER_TOKEN * limit)
    while characters >= LEAST:
        characters = characters * 3 // 4
        shown = excerpts.within(characters)
        if not any(source.text for source in shown):
            break
        try:
            prompt = build(request._replace(sources=shown))
        except PromptTooLongError:
            continue
        # Exemplars are worth more than the less relevant passages.
        if not prompt.dropped or characters <= limit:
            return prompt
    raise too_long


class LocalEngine(ModelEngine):
    """An engine whose model runs locally, so that its vocabulary is known."""

    _encoder: PromptEncoder
    _vocabulary: Vocabulary
    _most: int
    """Maximum number of tokens in a prompt."""

    def prompt(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> Prompt:
        """Return the prompt for a question, with as many exemplars as fit."""
        request = Request(question, sources, history)
        self._check(request)
        return build_within(self._most, self._build, request)

    def _build(self, request: Request) -> Prompt:
        return self._prompts.build(
            *request,
            count_tokens=lambda prompt: len(self._encoder.encode(prompt)),
            limit=self._most,
            reserved=self._encoder.reserved,
        )

    @property
    def chat(self) -> bool:
        """Whether prompts are sent as chat messages; if False, in the completion form."""
        return self._encoder.chat

    def _encode_plain(self, prompts: Sequence[str], limit: int) -> list[list[int]]:
        """Encode prompts without sources; raise if one has more than `limit` tokens."""
        spelled = Spelling(self._encoder.reserved)
        plain = [Prompt.plain(spelled(prompt), self._prompts.form) for prompt in prompts]
        encoded = [self._encoder.encode(prompt) for prompt in plain]
        for ids in encoded:
            check_fits(len(ids), limit)
        return encoded

    def _generic(self, prompt: Prompt) -> list[int]:
        """Encode the prompt with its question replaced by a generic one."""
        generic = self._prompts.template.fill(
            GENERIC_QUESTION,
            prompt.sources,
            prompt.exemplars,
            prompt.form,
            Spelling(self._encoder.reserved),
            prompt.history,
        )
        return self._encoder.encode(generic)

    def _constraint(self, request: Request) -> CopyConstraint:
        from semqa.decoding import CopyConstraint

        return CopyConstraint(
            self._vocabulary, request.sources, self.options.policy, question=request.understood
        )

    def _stops(self, prompt: Prompt) -> tuple[str, ...]:
        return () if self.chat else prompt.stop

    def _text(self, prompt: Prompt) -> AnswerText:
        return AnswerText(self._vocabulary, self._stops(prompt))

    def _generation(
        self, request: Request, prompt: Prompt, read: int, tokens: Sequence[int], *, finished: bool
    ) -> Generation:
        """Decode the generated `tokens` (including any end token) into a `Generation`.

        `read` is the number of prompt tokens.
        """
        text = self._text(prompt)
        ended = bool(tokens) and tokens[-1] in self._vocabulary.eos_ids
        written = "".join(map(text.add, tokens[:-1] if ended else tokens)) + text.end()
        breach = None
        if self.options.constrained:
            breach = find_breach(written, request.sources, self.options.policy, request.understood)
        return Generation(
            text=written,
            prompt=prompt,
            prompt_tokens=read,
            new_tokens=len(tokens),
            finished=finished,
            constraint="processor" if self.options.constrained else "off",
            breach=breach,
        )


def check_budget(new_tokens: int, context: int) -> None:
    """Raise if the answer's token budget leaves no space for a prompt in the context."""
    if new_tokens >= context:
        raise InputError(
            f"must be less than the model's context of {context:,} tokens, got {new_tokens:,}.",
            field="max_new_tokens",
        )
