"""Prompts that the lexical judge can answer: those of semqa, and others that are laid out like them.

It is no language model, and does not pretend to be one. It reads what a prompt labels at the
beginnings of lines (``Claim:``, ``Reference:`` and the like), does by words what the prompt asks for
where it recognises that, and refuses any other prompt. The last text of each label counts, for the
earlier ones are examples.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from semqa.attribution.judges.lexical_tasks import TASKS
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from semqa.attribution.judges.base import Entailment

__all__ = ["judge_prompt"]

_CLAIMS = ("claim", "hypothesis", "statement", "sentence", "response", "summary", "answer")
_EVIDENCE = (
    "reference",
    "premise",
    "evidence",
    "context",
    "document",
    "dialogue",
    "source",
    "passage",
    "article",
    "knowledge",
)
_OTHERS = ("label", "verdict", "topic", "question", "query", "explanation", "questions")
_LABEL = re.compile(
    rf"^[ \t>#*]*({'|'.join((*_CLAIMS, *_EVIDENCE, *_OTHERS))})(?: [0-9]+)?[ *]*:[ *]*",
    re.MULTILINE | re.IGNORECASE,
)
_SHOWN = 60


class _Verdicts(NamedTuple):
    """Words that a prompt offers: for what follows, what is open, and what is contradicted."""

    follows: str
    open: str
    contrary: str


_OFFERED = (
    _Verdicts("Attributable", "Extrapolatory", "Contradictory"),
    _Verdicts("Entailment", "Neutral", "Contradiction"),
    _Verdicts("Supported", "Not Enough Information", "Refuted"),
    _Verdicts("Supports", "Not Enough Information", "Refutes"),
    _Verdicts("Support", "Not Enough Information", "Contradict"),
    _Verdicts("Consistent", "Inconsistent", "Inconsistent"),
    _Verdicts("Supported", "Unsupported", "Unsupported"),
    _Verdicts("Supported", "Not supported", "Not supported"),
    _Verdicts("Yes", "No", "No"),
    _Verdicts("True", "False", "False"),
)


def judge_prompt(prompt: str, entail: Callable[[str, str], Entailment]) -> str:
    r"""Return what a prompt asks for.

    Args:
        prompt: the prompt.
        entail: says how a hypothesis stands to a premise, in this order of arguments: premise first.

    Raises:
        InputError: what the prompt asks for takes a language model.

    Example:
        >>> from semqa.attribution.judges import Entailment
        >>> def certain(premise, hypothesis):
        ...     return Entailment(1.0, 0.0, 0.0)
        >>> judge_prompt("Yes or No?\nClaim: It is red.\nReference: It is red.", certain)
        'Yes'
    """
    parts = _parts(prompt)
    for task in TASKS:
        done = task(prompt, parts, entail)
        if done is not None:
            return done
    verdict = _verdict(prompt, parts, entail)
    if verdict is None:
        shown = " ".join(prompt.split())
        raise InputError(
            "judge lexical: cannot write: got the prompt "
            f"{shown[:_SHOWN] + '…' if len(shown) > _SHOWN else shown!r}, expected one that labels "
            "a claim and its reference and offers verdicts; choose a judge with a language model, "
            "such as engine:transformers:MODEL"
        )
    return verdict


def _verdict(
    prompt: str, parts: Mapping[str, str], entail: Callable[[str, str], Entailment]
) -> str | None:
    claim, evidence = _part(parts, _CLAIMS), _part(parts, _EVIDENCE)
    offered = next((each for each in _OFFERED if _offers(prompt, each)), None)
    if claim is None or evidence is None or offered is None:
        return None
    found = entail(_without_request(evidence, offered), _without_request(claim, offered))
    if found.entailed:
        return offered.follows
    return offered.contrary if found.contradiction > found.neutral else offered.open


def _parts(prompt: str) -> dict[str, str]:
    """Return the last text of each label that is not blank."""
    parts: dict[str, str] = {}
    labels = list(_LABEL.finditer(prompt))
    for place, label in enumerate(labels):
        end = labels[place + 1].start() if place + 1 < len(labels) else len(prompt)
        text = prompt[label.end() : end].strip()
        if text:
            parts[label[1].casefold()] = text
    return parts


def _without_request(text: str, offered: _Verdicts) -> str:
    """Return a text without a last paragraph that asks for the verdict."""
    *before, last = re.split(r"\n\s*\n", text)
    asks = _says(last, offered.follows) and _says(last, offered.open)
    return "\n\n".join(before) if before and asks else text


def _part(parts: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((parts[name] for name in names if name in parts), None)


def _offers(prompt: str, verdicts: _Verdicts) -> bool:
    return all(_says(prompt, word) for word in verdicts)


def _says(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) is not None
