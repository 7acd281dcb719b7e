"""Word lists for free text, and the words that repairs compare."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from enum import IntEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

LANGUAGES = ("en", "de", "fr", "es")

_FUNCTIONS = (
    "articles",
    "pronouns",
    "prepositions",
    "conjunctions",
    "auxiliaries",
    "words",
    "negations",
)

# A part of these is a different number: "12" of "12,500", "2019" of "2019-2021".
_COMPOUND = re.compile(r"\d+(?:[.,:/–-]\d+)+")

# A run of letters and digits; apostrophes join runs ("it's", "O’Brady").
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@cache
def glue_words(language: str) -> frozenset[str]:
    """Return the glue words of a language in lower case; empty if it has no list.

    Example:
        >>> "according" in glue_words("en"), "unassisted" in glue_words("en")
        (True, False)
    """
    lists = _lists().get(language, {})
    listed = (words for name, words in lists.items() if name != "negations")
    return frozenset(" ".join(listed).split())


@cache
def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language, in lower case and capitalised.

    A quote must not consist of these words alone. "it's" counts as two words. "WHO" and "IT" are
    not included: in capitals they are names.

    Example:
        >>> functions = function_words("en")
        >>> "Which" in functions, "not" in functions, "often" in functions, "WHO" in functions
        (True, True, False, False)
    """
    lists = _lists().get(language, {})
    listed = " ".join(lists.get(name, "") for name in _FUNCTIONS).split()
    pieces = {piece for word in listed for piece in word.split("'")}
    return frozenset(pieces | {piece.capitalize() for piece in pieces})


@cache
def _lists() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("semqa.quotes").joinpath("glue.toml").read_text("utf-8"))


@lru_cache(maxsize=256)
def language_of(question: str) -> str:
    """Return the language whose list contains most words of the question; by default English.

    Example:
        >>> language_of("Wer hat das Lied gesungen?"), language_of("Who sang it?")
        ('de', 'en')
    """
    words = [word.lower() for word in _WORD.findall(question)]
    return max(LANGUAGES, key=lambda code: sum(word in glue_words(code) for word in words))


def words_as_asked(question: str) -> list[str]:
    """Return the words of a question as written, without compound numbers.

    Example:
        >>> words_as_asked("Who stole £12,500 in 1943?")
        ['Who', 'stole', 'in', '1943']
    """
    return _WORD.findall(_COMPOUND.sub(" ", question).replace("’", "'"))


@lru_cache(maxsize=256)
def question_words(question: str) -> frozenset[str]:
    """Return the words of a question in lower case, with "'s" and, in English, their inflections.

    Example:
        >>> sorted(question_words("who sang it?"))
        ['it', 'sang', "sang's", 'sing', 'singing', 'sings', 'sung', 'who']
    """
    found: set[str] = set()
    for word in map(str.lower, words_as_asked(question)):
        found.update((word, *word.split("'")))
        if "'" not in word and word not in glue_words(language_of(question)):
            found.add(f"{word}'s")
        if language_of(question) == "en":
            found.update(_inflections(word.removesuffix("'s")))
    return frozenset(found)


def written_forms(words: Iterable[str], question: str = "") -> dict[str, str]:
    """Return the spellings of words that free text may use, and the word of each.

    Words may be in lower case or capitalised; those of a question also in capitals or as it spells
    them.

    Example:
        >>> written_forms(["it"]), sorted(written_forms(["mri"], "MRi?"))
        ({'it': 'it', 'It': 'it'}, ['MRI', 'MRi', 'Mri', 'mri'])
    """
    forms: dict[str, str] = {}
    for word in words:
        forms[word] = word
        forms[word[0].upper() + word[1:]] = word
        if question:
            forms[word.upper()] = word
    for given in words_as_asked(question):
        for form in (given, *given.split("'")):
            forms[form] = form.lower()
    return forms


def has_content(quote: str, question: str = "") -> bool:
    """Return whether a quote contains a word other than a function word.

    Example:
        >>> has_content("of the"), has_content("of the sea"), has_content("1943")
        (False, True, True)
    """
    functions = function_words(language_of(question))
    return any(word not in functions for word in re.findall(r"[^\W_]+", quote))


