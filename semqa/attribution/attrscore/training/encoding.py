"""Examples as the numbers that a model trains on.

References are cut to fit and counted, claims never: an example whose claim leaves no room is left
out, and counted too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.attrscore.example import Example
    from semqa.attribution.attrscore.label import Label
    from semqa.attribution.attrscore.prompting import AttrPrompt

__all__ = ["Encoded", "encode_pairs", "encode_prompts", "longest_input"]

LEAST_REFERENCE = 8
"""Tokens of a reference below which an example says nothing."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Encoded examples.

    Attributes:
        features: what a data loader takes: ``input_ids`` and so on, and ``labels``.
        labels: the gold label of each.
        cut: examples whose reference was cut.
        left_out: examples whose claim is too long.
    """

    features: list[dict[str, Any]]
    labels: list[Label]
    cut: int
    left_out: int


def longest_input(wanted: int, tokenizer: Any, config: Any) -> int:
    """Return how many tokens an input may have: so many as are wanted, and as the model can take."""
    known = [wanted, int(min(tokenizer.model_max_length, 10**9))]
    positions = getattr(config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        # RoBERTa and its kin count positions from the one after padding's.
        offset = 2 if "roberta" in str(config.model_type) or config.model_type == "camembert" else 0
        known.append(positions - offset)
    return min(known)


def encode_pairs(
    examples: Sequence[Example],
    tokenizer: Any,
    numbers: Mapping[Label, int],
    longest: int,
    with_query: bool,
) -> Encoded:
    """Encode references and claims as the premises and hypotheses of a classifier."""
    features: list[dict[str, Any]] = []
    labels: list[Label] = []
    cut = left_out = 0
    special = tokenizer.num_special_tokens_to_add(pair=True)
    for example in examples:
        claim = example.claim(with_query)
        room = longest - special - len(tokenizer(claim, add_special_tokens=False)["input_ids"])
        reference = tokenizer(example.reference, add_special_tokens=False)["input_ids"]
        if room < min(LEAST_REFERENCE, len(reference)) or example.label is None:
            left_out += 1
            continue
        cut += len(reference) > room
        encoded = tokenizer(example.reference, claim, truncation="only_first", max_length=longest)
        features.append({**encoded, "labels": numbers[example.label]})
        labels.append(example.label)
    return Encoded(features, labels, cut, left_out)


def encode_prompts(
    examples: Sequence[Example],
    tokenizer: Any,
    prompt: AttrPrompt,
    longest: int,
    with_query: bool,
) -> Encoded:
    """Encode prompts as inputs, and label words as what is to be written after them."""
    features: list[dict[str, Any]] = []
    labels: list[Label] = []
    cut = left_out = 0
    for example in examples:
        claim = example.claim(with_query)
        whole = tokenizer(prompt.fill(claim, example.reference))
        if example.label is None:
            left_out += 1
            continue
        if len(whole["input_ids"]) > longest:
            shorter = _cut_to_fit(tokenizer, prompt, claim, example.reference, longest)
            if shorter is None:
                left_out += 1
                continue
            whole = shorter
            cut += 1
        target = tokenizer(text_target=prompt.family.word(example.label))["input_ids"]
        features.append({**whole, "labels": target})
        labels.append(example.label)
    return Encoded(features, labels, cut, left_out)


def _cut_to_fit(
    tokenizer: Any, prompt: AttrPrompt, claim: str, reference: str, longest: int
) -> Any | None:
    """Return the prompt with as many words of the reference, from its beginning, as fit."""
    words = reference.split()
    least, most = 0, len(words)  # the most words that fit
    found = None
    while least < most:
        middle = (least + most + 1) // 2
        encoded = tokenizer(prompt.fill(claim, " ".join(words[:middle])))
        if len(encoded["input_ids"]) <= longest:
            least, found = middle, encoded
        else:
            most = middle - 1
    return found if least >= min(LEAST_REFERENCE // 2, len(words)) else None
