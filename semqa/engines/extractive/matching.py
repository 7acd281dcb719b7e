"""Documents as units, how well each unit matches a question, and which units to quote."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

import numpy as np

from semqa.documents.structure import CONTENT, plain, read_structure
from semqa.engines.extractive.lexicon import IDLE, language_of, related, stem
from semqa.engines.extractive.passage import split_words
from semqa.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.documents.structure import Structure
    from semqa.quotes import Source
    from semqa.retrieval.encoder import SentenceEncoder

    Array = NDArray[np.float64]

__all__ = [
    "Judgement",
    "Match",
    "Model",
    "Units",
    "blend",
    "embed",
    "judge",
    "load_models",
    "match",
    "read_units",
    "select",
    "texts_of",
]


LONGEST_GROUP = 1_200
"""Characters of a paragraph, list or table that are embedded: what an encoder of sentences reads."""

READ_AT_ONCE = 512
"""Texts whose units are kept in memory."""


@dataclass(frozen=True)
class Units:
    """A source as units.

    Attributes:
        title: its title, plain.
        structure: its text and units.
        texts: each unit, plain.
        above: for each unit the plain texts above it, the outermost first: headings, then the
            lead-in, header or question that it belongs to.
        content: indexes of the units that say something and can be quoted.
    """

    title: str
    structure: Structure
    texts: tuple[str, ...]
    above: tuple[tuple[str, ...], ...]
    content: tuple[int, ...]

    @cached_property
    def embedded(self) -> tuple[str, ...]:
        """For each unit what is embedded of it: a row names its columns, others are as they are."""
        out = list(self.texts)
        for i in self.content:
            unit = self.structure.units[i]
            if unit.kind == "row" and unit.over is not None:
                header = map(plain, _cells(self.structure.of(unit.over)))
                row = map(plain, _cells(self.structure.of(i)))
                out[i] = "; ".join(
                    ": ".join(filter(None, both)) for both in zip_longest(header, row)
                )
        return tuple(out)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """For each unit the paragraph, list or table it is in, under its heading."""
        members: dict[int, list[int]] = {}
        for i in self.content:
            members.setdefault(self.structure.units[i].group, []).append(i)
        out = list(self.texts)
        for group in members.values():
            first = self.structure.units[group[0]]
            above = self.above[group[0]]
            head = [above[-1]] if above else []
            if first.over is not None and len(above) > 1:
                head = list(above[-2:])
            text = " ".join([*map(_ended, head), *(self.texts[i] for i in group)])[:LONGEST_GROUP]
            for i in group:
                out[i] = text
        return tuple(out)


def read_units(source: Source) -> Units:
    """Read a source; of the same text the result is kept."""
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
            at = structure.units[at].over
        above.append((*outer, *(texts[h] for h in unit.headings), *over))
    content = tuple(
        i for i, unit in enumerate(structure.units) if unit.kind in CONTENT and texts[i]
    )
    return Units(plain(title), structure, texts, tuple(above), content)


def texts_of(units: Units, indexes: Sequence[int]) -> list[str]:
    """Return what is embedded for some units: themselves, their groups, and what is above them."""
    wanted: dict[str, None] = {}
    for i in indexes:
        wanted.setdefault(units.embedded[i])
        wanted.setdefault(units.groups[i])
        for text in units.above[i]:
            wanted.setdefault(text)
    return list(wanted)


def embed(encoder: SentenceEncoder, question: str, texts: Sequence[str]) -> dict[str, float]:
    """Return the cosine of each text and the question.

    Vectors of texts are kept on disk, if that can be written to; those of questions are not.

    Raises:
        InputError: the model is not usable.
        UnavailableError: it cannot be had, or packages are missing.
    """
    try:
        vectors = encoder.encode(texts)
    except UnavailableError:
        vectors = encoder.embed(texts)  # no cache; or no model, which this says again
    asked = encoder.embed([question])[0]
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(asked)
    near = vectors @ asked / np.maximum(lengths, 1e-12)
    return dict(zip(texts, near.tolist(), strict=True))


def _cells(row: str) -> list[str]:
    """Return the cells of a row of a table, or of comma-separated values.

    Example:
        >>> _cells("| Gas | 4 hours |"), _cells('A1,"Phlox, white",8')
        (['Gas', '4 hours'], ['A1', 'Phlox, white', '8'])
    """
    if "|" in row:
        return [cell.strip() for cell in row.strip().strip("|").split("|")]
    sign = max("\t;,", key=row.count)
    return next(csv.reader([row], delimiter=sign), [])


def _ended(text: str) -> str:
    return text if text[-1:] in ".?!:" else f"{text}."


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
) -> Match:
    """Compare the units of the sources with a question.

    Args:
        question: the question.
        sources: the sources.
        encoder: compares by meaning; None compares by words only.

    Raises:
        InputError: the encoder is not usable.
        UnavailableError: the encoder cannot be had, or packages are missing.
    """
    read = tuple(read_units(source) for source in sources)
    places = tuple((s, u) for s, units in enumerate(read) for u in units.content)
    if not places:
        return Match(read, places, np.zeros((0, 0)), (), encoder is not None)
    columns = _Words(question, read, places).columns() | _shape(question, read, places)
    if encoder is not None:
        columns |= _meaning(question, read, places, encoder, columns)
    features = np.column_stack(list(columns.values()))
    return Match(read, places, features, tuple(columns), encoder is not None)


@lru_cache(maxsize=1 << 14)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in split_words(text) if word not in IDLE)


class _Words:
    """The words of the question in the units."""

    def __init__(
        self, question: str, read: Sequence[Units], places: Sequence[tuple[int, int]]
    ) -> None:
        language = language_of(question)
        idle = _ASKING | (language.stopwords if language else frozenset())
        asked = [stem(word) for word in split_words(question) if word not in IDLE | idle]
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
        words = own @ share
        columns = {
            "words": words,
            "words_before": _beside(words, read, places, -1),
            "words_after": _beside(words, read, places, 1),
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


def _beside(
    values: Array, read: Sequence[Units], places: Sequence[tuple[int, int]], step: int
) -> Array:
    """Return the value of each unit's neighbour in its paragraph, list or table; 0 without one."""
    rows = {place: row for row, place in enumerate(places)}
    out = np.zeros(len(values))
    for row, (s, u) in enumerate(places):
        other = rows.get((s, u + step))
        units = read[s].structure.units
        if other is not None and units[u + step].group == units[u].group:
            out[row] = values[other]
    return out


