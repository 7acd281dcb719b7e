"""Find the informative spans of a response, which questions are generated for.

In the paper, they are named entities and noun chunks from spaCy. Without a spaCy model, these rules
for English are used instead:

1. Words are runs of letters and digits, with inner full stops, apostrophes, hyphens and commas.
2. *Entities* are dates; numbers with their sign, unit or range; text in double quotes; and runs of
   capitalised words, joined by words such as *of* and *van*. The first word of a sentence only
   counts if another capitalised word follows.
3. *Chunks* are runs of words between boundaries: punctuation, pronouns, prepositions, conjunctions,
   auxiliaries, common verbs and adverbs in *-ly*. A determiner starts a new chunk.

Both methods return entities first, then chunks that are not entities, in text order. The rules find
more uninformative spans than a parser. Few questions about such a span have it as their answer, so
most of them are rejected later.

Source: Honovich et al. 2021.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

from semqa.attribution.sentences import word_set
from semqa.errors import InputError
from semqa.extras import require

DETERMINERS = word_set(
    "a an the this these those my your his her its our their some any no every each either "
    "neither another such both all"
)
"""Words that can begin a noun phrase but cannot form one."""

PRONOUNS = word_set(
    "i me myself mine you yours yourself yourselves he him himself she hers herself it itself we us "
    "ours ourselves they them theirs themselves one ones who whom whose which what someone somebody "
    "something anyone anybody anything everyone everybody everything nobody nothing none there here "
    "where when why how whoever whatever"
)

CONNECTORS = word_set("of the & de la le del der den di du da van von")
"""Lower-case words that can occur inside a name: *House of Lords*, *Ludwig van Beethoven*."""

CONTRACTIONS = word_set("s t m re ve ll d")
"""Contracted verbs and possessive endings after a separate apostrophe: *i ' m*."""

MONTHS = word_set(
    "january february march april may june july august september october november december jan feb "
    "mar apr jun jul aug sep sept oct nov dec"
)

_PREPOSITIONS = (
    "about above across after against along amid among around as at before behind below beneath "
    "beside besides between beyond by despite down during except for from in inside into like adjacent "
    "of off on onto out outside over past per since than through throughout till to toward towards "
    "under until up upon via with within without"
)
_CONJUNCTIONS = (
    "that and or but nor so yet because although though while whereas if unless whether once however "
    "therefore thus also too either neither not n't"
)
_AUXILIARIES = (
    "am is are was were be been being have has had having do does did doing done can could will "
    "would shall should may might must ought need cannot ca wo ai let 's 're 've 'm 'll 'd"
)
_ADVERBS = (
    "very really quite just only even still already always never ever often sometimes usually "
    "again almost maybe perhaps now then ago away back together soon later later today tomorrow "
    "yesterday well far much more most less least rather pretty especially mostly mainly probably "
    "actually originally recently currently typically generally approximately roughly nearly "
    "yes yeah yep no nope oh wow hi hello hey ok okay sure please thanks thank lol haha"
)
_VERBS = (
    "say says said tell tells told think thinks thought know knows knew known believe believes "
    "believed mean means meant call calls called name names named consider considers considered "
    "make makes made making take takes took taken taking get gets got getting give gives gave given "
    "giving go goes went gone going come comes came coming see sees saw seen seeing look looks "
    "looked looking find finds found finding use uses used using want wants wanted try tries tried "
    "trying ask asks asked seem seems seemed feel feels felt become becomes became leave leaves "
    "left put puts keep keeps kept begin begins began begun start starts started run runs ran show "
    "shows showed shown hear hears heard play plays played playing move moves moved live lives lived "
    "living bring brings brought hold holds held write writes wrote written stand stands stood "
    "lose loses lost pay pays paid meet meets met include includes included including continue "
    "continues set sets learn learns learned change changes changed lead leads led understand "
    "watch watches watched follow follows followed stop stops stopped create creates created "
    "speak speaks spoke spoken read reads allow allows allowed add adds added spend spends spent "
    "grow grows grew grown open opens opened walk walks win wins won offer offers offered remember "
    "love loves loved like likes liked enjoy enjoys enjoyed hate hates hated buy buys bought eat "
    "eats ate eaten serve serves served die dies died send sends sent expect build builds built stay "
    "fall falls fell fallen cut reach reaches reached kill kills killed remain remains remained "
    "agree agrees agreed realize realized suggest raise raises raised pass passes sell sells sold require requires required report "
    "decide pull bear born belong belongs based known located founded formed released published "
    "produced developed introduced considered associated characterized composed consist consists "
    "consisted contain contains contained own owns owned employ employs employed occur occurs "
    "occurred air aired airs star stars starred direct directed establish established invent "
    "invented discover discovered describe describes described define defined refer refers referred "
    "depend depends work works worked worry help helps helped prove proves proved proven"
)

