"""Questions with answers and the passage that answers them, from the files of QA data sets.

Reads SQuAD's nested JSON; and rows, as JSON lines or CSV, with ``question``, ``answers`` (texts, or
SQuAD's ``{"text": […]}``) and ``context``, or several passages under ``ctxs`` or ``contexts``, of
which the first that holds an answer is taken (the files of NQ-open with retrieved passages).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from semqa.attribution.attrscore.simulation.matching import Forms, Needle
from semqa.attribution.attrscore.table import read_table
from semqa.data.files import decode_text, open_input
from semqa.data.jsonl import Row, as_row, decode_json, describe
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["QAItem", "QASet", "read_qa"]

_QUESTION = ("question", "query")
_ANSWERS = ("answers", "answer", "short_answers")
_CONTEXT = ("context", "passage", "reference", "document", "text")
_CONTEXTS = ("ctxs", "contexts", "passages")


@dataclass(frozen=True, slots=True)
class QAItem:
    """One question.

    Attributes:
        answers: all the forms of the answer; the first stands in the context.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    context: str


@dataclass(frozen=True, slots=True)
class QASet:
    """Questions that can be used, and how many could not, by reason."""

    items: tuple[QAItem, ...]
    skipped: Counter[str]


def read_qa(path: Path | str) -> QASet:
    """Read a QA data set.

    A question without an answer, or whose answer is not in its context, is skipped and counted: it
    supports nothing as it is.

    Args:
        path: the file; ``-`` is standard input, as JSON lines.

    Raises:
        InputError: the file or a row is not usable; the message names file and line.
    """
    items: list[QAItem] = []
    skipped: Counter[str] = Counter()
    seen: set[str] = set()
    for number, row in enumerate(_rows(path), start=1):
        found = _item(row, number)
        if isinstance(found, str):
            skipped[found] += 1
        elif found.id in seen:
            raise InputError(
                f"{row.where}: doubled id: got {found.id!r} a second time, expected each id once; "
                "correct or drop the ids"
            )
        else:
            seen.add(found.id)
            items.append(found)
    return QASet(tuple(items), skipped)


def _rows(path: Path | str) -> Iterator[Row]:
    if Path(path).suffix.lower() != ".json":
        yield from read_table(path)
        return
    with open_input(path) as file:
        text = decode_text(file.read_all(), file.name)
    if not text.lstrip().startswith("{") or "\n{" in text.strip():
        yield from read_table(path)
        return
    articles = as_row(decode_json(text, file.name), file.name).fields.get("data")
    if not isinstance(articles, list):
        raise InputError(
            f"{file.name}: not a QA data set: got {describe(articles)} under 'data', expected "
            "SQuAD's articles; give rows of question, answers and context as .jsonl"
        )
    for article in articles:
        yield from _squad(as_row(article, f"{file.name}: data"), file.name)


def _squad(article: Row, name: str) -> Iterator[Row]:
    for paragraph in _list(article, "paragraphs"):
        held = as_row(paragraph, f"{name}: a paragraph")
        for asked in _list(held, "qas"):
            qa = as_row(asked, f"{name}: a question")
            where = f"{name}: question {qa.fields.get('id', '?')!s:.80}"
            texts = [
                answer.get("text") if isinstance(answer, dict) else answer
                for answer in _list(Row(where, qa.fields), "answers")
            ]
            yield Row(where, {**qa.fields, "answers": texts, "context": held.text("context")})


def _list(row: Row, name: str) -> list[object]:
    value = row.fields.get(name, [])
    if not isinstance(value, list):
        raise InputError(
            f"{row.where}: wrong type in field {name!r}: got {describe(value)}, expected an array; "
            "correct it"
        )
    return value


def _item(row: Row, number: int) -> QAItem | str:
    question = " ".join(row.text(_field(row, _QUESTION, "question")).split())
    if not question:
        raise InputError(f"{row.where}: empty question: got no text, expected some; drop the row")
    answers = _answers(row)
    contexts = _contexts(row)
    if not answers or row.fields.get("is_impossible") is True:
        return "no answer"
    needles = {answer: Needle.of([answer]) for answer in answers}
    for context in contexts:
        forms = Forms.of(context)
        held = [answer for answer in answers if needles[answer].within(forms)]
        if held:
            rest = tuple(answer for answer in answers if answer != held[0])
            given = row.fields.get("id")
            name = str(number) if given is None or given == "" else str(given)
            return QAItem(name, question, (held[0], *rest), context)
    return "the answer is not in the context"


def _answers(row: Row) -> list[str]:
    value = row.fields[_field(row, _ANSWERS, "answers")]
    if isinstance(value, dict):
        value = value.get("text", [])
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(
            f"{row.where}: not answers: got {describe(value)}, expected texts, or an object of them "
            "under 'text'; correct it"
        )
    return list(dict.fromkeys(text for each in value if (text := " ".join(each.split()))))


def _contexts(row: Row) -> list[str]:
    several = next((name for name in _CONTEXTS if name in row.fields), None)
    if several is None:
        return [row.text(_field(row, _CONTEXT, "passage that answers it"))]
    texts = []
    for passage in _list(row, several):
        text = passage.get("text") if isinstance(passage, dict) else passage
        if not isinstance(text, str):
            raise InputError(
                f"{row.where}: not a passage: got {describe(passage)} in {several!r}, expected a "
                "text, or an object with a 'text'; correct it"
            )
        texts.append(text)
    return texts


def _field(row: Row, names: tuple[str, ...], what: str) -> str:
    found = next((name for name in names if name in row.fields), None)
    if found is None:
        raise InputError(
            f"{row.where}: no {what}: got the fields {', '.join(map(repr, row.fields)) or 'none'}, "
            f"expected one of {', '.join(map(repr, names))}; add it"
        )
    return found
