"""The transformers engine: build the prompt, generate under the constraint, parse.

torch and transformers are imported when a model is loaded, not with this module.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from semqa.decoding import warm_up
from semqa.decoding.masks import compile_masking
from semqa.engines.base import Generation, Request
from semqa.engines.cancellation import POLL_INTERVAL
from semqa.engines.model.engine import LocalEngine
from semqa.engines.model.options import free_options, read_text
from semqa.engines.model.text import PromptEncoder
from semqa.engines.options import LOADING, TransformersOptions
from semqa.engines.transformers.loading import LoadedModel, load_model, prompt_limit
from semqa.errors import InputError
from semqa.history import Exchange
from semqa.prompting import Prompt, PromptBuilder
from semqa.quotes import Source

if TYPE_CHECKING:
    from semqa.decoding import CopyConstraint
    from semqa.engines.transformers.decoding import TokenStream
    from semqa.engines.transformers.spans import SpanDecoder


class _Task(NamedTuple):
    """A request prepared for the model; `generic` is its prompt with a generic question."""

    request: Request
    prompt: Prompt
    ids: list[int]
    generic: list[int] | None
    constraint: CopyConstraint | None


class TransformersEngine(LocalEngine):
    """Answers with a causal or encoder-decoder model of Hugging Face transformers.

    With the constraint on, every answer is complete and every quote in it is verified, whatever the
    model. Several threads may call the engine; they take turns.

    Args:
        model: a folder, the name of a model on the Hub, or a `LoadedModel`.
    """

    options: TransformersOptions

    def __init__(
        self,
        model: str | LoadedModel,
        options: TransformersOptions | None = None,
        *,
        prompts: PromptBuilder | None = None,
        name: str | None = None,
    ) -> None:
        spec = name or f"transformers:{model if isinstance(model, str) else 'loaded'}"
        super().__init__(spec, options or TransformersOptions(), prompts)
        loaded = load_model(model, self.options) if isinstance(model, str) else model
        self._loaded: LoadedModel | None = loaded
        self._encoder = PromptEncoder(
            loaded.tokenizer,
            is_encoder_decoder=bool(loaded.model.config.is_encoder_decoder),
            form=self._prompts.form,
        )
        self._most = prompt_limit(loaded, self.options)
        from semqa.engines.transformers.decoding import Decoder

        self._decoder = Decoder(loaded, self.options)
        self._vocabulary = self._decoder.vocabulary
        self._spans = self._span_decoder(loaded)
        self._lock = Lock()

    def _span_decoder(self, loaded: LoadedModel) -> SpanDecoder | None:
        """Return the decoder that chooses whole quotes, or None to decode token by token."""
        given = self.options.decoding
        causal = not loaded.model.config.is_encoder_decoder
        if given == "spans" and not causal:
            raise InputError("cannot be spans for a model with an encoder.", field="decoding")
        if given == "tokens" or not causal or not self.options.can_choose_spans:
            return None
        from semqa.engines.transformers.spans import SpanDecoder

        return SpanDecoder(loaded.model, loaded.tokenizer, self._vocabulary)

    def warm_up(self, say: Callable[[str], None] | None = None) -> None:
        """Compile or load the constraint's code and build its tables, if it is on."""
        if self.options.constrained:
            warm_up(say, self._vocabulary)
            compile_masking()

    def with_settings(
        self, settings: Mapping[str, object], prompts: PromptBuilder | None
    ) -> TransformersEngine | None:
        """Return an engine with other settings and prompts; the two share a model and take turns."""
        options = TransformersOptions(**settings)  # type: ignore[arg-type]  # validated by the class
        if any(getattr(options, name) != getattr(self.options, name) for name in LOADING):
            return None
        other = TransformersEngine(self._open(), options, prompts=prompts, name=self.name)
        other._lock = self._lock
        return other

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return the model's output for each request."""
        tasks = self._prepare(requests)
        written = self._in_batches(
            [task.ids for task in tasks],
            lambda indexes: self._run([tasks[index] for index in indexes]),
        )
        return [self._read(task, row) for task, row in zip(tasks, written, strict=True)]

    def _in_batches(
        self, prompts: Sequence[list[int]], run: Callable[[list[int]], list[list[int]]]
    ) -> list[list[int]]:
        """Return the new tokens for each prompt; `run` takes the indexes of a batch of prompts."""
        # Batches of similar length need little padding.
        order = sorted(range(len(prompts)), key=lambda index: len(prompts[index]))
        rows: dict[int, list[int]] = {}
        for first in range(0, len(order), self.batch_size):
            indexes = order[first : first + self.batch_size]
            with self._lock:
                rows |= zip(indexes, run(indexes), strict=True)
        return [rows[index] for index in range(len(prompts))]

    def stream(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> Generator[str, None, Generation]:
        """Yield the answer's text as the model generates it; with beam search, all at once."""
        request = Request(question, sources, history)
        if self.options.num_beams > 1:
            (generation,) = self.generate([request])
            yield generation.text
            return generation
        (task,) = self._prepare([request])
        from semqa.engines.transformers.decoding import TokenStream

        stream = TokenStream()
        thread = Thread(
            target=self._run_streamed, args=(task, stream), daemon=True, name="semqa-stream"
        )
        thread.start()
        text = self._text(task.prompt)
        row: list[int] = []
        try:
            for token in stream.tokens():
                row.append(token)
                if token in self._decoder.ends:
                    break
                if piece := text.add(token):
                    yield piece
            if rest := text.end():
                yield rest
        finally:
            stream.cancel()
            thread.join()
        return self._read(task, row)

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, sample: bool = False
    ) -> list[str]:
        """Return the model's unconstrained reply to each prompt, without the prompt."""
        loaded = self._open()
        options = free_options(self.options, max_new_tokens, sample=sample)
        encoded = self._encode_plain(prompts, prompt_limit(loaded, options))
        for ids in encoded:
            self._decoder.check(ids)
        decoder = self._decoder.with_options(options)

        def run(indexes: list[int]) -> list[list[int]]:
            count = len(indexes)
            given = [encoded[index] for index in indexes]
            return decoder.run(given, [None] * count, [Request("", ())] * count)

        return [read_text(row, self._vocabulary) for row in self._in_batches(encoded, run)]

    def close(self) -> None:
        """Release the model and its memory; the engine can no longer answer."""
        with self._lock:
            self._loaded = self._spans = None
            self._decoder.close()

    def _open(self) -> LoadedModel:
        if self._loaded is None:
            raise InputError("The engine is closed.")
        return self._loaded

    def _prepare(self, requests: Sequence[Request]) -> list[_Task]:
        """Prepare all requests; raise if any is invalid, with the cheap checks first."""
        self._open()
        for request in requests:
            self._check(request)
        self._prompts.prepare([request.question for request in requests])
        prompts = [self.prompt(*request) for request in requests]
        encoded = [self._encoder.encode(prompt) for prompt in prompts]
        for ids in encoded:
            self._decoder.check(ids)
        return [
            _Task(
                request,
                prompt,
                ids,
                None if self._spans is None else self._generic(prompt),
                self._constrain(request),
            )
            for request, prompt, ids in zip(requests, prompts, encoded, strict=True)
        ]

    def _constrain(self, request: Request) -> CopyConstraint | None:
        if not self.options.constrained:
            return None
        constraint = self._constraint(request)
        try:
            constraint.start(self.options.max_new_tokens - self._decoder.forced)
        except InputError as error:
            forced = self._decoder.forced
            if error.field == "max_tokens":
                error.field = "max_new_tokens"
                error.hint = f"The model forces {forced} more at the beginning." if forced else None
            raise
        return constraint

    def _run(self, tasks: Sequence[_Task], stream: TokenStream | None = None) -> list[list[int]]:
        if self._spans is not None:
            # The candidates of one question already form a batch.
            return [
                self._spans.run(
                    task.ids,
                    task.generic,
                    task.constraint,
                    task.request,
                    budget=self.options.max_new_tokens,
                    stops=self._stops(task.prompt),
                    on_token=stream.put if stream is not None else None,
                )
                for task in tasks
                if task.generic is not None and task.constraint is not None
            ]
        return self._decoder.run(
            [task.ids for task in tasks],
            [task.constraint for task in tasks],
            [task.request for task in tasks],
            stops=self._stops(tasks[0].prompt),
            stream=stream,
        )

    def _run_streamed(self, task: _Task, stream: TokenStream) -> None:
        """Run one task in a background thread; pass any error to the stream."""
        while not self._lock.acquire(timeout=POLL_INTERVAL):
            if stream.cancelled:
                return
        try:
            if not stream.cancelled:
                self._run([task], stream)
        except BaseException as error:  # noqa: BLE001  (raised again in the reader)
            stream.finish(error)
        else:
            stream.finish()
        finally:
            self._lock.release()

    def _read(self, task: _Task, row: list[int]) -> Generation:
        finished = bool(row) and row[-1] in self._decoder.ends
        return self._generation(task.request, task.prompt, len(task.ids), row, finished=finished)
