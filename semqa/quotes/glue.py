"""Words that may stand outside quotes because they claim nothing: glue, and words of the question.

The lists are in ``glue.toml``, one a language. The copy constraint writes no other words outside of
quotes with ``QuotePolicy(free="glue")``; `leaks` finds others in a text that came from elsewhere.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from importlib.resources import files

__all__ = [
    "LANGUAGES",
    "function_words",
    "glue_words",
    "has_content",
    "language_of",
    "leaks",
    "question_words",
    "words_as_asked",
]

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

# Their parts are other numbers: "12" of "12,500", "2019" of "2019-2021".
_COMPOUND = re.compile(r"\d+(?:[.,:/–-]\d+)+")

# A run of letters and digits; apostrophes join runs ("it's", "O’Brady").
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@cache
def glue_words(language: str) -> frozenset[str]:
    """Return the list of a language, lower-case; empty for a language without one.

    Example:
        >>> "according" in glue_words("en"), "unassisted" in glue_words("en")
        (True, False)
    """
    lists = _lists().get(language, {})
    listed = (words for name, words in lists.items() if name != "negations")
    return frozenset(" ".join(listed).split())


@cache
def function_words(language: str) -> frozenset[str]:
    """Return the words of which a quote must not consist, as written; "it's" counts as two.

    They are in lower case or capitalised. In capitals, "WHO" and "IT" are names.

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
    """Return the language with most words of the question in its list: English if none has any.

    Example:
        >>> language_of("Wer hat das Lied gesungen?"), language_of("Who sang it?")
        ('de', 'en')
    """
    words = [word.lower() for word in _WORD.findall(question)]
    return max(LANGUAGES, key=lambda code: sum(word in glue_words(code) for word in words))


def words_as_asked(question: str) -> list[str]:
    """Return the words of a question as it writes them, without numbers of several parts.

    Example:
        >>> words_as_asked("Who stole £12,500 in 1943?")
        ['Who', 'stole', 'in', '1943']
    """
    return _WORD.findall(_COMPOUND.sub(" ", question).replace("’", "'"))


@lru_cache(maxsize=256)
def question_words(question: str) -> frozenset[str]:
    """Return the words of a question, with "'s" too, and in English their inflections, lower-case.

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


def has_content(quote: str, question: str = "") -> bool:
    """Tell whether a quote holds a word that is no function word.

    Example:
        >>> has_content("of the"), has_content("of the sea"), has_content("1943")
        (False, True, True)
    """
    functions = function_words(language_of(question))
    return any(word not in functions for word in re.findall(r"[^\W_]+", quote))


def leaks(text: str, question: str = "", *, asked: bool = True) -> list[tuple[int, int]]:
    """Return where words stand that neither the list of the language nor the question holds.

    Args:
        text: free text of an answer, without its quotes.
        question: the question that was answered.
        asked: whether the words of the question may stand there.

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
    """Return forms of an English word; some exist only on paper, which does no harm."""
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
