"""Questions over the user's own documents: read them, answer them and save the answers.

`QuestionSet.read` reads a file of questions and their documents. `answer_questions` asks an engine,
with `whole_documents` or the passages found by `TemporaryCollections` as sources. `AnswerFile`
saves each answer immediately.
"""

from __future__ import annotations

import csv
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple, Self

from annotated_types import MinLen
from pydantic import StringConstraints

import semqa
from semqa.data.files import STDIN, ByteBudget, display_name, open_input
from semqa.data.jsonl import AppendFile, Row, read_as, read_rows, shown
from semqa.data.sources import read_sources
from semqa.documents import Limits, extract
from semqa.documents.document import check_name
from semqa.documents.extract import PLAIN_KINDS, kind_of
from semqa.engines import Engine, Request
from semqa.engines.extractive import ExtractiveEngine
from semqa.engines.outcome import abstention, attempt, rated
from semqa.errors import InputError, MissingExtraError, SemqaError, UnavailableError
from semqa.metrics.docqa import DocsPrediction, DocsQuestion, DocsQuote, DocsScorer
from semqa.quotes import Quote, Source
from semqa.quotes.render.common import has_tick
from semqa.retrieval.passages import Collection, Library

LIMITS = Limits(seconds=600.0)
"""Generous, because the documents are the user's own."""

MAX_UNAVAILABLE = 3
"""Stop after this many consecutive `UnavailableError`s, such as an endpoint that is down."""


