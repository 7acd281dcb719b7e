"""The vLLM engine: build the prompt, generate under the constraint, parse.

vLLM is imported when a model is loaded, not with this module.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from semqa.decoding import warm_up
from semqa.decoding.vllm.request import to_extra_args
from semqa.engines.base import Generation, Request
from semqa.engines.model.engine import LocalEngine, check_budget
from semqa.engines.model.options import free_options, read_text, seed_of
from semqa.engines.model.spans import Ask, ContinuationEncoder, Score, SpanWriter, Tokens, Words
from semqa.engines.model.text import PromptEncoder
from semqa.engines.options import VLLM_LOADING, VllmOptions
from semqa.engines.vllm.service import LoadedService, Output, Service, load_service, require_vllm
from semqa.errors import InputError
from semqa.history import Exchange
from semqa.prompting import Prompt, PromptBuilder
from semqa.quotes import Source


class SpanTask(NamedTuple):
    """An answer to write; `params` are used if it is written token by token."""

    writer: SpanWriter
    prompt: Sequence[int]
    generic: Sequence[int]
    params: Any


def write_spans(service: Service, tasks: Sequence[SpanTask]) -> Iterator[None]:
    """Write each answer to its writer's `tokens`; yields after each step."""
    works = [task.writer.write(task.prompt, task.generic) for task in tasks]
    replies: dict[int, Any] = dict.fromkeys(range(len(works)))
    while replies:
        asks: dict[int, Ask] = {}
        for place, reply in replies.items():
            try:
                asks[place] = works[place].send(reply)
            except StopIteration:
                continue
        yield
        replies = _replies(service, tasks, asks)


def _replies(
    service: Service, tasks: Sequence[SpanTask], asks: Mapping[int, Ask]
) -> dict[int, Any]:
    scored = {place: ask for place, ask in asks.items() if isinstance(ask, Score)}
    replies: dict[int, Any] = dict(zip(scored, _score(service, [*scored.values()]), strict=True))
    requests: dict[int, tuple[Sequence[int], Any]] = {}
    for place, ask in asks.items():
        if isinstance(ask, Words):
            # Without a mask: the writer drops words that the constraint does not allow.
            params = _sampling(max_tokens=ask.most, temperature=0.0, stop=["["])
            requests[place] = ask.before, params
        elif isinstance(ask, Tokens):
            requests[place] = tasks[place].prompt, tasks[place].params
    for place, written in zip(requests, service.run([*requests.values()]), strict=True):
        replies[place] = written.tokens
    return replies


def _sampling(*, streamed: bool = False, **given: Any) -> Any:
    """Return vLLM's parameters of a request, which yields its whole output at the end unless streamed."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    kind = RequestOutputKind.DELTA if streamed else RequestOutputKind.FINAL_ONLY
    return SamplingParams(output_kind=kind, **given)


def _score(service: Service, asks: Sequence[Score]) -> list[list[list[float]]]:
    """Return the log-probability of each token of each row."""
    # Cache the prefix first: requests of one step share only what earlier steps have cached.
    service.run([(ask.before, _score_params(shared=True)) for ask in asks if len(ask.rows) > 1])
    rows = [(ask.before, row) for ask in asks for row in ask.rows]
    found = _read_scores(service, rows, shared=True)
    missing = [place for place, scores in enumerate(found) if scores is None]
    again = _read_scores(service, [rows[place] for place in missing], shared=False)
    for place, scores in zip(missing, again, strict=True):
        found[place] = scores
    each = iter([scores or [] for scores in found])
    return [[next(each) for _ in ask.rows] for ask in asks]


def _score_params(*, shared: bool) -> Any:
    return _sampling(
        max_tokens=1,
        temperature=0.0,
        prompt_logprobs=0,
        skip_reading_prefix_cache=not shared,
        flat_logprobs=True,
        detokenize=False,
    )


def _read_scores(
    service: Service, rows: Sequence[tuple[list[int], list[int]]], *, shared: bool
) -> list[list[float] | None]:
    """Return the scores of rows; None if vLLM had some of a row's tokens in its cache, without scores."""
    params = _score_params(shared=shared)
    written = service.run([([*before, *row], params) for before, row in rows])
    found: list[list[float] | None] = []
    for (_, row), each in zip(rows, written, strict=True):
        count = len(row)
        known = list(each.prompt_ids[-count:]) == row
        found.append(list(each.prompt_scores[-count:]) if known else None)
    return found


class _Task(NamedTuple):
    """A request prepared for vLLM."""

    request: Request
    prompt: Prompt
    ids: list[int]
    params: Any


