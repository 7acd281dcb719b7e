"""What a model meant by its reply: a verdict, ratings, lists of numbered things.

Models wrap a verdict in Markdown, JSON or tags, put it first or last, and say it in many words. A reply
that says neither, or both and no more of one than of the other, is not parsed: nobody's verdict is
guessed.
"""

from __future__ import annotations

import json
import re

__all__ = ["parse_points", "parse_rating", "parse_topics", "parse_verdict"]

_YES = r"yes|true|1|consistent|factually consistent|supported|faithful|substantiated"
_NO = (
    r"no|false|0|inconsistent|factually inconsistent|not (?:factually )?consistent|unsupported|"
    r"not supported|unfaithful|not faithful|unsubstantiated|not substantiated"
)
_WORD = rf"(?:(?P<no>{_NO})|(?P<yes>{_YES}))"
_KEY = (
    r"answer|verdict|label|conclusion|judge?ment|decision|determination|evaluation|result|output|"
    r"consisten(?:t|cy)|factual(?:ly)? consisten(?:t|cy)|response|score"
)
_LABELLED = re.compile(
    rf"\b(?:{_KEY})\b[\"'*_`)\]]*\s*(?::|=|>|\bis\b:?|-)[\s\"'*_`(\[<]*(?:the (?:sentence|summary|claim) is )?"
    rf"{_WORD}(?![\w-])",
    re.IGNORECASE,
)
_FIRST = re.compile(
    # "No issues: it is consistent" does not begin with a verdict.
    rf"[\W_]*{_WORD}(?![\w-])(?=\s*(?:$|[^\w\s/]|(?:the|it|this|that|there|because|since|as|with)\b))",
    re.IGNORECASE,
)
_LINE = re.compile(rf"(?:[^:]{{0,40}}:)?[\W_]*{_WORD}[\W_]*", re.IGNORECASE)
_TAGS = re.compile(r"</?[a-z_]{1,30}>", re.IGNORECASE)
_NEGATED = r"(?:not|none|nothing|nowhere|n't|n’t|cannot be|never|neither|hardly|fails? to be|without being|no longer)"
_BORNE = (
    r"(?:consistent|supported|substantiated|faithful|accurate|entailed|backed(?: up)?|borne out|"
    r"grounded|mentioned|stated|verified|confirmed)"
)
_AGAINST = re.compile(
    rf"\b(?:partial(?:ly)?|partly|mostly|largely|somewhat|only)\s+(?:\w+\s+)?{_BORNE}\b|"
    rf"\b(?:in|un)(?:consistent|supported|substantiated|faithful|accurate|grounded|founded)\b|"
    rf"{_NEGATED}\s+(?:\w+\s+){{0,3}}{_BORNE}\b|\bno (?:mention|evidence|support)\b|\bcontradict(?:s|ed|ory)?\b|"
    r"\b(?:incorrect|misleading|hallucinat\w+|fabricat\w+|misrepresent\w+|misstate\w*|errors?)\b|"
    rf"{_NEGATED}\s+(?:match|align|agree|reflect|say|state|mention|support|appear)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    rf"{_NEGATED}\s+(?:\w+\s+){{0,2}}(?:in|un)(?:consistent|supported|substantiated|faithful|accurate)\b|"
    rf"\b(?:no|any|without) (?:\w+ )?(?:inconsistenc\w+|contradiction\w*|errors?|hallucination\w*|fabrication\w*)|{_NEGATED}\s+contradict",
    re.IGNORECASE,
)
_FOR = re.compile(
    rf"\b{_BORNE}\b|\b(?:supports|correct|correctly|accurately|matches|aligns|agrees)\b",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    r"\b(?:say|answer|respond|reply|conclude)(?: with| is| that it is)?:?\s+[\"'“*]*(?:(?P<yes>yes)|(?P<no>no))\b",
    re.IGNORECASE,
)
_TURNED = re.compile(
    r"\b(?:inconsisten(?:t|cy)|hallucinat(?:ed|ion)|unsupported|errors?)[\"'*_`]*\s*[:=]\s*[\"'*_`]*"
    r"(?:(?P<yes>yes|true|1)|(?P<no>no|none|false|0))\b",
    re.IGNORECASE,
)
_TURNED_KEY = re.compile(r"inconsisten|hallucinat|unsupported|error", re.IGNORECASE)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_ITEM = re.compile(r"^\s*(?:[-*•]\s+|\(?\d{1,3}[.):]\s*|topic\s+\d{1,3}\s*[.:]\s*)", re.IGNORECASE)
_SEGMENTS = re.compile(
    r"[\n;{}]+|,(?=\s?[\"']?(?:point )?\d)|(?:(?<=yes)|(?<=no))[.,]?\s(?=\s?\d)", re.IGNORECASE
)
_POINT = re.compile(
    r"[\s\"'*_`#(\-]{0,12}(?:(?:key )?point\s?)?(?P<number>\d{1,3})[\"'*_`]{0,4}\s?[.:)\]=\-–—]+(?P<said>.*)",
    re.IGNORECASE | re.DOTALL,
)
_SEPARATORS = re.compile(r"[:=–—→]|\s-\s|->")
_AT_END = re.compile(rf"\b{_WORD}\W*$", re.IGNORECASE)
_RATING = re.compile(
    r"(?<![\d.])(?P<value>\d{1,3}(?:\.\d+)?)(?:\s*(?:/|out of|of)\s*(?P<most>\d+))?"
)


