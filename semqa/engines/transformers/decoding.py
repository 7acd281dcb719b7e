"""Batched generation with transformers: token ids of prompts in, new tokens out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any

import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    RepetitionPenaltyLogitsProcessor,
    StoppingCriteria,
    StoppingCriteriaList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from semqa.decoding import Vocabulary
from semqa.engines.base import Request
from semqa.engines.cancellation import take
from semqa.engines.model.hub import quiet_log
from semqa.engines.model.options import seed_of
from semqa.engines.model.text import find_stop
from semqa.engines.options import TransformersOptions
from semqa.engines.transformers.loading import LoadedModel
from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.decoding import CopyConstraint


class GumbelNoise(LogitsProcessor):
    """Adds Gumbel noise to scores, so that greedy search samples. Must be the last processor."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self._seeds = tuple(seeds)
        self._generators: list[torch.Generator] = []

    def __call__(
        self,
        input_ids: torch.Tensor,  # noqa: ARG002  (as transformers calls it)
        scores: torch.Tensor,
    ) -> torch.Tensor:
        """Return scores with noise; shape [R, S], float32."""
        if not self._generators:
            self._generators = [
                torch.Generator(scores.device).manual_seed(seed) for seed in self._seeds
            ]
        noisy = torch.empty_like(scores, dtype=torch.float32)
        for row, generator in zip(noisy, self._generators, strict=True):
            row.exponential_(generator=generator)
        # -log of an exponential variable is a Gumbel variable; zero would be infinite.
        noisy.clamp_(min=torch.finfo(torch.float32).tiny).log_().neg_()
        return noisy.add_(scores)


class TokenStream(StoppingCriteria):
    """Streams the new tokens of a single row to another thread."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[int | BaseException | None] = SimpleQueue()
        self._cancelled = Event()

    def __call__(
        self,
        input_ids: torch.Tensor,
        scores: object,  # noqa: ARG002  (as transformers calls it)
        **_: Any,
    ) -> torch.Tensor:
        """Pass on the newest token; return for each row whether to stop."""
        self.put(int(input_ids[0, -1]))
        return torch.full(
            (input_ids.shape[0],),
            self._cancelled.is_set(),
            dtype=torch.bool,
            device=input_ids.device,
        )

    def put(self, token: int) -> bool:
        """Pass on one token; return whether to continue."""
        self._queue.put(token)
        return not self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop after the next token."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether the stream has been cancelled."""
        return self._cancelled.is_set()

    def finish(self, error: BaseException | None = None) -> None:
        """End the stream, with an error if there was one."""
        self._queue.put(error)

    def tokens(self) -> Iterator[int]:
        """Yield the tokens as they arrive; raise the error that ended the stream, if any."""
        while (item := take(self._queue)) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item


_MARGIN = 4
"""Tokens to decode before a stop text, so that its first character is complete."""


