"""Reading what a language model replies to a judge's questions.

Models decorate: bold type, labels, reasons before or after. What is read is documented at each
function; what cannot be read is None, and never guessed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from semqa.attribution.judges.base import Span

if TYPE_CHECKING:
    from semqa.attribution.judges.models.labels import Relation

__all__ = ["read_questions", "read_span", "read_verdict"]

_VERDICTS: tuple[tuple[Relation, str], ...] = (
    (
        "neutral",
        r"neutral|(?:no|not|n't|never|cannot|without|neither)\s+(?:\w+\s+){0,2}?"
        r"(?:entail\w*|contradict\w*)|non-?entail\w*|undetermined|not enough information",
    ),
    ("contradiction", r"contradict\w*|refute[sd]?"),
    ("entailment", r"entail\w*"),
)
_ANY = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _VERDICTS), re.IGNORECASE)
_CONCLUSION = re.compile(
    r"(?:verdict|answer|label|relation(?:ship)?|conclusion|classification|decision)"
    r"(?:\s+is)?\W{0,4}[:=]?|\b(?:therefore|hence|thus|overall|so)\b,?",
    re.IGNORECASE,
)
_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_NONE = re.compile(r"(?:none|no answer|not answered|unanswerable|n/?a)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"^\s*(?:[-*•]|\(?[0-9]{1,2}[.):]|q(?:uestion)?\s*[0-9]*\s*[:.)])\s*", re.I)
_AROUND = " \t\n\"'“”‘’«»`*_"


def read_verdict(reply: str) -> Relation | None:
    """Return the relation that a reply names; None for no one, or several.

    A word on a line of its own at the beginning counts whatever follows it. Otherwise the first
    after the last “verdict:”, “answer is”, “therefore” and the like; otherwise all that are named
    must be the same. A denied word (“not entailed”) means neutral; “no contradiction” does as well.

    Example:
        >>> read_verdict("**Entailment**, for both say so."), read_verdict("It may be.")
        ('entailment', None)
    """
    text = _THINKING.sub("", reply).strip(_AROUND + "#:.")
    named = [(match.start(), match.lastgroup) for match in _ANY.finditer(text) if match.lastgroup]
    if not named:
        return None
    if named[0][0] == 0:
        return _relation(named[0][1])
    for conclusion in reversed(list(_CONCLUSION.finditer(text))):
        after = [name for at, name in named if at >= conclusion.end()]
        if after:
            return _relation(after[0])
    kinds = {name for _, name in named}
    return _relation(kinds.pop()) if len(kinds) == 1 else None


def _relation(name: str) -> Relation:
    return next(relation for relation, _ in _VERDICTS if relation == name)


def read_span(reply: str, passage: str) -> tuple[Span | None, bool]:
    """Return the span of a passage that a reply copies, and whether the reply could be read.

    The first line that is not blank counts, without a label and quotation marks. It is looked for as
    it is, then in whatever case and spacing; what is not in the passage is no answer that counts.

    Example:
        >>> read_span("Answer: “ann lee”.", "It was Ann Lee.")
        (Span(text='Ann Lee', start=7, end=14, score=1.0), True)
        >>> read_span("NONE", "It was Ann Lee.")
        (None, True)
    """
    text = _THINKING.sub("", reply).strip()
    text = text.splitlines()[0] if text else ""
    text = re.sub(r"^\W*answer\s*:\s*", "", text, flags=re.IGNORECASE).strip(_AROUND)
    if _NONE.match(text):
        return None, True
    for wanted in (text, text.strip(_AROUND + ".,;:!")):
        words = wanted.split()
        if not words:
            continue
        start = passage.find(wanted)
        if start >= 0:
            return Span(wanted, start, start + len(wanted), 1.0), True
        match = re.search(r"\s+".join(map(re.escape, words)), passage, re.IGNORECASE)
        if match is not None:
            return Span(match[0], match.start(), match.end(), 1.0), True
    return None, False


def read_questions(reply: str) -> list[str]:
    r"""Return the questions of a reply: its lines that end in a question mark, without numbers.

    Example:
        >>> read_questions("Sure!\n1. Who built it?\n2) When?")
        ['Who built it?', 'When?']
    """
    lines = (
        _NUMBERED.sub("", line).strip(_AROUND) for line in _THINKING.sub("", reply).splitlines()
    )
    return list(dict.fromkeys(line for line in lines if line.endswith(("?", "？"))))
