"""Parse a language model's reply to a judge's prompt; None means unparsed.

The parser never guesses: a reply without a verdict, or with several, is unparsed. If the endpoint
supports it, replies are JSON (`verdict_schema`). The verdict is the first one found in:

1. JSON: the verdict field.
2. The last labelled field of plain text: "Label: …", "the answer is …".
3. The first and the last sentence, if they begin with a verdict and agree.
4. The whole text. If it has different verdicts for parts of a claim, contradiction takes precedence
   over neutral, and neutral over entailment: *supported* means fully supported.

A relation does not count as stated if it is negated ("not …", "un…", "fails to …"), part of a
question, or one of several options. If a reply only says that the claim is not supported, or only
partly, the relation is neutral.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

from semqa.attribution.judges.base import Relation, Span

_MAX_CHARACTERS = 20_000
"""Longer replies are cut in the middle, because verdicts are at the beginning or the end."""

_NOUN = r"(?:info(?:rmation)?|evidence|context|details?|data)"
_STATES = r"(?:mention|state|say|specif|contain|includ|indicat|appear|address|discuss)\w*"
_CLAIM = r"(?:claim|hypothesis|statement|sentence|summary|answer)"
_SOURCE = (
    r"(?:reference|source|document|premise|evidence|text|passage|context|dialogue|transcript"
    r"|conversation|interview|meeting)"
)

_WORST_FIRST: Final[tuple[Relation, ...]] = ("contradiction", "neutral", "entailment")
_RELATION_PATTERNS: Final[dict[str, tuple[Relation, str]]] = {
    # These contain a negation, so a negation before them does not count.
    "open": (
        "neutral",
        rf"(?:not?|without|lacks?|lacking)[ -]+(?:[a-z]+[ -]+){{0,3}}?(?:enough|sufficient)"
        rf"(?:[ -]+{_NOUN})?|notenoughinfo(?:rmation)?|n\.?e\.?i|insufficient(?:ly)?(?: {_NOUN})?"
        r"|unverifiable|inconclusive|(?:can not|could not|impossible to|unable to|not) (?:be )?"
        r"(?:\w+ly )?(?:determine|infer|verif|confirm|conclu|deriv)\w*"
        rf"|(?:not|never|nowhere|nothing|neither) (?:\w+ ){{0,2}}?{_STATES}|(?:says?|states?) nothing"
        r"|no (?:mention|indication|basis)(?! of (?:any )?(?:error|inconsist|contradict))|go(?:es)? (?:beyond|further)"
        rf"|no evidence (?:in (?:the|this) \w+ )?for (?:it|that|(?:this|the) {_CLAIM})"
        rf"|not (?:be )?(?:found|present|in) (?:anywhere )?(?:in )?(?:the|this) {_SOURCE}"
        rf"|nothing in (?:the|this) {_SOURCE} about|silent (?:on|about)|impossible to (?:tell|know|say)|(?:lacks?|lacking) (?:the |any )?{_NOUN}|leaves? (?:it|this|that) open",
    ),
    "false": (
        "contradiction",
        r"not (?:be )?(?:true|correct|accurate)|can not both be|(?<![:=-] )false|incorrect|inaccurate|untrue",
    ),
    "neutral": (
        "neutral",
        r"extrapolat\w+|neutral|hallucinat\w+|fabricat\w+|(?:is|are) made up|invents|overstates|exaggerates",
    ),
    "contradiction": (
        "contradiction",
        r"contradict(?:s|ed|ory|ing|ions?)?|refut(?:es?|ed|ing)|disprov(?:es?|ed)|opposite|inconsisten(?:t|cy|cies)"
        r"|errors?|misrepresents?|misattributes|misquotes|mixes up|wrongly|conflicts? with|at odds with"
        rf"|counter to|(?:(?:{_CLAIM}|it|this|that) is|it's) wrong",
    ),
    "entailment": (
        "entailment",
        r"attribut(?:able|ed)|entail(?:s|ed|ment|ing)?|impl(?:y|ies)|support(?:s|ed|ive|ing)?|consistent|faithful"
        r"|follows? (?:\w+ ){0,2}from|true|correct|accurate(?:ly)?|confirm(?:s|ed)|verif(?:ies|ied)"
        r"|backs?(?: up)? (?:the|this|that|it)|backed (?:up )?by|substantiat(?:es?|ed)|inferred from|grounded in|traced back to|bears? (?:it )?out"
        rf"|states the {_CLAIM}|(?:all|each|every(?:thing)?)[\w ]{{1,30}} (?:is|are|be) (?:stated|found)",
    ),
}
_PATTERNS: Final = {
    name: (relation, re.compile(rf"(?<![a-z])(?:{pattern})(?![a-z])"))
    for name, (relation, pattern) in _RELATION_PATTERNS.items()
}

_BOUNDARY: Final = re.compile(
    r"[,;:!?\n()]|\.(?= |$)| - |\b(?:but|and|because|since|however|although|though|while|whereas|so"
    r"|therefore|thus|hence|yet|which)\b"
)
_NEGATION: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|neither|nor|without|hardly|lacks?|lacking|fail(?:s|ed)?|unable"
    r"|rather than|instead of|far from|partial|partially|partly|mostly|only)\b"
)
_NOT_NEGATION: Final = re.compile(
    r"\bnot (?:only|not)\b|\b(?:no|without(?: an?| any)?) (?:doubt|question)\b"
)
_NEGATION_AFTER: Final = re.compile(
    r"(?: for [a-z ]{1,30})? is (?:lacking|missing|wrong)\b| nothing\b"
    r"| (?:only )?(?:partially|partly|part of|half of|the (?:first|second))\b"
)
_ASKED: Final = re.compile(r"\b(?:whether|if|either|to be|may|might)\b")
_PARTLY: Final = re.compile(r"\b(?:partial|partially|partly|mostly)\b")
_OPTIONS: Final = re.compile(r"\b(?:or|over|than)\b|/|^\W*\w+(?:\W+\w+)?\W*$")
_ANSWERED: Final = re.compile(r" ?[:=-]+ ?(?P<reply>yes|no|true|false)(?=\s*(?:$|[.,;:)\n]))")
_SENTENCE_END: Final = re.compile(r"[.!?;](?=\s|$)|\n")
_QUESTION: Final = re.compile(r"(?:\A|(?<=[.!?\n]))[^.!?\n]*\?")  # anchored: linear in time
_NEXT_EXAMPLE: Final = re.compile(
    r"\n(?:input|claim|hypothesis|premise|summary|source|reference|question) ?:"
)
_NO_VERDICT: Final = re.compile(
    r"\b(?:wait|correction|please provide|(?:without|not have) access"
    rf"|without (?:(?:seeing|reading) )?(?:the|this|any) (?:\w+ )?{_SOURCE})\b"
)
"""Signs of a reply that changes its mind, or that did not have the source."""
_FIELD: Final = re.compile(
    r"\b(?:answer|label|verdict|judge?ment|classification|conclusion|relation(?:ship)?|decision|result"
    r"|category|rating|assessment|evaluation|consistency|option|output|therefore|thus|hence|final"
    r"|boxed|score)(?: \w+){0,2}? ?(?:\b(?:is|would be|should be|must be)\b ?:?|[:=>,-])\s*"
)
_YES_NO: Final = re.compile(
    r"\W*(?:i(?: would|'d) (?:say|answer):? )?(?P<stated>yes|no|true|false|1|0)\b(?=\s*(?:$|[^\w\s/]|(?:the|it|this|that|because|since|as)\b))"
)
_LEAD: Final = re.compile(
    r"(?:(?:it|this|claim|sentence|summary|statement|is|an?|the|fully|i|would|say)\b|\W)*"
)


def read_relation(reply: str) -> Relation | None:
    """Return the relation of a claim to its source that a reply states; None if unparsed.

    Example:
        >>> read_relation("It is not attributable; it is contradictory.")
        'contradiction'
        >>> read_relation("It is not attributable."), read_relation("Yes, or no.")
        ('neutral', None)
    """
    return _read(reply, yes_no=False)


def read_consistency(reply: str) -> bool | None:
    """Return whether a reply says that a text is consistent with its source; None if unparsed.

    "Yes" and "No" answer the question "Is it consistent?", unless the text after them disagrees.

    Example:
        >>> read_consistency("No"), read_consistency("Yes, there is an inconsistency.")
        (False, False)
    """
    found = _read(reply, yes_no=True)
    return None if found is None else found == "entailment"


def _read(reply: str, *, yes_no: bool) -> Relation | None:
    value = _json_value(reply)
    if isinstance(value, dict):
        text = _normalise(_verdict_in(value) or "")
        return _verdict(text, text, yes_no=yes_no)
    text = _QUESTION.sub(" ", _before_next_example(_normalise(reply)))
    if _NO_VERDICT.search(text):
        return None
    fields = [_first_sentence(text[field.end() :]) for field in _FIELD.finditer(text)]
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
    ends = [part for part in (*sentences[:1], *sentences[-1:]) if _begins_with_verdict(part)]
    for pieces in (fields[-1:], ends, [text]):
        found = {_verdict(piece, text, yes_no=yes_no) for piece in pieces} - {None}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _before_next_example(text: str) -> str:
    """Cut off an example that the model makes up after its verdict, but not the task that it repeats."""
    first = _NEXT_EXAMPLE.split(text)[0]
    return first if any(_find_relations(first)) or _YES_NO.match(first) else text


def _first_sentence(text: str) -> str:
    return _SENTENCE_END.split(text)[0]


def _begins_with_verdict(sentence: str) -> bool:
    lead = _LEAD.match(sentence)
    at = lead.end() if lead else 0
    patterns = (pattern for _, pattern in _PATTERNS.values())
    return bool(_YES_NO.match(sentence)) or any(sign.match(sentence, at) for sign in patterns)


def _verdict(piece: str, text: str, *, yes_no: bool) -> Relation | None:
    if yes_no and (found := _read_yes_no(piece)) is not None:
        return found
    stated, negated = _find_relations(piece)
    if len(stated) > 1:
        mixed = len(stated) == 2 and not _OPTIONS.search(piece)
        return next(each for each in _WORST_FIRST if each in stated) if mixed else None
    if stated:
        return stated.pop()
    if negated == {"entailment"}:
        return "contradiction" if "contradiction" in _find_relations(text)[0] else "neutral"
    left = set(_WORST_FIRST) - negated
    if len(left) == 1:
        return left.pop()
    return "entailment" if yes_no and negated == {"contradiction"} else None


def _read_yes_no(text: str) -> Relation | None:
    """Return the verdict of an initial "yes" or "no", corrected by the rest of the sentence."""
    match = _YES_NO.match(text)
    if match is None:
        return None
    stated, negated = _find_relations(_first_sentence(text[match.end() :]))
    if match["stated"] in ("yes", "true", "1"):
        if "contradiction" in stated:
            return "contradiction"  # "Yes, there is an inconsistency."
        return "neutral" if "entailment" in negated or _PARTLY.search(text) else "entailment"
    favourable = stated <= {"entailment"} and negated <= {"contradiction"} and stated | negated
    return "entailment" if favourable else "neutral"  # "No, there is no inconsistency."


def _find_relations(text: str) -> tuple[set[Relation], set[Relation]]:
    """Return the relations that a text states, and those that it only negates."""
    stated: set[Relation] = set()
    negated: set[Relation] = set()
    used: list[tuple[int, int]] = []
    for name, (relation, pattern) in _PATTERNS.items():
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < stop and begin < end for begin, stop in used):
                continue
            used.append((start, end))
            bounds = [each.end() for each in _BOUNDARY.finditer(text, max(0, start - 100), start)]
            clause = text[max([0, start - 100, *bounds]) : start]
            if _ASKED.search(clause):
                continue
            answered = _ANSWERED.match(text, end)
            negative = name not in ("open", "false") and (
                _NEGATION.search(_NOT_NEGATION.sub(" ", clause)) is not None
                or _NEGATION_AFTER.match(text, end) is not None
            )
            if answered:
                used.append(answered.span())
                negative ^= answered["reply"] in ("no", "false")
            (negated if negative else stated).add(relation)
    return stated, negated - stated


_REASONING: Final = re.compile(
    r"<(think|thinking|reasoning|scratchpad)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_NEGATIVE_WORD: Final = re.compile(
    r"\b(?:un|non|mis|not)-?"
    r"(?=attribut|support|faithful|substantiat|verified|entail|contradict|refut|confirmed)"
)
_CHARACTERS: Final = str.maketrans(
    {
        **dict.fromkeys('"“”„«»「」【】¿¡*`_#>{}[]$\\', " "),
        **dict.fromkeys("‘’ʼ", "'"),
        **dict.fromkeys("–—", "-"),
        "。": ".",
        "？": "?",
    }
)


def _normalise(text: str) -> str:
    r"""Normalise a reply: lower case; no markup, reasoning, quotation marks or contractions.

    Example:
        >>> _normalise("**Label**: It isn't Un-Supported。")
        'label : it is not not supported.'
    """
    if len(text) > _MAX_CHARACTERS:
        text = text[: _MAX_CHARACTERS // 2] + "\n" + text[-_MAX_CHARACTERS // 2 :]
    text = _REASONING.sub(" ", html.unescape(text)).partition("<|endoftext|>")[0]
    text = re.sub(r"</\w+>", "\n", text)
    text = re.sub(r"<(\w+)>", r"\n\1: ", text)
    text = re.sub(r"^[ \t]*(?:[-+*]|\(?[0-9a-c][.)])[ \t]+", "", text, flags=re.MULTILINE)
    text = unicodedata.normalize("NFKC", text).casefold().translate(_CHARACTERS)
    text = re.sub(r"n't\b", " not", text).replace("cannot", "can not")
    text = re.sub(r", in my (?:view|opinion),", "", text)
    text = _NEGATIVE_WORD.sub("not ", text)
    text = re.sub(r"[^\S\n]+", " ", text)
    return re.sub(r" ?\n\s*", "\n", text).strip()


_VERDICT_FIELDS: Final = (
    r"(?:\w+[ _-])?(?:label|verdict|relation(?:ship)?|consisten(?:t|cy))",
    r"(?:\w+[ _-])?(?:classification|judge?ment|result|answer)",
)
"""Patterns for the name of the verdict field, most likely first."""


def verdict_schema(field: str, words: Sequence[str], *, explained: bool = False) -> dict[str, Any]:
    """Return the JSON schema of a reply: a verdict and, if `explained`, an explanation."""
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
    text = _REASONING.sub(" ", reply)
    start, end = text.find("{"), text.rfind("}")
    try:
        return json.loads(text[start : end + 1]) if start < end else None
    except (ValueError, RecursionError):
        return None


def _verdict_in(fields: dict[str, Any]) -> str | None:
    """Return the text of the verdict field, or else the names and values of all yes/no fields."""
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
_SURROUNDING: Final = " \t\n\"'“”‘’«»`*_.,;"


def read_span(reply: str, passage: str) -> tuple[Span | None, bool]:
    """Return the span of a passage that a reply copies, and whether the reply was parsed.

    Only the first line counts, without its label and quotation marks. Its case and white space may
    differ from the passage.

    Example:
        >>> read_span("Answer: “ann lee”.", "It was Ann Lee.")
        (Span(text='Ann Lee', start=7, end=14, score=1.0), True)
        >>> read_span("NONE", "It was Ann Lee.")
        (None, True)
    """
    lines = _REASONING.sub("", reply).strip().splitlines()
    text = re.sub(r"^\W*answer\s*:\s*", "", lines[0] if lines else "", flags=re.IGNORECASE)
    text = text.strip(" \t\"'“”‘’«»`*_")
    if _NO_ANSWER.match(text):
        return None, True
    for quoted in (text, text.strip(_SURROUNDING + ":!")):
        if not (words := quoted.split()):
            continue
        start = passage.find(quoted)
        if start >= 0:
            return Span(quoted, start, start + len(quoted), 1.0), True
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
    lines = (
        _ITEM.sub("", line).strip(_SURROUNDING) for line in _REASONING.sub("", reply).splitlines()
    )
    return list(dict.fromkeys(line for line in lines if line.endswith(("?", "？"))))


def read_rating(reply: str) -> int | None:
    """Return the rating from 1 to 5 that a reply gives; None if unparsed or ambiguous.

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
