"""The questions of a harness's run: their prompts, and the scores of answers to them."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING

import semqa
from semqa.data.quotesum import read_quotesum
from semqa.errors import InputError
from semqa.metrics import Example, ExampleScores, score_example
from semqa.quotes import QuotedAnswer
from semqa.retrieval import PromptSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from semqa.data.quotesum import Question
    from semqa.harness.settings import HarnessSettings
    from semqa.prompting import Form, Prompt, PromptBuilder

__all__ = ["MAX_NEW_TOKENS", "QuestionSet"]

MAX_NEW_TOKENS = 256
"""Most tokens of an answer, unless the harness is told otherwise; as in ``semqa bench``."""


class QuestionSet:
    """The questions of one file, asked and scored one way.

    Args:
        settings: what was said about the task.

    Attributes:
        settings: the same.
        path: the file.

    Raises:
        InputError: the file is not there, or a row of it is not usable.
    """

    def __init__(self, settings: HarnessSettings) -> None:
        self.settings = settings
        self.path = settings.data_path
        self._by_qid = {question.qid: question for question in read_quotesum(self.path)}

    @property
    def questions(self) -> list[Question]:
        """The questions, in file order."""
        return list(self._by_qid.values())

    def __getitem__(self, qid: str) -> Question:
        """Return a question by its name."""
        return self._by_qid[qid]

    def builder(self, shots: int = 0, *, form: Form | None = None, seed: int = 0) -> PromptBuilder:
        """Make what puts the questions to a model. A question is no exemplar of itself.

        Args:
            shots: how many exemplars to show.
            form: as messages or as one text.
            seed: of exemplars by chance.

        Raises:
            InputError: the template or the file of exemplars is not usable.
            UnavailableError: a package of the encoder is missing.
        """
        given = self.settings
        own = {"exemplars": given.exemplars, "encoder": given.encoder} if shots else {}
        prompts = PromptSettings(
            prompt=given.prompt,
            shots=shots,
            train=given.train_path if shots else None,
            form=form,
            seed=seed,
            **own,
        )
        builder = prompts.create_builder([(each.question, each.qid) for each in self.questions])
        builder.prepare([each.question for each in self.questions])
        return builder

    def prompt(
        self,
        qid: str,
        builder: PromptBuilder,
        count_tokens: Callable[[Prompt], int] | None = None,
        limit: int | None = None,
    ) -> Prompt:
        """Return the prompt of a question, with as many exemplars as fit.

        Args:
            qid: names the question.
            builder: what puts it.
            count_tokens: counts the tokens of a prompt as the model will see them.
            limit: the most tokens the prompt may have.

        Raises:
            InputError: it is too long even without exemplars.
        """
        question = self[qid]
        try:
            return builder.build(
                question.question, question.sources, count_tokens=count_tokens, limit=limit
            )
        except InputError as error:
            raise InputError(f"{self.path.name}: question {qid}: {error}") from error

    def score(self, qid: str, prediction: str) -> ExampleScores:
        """Score an answer.

        Args:
            qid: names the question.
            prediction: what the model wrote.
        """
        question = self[qid]
        if self.settings.canonical:
            try:
                prediction = QuotedAnswer.parse(prediction, question.sources).marked
            except InputError:
                prediction = ""  # more marks than anybody reads; `semqa bench` scores it so, too
        example = Example(qid, prediction, question.texts, question.short_answers, question.numbers)
        return score_example(example, all_sources=self.settings.all_sources)

    @cached_property
    def digest(self) -> str:
        """What tells the data from other data, in hex."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    def identity(self, builder: PromptBuilder) -> dict[str, object]:
        """Return what figures depend on besides the model, ready for JSON."""
        return {
            "semqa": semqa.__version__,
            "data": self.path.name,
            "data_sha256": self.digest,
            "canonical": self.settings.canonical,
            "all_sources": self.settings.all_sources,
            "prompts": builder.identity(),
        }
