"""Where a text speaks of a label, and whether it says that it is so, that it is not, or neither.

Source: the label words are those of Yue et al. 2023; which inflections and paraphrases count, and
what negates them, is ours and stands in the tables below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.attrscore.label import Label

__all__ = ["Mention", "Stance", "find_mentions"]

Stance = Literal["said", "denied", "named"]
"""The text says so, says that it is not so, or only names the label (a list of options)."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A label word in a text.

    Attributes:
        tier: 1 for the words of the prompt's own family, 2 for those of the others, 3 for
            paraphrases.
        verb: whether it tells of a part ("supports that …") rather than naming the verdict.
        hedged: whether it is said to seem so.
    """

    start: int
    end: int
    label: Label
    tier: int
    stance: Stance
    verb: bool
    hedged: bool


_NOUN = r"(?:info(?:rmation)?|evidence|context|details?|data|grounds)"
_NEI = (
    rf"(?:\bnot\b|n't\b|\bno\b|\bnone\b|\bwithout\b|\black(?:s|ing)?\b)[ -]*(?:[a-z]+[ -]+){{0,3}}?"
    rf"(?:enough|sufficient|adequate)[ -]*(?:[a-z]+[ -]+){{0,1}}?{_NOUN}\b"
    r"|\bnot enough(?= ?(?:$|[.,;\n]))"
    rf"|\binsufficient(?:ly)?[ -]+(?:[a-z]+[ -]+){{0,1}}?{_NOUN}\b|\black of {_NOUN}\b"
    r"|(?<![a-z])notenoughinfo(?:rmation)?(?![a-z])|(?<![a-z.])n\.?e\.?i\b\.?(?![a-z])"
)
_PREFIX = r"(?<![a-z])(?<!self-)(?P<prefix>(?:un|in|dis|mis|non|not)-?|non )?"

_STEMS: Final[tuple[tuple[str, Label, str], ...]] = (
    ("attributable", "Attributable", r"attributable"),
    ("support", "Attributable", r"support(?:s|ed|ive|able)?"),
    ("attributed", "Attributable", r"attributed"),
    ("entail", "Attributable", r"entail(?:s|ed|ment|ments|ing)?"),
    ("extrapolatory", "Extrapolatory", r"extrapolat(?:ory|ive|ed|es|e|ion|ions|ing)"),
    ("neutral", "Extrapolatory", r"neutral"),
    ("contradictory", "Contradictory", r"contradict(?:ory|ion|ions|s|ed|ing|ive)?"),
    ("refuted", "Contradictory", r"refut(?:e|es|ed|ing|ation|ations)"),
)
_OWN: Final[Mapping[str, frozenset[str]]] = {
    "attribution": frozenset({"attributable", "extrapolatory", "contradictory"}),
    "attribution-defined": frozenset({"attributable", "extrapolatory", "contradictory"}),
    "fact-checking": frozenset({"support", "nei", "refuted"}),
    "nli": frozenset({"entail", "neutral", "contradictory"}),
    "summarization": frozenset({"support", "nei", "contradictory"}),
}
_VERBS: Final = re.compile(
    r"(?:support|entail|contradict|refute|extrapolate)s?$|(?:contradict|refut|entail)ing$"
)

_CLAIM = r"(?:claim|statement|answer|hypothesis|summary|it|this|that)"
_SURE = r"(?:(?:indeed|therefore|actually|factually|clearly|completely|entirely) )?"
_KNOWN = r"(?:determined?|inferred|infer|verif(?:y|ied)|confirm(?:ed)?|conclu(?:de|ded)|establish(?:ed)?|deduced?|validated?)"
_PARAPHRASES: Final[tuple[tuple[Label, str], ...]] = (
    (
        "Attributable",
        r"\b(?:supporting evidence|confirm(?:s|ed)|verifie[sd]|corroborate[sd]"
        r"|substantiate[sd]|validate[sd]|backed (?:up )?by|consistent with)\b",
    ),
    ("Attributable", rf"\b{_CLAIM} is {_SURE}(?:true|correct|accurate)\b"),
    ("Contradictory", rf"\b{_CLAIM} is {_SURE}(?:false|incorrect|inaccurate|wrong|untrue)\b"),
    (
        "Contradictory",
        r"\b(?:inconsistent with|conflict(?:s|ing)? with|in conflict with|contrary to"
        r"|disprove[sdn]?|at odds with|opposite of)\b",
    ),
)
_NOT_SAID: Final = (
    r"\b(?:unverifiable|unverified|inconclusive|insufficient|undetermined|indeterminate|irrelevant|unrelated)\b"
    rf"|\b(?:cannot|can't|can not|could not|couldn't|impossible to|not possible to) (?:be )?{_KNOWN}\b"
    r"|\b(?:does|do|did)(?:n't| not) (?:mention|specify|state|address|discuss|say|indicate)\b"
    r"|\bno (?:mention|information|indication)\b|\bnot (?:mentioned|stated|specified|addressed)\b"
    r"|\b(?:say|says|mentions?|states?|provides?|offers?) nothing (?:about|of|on|regarding)\b"
    r"|\bnot (?:present|found|contained|included|available|covered|described) (?:anywhere )?in\b"
    r"|\bbeyond (?:what )?the (?:reference|source|evidence|text|passage|premise)\b"
)
"""Paraphrases of Extrapolatory: they hold their own negation."""

_BOUNDARY: Final = re.compile(
    r"(?<!\bnot),|[;:!?\n()]|\.(?= |$)| - |\b(?:but|and|because|since|however|instead|although|though"
    r"|while|whereas|so|therefore|thus|hence|yet|which)\b"
)
_NEGATOR: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|cannot|neither|nor|without|hardly|barely|scarcely|insufficient"
    r"|lack|lacks|lacking|fail|fails|failed|unable|absence|doesnt|dont|isnt|cant|arent|wasnt"
    r"|non|rather than|instead of|far from)\b|n't\b|\b(?:over|than) (?:an? |the )?$"
)
_NO_NEGATOR: Final = re.compile(
    r"\bnot (?:only|just|merely|simply)\b|\b(?:no|without(?: a| any)?) doubt\b|\bwithout question\b"
    r"|\bnothing but\b|\bno less\b"
)
_PARTLY: Final = re.compile(r"\b(?:partially|partly|in part|incompletely|somewhat|half)\b|\bonly $")
_PARTLY_AFTER: Final = re.compile(
    r" (?:only )?(?:partially|partly|in part|(?:a )?part of|half of|some of)\b"
)
_NAMING: Final = re.compile(
    r"\b(?:whether|if|must(?! be)|options?|choose (?:one|from|between|among)|choices|either|needs? to be|in order to|for .* to be)\b"
)
_HEDGE: Final = re.compile(r"\b(?:may|might|could|seems?|appears?|looks?|at first)\b")
_ASIDE: Final = re.compile(
    r", (?:in my (?:view|opinion)|strictly speaking|therefore|however|in fact|indeed|actually"
    r"|(?:based on|according to|given) [^,.;\n]{1,60}),"
)
_DEFINED: Final = re.compile(r"[ ]?(?:would )?(?:means?|refers? to|is defined|indicates? that)\b")
_IF: Final = re.compile(r" (?:only )?if\b")
_ASKED: Final = re.compile(
    r"[^.!;\n?]{0,80}\?(?:\s*(?:a(?:nswer)?: ?)?(?P<reply>yes|no)(?=[.,;!\s]*(?:$|[.,;!\n])))?"
)
_TOLD: Final = re.compile(r" ?[:=-] ?(?P<reply>yes|no|true|false|none)(?= ?(?:$|[.,;)\n]| \(?\d))")
_NOTHING: Final = re.compile(
    r" (?:nothing|nobody|none|neither)\b|(?: for [a-z ]{1,30})? (?:is|are) (?:lacking|missing|absent"
    r"|insufficient|wrong|incorrect|not (?:present|found|provided|given|right|correct))\b"
)
_MENU: Final = re.compile(
    r" ?(?:[,/;&(-]|,? ?\bor\b|,? ?\band\b|\bvs\b\.?|\bversus\b) ?(?:or |and )?(?:(?:a|an|the|is it) )*"
)
_MENU_LINES: Final = re.compile(r" ?[.,;]?\n(?:\(?[a-c1-3][.):]+ ?)?")
_WINDOW = 100


def find_mentions(text: str, family: str) -> tuple[str, list[Mention]]:
    """Find the label words of a text.

    Args:
        text: as `plain` gives it.
        family: the name of the prompt family.

    Returns:
        The text without asides between commas, to which positions refer; and the mentions in it.
    """
    text = _ASIDE.sub(" ", text)
    own = _OWN[family]
    found: list[Mention] = []
    for pattern, tier in ((_NEI, 1 if "nei" in own else 2), (_NOT_SAID, 3)):
        for match in re.finditer(pattern, text):
            stance: Stance = _stance(text, match.start(), match.end(), "Extrapolatory", False)
            stance = "said" if stance == "denied" else stance
            found.append(_mention(text, match, "Extrapolatory", tier, stance))
    taken = [(each.start, each.end) for each in found]
    for name, label, stem in _STEMS:
        for match in re.finditer(rf"{_PREFIX}(?:{stem})(?![a-z])", text):
            if _inside(match, taken):
                continue
            tier = 1 if name in own else 3 if name == "attributed" else 2
            negative = match["prefix"] is not None
            stance = _stance(text, match.start(), match.end(), label, negative)
            found.append(_mention(text, match, label, tier, stance))
    for label, pattern in _PARAPHRASES:
        for match in re.finditer(pattern, text):
            if not _inside(match, taken):
                stance = _stance(text, match.start(), match.end(), label, False)
                found.append(_mention(text, match, label, 3, stance))
    found.sort(key=lambda each: (each.start, each.tier))
    return text, _without_menus(text, found)


def _mention(text: str, match: re.Match[str], label: Label, tier: int, stance: Stance) -> Mention:
    clause = _clause_before(text, match.start())
    return Mention(
        start=match.start(),
        end=match.end(),
        label=label,
        tier=tier,
        stance=stance,
        verb=_VERBS.search(match[0]) is not None,
        hedged=_HEDGE.search(clause) is not None,
    )


def _inside(match: re.Match[str], spans: Sequence[tuple[int, int]]) -> bool:
    return any(start < match.end() and match.start() < end for start, end in spans)


def _clause_before(text: str, start: int) -> str:
    window = text[max(0, start - _WINDOW) : start]
    begin = 0
    for boundary in _BOUNDARY.finditer(window):
        begin = boundary.end()
    return window[begin:]


def _stance(text: str, start: int, end: int, label: Label, negative: bool) -> Stance:
    clause = _NO_NEGATOR.sub(" ", _clause_before(text, start))
    if _NEGATOR.search(clause) or _NOTHING.match(text, end):
        negative = not negative
    if label == "Attributable" and (_PARTLY.search(clause) or _PARTLY_AFTER.match(text, end)):
        negative = True
    told = _TOLD.match(text, end)
    asked = _ASKED.match(text, end)
    if reply := (told and told["reply"]) or (asked and asked["reply"]):
        return "said" if (reply in ("yes", "true")) != negative else "denied"
    if asked and text[asked.end() :].strip():
        return "named"  # a question that something else answers
    if negative:
        return "denied"
    supposed = "would" in clause and _IF.match(text, end)
    if supposed or _NAMING.search(clause) or _DEFINED.match(text, end):
        return "named"
    return "said"


def _without_menus(text: str, found: list[Mention]) -> list[Mention]:
    """Take what stands in a list of different labels as named only: "Extrapolatory/Attributable"."""
    result = list(found)
    for connector, least in ((_MENU, 2), (_MENU_LINES, 3)):
        run: list[int] = []
        for i, mention in enumerate([*found, None]):
            if mention is not None and (
                not run or connector.fullmatch(text, found[run[-1]].end, mention.start)
            ):
                run.append(i)
                continue
            # With one of them denied it is a sentence, and no list of options.
            options = all(found[k].stance != "denied" for k in run)
            if options and len({found[k].label for k in run}) >= least:
                for k in run:
                    result[k] = replace(found[k], stance="named")
            run = [] if mention is None else [i]
    return result