BOUNDARIES = PRONOUNS | word_set(
    f"{_PREPOSITIONS} {_CONJUNCTIONS} {_AUXILIARIES} {_ADVERBS} {_VERBS}"
)
"""Words that cannot be part of a noun phrase."""

VERBAL = PRONOUNS | word_set(_AUXILIARIES)
"""After these, a word in *-ed* or *-ing* is a verb."""


SPACY_MODELS = ("en_core_web_sm", "en_core_web_md", "en_core_web_lg", "en_core_web_trf")
"""spaCy models in the order that ``auto`` tries them; the first is that of the paper."""


class InformativeSpan(NamedTuple):
    """A span of a response: ``response[start:end] == text``."""

    text: str
    start: int
    end: int


class SpanFinder(Protocol):
    """Finds informative spans; `name` identifies it, with the version of its model."""

    name: str

    def spans(self, text: str) -> list[InformativeSpan]:
        """Return the spans, best first; the same text can occur several times."""
        ...

    def personal(self, question: str) -> bool:
        """Return whether a question is about the speakers, not about the knowledge."""
        ...


def create_span_finder(spec: str = "auto") -> SpanFinder:
    """Create a span finder: ``rules``, ``spacy:`` and the name or folder of a model, or ``auto``.

    ``auto`` uses the first of `SPACY_MODELS` that is installed, otherwise ``rules``.

    Example:
        >>> create_span_finder("rules").name
        'rules'
    """
    kind, _, model = spec.partition(":")
    if spec == "auto":
        model = next(filter(find_spec, SPACY_MODELS), "")
        return SpacySpans(model) if model else RuleSpans()
    if spec == "rules":
        return RuleSpans()
    if kind == "spacy" and model:
        return SpacySpans(model)
    raise InputError(f"must be auto, rules or spacy:MODEL, got {spec!r}.", field="--spans")


class SpacySpans:
    """Named entities and noun chunks from a spaCy pipeline with a parser or NER."""

    def __init__(self, model: str) -> None:
        spacy = require("spacy", extra="eval", purpose=f"the span finder spacy:{model}")
        try:
            self._nlp: Any = spacy.load(model)
        except (OSError, ValueError) as error:
            raise InputError(
                f"names a spaCy model that is not installed: {model!r}.",
                field="--spans",
                hint=f"Run python -m spacy download {SPACY_MODELS[0]} or use rules.",
            ) from error
        meta = self._nlp.meta
        self.name = f"spacy:{meta['lang']}_{meta['name']} {meta['version']}"
        self._parses = self._nlp("He is here.").has_annotation("DEP")
        if not self._parses and not {"ner", "entity_ruler", "span_ruler"} & set(
            self._nlp.pipe_names
        ):
            raise InputError(
                f"names a spaCy model without a parser or NER: {model!r}.",
                field="--spans",
                hint="Use another model or rules.",
            )

    def spans(self, text: str) -> list[InformativeSpan]:
        document = self._nlp(text)
        entities = [_span(found) for found in document.ents]
        chunks = [_span(found) for found in document.noun_chunks] if self._parses else []
        return _informative(entities, chunks)

    def personal(self, question: str) -> bool:
        """Return whether *I* or *you* is a subject, or *my* or *your* a possessive."""
        if not self._parses:
            return personal_by_words(question)
        return any(
            (token.dep_ == "nsubj" and token.lower_ in {"i", "you"})
            or (token.dep_ == "poss" and token.lower_ in {"my", "your"})
            for token in self._nlp(question)
        )


