"""Questions with human answers as the numbers that a model trains on.

The prompt of an example is the one that the engine will ask. A decoder-only model reads prompt and
answer, and its loss counts the answer and its end alone. Nothing is cut: what is too long is left
out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from semqa.errors import InputError
from semqa.prompting.prompt import Spelling
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from semqa.data.quotesum import Question
    from semqa.engines.model import PromptEncoder
    from semqa.prompting import Prompt
    from semqa.quotes import Source

__all__ = ["IGNORED", "Encoded", "encode", "end_token", "pack", "prompt_size", "unpack"]

IGNORED = -100
"""The label of a token that no loss counts, as torch has it."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Encoded examples, one for each answer, or for each prompt if they are packed.

    Attributes:
        features: ``input_ids`` and ``labels`` of each.
        left_out: answers that are too long with their prompts, or blank.
        unverified: answers that quote what no source has; they are learned from all the same.
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

    Args:
        questions: with their references.
        ask: makes the prompt of a question as the engine does, with as many exemplars as fit.
        encoder: of the model.
        tokenizer: of the model.
        end: the token that ends an answer.
        limit: most tokens of a prompt and of an answer, or of both together.
        is_encoder_decoder: whether the prompt goes to an encoder.
    """
    features: list[dict[str, list[int]]] = []
    left_out = unverified = 0
    spell = Spelling(encoder.reserved)
    for question in questions:
        try:
            prompt = ask(question.question, question.sources)
        except InputError:  # no engine would ask the model that
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
    """Put answers that follow the same prompt behind one copy of it, up to `limit` tokens.

    Each answer begins with a copy of the prompt's last token, which predicts its first one.
    `Padding` keeps the answers from seeing each other.
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
    """Return the examples of which `pack` made one."""
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
    """Return how many tokens stand before the first label that counts."""
    return next((place for place, label in enumerate(labels) if label != IGNORED), len(labels))


def end_token(name: str, tokenizer: Any) -> int:
    """Return the token that a model is to end its answers with.

    Raises:
        InputError: its tokenizer has none.
    """
    for token in (tokenizer.eos_token_id, tokenizer.sep_token_id):
        if token is not None:
            return int(token)
    raise InputError(
        f"model {name}: no end token: got none from its tokenizer, expected one to end answers "
        "with; set eos_token in tokenizer_config.json"
    )


def _ended(tokens: list[int], end: int) -> list[int]:
    return tokens if tokens and tokens[-1] == end else [*tokens, end]
