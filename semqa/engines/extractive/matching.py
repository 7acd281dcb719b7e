"""Split documents into units and compare each unit with a question."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Literal

import numpy as np

from semqa.documents.structure import CONTENT, plain, read_structure
from semqa.engines.extractive.lexicon import IDLE, language_of, related, stem
from semqa.engines.extractive.passage import split_words
from semqa.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.documents.structure import Structure, Unit
    from semqa.quotes import Source
    from semqa.retrieval.encoder import SentenceEncoder

    Array = NDArray[np.float64]

LONGEST_GROUP = 1_200
"""Maximum characters of a paragraph, list or table to embed; sentence encoders read no more."""

READ_AT_ONCE = 512
"""Number of texts whose units are cached in memory."""


@dataclass(frozen=True)
class Units:
    """A source split into units.

    Attributes:
        title: its title as plain text.
        structure: its text and units.
        texts: the plain text of each unit.
        above: for each unit the plain texts above it, outermost first: headings, then the lead-in,
            table header or question that it belongs to.
        content: indexes of the units that have content and can be quoted.
    """

    title: str
    structure: Structure
    texts: tuple[str, ...]
    above: tuple[tuple[str, ...], ...]
    content: tuple[int, ...]

    @cached_property
    def embedded(self) -> tuple[str, ...]:
        """The text to embed for each unit: its plain text, with column names added to a table row."""
        out = list(self.texts)
        for i in self.content:
            unit = self.structure.units[i]
            if unit.kind == "row" and unit.over is not None:
                header = map(plain, cells_of(self.structure.of(unit.over)))
                row = map(plain, cells_of(self.structure.of(i)))
                out[i] = "; ".join(
                    ": ".join(filter(None, both)) for both in zip_longest(header, row)
                )
        return tuple(out)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """For each unit its whole paragraph, list or table, preceded by its heading."""
        members: dict[int, list[int]] = {}
        for i in self.content:
            members.setdefault(self.structure.units[i].group, []).append(i)
        out = list(self.texts)
        for group in members.values():
            first = self.structure.units[group[0]]
            above = self.above[group[0]]
            head = [above[-1]] if above else []
            if first.over is not None and len(above) > 1:
                before = _antecedent(self.structure, self.texts, first.over)
                head = list(above[-2 if before is None else -3 :])
            text = " ".join([*map(_with_period, head), *(self.texts[i] for i in group)])
            text = text[:LONGEST_GROUP]
            for i in group:
                out[i] = text
        return tuple(out)


def read_units(source: Source) -> Units:
    """Split a source into units; results are cached by text."""
    return _read(source.text, source.title, source.context)


@lru_cache(maxsize=READ_AT_ONCE)
def _read(text: str, title: str, context: str) -> Units:
    structure = read_structure(text)
    texts = tuple(plain(structure.of(i)) for i in range(len(structure.units)))
    outer = tuple(filter(None, (plain(line) for line in context.split("\n"))))
    above = []
    for unit in structure.units:
        over: list[str] = []
        at = unit.over
        while at is not None and at not in unit.headings:
            over.insert(0, texts[at])
            if (before := _antecedent(structure, texts, at)) is not None:
                over.insert(0, texts[before])
            at = structure.units[at].over
        above.append((*outer, *(texts[h] for h in unit.headings), *over))
    content = tuple(
        i
        for i, unit in enumerate(structure.units)
        if unit.kind in CONTENT and any(map(str.isalnum, texts[i]))
    )
    return Units(plain(title), structure, texts, tuple(above), content)


def _antecedent(structure: Structure, texts: Sequence[str], u: int) -> int | None:
    """Return the sentence before a lead-in such as "It is paid as follows:", which says what "it" is."""
    same = u > 0 and structure.units[u - 1].group == structure.units[u].group != -1
    return u - 1 if same and _GOES_ON.match(texts[u]) else None


def texts_of(units: Units, indexes: Sequence[int]) -> list[str]:
    """Return the texts to embed for some units: the units, their groups and the texts above."""
    texts: dict[str, None] = {}
    for i in indexes:
        texts |= dict.fromkeys((units.embedded[i], units.groups[i], *units.above[i]))
    return list(texts)


def embed(encoder: SentenceEncoder, question: str, texts: Sequence[str]) -> dict[str, float]:
    """Return the cosine of each text and the question.

    Vectors of texts are cached on disk if it is writable; vectors of questions are not cached.
    """
    try:
        vectors = encoder.encode(texts)
    except UnavailableError:
        vectors = encoder.embed(texts)  # without the cache; raises again if the model is missing
    query = encoder.embed_question(question)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    cosines = vectors @ query / np.maximum(lengths, 1e-12)
    return dict(zip(texts, cosines.tolist(), strict=True))


def cells_of(row: str) -> list[str]:
    """Return the cells of a table row or a line of delimited values.

    Example:
        >>> cells_of("| Gas | 4 hours |"), cells_of('A1,"Phlox, white",8')
        (['Gas', '4 hours'], ['A1', 'Phlox, white', '8'])
        >>> cells_of("Puncture, front   14.00   16.00")
        ['Puncture, front', '14.00', '16.00']
    """
    if "|" in row:
        return [cell.strip() for cell in row.strip().strip("|").split("|")]
    columns = re.split(r" {2,}", row.strip())
    if len(columns) > 2:
        return columns
    delimiter = max("\t;,", key=row.count)
    try:
        return next(csv.reader([row], delimiter=delimiter), [])
    except csv.Error:  # a carriage return inside, or a cell of more than 131,072 characters
        return row.split(delimiter)


def _with_period(text: str) -> str:
    return text if text[-1:] in ".?!:" else f"{text}."


MOST_EMBEDDED = 400
"""Maximum number of units to embed; if there are more, those with the most question words."""

_K1, _B = 1.2, 0.75
"""BM25 parameters at their usual values. Source: Robertson and Zaragoza 2009, section 3.5."""

_REQUEST_WORDS = frozenset(("any", "anybody", "anyone", "please", "tell", "want", "need", "like"))

_MONEY = re.compile(
    r"[£$€]\s?\d|\d\s?(?:p\b|euros?\b|dollars?\b|pounds?\b|cents?\b|per ?cent|%)|\b\d+\.\d\d\b",
    re.I,
)
TIME = re.compile(
    r"\b(?:\d{1,2}[:.]\d\d|\d{1,2} ?[ap]\.?m|(?:19|20)\d\d|noon|midnight|today|tomorrow|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|jan(?:uary)?|feb(?:ruary)?|march|april|may|june|"
    r"july|aug(?:ust)?|sept(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b",
    re.I,
)
DURATION = re.compile(
    r"\b(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|half|fifteen|twenty|"
    r"thirty|ninety)[\s-]+(?:\w+\s)?(?:minute|hour|day|week|month|year|night|second|time)s?\b|"
    r"\b(?:daily|weekly|monthly|yearly|annually|immediately|at once|every)\b",
    re.I,
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b", re.I
)
_NAME = re.compile(r"(?<=[\w,;:(]\s)[A-Z][a-z]+|^[A-Z][a-z]+ [A-Z][a-z]+")
_RULING = re.compile(
    r"\b(?:yes|no|not|never|only|may|must|can|cannot|allowed|forbidden|free|required|permitted|"
    r"except|unless|shall|should)\b",
    re.I,
)
_REASON = re.compile(
    r"\b(?:because|since|due to|in order|so that|therefore|reason|to avoid)\b", re.I
)
_KINDS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"\bwho(?:m|se)?\b", re.I), _NAME),
    (
        re.compile(r"\bwhen\b|\b(?:what|which) (?:date|day|time|year)|deadline|how soon", re.I),
        TIME,
    ),
    (
        re.compile(
            r"how much|how expensive|\bcosts?\b|\bprice|\bfees?\b|\brates?\b|\bcharge|salary|\bpay\b|\bdiscounts?\b",
            re.I,
        ),
        _MONEY,
    ),
    (
        re.compile(
            r"how (?:many|loud|large|big|tall|high|heavy|far|fast|wide|deep|hot|cold|old)|number of|"
            r"(?:what|which) (?:is the )?(?:temperature|size|percentage|limit|maximum|minimum)",
            re.I,
        ),
        _NUMBER,
    ),
    (re.compile(r"how (?:long|often|quickly|soon|late|early)|notice period", re.I), DURATION),
    (re.compile(r"\bwhy\b|\breasons?\b|on what grounds", re.I), _REASON),
    (
        re.compile(
            r"^\W*(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|am|need)"
            r"\b|, (?:can|may|must|do|is|are) ",
            re.I,
        ),
        _RULING,
    ),
)
"""Patterns of questions, each with the pattern of an answer of that kind."""

_LISTING = re.compile(
    r"\b(?:what|which) (?:\w+ ){0,3}?(?:are|were|have|has|do|kinds|\w+s)\b|\blist\b|\ball\b|\beach\b|"
    r"how many ways|who (?:attended|are|were)",
    re.I,
)
_EXCEPTION = re.compile(
    r"\b(?:except|unless|however|but|only if|provided|notwithstanding|other than|does not apply|"
    r"exception|apart from|subject to)\b",
    re.I,
)
_GOES_ON = re.compile(
    r"^\W*(?:it|they|this|these|that|those|he|she|such|however|but|otherwise|in that case|after that|"
    r"then|its|their|the same|here|for this|for that|if not|if so|also|and|or)\b",
    re.I,
)


JudgedBy = Literal["tuned", "meaning", "words"]
"""The model for features of the fine-tuned encoder, of another encoder, or of words only."""


@dataclass(frozen=True)
class Match:
    """Features of all units in a question's sources.

    Attributes:
        sources: the sources split into units.
        places: for each row the index of the source and of the unit.
        features: shape [rows, features], in the order of `names`.
        names: the name of each feature.
        judged_by: the model that judges these features.
    """

    question: str
    sources: tuple[Units, ...]
    places: tuple[tuple[int, int], ...]
    features: Array
    names: tuple[str, ...]
    judged_by: JudgedBy

    @property
    def by_meaning(self) -> bool:
        """Whether an encoder was used."""
        return self.judged_by != "words"

    @property
    def texts(self) -> list[str]:
        """The plain text of each row."""
        return [self.sources[s].texts[u] for s, u in self.places]

    def unit(self, row: int) -> Unit:
        """Return the unit of a row."""
        s, u = self.places[row]
        return self.sources[s].structure.units[u]

    def column(self, name: str) -> Array:
        """Return one feature of all units; shape [rows]."""
        found: Array = self.features[:, self.names.index(name)]
        return found


def match(
    question: str,
    sources: Sequence[Source],
    encoder: SentenceEncoder | None = None,
) -> Match:
    """Compare the units of the sources with a question.

    Args:
        encoder: compares by meaning; None to compare words only.

    Raises:
        InputError: the encoder is invalid.
        UnavailableError: the encoder cannot be loaded, or a package is missing.
    """
    judged_by: JudgedBy = "words"
    if encoder is not None:
        from semqa.retrieval.encoder import TUNED_ENCODER

        judged_by = "tuned" if encoder.name == TUNED_ENCODER else "meaning"
    split = tuple(read_units(source) for source in sources)
    places = tuple((s, u) for s, units in enumerate(split) for u in units.content)
    if not places:
        return Match(question, split, places, np.zeros((0, 0)), (), judged_by)
    columns = _word_features(question, split, places) | _form_features(question, split, places)
    if encoder is not None:
        columns |= _embedding_features(question, split, places, encoder, columns)
    features = np.column_stack(list(columns.values()))
    return Match(question, split, places, features, tuple(columns), judged_by)


_WITH_UNIT = re.compile(
    r"(?<![^\W_])(\d+)(?=(?:[mkc]?[gml]|k[mw]h?|mm|[gmk]b|lbs?|oz|ft|hrs?|h|mins?|[ap]m|volts?|watts?)\b)",
    re.IGNORECASE,
)
"""A number directly before its unit, as in "20kg"."""


_HOW_OLD = re.compile(r"\bhow old\b(?= (?:do|must|should|need|can|may|have)\b)", re.IGNORECASE)
"""Asks for the age at which something is allowed, so the word "old" is not part of an answer."""


def _split(text: str) -> list[str]:
    """Return the words of a text; a number and its unit are two words."""
    return split_words(_WITH_UNIT.sub(r"\1 ", text))


def question_terms(question: str) -> tuple[str, ...]:
    """Return the distinct stems of the question's content words."""
    language = language_of(question)
    ignored = IDLE | _REQUEST_WORDS | (language.stopwords if language else frozenset())
    stems = [stem(word) for word in _split(_HOW_OLD.sub("how", question)) if word not in ignored]
    return tuple(dict.fromkeys(stems)) or stems_of(question)[:1]


