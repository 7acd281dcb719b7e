"""A judge that needs no model: it compares words.

It makes every command usable without models and is a baseline for other judges. It knows no
synonyms, syntax or facts: a paraphrase counts as neutral, and the same words in another order count
as entailed. Do not report scores based on it as results of a metric.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, takewhile
from typing import NamedTuple

from semqa.attribution.judges.base import Entailment, Judge, Pair, Reading, Span
from semqa.attribution.sentences import sentence_ranges, split_sentences, word_set

_WORD = re.compile(
    r"(?<![^\W_])(?:[^\W\d_]\.){2,}(?:[^\W\d_](?![^\W_]))?"  # U.S., B.B.C
    r"|[^\W_]+(?:[.,:/][0-9]+)*(?:['’][^\W_]+)*(?:%|°)?"
)
_ENUMERATION = re.compile(r"\([0-9]{1,2}\)")
"""List numbers, which carry no meaning."""


_FUNCTION_WORDS = word_set(
    """a an the this that these those there here it its itself he him his she her hers they them their
    theirs we us our ours i me my mine you your yours who whom whose which what when where why how
    is am are was were be been being do does did done doing has have had having will would shall
    should can could may might must of in on at by for to from with within into onto upon about as
    than then so and or but if because while also too very just only both either each such own same
    one other another more most some any all many much few per via up down out over under again further
    according source sources say says said state states stated
    not no nor never neither none nobody nothing cannot without"""
)
_NEGATIONS = word_set(
    """not no never neither nor none nobody nothing nowhere cannot without hardly scarcely barely
    fail fails failed refuse refused refuses deny denies denied lack lacks lacked"""
)
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_NUMBERS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split())}
del _NUMBERS["one"]  # often used like an article
_SUFFIXES = "ational ations ation ings ing edly ies ied es ed ly s"
_MIN_STEM = 3


class Token(NamedTuple):
    """A word at ``text[start:end]``; two words with the same key count as equal."""

    key: str
    start: int
    end: int
    content: bool  # not a function word
    number: bool  # in digits or in words
    fixed: bool  # a number or a name, which has no synonyms
    negation: bool


def read_tokens(text: str) -> list[Token]:
    """Return the words of a text, in order.

    Example:
        >>> [token.key for token in read_tokens("Ann's bridges opened; 1,200 came.") if token.content]
        ['ann', 'bridg', 'open', '1200', 'cam']
    """
    tokens = []
    sentence_start = True
    last = 0
    for match in _WORD.finditer(text):
        sentence_start = sentence_start or any(
            mark in '.!?:\n"“' for mark in text[last : match.start()]
        )
        if _ENUMERATION.fullmatch(text, max(0, match.start() - 1), match.end() + 1):
            sentence_start = True
            continue
        last = match.end()
        key, _, _, *rest = _token(match[0], sentence_start=sentence_start)
        tokens.append(Token(key, match.start(), match.end(), *rest))
        sentence_start = False
    # “Ann Lee opened it”: a capitalised word directly before a name belongs to the name.
    for place in range(len(tokens) - 2, -1, -1):
        token, following = tokens[place], tokens[place + 1]
        together = text[token.end : following.start] == " " and text[token.start].isupper()
        if together and following.fixed and not following.number and token.content:
            tokens[place] = token._replace(fixed=True)
    return tokens


@lru_cache(maxsize=2**16)
def _token(raw: str, *, sentence_start: bool) -> Token:
    """Classify a word; its position is left at 0, so that the result can be cached."""
    plain = unicodedata.normalize("NFKC", raw).casefold().replace("’", "'")
    negation = plain in _NEGATIONS or plain.endswith("n't")
    plain = plain.removesuffix("'s")
    if "." in plain and plain[0].isalpha():
        plain = plain.replace(".", "")
    digits = any(character.isdigit() for character in plain)
    number = digits or plain in _NUMBERS
    if number:
        key = re.sub(r"(?<=\d),(?=\d{3})", "", _NUMBERS.get(plain, plain))
        return Token(key, 0, 0, True, True, True, negation)
    country = plain == "us" and raw.isupper()
    content = (plain not in _FUNCTION_WORDS or country) and not negation
    # At the beginning of a sentence, a capital letter does not mark a name.
    name = content and raw[0].isupper() and (not sentence_start or raw[1:2].isupper())
    key = "U.S." if country else _stem(plain)
    return Token(key, 0, 0, content, False, name, negation)


def _stem(word: str) -> str:
    if not word.isascii():
        return word
    for end in _SUFFIXES.split():
        if word.endswith(end) and len(word) - len(end) >= _MIN_STEM and not word.endswith("ss"):
            word = word[: -len(end)]
            break
    if len(word) > _MIN_STEM and word[-1] in "eiy":
        word = word[:-1]
    if len(word) > _MIN_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word


_VERSION = 6
"""Increase this with each change of the rules, because results are cached."""

_MIDPOINT = 0.75
"""Share of content words in the premise at which entailment has probability 0.5."""

_SLOPE = 14.0
_MAX_IF_MISSING = 0.02
"""Probability of entailment if the premise lacks a number or a name of the hypothesis."""

_SAME_TOPIC = 0.7
"""Minimum share of common content words for two sentences to have the same topic. A negation in
only one of them, or a different number, is then a contradiction."""


class LexicalJudge(Judge):
    """A judge that only compares words: deterministic, fast (microseconds) and weak.

    Entailment is a logistic function of the share of the hypothesis's stemmed content words that
    occur in the premise. A number or a name that the premise lacks is not entailed. If a sentence
    of the premise has nearly the same words, a negation in only one of the two, or a different
    number, is a contradiction. Questions in the hypothesis are ignored.

    An answer comes from the sentence with most of the question's words: the run of other words
    whose context and type fit the question word best. A question is the sentence of the answer
    with a question word in place of the answer.

    Example:
        >>> from semqa.attribution.judges import Pair
        >>> judge = LexicalJudge()
        >>> premise = "Ann Lee opened the bridge in 1932."
        >>> [each.entailed for each in judge.entailment(
        ...     [Pair(premise, "The bridge was opened by Ann Lee."),
        ...      Pair(premise, "Ann Lee opened the bridge in 1933."),
        ...      Pair(premise, "Ann Lee did not open the bridge.")])]
        [True, False, False]
    """

    def __init__(self) -> None:
        self.name = "lexical"
        self.identity = f"lexical/{_VERSION}"

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        return [_entailment(pair.premise, pair.hypothesis) for pair in pairs]

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        return list(map(answer_reading, readings))

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        return [questions_for(answer, passage)[:count] for answer, passage in readings]


_CLAUSE = re.compile(r"[,;:()–—]+\s|\s(?:but|although|though|while|whereas)\s")


class _Claim(NamedTuple):
    """Keys of a sentence's content words; `denied` has those of each clause that is negated."""

    content: frozenset[str]
    fixed: frozenset[str]
    numbers: frozenset[str]
    denied: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, text: str) -> _Claim:
        tokens = read_tokens(text)
        clauses = [read_tokens(clause) for clause in _CLAUSE.split(text)]
        return cls(
            _content(tokens),
            frozenset(token.key for token in tokens if token.content and token.fixed),
            frozenset(token.key for token in tokens if token.number),
            tuple(_content(each) for each in clauses if sum(t.negation for t in each) % 2),
        )

    def denies(self, other: frozenset[str]) -> bool:
        return any(clause & other for clause in self.denied)


