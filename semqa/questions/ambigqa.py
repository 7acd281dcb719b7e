r"""Reads AmbigQA's released files: ambiguous questions, the answers to each reading, and articles.

The input is the release "with evidence articles": a JSON array of ::

    {"id": …, "question": …,
     "annotations": [{"type": "singleAnswer", "answer": [alias, …]},
                     {"type": "multipleQAs",
                      "qaPairs": [{"question": …, "answer": [alias, …]}, …]}],
     "articles_plain_text": ["# Title\n\nText …", …]}

The other files have the same annotations but no articles. If a question has several annotations,
the one with the most pairs is used; ties go to the first. A passage is a paragraph of an article.
Paragraphs with more than `MAX_PASSAGE_WORDS` words are split between sentences.

Source: Min et al., AmbigQA (2020); github.com/shmsw25/AmbigQA, README and evidence.md. The passages
of QuoteSum's AmbigQA questions look like paragraphs.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from semqa.attribution.records import invalid_field
from semqa.attribution.sentences import split_sentences
from semqa.data.files import display_name
from semqa.data.jsonl import Row, as_row, describe
from semqa.errors import InputError
from semqa.metrics.text import normalise_answer
from semqa.questions.paq import DAMAGED, insert_candidate, open_binary
from semqa.questions.records import CollectedQuestion, PassageAnswer
from semqa.questions.run import Done

MAX_PASSAGE_WORDS = 110
"""Maximum words of a passage, unless one sentence is longer. Dev's have at most 107."""

_CHUNK = 2**20
_LONGEST = 64 * 2**20
"""Maximum length of an array item, which is read into memory."""


def read_array(path: Path, skip: int = 0) -> Iterator[Row]:
    """Yield the objects of a JSON array after the first `skip`, without loading the whole array."""
    name = display_name(path)
    decoder = json.JSONDecoder()
    text = ""
    at = number = 0
    ended = started = False
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    with open_binary(path) as stream:
        while True:
            while at < len(text) and text[at] in " \t\r\n,":
                at += 1
            if not started and at < len(text):
                if text[at] != "[":
                    raise InputError("must be a JSON array.", where=name)
                started, at = True, at + 1
                continue
            if started and at < len(text):
                if text[at] == "]":
                    return
                try:
                    value, end = decoder.raw_decode(text, at)
                except RecursionError as error:
                    raise InputError(
                        "invalid JSON: nested too deeply.", where=f"{name}: item {number + 1}"
                    ) from error
                except ValueError as error:
                    if ended or len(text) - at > _LONGEST:
                        raise InputError(
                            f"invalid JSON: {getattr(error, 'msg', error)}.",
                            where=f"{name}: item {number + 1}",
                        ) from error
                else:
                    number, at = number + 1, end
                    if number > skip:
                        yield as_row(value, f"{name}: item {number}")
                    continue
            if ended:
                raise InputError("invalid JSON: the array is not closed.", where=name)
            try:
                raw = stream.read(_CHUNK)
                text, at = text[at:] + decode(raw, final=not raw), 0
            except DAMAGED as error:
                raise InputError(
                    f"cannot be read: it is damaged ({error}).", where=f"{name}: item {number + 1}"
                ) from error
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"cannot be read: {error}.", where=name) from error
            ended = not raw


def find_candidates(database: Connection, files: Sequence[Path], place: Any) -> Iterator[Done]:
    """Write the questions with several answers, and the passages with them, to ``candidate``."""
    first, done = place or (0, 0)
    for at in range(first, len(files)):
        for row in read_array(files[at], done):
            done += 1
            pairs = _pairs(row)
            counts = {"lines": 1, "read": len(pairs)}
            if len(pairs) > 1:
                counts |= {"several.questions": 1, "several.answers": len(pairs)}
                question = _to_collected(row, pairs)
                if question.answers:
                    insert_candidate(database, question.to_dict())
            yield Done([at, done], counts, done)
        done = 0


def _pairs(row: Row) -> list[tuple[str, list[str]]]:
    """Return the readings of a question, each with the aliases of its answer."""
    annotations = row.fields.get("annotations")
    if not isinstance(annotations, list):
        raise invalid_field(row, "annotations", "a list")
    best: list[tuple[str, list[str]]] = []
    for each in annotations:
        if not isinstance(each, dict):
            raise InputError("must contain objects.", field="annotations", where=row.where)
        if each.get("type") != "multipleQAs":
            continue
        try:
            given = [(str(pair["question"]), pair["answer"]) for pair in each["qaPairs"]]
            if not all(isinstance(aliases, list) for _, aliases in given):
                raise TypeError
            pairs = [(asked, [text for text in own if text.strip()]) for asked, own in given]
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                'must contain objects with "question" and a list "answer".',
                field="qaPairs",
                where=row.where,
            ) from error
        pairs = [pair for pair in pairs if pair[1]]
        if len(pairs) > len(best):
            best = pairs
    return best


def _to_collected(row: Row, pairs: Sequence[tuple[str, list[str]]]) -> CollectedQuestion:
    articles = row.fields.get("articles_plain_text")
    if not isinstance(articles, list) or not all(isinstance(each, str) for each in articles):
        raise InputError(
            "is missing: this file has no articles."
            if articles is None
            else f"must be a list of strings, got {describe(articles)}.",
            field="articles_plain_text",
            where=row.where,
            hint="Use the release of AmbigQA with evidence articles.",
        )
    passages = [passage for article in articles for passage in split_article(article)]
    answers: dict[tuple[str, str], PassageAnswer] = {}
    for _, aliases in pairs:
        for title, text in passages:
            found = next(filter(None, (find_answer(each, text) for each in aliases)), None)
            if found:
                answers.setdefault(
                    (normalise_answer(aliases[0]), text), PassageAnswer(found, title, text)
                )
    return CollectedQuestion(
        f"AMBIG_{row.text('id')}",
        row.text("question"),
        tuple(answers.values()),
        " | ".join(question for question, _ in pairs),
    )


def find_answer(answer: str, passage: str) -> str | None:
    """Return an answer as a passage spells it, or None. Matches whole words and ignores case.

    Example:
        >>> find_answer("new york", "He left New York."), find_answer("16", "In 1664 it fell.")
        ('New York', None)
    """
    words = r"\s+".join(map(re.escape, answer.split()))
    found = re.search(rf"(?<!\w){words}(?!\w)", passage, re.IGNORECASE)
    return found[0] if found else None


def split_article(article: str) -> Iterator[tuple[str, str]]:
    r"""Yield the passages of an article, each with the article's title; headings are skipped.

    Example:
        >>> list(split_article("# Paris\n\nParis is a city.\n\n## Name\n\nIt is old."))
        [('Paris', 'Paris is a city.'), ('Paris', 'It is old.')]
    """
    title = ""
    for line in article.splitlines():
        text = " ".join(line.split())
        if text.startswith("#"):
            title = title or text.lstrip("# ")
            continue
        if not text:
            continue
        if len(text.split()) <= MAX_PASSAGE_WORDS:
            yield title, text
            continue
        part: list[str] = []
        count = 0
        for sentence in split_sentences(text):
            words = len(sentence.split())
            if part and count + words > MAX_PASSAGE_WORDS:
                yield title, " ".join(part)
                part, count = [], 0
            part.append(sentence)
            count += words
        if part:
            yield title, " ".join(part)