def expects_kind(question: str) -> bool:
    """Return whether a question asks for a kind of answer, such as a time or a price."""
    return any(asks.search(question) for asks, _ in _KINDS)


@lru_cache(maxsize=1 << 14)
def stems_of(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words, except words that are too common to match."""
    return tuple(stem(word) for word in _split(text) if word not in IDLE)


def _word_features(
    question: str, split: Sequence[Units], places: Sequence[tuple[int, int]]
) -> dict[str, Array]:
    """Return how many words of the question occur in each unit and in the texts above it."""
    terms = question_terms(question)
    units = [stems_of(split[s].texts[u]) for s, u in places]
    above = [[stems_of(text) for text in split[s].above[u]] for s, u in places]
    titles = [set(stems_of(units.title)) for units in split]
    own = _occurrence(terms, units)
    soft = own.copy()
    for j, term in enumerate(terms):
        similar = related(term)
        if similar:
            soft[:, j] = np.maximum(
                soft[:, j], [0.5 * (not similar.isdisjoint(text)) for text in units]
            )
    last = _occurrence(terms, [texts[-1] if texts else () for texts in above])
    over = _occurrence(terms, [[w for text in texts for w in text] for texts in above])
    in_title = np.array([[term in titles[s] for term in terms] for s, _ in places], float)
    anywhere = np.maximum(np.maximum(own, over), in_title.reshape(own.shape))
    count = max(len(places), 1)
    frequency = own.sum(0)
    idf = np.log1p((count - frequency + 0.5) / (frequency + 0.5))
    weights = idf / max(float(idf.sum()), 1e-9)
    lengths = np.array([len(text) for text in units], float)
    damping = _K1 * (1 - _B + _B * lengths / max(float(lengths.mean()), 1.0))
    counts = np.array([[text.count(term) for term in terms] for text in units], float)
    counts = counts.reshape(own.shape)
    bm25 = (weights * counts * (_K1 + 1) / (counts + damping[:, None])).sum(1)
    source_of = np.array([s for s, _ in places], dtype=np.int64)
    in_source = np.array(
        [weights @ anywhere[source_of == s].max(0, initial=0.0) for s in range(len(split))]
    )
    words = own @ weights
    columns = {
        "words": words,
        "words_before": _neighbour_values(words, split, places, -1),
        "words_after": _neighbour_values(words, split, places, 1),
        "words_soft": soft @ weights,
        "words_above": over @ weights,
        "words_over": last @ weights,
        "words_all": anywhere @ weights,
        "bm25": bm25,
        "pairs": np.minimum(_count_pairs(terms, units), 3) / 3,
        "source_words": in_source[source_of] - in_source.max(initial=0.0),
    }
    for name in ("words", "words_soft", "words_all", "bm25"):
        columns |= _rank_features(name, columns[name], sharpness=4.0)
    return columns


def _occurrence(terms: Sequence[str], texts: Sequence[Sequence[str]]) -> Array:
    """Return 1 where a text has a term, else 0; shape [texts, terms]."""
    found = np.array([[term in words for term in terms] for words in map(set, texts)], float)
    return found.reshape(len(texts), len(terms))


def _count_pairs(terms: Sequence[str], units: Sequence[Sequence[str]]) -> Array:
    """Count adjacent question terms that are at most two words apart in each unit."""
    out = np.zeros(len(units))
    for left, right in pairwise(terms):
        for i, text in enumerate(units):
            if left in text and right in text and abs(text.index(left) - text.index(right)) <= 2:
                out[i] += 1
    return out


def _neighbour_values(
    values: Array, split: Sequence[Units], places: Sequence[tuple[int, int]], step: int
) -> Array:
    """Return the value of the next or previous unit in the same group, or 0; shape [rows]."""
    rows = {place: row for row, place in enumerate(places)}
    out = np.zeros(len(values))
    for row, (s, u) in enumerate(places):
        other = rows.get((s, u + step))
        units = split[s].structure.units
        if other is not None and units[u + step].group == units[u].group:
            out[row] = values[other]
    return out


def _rank_features(name: str, values: Array, sharpness: float) -> dict[str, Array]:
    """Return two features of values relative to all others: rank, and closeness to the best."""
    rank = np.empty(len(values))
    rank[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return {
        f"{name}_rank": 1 / (1 + rank),
        f"{name}_best": np.exp((values - values.max()) * sharpness),
    }


def _form_features(
    question: str, split: Sequence[Units], places: Sequence[tuple[int, int]]
) -> dict[str, Array]:
    """Return the form of each unit, and whether it contains the requested kind of answer."""
    answers = [answer for asks, answer in _KINDS if asks.search(question)]
    listing = bool(_LISTING.search(question))
    texts = [split[s].texts[u] for s, u in places]
    kinds = [split[s].structure.units[u].kind for s, u in places]
    typed = np.array([any(answer.search(text) for answer in answers) for text in texts], float)
    listed = np.array([kind in ("item", "row") for kind in kinds], float)
    return {
        "answer": typed,
        "no_answer": (1 - typed) * bool(answers),
        "length": np.array([min(len(text.split()), 40) / 40 for text in texts]),
        "short": np.array([float(len(text.split()) <= 3) for text in texts]),
        "question": np.array([float(text.endswith("?")) for text in texts]),
        "item": np.array([float(kind == "item") for kind in kinds]),
        "row": np.array([float(kind == "row") for kind in kinds]),
        "listed": listed * listing,
        "exception": np.array([float(bool(_EXCEPTION.search(text))) for text in texts]),
        "goes_on": np.array([float(bool(_GOES_ON.match(text))) for text in texts]),
    }


def _embedding_features(
    question: str,
    split: Sequence[Units],
    places: Sequence[tuple[int, int]],
    encoder: SentenceEncoder,
    columns: dict[str, Array],
) -> dict[str, Array]:
    """Return the cosines of units, their groups and the texts above them with the question."""
    chosen = list(range(len(places)))
    if len(places) > MOST_EMBEDDED:
        best = columns["words_all"] + columns["words_soft"] + 0.1 * columns["answer"]
        chosen = np.argsort(-best, kind="stable")[:MOST_EMBEDDED].tolist()
    texts = dict.fromkeys(
        text for i in chosen for text in texts_of(split[places[i][0]], [places[i][1]])
    )
    cosines = embed(encoder, question, list(texts))
    unit, group, above, over = (np.zeros(len(places)) for _ in range(4))
    for i in chosen:
        s, u = places[i]
        units = split[s]
        unit[i] = cosines[units.embedded[u]]
        group[i] = cosines[units.groups[u]]
        heads = [cosines[text] for text in units.above[u]]
        above[i] = max(heads, default=0.0)
        over[i] = heads[-1] if heads else 0.0
    nearest = np.maximum(unit, group)
    source_of = np.array([s for s, _ in places])
    in_source = np.array(
        [
            np.sort(nearest[source_of == s])[-3:].mean() if (source_of == s).any() else 0.0
            for s in range(len(split))
        ]
    )
    in_group: dict[tuple[int, int], float] = {}
    for (s, u), value in zip(places, unit.tolist(), strict=True):
        key = (s, split[s].structure.units[u].group)
        in_group[key] = max(in_group.get(key, -1.0), value)
    best_in_group = np.array([in_group[s, split[s].structure.units[u].group] for s, u in places])
    out = {
        "near": unit,
        "near_before": _neighbour_values(unit, split, places, -1),
        "near_after": _neighbour_values(unit, split, places, 1),
        "near_group": group,
        "near_above": above,
        "near_over": over,
        "near_gap": nearest.max(initial=0.0) - nearest,
        "near_in_group": unit - best_in_group,
        "source_near": in_source[source_of] - nearest.max(initial=0.0),
        "near_words": unit * columns["words_soft"],
        "near_both": unit * group,
        "near_row": unit * columns["row"],
        "near_item": unit * columns["item"],
        "near_group_row": group * columns["row"],
        "near_group_item": group * columns["item"],
        "words_row": columns["words_all"] * columns["row"],
        "words_item": columns["words_all"] * columns["item"],
        "near_group_words": group * columns["words_soft"],
        "near_answer": unit * columns["answer"],
        "words_answer": columns["words_soft"] * columns["answer"],
    }
    for name in ("near", "near_group"):
        out |= _rank_features(name, out[name], sharpness=12.0)
    return out