def _standing(name: str, values: Array, sharpness: float) -> dict[str, Array]:
    """Return how values stand among all: rank, and nearness to the best."""
    rank = np.empty(len(values))
    rank[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return {
        f"{name}_rank": 1 / (1 + rank),
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
        "near_before": _beside(unit, read, places, -1),
        "near_after": _beside(unit, read, places, 1),
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


SHARE = 0.4
"""A unit is quoted if its chance is at least this share of the best one's; 0.5 is nearly as good."""

MOST = 10
"""Units that are quoted at most, what they need to be understood not counted."""


@dataclass(frozen=True)
class Trees:
    """Gradient-boosted trees: each puts a unit into one of its leaves, whose values add up.

    Source: Friedman 2001, algorithm 5 (for two classes); `scripts/fit_documents.py` fits them.

    Attributes:
        names: the features that the trees look at.
        bias: the sum's start.
        feature: index of the feature that a node looks at; shape [trees, nodes]. The other arrays are alike.
        threshold: a unit whose feature is not above this goes left.
        left: where it goes then; a leaf leads to itself.
        right: where it goes else.
        value: log odds that a leaf adds; 0 for other nodes.
        depth: steps from the root to the farthest leaf.
    """

    names: tuple[str, ...]
    bias: float
    feature: NDArray[np.intp]
    threshold: Array
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    value: Array
    depth: int

    @classmethod
    def of(
        cls, names: Sequence[str], bias: float, trees: Sequence[Sequence[Sequence[float]]]
    ) -> Trees:
        """Make trees of lists of nodes: ``[feature, threshold, left, right]``, or ``[value]`` for a leaf."""
        shape = (len(trees), max(map(len, trees)))
        feature, left, right = (np.zeros(shape, dtype=np.intp) for _ in range(3))
        threshold, value = np.zeros(shape), np.zeros(shape)
        depth = 0
        for t, nodes in enumerate(trees):
            below = [0] * len(nodes)
            for n, node in enumerate(nodes):  # parents come before their children
                if len(node) == 1:
                    left[t, n] = right[t, n] = n
                    value[t, n] = node[0]
                    continue
                feature[t, n], threshold[t, n] = int(node[0]), node[1]
                left[t, n], right[t, n] = int(node[2]), int(node[3])
                below[int(node[2])] = below[int(node[3])] = below[n] + 1
            depth = max(depth, *below)
        return cls(tuple(names), bias, feature, threshold, left, right, value, depth)

    def odds(self, match: Match, rows: NDArray[np.intp]) -> Array:
        """Return the log odds of some units; shape [rows]."""
        order = [match.names.index(name) for name in self.names]
        columns = match.features[rows][:, order].ravel()
        trees, nodes = self.feature.shape
        # Flat indexes are several times as fast as pairs of them.
        root = np.arange(trees) * nodes
        row = (np.arange(len(rows)) * len(self.names))[:, None]
        node = np.broadcast_to(root, (len(rows), trees))
        for _ in range(self.depth):
            low = columns.take(row + self.feature.take(node)) <= self.threshold.take(node)
            node = root + np.where(low, self.left.take(node), self.right.take(node))
        odds: Array = self.bias + self.value.take(node).sum(axis=1)
        return odds


@dataclass(frozen=True)
class Model:
    """What judges units.

    Attributes:
        unit: the chance that a person would quote a unit of documents that answer the question.
        relevance: the same if the documents may as well not answer it.
        least: relevance of the best unit below which the sources do not answer.
    """

    unit: Trees
    relevance: Trees
    least: float


MOST_JUDGED = 120
"""Units that the trees look at, the likeliest; the chance of others is 0."""


@dataclass(frozen=True)
class Judgement:
    """What the model says of all units of a question.

    Attributes:
        chances: chance that a person would quote each unit if the sources answer; shape [rows].
        relevance: that chance if they may as well not answer; shape [rows].
        least: relevance of the best unit below which the sources do not answer the question.
    """

    chances: Array
    relevance: Array
    least: float

    @property
    def answers(self) -> bool:
        """Whether the sources are taken to answer the question."""
        return float(self.relevance.max(initial=0.0)) >= self.least


@lru_cache(maxsize=1)
def load_models() -> tuple[Model, Model]:
    """Return the models that ship: with an encoder, and by words only."""
    text = resources.files(__package__).joinpath("documents.json").read_text("utf-8")
    data = json.loads(text)
    with_meaning, by_words = (
        Model(Trees.of(**each["unit"]), Trees.of(**each["relevance"]), each["least"])
        for each in (data["meaning"], data["words"])
    )
    return with_meaning, by_words


def likeliest(match: Match) -> NDArray[np.intp]:
    """Return the rows in the order of one plain score: how near a unit is, and the words it shares."""
    if not match.places:
        return np.zeros(0, dtype=np.intp)
    near = match.column("near_best" if match.by_meaning else "bm25_best")
    return np.argsort(-near - match.column("words_all"), kind="stable")


def judge(match: Match, model: Model | None = None) -> Judgement:
    """Judge all units.

    Args:
        match: the units, compared with the question.
        model: another model than the one that ships.
    """
    model = model or load_models()[0 if match.by_meaning else 1]
    rows = likeliest(match)[:MOST_JUDGED]
    chances, relevance = np.zeros((2, len(match.places)))
    if len(rows):
        chances[rows] = _logistic(model.unit.odds(match, rows))
        relevance[rows] = _logistic(model.relevance.odds(match, rows))
    return Judgement(chances, relevance, model.least)


def blend(whole: Judgement, part: Judgement) -> Judgement:
    """Return the mean of two judgements of the same units, of their log odds."""
    return Judgement(
        _mean_odds(whole.chances, part.chances),
        _mean_odds(whole.relevance, part.relevance),
        whole.least,
    )


def select(judgement: Judgement) -> list[int]:
    """Return the rows to quote, the most certain first; at least one if there is any."""
    least = SHARE * float(judgement.chances.max(initial=0.0))
    order = np.argsort(-judgement.chances, kind="stable")[:MOST].tolist()
    return [row for row in order if judgement.chances[row] >= least]


def _mean_odds(one: Array, other: Array) -> Array:
    odds = [np.log((each + 1e-6) / (1 + 1e-6 - each)) for each in (one, other)]
    return _logistic((odds[0] + odds[1]) / 2)


def _logistic(z: Array) -> Array:
    chance: Array = 1.0 / (1.0 + np.exp(-np.clip(z, -30.0, 30.0)))
    return chance
