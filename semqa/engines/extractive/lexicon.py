"""Word lists: English words by grammatical function, and question words of other languages."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class Language(NamedTuple):
    """Question patterns and stopwords of a language.

    Attributes:
        kinds: pairs of a kind of answer and its question pattern; the first match wins.
    """

    kinds: tuple[tuple[str, re.Pattern[str]], ...]
    stopwords: frozenset[str]


def _language(stopwords: str, **kinds: str) -> Language:
    return Language(
        tuple((kind, re.compile(pattern)) for kind, pattern in kinds.items()),
        frozenset(stopwords.split()),
    )


_GERMAN = _language(
    "der die das den dem des ein eine einen einem einer eines ist sind war waren wird wurde wurden "
    "werden hat haben hatte sein kann und oder von vom zu zum zur in im an am auf bei mit für aus "
    "nach es er sie ich wir ihr man nicht wie wer was wo wann warum wieso welche welcher welches "
    "wen wem viele viel lang hoch groß alt schwer tief weit schnell",
    when=r"\b(wann|seit wann|in welchem jahr)\b",
    quantity=r"\bwie ?(viele?|lang|lange|hoch|groß|alt|schwer|tief|breit|weit|schnell|oft|heiß)\b",
    where=r"\b(wo|woher|wohin)\b",
    why=r"\b(warum|wieso|weshalb)\b",
    who=r"\b(wer|wen|wem|wessen)\b",
    how=r"\bwie\b",
    which=r"\b(welche[rs]?|welchen|was)\b",
)
_SPANISH = _language(
    "el la los las un una unos unas de del al a en y o que es son era fue fueron está están hay se "
    "su sus lo le con por para qué quién quiénes cuándo dónde cómo cuánto cuánta cuántos cuántas "
    "cuál cuáles tan muy",
    when=r"\bcuándo\b|\ben qué año\b",
    quantity=r"\bcuánt[oa]s?\b|\bqué (altura|longitud|edad) ",
    where=r"\b(a|de)?dónde\b",
    why=r"\bpor qué\b",
    who=r"\bquién(es)?\b",
    how=r"\bcómo\b",
    which=r"\b(qué|cuál(es)?)\b",
)
_FRENCH = _language(
    "le la les l un une des de du d au aux à en et ou que qui est sont était a ont été se s son sa "
    "ses il elle on ce cette ne pas quand où comment combien pourquoi quel quelle quels quelles "
    "quoi par pour dans",
    when=r"\bquand\b|\ben quelle année\b",
    quantity=r"\bcombien\b|\bquelle est la (longueur|hauteur)\b",
    where=r"\boù\b",
    why=r"\bpourquoi\b",
    who=r"^qui\b",
    how=r"\bcomment (est|sont|était|a|fait|fonctionne)\b",
    which=r"\bquel(le)?s?\b|\bqu'est-ce\b",
)
_CHINESE = _language(
    "的 是 了 在 有 这 那 多 吗 呢 什 么 谁 哪 里 何 几 少 怎 样 个 为 被 和 与 长 高 大 座",
    when=r"什么时候|何时|哪一?年|几时|几月",
    quantity=r"多(长|高|大|少|深|重|远|宽|快|久)|几(个|人|年|米)",
    where=r"哪里|哪儿|在哪|什么地方",
    why=r"为什么|为何",
    who=r"谁",
    how=r"怎么|怎样|如何",
    which=r"[吗呢什哪]",
)


_ENGLISH = re.compile(r"\b(who|whom|whose|what|when|where|why|which|how|is|are|did|does|do)\b")


def language_of(question: str) -> Language | None:
    """Return the language of a question, or None if it is English or unknown.

    Example:
        >>> language_of("When did it open?") is None
        True
        >>> "die" in language_of("Wie lang ist die Straße?").stopwords
        True
    """
    lowered = question.lower()
    if _ENGLISH.search(lowered) or re.search(r"\w .*\bwas\b", lowered):
        return None
    for language in (_GERMAN, _SPANISH, _FRENCH, _CHINESE):
        if any(pattern.search(lowered) for _, pattern in language.kinds):
            return language
    return None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES = _words("a an the")
DETERMINERS = _words("a an the his her its their this these those our my your another each every")
PERSONS = _words("he she his her him")
THINGS = _words("it they its their them er sie es")
PRONOUNS = _words(
    "he she it they this these those him them there here we i you who its his her their"
)
AUXILIARIES = _words(
    "is are was were be been being am has have had do does did will would can could may might "
    "shall should must became becomes become remains remained"
)
PREPOSITIONS = _words(
    "in on at by for from with of into onto under over between among during after before until "
    "through throughout against about across around near within without as since along behind "
    "beyond towards toward upon via per despite following including"
)
OPENING_PREPOSITIONS = _words(
    "in on at from by during between for since after before with due because as under until"
)
"""Words that can begin a phrase; a complete phrase can end before them."""

RELATIVES = _words(
    "that which who whom whose where when while although though because if unless whereas what how "
    "why"
)
CONJUNCTIONS = _words("and or but nor yet so than")
MONTHS = _words(
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec "
    "januar februar märz mai juni juli oktober dezember enero febrero marzo abril mayo junio julio "
    "agosto septiembre octubre noviembre diciembre janvier février mars avril juin juillet août "
    "septembre octobre novembre décembre"
)
DATE_WORDS = _words(
    "monday tuesday wednesday thursday friday saturday sunday century bc ad bce ce spring summer "
    "autumn fall winter decade today"
)
NUMBER_WORDS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred thousand million billion trillion dozen half quarter once twice first second third "
    "several few"
)
PLACE_WORDS = _words(
    "city town village county state province region district country island street road avenue "
    "river lake sea ocean coast mountain valley building house hall park bay north south east west "
    "northern southern eastern western downtown capital area located"
)
PLACING = _words(
    "in at near from of to on between above below beside off outside across beneath opposite"
)
"""Words that precede the name of a place."""

MADE = _words("made built composed constructed consists consist cast carved woven")
"""Words before "of" and a material."""

MEASURED = _words(
    "long tall high deep wide thick broad heavy old large length height depth width weight weighs "
    "weighed weigh age aged speed size area covers measures cost costs price lasted lasts took "
    "takes hour celsius fahrenheit lang hoch tief breit schwer alt largo alto 长 高 深 宽 重"
)
"""Words next to a number that say what it measures."""

REASONS = _words(
    "because due since reason reasons cause caused causes result resulted results led owing thus "
    "therefore purpose purposes aim aimed intended order so allow allowed permit prevent help "
    "after following avoid ensure failure desire need"
)
ABBREVIATIONS = _words(
    "mr mrs ms dr st jr sr vs v no vol inc co corp ltd prof gen col sgt capt lt rev hon gov sen "
    "rep etc fig approx ca dept est mt ft ave blvd al op cit ed eds pp"
)
STOPWORDS = (
    ARTICLES
    | PRONOUNS
    | AUXILIARIES
    | PREPOSITIONS
    | RELATIVES
    | CONJUNCTIONS
    | _words(
        "to not no some any all both more most other such only own same too very just also then "
        "out up down off again s t d ll re ve many much long ever name names called mean meaning "
        "us me my our your one get got go take took taken come came"
    )
)

IDLE = STOPWORDS - _words("name names called mean meaning take took taken come came get got go")
"""Words that do not identify the topic of a question about documents."""

_VERBS = AUXILIARIES | _words(
    "won led met held built wrote took began made went came sold lost ran gave sang shot fought "
    "died left played stars features includes refers means contains consists serves served saw "
    "said told found drove taught thought brought caught grew knew rose wore paid sent spent wins "
    "leads makes takes plays writes runs sings lies stands marks covers"
)

_IRREGULAR = {
    form: base
    for base, forms in {
        "win": "won winner winning winners",
        "fight": "fought",
        "meet": "met meeting meetings",
        "hold": "held",
        "write": "wrote written writer writing",
        "begin": "began begun beginning",
        "sing": "sang sung singer singing",
        "bear": "born birth birthplace",
        "die": "died death dead dies deceased dying",
        "build": "built building",
        "lead": "led leader leading",
        "make": "made making maker",
        "run": "ran running",
        "shoot": "shot",
        "speak": "spoke spoken",
        "drive": "drove driven driving driver",
        "choose": "chose chosen",
        "leave": "left leaving",
        "lose": "lost loss losing",
        "find": "found finding",
        "found": "founded founder founding foundation",
        "buy": "bought",
        "sell": "sold",
        "teach": "taught",
        "think": "thought",
        "bring": "brought",
        "catch": "caught",
        "give": "gave given",
        "grow": "grew grown growth",
        "know": "knew known",
        "rise": "rose risen",
        "steal": "stole stolen",
        "take": "took taken",
        "wear": "wore worn",
        "pay": "paid",
        "say": "said",
        "send": "sent",
        "spend": "spent",
        "use": "used using uses usage",
        "set": "setting",
        "country": "countries",
        "city": "cities",
        "elect": "election elections elected",
        "direct": "director directed",
        "act": "actor actress acted acting",
        "marry": "married marriage marries",
        "decide": "decision decided",
        "locate": "location located",
        "produce": "producer produced production",
        "perform": "performed performer performance",
        "invent": "invention inventor invented",
        "discover": "discovery discovered",
        "defeat": "defeated",
        "retire": "retired retirement",
    }.items()
    for form in forms.split()
}

_RELATED_WORDS = {
    "come": "released premiered published debut launched issued",
    "released": "come premiered published debut launched issued",
    "published": "released written issued printed",
    "play": "portrayed starring voiced cast performed featuring role acted character",
    "portrayed": "play starring cast",
    "voice": "play portrayed cast",
    "sing": "recorded performed vocals covered released song",
    "write": "published author composed novel book penned",
    "located": "situated lies site based",
    "situated": "located",
    "happen": "occurred held",
    "place": "occurred held fought",
    "occur": "held happened",
    "fight": "occurred battle",
    "start": "began opened launched established founded commenced",
    "begin": "started opened commenced established",
    "end": "finished concluded closed expired",
    "founded": "established created formed began started",
    "established": "founded created formed began",
    "created": "founded established designed invented developed made",
    "invented": "created developed patented discovered",
    "make": "created produced built manufactured",
    "film": "shot location set movie",
    "movie": "film",
    "build": "constructed erected completed opened",
    "constructed": "built erected completed",
    "win": "defeated beat victory champion captured received title awarded lifted",
    "defeated": "beat won",
    "die": "killed passed murdered",
    "killed": "died murdered shot assassinated",
    "marry": "wife husband spouse wed",
    "wife": "married",
    "born": "native",
    "live": "resided home settled",
    "settle": "land colony resided lived",
    "defined": "refers means described",
    "stand": "abbreviation acronym",
    "important": "required significant needed essential",
    "disbanded": "dissolved abolished ended",
    "abolished": "dissolved ended repealed",
    "school": "college university attended graduated educated",
    "captain": "leader",
    "king": "reign throne ruler",
    "rule": "reign governed",
    "president": "elected office",
    "country": "nation state",
    "dead": "died",
    "earn": "salary paid",
    "population": "inhabitants people census",
    "speak": "language",
    "own": "acquired bought owner",
    "buy": "acquired purchased",
    "character": "protagonist role",
    "host": "presented held venue",
    "tall": "height",
    "old": "age",
    "age": "old born",
    "cost": "price dollars",
}


def is_verb(word: str) -> bool:
    """Whether an English word, out of context, is likely the main verb of a clause.

    Example:
        >>> is_verb("founded"), is_verb("founder")
        (True, False)
    """
    return word in _VERBS or (len(word) > 4 and word.endswith("ed"))


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """Return the stem under which a lower-case word is matched.

    Example:
        >>> stem("excavations") == stem("excavated"), stem("topping") == stem("top"), stem("won")
        (True, True, 'win')
    """
    irregular = _IRREGULAR.get(word)
    if irregular is not None:
        return irregular[:6]
    if not word.isascii() or len(word) <= 3:
        return word
    for suffix in ("ings", "ing", "ies", "ed", "es", "ly", "s"):
        kept = word.endswith(("ss", "eed")) or len(word) - len(suffix) < 3
        if word.endswith(suffix) and not kept:
            word = word[: -len(suffix)]
            if suffix in ("ings", "ing", "ed") and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]  # "resetting" and "topped"
            break
    if word.endswith("e") and len(word) > 4:
        word = word[:-1]
    return word[:6]


_RELATED = {
    stem(word): frozenset(stem(other) for other in others.split())
    for word, others in _RELATED_WORDS.items()
}


def related(word: str) -> frozenset[str]:
    """Return stems that often occur in the answer to a question that has the stem `word`.

    Example:
        >>> stem("premiere") in related(stem("come"))
        True
    """
    return _RELATED.get(word, frozenset())