class VllmEngine(LocalEngine):
    """Answers with a model that runs on vLLM, in separate processes.

    By default the model chooses among whole quotes, which takes several vLLM requests per answer.
    With the constraint on, every answer is complete and every quote in it is verified, whatever the
    model. Calls from several threads are batched together.

    Args:
        model: a folder, the name of a model on the Hub, or a `LoadedService`.
    """

    options: VllmOptions

    def __init__(
        self,
        model: str | LoadedService,
        options: VllmOptions | None = None,
        *,
        prompts: PromptBuilder | None = None,
        name: str | None = None,
    ) -> None:
        called = name or f"vllm:{model if isinstance(model, str) else 'loaded'}"
        super().__init__(called, options or VllmOptions(), prompts)
        if isinstance(model, str):
            require_vllm(model)
            # Compile before vLLM's processes start, which then load the result. They always have
            # the processor, even if the constraint is off.
            warm_up()
            model = load_service(model, self.options)
        self._loaded = model
        self._spans: ContinuationEncoder | None = None
        if self.options.decoding != "tokens" and self.options.can_choose_spans:
            self._spans = ContinuationEncoder(model.tokenizer, model.vocabulary)
        self._encoder = PromptEncoder(
            model.tokenizer, is_encoder_decoder=False, form=self._prompts.form
        )
        self._vocabulary = model.vocabulary
        check_budget(self.options.max_new_tokens, model.context)
        self._most = model.context - self.options.max_new_tokens

    def warm_up(self, say: Callable[[str], None] | None = None) -> None:
        """Do nothing: the constraint was compiled before vLLM started."""

    def with_settings(
        self, settings: Mapping[str, object], prompts: PromptBuilder | None
    ) -> VllmEngine | None:
        """Return an engine with other settings and prompts that shares this engine's vLLM."""
        options = VllmOptions(**settings)  # type: ignore[arg-type]  # validated by the class
        if any(getattr(options, name) != getattr(self.options, name) for name in VLLM_LOADING):
            return None
        if (options.temperature > 0) != (self.options.temperature > 0):
            return None  # vLLM is started with other arguments for sampling
        return VllmEngine(self._loaded, options, prompts=prompts, name=self.name)

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return the model's output for each request."""
        tasks = self._prepare(requests)
        if self._spans is not None:
            spans = [self._span_task(task, self._spans) for task in tasks]
            for _ in write_spans(self._loaded.service, spans):
                pass
            rows = [Output(each.writer.tokens, "stop") for each in spans]
        else:
            rows = self._loaded.service.run([(task.ids, task.params) for task in tasks])
        return [
            self._read(task, row.tokens, row.ended) for task, row in zip(tasks, rows, strict=True)
        ]

    def stream(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> Generator[str, None, Generation]:
        """Yield the answer's text piece by piece; closing the iterator stops generation."""
        (task,) = self._prepare([Request(question, sources, history)], streamed=self._spans is None)
        text, row, ended = self._text(task.prompt), list[int](), None
        ends = self._vocabulary.eos_ids
        for written in self._follow(task):
            row += written.tokens
            ended = written.ended
            if piece := "".join(text.add(token) for token in written.tokens if token not in ends):
                yield piece
        if rest := text.end():
            yield rest
        return self._read(task, row, ended)

    def _follow(self, task: _Task) -> Iterator[Output]:
        """Yield an answer's tokens as they are generated."""
        if self._spans is None:
            yield from self._loaded.service.stream(task.ids, task.params)
            return
        spans = self._span_task(task, self._spans)
        count = 0
        for _ in write_spans(self._loaded.service, [spans]):
            new = spans.writer.tokens[count:]
            count += len(new)
            yield Output(new, "stop")

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, sample: bool = False
    ) -> list[str]:
        """Return the model's unconstrained reply to each prompt, without the prompt."""
        options = free_options(self.options, max_new_tokens, sample=sample)
        encoded = self._encode_plain(prompts, self._loaded.context - max_new_tokens)
        params = _sampling(
            max_tokens=max_new_tokens,
            temperature=options.temperature,
            top_p=options.top_p,
            top_k=options.top_k,
            seed=options.seed if sample else None,
        )
        rows = self._loaded.service.run([(ids, params) for ids in encoded])
        return [read_text(row.tokens, self._vocabulary) for row in rows]

    def close(self) -> None:
        """Stop vLLM; this engine and all that share it can no longer answer."""
        self._loaded.service.close()

    def _prepare(self, requests: Sequence[Request], *, streamed: bool = False) -> list[_Task]:
        """Prepare all requests; raise before vLLM gets the first if any of them is invalid."""
        self._prompts.prepare([request.question for request in requests])
        tasks = []
        for request in requests:
            prompt = self.prompt(*request)
            ids = self._encoder.encode(prompt)
            tasks.append(_Task(request, prompt, ids, self._params(request, prompt, streamed)))
        return tasks

    def _params(self, request: Request, prompt: Prompt, streamed: bool) -> Any:
        options, extra = self.options, None
        if options.constrained:
            extra = to_extra_args(request.sources, options.policy, request.understood)
        try:
            return _sampling(
                streamed=streamed,
                max_tokens=options.max_new_tokens,
                temperature=float(options.temperature),
                top_p=float(options.top_p),
                top_k=options.top_k,
                seed=seed_of(options.seed, request) if options.temperature > 0 else None,
                stop=[*self._stops(prompt)],
                extra_args=extra,
            )
        except ValueError as error:
            raise InputError(str(error)) from error

    def _span_task(self, task: _Task, encode: ContinuationEncoder) -> SpanTask:
        writer = SpanWriter(
            self._vocabulary,
            encode,
            self._constraint(task.request),
            task.request,
            budget=self.options.max_new_tokens,
            stops=self._stops(task.prompt),
        )
        return SpanTask(writer, task.ids, self._generic(task.prompt), task.params)

    def _read(self, task: _Task, row: Sequence[int], ended: str | None) -> Generation:
        return self._generation(
            task.request, task.prompt, len(task.ids), row, finished=ended == "stop"
        )
