"""Writing answers with quotes, as for QuoteSum (Schuster et al. 2024, section 4.2 and appendix A).

A writer sees a question and its passages, but not the short answers, and writes at most 100 words.
Everything taken from a passage is a quote. Inputs are questions in the QuoteSum format (``summary``
is optional and not shown) and, to be corrected, predictions for these questions or answers saved by
`semqa answer --json`, which include their question and sources.

An export has one QuoteSum row per answer, and may have several writers per question.

The page sends an answer as a list of pieces: strings, and quotes ``{"source", "field", "start", "end"}``
with offsets in code points. The server copies the quoted words from the passage, so that quotes are
always verbatim.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, cast

from semqa.data.jsonl import Row, as_row, read_json, read_rows
from semqa.data.quotesum import (
    MAX_NUMBER,
    Question,
    Reference,
    question_rows,
    read_questions,
)
from semqa.errors import InputError
from semqa.quotes import Quote, QuotedAnswer, Source
from semqa.quotes.marks import canonical_mark
from semqa.quotes.quote import FIELDS, Field
from semqa.quotes.renumber import Renumbering
from semqa.studies.kind import (
    MAX_TEXT,
    Figures,
    Format,
    Input,
    Item,
    Kind,
    Part,
    Rated,
    Stage,
    Studies,
    Study,
    counted,
    text_part,
)
from semqa.studies.kind import Question as Asked

MAX_WORDS = 100
"""Maximum number of words of an answer, as in the paper."""

MAX_PIECES = 400
MAX_FREE_TEXT = 10_000
"""Maximum length of a piece of free text, in characters."""

ZERO_WIDTH = "\u200b"
"""The zero-width space, which the page inserts as a place for the caret."""

_BRACKETS = str.maketrans("[]", "()")
_WORD = re.compile(r"[^\W_]+")
_KEYS = {"source", "field", "start", "end"}


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a quote in a passage, which is numbered from 1. Offsets are code points."""

    source: int
    field: Field
    start: int
    end: int

    def text(self, sources: Sequence[Source]) -> str:
        return sources[self.source - 1].field(self.field)[self.start : self.end]


Piece = str | Place


def read_pieces(given: object, sources: Sequence[Source]) -> list[Piece]:
    """Validate an answer from the page; whitespace in free text is collapsed to single spaces."""
    if not isinstance(given, list) or len(given) > MAX_PIECES:
        raise InputError(f"must be a list of at most {MAX_PIECES} pieces.", field="answer")
    pieces: list[Piece] = []
    for each in given:
        if isinstance(each, str):
            text = _free_text(each)
            if text and pieces and isinstance(pieces[-1], str):
                pieces[-1] += " " + text
            elif text:
                pieces.append(text)
        else:
            pieces.append(_place(each, sources))
    return pieces


def _free_text(text: str) -> str:
    if len(text) > MAX_FREE_TEXT:
        raise InputError(f"must be at most {MAX_FREE_TEXT:,} characters.", field="answer")
    if "[" in text or "]" in text:
        raise InputError("Square brackets mark quotes. Use round brackets instead.", field="answer")
    words = " ".join(text.replace(ZERO_WIDTH, "").split())
    if any(unicodedata.category(char) == "Cc" for char in words):
        raise InputError("must not contain control characters.", field="answer")
    return words


def _place(given: object, sources: Sequence[Source]) -> Place:
    if not isinstance(given, dict) or set(given) != _KEYS:
        raise InputError("must be a list of strings and quotes.", field="answer")
    numbers = [given[name] for name in ("source", "start", "end")]
    if any(type(number) is not int for number in numbers) or given["field"] not in FIELDS:
        raise InputError("has a quote with an invalid place.", field="answer")
    source, start, end = numbers
    place = Place(source, cast("Field", given["field"]), start, end)
    if not 1 <= source <= len(sources):
        raise InputError(f"There is no passage {source}.", field="answer")
    if not 0 <= start < end <= len(sources[source - 1].field(place.field)):
        raise InputError(f"A quote is not in passage {source}.", field="answer")
    text = place.text(sources)
    if text != text.strip():
        raise InputError(
            f"A quote of passage {source} begins or ends with a space.", field="answer"
        )
    if "[" in text or "]" in text:
        raise InputError(
            f"A quote of passage {source} contains a square bracket, which is not allowed.",
            field="answer",
        )
    return place


