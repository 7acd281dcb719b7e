"""QuoteSum for lm-evaluation-harness, with semqa's prompts and scores.

Importing this module needs lm_eval: the task is a subclass of its `Task`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from lm_eval.api.instance import Instance
from lm_eval.api.metrics import mean
from lm_eval.api.task import Task

from semqa.errors import InputError
from semqa.harness.quotesum import MAX_NEW_TOKENS, MEANS, HarnessSettings, QuestionSet, corpus_semqa
from semqa.prompting import Message, Prompt, PromptBuilder

_DEFAULTS = {"do_sample": False, "temperature": 0.0, "max_gen_toks": MAX_NEW_TOKENS}
_log = logging.getLogger("lm_eval.tasks.quotesum")
_HARNESS_OPTIONS = ("task", "task_alias", "tag", "num_fewshot", "metadata", "repeats")


class QuoteSum(Task):
    """The task ``quotesum``.

    Pass the arguments listed in `HarnessSettings` with ``--metadata``. ``--num_fewshot`` and
    ``--apply_chat_template`` work as usual.
    """

    VERSION = 1
    OUTPUT_TYPE = "generate_until"

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        given = dict(config or {})
        self._set = QuestionSet(HarnessSettings.among(given.get("metadata") or {}))
        self._seed = 0
        self._dropped = 0
        self._budget: tuple[object, ContextBudget | None] | None = None
        self._builders: dict[int, PromptBuilder] = {}
        own = {name: given[name] for name in _HARNESS_OPTIONS if name in given}
        decoding = _DEFAULTS | (given.get("generation_kwargs") or {})
        super().__init__(config={"task": "quotesum"})
        # Set one by one: the base class constructor would take the whole mapping as the name.
        for name, value in {"task": "quotesum", **own, "generation_kwargs": decoding}.items():
            self.set_config(name, value)
        self.set_config("output_type", self.OUTPUT_TYPE)

    def download(self, *_: object, **__: object) -> None:
        """Do nothing: the questions come from a file."""

    def has_training_docs(self) -> bool:
        """Return False: semqa selects the exemplars."""
        return False

    def has_validation_docs(self) -> bool:
        """Return False: there is only one split."""
        return False

    def has_test_docs(self) -> bool:
        """Return True: the questions are the test split."""
        return True

    def test_docs(self) -> list[dict[str, Any]]:
        """Return the questions for the harness to log."""
        return [
            {
                "qid": question.qid,
                "question": question.question,
                "sources": [
                    {"number": k, "title": source.title, "text": source.text}
                    for k, source in enumerate(question.sources, 1)
                    if source.text
                ],
                "references": list(question.texts),
            }
            for question in self._set.questions
        ]

    def doc_to_text(self, doc: Mapping[str, Any]) -> str:
        """Return the zero-shot prompt of a question as text."""
        return self._set.prompt(doc["qid"], self._builder(0)).text

    def doc_to_target(self, doc: Mapping[str, Any]) -> str:
        """Return the first reference."""
        return str(doc["references"][0])

    def set_fewshot_seed(self, seed: int | None = None) -> None:
        """Use the harness's seed for random exemplars."""
        super().set_fewshot_seed(seed)
        self._seed = seed or 0
        self._builders.clear()

    def build_all_requests(self, **options: Any) -> None:
        """Make the requests of all questions.

        The harness's request cache is not used because its key lacks the data and the prompt.
        """
        self._dropped = 0
        super().build_all_requests(**{**options, "cache_requests": False})
        if self._dropped:
            _log.warning(
                "quotesum: %d of %d prompts have fewer than %d exemplars to fit the model's context",
                self._dropped,
                len(self.instances),
                self._shots,
            )
        known = dict(self.config.metadata or {})
        known["quotesum"] = {**known.get("quotesum", {}), "prompts_with_fewer": self._dropped}
        self.set_config("metadata", known)

    def fewshot_context(
        self,
        doc: Mapping[str, Any],
        num_fewshot: int = 0,
        *,
        system_instruction: str | None = None,
        apply_chat_template: bool = False,
        fewshot_as_multiturn: bool = True,
        chat_template: Callable[..., Any] | None = None,
        **_: object,
    ) -> Any:
        """Return the prompt of a question, rendered with the chat template if one is used.

        Exemplars are dropped until the prompt fits the model's context.
        """
        template = chat_template if apply_chat_template else None

        def render(prompt: Prompt) -> Any:
            if template is None:
                before = f"{system_instruction}\n\n" if system_instruction else ""
                return before + prompt.text
            if prompt.exemplars and not fewshot_as_multiturn:
                turns = [{"role": "user", "content": prompt.text}]
                if system_instruction:
                    turns.insert(0, {"role": "system", "content": system_instruction})
                return template(turns)
            return _render(prompt, system_instruction, template)

        builder = self._builder(num_fewshot or 0)
        budget = self._budget_for(template)
        if budget is None:
            return render(self._set.prompt(doc["qid"], builder))
        try:
            prompt = self._set.prompt(
                doc["qid"], builder, lambda each: budget.count(str(render(each))), budget.tokens
            )
        except InputError as error:
            raise InputError(
                f"{error} To let the harness truncate it at the start, pass --metadata fit=False."
            ) from error
        self._dropped += bool(prompt.dropped)
        return render(prompt)

    def construct_requests(
        self, doc: Mapping[str, Any], ctx: Any, **options: Any
    ) -> list[Instance]:
        """Return the one request of a question."""
        chat = options.pop("apply_chat_template", False)
        options.pop("chat_template", None)
        decoding = dict(self.config.generation_kwargs)
        if "until" not in decoding:
            stops = self._set.prompt(doc["qid"], self._builder(self._shots)).stop
            decoding["until"] = [] if chat else list(stops)
        return [
            Instance(
                request_type="generate_until", doc=doc, arguments=(ctx, decoding), idx=0, **options
            )
        ]

    def process_results(self, doc: Mapping[str, Any], results: list[str]) -> dict[str, Any]:
        """Score an answer; undefined scores are omitted, so that the harness ignores them."""
        row = self._set.score(doc["qid"], results[0])
        found: dict[str, Any] = {
            name: value for name in MEANS if (value := row.value(name)) is not None
        }
        # A pair, because the corpus score needs the means of both.
        found["semqa"] = (row.sem_f1, row.rougeLsum)
        return found

    def aggregation(self) -> dict[str, Callable[..., float]]:
        """Return the function from example scores to corpus score for each metric."""
        return {**dict.fromkeys(MEANS, mean), "semqa": corpus_semqa}

    def higher_is_better(self) -> dict[str, bool]:
        """Return True for each metric."""
        return dict.fromkeys((*MEANS, "semqa"), True)

    def _budget_for(self, template: Callable[..., Any] | None) -> ContextBudget | None:
        if not self._set.settings.fit:
            return None
        model = getattr(template, "__self__", template)
        if self._budget is None or self._budget[0] is not model:
            found = find_budget(template, self.config.metadata or {}, self.config.generation_kwargs)
            self._budget = (model, found)
        return self._budget[1]

    @property
    def _shots(self) -> int:
        return self.config.num_fewshot or 0

    def _builder(self, shots: int) -> PromptBuilder:
        if shots not in self._builders:
            self._builders[shots] = self._set.builder(shots, seed=self._seed)
            if shots == self._shots:
                known = self.config.metadata or {}
                found = self._set.identity(self._builders[shots])
                self.set_config("metadata", {**known, "quotesum": found})
        return self._builders[shots]