class StopTexts(LogitsProcessor):
    """Allows only an end token after a stop text, if an end token is allowed there.

    Must follow the constraint, which does not allow an answer to end inside a quote.
    """

    def __init__(self, vocabulary: Vocabulary, stops: Sequence[str]) -> None:
        self._vocabulary = vocabulary
        self._stops = tuple(stops)
        self._ends = torch.tensor(vocabulary.eos_ids)
        self._reach = max(len(stop.encode()) for stop in stops) + _MARGIN
        self._prompt_length = -1

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores [R, S]; rows that stop get minus infinity except for end tokens."""
        if self._prompt_length < 0:
            self._prompt_length = input_ids.shape[1]
        first = max(self._prompt_length, input_ids.shape[1] - self._reach)
        ends = self._ends.to(scores.device)
        for row, tokens in enumerate(input_ids[:, first:].tolist()):
            if self._completes(tokens) and scores[row, ends].max() > -torch.inf:
                kept = scores[row, ends].clone()
                scores[row] = -torch.inf
                scores[row, ends] = kept
        return scores

    def _completes(self, tokens: list[int]) -> bool:
        decode = self._vocabulary.decode
        text = decode(tokens)
        return find_stop(text, len(text) - len(decode(tokens[:-1])), self._stops) is not None


class Decoder:
    """Runs a model on token ids.

    Of the model's own generation settings only the start, end and padding tokens are used.
    Sampling, length limits and banned tokens are ignored; the engine's options apply instead.
    """

    def __init__(self, loaded: LoadedModel, options: TransformersOptions) -> None:
        # A copy with the same weights, so that the caller's generation settings do not change.
        self._model: Any = copy(loaded.model)
        self.vocabulary = _vocabulary(loaded)
        self.ends = frozenset(self.vocabulary.eos_ids)
        self._is_encoder_decoder = bool(loaded.model.config.is_encoder_decoder)
        own = loaded.model.generation_config
        self._forced_bos: int | None = own.forced_bos_token_id if self._is_encoder_decoder else None
        self._known = int(loaded.model.get_input_embeddings().num_embeddings)
        pad = loaded.tokenizer.pad_token_id
        usable = pad is not None and pad < self._known
        self._pad = int(pad if usable else self.vocabulary.eos_ids[0])
        self._set(options)

    def with_options(self, options: TransformersOptions) -> Decoder:
        """Return a decoder for the same model with other options."""
        other = copy(self)
        other._model = copy(self._model)
        other._set(options)
        return other

    def _set(self, options: TransformersOptions) -> None:
        own = self._model.generation_config
        self._options = options
        self._config = GenerationConfig(
            max_new_tokens=options.max_new_tokens,
            do_sample=False,
            num_beams=options.num_beams,
            eos_token_id=list(self.vocabulary.eos_ids),
            pad_token_id=self._pad,
            bos_token_id=own.bos_token_id,
            decoder_start_token_id=own.decoder_start_token_id,
            forced_bos_token_id=self._forced_bos,
        )
        # `generate` takes missing settings from here.
        self._model.generation_config = self._config

    @property
    def forced(self) -> int:
        """Number of forced tokens at the beginning, which are not part of the answer."""
        return int(self._forced_bos is not None)

    def check(self, prompt: Sequence[int]) -> None:
        """Raise if the model does not know a token of a prompt."""
        highest = max(prompt, default=0)
        if highest >= self._known:
            raise InputError(
                f"The prompt has token {highest}, but the model has only {self._known} tokens.",
                hint="Use the model's own tokenizer.",
            )

    def close(self) -> None:
        """Release the model and its memory."""
        self._model = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def run(
        self,
        prompts: Sequence[Sequence[int]],
        constraints: Sequence[CopyConstraint | None],
        requests: Sequence[Request],
        *,
        stops: Sequence[str] = (),
        stream: TokenStream | None = None,
    ) -> list[list[int]]:
        """Return the new tokens for each prompt, up to and including the first end token."""
        if self._model is None:
            raise InputError("The engine is closed.")
        ids, attention = self._padded(prompts)
        given = ids.shape[1] if not self._is_encoder_decoder else 1
        criteria = [stream] if stream is not None else []
        # Some models warn about the padding after finished rows.
        with torch.inference_mode(), quiet_log():
            output = self._model.generate(
                input_ids=ids,
                attention_mask=attention,
                generation_config=self._config,
                logits_processor=self._processors(constraints, requests, stops, given),
                stopping_criteria=StoppingCriteriaList(criteria),
            )
        return [_until_end(row, self.ends) for row in output[:, given:].tolist()]

    def _padded(self, prompts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ids and attention mask [B, T]; for a causal model padding is on the left."""
        width = max(map(len, prompts))
        ids = torch.full((len(prompts), width), self._pad, dtype=torch.long)
        attention = torch.zeros_like(ids)
        for row, prompt in enumerate(prompts):
            start = 0 if self._is_encoder_decoder else width - len(prompt)
            ids[row, start : start + len(prompt)] = torch.tensor(prompt)
            attention[row, start : start + len(prompt)] = 1
        device = self._model.device
        return ids.to(device), attention.to(device)

    def _processors(
        self,
        constraints: Sequence[CopyConstraint | None],
        requests: Sequence[Request],
        stops: Sequence[str],
        given: int,
    ) -> LogitsProcessorList:
        from semqa.decoding.transformers import CopyConstraintLogitsProcessor

        options = self._options
        processors: list[Any] = []
        if options.repetition_penalty != 1.0:
            penalty = float(options.repetition_penalty)
            processors.append(RepetitionPenaltyLogitsProcessor(penalty, prompt_ignore_length=given))
        constrained = [constraint for constraint in constraints if constraint is not None]
        if constrained:
            processors.append(
                CopyConstraintLogitsProcessor(
                    constrained,
                    max_new_tokens=options.max_new_tokens,
                    forced_bos_token_id=self._forced_bos,
                )
            )
        if stops:
            processors.append(StopTexts(self.vocabulary, stops))
        if options.temperature > 0:
            processors.append(TemperatureLogitsWarper(float(options.temperature)))
            if options.top_k:
                processors.append(TopKLogitsWarper(options.top_k))
            if options.top_p < 1:
                processors.append(TopPLogitsWarper(options.top_p))
            processors.append(GumbelNoise([seed_of(options.seed, request) for request in requests]))
        return LogitsProcessorList(processors)


def _vocabulary(loaded: LoadedModel) -> Vocabulary:
    """Return the tokenizer's tokens, limited to the model's vocabulary, with all end tokens."""
    width = int(loaded.model.config.get_text_config().vocab_size)
    own = loaded.model.generation_config.eos_token_id
    ends = {loaded.tokenizer.eos_token_id, *(own if isinstance(own, list) else [own])} - {None}
    ends = {number for number in ends if number < width}
    if not ends and loaded.tokenizer.sep_token_id is not None:
        ends = {loaded.tokenizer.sep_token_id}  # BERT-like models end texts with it
    if not ends:
        raise InputError(
            "The model has no end token, neither in its tokenizer nor in generation_config.json.",
            hint="Set eos_token_id there.",
        )
    known = max(width, len(loaded.tokenizer))
    whole = Vocabulary.from_tokenizer(loaded.tokenizer, known, ends)
    if known == width:
        return whole
    # The tokenizer has tokens that the model cannot generate.
    return Vocabulary.from_tokens(
        [whole.token_bytes(number) for number in range(width)],
        ends,
        (number for number in whole.special_ids if number < width),
        strips_leading_space=whole.strips_leading_space,
    )


def _until_end(row: Iterable[int], ends: frozenset[int]) -> list[int]:
    kept = []
    for token in row:
        kept.append(token)
        if token in ends:
            break
    return kept