def _content(tokens: Sequence[Token]) -> frozenset[str]:
    return frozenset(token.key for token in tokens if token.content)


def _entailment(premise: str, hypothesis: str) -> Entailment:
    claims = [_Claim.of(text) for text in split_sentences(hypothesis) if not text.endswith("?")]
    claims = [claim for claim in claims if claim.content]
    if not claims:
        return _probabilities(0.0, 0.0)
    known, given = _read_premise(premise)
    judged = [_judge(claim, known, given) for claim in claims]
    # Every sentence must be entailed; one contradicted sentence contradicts the whole.
    return _probabilities(min(each[0] for each in judged), max(each[1] for each in judged))


@lru_cache(maxsize=256)
def _read_premise(premise: str) -> tuple[frozenset[str], tuple[_Claim, ...]]:
    """Return the words and the claims of a premise; cached, because premises recur."""
    words = frozenset(token.key for token in read_tokens(premise))
    return words, tuple(_Claim.of(text) for text in split_sentences(premise))


def _judge(claim: _Claim, known: frozenset[str], given: Sequence[_Claim]) -> tuple[float, float]:
    """Return scores in [0, 1] for entailment and for contradiction of a claim."""
    covered = len(claim.content & known) / len(claim.content)
    entailed = 1 / (1 + math.exp(-_SLOPE * (covered - _MIDPOINT)))
    missing = claim.fixed - known
    if missing:
        entailed = min(entailed, _MAX_IF_MISSING)
    contradicted = 0.0
    nearest = max(given, key=lambda each: len(claim.content & each.content), default=None)
    if nearest is not None:
        plain = claim.content - claim.numbers
        overlap = len(plain & nearest.content) / len(plain) if plain else 0.0
        # A negated clause counts only if it shares a word with the other sentence.
        denied = claim.denies(nearest.content) != nearest.denies(claim.content)
        other = bool(claim.numbers - nearest.numbers) and bool(nearest.numbers - claim.numbers)
        # A different number is a contradiction if the premise lacks only numbers of the claim.
        if overlap >= _SAME_TOPIC and (denied or (other and missing and missing <= claim.numbers)):
            contradicted = 0.9 * overlap
            entailed = min(entailed, 0.05)
    return entailed, contradicted


def _probabilities(entailed: float, contradicted: float) -> Entailment:
    contradiction = contradicted * (1 - entailed)
    return Entailment(entailed, 1 - entailed - contradiction, contradiction)


_MIN_SHARED = 0.5
"""Minimum share of a question's content words in a sentence that can answer it."""

_CONTEXT_WORDS = 4
"""Number of words compared on each side of the question word."""