def _render(prompt: Prompt, instruction: str | None, template: Callable[..., Any]) -> Any:
    """Apply a chat template; if it ignores the system turn, prepend its text to the user turn."""
    turns = [message.to_dict() for message in _with_instruction(prompt.messages, instruction)]
    rendered = template(turns)
    if turns[0]["role"] != "system" or rendered != template(turns[1:]):
        return rendered
    first = turns[1] | {"content": f"{turns[0]['content']}\n\n{turns[1]['content']}"}
    return template([first, *turns[2:]])


def _with_instruction(
    messages: tuple[Message, ...], instruction: str | None
) -> tuple[Message, ...]:
    if not instruction:
        return messages
    make = partial(type(messages[0]), "system")
    if messages[0].role != "system":
        return (make(instruction), *messages)
    return (make(f"{instruction}\n\n{messages[0].content}"), *messages[1:])


_MAX_TOKENS_ARGUMENTS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""Names of the generation argument for the maximum number of tokens per answer."""


class ContextBudget(NamedTuple):
    """Maximum prompt length in tokens, and how to count those that the model gets for a text."""

    tokens: int
    count: Callable[[str], int]


def find_budget(
    chat_template: Callable[..., Any] | None,
    arguments: Mapping[str, Any],
    decoding: Mapping[str, Any],
) -> ContextBudget | None:
    """Return the context budget for prompts, or None if it is unknown.

    A chat template is a bound method of the model, which has the length and tokenizer. Without a
    chat template, both come from the model arguments.

    Args:
        arguments: arguments of the model and the task.
    """
    limits = (int(decoding[name]) for name in _MAX_TOKENS_ARGUMENTS if decoding.get(name))
    answer_tokens = next(limits, 0)
    model = getattr(chat_template, "__self__", None)
    if model is not None:
        return _budget_of_model(model, answer_tokens)
    return _budget_from_arguments(arguments, answer_tokens)


def _budget_of_model(model: Any, answer_tokens: int) -> ContextBudget | None:
    max_length, encode = getattr(model, "max_length", None), getattr(model, "tok_encode", None)
    if not isinstance(max_length, int) or encode is None:
        return None
    if getattr(model, "tokenized_requests", True) is False:
        return None  # an endpoint that gets messages and rejects long prompts itself
    separate_encoder = getattr(model, "backend", "causal") == "seq2seq"
    batch = getattr(model, "tok_batch_encode", None)

    def count(text: str) -> int:
        # What the model gets: tok_encode may omit tokens at the start, such as BOS.
        if batch is not None and hasattr(model, "backend"):
            return int(batch([text])[0].shape[-1])
        return len(encode(text))

    return ContextBudget(max_length if separate_encoder else max_length - answer_tokens, count)


def _budget_from_arguments(
    arguments: Mapping[str, Any], answer_tokens: int
) -> ContextBudget | None:
    name = arguments.get("pretrained")
    if not isinstance(name, str):
        return None
    from lm_eval.models.utils import resolve_max_length
    from transformers import AutoConfig, AutoTokenizer

    options = {key: arguments[key] for key in ("revision", "trust_remote_code") if key in arguments}
    try:
        config = AutoConfig.from_pretrained(name, **options)
        tokenizer = AutoTokenizer.from_pretrained(arguments.get("tokenizer") or name, **options)
    except (OSError, ValueError, KeyError, ImportError) as error:
        _log.warning(
            "quotesum: the tokenizer of %s cannot be loaded, so long prompts will be truncated at "
            "the start (%s)",
            name,
            str(error).partition("\n")[0],
        )
        return None
    given = arguments.get("max_length") or arguments.get("max_model_len")
    max_length = int(given) if given else resolve_max_length(config, tokenizer)
    separate_encoder = bool(getattr(config, "is_encoder_decoder", False))
    return ContextBudget(
        max_length if separate_encoder else max_length - answer_tokens,
        lambda text: len(tokenizer(text)["input_ids"]),
    )
