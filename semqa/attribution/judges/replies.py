"""Parse what a language model replies to a judge's question; None means unparsed.

Nothing is guessed: a reply that states several verdicts, or none, is unparsed. Where the endpoint
supports it, replies are JSON (`verdict_schema`). In words, these are looked at in order:

1. JSON: the field that holds the verdict.
2. The last field in words: "Label: …", "the answer is …".
3. A reply that begins or ends with a bare verdict.
4. The last conclusion ("therefore …"), then the whole text. Label words outweigh verbs, and verbs
   outweigh paraphrases. What follows "but" outweighs what precedes it. If parts of a claim fare
   differently, a contradiction outweighs what is open, and that outweighs support: *supported* means
   in full.

A relation that is denied ("not …", "un…", "fails to …"), asked, hedged, conditional or one of several
options is not stated. If all that is said is that the claim is not supported, the relation is
neutral.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from semqa.attribution.judges.base import Relation, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "read_consistency",
    "read_points",
    "read_questions",
    "read_rating",
    "read_relation",
    "read_span",
    "read_topics",
    "verdict_schema",
]

_WORST_FIRST: Final[tuple[Relation, ...]] = ("contradiction", "neutral", "entailment")

_LONGEST = 20_000
"""Longer replies are cut in the middle, because verdicts stand at the ends."""

_NOUN = r"(?:info(?:rmation)?|evidence|context|details?|data|grounds)"
_CLAIM = r"(?:claim|statement|sentence|answer|hypothesis|summary|relation(?:ship)?|it|this|that)"
_TEXT = r"(?:reference|source|evidence|text|passage|premise|context|document|article|dialogue)"
_SAY = r"(?:mention|state|say|specif|contain|includ|indicat|address|appear|discuss|show|provid|giv)"

_TABLE: Final[tuple[tuple[Relation, int, str], ...]] = (
    # Label words.
    (
        "neutral",
        3,
        rf"(?:not?|without|lack(?:s|ing)?)[ -]+(?:[a-z]+[ -]+){{0,3}}?(?:enough|sufficient|adequate)"
        rf"[ -]+(?:[a-z]+[ -]+)?{_NOUN}|not enough(?= ?(?:$|[.,;\n]))|notenoughinfo(?:rmation)?"
        rf"|n\.?e\.?i|insufficient(?:ly)?(?: (?:[a-z]+ )?{_NOUN})?|lack of {_NOUN}",
    ),
    ("neutral", 3, r"extrapolat(?:ory|ion|ive)|neutral"),
    ("contradiction", 3, r"contradict(?:ory|ions?|ed)|refuted"),
    ("entailment", 3, r"attribut(?:able|ed)|entail(?:ment|ed)|supported"),
    # Verbs, and nouns that say how a part of a claim fares.
    ("neutral", 2, r"extrapolat(?:es?|ed|ing)|hallucinat\w+|fabricat\w+"),
    (
        "contradiction",
        2,
        r"contradict(?:s|ing)?|refut(?:es?|ing|ation)|opposite|inconsisten(?:t|cy|cies)|contrary to"
        r"|conflict(?:s|ing)? with|in conflict|on the contrary|counter to|evidence against|rules? out|disprove[sdn]?|at odds|incompatible|not hold|misrepresent\w*"
        r"|mis(?:state|quote)\w*|misleading|wrongly|errors?|mistakes?|deni(?:ed|es) (?:it|that|the claim)",
    ),
    ("entailment", 2, r"support(?:s|ing|ive)?|entail(?:s|ing)?"),
    # Paraphrases. Those of "neutral" contain their own negation.
    (
        "neutral",
        1,
        r"unverifiable|inconclusive|undetermined|indeterminate|irrelevant|unrelated|unfounded"
        rf"|go(?:es|ing)? (?:beyond|further)|made up|invented|(?:absent|missing) from|left open|beyond (?:what )?the {_TEXT}|silent (?:on|about)"
        r"|(?:say|mention|state|provide|offer)s? nothing (?:about|of|on|regarding)"
        r"|no (?:mention|information|indication|evidence|basis|trace|reference to)"
        rf"|nothing (?:in the {_TEXT} )?(?:about|on|of the)|can not (?:tell|say|know) (?:\w+ )?(?:from|given)"
        r"|(?:can not|could not|impossible to|not possible to|unable to|not) (?:be )?(?:\w+ly )?"
        r"(?:determin|infer|verif|confirm|conclu|establish|deduc|deriv|validat)\w*",
    ),
    (
        "entailment",
        1,
        r"consistent|faithful(?:ly)?|grounded|justified|accurately|corroborate[sd]?"
        r"|(?:confirm|verifie|validate|substantiate)[sd]?|verify|confirmed|confirms"
        r"|back(?:s|ed|ing)? (?:it )?up|backed by|(?:is|are|be) backed|traced (?:back )?to|borne out|bears? (?:it )?out"
        r"|follows? (?:\w+ ){0,2}from|(?:infer|deduc|deriv|conclud)(?:r?ed)?(?: \w+)? from"
        r"|match(?:es)?|aligns?|agrees?|holds?|implie[sd]|reflect(?:s|ed)?",
    ),
    (
        "entailment",
        1,
        rf"(?:{_CLAIM} is (?:\w+ly |indeed )?)(?:true|correct|accurate)|^(?:true|correct|accurate)|must be true"
        r"|are (?:all )?(?:true|correct|accurate)|accurate (?:paraphrase|summary|account)",
    ),
    (
        "contradiction",
        1,
        rf"(?:{_CLAIM} is (?:\w+ly |indeed |in fact )?)(?:false|incorrect|inaccurate|wrong|untrue)"
        r"|(?:is|are) (?:false|incorrect|wrong|inaccurate)|^(?:false|incorrect|inaccurate)"
        rf"|can not (?:both )?be true|{_CLAIM} is not (?:\w+ly )?(?:true|correct|accurate)",
    ),
    (
        "entailment",
        1,
        rf"(?<=not ){_SAY}\w*|(?:is|are) (?:not )?(?:\w+ )?(?:anywhere )?in the {_TEXT}"
        rf"|{_SAY}\w* (?:anywhere )?(?:in|by) the {_TEXT}|(?:(?<=nowhere )|(?<=never )){_SAY}\w*",
    ),
)
_SIGNS: Final = [
    (relation, weight, re.compile(rf"(?<![a-z])(?:{pattern})(?![a-z])"))
    for relation, weight, pattern in _TABLE
]

_BOUNDARY: Final = re.compile(
    r"[,;:!?\n()]|\.(?= |$)| - |\b(?:but|and|because|since|however|instead|although|though|while"
    r"|whereas|so|therefore|thus|hence|yet|which)\b"
)
_NEGATOR: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|nowhere|neither|nor|without|hardly|barely|scarcely|insufficient"
    r"|lacks?|lacking|fail(?:s|ed|ing)?|unable|absence|rather than|instead of|far from)\b"
    r"|\b(?:over|than) (?:an? |the )?$"
)
_NO_NEGATOR: Final = re.compile(
    r"\bnot (?:only|just|merely|simply)\b|\b(?:no|without(?: an?| any)?) (?:doubt|question)\b|\bno less\b"
)
_NEGATED_AFTER: Final = re.compile(
    r" (?:nothing|nobody|none|neither)\b|(?: for [a-z ]{1,30})? (?:is|are) (?:lacking|missing|absent|wrong"
    r"|incorrect|not (?:present|found|provided|given|right|correct))\b"
)
_PARTLY: Final = re.compile(
    r"\b(?:partial|partially|partly|mostly|largely|incompletely|somewhat|half)\b|\bonly $"
)
_PARTLY_AFTER: Final = re.compile(
    r" (?:only )?(?:partially|partly|in part|(?:a )?part of|half of|some of|the (?:first|second) )"
)
_ASIDE: Final = re.compile(
    r", (?:in my (?:view|opinion)|in fact|indeed|(?:based on|according to|given) [^,.;\n]{1,60}),"
)
_NAMED: Final = re.compile(
    r"\b(?:whether|if|must(?! be)|options?|choose (?:one|from|between|among)|either|needs? to be"
    r"|in order to|no reason to|enough to)\b"
)
_HEDGED: Final = re.compile(r"\b(?:may|might|could|would|seems?|appears?|looks?|at first)\b")
_TOLD: Final = re.compile(
    r"(?:[ :=?-]+(?:a(?:nswer)?: ?)?|[^.!;\n?]{0,80}\?\s*)(?P<reply>yes|no|not really|not at all|true|false|none)"
    r"(?= ?(?:$|[.,;:)\n]| \(?\d))"
)
_MENU: Final = re.compile(
    r" ?(?:[,/;&(-]|,? ?\bor\b|,? ?\band\b|\bvs\b\.?) ?(?:or |and )?(?:(?:an?|the) )*| "
)
_KEY = (
    r"(?:(?:final|correct|predicted) )?(?:answer|label|verdict|judge?ment|classification|conclusion"
    r"|relation(?:ship)?|decision|result|category|rating|determination|response|output|prediction"
    r"|choice|option|assessment|evaluation|status|class|final|boxed|consistency|score|yes/no)"
)
_FIELD: Final = re.compile(
    rf"\b(?:say|reply|respond|answer)(?: with)?:? (?=(?:yes|no)\b)|\b{_KEY}(?: of [a-z ]{{1,40}}?| between [a-z ]{{1,40}}?)? ?(?:\b(?:is|would be|should be|must be)\b ?:?|[:=.>-])\s*"
)
_CONCLUSION: Final = re.compile(
    r"\b(?:therefore|thus|hence|consequently|accordingly|in conclusion|in summary|overall|ultimately"
    r"|finally|as a result)\b|(?:^|[.,;] ?)so\b",
    re.MULTILINE,
)
_FIGURE: Final = re.compile(r"\)? ?[:=(] ?(\d{1,3}(?:\.\d+)?)(?![\w.]*\d)")
_SENTENCE_END: Final = re.compile(r"[.!?;](?=\s|$)|\n")
_FILLER: Final = re.compile(
    rf"\b(?:{_CLAIM}|{_TEXT}|label|verdict|option|is|as|an?|are|be|would|i|say|so|classified|the|final|yes|no"
    r"|fully|clearly|completely|entirely|therefore|thus|hence|and|by|to|with|not)\b|[^a-z]+"
)
_YES_NO: Final = re.compile(
    r"\W*(?P<said>yes|no|true|false|1|0)\b(?=\s*(?:$|[^\w\s/]|(?:the|it|this|that|because|since|as)\b))"
)
_OBJECTION: Final = re.compile(r"[\s,.]*(?:there|it|i|no|nothing|the (?:sentence|summary|claim))\b")
_NEXT_EXAMPLE: Final = re.compile(
    r"\n(?:input|claim|hypothesis|premise|summary|source|evidence|reference|question|instruction) ?:"
)


class _Sign(NamedTuple):
    """A word or phrase that names a relation, and whether the text states or denies it."""

    start: int
    end: int
    relation: Relation
    weight: int
    stance: Literal["said", "denied", "named"]
    hedged: bool = False


def read_relation(reply: str) -> Relation | None:
    """Return how a reply says that a claim stands to its source; None if it does not say.

    Example:
        >>> read_relation("It supports the opposite of the claim.")
        'contradiction'
        >>> read_relation("It is not attributable."), read_relation("Yes, or no.")
        ('neutral', None)
    """
    return _Reader(reply, yes_no=False).read()


def read_consistency(reply: str) -> bool | None:
    """Return whether a reply says that a text is consistent with its source; None if unparsed.

    "Yes" and "No" answer the question "Is it consistent?", unless what follows says otherwise.

    Example:
        >>> read_consistency("No"), read_consistency("Yes, there is an inconsistency.")
        (False, False)
    """
    reader = _Reader(reply, yes_no=True)
    relation = reader.read()
    if relation is None:
        return True if reader.denied == {"contradiction"} else None
    return relation == "entailment"


class _Reader:
    """One reply.

    Args:
        reply: as the model wrote it.
        yes_no: whether "yes" means entailment, and "no" that there is none.

    Attributes:
        denied: relations that the reply denies.
    """

    def __init__(self, reply: str, *, yes_no: bool) -> None:
        self._reply = reply
        self._yes_no = yes_no
        self._text = ""
        self._signs: list[_Sign] = []
        self.denied: set[Relation] = set()

    def read(self) -> Relation | None:
        fields = list(_json_fields(self._reply))
        for name, value in fields:
            found = self._of_field(name, value)
            if found is not None or re.fullmatch(rf"(?:[a-z]+[ _-])?(?:{_KEY})", name):
                return found
        text = _plain(self._reply)
        next_example = _NEXT_EXAMPLE.search(text)
        if next_example and next_example.start():
            self._look_at(text[: next_example.start()])
            if (found := self._decided()) is not None:
                return found
        self._look_at(text)
        return self._decided() or self._of_sentences()

    def _of_field(self, name: str, value: object) -> Relation | None:
        """Return what one field of a JSON object says."""
        if isinstance(value, bool | int | float):
            value = "yes" if value else "no"
        if not isinstance(value, str):
            return None
        text = _plain(value)
        if _YES_NO.fullmatch(text) and (not self._yes_no or _signs(_plain(name))):
            about = re.sub(r"[\W_]+", " ", name.lower())
            self._look_at(f"{about}: {text}")
        else:
            self._look_at(text)
        return self._decided() or self._of_sentences()

    def _look_at(self, text: str) -> None:
        self._text = _ASIDE.sub(" ", text)
        self._signs = _signs(self._text)
        self.denied = set()

    def _decided(self) -> Relation | None:
        """Read fields, beginnings and ends: verdicts that stand on their own."""
        figures = {
            s.relation: float(figure[1])
            for s in self._signs
            if (figure := _FIGURE.match(self._text, s.end))
        }
        if len(figures) > 1:
            best = [each for each, value in figures.items() if value == max(figures.values())]
            return best[0] if len(best) == 1 else None
        found: Relation | None = None
        for match in _FIELD.finditer(self._text):
            end = _SENTENCE_END.search(self._text, match.end())
            stop = end.start() if end else len(self._text)
            found = self._yes_or_no(match.end(), stop) or self._within(match.end(), stop) or found
        if found is None:
            bounds = [
                0,
                *(end.end() for end in _SENTENCE_END.finditer(self._text)),
                len(self._text),
            ]
            spans = [span for span in pairwise(bounds) if self._text[slice(*span)].strip()]
            for start, stop in (*spans[:1], *spans[-1:]):
                found = self._yes_or_no(start, stop) or self._bare(start, stop)
                if found is not None:
                    break
        return found

    def _yes_or_no(self, start: int, stop: int) -> Relation | None:
        """Return what "yes" or "no" at the start means, unless the rest of the sentence objects."""
        match = _YES_NO.match(self._text[start:stop])
        if match is None:
            return None
        said, after = match["said"], start + match.end()
        if not self._yes_no:
            alone = not re.search("[a-z0-9]", self._text[:start] + self._text[after:])
            if not alone or said not in ("true", "false"):
                return None
            return "entailment" if said == "true" else "contradiction"
        rest = [
            (s.stance, s.relation)
            for s in self._signs
            if after <= s.start < stop
            and (s.weight > 1 or self._text.startswith("consist", s.start))
        ]
        if said in ("yes", "true", "1"):
            if ("said", "contradiction") in rest:
                return "contradiction"  # "Yes, there is an inconsistency."
            return "neutral" if _PARTLY.search(self._text, after, stop) else "entailment"
        favourable = set(rest) <= {("denied", "contradiction"), ("said", "entailment")}
        if rest and favourable and _OBJECTION.match(self._text, after):
            return "entailment"  # "No, it is consistent."
        return "neutral"

    def _bare(self, start: int, stop: int) -> Relation | None:
        """Return the label word that a sentence begins with or consists of."""
        within = [s for s in self._signs if start <= s.start < stop and s.weight > 1]
        if not within:
            return None
        first = within[0]
        before, after = self._text[start : first.start], self._text[first.end : stop]
        if _FILLER.sub("", before):
            return None
        reason = re.match(r" ?(?:$|[.,;:!(/\n-]|\b(?:because|since|as|for|due)\b)", after)
        if not re.search("[a-z]", before) and reason and first.weight > 2:
            within = [first]  # "Contradictory, because …"
        elif _FILLER.sub(
            "",
            "".join(
                " " if any(s.start <= i < s.end for s in within) else c
                for i, c in enumerate(self._text[start:stop], start)
            ),
        ):
            return None
        if first.stance == "denied":
            self.denied.add(first.relation)
        if start == 0 and re.search(
            r"\b(?:wait|correction|on reflection|scratch that)\b", self._text
        ):
            return None
        stated = {s.relation for s in within if s.stance == "said"}
        return stated.pop() if len(stated) == 1 and len({s.relation for s in within}) == 1 else None

    def _within(self, start: int, stop: int) -> Relation | None:
        """Return what a part of the text states, and note what it denies."""
        signs = [s for s in self._signs if start <= s.start < stop]
        self.denied |= {s.relation for s in signs if s.stance == "denied"}
        return _stated(signs)

    def _of_sentences(self) -> Relation | None:
        """Return what conclusions say, or else all of the text."""
        for match in reversed(list(_CONCLUSION.finditer(self._text))):
            end = _SENTENCE_END.search(self._text, match.end())
            stop = end.start() if end else len(self._text)
            start = match.end() + (self._text[match.end() :][:2] == ", ")
            if found := self._yes_or_no(start, stop) or self._within(start, stop):
                return found
        signs = [s for s in self._signs if s.stance != "said" or s.relation not in self.denied]
        if any(s.stance == "said" for s in signs):
            return _stated(signs)
        self.denied |= {s.relation for s in self._signs if s.stance == "denied"}
        left = set(_WORST_FIRST) - self.denied
        if len(left) == 1:
            return left.pop()
        return "neutral" if self.denied == {"entailment"} else None


def _signs(text: str) -> list[_Sign]:
    """Find what a text says of each relation; overlapping signs count once, the weightiest first."""
    found: list[_Sign] = []
    for relation, weight, pattern in _SIGNS:
        for match in pattern.finditer(text):
            if not any(s.start < match.end() and match.start() < s.end for s in found):
                found.append(_sign(text, match.start(), match.end(), relation, weight))
    found.sort()
    return _without_menus(text, found)


def _sign(text: str, start: int, end: int, relation: Relation, weight: int) -> _Sign:
    begin = max(0, start - 100)
    for boundary in _BOUNDARY.finditer(text, begin, start):
        begin = boundary.end()
    clause = _NO_NEGATOR.sub(" ", text[begin:start])
    negates_itself = relation == "neutral" and not re.match(
        "extrapolat|neutral|halluc|fabric", text[start:end]
    )
    negative = not negates_itself and (
        _NEGATOR.search(clause) is not None
        or (relation == "entailment" and " not " in text[start:end])
    )
    if re.search(r"\bnot(?: \w+)? not\b", clause) and len(_NEGATOR.findall(clause)) == 2:
        negative = False  # "not unsupported"
    if not negates_itself and _NEGATED_AFTER.match(text, end):
        negative = not negative
    named = False
    if told := _TOLD.match(text, end):
        negative ^= told["reply"] not in ("yes", "true")
    elif relation == "entailment" and (_PARTLY.search(clause) or _PARTLY_AFTER.match(text, end)):
        negative = True
    else:
        named = not negative and _NAMED.search(clause) is not None
    stance: Literal["said", "denied", "named"] = "denied" if negative else "said"
    reason = text[:begin].endswith(("because", "since"))
    hedged = reason or _HEDGED.search(clause) is not None
    return _Sign(start, end, relation, weight, "named" if named else stance, hedged)


def _without_menus(text: str, found: Sequence[_Sign]) -> list[_Sign]:
    """Take adjacent relations without a negation as options: "Extrapolatory/Attributable"."""
    result = list(found)
    run: list[int] = []
    least = 2
    for i in range(len(found) + 1):
        joins = i < len(found) and run and _MENU.fullmatch(text, found[run[-1]].end, found[i].start)
        lines = (
            i < len(found)
            and run
            and not text[found[run[-1]].end : found[i].start].strip(" .,;:x-\n")
        )
        if joins or lines:
            run.append(i)
            least = least if joins else 3
            continue
        options = {found[k].relation for k in run if found[k].weight > 1}
        if len(options) >= least and all(found[k].stance != "denied" for k in run):
            for k in run:
                result[k] = found[k]._replace(stance="named")
        run, least = [i], 2
    return result


def _stated(signs: Sequence[_Sign]) -> Relation | None:
    """Return the one relation that is stated, or the one that outweighs the others."""
    said = [s for s in signs if s.stance == "said"]
    if not said:
        return None
    said = [s for s in said if not s.hedged] or said
    last = {s.relation: s.stance for s in signs if s.stance != "named"}
    for some in (
        [s for s in said if s.weight > 1] or said,
        [s for s in said if last[s.relation] == "said" and s.weight > 1],
        [s for s in said if s.weight == 3],
    ):
        relations = {s.relation for s in some}
        if len(relations) == 1:
            return relations.pop()
    relations = {s.relation for s in said}
    if any(s.weight < 3 for s in said):
        return next(each for each in _WORST_FIRST if each in relations)
    return None


_THOUGHT: Final = re.compile(
    r"<(think|thinking|reasoning|scratchpad)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_TAG: Final = re.compile(r"<([a-z][a-z _-]{0,30})>", re.IGNORECASE)
_END_TAG: Final = re.compile(r"</[a-z][a-z _-]{0,30}>", re.IGNORECASE)
_NEGATIVE_WORD: Final = re.compile(
    r"\b(?:un|non|dis|mis|not)-?(?=attribut|support|faithful|substantiat|verified|entail|contradict|refut|confirmed"
    r"|grounded|justified|mentioned|stated)"
)
_MARKS: Final = str.maketrans(
    {
        **dict.fromkeys('"“”„‟«»‹›「」『』《》【】¿¡•·`*_#>{}[]$|^~\\', " "),
        **dict.fromkeys("✓✔✅☑✗✘❌❎\ufe0f", " "),
        **dict.fromkeys("‘’‚‛´ʼ", "'"),
        **dict.fromkeys("。．｡।", "."),
        **dict.fromkeys("、，", ","),
        **dict.fromkeys("；؛", ";"),
        **dict.fromkeys("？؟", "?"),
        **dict.fromkeys("–—―‒−", "-"),
        **dict.fromkeys("→⇒：", ":"),
        "！": "!",
        "ı": "i",
    }
)


def _plain(text: str) -> str:
    r"""Return a reply in small letters, without markup, thoughts, quotation marks and contractions.

    Example:
        >>> _plain("**Label**： It isn't Un-Supported。")
        'label : it is not not supported.'
    """
    if len(text) > _LONGEST:
        text = text[: _LONGEST // 2] + "\n" + text[-_LONGEST // 2 :]
    text = unicodedata.normalize("NFKC", html.unescape(text).replace("\r", "\n"))
    text = _THOUGHT.sub(" ", text)
    text = _END_TAG.sub("\n", _TAG.sub(r"\n\1: ", text))
    text = re.sub(r"\\f?boxed", "\nboxed: ", text)
    text = re.sub(r"\\[a-z]+", " ", text)
    text = re.sub(r"^[ \t]*(?:[-+*]|\(?[0-9a-c][.)])[ \t]+", "", text, flags=re.MULTILINE)
    text = "".join(
        c
        for c in unicodedata.normalize("NFKD", text.casefold())
        if unicodedata.category(c) not in ("Mn", "Cf", "Me")
    ).translate(_MARKS)
    text = re.sub(r"n't\b", " not", text).replace("cannot", "can not")
    text = re.sub(r"\b(it|that|this|there|claim|sentence)'s\b", r"\1 is", text)
    text = _NEGATIVE_WORD.sub("not ", text)
    text = re.sub(r"not[ -]enough[ -]info", "not enough info", text)
    text = re.sub(r"[^\S\n]+", " ", text)
    return re.sub(r" ?\n\s*", "\n", text).strip()


_JSON_KEYS: Final = (
    r"(?:final[ _-]?)(?:answer|label|verdict)",
    r"(?:\w+[ _-])?label|verdict|relation(?:ship)?|(?:is[ _-])?consisten(?:t|cy)",
    r"classification|class|category|judge?ment|decision|determination|assessment|evaluation",
    r"conclusion|status|predict(?:ion|ed)|attribution|result|rating|output|answer|response|choice",
)
"""Names of the field that holds a verdict, the likeliest first."""


def verdict_schema(field: str, words: Sequence[str], *, explained: bool = False) -> dict[str, Any]:
    """Return the JSON schema of a reply: a verdict, and perhaps an explanation after it.

    Args:
        field: the name of the field that holds the verdict.
        words: what the verdict may be.
        explained: whether an explanation follows.
    """
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
    """Return the last JSON object of a reply, or else its array or string; None if there is none."""
    text = _THOUGHT.sub(" ", reply)
    decoder, found, at = json.JSONDecoder(), None, text.find("{")
    for _ in range(50):
        if at < 0:
            break
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        at = text.find("{", end)
    if found is not None:
        first = text.find("[")
        if 0 <= first < text.find("{"):
            return _array(text) or found
        return found
    return _array(text)


def _array(text: str) -> object:
    start, end = text.find("["), text.rfind("]")
    try:
        value: object = json.loads(text[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None
    return (
        value[0]
        if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list)
        else value
    )


def _json_fields(reply: str) -> Iterator[tuple[str, object]]:
    """Yield what may be the verdict in the JSON of a reply, the likeliest first."""
    value = _json_value(reply)
    if isinstance(value, str):
        yield "label", value
    if not isinstance(value, dict):
        return
    yield from _fields_of(value, 3)


def _fields_of(fields: dict[str, Any], depth: int) -> Iterator[tuple[str, object]]:
    named = False
    for pattern in _JSON_KEYS:
        for name, value in fields.items():
            if re.fullmatch(pattern, name.strip(), re.IGNORECASE):
                named = True
                held = value[0] if isinstance(value, list) and len(value) == 1 else value
                if isinstance(held, dict) and depth:
                    yield from _fields_of(held, depth - 1)
                else:
                    yield name.lower(), held
    if named:
        return
    plain = {name: value for name, value in fields.items() if not isinstance(value, dict | list)}
    numbers = {
        n: v for n, v in plain.items() if isinstance(v, int | float) and not isinstance(v, bool)
    }
    if len(numbers) > 1:
        best = [name for name, value in numbers.items() if value == max(numbers.values())]
        yield "label", best[0] if len(best) == 1 else None
    elif flags := {
        n: v for n, v in plain.items() if isinstance(v, bool) or str(v).lower() in ("yes", "no")
    }:
        lines = ". ".join(
            f"{n}: {'yes' if v is True or str(v).lower() == 'yes' else 'no'}"
            for n, v in flags.items()
        )
        yield "label", lines
    elif depth:
        for value in fields.values():
            if isinstance(value, dict):
                yield from _fields_of(value, depth - 1)


_NO_ANSWER: Final = re.compile(
    r"(?:none|no answer|not answered|unanswerable|n/?a)\b", re.IGNORECASE
)
_ITEM: Final = re.compile(
    r"^\s*(?:[-*•]\s*|\(?[0-9]{1,3}[.):]\s*|(?:q(?:uestion)?|topic)\s*[0-9]*\s*[:.)]\s*)",
    re.IGNORECASE,
)
_SEGMENTS: Final = re.compile(
    r"[\n;{}]+|,(?=\s?[\"']?(?:point )?\d)|(?:(?<=yes)|(?<=no))[.,]?\s(?=\s?\d)", re.IGNORECASE
)
_POINT: Final = re.compile(
    r"[\s\"'*_`#(\-]{0,12}(?:(?:key )?point\s?)?(?P<number>\d{1,3})[\"'*_`]{0,4}\s?[.:)\]=\-–—]+(?P<said>.*)",
    re.IGNORECASE | re.DOTALL,
)
_SEPARATORS: Final = re.compile(r"[:=–—→]|\s-\s|->")
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


def read_topics(reply: str, count: int) -> tuple[str, ...]:
    r"""Return at most `count` different topics: the numbered or bulleted lines if any, else all lines.

    Example:
        >>> read_topics("Here they are:\n1. **Rent**\n2) \"Taxes.\"\n3. Rent", 3)
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
    topics = (_ITEM.sub("", line).strip(_AROUND) for line in lines)
    unique: dict[str, str] = {}
    for topic in filter(None, topics):
        unique.setdefault(topic.casefold(), topic)
    return tuple(unique.values())[:count]


def read_points(reply: str, count: int) -> list[bool | None]:
    r"""Return what a reply says of each point, numbered from 1; None where it does not say.

    Example:
        >>> read_points("1: Yes\n2. no, not at all\n", 3)
        [True, False, None]
    """
    found: list[bool | None] = [None] * count
    for segment in _SEGMENTS.split(reply):
        match = _POINT.match(segment)
        if match is None or not 1 <= int(match["number"]) <= count:
            continue
        said = _plain(match["said"])
        verdict = (
            _YES_NO.match(said)
            or _YES_NO.match(_SEPARATORS.split(said)[-1])
            or re.search(r"\b(?P<said>yes|no)\W*$", said)
        )
        if verdict is not None:
            found[int(match["number"]) - 1] = verdict["said"] in ("yes", "true", "1")
    if count == 1 and found[0] is None:
        found[0] = read_consistency(reply)
    return found


def read_rating(reply: str, most: int = 5) -> int | None:
    """Return the one rating from 1 to `most` that a reply gives, or None.

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
