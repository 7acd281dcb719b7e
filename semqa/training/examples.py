"""Training examples as tokens, and the scores of answers to dev questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from semqa.data.quotesum import Question
from semqa.engines.base import Request
from semqa.engines.model.text import PromptEncoder
from semqa.errors import InputError
from semqa.metrics import METRICS, Example, score
from semqa.prompting import Prompt
from semqa.prompting.prompt import Spelling
from semqa.quotes import QuotedAnswer, Source
from semqa.training.folder import Ranks

if TYPE_CHECKING:
    from semqa.engines.transformers import TransformersEngine

IGNORED = -100
"""The label that torch's loss ignores."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Encoded examples.

    Attributes:
        features: one example per answer, or several answers per example if packed.
        left_out: number of answers left out because they are blank or too long.
        unverified: number of answers with an unverified quote; these are used for training.
    """

    features: list[dict[str, list[int]]]
    left_out: int
    unverified: int


def encode(
    questions: Sequence[Question],
    ask: Callable[[str, Sequence[Source]], Prompt],
    encoder: PromptEncoder,
    tokenizer: Any,
    *,
    end: int,
    limit: int,
    is_encoder_decoder: bool,
) -> Encoded:
    """Encode every answer to every question.

    `ask` builds the prompt of a question, as the engine does. For an encoder-decoder model, the prompt
    and the answer have at most `limit` tokens each; for a decoder-only model, both together.
    """
    features: list[dict[str, list[int]]] = []
    left_out = unverified = 0
    spell = Spelling(encoder.reserved)
    for question in questions:
        try:
            prompt = ask(question.question, question.sources)
        except InputError:  # the engine would reject this question
            left_out += len(question.texts)
            continue
        ids = encoder.encode(prompt)
        for text in question.texts:
            answer = spell(text).strip()
            if not answer:
                left_out += 1
                continue
            if is_encoder_decoder:
                target = _ended(list(tokenizer(text_target=answer)["input_ids"]), end)
                fits = max(len(ids), len(target)) <= limit
                feature = {"input_ids": ids, "labels": target}
            else:
                target = _ended(encoder.encode_answer(prompt, answer), end)
                fits = len(ids) + len(target) <= limit
                labels = [IGNORED] * len(ids) + target
                feature = {"input_ids": ids + target, "labels": labels}
            if not fits:
                left_out += 1
                continue
            features.append(feature)
            quotes = QuotedAnswer.parse(text, question.sources).quotes
            unverified += not all(quote.verified for quote in quotes)
    return Encoded(features, left_out, unverified)


def pack(features: Sequence[Mapping[str, list[int]]], limit: int) -> list[dict[str, list[int]]]:
    """Pack consecutive answers to the same prompt into one sequence of at most `limit` tokens.

    The prompt is included once. Each further answer follows a copy of the prompt's last token,
    which predicts its first token. `Padding` masks the answers from each other.
    """
    packed: list[dict[str, list[int]]] = []
    for each in features:
        size = prompt_size(each["labels"])
        last = packed[-1] if packed else {"input_ids": [], "labels": []}
        same = last["input_ids"][:size] == each["input_ids"][:size]
        added = len(each["labels"]) - size + 1
        if same and prompt_size(last["labels"]) == size and len(last["labels"]) + added <= limit:
            for name in last:
                last[name] += each[name][size - 1 :]
        else:
            packed.append({name: list(each[name]) for name in last})
    return packed


def unpack(feature: Mapping[str, list[int]]) -> list[dict[str, list[int]]]:
    """Return the examples that `pack` combined."""
    labels = feature["labels"]
    begins = [
        place
        for place, both in enumerate(pairwise(labels))
        if both[0] == IGNORED and both[1] != IGNORED
    ]
    shared = {name: values[: begins[0]] for name, values in feature.items()}
    return [
        {name: shared[name] + values[begin:end] for name, values in feature.items()}
        for begin, end in pairwise([*begins, len(labels)])
    ]


def prompt_size(labels: Sequence[int]) -> int:
    """Return the number of tokens before the first label that is not ignored."""
    return next((place for place, label in enumerate(labels) if label != IGNORED), len(labels))


def end_token(name: str, tokenizer: Any) -> int:
    """Return the token that ends an answer."""
    for token in (tokenizer.eos_token_id, tokenizer.sep_token_id):
        if token is not None:
            return int(token)
    raise InputError(
        f"The tokenizer of {name} has no end token.", hint="Set eos_token in tokenizer_config.json."
    )


def _ended(tokens: list[int], end: int) -> list[int]:
    return tokens if tokens and tokens[-1] == end else [*tokens, end]


class DevScorer:
    """Scores the answers of an engine to the dev questions."""

    def __init__(
        self, engine: TransformersEngine, questions: Sequence[Question], ranks: Ranks
    ) -> None:
        self._engine = engine
        self._ranks = ranks
        self._questions = tuple(questions)
        for question in self._questions:
            try:
                engine.prompt(question.question, question.sources)
            except InputError as error:
                raise InputError(f"dev data: question {question.qid!r}: {error}") from error

    def scores(self) -> dict[str, float]:
        """Return the corpus scores by name, and the share of verified answers."""
        requests = [Request(each.question, each.sources) for each in self._questions]
        here = self._engine.answer_batch(self._ranks.spread(requests))
        answers = self._ranks.join_spread([(each.marked, each.verified) for each in here])
        report = score(
            (
                Example(
                    qid=question.qid,
                    prediction=marked,
                    references=question.texts,
                    short_answers=question.short_answers,
                    present=question.numbers,
                )
                for question, (marked, _) in zip(self._questions, answers, strict=True)
            ),
            resamples=0,
        )
        found = {name: report.value(name) for name in METRICS}
        return {
            **{name: value for name, value in found.items() if value is not None},
            "verified": sum(verified for _, verified in answers) / len(answers),
        }
