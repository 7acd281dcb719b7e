"""Builds a prompt from a question and its sources that fits the model's context."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import get_args

from semqa.errors import InputError, PromptTooLongError
from semqa.history import Exchange
from semqa.prompting.prompt import Exemplar, ExemplarSelector, Form, Prompt, Spelling
from semqa.prompting.template import Template, shipped_folder
from semqa.quotes import Source


class ShippedExemplars:
    """Chooses the first of the exemplars included in semqa.

    They cover sources that disagree, an irrelevant source, an abbreviation, a "why" question, and
    a question that the sources do not answer.

    Example:
        >>> [exemplar.qid for exemplar in ShippedExemplars().select("Who sang it?", 2)]
        ['semqa_1', 'semqa_2']
    """

    def select(self, question: str, count: int) -> Sequence[Exemplar]:  # noqa: ARG002 (an ExemplarSelector)
        """Choose `count` exemplars, the most useful first."""
        if count > len(self):
            raise InputError(
                f"must be at most {len(self)}, the number of exemplars in semqa, got {count}.",
                field="shots",
            )
        return _exemplars()[:count]

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Do nothing: the choice does not depend on the question."""

    def identity(self) -> dict[str, object]:
        """Return what the choice depends on, as a JSON-ready object."""
        return {"strategy": "shipped", "sha256": hashlib.sha256(_read()).hexdigest()}

    def __len__(self) -> int:
        return len(_exemplars())


@cache
def _read() -> bytes:
    return shipped_folder().joinpath("exemplars.jsonl").read_bytes()


@cache
def _exemplars() -> tuple[Exemplar, ...]:
    return tuple(map(_exemplar, map(json.loads, _read().splitlines())))


def _exemplar(row: dict[str, str]) -> Exemplar:
    numbers = range(1, 1 + sum(name.startswith("source") for name in row))
    return Exemplar(
        question=row["question"],
        sources=tuple(Source(row[f"source{k}"], row[f"title{k}"]) for k in numbers),
        answer=row["summary"],
        qid=row["qid"],
        unique_id=row["unique_id"],
    )


class PromptBuilder:
    """Fills a template with a question, its sources and exemplars.

    The most similar exemplar comes last, next to the question, because the text nearest to the
    answer influences a model most. Dropping others does not change the order.

    Args:
        exemplars: chooses exemplars, or None.
        form: messages or one text. A `Prompt` has both; ``auto`` leaves the choice to the engine.

    Raises:
        InputError: the template is unknown, or there are shots but no selector.

    Example:
        >>> from semqa import Source
        >>> prompt = PromptBuilder("zero-shot").build("Who sang it?", [Source("Bing sang it.")])
        >>> [message.role for message in prompt.messages]
        ['system', 'user']
    """

    def __init__(
        self,
        template: Template | Path | str = "qsum",
        exemplars: ExemplarSelector | None = None,
        shots: int = 0,
        form: Form = "auto",
    ) -> None:
        self.template = template if isinstance(template, Template) else Template.load(template)
        if shots < 0:
            raise InputError(f"must be at least 0, got {shots}.", field="shots")
        if form not in get_args(Form):
            raise InputError(
                f"must be one of {', '.join(get_args(Form))}, got {form!r}.", field="form"
            )
        if shots and exemplars is None:
            raise InputError(
                f"is {shots}, but there are no exemplars to choose from.", field="shots"
            )
        self.shots = shots
        self.form: Form = form
        self._exemplars = exemplars if shots else None

    def build(
        self,
        question: str,
        sources: Sequence[Source],
        history: Sequence[Exchange] = (),
        *,
        count_tokens: Callable[[Prompt], int] | None = None,
        limit: int | None = None,
        reserved: Iterable[str] = (),
    ) -> Prompt:
        """Build the prompt for a question, with as many exemplars as fit.

        Args:
            sources: the passages; source *k* is ``sources[k - 1]``. Blank sources are left out; the
                others keep their numbers.
            history: earlier exchanges of the conversation, oldest first. The last few are shown, if
                they fit.
            count_tokens: counts the tokens of a prompt as the model sees them.
            limit: maximum number of tokens. If the prompt is too long, the least similar exemplars
                are dropped, then the oldest exchanges. Longer prompts must not have fewer tokens.
            reserved: strings that the model's tokenizer reads as control tokens, such as
                ``<|im_start|>``. In the question, the sources and the exemplars, their characters
                are separated by spaces, so that they stay text.

        Raises:
            PromptTooLongError: the prompt is too long even without exemplars.
            InputError: the template failed, or there are not enough exemplars to choose from.
        """
        chosen = self.select(question)
        spelling = Spelling(reserved)

        def with_shots(count: int) -> Prompt:
            # The selector returns the most useful exemplar first; in the prompt it comes last.
            shown = chosen[:count][::-1]
            return self.template.fill(question, sources, shown, self.form, spelling, history)

        prompt = with_shots(len(chosen))
        if count_tokens is None or limit is None or count_tokens(prompt) <= limit:
            return prompt
        prompt = with_shots(0)
        least = count_tokens(prompt)
        if least > limit and history:
            later = prompt.history[1:]
            return self.build(
                question, sources, later, count_tokens=count_tokens, limit=limit, reserved=reserved
            )
        if least > limit:
            raise PromptTooLongError(
                f"The prompt has {least:,} tokens without exemplars; at most {limit:,} fit.",
                hint="Give fewer or shorter sources, or use a model with a longer context.",
            )
        fits, too_many = 0, len(chosen)
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            longer = with_shots(middle)
            if count_tokens(longer) <= limit:
                fits, prompt = middle, longer
            else:
                too_many = middle
        return replace(prompt, dropped=len(chosen) - fits)

    def select(self, question: str) -> list[Exemplar]:
        """Choose the exemplars for a question, the most useful first; empty without shots."""
        if self._exemplars is None:
            return []
        return list(self._exemplars.select(question, self.shots))

    def prepare(self, questions: Sequence[str]) -> None:
        """Choose exemplars for many questions at once, which is faster than one by one."""
        if self._exemplars is not None:
            self._exemplars.prepare(questions, self.shots)

    def identity(self) -> dict[str, object]:
        """Return what prompts depend on, as a JSON-ready object for the record of a run."""
        template, exemplars = self.template, self._exemplars
        return {
            "template": template.name,
            "version": template.version,
            "sha256": template.sha256,
            "answers": template.answers,
            "form": self.form,
            "shots": self.shots,
            "exemplars": None if exemplars is None else dict(exemplars.identity()),
        }
