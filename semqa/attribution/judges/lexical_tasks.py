"""What the lexical judge can do besides verdicts: semqa's prompts for topics, summaries and the like.

Each task recognises its prompt, or gives None. What it writes is made of the document's own words,
chosen by how often they are shared: crude, and the same each time.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from semqa.attribution.judges.lexical_words import read_tokens, sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from semqa.attribution.judges.base import Entailment

    Entail = Callable[[str, str], Entailment]
    Task = Callable[[str, Mapping[str, str], Entail], str | None]

__all__ = ["TASKS"]

_SPEAKER = re.compile(r"^[^\S\n]*[A-Z][^:\n]{0,60}:", re.MULTILINE)
_COUNTED_TOPICS = re.compile(r"\b([0-9]+) main topics\b")
_SUMMARY = re.compile(r'\babout "(.+?)" in fewer than ([0-9]+) words')
_POINT = re.compile(r"^([0-9]+)\. (.+)$", re.MULTILINE)
_NAMED = re.compile(r"^- ([A-Z][^:\n]{2,40}): the sentence ", re.MULTILINE)
_ABOUT = ((0.9, "5"), (0.7, "4"), (0.4, "3"), (0.01, "2"), (0.0, "1"))
"""Least share of a summary's sentences that have a word of the topic, and the grade for it."""


def _document(parts: Mapping[str, str]) -> str:
    text = parts.get("dialogue") or parts.get("document") or ""
    return re.split(r"\n\s*\n(?=(?:Write|Summarise|Name|Is) )", text)[0]


def _topics(prompt: str, parts: Mapping[str, str], _: Entail) -> str | None:
    """Name the pairs of neighbouring words that come most often, as numbered lines."""
    asked = _COUNTED_TOPICS.search(prompt)
    if asked is None or not (text := _SPEAKER.sub("", _document(parts))):
        return None
    seen: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, str], str] = {}
    tokens = [token for token in read_tokens(text) if not token.number]
    for first, second in pairwise(tokens):
        between = text[first.end : second.start]
        if first.content and second.content and between == " ":
            pair = (first.key, second.key)
            seen[pair] += 1
            shown.setdefault(pair, text[first.start : second.end])
    single = Counter(token.key for token in tokens if token.content)
    ranked = sorted(seen, key=lambda pair: (-seen[pair], -single[pair[0]] - single[pair[1]]))
    chosen: list[tuple[str, str]] = []
    for pair in ranked:
        if not any(set(pair) & set(other) for other in chosen):
            chosen.append(pair)
    names = [shown[pair] for pair in chosen[: int(asked[1])]]
    return "\n".join(f"{number}. {name}" for number, name in enumerate(names, 1)) or None


def _summary(prompt: str, parts: Mapping[str, str], _: Entail) -> str | None:
    """Copy the sentences that share most words with the topic, in their order."""
    asked = _SUMMARY.search(prompt)
    if asked is None or not (text := _SPEAKER.sub("", _document(parts))):
        return None
    wanted = {token.key for token in read_tokens(asked[1]) if token.content}
    given = sentences(text)
    # The likeliest first; among equals, that which comes first.
    order = sorted(range(len(given)), key=lambda place: -_shared(given[place], wanted))
    room = int(asked[2]) - 1
    kept: list[int] = []
    for place in order:
        words = len(given[place].split())
        if words <= room and (not kept or _shared(given[place], wanted)):
            kept.append(place)
            room -= words
    return " ".join(given[place] for place in sorted(kept)) or None


def _points(prompt: str, parts: Mapping[str, str], entail: Entail) -> str | None:
    """Say of each numbered point whether the summary entails it."""
    head, mark, _rest = prompt.partition("\nSummary:")
    points = _POINT.findall(head)
    if not (mark and points and "for each point" in prompt and "summary" in parts):
        return None
    summary = re.split(r"\n\s*\n(?=Which of )", parts["summary"])[0]
    return "\n".join(
        f"{number}: {'Yes' if entail(summary, point).entailed else 'No'}"
        for number, point in points
    )


def _relevance(prompt: str, parts: Mapping[str, str], _: Entail) -> str | None:
    """Grade a summary by its sentences that have a word of the topic."""
    if "Reply with one number: 5" not in prompt or not {"topic", "summary"} <= set(parts):
        return None
    wanted = {token.key for token in read_tokens(parts["topic"]) if token.content}
    given = sentences(re.split(r"\n\s*\n(?=How much )", parts["summary"])[0])
    share = sum(_shared(text, wanted) > 0 for text in given) / max(1, len(given))
    return next(grade for least, grade in _ABOUT if share >= least)


def _errors(prompt: str, parts: Mapping[str, str], entail: Entail) -> str | None:
    """Name a contradiction, or else what is not in the document: no other type shows in words."""
    named = _NAMED.findall(prompt)
    if len(named) < 2 or not {"document", "sentence"} <= set(parts):
        return None
    sentence = re.split(r"\n\s*\n(?=Write )", parts["sentence"])[0]
    found = entail(parts["document"], sentence)
    wanted = "Contradiction" if found.contradiction > found.neutral else "Extrinsic Information"
    return wanted if wanted in named else named[0]


def _shared(text: str, wanted: set[str]) -> int:
    return len(wanted & {token.key for token in read_tokens(text)})


TASKS: tuple[Task, ...] = (_topics, _summary, _points, _relevance, _errors)
"""Each returns what its prompt asks for, or None for a prompt of another task."""