def _span(found: Any) -> InformativeSpan:
    return InformativeSpan(found.text, found.start_char, found.end_char)


class RuleSpans:
    """Spans from the rules of this module."""

    name = "rules"

    def spans(self, text: str) -> list[InformativeSpan]:
        """Return entities, then chunks that are not entities.

        Example:
            >>> [s.text for s in RuleSpans().spans("The Beatles formed in 1960 in Liverpool.")]
            ['The Beatles', '1960', 'Liverpool']
            >>> [s.text for s in RuleSpans().spans("red hair occurs in 1 - 2 percent of people .")]
            ['1 - 2 percent', 'red hair', 'people']
        """
        words = list(_WORD.finditer(text))
        entities = _longest([*_quoted(text), *_dates_and_numbers(text), *_names(text, words)])
        chunks = [
            chunk
            for chunk in _chunks(text, words)
            if not any(_conflicts(chunk, entity) for entity in entities)
        ]
        return _informative(entities, chunks)

    def personal(self, question: str) -> bool:
        return personal_by_words(question)


def _conflicts(chunk: InformativeSpan, entity: InformativeSpan) -> bool:
    """Return whether a chunk overlaps an entity without properly containing it."""
    apart = chunk.end <= entity.start or entity.end <= chunk.start
    whole = chunk.start <= entity.start and entity.end <= chunk.end
    return not apart and (not whole or chunk == entity)


_PERSONAL = re.compile(r"(?<![\w'’.])(?:i|you|my|your)(?![\w.])", re.IGNORECASE)


def personal_by_words(question: str) -> bool:
    """Return whether a question contains *I*, *you*, *my* or *your*.

    *I* after a capitalised word inside a sentence is a numeral: *World War I*.

    Example:
        >>> personal_by_words("What do you like?"), personal_by_words("Who won World War I?")
        (True, False)
    """
    for match in _PERSONAL.finditer(question):
        before = question[: match.start()].split()
        if match[0] == "I" and len(before) > 1 and before[-1][:1].isupper():
            continue
        return True
    return False


def _informative(
    entities: Iterable[InformativeSpan], chunks: Iterable[InformativeSpan]
) -> list[InformativeSpan]:
    """Return entities, then chunks with new texts, without the word *I*."""
    found = list(entities)
    known = {span.text.lower() for span in found}
    for chunk in chunks:
        if chunk.text.lower() not in known:
            known.add(chunk.text.lower())
            found.append(chunk)
    return [span for span in found if span.text.lower() != "i"]


_WORD = re.compile(r"\w+(?:[.'’\-–,&]\w+)*(?:(?<=\b\w)\.(?=\s\w|\w))?|[^\w\s]")
_MONTH = "|".join(sorted((name.capitalize() for name in MONTHS), key=len, reverse=True))
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?:{_MONTH})\b\.?"
    r"(?:\s+\d{1,2}(?:st|nd|rd|th)?\b)?(?:\s*,)?(?:\s+(?:of\s+)?\d{4}\b)?",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.])[$€£]?\s?\d[\d.,]*\d(?:s|st|nd|rd|th)?(?!\w)|(?<![\w.])[$€£]?\d(?:s|st|nd|rd|th)?(?!\w)"
)
_RANGE = re.compile(r"\s*(?:-|–|to)\s*$")
_UNIT = re.compile(
    r"\s*(?:%|percent\b|per\s+cent\b|million\b|billion\b|trillion\b|thousand\b|hundred\b|years?\b|"
    r"months?\b|weeks?\b|days?\b|hours?\b|minutes?\b|seconds?\b|miles?\b|km\b|kilometers?\b|"
    r"meters?\b|metres?\b|feet\b|pounds?\b|dollars?\b|kg\b|centur(?:y|ies)\b|times\b)",
    re.IGNORECASE,
)
_QUOTES = re.compile(r"[\"“]\s*([^\"“”]{1,80}?)\s*[\"”]")