_QUESTION_WORD = re.compile(
    r"\b(how (?:many|much|old|long|far|often)|(?:in |on |at )?(?:which|what) (?:year|date|day|month)"
    r"|who|whom|whose|when|where|which|what|why|how)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1[0-9]|20)[0-9]{2}$")
_DATE_WORDS = word_set(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday"
)


def questions_for(answer: str, passage: str) -> list[str]:
    """Return questions with a given answer, best first; empty if the passage lacks the answer.

    Example:
        >>> questions_for("1932", "The bridge opened in 1932. It is red.")
        ['The bridge opened in which year?', 'The bridge opened in what?']
    """
    wanted = answer.strip()
    if not wanted:
        return []
    found: list[str] = []
    whole = re.compile(rf"(?<![^\W_]){re.escape(wanted)}(?![^\W_])")
    for start, end in sentence_ranges(passage):
        match = whole.search(passage, start, end)
        if match is None:
            continue
        before, after = passage[start : match.start()], passage[match.end() : end].rstrip(" .!?;:")
        for word in _question_words(wanted, before):
            shown = word if before.strip() else word.capitalize()
            found.append(" ".join(f"{before}{shown}{after}?".split()))
    return list(dict.fromkeys(found))


def _question_words(answer: str, before: str) -> list[str]:
    tokens = read_tokens(answer)
    if any(_YEAR.match(token.key) for token in tokens):
        return ["which year", "what"] if len(tokens) == 1 else ["when", "what"]
    if any(token.number for token in tokens):
        return ["how many", "what"]
    if answer[:1].isupper():
        place = before.rstrip().casefold().endswith((" in", " at", " from", " near"))
        return ["where", "what"] if place else ["who", "what"]
    return ["what", "which"]


def answer_reading(reading: Reading) -> Span | None:
    """Return the span that best fits a question, or None.

    Example:
        >>> from semqa.attribution.judges import Reading
        >>> answer_reading(Reading("Who built the bridge?", "Ann Lee built the bridge.")).text
        'Ann Lee'
    """
    question, passage = reading
    gap = _QUESTION_WORD.search(question)
    left = read_tokens(question[: gap.start()] if gap else "")
    right = read_tokens(question[gap.end() :] if gap else question)
    asked = gap[1].casefold() if gap else ""
    wanted = {token.key for token in (*left, *right) if token.content}
    if not wanted:
        return None
    best: tuple[float, int, int, float] | None = None
    for start, end in sentence_ranges(passage):
        tokens = [
            token._replace(start=token.start + start, end=token.end + start)
            for token in read_tokens(passage[start:end])
        ]
        shared = len(wanted & {token.key for token in tokens}) / len(wanted)
        if shared < _MIN_SHARED:
            continue
        for first, last in _candidate_runs(tokens, wanted, passage):
            score = shared + _score_run(tokens, first, last, asked, left, right)
            if best is None or score > best[0]:
                best = (score, tokens[first].start, tokens[last].end, shared)
    if best is None:
        return None
    _, start, end, shared = best
    return Span(passage[start:end], start, end, shared)


def _candidate_runs(
    tokens: Sequence[Token], wanted: set[str], passage: str
) -> Iterator[tuple[int, int]]:
    """Yield the first and last token of runs of words that are not in the question.

    Function words at the ends of a run are left out.
    """
    first = 0
    while first < len(tokens):
        if not tokens[first].content or tokens[first].key in wanted:
            first += 1
            continue
        last = at = first
        while at + 1 < len(tokens) and tokens[at + 1].key not in wanted:
            if re.search(r"[,;:()—–]", passage[tokens[at].end : tokens[at + 1].start]):
                break
            at += 1
            if tokens[at].content:
                last = at
        yield first, last
        # Numbers and names within the run are candidates, too.
        for fixed, group in groupby(range(first, last + 1), lambda place: tokens[place].fixed):
            inner = list(group)
            if fixed and len(inner) <= last - first:
                yield inner[0], inner[-1]
        first = last + 1


def _score_run(
    tokens: Sequence[Token],
    first: int,
    last: int,
    asked: str,
    left: Sequence[Token],
    right: Sequence[Token],
) -> float:
    """Score how well a run fits the question word, by its context and its type."""
    before = [token.key for token in tokens[max(0, first - _CONTEXT_WORDS) : first]][::-1]
    after = [token.key for token in tokens[last + 1 : last + 1 + _CONTEXT_WORDS]]
    around = _common_prefix(before, [token.key for token in left][::-1])
    around += _common_prefix(after, [token.key for token in right])
    run = tokens[first : last + 1]
    kind = 0.0
    if asked.startswith("how "):
        kind = 1.0 if any(token.number for token in run) else -0.5
    elif asked == "when" or asked.endswith(("year", "date", "day", "month")):
        dated = any(_YEAR.match(token.key) or token.key in _DATE_WORDS for token in run)
        kind = 1.0 if dated else -0.5
    elif asked in ("who", "whom", "whose", "where"):
        kind = 0.5 if any(token.fixed and not token.number for token in run) else 0.0
        kind = 0.5 if first == 0 and asked == "who" else kind
    return around / _CONTEXT_WORDS + kind - 0.01 * len(run)


def _common_prefix(one: list[str], other: list[str]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
