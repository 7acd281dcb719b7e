"""The QuoteSum task shared by all harnesses: arguments, prompts and scores."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any

import semqa
from semqa.data.fetch import remote_file
from semqa.data.quotesum import Question, read_quotesum
from semqa.errors import InputError
from semqa.metrics import METRICS, Example, ExampleScores, score_example
from semqa.prompting import Form, Prompt, PromptBuilder
from semqa.quotes import QuotedAnswer
from semqa.retrieval.settings import PromptSettings

MAX_NEW_TOKENS = 256
"""Default maximum number of tokens per answer, as in ``semqa bench``."""


class QuestionSet:
    """The questions in one file, with fixed prompt and scoring settings."""

    def __init__(self, settings: HarnessSettings) -> None:
        self.settings = settings
        self.path = settings.data_path
        self._by_qid = {question.qid: question for question in read_quotesum(self.path)}

    @property
    def questions(self) -> list[Question]:
        """The questions, in file order."""
        return list(self._by_qid.values())

    def builder(self, shots: int = 0, *, form: Form | None = None, seed: int = 0) -> PromptBuilder:
        """Make the prompt builder. A question is never its own exemplar."""
        settings = self.settings
        selection = {"exemplars": settings.exemplars, "encoder": settings.encoder} if shots else {}
        prompts = PromptSettings(
            prompt=settings.prompt,
            shots=shots,
            train=settings.train_path if shots else None,
            form=form,
            seed=seed,
            **selection,
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
            count_tokens: returns the number of tokens that the model gets for a prompt.
            limit: maximum number of tokens.
        """
        question = self._by_qid[qid]
        try:
            return builder.build(
                question.question, question.sources, count_tokens=count_tokens, limit=limit
            )
        except InputError as error:
            raise InputError(f"{self.path.name}: question {qid}: {error}") from error

    def score(self, qid: str, prediction: str) -> ExampleScores:
        """Score an answer."""
        question = self._by_qid[qid]
        if self.settings.canonical:
            try:
                prediction = QuotedAnswer.parse(prediction, question.sources).marked
            except InputError:
                prediction = ""  # too many marks; `semqa bench` scores it the same way
        example = Example(qid, prediction, question.texts, question.short_answers, question.numbers)
        return score_example(example, all_sources=self.settings.all_sources)

    def identity(self, builder: PromptBuilder) -> dict[str, object]:
        """Return what the scores depend on besides the model, for JSON."""
        return {
            "semqa": semqa.__version__,
            "data": self.path.name,
            "data_sha256": hashlib.sha256(self.path.read_bytes()).hexdigest(),
            "canonical": self.settings.canonical,
            "all_sources": self.settings.all_sources,
            "prompts": builder.identity(),
        }


DATA_SETTING = "SEMQA_QUOTESUM"
"""Environment variable with the path of the QuoteSum file, used without a ``data`` argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessSettings:
    """Task arguments; None means the default.

    Attributes:
        data: QuoteSum file. By default ``$SEMQA_QUOTESUM``, otherwise the cached split from
            ``semqa data fetch quotesum``. Nothing is downloaded.
        split: cached split to use without a data file.
        prompt: name or path of a template. By default ``qsum`` with exemplars, otherwise
            ``zero-shot``.
        exemplars: exemplar selection (see `semqa.retrieval.create_selector`); by default ``knn``.
        train: QuoteSum file with exemplars; by default the cached ``train`` split.
        canonical: parse answers with `QuotedAnswer.parse`, which accepts ``[1 span]``, and score
            the result, like ``semqa bench``. Otherwise score the text as it is, like ``semqa
            score``.
        all_sources: also score sources beyond 7.
        fit: drop exemplars from prompts that are too long for the model (lm-evaluation-harness
            only), and raise if a prompt without exemplars is still too long. Otherwise the harness
            truncates prompts at the start.
    """

    data: str | None = None
    split: str = "dev"
    prompt: str | None = None
    exemplars: str | None = None
    train: str | None = None
    encoder: str | None = None
    canonical: bool = False
    all_sources: bool = False
    fit: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            kind, noun = (bool, "true or false") if field.type == "bool" else (str, "text")
            if value is not field.default and (not isinstance(value, kind) or value == ""):
                raise InputError(f"must be {noun}, got {value!r:.80}.", field=field.name)

    @classmethod
    def among(cls, arguments: Mapping[str, Any]) -> HarnessSettings:
        """Return the settings contained in a mapping with other arguments.

        Example:
            >>> HarnessSettings.among({"prompt": "qsum", "pretrained": "gpt2"}).prompt
            'qsum'
        """
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in arguments.items() if name in names})

    @property
    def data_path(self) -> Path:
        """The file with the questions."""
        path = self.data or os.environ.get(DATA_SETTING, "").strip()
        return (
            Path(path).expanduser()
            if path
            else _cached(self.split, f"argument data or {DATA_SETTING}")
        )

    @property
    def train_path(self) -> Path:
        """The file with the exemplars."""
        return Path(self.train).expanduser() if self.train else _cached("train", "argument train")


def _cached(split: str, argument: str) -> Path:
    file = remote_file("quotesum", split)
    state = file.state()
    if state != "cached":
        raise InputError(
            f"The QuoteSum split {split} is {state} in the cache.",
            hint=f"Give a file with the {argument}, or run: semqa data fetch quotesum --split {split}",
        )
    return file.path()


MEANS = METRICS[:-1]
"""Metrics whose corpus score is the mean over the scored examples."""


def corpus_semqa(pairs: Iterable[tuple[float | None, float | None]]) -> float:
    """Return the SEMQA of a corpus: the geometric mean of its Sem-F1 and ROUGE-Lsum.

    Args:
        pairs: Sem-F1 and ROUGE-Lsum of each example, 0-100; None or NaN if undefined.

    Returns:
        SEMQA, or NaN if no example has a Sem-F1 or none has a ROUGE-Lsum.

    Source: Schuster et al., SEMQA (NAACL 2024), section 4.

    Example:
        >>> corpus_semqa([(100.0, 40.0), (60.0, 60.0), (None, 50.0)])
        63.245553203367585
    """
    columns = zip(*pairs, strict=True)
    kept = [[x for x in column if x is not None and not math.isnan(x)] for column in columns]
    if not kept or not all(kept):
        return math.nan
    sem_f1, rouge = map(fmean, kept)
    return math.sqrt(sem_f1 * rouge)


HARNESSES = {"lm_eval": "lm_eval", "inspect_ai": "inspect_ai/task.py"}
"""Task folder or file of each harness, relative to this folder."""


def harness_path(name: str) -> Path:
    """Return the path for ``lm_eval --include_path`` or ``inspect eval``.

    Args:
        name: package name of the harness, one of `HARNESSES`.

    Example:
        >>> harness_path("lm_eval").name
        'lm_eval'
    """
    return Path(__file__).resolve().parent / HARNESSES[name]