def leaks(text: str, question: str = "", *, asked: bool = True) -> list[tuple[int, int]]:
    """Return the spans of words that are not glue; if `asked`, words of the question are allowed, too.

    Example:
        >>> text = "It is a British explorer's account of Antarctica."
        >>> [text[a:b] for a, b in leaks(text, "Who crossed Antarctica?")]
        ['British', "explorer's", 'account']
    """
    known = glue_words(language_of(question))
    if asked:
        known |= question_words(question)
    return [match.span() for match in _WORD.finditer(text) if not _is_known(match[0], known)]


def _is_known(word: str, known: frozenset[str]) -> bool:
    lower = word.lower().replace("’", "'")
    return lower in known or lower == "s" or lower.removesuffix("'s") in known


_IRREGULAR = """
be is are was were been being am | have has had having | do does did done doing | go goes went gone
going | say says said saying | make makes made making | know knows knew known knowing | take takes took
taken taking | see sees saw seen seeing | come comes came coming | think thinks thought thinking | give
gives gave given giving | find finds found finding | tell tells told telling | become becomes became
becoming | leave leaves left leaving | feel feels felt feeling | bring brings brought bringing | begin
begins began begun beginning | keep keeps kept keeping | hold holds held holding | write writes wrote
written writing | stand stands stood standing | hear hears heard hearing | mean means meant meaning |
meet meets met meeting | run runs ran running | pay pays paid paying | sit sits sat sitting | speak
speaks spoke spoken speaking | lie lies lay lain lying | lead leads led leading | grow grows grew grown
growing | lose loses lost losing | fall falls fell fallen falling | send sends sent sending | build
builds built building | draw draws drew drawn drawing | break breaks broke broken breaking | spend
spends spent spending | rise rises rose risen rising | drive drives drove driven driving | buy buys
bought buying | wear wears wore worn wearing | choose chooses chose chosen choosing | sing sings sang
sung singing | win wins won winning | sell sells sold selling | fly flies flew flown flying | fight
fights fought fighting | teach teaches taught teaching | throw throws threw thrown throwing | catch
catches caught catching | eat eats ate eaten eating | sleep sleeps slept sleeping | swim swims swam swum
swimming | strike strikes struck striking | shoot shoots shot shooting | steal steals stole stolen
stealing | ride rides rode ridden riding | sink sinks sank sunk sinking | bear bears bore born borne
bearing | blow blows blew blown blowing | forget forgets forgot forgotten forgetting | hide hides hid
hidden hiding | shake shakes shook shaken shaking | bind binds bound binding | feed feeds fed feeding |
found founds founded founding | freeze freezes froze frozen freezing | man men | woman women | child
children | person people persons | foot feet | tooth teeth | mouse mice | life lives | wife wives |
country countries | city cities | die dies died dying
"""


@cache
def _irregular() -> dict[str, frozenset[str]]:
    families = [frozenset(family.split()) for family in _IRREGULAR.split("|")]
    forms: dict[str, frozenset[str]] = {}
    for family in families:
        for word in family:
            forms[word] = forms.get(word, frozenset()) | family
    return forms


def _inflections(word: str) -> frozenset[str]:
    """Return the inflections of an English word; extra forms that do not exist are harmless."""
    if len(word) < 3 or not word.isascii() or not word.isalpha():
        return frozenset((word,))
    known = _irregular().get(word)
    if known is not None:
        return known
    forms = {word}
    if word in glue_words("en"):
        return frozenset(forms)
    for stem in _stems(word):
        forms.update(_endings(stem))
    return frozenset(forms)


def _stems(word: str) -> set[str]:
    stems = {word}
    for ending in ("ing", "ed", "es", "s"):
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 3 or word.endswith("ss"):
            continue
        if ending == "s":
            stems.add(stem)
        elif ending == "es":
            stems.add(stem[:-1] + "y" if stem.endswith("i") else stem)
        elif stem.endswith("i"):
            stems.add(stem[:-1] + "y")
        elif stem[-1] == stem[-2] and stem[-1] not in "lsz":
            stems.add(stem[:-1])
        else:
            stems.update((stem, stem + "e"))
    return stems


