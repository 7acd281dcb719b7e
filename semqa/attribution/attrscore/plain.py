"""What a model wrote, as plain small letters: without markup, in one spelling of punctuation.

Knows no label: `mentions` finds those, `parsing` decides.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["plain"]

LONGEST = 20_000
"""Characters that are looked at: so long a text is cut in its middle, for verdicts are at ends."""

_MARKS: Final = str.maketrans(
    {
        **dict.fromkeys('"“”„‟«»‹›「」『』《》〈〉【】〔〕｢｣¿¡•·●▪✅❌✔✗☑✓✘❎☐', " "),
        **dict.fromkeys("‘’‚‛´`ʼ", "'"),
        **dict.fromkeys("。．｡।۔॥", "."),
        **dict.fromkeys("、，，،", ","),
        **dict.fromkeys("；؛", ";"),
        **dict.fromkeys("？؟⸮", "?"),
        **dict.fromkeys("–—―‒−⸺", "-"),
        **dict.fromkeys("→⇒➡⟶⟹", ":"),
        "：": ":",
        "！": "!",
        "ı": "i",
    }
)
_THOUGHT = re.compile(r"<(think|thinking|reasoning|scratchpad)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_STRUCK = re.compile(r"~~[^~\n]*~~|<(del|s)>[^<\n]*</\1>", re.IGNORECASE)
_OVER = re.compile(
    r"<\|?(?:endoftext|end_of_text|im_end|eot_id|end_of_turn|eos)\|?>|</s>", re.IGNORECASE
)
_TICK = re.compile(r"(?:\[[xX]\]|[✅✔✓☑])\ufe0f?")
_CROSS = re.compile(r"(?:\[ ?\]|[❌✗✘❎☐])\ufe0f?")
_BEFORE_MARK = re.compile(r"\s*(?:[-+*•] )?\s*")
_CROSSED_OUT = re.compile(rf"{_CROSS.pattern}(?:(?!{_TICK.pattern})[^\n])*")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)\w*[ \t]*$", re.MULTILINE)
_LINE_MARK = re.compile(r"^[ \t]*(?:#+|>+|[-+*])[ \t]+", re.MULTILINE)
_OPENING = re.compile(r"<([a-z][a-z _-]{0,30})>", re.IGNORECASE)
_CLOSING = re.compile(r"</[a-z][a-z _-]{0,30}>", re.IGNORECASE)
_BOXED = re.compile(r"\\f?boxed\s*\{?")
_COMMAND = re.compile(r"\\[a-zA-Z]+\s*\{?")


def plain(text: str) -> str:
    r"""Return a text in small letters, without markup, accents and quotation marks.

    Lines stay lines. What a model thought to itself (``<think>…</think>``) and what it struck out
    is left out where something else stands there; ``<label>x</label>`` and ``\boxed{x}`` become
    ``label: x`` and ``boxed: x``.

    Example:
        >>> plain("**Label**： Not-Enough_Information。")
        'label : not-enough information.'
    """
    if len(text) > LONGEST:
        text = text[: LONGEST // 2] + "\n" + text[-LONGEST // 2 :]
    text = unicodedata.normalize("NFKC", text.replace("\r\n", "\n").replace("\r", "\n"))
    for pattern in (_THOUGHT, _STRUCK):
        rest = pattern.sub(" ", text)
        text = rest if rest.strip() else text
    text = _over(text)
    text = _ticked(text)
    text = _FENCE.sub("", text)
    text = _LINE_MARK.sub("", text)
    text = _OPENING.sub(r"\n\1: ", text)
    text = _CLOSING.sub("\n", text)
    text = _COMMAND.sub(" ", _BOXED.sub("\nboxed: ", text))
    text = text.casefold().translate(_MARKS).replace("->", ":").replace("=>", ":")
    text = "".join(
        c
        for c in unicodedata.normalize("NFKD", text)
        if unicodedata.category(c) not in ("Mn", "Cf", "Me")
    ).translate(_MARKS)
    text = re.sub(r"[*_{}\[\]$|^~\\]+", " ", text)
    text = re.sub(r"[^\S\n]+", " ", text)
    return re.sub(r" ?\n\s*", "\n", text).strip()


def _over(text: str) -> str:
    """Return what stands before a token that ends a reply, where something does."""
    for end in _OVER.finditer(text):
        if text[: end.start()].strip():
            return text[: end.start()]
    return text


def _ticked(text: str) -> str:
    r"""Put a list of ticks and crosses in words; one kind alone is decoration.

    Example:
        >>> _ticked("A: ✗\nB: ✓"), _ticked("[ ] A\n[x] B")
        ('A: no\n\nB: yes\n', ' \n  B')
    """
    if not (_TICK.search(text) and _CROSS.search(text)):
        return text
    start = _BEFORE_MARK.match(text)
    place = start.end() if start else 0
    if _TICK.match(text, place) or _CROSS.match(text, place):
        return _TICK.sub(" ", _CROSSED_OUT.sub(" ", text))
    for mark, word in ((_TICK, "yes"), (_CROSS, "no")):
        text = re.sub(rf" ?[:=-]? ?{mark.pattern}", f": {word}\n", text)
    return text
