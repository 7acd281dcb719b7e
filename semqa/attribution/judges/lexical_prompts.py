"""Prompts that the lexical judge can answer: those that ask how one labelled text stands to another.

It reads what the prompt labels at the beginnings of lines (``Claim:``, ``Reference:`` and the like),
compares the two by words, and says the verdict in the first known set of words that the prompt
offers for it. The last text of each label counts, for the earlier ones are examples.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from semqa.attribution.judges.base import Entailment

__all__ = ["judge_prompt"]

_LABEL = re.compile(r"^[ \t>#*-]*([A-Z][A-Za-z]*(?: [A-Za-z]+){0,2})(?: [0-9]+)?[ *]*:[ *]*", re.M)
_CLAIMS = ("claim", "hypothesis", "statement", "sentence", "answer", "response", "summary")
_EVIDENCE = (
    "reference", "premise", "evidence", "context", "document", "source", "passage", "article",
    "knowledge", "text",
)  # fmt: skip
_SHOWN = 60


class _Verdicts(NamedTuple):
    """Words that a prompt offers: for what follows, what does not, and what is contradicted."""

    follows: str
    open: str
    contrary: str


_OFFERED = (
    _Verdicts("Attributable", "Extrapolatory", "Contradictory"),
    _Verdicts("Entailment", "Neutral", "Contradiction"),
    _Verdicts("Supports", "Not Enough Information", "Refutes"),
    _Verdicts("Supported", "Not Enough Information", "Refuted"),
    _Verdicts("Support", "Not Enough Information", "Contradict"),
    _Verdicts("Consistent", "Inconsistent", "Inconsistent"),
    _Verdicts("Supported", "Unsupported", "Unsupported"),
    _Verdicts("Supported", "Not supported", "Not supported"),
    _Verdicts("Yes", "No", "No"),
    _Verdicts("True", "False", "False"),
    _Verdicts("1", "0", "0"),
)


def judge_prompt(prompt: str, entail: Callable[[str, str], Entailment]) -> str:
    r"""Return the verdict that a prompt asks for.

    Args:
        prompt: the prompt.
        entail: says how a hypothesis stands to a premise, in this order of arguments: premise first.

    Raises:
        InputError: the prompt asks for no such verdict.

    Example:
        >>> from semqa.attribution.judges import Entailment
        >>> judge_prompt(
        ...     "Yes or No?\nClaim: It is red.\nReference: It is red.",
        ...     lambda premise, hypothesis: Entailment(0.9, 0.1, 0.0))
        'Yes'
    """
    parts = _parts(prompt)
    claim, evidence = _part(parts, _CLAIMS), _part(parts, _EVIDENCE)
    offered = next((each for each in _OFFERED if _offers(prompt, each)), None)
    if claim is None or evidence is None or offered is None:
        shown = " ".join(prompt.split())
        raise InputError(
            "judge lexical: cannot write: got the prompt "
            f"{shown[:_SHOWN] + '…' if len(shown) > _SHOWN else shown!r}, expected one that labels "
            "a claim and its reference and offers verdicts; choose a judge with a language model, "
            "such as engine:transformers:MODEL"
        )
    found = entail(evidence, claim)
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
            parts[label[1].casefold().split()[-1]] = text
    return parts


def _part(parts: dict[str, str], names: tuple[str, ...]) -> str | None:
    return next((parts[name] for name in names if name in parts), None)


def _offers(prompt: str, verdicts: _Verdicts) -> bool:
    return all(re.search(rf"\b{re.escape(word)}\b", prompt, re.IGNORECASE) for word in verdicts)
