"""Closed word classes and stems that the extractive engine reads English with.

Other languages pass through: their words belong to no class, and only punctuation, capitals,
digits and repeated words guide the engine there.
"""

from __future__ import annotations

from functools import lru_cache

__all__ = [
    "ABBREVIATIONS",
    "ARTICLES",
    "AUXILIARIES",
    "CONJUNCTIONS",
    "DATE_WORDS",
    "DETERMINERS",
    "MADE",
    "MEASURED",
    "MONTHS",
    "NUMBER_WORDS",
    "OPENING_PREPOSITIONS",
    "PERSONS",
    "PLACE_WORDS",
    "PLACING",
    "PREPOSITIONS",
    "PRONOUNS",
    "REASONS",
    "RELATIVES",
    "STOPWORDS",
    "THINGS",
    "is_verb",
    "related",
    "stem",
]


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
"""Words at which a phrase that stands by itself may begin, and a complete one end."""

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
"""Words before the name of a place."""

MADE = _words("made built composed constructed consists consist cast carved woven")
"""Words before "of" and a material."""

MEASURED = _words(
    "long tall high deep wide thick broad heavy old large length height depth width weight weighs "
    "weighed weigh age aged speed size area covers measures cost costs price lasted lasts took "
    "takes hour celsius fahrenheit lang hoch tief breit schwer alt largo alto 长 高 深 宽 重"
)
"""Words that say beside a number what it measures."""

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
    """Say whether an English word, out of context, is likely the head of a predicate.

    Example:
        >>> is_verb("founded"), is_verb("founder")
        (True, False)
    """
    return word in _VERBS or (len(word) > 4 and word.endswith("ed"))


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """Return the stem under which a lower-case word is matched.

    Example:
        >>> stem("excavations") == stem("excavated"), stem("breeds") == stem("breed"), stem("won")
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
            break
    if word.endswith("e") and len(word) > 4:
        word = word[:-1]
    return word[:6]


_RELATED = {
    stem(word): frozenset(stem(other) for other in others.split())
    for word, others in _RELATED_WORDS.items()
}


def related(word: str) -> frozenset[str]:
    """Return stems that often answer a question asked with the stem `word`.

    Example:
        >>> stem("premiere") in related(stem("come"))
        True
    """
    return _RELATED.get(word, frozenset())