def parse_verdict(reply: str) -> bool | None:
    r"""Return whether a reply says that a text is consistent; None where it does not say.

    The last labelled verdict wins (``Answer: No``), in words, JSON or tags; then a verdict that the
    reply begins with, or that is a line alone; then what its last telling sentence says.

    Example:
        >>> parse_verdict("Explanation: yes, he said so.\n**Answer:** No")
        False
        >>> parse_verdict("It is not inconsistent with the document."), parse_verdict("Hm.")
        (True, None)
    """
    tagged = re.search(
        rf"<(?P<tag>answer|label|verdict|result)>[\W_]*{_WORD}[\W_]*</(?P=tag)>",
        reply,
        re.IGNORECASE,
    )
    if tagged is not None:
        return tagged["no"] is None
    found = _in_json(reply)
    if found is not None:
        return found
    text = _TAGS.sub(" ", reply)
    turned = list(_TURNED.finditer(text))
    if turned:  # "Inconsistent: no"
        return turned[-1]["no"] is not None
    labelled = list(_LABELLED.finditer(text))
    if labelled:
        return labelled[-1]["no"] is None
    first = _FIRST.match(text)
    if first is not None:
        return first["no"] is None
    lines = [match for line in text.splitlines() if (match := _LINE.fullmatch(line))]
    if lines:
        return lines[-1]["no"] is None
    for sentence in reversed(_SENTENCES.split(text)):
        alone = _LINE.fullmatch(sentence) or _SPOKEN.search(sentence)
        if alone is not None:
            return alone["no"] is None
        said = _said(sentence)
        if said is not None:
            return said
    return None


def parse_points(reply: str, count: int) -> list[bool | None]:
    r"""Return, for points numbered from 1, what a reply says of each; None where it does not say.

    A point may be repeated before its verdict, which then stands after the last colon or dash, or at
    the end.

    Example:
        >>> parse_points("1: Yes\n2. no, not at all\n", 3)
        [True, False, None]
    """
    found: list[bool | None] = [None] * count
    for segment in _SEGMENTS.split(reply):
        match = _POINT.match(segment)
        if match is None or not 1 <= int(match["number"]) <= count:
            continue
        said = match["said"]
        verdict = (
            _FIRST.match(said)
            or _FIRST.match(_SEPARATORS.split(said)[-1])
            or _AT_END.search(said[-40:])
        )
        if verdict is not None:
            found[int(match["number"]) - 1] = verdict["no"] is None
    if count == 1 and found[0] is None:
        found[0] = parse_verdict(reply)
    return found


def parse_rating(reply: str, most: int = 5) -> int | None:
    """Return the rating from 1 to `most` that a reply gives; None where it gives none, or several.

    Example:
        >>> parse_rating("**4**/5"), parse_rating("Rating: 2 of 5."), parse_rating("4 or 5")
        (4, 2, None)
    """
    plain = re.sub(r"[*_`]", "", reply)
    labelled = re.findall(r"\b(?:rating|score|answer|relevance)\b\s*(?:is|:|=)\s*(.+)", plain, re.I)
    values = set()
    for match in _RATING.finditer(labelled[-1] if labelled else plain):
        value = float(match["value"])
        if (
            not value.is_integer()
            or not 1 <= value <= most
            or match["most"] not in (None, str(most))
        ):
            return None
        values.add(int(value))
        if labelled:
            break
    return values.pop() if len(values) == 1 else None


def parse_topics(reply: str, count: int) -> tuple[str, ...]:
    r"""Return the topics that a reply lists, at most `count`, each once.

    Where lines are numbered or bulleted those are the topics; otherwise each line is one.

    Example:
        >>> parse_topics("Here they are:\n1. **Rent**\n2) \"Taxes.\"\n3. Rent", 3)
        ('Rent', 'Taxes')
    """
    value = _json_value(reply)
    if isinstance(value, dict):
        value = next((each for each in value.values() if isinstance(each, list)), None)
    if isinstance(value, list):
        lines = [each for each in value if isinstance(each, str)]
    else:
        lines = [line for line in reply.splitlines() if line.strip()]
        lines = [line for line in lines if _ITEM.match(line)] or lines
    topics = (_ITEM.sub("", line).strip(" \t*_`\"'“”.,;").strip() for line in lines)
    unique: dict[str, str] = {}
    for topic in filter(None, topics):
        unique.setdefault(topic.casefold(), topic)
    return tuple(unique.values())[:count]


def _said(sentence: str) -> bool | None:
    """Return what a sentence of a reply says in its own words."""
    if sentence.rstrip().endswith("?"):
        return None
    denied = _DENIED.search(sentence) is not None
    rest = _DENIED.sub(" ", sentence)
    # What is against it decides: where a part is not borne out, the whole is not.
    if _AGAINST.search(rest):
        return None if denied else False
    return True if denied or _FOR.search(rest) else None


def _in_json(reply: str) -> bool | None:
    value = _json_value(reply)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    for name, said in value.items():
        turned = _TURNED_KEY.search(name) is not None
        if not (turned or re.search(rf"(?:^|[_ ])(?:{_KEY})(?:$|[_ ])", name, re.IGNORECASE)):
            continue
        if isinstance(said, bool):
            return said is not turned
        match = re.fullmatch(rf"[\W_]*{_WORD}[\W_]*", str(said), re.IGNORECASE)
        if match is not None:
            return (match["no"] is None) is not turned
    return None


def _json_value(reply: str) -> object:
    """Return the JSON that a reply is or fences; None where there is none."""
    start = min((at for at in (reply.find("{"), reply.find("[")) if at >= 0), default=-1)
    end = max(reply.rfind("}"), reply.rfind("]"))
    if not 0 <= start < end or end - start > 100_000:
        return None
    try:
        value: object = json.loads(reply[start : end + 1])
    except (ValueError, RecursionError):
        return None
    return value