def marked(pieces: Sequence[Piece], sources: Sequence[Source]) -> str:
    """Return an answer with quote marks, spaced as in the released answers.

    Example:
        >>> from semqa import Source
        >>> marked(["By", Place(1, "body", 0, 4), "."], [Source("Bing sang it.")])
        'By [ 1 Bing ] .'
    """
    return " ".join(
        each if isinstance(each, str) else canonical_mark(each.source, each.text(sources))
        for each in pieces
    )


def verified(pieces: Sequence[Piece], sources: Sequence[Source]) -> str:
    """Return the marked answer, and raise unless parsing it yields the same verified quotes."""
    text = marked(pieces, sources)
    expected = [(p.source, p.text(sources)) for p in pieces if isinstance(p, Place)]
    answer = QuotedAnswer.parse(text, sources)
    found = [(quote.source, quote.text) for quote in answer.quotes if quote.verified]
    if found != expected or len(answer.quotes) != len(expected):
        raise InputError("A quote cannot be marked in the text.", field="answer")
    return text


def count_words(text: str) -> int:
    """Count the words of a text: its whitespace-separated tokens with a letter or a digit.

    Example:
        >>> count_words("Bing Crosby ( 1943 ) .")
        3
    """
    return sum(any(char.isalnum() for char in word) for word in text.split())


def words_of(pieces: Sequence[Piece], sources: Sequence[Source]) -> int:
    """Count the words of an answer, including those of its quotes."""
    return sum(count_words(p if isinstance(p, str) else p.text(sources)) for p in pieces)


def covered_short_answers(
    pieces: Sequence[Piece], sources: Sequence[Source], short_answers: Sequence[str]
) -> str:
    """Return the short answers that an answer quotes, as quote marks with their source numbers.

    A short answer is covered if its words appear in sequence in the joined quotes of its source.
    This reproduces all 129 released answers of `dev_a`.

    Example:
        >>> from semqa import Source
        >>> pieces = [Place(1, "body", 0, 4), Place(1, "body", 5, 9)]
        >>> covered_short_answers(pieces, [Source("Bing sang it.")], ["Bing sang"])
        '[ 1 Bing sang ]'
    """
    quoted: dict[int, list[str]] = defaultdict(list)
    for each in pieces:
        if isinstance(each, Place):
            quoted[each.source].append(each.text(sources))
    return " ".join(
        canonical_mark(number, answer)
        for number, answer in enumerate(short_answers, 1)
        if answer and _words(answer) in _words(" ".join(quoted.get(number, ())))
    )


def _words(text: str) -> str:
    return " " + " ".join(_WORD.findall(text.lower())) + " "


def pieces_of(text: str, sources: Sequence[Source]) -> tuple[list[Piece], list[str]]:
    """Convert a marked answer to pieces to edit, and the unverified quotes that became free text."""
    pieces: list[Piece] = []
    lost: list[str] = []
    for segment in QuotedAnswer.parse(text, sources).segments:
        place = _place_of(segment) if isinstance(segment, Quote) else None
        if place is not None:
            pieces.append(place)
            continue
        if isinstance(segment, Quote):
            lost.append(segment.text)
        shown = "".join(" " if unicodedata.category(c) == "Cc" else c for c in segment.text)
        pieces.append(" ".join(shown.translate(_BRACKETS).split()))
    return pieces, lost


def _place_of(quote: Quote) -> Place | None:
    if not quote.verified or quote.source_start is None or quote.source_end is None:
        return None
    return Place(quote.source, quote.field or "body", quote.source_start, quote.source_end)


def as_json(pieces: Sequence[Piece]) -> list[str | dict[str, Any]]:
    """Return pieces as JSON for the page."""
    return [each if isinstance(each, str) else asdict(each) for each in pieces]