class File(NamedTuple):
    """A document.

    Attributes:
        source: the whole document as one source.
    """

    data: bytes
    source: Source


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions and their documents."""

    questions: tuple[DocsQuestion, ...]
    documents: Mapping[str, File]
    scorer: DocsScorer

    @classmethod
    def read(cls, path: Path, folder: Path | None = None) -> Self:
        """Read questions and their documents.

        Args:
            path: a JSON Lines file, one question per line; ``-`` is standard input.
            folder: the folder with the documents; by default ``documents`` beside the file.
        """
        if folder is None:
            if str(path) == STDIN:
                raise InputError("Questions from standard input need --documents DIR.")
            folder = path.parent / "documents"
        rows: dict[str, Row] = {}
        questions: dict[str, DocsQuestion] = {}
        for row in read_rows(path):
            question = _question(row)
            if question.id in rows:
                raise InputError(
                    f'{row.where}: the id "{question.id}" is already used at '
                    f"{rows[question.id].where}."
                )
            rows[question.id], questions[question.id] = row, question
        documents: dict[str, File] = {}
        for question in tuple(questions.values()):
            for name in question.documents:
                if name not in documents:
                    try:
                        documents[name] = _read_document(folder, name)
                    except InputError as error:
                        raise InputError(f"{rows[question.id].where}: {error}") from error
            texts = [documents[name].source.text for name in question.documents]
            evidence = tuple(_as_extracted(passage, texts) for passage in question.evidence)
            questions[question.id] = replace(question, evidence=evidence)
        scorer = DocsScorer({name: each.source.text for name, each in documents.items()})
        problems = [
            f"{rows[question.id].where}: {problem}"
            for question in questions.values()
            for problem in scorer.problems(question)
        ]
        if problems:
            more = f" And {len(problems) - 1} more such problems." if problems[1:] else ""
            raise InputError(f"{problems[0]} Copy it character for character.{more}")
        return cls(tuple(questions.values()), documents, scorer)


_Text = Annotated[str, StringConstraints(pattern=r"\S")]
_Texts = Annotated[tuple[_Text, ...], MinLen(1)]
_HINT = (
    'Such as {"id": "q1", "question": "How long?", "documents": ["a.pdf"], '
    '"facts": [["4 hours", "four hours"]], "evidence": ["It took four hours."]}.'
)


@dataclass(frozen=True, slots=True)
class _Asked:
    id: _Text
    question: _Text
    documents: _Texts
    answerable: bool = True
    kind: str = ""


@dataclass(frozen=True, slots=True)
class _Answer:
    facts: Annotated[tuple[_Texts, ...], MinLen(1)]
    evidence: _Texts


def _question(row: Row) -> DocsQuestion:
    asked = read_as(_Asked, row, _HINT)
    if len(set(asked.documents)) < len(asked.documents):
        raise InputError("names a file twice.", field="documents", where=row.where)
    if asked.answerable:
        return DocsQuestion(**asdict(asked), **asdict(read_as(_Answer, row, _HINT)))
    if row.fields.get("facts") or row.fields.get("evidence"):
        raise InputError(
            "is false, but there are facts or evidence.", field="answerable", where=row.where
        )
    return DocsQuestion(**asdict(asked))


def _as_extracted(passage: str, texts: Sequence[str]) -> str:
    """Return a row that was copied from a CSV file as the extracted text has it, and other evidence as it is.

    Example:
        >>> _as_extracted('A1,"Phlox, white",8', ["A1 | Phlox, white | 8"])
        'A1 | Phlox, white | 8'
    """
    if "\n" not in passage.strip() and not any(passage in text for text in texts):
        for delimiter in ",;\t":
            with suppress(csv.Error):
                cells = next(csv.reader([passage.strip()], delimiter=delimiter))
                row = " | ".join(cells)
                if len(cells) > 1 and any(row in text for text in texts):
                    return row
    return passage


def _read_document(folder: Path, name: str) -> File:
    """Read a document: text files as ``semqa answer --source`` does, other kinds by extraction."""
    path = folder / check_name(name)
    if not path.is_file():
        raise InputError(
            f"No document {shown(name)} in {display_name(folder)}. Put it there, or name its folder "
            "with --documents."
        )
    with open_input(path, ByteBudget(LIMITS.size)) as file:
        data = file.read_all()
    if kind_of(name, data) in PLAIN_KINDS:
        (source,) = read_sources([path])
    else:
        document = extract(name, data, LIMITS)
        source = Source(document.text, document.title)
    return File(data, source)


def whole_documents(
    question: DocsQuestion, documents: Mapping[str, File]
) -> list[tuple[str, Source]]:
    """Return the documents of a question as (name, source) pairs."""
    return [(name, documents[name].source) for name in question.documents]


class TemporaryCollections:
    """Temporary collections, one per set of documents; use as a context manager."""

    def __init__(self, documents: Mapping[str, File], passages: int) -> None:
        self._documents = documents
        self._passages = passages
        self._folder = TemporaryDirectory(prefix="semqa-docs-")
        self._library = Library(
            self._folder.name, limits=LIMITS, read_ahead=ExtractiveEngine().read_ahead
        )
        self._collections: dict[frozenset[str], Collection] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    @property
    def encoder(self) -> str | None:
        """The encoder used for semantic search; None if search is by words only."""
        return self._library.encoder

    def prepare(
        self, questions: Sequence[DocsQuestion], on_progress: Callable[[int, int], None]
    ) -> None:
        """Index the documents of questions, once per set of documents."""
        lists = {frozenset(question.documents) for question in questions}
        new = sorted((names for names in lists if names not in self._collections), key=sorted)
        done, total = 0, sum(map(len, new))
        for names in new:
            on_progress(done, total)
            collection = self._library.create("", f"documents {len(self._collections)}")
            collection.put_all([(name, self._documents[name].data) for name in sorted(names)])
            self._collections[names] = collection
            done += len(names)

    def find(self, question: DocsQuestion) -> list[tuple[str, Source]]:
        """Return the most relevant passages as (document name, source) pairs."""
        collection = self._collections[frozenset(question.documents)]
        found = collection.search(question.question, self._passages)
        return [(passage.name, passage.source) for passage in found]


@dataclass(frozen=True, slots=True)
class DocsAnswer:
    """An answer to a question over documents, stored as one line of a file.

    Attributes:
        error: why the question failed.
        seconds: time taken, including the search for passages; None if unknown.
        key: digest of everything the answer depends on; empty if unknown.
        ticked: whether readers see a ✓ on the answer; None if unknown.
    """

    id: str
    engine: str = ""
    answer: str = ""
    quotes: tuple[DocsQuote, ...] = ()
    abstained: bool = False
    error: str | None = None
    seconds: float | None = None
    key: str = ""
    ticked: bool | None = None

    @property
    def prediction(self) -> DocsPrediction:
        """The scored part of the answer."""
        return DocsPrediction(self.quotes, self.abstained, self.error or None, self.ticked)


def read_answers(path: Path) -> dict[tuple[str, str], DocsAnswer]:
    """Read a file of answers, keyed by engine and question id; the last of duplicates counts."""
    return _by_question(read_rows(path))


def _by_question(rows: Iterable[Row]) -> dict[tuple[str, str], DocsAnswer]:
    answers = (read_as(DocsAnswer, row) for row in rows)
    return {(answer.engine, answer.id): answer for answer in answers}


class AnswerFile:
    """An append-only file of answers, saved one by one; use as a context manager.

    Args:
        path: the file, which may already contain answers; None keeps answers in memory only.
    """

    def __init__(self, path: Path | None) -> None:
        self.answers: dict[tuple[str, str], DocsAnswer] = {}
        self._file = None if path is None else AppendFile(path, b'{"id": "')
        if self._file is not None:
            self.answers = _by_question(self._file.rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def has(self, engine: str, question: str, *, key: str) -> bool:
        """Return whether the file has an answer with this key that did not fail."""
        found = self.answers.get((engine, question))
        return found is not None and found.key == key and not found.error

    def append(self, answer: DocsAnswer) -> None:
        """Append an answer; it survives a killed process once this returns."""
        self.answers[answer.engine, answer.id] = answer
        if self._file is not None:
            self._file.append(asdict(answer))


def answer_questions(
    engine: Engine,
    spec: str,
    questions: Sequence[DocsQuestion],
    find: Callable[[DocsQuestion], Sequence[tuple[str, Source]]],
    keys: Mapping[str, str],
) -> Iterator[DocsAnswer]:
    """Answer questions one by one; a failed one yields an answer with the error.

    Args:
        keys: the key of each answer, by question id.

    Raises:
        MissingExtraError: an optional dependency is missing.
        UnavailableError: `MAX_UNAVAILABLE` questions in a row failed with this error.
    """
    unavailable = 0
    for question in questions:
        started = time.perf_counter()
        answered = DocsAnswer(question.id, spec, key=keys[question.id])
        try:
            found = find(question)
            given = [source for _, source in found]
            answer = attempt(engine, Request(question.question, given)) if found else abstention()
            seconds = _since(started)
            answer = rated(engine, question.question, answer)
        except MissingExtraError:
            raise
        except SemqaError as error:
            unavailable = unavailable + 1 if isinstance(error, UnavailableError) else 0
            answered = replace(answered, error=str(error), seconds=_since(started))
            failure = error
        else:
            unavailable = 0
            names = [name for name, _ in found]
            quotes = tuple(_named(quote, names, given) for quote in answer.quotes)
            answered = replace(
                answered,
                answer=answer.marked,
                quotes=quotes,
                abstained=answer.abstained,
                seconds=seconds,
                ticked=has_tick(answer, question.question),
            )
        yield answered
        if unavailable == MAX_UNAVAILABLE:
            raise failure


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 6)


def _named(quote: Quote, names: Sequence[str], sources: Sequence[Source]) -> DocsQuote:
    """Return a quote with its document: where it was found, else the one it cites."""
    number = quote.found_in[0] if quote.found_in else quote.source
    if not 1 <= number <= len(names):
        return DocsQuote(quote.text)
    field = quote.field
    if quote.found_in:
        field = "body" if quote.text in sources[number - 1].text else "title"
    return DocsQuote(quote.text, names[number - 1], field)


def answer_key(
    question: DocsQuestion, documents: Mapping[str, File], settings: Mapping[str, object]
) -> str:
    """Return a digest of what an answer depends on: question, documents, settings and version."""
    digests = {
        name: hashlib.sha256(documents[name].data).hexdigest() for name in question.documents
    }
    parts = [semqa.__version__, question.question, digests, dict(settings)]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