def _quoted(text: str) -> Iterator[InformativeSpan]:
    for match in _QUOTES.finditer(text):
        if match[1]:
            yield InformativeSpan(match[1], match.start(1), match.end(1))


def _dates_and_numbers(text: str) -> Iterator[InformativeSpan]:
    for match in _DATE.finditer(text):
        found = match[0].rstrip(" ,")
        if any(c.isdigit() for c in found) or (
            found[0].isupper() and found.lower() not in {"may", "mar"}
        ):
            yield InformativeSpan(found, match.start(), match.start() + len(found))
    numbers: list[tuple[int, int]] = []
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        start += len(match[0]) - len(match[0].lstrip())
        if numbers and _RANGE.fullmatch(text, numbers[-1][1], start):
            start = numbers.pop()[0]
        numbers.append((start, end))
    for start, end in numbers:
        stop = end
        while (unit := _UNIT.match(text, stop)) is not None:
            stop = unit.end()
        yield InformativeSpan(text[start:stop], start, stop)


def _names(text: str, words: Sequence[re.Match[str]]) -> Iterator[InformativeSpan]:
    run: list[re.Match[str]] = []
    starts_sentence = True
    at_sentence_start: bool = True
    for word in (*words, None):
        token = "" if word is None else word[0]
        adjacent = bool(run) and word is not None and not text[run[-1].end() : word.start()].strip()
        capital = token[:1].isupper() and token.lower() not in BOUNDARIES | MONTHS
        capital |= adjacent and token in {"I"}  # a numeral, as in World War I
        if capital and (not run or adjacent):
            if not run:
                at_sentence_start = starts_sentence
            run += [word] if word is not None else []
        elif adjacent and word is not None and token in CONNECTORS:
            run.append(word)
        else:
            yield from _name(text, run, at_sentence_start=at_sentence_start)
            run = [word] if capital and word is not None else []
            at_sentence_start = starts_sentence
        starts_sentence = token in {".", "!", "?", '"', "“", "”"} if token else False


def _name(
    text: str, run: list[re.Match[str]], *, at_sentence_start: bool
) -> Iterator[InformativeSpan]:
    while run and run[-1][0] in CONNECTORS:
        run.pop()
    capitals = [word for word in run if word[0][:1].isupper()]
    first = run[0][0].lower() if run else ""
    if not capitals or first in PRONOUNS:
        return
    if len(capitals) == 1 and (at_sentence_start or first in DETERMINERS):
        return
    yield InformativeSpan(text[run[0].start() : run[-1].end()], run[0].start(), run[-1].end())


def _chunks(text: str, words: Sequence[re.Match[str]]) -> Iterator[InformativeSpan]:
    run: list[re.Match[str]] = []
    before, previous = "", ""
    for word in (*words, None):
        token = "" if word is None else word[0].lower()
        is_boundary = (
            word is None
            or not token[:1].isalnum()
            or token in BOUNDARIES
            or (token in CONTRACTIONS and before in {"'", "’"})
            or (token.endswith("ly") and len(token) > 4)
        )
        if is_boundary or token in DETERMINERS:
            if run and _is_chunk([each[0].lower() for each in run], previous):
                start, end = run[0].start(), run[-1].end()
                yield InformativeSpan(text[start:end], start, end)
            run = []
        if not is_boundary and word is not None:
            if not run:
                previous = before
            run.append(word)
        before = token


def _is_chunk(tokens: Sequence[str], before: str) -> bool:
    """Return whether a run of words is a chunk: neither only determiners nor a verb, as in *was signed*."""
    verbal = len(tokens) == 1 and tokens[0].endswith(("ed", "ing")) and before in VERBAL
    return not verbal and not all(token in DETERMINERS for token in tokens)


def _longest(spans: Iterable[InformativeSpan]) -> list[InformativeSpan]:
    """Return non-overlapping spans in text order; the earlier and then the longer one wins."""
    ordered = sorted(set(spans), key=lambda span: (span.start, -span.end))
    kept: list[InformativeSpan] = []
    for span in ordered:
        if not kept or span.end > kept[-1].end:
            if kept and span.start < kept[-1].end:
                continue
            kept.append(span)
    return kept
