"""QuoteSum for lm-evaluation-harness, with semqa's prompts and scores.

Cannot be imported without lm_eval: the task is a subclass of its `Task`.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from lm_eval.api.instance import Instance
from lm_eval.api.metrics import mean
from lm_eval.api.task import Task

from semqa.errors import InputError
from semqa.harness.lm_eval.room import Room, find_room
from semqa.harness.quotesum import MAX_NEW_TOKENS, MEANS, HarnessSettings, QuestionSet, corpus_semqa

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from semqa.prompting import Message, Prompt, PromptBuilder

_DEFAULTS = {"do_sample": False, "temperature": 0.0, "max_gen_toks": MAX_NEW_TOKENS}
_log = logging.getLogger("lm_eval.tasks.quotesum")
_TAKEN = ("task", "task_alias", "tag", "num_fewshot", "metadata", "repeats")


class QuoteSum(Task):
    """The task ``quotesum``.

    Arguments come as ``--metadata``; `HarnessSettings` lists them. ``--num_fewshot`` and
    ``--apply_chat_template`` are the harness's own.
    """

    VERSION = 1
    OUTPUT_TYPE = "generate_until"

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        given = dict(config or {})
        self._set = QuestionSet(HarnessSettings.among(given.get("metadata") or {}))
        self._seed = 0
        self._dropped = 0
        self._room: tuple[object, Room | None] | None = None
        self._builders: dict[int, PromptBuilder] = {}
        own = {name: given[name] for name in _TAKEN if name in given}
        decoding = _DEFAULTS | (given.get("generation_kwargs") or {})
        super().__init__(config={"task": "quotesum"})
        # One by one: the constructor of the base class takes the whole mapping for the name.
        for name, value in {"task": "quotesum", **own, "generation_kwargs": decoding}.items():
            self.set_config(name, value)
        self.set_config("output_type", self.OUTPUT_TYPE)

    def download(self, *_: object, **__: object) -> None:
        """Do nothing: the questions come from a file."""

    def has_training_docs(self) -> bool:
        """Tell that exemplars are semqa's business."""
        return False

    def has_validation_docs(self) -> bool:
        """Tell that there is one split."""
        return False

    def has_test_docs(self) -> bool:
        """Tell that the questions are here."""
        return True

    def test_docs(self) -> list[dict[str, Any]]:
        """Return the questions, as the harness logs them."""
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
        """Return the prompt of a question without exemplars, as one text."""
        return self._set.prompt(doc["qid"], self._builder(0)).text

    def doc_to_target(self, doc: Mapping[str, Any]) -> str:
        """Return the first reference."""
        return str(doc["references"][0])

    def set_fewshot_seed(self, seed: int | None = None) -> None:
        """Take the harness's seed for exemplars by chance."""
        super().set_fewshot_seed(seed)
        self._seed = seed or 0
        self._builders.clear()

    def build_all_requests(self, **options: Any) -> None:
        """Make the requests of all questions.

        They are not taken from the harness's cache of requests, which knows neither data nor prompt.
        """
        self._dropped = 0
        super().build_all_requests(**{**options, "cache_requests": False})
        if self._dropped:
            _log.warning(
                "quotesum: %d of %d prompts show fewer than %d exemplars, for the model's context",
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
        """Return the prompt of a question: one text, or what a chat template makes of messages.

        As many exemplars are left out as it takes for the model's context.
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
        room = self._room_of(template)
        if room is None:
            return render(self._set.prompt(doc["qid"], builder))
        try:
            prompt = self._set.prompt(
                doc["qid"], builder, lambda each: room.count(str(render(each))), room.tokens
            )
        except InputError as error:
            raise InputError(
                f"{error}; with --metadata fit=False the harness cuts its beginning"
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
        """Score an answer; a score that it does not have is left out, and so not counted."""
        row = self._set.score(doc["qid"], results[0])
        found: dict[str, Any] = {
            name: value for name in MEANS if (value := row.value(name)) is not None
        }
        # Of one example this is a pair: the corpus score needs both means.
        found["semqa"] = (row.sem_f1, row.rougeLsum)
        return found

    def aggregation(self) -> dict[str, Callable[..., float]]:
        """Return how examples become a corpus score."""
        return {**dict.fromkeys(MEANS, mean), "semqa": corpus_semqa}

    def higher_is_better(self) -> dict[str, bool]:
        """Tell that more is better."""
        return dict.fromkeys((*MEANS, "semqa"), True)

    def _room_of(self, template: Callable[..., Any] | None) -> Room | None:
        if not self._set.settings.fit:
            return None
        asked = getattr(template, "__self__", template)
        if self._room is None or self._room[0] is not asked:
            found = find_room(template, self.config.metadata or {}, self.config.generation_kwargs)
            self._room = (asked, found)
        return self._room[1]

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
    """Apply a chat template; where it leaves the system turn out, its text goes to the user turn."""
    turns = [message.to_dict() for message in _instructed(prompt.messages, instruction)]
    rendered = template(turns)
    if turns[0]["role"] != "system" or rendered != template(turns[1:]):
        return rendered
    first = turns[1] | {"content": f"{turns[0]['content']}\n\n{turns[1]['content']}"}
    return template([first, *turns[2:]])


def _instructed(messages: tuple[Message, ...], instruction: str | None) -> tuple[Message, ...]:
    if not instruction:
        return messages
    make = partial(type(messages[0]), "system")
    if messages[0].role != "system":
        return (make(instruction), *messages)
    return (make(f"{instruction}\n\n{messages[0].content}"), *messages[1:])