def as_segments(pieces: Sequence[Piece], sources: Sequence[Source]) -> list[Mapping[str, Any]]:
    """Return pieces as segments of a read-only answer, with the spacing between them."""
    shown: list[Mapping[str, Any]] = []
    for number, each in enumerate(pieces):
        gap = " " if number else ""
        if isinstance(each, str):
            close = gap if each[0].isalnum() or each[0] in "([{“‘\"'–—-&" else ""
            shown.append({"text": close + each})
        else:
            if gap:
                shown.append({"text": gap})
            shown.append({"text": each.text(sources), "source": each.source})
    return shown


_ASKED = (
    Asked("answer", "Answer", "text"),
    Asked("left_out", "Passages that do not answer the question", "several", required=False),
    Asked("comment", "Comment on the question (optional)", "text", required=False),
)


class Writing(Kind):
    """Writing or correcting answers with quotes."""

    name = "writing"
    title = "Write an answer with quotes"
    view = "write"
    reviewed = True

    def read(self, inputs: Sequence[Input], design: str) -> list[Item]:
        questions: dict[str, Question] = {}
        starts: dict[str, str] = {}
        own: list[Item] = []
        for each in inputs:
            if each.gold:
                raise InputError("Writing studies have no gold items. Use --pilot and --reviewers.")
            path = each.path / "examples.jsonl" if each.path.is_dir() else each.path
            if path.suffix.lower() == ".json":
                own += [_saved(row) for row in _objects(path)]
                continue
            rows = list(read_rows(path))
            if any("source1" in row.fields for row in rows):
                for question in read_questions(path):
                    questions[question.qid] = question
            else:
                for row in rows:
                    if "sources" in row.fields:
                        own.append(_saved(row))
                        continue
                    qid = row.text("qid")
                    if qid not in questions:
                        raise InputError(
                            f"Question {qid!r} is not in the files before this one.",
                            where=row.where,
                        )
                    starts[qid] = row.text("prediction")
        chosen = [q for q in questions.values() if not starts or q.qid in starts]
        return [_item(question, starts.get(question.qid, "")) for question in chosen] + own

    def stages(self, item: Item, design: str) -> tuple[Stage, ...]:
        sources = _sources(item)
        start, lost = pieces_of(item.data.get("start", ""), sources)
        task: Part = {
            "kind": "writing",
            "sources": _passages(item),
            "start": as_json(start),
            "lost": lost,
            "max_words": MAX_WORDS,
        }
        parts = ({**text_part("Question", item.data["question"]), "main": True}, task)
        title = "Correct the answer" if item.data.get("start") else "Write the answer"
        return (Stage(title, parts, _ASKED),)

    def check(
        self,
        item: Item,
        design: str,
        stage: int,
        values: Mapping[str, Any],
        before: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the validated answer: quotes match their passages, and the length is allowed."""
        sources = _sources(item)
        pieces = read_pieces(values.get("answer", []), sources)
        left_out = _left_out(values.get("left_out", []), sources)
        comment = values.get("comment", "")
        if not isinstance(comment, str) or len(comment) > MAX_TEXT:
            raise InputError(f"must be at most {MAX_TEXT:,} characters.", field="comment")
        _check_answer(pieces, sources, left_out, comment)
        found = {"answer": as_json(pieces), "left_out": left_out, "comment": comment.strip()}
        return {name: value for name, value in found.items() if value or name == "answer"}

    def review(self, item: Item, values: Mapping[str, Any]) -> tuple[Part, ...]:
        """Return the question, the answer, and the passages with the quotes marked."""
        sources, pieces = _sources(item), _written(item, values)
        answer: Part = {
            "kind": "answer",
            "label": f"Answer, {words_of(pieces, sources)} words",
            "pieces": as_segments(pieces, sources),
        }
        if not pieces:
            answer = text_part("Answer", "No passage answers the question.")
        left_out = values.get("left_out", [])
        shown = []
        for each in _passages(item):
            number, title = each["number"], each["title"]
            places = [p for p in pieces if isinstance(p, Place) and p.source == number]
            shown.append(
                {
                    **each,
                    "title": f"{title} (left out)".strip() if number in left_out else title,
                    "marks": [[p.start, p.end] for p in places if p.field == "body"],
                    "title_marks": [[p.start, p.end] for p in places if p.field == "title"],
                }
            )
        comment = values.get("comment")
        return (
            {**text_part("Question", item.data["question"]), "main": True},
            answer,
            *((text_part("Writer's comment", comment),) if comment else ()),
            {"kind": "sources", "label": "Passages", "sources": shown},
        )

    def rows(self, study: Study, rated: Rated) -> Iterable[Mapping[str, Any]]:
        """Return a QuoteSum row; none if all passages were left out."""
        if not rated.values["answer"]:
            return []
        number = study.places[self.key(rated.item)]
        extra = {
            "writer": rated.rater,
            "seconds": round(rated.seconds, 1),
            "revision": rated.revision,
            "round": next(at for at, numbers in enumerate(study.rounds) if number in numbers),
            "left_out": rated.values.get("left_out", []),
            "comment": rated.values.get("comment", ""),
        }
        return question_rows(_question(rated, extra))

    def export(self, study: Study, ratings: Sequence[Rated], form: Format) -> Iterable[bytes]:
        """Return the QuoteSum rows by question and writer."""
        if form != "jsonl":
            raise InputError(
                "must be jsonl: answers are exported in the QuoteSum format.", field="--format"
            )
        places = study.places
        ordered = sorted(ratings, key=lambda each: (places[self.key(each.item)], each.place))
        lines = super().export(study, ordered, form)
        if not lines:
            raise InputError("There are no answers to export yet.")
        return lines

    def released(self, study: Study, ratings: Sequence[Rated]) -> dict[str, Iterable[bytes]]:
        """Return all answers as one QuoteSum file."""
        return {f"{self.name}.jsonl": self.export(study, ratings, "jsonl")}

    def report(self, studies: Studies) -> Figures:
        """Return statistics of length, quotes, coverage and working time."""
        return _figures([each for _, rated in studies for each in rated])


def _check_answer(
    pieces: Sequence[Piece], sources: Sequence[Source], left_out: Sequence[int], comment: str
) -> None:
    quoted = {each.source for each in pieces if isinstance(each, Place)}
    if not pieces and left_out == [n for n, source in enumerate(sources, 1) if source.text]:
        if not comment.strip():
            raise InputError("Explain in the comment why no passage answers the question.")
        return
    if not quoted:
        raise InputError(
            "The answer has no quotes. If no passage answers the question, leave out all of them."
        )
    for number in left_out:
        if number in quoted:
            raise InputError(f"Passage {number} is quoted, so it cannot be left out.")
    words = words_of(pieces, sources)
    if words > MAX_WORDS:
        raise InputError(f"The answer has {words} words; the limit is {MAX_WORDS}.")
    verified(pieces, sources)


def _left_out(given: object, sources: Sequence[Source]) -> list[int]:
    known = [number for number, source in enumerate(sources, 1) if source.text]
    if not isinstance(given, list) or any(type(n) is not int or n not in known for n in given):
        raise InputError("must be a list of passage numbers.", field="left_out")
    return sorted(set(given))


def _sources(item: Item) -> list[Source]:
    return [
        Source(each["text"], each.get("title", ""), each.get("url"))
        for each in item.data["sources"]
    ]


def _passages(item: Item) -> list[dict[str, Any]]:
    return [
        {"number": number, "title": "", **each}
        for number, each in enumerate(item.data["sources"], 1)
        if each["text"]
    ]


def _written(item: Item, values: Mapping[str, Any]) -> list[Piece]:
    return read_pieces(values["answer"], _sources(item))


# Reading


def _item(question: Question, start: str) -> Item:
    first = question.references[0]
    sources = [
        {"text": s.text, "title": s.title, **({"url": s.url} if s.url else {})}
        for s in question.sources
    ]
    data = {
        "question": question.question,
        "sources": sources,
        "short_answers": list(first.source_answers),
        "disambiguation": first.disambiguation,
        "start": start,
    }
    return Item(question.qid, "", {name: value for name, value in data.items() if value})


def _objects(path: Path) -> Iterator[Row]:
    """Yield the object of a JSON file, or each object of a list."""
    value, _ = read_json(path)
    for number, each in enumerate(value if isinstance(value, list) else [value], 1):
        yield as_row(each, f"{path}: item {number}")


def _saved(row: Row) -> Item:
    """Return the item of a saved answer, with its quoted sources first, up to the limit."""
    given = row.fields.get("sources")
    if not isinstance(given, list) or not given:
        raise InputError("must be a list of sources.", field="sources", where=row.where)
    rows = [as_row(each, f"{row.where}: source {n}") for n, each in enumerate(given, 1)]
    sources = [Source(each.text("text"), each.text("title", ""), _url(each)) for each in rows]
    question = row.text("question")
    answer = QuotedAnswer.parse(row.text("answer"), sources)
    renumbering = Renumbering(sources)
    answer = renumbering.answer(answer)
    if len(renumbering.numbers) > MAX_NUMBER:
        raise InputError(
            f"quotes {len(renumbering.numbers)} sources; QuoteSum rows have at most {MAX_NUMBER}.",
            field="answer",
            where=row.where,
        )
    others = [n for n in range(1, len(sources) + 1) if n not in renumbering.numbers]
    kept = [*renumbering.numbers, *others][:MAX_NUMBER]
    chosen = Question(
        row.text("qid", question),
        question,
        tuple(sources[n - 1] for n in kept),
        (Reference("", ""),),
    )
    return _item(chosen, "" if answer.abstained else answer.marked)


def _url(row: Row) -> str | None:
    found = row.fields.get("url")
    return found if isinstance(found, str) and found else None


# Writing


def _question(rated: Rated, extra: Mapping[str, object]) -> Question:
    data, sources = rated.item.data, _sources(rated.item)
    pieces = _written(rated.item, rated.values)
    short = data.get("short_answers", [])
    reference = Reference(
        f"{rated.item.item}_{rated.place}",
        verified(pieces, sources),
        covered_short_answers(pieces, sources, short),
        tuple(short),
        data.get("disambiguation", ""),
        extra,
    )
    return Question(rated.item.item, data["question"], tuple(sources), (reference,))


def _figures(ratings: Sequence[Rated]) -> Figures:
    own = [each for each in ratings if each.values["answer"]]
    words, quotes, shares, spans = [], [], [], []
    for each in own:
        sources, pieces = _sources(each.item), _written(each.item, each.values)
        places = [piece for piece in pieces if isinstance(piece, Place)]
        words.append(words_of(pieces, sources))
        quotes.append(len(places))
        spans.append(words_of(places, sources) / max(1, words[-1]))
        shares.append(len({p.source for p in places}) / len(_passages(each.item)))
    left = Counter(number for each in ratings for number in each.values.get("left_out", []))
    seconds = [each.seconds for each in ratings if each.seconds]  # 0 if imported
    record: dict[str, Any] = {
        "answers": len(own),
        "without_answer": len(ratings) - len(own),
        "questions": len({each.item.item for each in own}),
        "writers": len({each.rater for each in ratings}),
        "words": fmean(words) if words else None,
        "quoted_words": fmean(spans) if spans else None,
        "quotes": fmean(quotes) if quotes else None,
        "passages_quoted": fmean(shares) if shares else None,
        "passages_left_out": left.total(),
        "revised": sum(each.revision > 1 for each in ratings),
        "comments": sum(bool(each.values.get("comment")) for each in ratings),
        "seconds": median(seconds) if seconds else None,
    }
    labels = {
        "words": ("words, mean", "{:.1f}"),
        "quoted_words": ("share of quoted words", "{:.0%}"),
        "quotes": ("quotes, mean", "{:.1f}"),
        "passages_quoted": ("share of passages quoted", "{:.0%}"),
        "seconds": ("seconds, median", "{:.0f}"),
    }
    rows = [
        [label, "–" if record[name] is None else form.format(record[name])]
        for name, (label, form) in labels.items()
    ]
    rows += [
        [name.replace("_", " "), str(record[name])]
        for name in ("without_answer", "passages_left_out", "revised", "comments")
    ]
    notes = [
        f"{counted(record['answers'], 'answer')} to {counted(record['questions'], 'question')} by "
        f"{counted(record['writers'], 'writer')}"
    ]
    return Figures(record, [(("answers", str(record["answers"])), rows)], notes)
