"""How the units of documents relate to a question: features that a reader can check by eye."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive.languages import language_of
from semqa.engines.extractive.lexicon import STOPWORDS, related, stem
from semqa.engines.extractive.passage import split_words
from semqa.engines.extractive.units import embed, read_units, texts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.engines.extractive.units import Units
    from semqa.quotes import Source
    from semqa.retrieval.encoder import SentenceEncoder

    Array = NDArray[np.float64]

__all__ = ["Match", "match"]

MOST_EMBEDDED = 400
"""Units whose meaning is compared; of more, those with the most words of the question."""

_K1, _B = 1.2, 0.75
"""Parameters of BM25; their usual values. Source: Robertson and Zaragoza 2009, section 3.5."""

_ASKING = frozenset(("any", "anybody", "anyone", "please", "tell", "want", "need", "like"))

_MONEY = re.compile(
    r"[£$€]\s?\d|\d\s?(?:p\b|euros?\b|dollars?\b|pounds?\b|cents?\b|per ?cent|%)|\b\d+\.\d\d\b",
    re.I,
)
_TIME = re.compile(
    r"\b(?:\d{1,2}[:.]\d\d|\d{1,2} ?[ap]\.?m|(?:19|20)\d\d|noon|midnight|today|tomorrow|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|jan(?:uary)?|feb(?:ruary)?|march|april|may|june|"
    r"july|aug(?:ust)?|sept(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b",
    re.I,
)
_DURATION = re.compile(
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
        _TIME,
    ),
    (
        re.compile(
            r"how much|how expensive|\bcosts?\b|\bprice|\bfees?\b|\brates?\b|\bcharge|salary|\bpay\b",
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
    (re.compile(r"how (?:long|often|quickly|soon|late|early)|notice period", re.I), _DURATION),
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
"""What a question asks for, and what an answer of that kind holds."""

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


@dataclass(frozen=True)
class Match:
    """All units of a question's sources, compared with it.

    Attributes:
        sources: the sources as units.
        places: for each row the source's index and the unit's.
        features: shape [rows, features], in the order of `names`.
        names: what each feature is called.
        by_meaning: whether an encoder took part.
    """

    sources: tuple[Units, ...]
    places: tuple[tuple[int, int], ...]
    features: Array
    names: tuple[str, ...]
    by_meaning: bool

    def column(self, name: str) -> Array:
        """Return one feature of all units, shape [rows]."""
        found: Array = self.features[:, self.names.index(name)]
        return found


def match(
    question: str,
    sources: Sequence[Source],
    encoder: SentenceEncoder | None = None,
    *,
    without: frozenset[tuple[int, int]] = frozenset(),
) -> Match:
    """Compare the units of the sources with a question.

    Args:
        question: the question.
        sources: the sources.
        encoder: compares by meaning; None compares by words only.
        without: places of units that are treated as if they were not there.

    Raises:
        InputError: the encoder is not usable.
        UnavailableError: the encoder cannot be had, or packages are missing.
    """
    read = tuple(read_units(source) for source in sources)
    places = tuple(
        (s, u) for s, units in enumerate(read) for u in units.content if (s, u) not in without
    )
    if not places:
        return Match(read, places, np.zeros((0, 0)), (), encoder is not None)
    columns = _Words(question, read, places).columns() | _shape(question, read, places)
    if encoder is not None:
        columns |= _meaning(question, read, places, encoder, columns)
    features = np.column_stack(list(columns.values()))
    return Match(read, places, features, tuple(columns), encoder is not None)


@lru_cache(maxsize=1 << 14)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in split_words(text) if word not in STOPWORDS)


class _Words:
    """The words of the question in the units."""

    def __init__(
        self, question: str, read: Sequence[Units], places: Sequence[tuple[int, int]]
    ) -> None:
        language = language_of(question)
        idle = _ASKING | (language.stopwords if language else frozenset())
        asked = [stem(word) for word in split_words(question) if word not in STOPWORDS | idle]
        self._asked = tuple(dict.fromkeys(asked)) or _stems(question)[:1]
        self._read, self._places = read, places

    def columns(self) -> dict[str, Array]:
        read, places, asked = self._read, self._places, self._asked
        units = [_stems(read[s].texts[u]) for s, u in places]
        above = [[_stems(text) for text in read[s].above[u]] for s, u in places]
        titles = [set(_stems(units.title)) for units in read]
        own = _held(asked, units)
        soft = own.copy()
        for j, word in enumerate(asked):
            near = related(word)
            if near:
                soft[:, j] = np.maximum(
                    soft[:, j], [0.5 * (not near.isdisjoint(held)) for held in units]
                )
        last = _held(asked, [texts[-1] if texts else () for texts in above])
        over = _held(asked, [[w for text in texts for w in text] for texts in above])
        named = np.array([[w in titles[s] for w in asked] for s, _ in places], float)
        both = np.maximum(np.maximum(own, over), named.reshape(own.shape))
        count = max(len(places), 1)
        holding = own.sum(0)
        idf = np.log1p((count - holding + 0.5) / (holding + 0.5))
        share = idf / max(float(idf.sum()), 1e-9)
        lengths = np.array([len(text) for text in units], float)
        damping = _K1 * (1 - _B + _B * lengths / max(float(lengths.mean()), 1.0))
        times = np.array([[text.count(w) for w in asked] for text in units], float)
        times = times.reshape(own.shape)
        bm25 = (share * times * (_K1 + 1) / (times + damping[:, None])).sum(1)
        of = np.array([s for s, _ in places], dtype=np.int64)
        in_source = np.array([share @ both[of == s].max(0, initial=0.0) for s in range(len(read))])
        columns = {
            "words": own @ share,
            "words_soft": soft @ share,
            "words_above": over @ share,
            "words_over": last @ share,
            "words_all": both @ share,
            "bm25": bm25,
            "pairs": np.minimum(_pairs(asked, units), 3) / 3,
            "source_words": in_source[of] - in_source.max(initial=0.0),
        }
        for name in ("words", "words_soft", "words_all", "bm25"):
            columns |= _standing(name, columns[name], sharpness=4.0)
        return columns


def _held(asked: Sequence[str], texts: Sequence[Sequence[str]]) -> Array:
    """Return 1 where a text holds a word; shape [texts, words]."""
    held = np.array([[word in there for word in asked] for there in map(set, texts)], float)
    return held.reshape(len(texts), len(asked))


def _pairs(asked: Sequence[str], units: Sequence[Sequence[str]]) -> Array:
    """Count neighbours in the question that stand within two words of each other in a unit."""
    out = np.zeros(len(units))
    for left, right in pairwise(asked):
        for i, text in enumerate(units):
            if left in text and right in text and abs(text.index(left) - text.index(right)) <= 2:
                out[i] += 1
    return out


def _standing(name: str, values: Array, sharpness: float) -> dict[str, Array]:
    """Return how values stand among all: rank, distance from the mean, nearness to the best."""
    rank = np.empty(len(values))
    rank[np.argsort(-values, kind="stable")] = np.arange(len(values))
    spread = float(values.std()) + 1e-6
    return {
        f"{name}_rank": 1 / (1 + rank),
        f"{name}_top3": (rank < 3).astype(float),
        f"{name}_top10": (rank < 10).astype(float),
        f"{name}_z": np.clip((values - values.mean()) / spread, -3, 6),
        f"{name}_best": np.exp((values - values.max()) * sharpness),
    }


def _shape(
    question: str, read: Sequence[Units], places: Sequence[tuple[int, int]]
) -> dict[str, Array]:
    """Return what the units are, and whether they hold the kind of answer that is asked for."""
    wanted = [holds for asks, holds in _KINDS if asks.search(question)]
    listing = bool(_LISTING.search(question))
    texts = [read[s].texts[u] for s, u in places]
    kinds = [read[s].structure.units[u].kind for s, u in places]
    typed = np.array([any(holds.search(text) for holds in wanted) for text in texts], float)
    listed = np.array([kind in ("item", "row") for kind in kinds], float)
    return {
        "answer": typed,
        "no_answer": (1 - typed) * bool(wanted),
        "length": np.array([min(len(text.split()), 40) / 40 for text in texts]),
        "short": np.array([float(len(text.split()) <= 3) for text in texts]),
        "question": np.array([float(text.endswith("?")) for text in texts]),
        "item": np.array([float(kind == "item") for kind in kinds]),
        "row": np.array([float(kind == "row") for kind in kinds]),
        "listed": listed * listing,
        "exception": np.array([float(bool(_EXCEPTION.search(text))) for text in texts]),
        "goes_on": np.array([float(bool(_GOES_ON.match(text))) for text in texts]),
    }


def _meaning(
    question: str,
    read: Sequence[Units],
    places: Sequence[tuple[int, int]],
    encoder: SentenceEncoder,
    columns: dict[str, Array],
) -> dict[str, Array]:
    """Return how near units, their groups and what is above them are to the question."""
    chosen = list(range(len(places)))
    if len(places) > MOST_EMBEDDED:
        best = columns["words_all"] + columns["words_soft"] + 0.1 * columns["answer"]
        chosen = np.argsort(-best, kind="stable")[:MOST_EMBEDDED].tolist()
    texts = dict.fromkeys(
        text for i in chosen for text in texts_of(read[places[i][0]], [places[i][1]])
    )
    near = embed(encoder, question, list(texts))
    unit, group, above, over = (np.zeros(len(places)) for _ in range(4))
    for i in chosen:
        s, u = places[i]
        units = read[s]
        unit[i] = near[units.embedded[u]]
        group[i] = near[units.groups[u]]
        heads = [near[text] for text in units.above[u]]
        above[i] = max(heads, default=0.0)
        over[i] = heads[-1] if heads else 0.0
    nearest = np.maximum(unit, group)
    of = np.array([s for s, _ in places])
    in_source = np.array(
        [
            np.sort(nearest[of == s])[-3:].mean() if (of == s).any() else 0.0
            for s in range(len(read))
        ]
    )
    in_group: dict[tuple[int, int], float] = {}
    for (s, u), value in zip(places, unit.tolist(), strict=True):
        key = (s, read[s].structure.units[u].group)
        in_group[key] = max(in_group.get(key, -1.0), value)
    best_there = np.array([in_group[s, read[s].structure.units[u].group] for s, u in places])
    out = {
        "near": unit,
        "near_group": group,
        "near_above": above,
        "near_over": over,
        "near_gap": nearest.max(initial=0.0) - nearest,
        "near_in_group": unit - best_there,
        "source_near": in_source[of] - nearest.max(initial=0.0),
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
        out |= _standing(name, out[name], sharpness=12.0)
    return out
