"""QuoteSum for a harness: where its task lies, its arguments, prompts and scores."""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import semqa
from semqa.data.fetch import remote_file
from semqa.data.quotesum import read_quotesum
from semqa.errors import InputError
from semqa.metrics import METRICS, Example, ExampleScores, score_example
from semqa.quotes import QuotedAnswer
from semqa.retrieval import PromptSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from semqa.data.quotesum import Question
    from semqa.prompting import Form, Prompt, PromptBuilder

MAX_NEW_TOKENS = 256
"""Most tokens of an answer, unless the harness is told otherwise; as in ``semqa bench``."""


class QuestionSet:
    """The questions of one file, asked and scored one way."""

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
        """Make what puts the questions to a model. A question is no exemplar of itself."""
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
            count_tokens: counts the tokens of a prompt as the model will see them.
        """
        question = self[qid]
        try:
            return builder.build(
                question.question, question.sources, count_tokens=count_tokens, limit=limit
            )
        except InputError as error:
            raise InputError(f"{self.path.name}: question {qid}: {error}") from error

    def score(self, qid: str, prediction: str) -> ExampleScores:
        """Score an answer."""
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


DATA_SETTING = "SEMQA_QUOTESUM"
"""The environment variable that names the QuoteSum file, where no argument does."""

_TEXTS = ("data", "split", "prompt", "exemplars", "train", "encoder")
_SWITCHES = ("canonical", "all_sources", "fit")


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessSettings:
    """Arguments of the task; None means that one was not given.

    Attributes:
        data: the QuoteSum file; by default ``$SEMQA_QUOTESUM``, else the split in the cache, as
            ``semqa data fetch quotesum`` leaves it there. Nothing is downloaded.
        prompt: a template's name or path; by default ``qsum`` with exemplars, else ``zero-shot``.
        exemplars: how exemplars are chosen (`semqa.retrieval.create_selector`); by default ``knn``.
        train: the QuoteSum file of exemplars; by default the cache's ``train``.
        canonical: read answers as `QuotedAnswer.parse` does, which forgives ``[1 span]``, and score
            what it read, as ``semqa bench`` does. Without it the text itself is scored, as by
            ``semqa score``.
        fit: leave out exemplars where a prompt is too long for the model (lm-evaluation-harness),
            and refuse one that is too long without any; otherwise the harness cuts it at its
            beginning.
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
        for name in _TEXTS:
            value: object = getattr(self, name)
            if isinstance(value, os.PathLike):
                object.__setattr__(self, name, os.fspath(value))
            elif not (isinstance(value, str) and value) and (value is not None or name == "split"):
                raise InputError(f"must be text, got {value!r:.80}.", field=name, value=value)
        for name in _SWITCHES:
            switch: object = getattr(self, name)
            if not isinstance(switch, bool):
                raise InputError(
                    f"must be true or false, got {switch!r:.80}.", field=name, value=switch
                )

    @classmethod
    def among(cls, arguments: Mapping[str, Any]) -> HarnessSettings:
        """Return the settings that stand among the arguments of others.

        Example:
            >>> HarnessSettings.among({"prompt": "qsum", "pretrained": "gpt2"}).prompt
            'qsum'
        """
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in arguments.items() if name in names})

    @property
    def data_path(self) -> Path:
        """The file of the questions."""
        named = self.data or os.environ.get(DATA_SETTING, "").strip()
        return Path(named).expanduser() if named else _cached(self.split, "argument data")

    @property
    def train_path(self) -> Path:
        """The file of the exemplars."""
        return Path(self.train).expanduser() if self.train else _cached("train", "argument train")


def _cached(split: str, argument: str) -> Path:
    file = remote_file("quotesum", split)
    state = file.state()
    if state != "cached":
        setting = f" or {DATA_SETTING}" if argument.endswith("data") else ""
        raise InputError(
            f"QuoteSum's {split} is {state} in the cache.",
            hint=f"Name a file with the {argument}{setting}, or run: semqa data fetch quotesum "
            f"--split {split}",
        )
    return file.path()


MEANS = METRICS[:-1]
"""The scores whose corpus figure is the mean over the examples that have one."""


def corpus_semqa(pairs: Iterable[tuple[float | None, float | None]]) -> float:
    """Return SEMQA of a corpus: the geometric mean of its Sem-F1 and its ROUGE-Lsum.

    Args:
        pairs: Sem-F1 and ROUGE-Lsum of each example, 0-100; None or NaN for one that has none.

    Returns:
        SEMQA, or NaN where either has no example.

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
"""What each harness is given, below this folder: a folder of tasks, or a file with one."""


def harness_path(name: str) -> Path:
    """Return what to give a harness: for ``lm_eval --include_path``, or ``inspect eval``.

    Args:
        name: the harness, by the name of its package; `HARNESSES` lists them.

    Example:
        >>> harness_path("lm_eval").name
        'lm_eval'
    """
    if name not in HARNESSES:
        raise InputError(f"Unknown harness {name!r}.", hint=f"Choose {' or '.join(HARNESSES)}.")
    return Path(__file__).resolve().parent / HARNESSES[name]
