"""Parse what a language model replies to a judge's question; None means unparsed.

Nothing is guessed: a reply that states several verdicts, or none, is unparsed. Where the endpoint
supports it, replies are JSON (`verdict_schema`). In words, these are looked at in order:

1. JSON: the field that holds the verdict.
2. The last field in words: "Label: …", "the answer is …".
3. The first and the last sentence, if they begin with a verdict and do not differ.
4. The whole text. If parts of a claim fare differently, a contradiction outweighs what is open, and that
   outweighs support: *supported* means in full.

A relation that is denied ("not …", "un…", "fails to …"), asked or one of several options is not stated.
If all that is said is that the claim is not supported, or in part, the relation is neutral.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any, Final

from semqa.attribution.judges.base import Relation, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 20_000
"""Longer replies are cut in the middle, because verdicts stand at the ends."""

_NOUN = r"(?:info(?:rmation)?|evidence|context|details?|data)"
_SAY = r"(?:mention|state|say|specif|contain|includ|indicat|appear)\w*"

_WORST_FIRST: Final[tuple[Relation, ...]] = ("contradiction", "neutral", "entailment")
_SIGNS: Final[dict[str, tuple[Relation, str]]] = {
    # These contain their own negation, so nothing before them denies them.
    "open": (
        "neutral",
        rf"(?:not?|without|lacks?|lacking)[ -]+(?:[a-z]+[ -]+){{0,3}}?(?:enough|sufficient)"
        rf"(?:[ -]+{_NOUN})?|notenoughinfo(?:rmation)?|n\.?e\.?i|insufficient(?:ly)?(?: {_NOUN})?"
        r"|unverifiable|inconclusive|(?:can not|could not|impossible to|unable to|not) (?:be )?"
        r"(?:\w+ly )?(?:determine|infer|verif|confirm|conclu|deriv)\w*"
        rf"|(?:not|never|nowhere|nothing|neither) (?:\w+ ){{0,2}}?{_SAY}|(?:says?|states?) nothing"
        r"|no (?:mention|indication|basis)|go(?:es)? (?:beyond|further)",
    ),
    "false": (
        "contradiction",
        r"not (?:be )?(?:true|correct|accurate)|(?<![:=-] )false|incorrect|inaccurate|untrue",
    ),
    "neutral": ("neutral", r"extrapolat\w+|neutral|hallucinat\w+|fabricat\w+"),
    "contradiction": (
        "contradiction",
        r"contradict(?:s|ed|ory|ing|ions?)?|refut(?:es?|ed|ing)|opposite|inconsisten(?:t|cy|cies)"
        r"|errors?|misrepresents?",
    ),
    "entailment": (
        "entailment",
        r"attribut(?:able|ed)|entail(?:s|ed|ment|ing)?|support(?:s|ed|ive|ing)?|consistent|faithful"
        r"|follows? (?:\w+ ){0,2}from|true|correct|accurate(?:ly)?|confirm(?:s|ed)",
    ),
}
_PATTERNS: Final = {
    name: (relation, re.compile(rf"(?<![a-z])(?:{pattern})(?![a-z])"))
    for name, (relation, pattern) in _SIGNS.items()
}

_BOUNDARY: Final = re.compile(
    r"[,;:!?\n()]|\.(?= |$)| - |\b(?:but|and|because|since|however|although|though|while|whereas|so"
    r"|therefore|thus|hence|yet|which)\b"
)
_DENIES: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|neither|nor|without|hardly|lacks?|lacking|fail(?:s|ed)?|unable"
    r"|rather than|instead of|far from|partial|partially|partly|mostly|only)\b"
)
_DENIES_NOTHING: Final = re.compile(
    r"\bnot (?:only|not)\b|\b(?:no|without(?: an?| any)?) (?:doubt|question)\b"
)
_DENIED_AFTER: Final = re.compile(
    r"(?: for [a-z ]{1,30})? is (?:lacking|missing|wrong)\b| nothing\b"
    r"| (?:only )?(?:partially|partly|part of|half of|the (?:first|second))\b"
)
_ASKED: Final = re.compile(r"\b(?:whether|if|either|to be|may|might)\b")
_PARTLY: Final = re.compile(r"\b(?:partial|partially|partly|mostly)\b")
_OPTIONS: Final = re.compile(r"\b(?:or|over|than)\b|/|^\W*\w+(?:\W+\w+)?\W*$")
_TOLD: Final = re.compile(r" ?[:=-]+ ?(?P<reply>yes|no|true|false)(?=\s*(?:$|[.,;:)\n]))")
_SENTENCE_END: Final = re.compile(r"[.!?;](?=\s|$)|\n")
_QUESTION: Final = re.compile(r"(?:\A|(?<=[.!?\n]))[^.!?\n]*\?")  # anchored: linear in time
_NEXT_EXAMPLE: Final = re.compile(
    r"\n(?:input|claim|hypothesis|premise|summary|source|reference|question) ?:"
)
_FIELD: Final = re.compile(
    r"\b(?:answer|label|verdict|judge?ment|classification|conclusion|relation(?:ship)?|decision|result"
    r"|category|rating|assessment|evaluation|consistency|option|output|therefore|thus|hence|final"
    r"|boxed|score)(?: \w+){0,2}? ?(?:\b(?:is|would be|should be|must be)\b ?:?|[:=>,-])\s*"
)
_YES_NO: Final = re.compile(
    r"\W*(?P<said>yes|no|true|false|1|0)\b(?=\s*(?:$|[^\w\s/]|(?:the|it|this|that|because|since|as)\b))"
)
_LEAD: Final = re.compile(
    r"(?:(?:it|this|claim|sentence|summary|statement|is|an?|the|fully|i|would|say)\b|\W)*"
)


def read_relation(reply: str) -> Relation | None:
    """Return how a reply says that a claim stands to its source; None if it does not say.

    Example:
        >>> read_relation("It is not attributable; it is contradictory.")
        'contradiction'
        >>> read_relation("It is not attributable."), read_relation("Yes, or no.")
        ('neutral', None)
    """
    return _read(reply, yes_no=False)


def read_consistency(reply: str) -> bool | None:
    """Return whether a reply says that a text is consistent with its source; None if unparsed.

    "Yes" and "No" answer the question "Is it consistent?", unless what follows says otherwise.

    Example:
        >>> read_consistency("No"), read_consistency("Yes, there is an inconsistency.")
        (False, False)
    """
    found = _read(reply, yes_no=True)
    return None if found is None else found == "entailment"


def _read(reply: str, *, yes_no: bool) -> Relation | None:
    value = _json_value(reply)
    if isinstance(value, dict):
        text = _plain(_verdict_in(value) or "")
        return _verdict(text, text, yes_no=yes_no)
    text = _plain(reply)
    text = _QUESTION.sub(" ", _NEXT_EXAMPLE.split(text)[0] or text)
    if re.search(r"\b(?:wait|correction)\b", text):
        return None
    fields = [_first_sentence(text[field.end() :]) for field in _FIELD.finditer(text)]
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
    ends = [part for part in (*sentences[:1], *sentences[-1:]) if _begins_with_verdict(part)]
    for pieces in (fields[-1:], ends, [text]):
        found = {_verdict(piece, text, yes_no=yes_no) for piece in pieces} - {None}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _first_sentence(text: str) -> str:
    return _SENTENCE_END.split(text)[0]


def _begins_with_verdict(sentence: str) -> bool:
    lead = _LEAD.match(sentence)
    at = lead.end() if lead else 0
    signs = (pattern for _, pattern in _PATTERNS.values())
    return bool(_YES_NO.match(sentence)) or any(sign.match(sentence, at) for sign in signs)


def _verdict(piece: str, text: str, *, yes_no: bool) -> Relation | None:
    """Return what a piece of a text states."""
    if yes_no and (found := _of_yes(piece)) is not None:
        return found
    said, denied = _signs(piece)
    if len(said) > 1:
        mixed = len(said) == 2 and not _OPTIONS.search(piece)
        return next(each for each in _WORST_FIRST if each in said) if mixed else None
    if said:
        return said.pop()
    if denied == {"entailment"}:
        return "contradiction" if "contradiction" in _signs(text)[0] else "neutral"
    left = set(_WORST_FIRST) - denied
    if len(left) == 1:
        return left.pop()
    return "entailment" if yes_no and denied == {"contradiction"} else None


def _of_yes(text: str) -> Relation | None:
    """Return what "yes" or "no" at the beginning means, unless the rest of the sentence objects."""
    match = _YES_NO.match(text)
    if match is None:
        return None
    said, denied = _signs(_first_sentence(text[match.end() :]))
    if match["said"] in ("yes", "true", "1"):
        if "contradiction" in said:
            return "contradiction"  # "Yes, there is an inconsistency."
        return "neutral" if "entailment" in denied or _PARTLY.search(text) else "entailment"
    favourable = said <= {"entailment"} and denied <= {"contradiction"} and said | denied
    return "entailment" if favourable else "neutral"  # "No, there is no inconsistency."


def _signs(text: str) -> tuple[set[Relation], set[Relation]]:
    """Return the relations that a text states, and those that it only denies."""
    said: set[Relation] = set()
    denied: set[Relation] = set()
    taken: list[tuple[int, int]] = []
    for name, (relation, pattern) in _PATTERNS.items():
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < stop and begin < end for begin, stop in taken):
                continue
            taken.append((start, end))
            bounds = [each.end() for each in _BOUNDARY.finditer(text, max(0, start - 100), start)]
            clause = text[max([0, start - 100, *bounds]) : start]
            if _ASKED.search(clause):
                continue
            told = _TOLD.match(text, end)
            negative = name not in ("open", "false") and (
                _DENIES.search(_DENIES_NOTHING.sub(" ", clause)) is not None
                or _DENIED_AFTER.match(text, end) is not None
            )
            if told:
                taken.append(told.span())
                negative ^= told["reply"] in ("no", "false")
            (denied if negative else said).add(relation)
    return said, denied - said


_THOUGHT: Final = re.compile(
    r"<(think|thinking|reasoning|scratchpad)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_NEGATIVE_WORD: Final = re.compile(
    r"\b(?:un|non|mis|not)-?"
    r"(?=attribut|support|faithful|substantiat|verified|entail|contradict|refut|confirmed)"
)
_MARKS: Final = str.maketrans(
    {
        **dict.fromkeys('"“”„«»「」【】¿¡*`_#>{}[]$\\', " "),
        **dict.fromkeys("‘’ʼ", "'"),
        **dict.fromkeys("–—", "-"),
        "。": ".",
        "？": "?",
    }
)


def _plain(text: str) -> str:
    r"""Return a reply in small letters, without markup, thoughts, quotation marks and contractions.

    Example:
        >>> _plain("**Label**: It isn't Un-Supported。")
        'label : it is not not supported.'
    """
    if len(text) > _LONGEST:
        text = text[: _LONGEST // 2] + "\n" + text[-_LONGEST // 2 :]
    text = _THOUGHT.sub(" ", html.unescape(text)).partition("<|endoftext|>")[0]
    text = re.sub(r"</\w+>", "\n", text)
    text = re.sub(r"<(\w+)>", r"\n\1: ", text)
    text = re.sub(r"^[ \t]*(?:[-+*]|\(?[0-9a-c][.)])[ \t]+", "", text, flags=re.MULTILINE)
    text = unicodedata.normalize("NFKC", text).casefold().translate(_MARKS)
    text = re.sub(r"n't\b", " not", text).replace("cannot", "can not")
    text = re.sub(r", in my (?:view|opinion),", "", text)
    text = _NEGATIVE_WORD.sub("not ", text)
    text = re.sub(r"[^\S\n]+", " ", text)
    return re.sub(r" ?\n\s*", "\n", text).strip()


_VERDICT_FIELDS: Final = (
    r"(?:\w+[ _-])?(?:label|verdict|relation(?:ship)?|consisten(?:t|cy))",
    r"(?:\w+[ _-])?(?:classification|judge?ment|result|answer)",
)
"""Names of the field that holds a verdict, the likeliest first."""


def verdict_schema(field: str, words: Sequence[str], *, explained: bool = False) -> dict[str, Any]:
    """Return the JSON schema of a reply: a verdict in a field, and perhaps an explanation after it."""
    properties: dict[str, Any] = {field: {"type": "string", "enum": list(words)}}
    if explained:
        properties["explanation"] = {"type": "string"}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _json_value(reply: str) -> object:
    """Return the JSON object in a reply, or None."""
    text = _THOUGHT.sub(" ", reply)
    start, end = text.find("{"), text.rfind("}")
    try:
        return json.loads(text[start : end + 1]) if start < end else None
    except (ValueError, RecursionError):
        return None


def _verdict_in(fields: dict[str, Any]) -> str | None:
    """Return the text of the field that holds a verdict, or else all fields that say yes or no."""
    for pattern in _VERDICT_FIELDS:
        for name, value in fields.items():
            if not re.fullmatch(pattern, name.strip(), re.IGNORECASE):
                continue
            if isinstance(value, dict):
                return _verdict_in(value)
            if isinstance(value, bool | int):
                return "yes" if value else "no"
            return value if isinstance(value, str) else None
    words = {True: "yes", False: "no", "yes": "yes", "no": "no"}
    flags = [
        f"{name}: {words[value]}"
        for name, value in fields.items()
        if isinstance(value, bool | str) and value in words
    ]
    return ". ".join(flags)


_NO_ANSWER: Final = re.compile(
    r"(?:none|no answer|not answered|unanswerable|n/?a)\b", re.IGNORECASE
)
_ITEM: Final = re.compile(
    r"^\s*(?:[-*•]\s*|\(?[0-9]{1,3}[.):]\s*|q(?:uestion)?\s*[0-9]*\s*[:.)]\s*)", re.IGNORECASE
)
_RATING: Final = re.compile(
    r"(?<![\d.])(?P<value>\d{1,3}(?:\.\d+)?)(?:\s*(?:/|out of|of)\s*(?P<most>\d+))?"
)
_AROUND: Final = " \t\n\"'“”‘’«»`*_.,;"


def read_span(reply: str, passage: str) -> tuple[Span | None, bool]:
    """Return the span of a passage that a reply copies, and whether the reply could be parsed.

    The first line counts, without its label and quotation marks. Case and white space may differ from
    the passage.

    Example:
        >>> read_span("Answer: “ann lee”.", "It was Ann Lee.")
        (Span(text='Ann Lee', start=7, end=14, score=1.0), True)
        >>> read_span("NONE", "It was Ann Lee.")
        (None, True)
    """
    lines = _THOUGHT.sub("", reply).strip().splitlines()
    text = re.sub(r"^\W*answer\s*:\s*", "", lines[0] if lines else "", flags=re.IGNORECASE)
    text = text.strip(" \t\"'“”‘’«»`*_")
    if _NO_ANSWER.match(text):
        return None, True
    for wanted in (text, text.strip(_AROUND + ":!")):
        if not (words := wanted.split()):
            continue
        start = passage.find(wanted)
        if start >= 0:
            return Span(wanted, start, start + len(wanted), 1.0), True
        match = re.search(r"\s+".join(map(re.escape, words)), passage, re.IGNORECASE)
        if match is not None:
            return Span(match[0], match.start(), match.end(), 1.0), True
    return None, False


def read_questions(reply: str) -> list[str]:
    r"""Return the lines of a reply that end in a question mark, without their numbers.

    Example:
        >>> read_questions("Sure!\n1. Who built it?\n2) When?")
        ['Who built it?', 'When?']
    """
    lines = (_ITEM.sub("", line).strip(_AROUND) for line in _THOUGHT.sub("", reply).splitlines())
    return list(dict.fromkeys(line for line in lines if line.endswith(("?", "？"))))


def read_rating(reply: str) -> int | None:
    """Return the one rating from 1 to 5 that a reply gives, or None.

    Example:
        >>> read_rating("**4**/5"), read_rating("Rating: 2 of 5."), read_rating("4 or 5")
        (4, 2, None)
    """
    plain = re.sub(r"[*_`]", "", reply)
    labelled = re.findall(
        r"\b(?:rating|score|answer|relevance)\b\W{0,3}(?:is|:|=)\s*(.+)", plain, re.IGNORECASE
    )
    values = set()
    for match in _RATING.finditer(labelled[-1] if labelled else plain):
        value = float(match["value"])
        if not value.is_integer() or not 1 <= value <= 5 or match["most"] not in (None, "5"):
            return None
        values.add(int(value))
        if labelled:
            break
    return values.pop() if len(values) == 1 else None
