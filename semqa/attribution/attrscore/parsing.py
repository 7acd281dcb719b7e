r"""Which label a model's output says: the rules, from the plainest sign to the faintest.

1. **JSON**: the field that holds the verdict (`structured`). One that is there and names no label
   ends the search.
2. **A label field in words**: "Label: …", "Final answer: …", ``\boxed{…}``; the last that says one.
   Labels with figures ("Attributable: 10%, Contradictory: 80%") are such fields: the highest counts.
3. **A bare end**: the last line or sentence is a label and nothing else ("Contradictory.", "It is
   attributable"), then **a bare beginning** ("Attributable. The reference …").
4. **A conclusion**: "therefore …", "so …", "the answer is …"; the last that says one.
5. **The whole text**, in the words of the prompt's family; else in those of the other families; else
   in paraphrases ("cannot be inferred", "the claim is false"). One label said is the label. Of
   several, what only seems so gives way; then what follows "but" or "however" counts; parts of a claim
   that are judged differently make it contradictory before extrapolatory before attributable, for
   attributable means in full. Otherwise there is none.
6. **What is denied**: two labels denied leave the third; "not attributable", "unsupported" or "partly
   supported" alone is extrapolatory, for nothing is said to contradict.

Said is a label only where it is neither denied ("not …", "un…", "fails to …", "neither … nor"), nor
asked ("Attributable? No."), nor listed among others ("Attributable or Contradictory"), nor a
condition ("whether it supports"). What a model writes after its verdict as a next example of its own
("Claim: …") does not count. Nothing of all this gives None, an *unparsed* output, which is scored as
wrong; so does a bare "yes" or "no", for the prompts ask for a label.

The tables of words are in `mentions`. With ``official=True`` the released code's parser is
reproduced in place of these rules, with all its defects (`official`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from semqa.attribution.attrscore.family import family_named
from semqa.attribution.attrscore.label import LABELS
from semqa.attribution.attrscore.mentions import find_mentions
from semqa.attribution.attrscore.official import official_label
from semqa.attribution.attrscore.plain import plain
from semqa.attribution.attrscore.structured import read_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from semqa.attribution.attrscore.label import Label
    from semqa.attribution.attrscore.mentions import Mention

__all__ = ["Parsed", "parse_label", "parse_output"]


class Parsed(NamedTuple):
    """A label and the rule that found it.

    Attributes:
        label: None where there was none to find.
        rule: ``json``, ``field``, ``end``, ``beginning``, ``conclusion``, ``text``, ``denial``,
            ``official`` or ``unparsed``.
    """

    label: Label | None
    rule: str


_NAME = (
    r"(?:answer|label|verdict|judge?ment|classification|conclusion|relationship|relation|decision"
    r"|result|category|rating|determination|response|output|prediction|choice|assessment|attribution"
    r"|evaluation|status|class|boxed)"
)
_FIELD: Final = re.compile(
    rf"\b{_NAME}(?: of [a-z ]{{1,40}}?| between [a-z ]{{1,40}}?)? ?(?:is ?)?[:=]\s*"
)
_CONCLUSION: Final = re.compile(
    rf"(?:\b(?:therefore|thus|hence|consequently|accordingly|in conclusion|to conclude|in summary"
    rf"|to summari[sz]e|in short|overall|ultimately|finally|as a result|for this reason)\b"
    rf"|(?:^|[.,;] ?)so\b|\b{_NAME} (?:is|would be|should be|must be)\b) ?,?",
    re.MULTILINE,
)
_SENTENCE_END: Final = re.compile(r"[.!?;](?=\s|$)|\n")
_CONTRAST: Final = re.compile(
    r"\b(?:but|however|instead|rather|nevertheless|nonetheless|actually|ultimately|overall|wait"
    r"|correction|on reflection|on second thoughts?)\b"
)
_CONCESSION: Final = re.compile(r"\b(?:although|though|even though|while|whereas)\b[^,.;\n]*[,]")
_REASON: Final = re.compile(r"\b(?:because|since|given that|as)\b[^.;\n]*")
_FRAME: Final = re.compile(
    r"\b(?:claim|statement|answer|summary|hypothesis|relation(?:ship)?|it|this)(?: \w+){0,3}?"
    r" (?:is|are|be|as) (?:\w+ )?$"
)
"""What stands in front of a label that is said of the claim, and not of something in the reference."""
_FILLER: Final = re.compile(
    r"\b(?:it|this|that|the|claim|statement|answer|summary|hypothesis|reference|evidence|relationship"
    r"|relation|label|verdict|is|as|a|an|are|be|would|i|say|so|classified|therefore|thus|hence|final|yes|no"
    r"|fully|clearly|completely|entirely|and|by|to|with)\b|[^a-z]+"
)
_AFTER_BEGINNING: Final = re.compile(r" ?(?:$|[.,;:!(\n/-]|\b(?:because|since|as|for|due)\b)")
_NEXT_EXAMPLE: Final = re.compile(
    r"\n(?:input|claim|hypothesis|premise|summary|source|evidence|reference|question|instruction"
    r"|example \d+) ?:"
)
_TAKEN_BACK: Final = re.compile(
    r"\b(?:wait|correction|on reflection|on second thoughts?|scratch that)\b"
)
_FIGURE: Final = re.compile(r"\)? ?[:=(] ?(\d{1,3}(?:\.\d+)?)(?![\w.]*\d)")
_WORST_FIRST: Final[tuple[Label, ...]] = ("Contradictory", "Extrapolatory", "Attributable")


def parse_label(
    output: str, family: str = "attribution", *, official: bool = False
) -> Label | None:
    """Return the label that an output says, or None.

    Args:
        output: what a model wrote.
        family: the prompt family that asked, by our name or the released code's.
        official: parse as the released code does.

    Raises:
        InputError: there is no such family.

    Example:
        >>> parse_label("It is not attributable; it is contradictory.")
        'Contradictory'
        >>> parse_label("Not Enough Information", "fact-checking")
        'Extrapolatory'
        >>> parse_label("I cannot decide") is None
        True
    """
    return parse_output(output, family, official=official).label


def parse_output(output: str, family: str = "attribution", *, official: bool = False) -> Parsed:
    """Return the label that an output says with the rule that found it; as `parse_label`."""
    name = family_named(family).name
    if official:
        found = official_label(output, name)
        return Parsed(found, "unparsed" if found is None else "official")
    for field in read_fields(output):
        label = _Reader(plain(field.text), name).read().label
        if label is not None:
            return Parsed(label, "json")
        if field.final:
            return Parsed(None, "unparsed")
    text = plain(output)
    for break_ in _NEXT_EXAMPLE.finditer(text):
        parsed = _Reader(text[: break_.start()], name).decided()
        if parsed is not None:
            return parsed
    return _Reader(text, name).read()


class _Reader:
    """One text and the labels that it speaks of."""

    def __init__(self, text: str, family: str) -> None:
        self._family = family
        self._text, self._mentions = find_mentions(text, family)
        self._denied: set[Label] = set()

    def read(self) -> Parsed:
        parsed = self.decided()
        if parsed is not None:
            return parsed
        mentions = [m for m in self._mentions if m.label not in self._denied]
        if (label := self._last(_CONCLUSION, longest=200, faintest=2)) is not None:
            return Parsed(label, "conclusion")
        if any(m.stance == "said" for m in mentions):
            label = _said(self._text, mentions)
            return Parsed(label, "unparsed" if label is None else "text")
        label = _left(self._denied | {m.label for m in self._mentions if m.stance == "denied"})
        return Parsed(label, "unparsed" if label is None else "denial")

    def decided(self) -> Parsed | None:
        """Follow the rules that need no understanding of sentences: fields, end and beginning."""
        weighed = self._weighed()
        if weighed is not None:
            return weighed
        if (label := self._last(_FIELD, longest=400, faintest=3)) is not None:
            return Parsed(label, "field")
        if (label := self._end()) is not None:
            return Parsed(label, "end")
        if (label := self._beginning()) is not None:
            return Parsed(label, "beginning")
        return None

    def _weighed(self) -> Parsed | None:
        """Return the label with the highest figure, where several have one; none where two share it."""
        figures: dict[Label, float] = {}
        for mention in self._mentions:
            if mention.tier <= 2 and (figure := _FIGURE.match(self._text, mention.end)):
                figures[mention.label] = float(figure[1])
        if len(figures) < 2:
            return None
        best = _only({label for label, held in figures.items() if held == max(figures.values())})
        return Parsed(best, "unparsed" if best is None else "field")

    def _last(self, sign: re.Pattern[str], *, longest: int, faintest: int) -> Label | None:
        """Return the label that is said in the sentence after a sign, the last one that says any."""
        found: Label | None = None
        for match in sign.finditer(self._text):
            end = _SENTENCE_END.search(self._text, match.end())
            stop = min(end.start() if end else len(self._text), match.end() + longest)
            within = [
                m for m in self._mentions if match.end() <= m.start < stop and m.tier <= faintest
            ]
            label = _said(self._text, within)
            if label is not None:
                found = label
            elif sign is _FIELD:
                self._denied |= {m.label for m in within if m.stance == "denied"}
        return found if found not in self._denied else None

    def _end(self) -> Label | None:
        """Return the label that the last sentence, or line, consists of."""
        starts = [m.end() for m in _SENTENCE_END.finditer(self._text.rstrip(" .!\n"))]
        return self._bare(starts[-1]) if starts else None

    def _bare(self, start: int) -> Label | None:
        within = [m for m in self._mentions if m.start >= start and m.tier <= 2]
        label = _only({m.label for m in within if m.stance == "said"})
        if label is None or len({m.label for m in within}) > 1:
            return None
        rest = list(self._text)
        for mention in within:
            rest[mention.start : mention.end] = " " * (mention.end - mention.start)
        return None if _FILLER.sub("", "".join(rest[start:])) else label

    def _beginning(self) -> Label | None:
        """Return the label that the text begins with, where nothing but a reason follows."""
        first = next((m for m in self._mentions if m.tier <= 2), None)
        if first is None or _FILLER.sub("", self._text[: first.start]):
            return None
        bare = not re.search("[a-z]", self._text[: first.start])
        after = _AFTER_BEGINNING.match(self._text, first.end)
        if after is None or (
            not bare and not re.match(r" ?(?:$|[.!;:\n])", self._text[first.end :])
        ):
            return None
        if first.stance == "denied":
            self._denied.add(first.label)
        if _TAKEN_BACK.search(self._text, first.end):
            return None
        return first.label if first.stance == "said" else None


def _said(text: str, mentions: Sequence[Mention]) -> Label | None:
    """Return the one label that is said, or that weighs most among several."""
    for tier in (1, 2, 3):
        said = [m for m in mentions if m.stance == "said" and m.tier == tier]
        if not said:
            continue
        for some in _narrowed(text, said, mentions):
            if (label := _only({m.label for m in some})) is not None:
                return label
        if any(m.verb for m in said):
            labels = {m.label for m in said}
            return next(label for label in _WORST_FIRST if label in labels)
        return None
    return None


def _narrowed(
    text: str, said: Sequence[Mention], mentions: Sequence[Mention]
) -> Iterator[Sequence[Mention]]:
    """Yield ever fewer of the labels that are said: those that weigh more."""
    yield said
    last = {m.label: m.stance for m in mentions if m.stance != "named" and m.tier == said[0].tier}
    said = [m for m in said if last[m.label] == "said"] or said
    yield said
    conceded = [(m.start(), m.end()) for m in _CONCESSION.finditer(text)]
    said = [m for m in said if not any(a <= m.start < b for a, b in conceded)] or said
    said = [m for m in said if not m.hedged] or said
    yield said
    reasons = [(m.start(), m.end()) for m in _REASON.finditer(text)]
    yield [m for m in said if not any(a <= m.start < b for a, b in reasons)]
    yield [m for m in said if _FRAME.search(text, max(0, m.start - 80), m.start)]
    contrasts = [m.end() for m in _CONTRAST.finditer(text) if m.end() < said[-1].start]
    after = [m for m in said if contrasts and m.start > contrasts[-1]]
    if after and not (all(m.verb for m in said) and after[-1].label == "Attributable"):
        yield after


def _only(labels: AbstractSet[Label]) -> Label | None:
    return next(iter(labels)) if len(labels) == 1 else None


def _left(denied: AbstractSet[Label]) -> Label | None:
    """Return what is left when labels are denied."""
    if len(denied) == 2:
        return _only(set(LABELS) - denied)
    return "Extrapolatory" if denied == {"Attributable"} else None