def _endings(stem: str) -> set[str]:
    if stem.endswith("e"):
        return {stem, stem + "s", stem + "d", stem[:-1] + "ing"}
    if stem.endswith("y") and stem[-2] not in "aeou":
        return {stem, stem[:-1] + "ies", stem[:-1] + "ied", stem + "ing"}
    if stem.endswith(("s", "x", "z", "ch", "sh")):
        return {stem, stem + "es", stem + "ed", stem + "ing"}
    forms = {stem, stem + "s", stem + "ed", stem + "ing"}
    if re.search(r"[^aeiou][aeiou][^aeiouwxy]$", stem):
        forms.update((stem + stem[-1] + "ed", stem + stem[-1] + "ing"))
    return forms


class Kind(IntEnum):
    """How a repair may treat a word."""

    OPTIONAL = 0
    """May be added or left out."""
    PLAIN = 1
    """May be left out or mistyped."""
    FIXED = 2
    """Must match exactly: numbers, names, negations and other words that change the meaning."""


class Word(NamedTuple):
    """A word of a text: ``text[start:end]``."""

    key: str
    kind: Kind
    start: int
    end: int


# Scripts without spaces between words: each character counts as a word.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff"
    "\U00020000-\U0003ffff"
)
_PUNCTUATION = (
    "!-/:-@\\[-`{-~\u00a1-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    "\u2010-\u205e\u20a0-\u20cf\u2100-\u2bff\u3000-\u3003\u3008-\u3020\u3030\u30fb"
    "\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
# Punctuation that carries no meaning of its own. "%", "$" and the like are words.
_QUOTES_AND_STOPS = "\"'`´“”„‟‘’‚‛«»‹›(){}[],;:.!?…*_¡¿·•，、。．：；！？「」『』（）【】《》〈〉"
_DASHES = "-‐‑‒–—―"
_SOFT = frozenset(_QUOTES_AND_STOPS + _DASHES)

_APOSTROPHES = "'’ʼ‘‛`´′＇"
_PIECE = re.compile(rf"([{UNSPACED}])|[^\s{UNSPACED}]+")
_UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
_INNER = re.compile(
    rf"([^{_PUNCTUATION}]+(?:[{_APOSTROPHES}][^{_PUNCTUATION}]+)*)|[{_PUNCTUATION}]"
)
_NUMERIC = re.compile(r"[\d\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u218f\u2460-\u249b]")
_LEADING_POINT = re.compile(r"(?<![.,])[.,·]\d")
_MARK = re.compile("[\"“”„'‘’]")
_MARK_OF_A_UNIT = re.compile("[0-9][\"“”'‘’]")
_BARRIER = re.compile("[\\[\\]\ud800-\udfff]")
_FACTORIAL = re.compile(r"!+\s?[a-z0-9=+*/^-]")
_AMOUNT = re.compile(r"(?![0-9]{4}$)[$€£]?[0-9][0-9.,]*%?")
"""Amounts that accountants put in parentheses if negative; years in parentheses are not."""
_DASH = "-"
_ONE_DASH = str.maketrans(dict.fromkeys(_DASHES, "-"))
_ONE_APOSTROPHE = str.maketrans(dict.fromkeys(_APOSTROPHES, "'"))
_ONE_UNIT = _ONE_DASH | str.maketrans("“”″‘’′", "\"\"\"'''")


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPTIONAL = _word_set("a an the and also that")

_FIXED = _word_set(
    # Negations, in several languages, and other words that change the meaning.
    """no not none never neither nor nothing nobody nowhere without cannot non un anti unable hardly scarcely
    barely rarely seldom few little less fewer least lack lacks lacking fail fails failed refuse refused
    deny denied denies false untrue former formerly ex except unless instead rather nicht kein keine
    keinen keinem keiner nie niemals ohne weder ne pas jamais aucun aucune sans nunca jamás sin ni
    não nem sem mai senza nessun niet geen nooit zonder inte aldrig utan ikke aldri uden nie bez не
    ни нет без никогда but however although though despite because or either whether than if may
    might could would should must can will shall perhaps maybe possibly probably likely unlikely
    allegedly reportedly supposedly same different true only just even
    """
    # Numbers in words, and words for bounds and quantities.
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred
    hundreds thousand thousands million millions billion billions trillion trillions dozen dozens
    half quarter third fourth fifth sixth seventh eighth ninth tenth first second once twice thrice
    single double triple both percent per minus plus times over under above below about around
    nearly almost approximately roughly exactly most more many much several some any all every each
    """
    # Time, direction and persons.
    """january february march april june july august september october november december monday
    tuesday wednesday thursday friday saturday sunday before after until till through since during ago later
    earlier from to by between against with for i you he she it we they him her us them his hers its
    their our my your who whom whose"""
)

_DIFFERENT_IF_CAPITALISED = _word_set(
    """may march august sun sat mon wed will mark bill rose grace hope faith frank jack rob sue pat
    gene chuck nice reading mobile job jordan apple amazon shell target gap oracle windows word meta
    polish turkey china mercury earth mars"""
)
_DIFFERENT_IN_CAPITALS = _word_set("us it who aids cat all am pm")

_CONFUSED = tuple(
    frozenset(pair.split("/"))
    for pair in _word_set(
        "causal/casual martial/marital united/untied desert/dessert uniformed/uninformed "
        "prescribed/proscribed statue/statute averse/adverse ordinance/ordnance former/farmer "
        "interstate/intestate persecuted/prosecuted ingenious/ingenuous perspective/prospective "
        "immigrated/emigrated dairies/diaries trails/trials clothes/cloths conversation/conservation"
    )
)
_ENDS = re.compile(r"[^\s,]")
_MIN_TYPO_LENGTH = 6


def read_words(text: str) -> list[Word]:
    """Return the words of a text in order, in linear time.

    Example:
        >>> [word.key for word in read_words("Bing Crosby's 6% of (the) sales.")]
        ['bing', 'crosby', "'s", '6%', 'of', 'the', 'sales']
    """
    words: list[Word] = []
    units = _marks_of_units(text) if _MARK_OF_A_UNIT.search(text) else set()
    for piece in _PIECE.finditer(text):
        raw, at = piece[0], piece.start()
        if piece[1]:
            words.append(Word(raw, Kind.FIXED, at, at + 1))
        elif _NUMERIC.search(raw):
            words.append(_number(raw, at, text, units))
        elif raw in _DASHES:
            words.append(Word(_DASH, Kind.FIXED, at, at + 1))
        elif raw.isalpha():
            words.append(Word(*_key(raw), at, at + len(raw)))
        else:
            words.extend(_inner_words(raw, at))
    return _with_context(words, text)


def is_typo(written: Word, meant: Word) -> bool:
    """Return whether a word is another one with a single typing error.

    An error is one inserted, missing or wrong letter, or two swapped letters. Both words need at least
    six letters and the same first and last letter, because prefixes and endings change the meaning.

    Example:
        >>> def is_typo_of(one, other):
        ...     return is_typo(*read_words(one), *read_words(other))
        >>> is_typo_of("relaesed", "released"), is_typo_of("decreased", "increased")
        (True, False)
    """
    one, other = written.key, meant.key
    if written.kind is not Kind.PLAIN or meant.kind is not Kind.PLAIN:
        return False
    if min(len(one), len(other)) < _MIN_TYPO_LENGTH or abs(len(one) - len(other)) > 1:
        return False
    if one[0] != other[0] or one[-1] != other[-1] or {one, other} in _CONFUSED:
        return False
    from rapidfuzz.distance import OSA

    return OSA.distance(one, other, score_cutoff=1) <= 1


def _marks_of_units(text: str) -> set[int]:
    """Return the offsets of quotation marks after digits that mean units, such as feet and inches."""
    units = set()
    opened = {True: False, False: False}
    for match in _MARK.finditer(text):
        at, double = match.start(), match[0] in '"“”„'
        before, after = text[max(0, at - 1) : at], text[at + 1 : at + 2]
        if before.isalnum() and after.isalnum():
            continue  # an apostrophe
        if after.strip() and (not before.strip() or before in "([{-–—"):
            opened[double] = True
        elif opened[double]:
            opened[double] = False
        elif before.isdigit():
            units.add(at)
    return units


def _number(raw: str, at: int, text: str, units: set[int]) -> Word:
    """Return a piece with digits as one word, with its sign and unit, without punctuation."""
    start, end = 0, len(raw)
    while raw[start] in _QUOTES_AND_STOPS and not _LEADING_POINT.match(raw, start):
        start += 1
    while raw[end - 1] in _QUOTES_AND_STOPS and at + end - 1 not in units:
        end -= 1
    if factorial := _FACTORIAL.match(text, at + end):
        end += factorial[0].count("!")
    elif raw[start - 1 : start] + raw[end : end + 1] == "()" and _AMOUNT.fullmatch(raw, start, end):
        start, end = start - 1, end + 1
    key = unicodedata.normalize("NFC", raw[start:end]).translate(_ONE_UNIT)
    return Word(key, Kind.FIXED, at + start, at + end)


def _inner_words(raw: str, at: int) -> list[Word]:
    words = []
    for match in _INNER.finditer(raw):
        start, end = at + match.start(), at + match.end()
        surface = match[1]
        if surface is None:
            if match[0] not in _SOFT:
                words.append(Word(match[0], Kind.FIXED, start, end))
        elif len(surface) > 2 and surface[-2] in _APOSTROPHES and surface[-1] in "sS":
            words.append(Word(*_key(surface[:-2]), start, end - 2))
            words.append(Word("'s", Kind.OPTIONAL, end - 2, end))
        else:
            words.append(Word(*_key(surface), start, end))
    return words


@lru_cache(maxsize=1 << 15)
def _key(raw: str) -> tuple[str, Kind]:
    raw = "".join(c for c in raw if unicodedata.category(c) != "Cf")  # invisible
    # Translate first: NFKC turns a lone acute accent into a space and a combining mark.
    folded = unicodedata.normalize("NFKC", raw.translate(_ONE_APOSTROPHE)).casefold()
    if folded in _DIFFERENT_IF_CAPITALISED or _is_acronym(raw):
        return unicodedata.normalize("NFC", raw), Kind.FIXED
    if folded in _OPTIONAL:
        return folded, Kind.OPTIONAL
    cased = raw.islower() and all(c.lower() != c.upper() for c in raw if c.isalpha())
    if not cased or folded in _FIXED or "n't" in folded:
        return folded, Kind.FIXED
    return folded, Kind.PLAIN


def _is_acronym(raw: str) -> bool:
    return len(raw) > 1 and raw.isupper() and raw.isalpha()


def _with_context(words: list[Word], text: str) -> list[Word]:
    """Return the words, adjusted to their neighbours.

    A word in capitals next to another in capitals is not an acronym. A dash counts only next to a
    number, where it may be a minus. A capital “A” within a sentence is a name, as in “vitamin A”.
    """
    for place, word in enumerate(words[1:], start=1):
        if text[word.start : word.end] == "A" and not _ENDS.search(
            text, words[place - 1].end, word.start
        ):
            words[place] = word._replace(key="A", kind=Kind.FIXED)
    capitals = [_is_acronym(word.key) for word in words]
    for place, word in enumerate(words):
        beside = capitals[max(0, place - 1) : place] + capitals[place + 1 : place + 2]
        if capitals[place] and any(beside):
            folded = word.key.casefold()
            if folded not in _DIFFERENT_IF_CAPITALISED | _DIFFERENT_IN_CAPITALS:
                words[place] = word._replace(key=folded)
    if _DASH not in {word.key for word in words}:
        return words
    numeric = [_NUMERIC.search(word.key) is not None for word in words]
    return [
        word
        for place, word in enumerate(words)
        if word.key != _DASH or any(numeric[max(0, place - 1) : place + 2])
    ]


def cuts_word(text: str, at: int) -> bool:
    r"""Return whether a cut before ``text[at]`` splits a word, a number or a character.

    In scripts without spaces a word may end after any character. Nothing is split at a bracket, where
    every span ends, or at a lone surrogate.

    Example:
        >>> [cuts_word(text, 2) for text in ("unable", "un able", "1000", "10.5", "10. 5", "日本語")]
        [True, False, True, True, False, False]
        >>> cuts_word("can't", 3), cuts_word("cafe\u0301", 4)
        (True, True)
    """
    if not 0 < at < len(text) or _BARRIER.search(text[at - 1 : at + 1]):
        return False
    first, before = text[max(0, at - 2) : at - 1], text[at - 1]
    after, behind = text[at], text[at + 1 : at + 2]
    if unicodedata.category(after).startswith("M") or "\u200d" in (before, after):
        return True
    if after.isalnum():
        if before.isalnum() or unicodedata.category(before).startswith("M"):
            return not (_UNSPACED_CHARACTER.match(before) or _UNSPACED_CHARACTER.match(after))
        if before in "'’":
            return first in ("n", "N") and after in "tT"
        return before in ".," and after.isdigit() and first.isdigit()
    if after in ".,":
        return before.isdigit() and behind.isdigit()
    return after in "'’" and before in "nN" and behind in ("t", "T")
