"""Create training data for AttrScore from questions with answers and passages.

- *Attributable*: a question, its answer and its passage, unchanged.
- *Contradictory*: the answer is replaced with a wrong one of the same kind, or all occurrences of
  the answer in the passage are replaced.
- *Extrapolatory*: the passage is replaced with the best BM25 match that contains no form of the
  answer.

Input is SQuAD's nested JSON, or rows (JSON lines or CSV) with ``question``, ``answers`` (texts, or
SQuAD's ``{"text": […]}``) and ``context``. There can be multiple passages in ``ctxs`` or
``contexts``; the first one that contains an answer is used.

`rewrite` turns short answers into sentences with a language model.

Source: Yue et al. 2023, data simulated from question answering. The prompt, the choice of wrong
answers and the definition of an answer's forms are ours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from semqa.attribution.attrscore.answers import (
    AnswerMatcher,
    Forms,
    kind_of,
    occurrences,
    question_type,
)
from semqa.attribution.attrscore.files import column_of, read_table
from semqa.attribution.attrscore.labels import LABELS, Example
from semqa.attribution.judges.base import require_ability
from semqa.attribution.prompts import JudgePrompt
from semqa.attribution.records import invalid_field
from semqa.data.files import decode_text, open_input
from semqa.data.jsonl import Row, as_row, decode_json
from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from semqa.attribution.attrscore.labels import Label
    from semqa.attribution.judges.base import Judge


_QUESTION = ("question", "query")
_ANSWERS = ("answers", "answer", "short_answers")
_CONTEXT = ("context", "passage", "reference", "document", "text")
_CONTEXTS = ("ctxs", "contexts", "passages")


@dataclass(frozen=True, slots=True)
class QAItem:
    """A question; `answers` has all forms of the answer, and the first occurs in the context."""

    id: str
    question: str
    answers: tuple[str, ...]
    context: str


@dataclass(frozen=True, slots=True)
class QASet:
    """Usable questions, and numbers of skipped ones by reason."""

    items: tuple[QAItem, ...]
    skipped: Counter[str]


def read_qa(path: Path | str) -> QASet:
    """Read a QA data set; ``-`` is standard input, as JSON lines.

    Questions without an answer, or with an answer that does not occur in the context, are skipped
    and counted.
    """
    items: list[QAItem] = []
    skipped: Counter[str] = Counter()
    seen: set[str] = set()
    for number, row in enumerate(_rows(path), start=1):
        found = _item(row, number)
        if isinstance(found, str):
            skipped[found] += 1
        elif found.id in seen:
            raise InputError(f"The id {found.id!r} is already used.", where=row.where)
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
    name = file.name
    for article in _list(as_row(decode_json(text, name), name), "data"):
        for paragraph in _list(as_row(article, f"{name}: data"), "paragraphs"):
            parent = as_row(paragraph, f"{name}: a paragraph")
            for asked in _list(parent, "qas"):
                qa = as_row(asked, f"{name}: a question").fields
                where = f"{name}: question {qa.get('id', '?')!s:.80}"
                answers = map(_text, _list(Row(where, qa), "answers"))
                yield Row(where, {**qa, "answers": [*answers], "context": parent.text("context")})


def _list(row: Row, name: str) -> list[object]:
    value = row.fields.get(name)
    if not isinstance(value, list):
        raise invalid_field(row, name, "an array")
    return value


def _text(value: object) -> object:
    return value.get("text") if isinstance(value, dict) else value


def _item(row: Row, number: int) -> QAItem | str:
    question = " ".join(row.text(column_of(row, _QUESTION, "question")).split())
    if not question:
        raise InputError("is empty.", field="question", where=row.where)
    column = column_of(row, _ANSWERS, "answer")
    value = _text(row.fields[column])
    given = _strings(row, column, [value] if isinstance(value, str) else value)
    answers = list(dict.fromkeys(text for each in given if (text := " ".join(each.split()))))
    contexts = _contexts(row)
    if not answers or row.fields.get("is_impossible") is True:
        return "no answer"
    matchers = {answer: AnswerMatcher.of([answer]) for answer in answers}
    for context in contexts:
        forms = Forms.of(context)
        present = [answer for answer in answers if matchers[answer].within(forms)]
        if present:
            rest = tuple(answer for answer in answers if answer != present[0])
            name = row.fields.get("id")
            name = number if name in (None, "") else name
            return QAItem(str(name), question, (present[0], *rest), context)
    return "the answer is not in the context"


def _contexts(row: Row) -> list[str]:
    column = next((name for name in _CONTEXTS if name in row.fields), None)
    if column is None:
        return [row.text(column_of(row, _CONTEXT, "passage"))]
    return _strings(row, column, [*map(_text, _list(row, column))])


def _strings(row: Row, column: str, texts: object) -> list[str]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise invalid_field(row, column, "strings, or objects with a 'text'")
    return texts


_MAX_CANDIDATES = 50
"""Number of candidates sampled from each pool."""


class Candidates:
    """The answers of a data set, grouped by kind of answer and of question."""

    def __init__(self, items: Sequence[QAItem]) -> None:
        pools: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for item in items:
            kind, asked = kind_of(item.answers[0]), question_type(item.question)
            key = Forms.of(item.answers[0]).words
            for pool in ((kind, asked), (kind, "")):
                pools[pool].setdefault(key, item.answers[0])
        self._pools = {name: tuple(pool.values()) for name, pool in pools.items()}

    def of(self, item: QAItem, rng: Random) -> Iterator[str]:
        """Yield wrong answers to a question, most similar first.

        Answers to similar questions come before other answers of the same kind. In any spelling,
        none equals, contains, or is contained in a correct answer.
        """
        kind = kind_of(item.answers[0])
        right = AnswerMatcher.of(item.answers)
        forms = [Forms.of(answer) for answer in item.answers]

        def wrong(text: str) -> bool:
            matcher = AnswerMatcher.of([text])
            return (
                matcher.searchable
                and not right.within(Forms.of(text))
                and not any(matcher.within(form) for form in forms)
            )

        tried: set[str] = set()
        for pool in ((kind, question_type(item.question)), (kind, "")):
            texts = self._pools.get(pool, ())
            for text in rng.sample(texts, min(_MAX_CANDIDATES, len(texts))):
                if text not in tried and wrong(text):
                    tried.add(text)
                    yield text


_MAX_PASSAGES = 100
"""Number of top passages to search for one without an answer."""


class Negatives:
    """A BM25 index of the passages of a data set."""

    def __init__(self, passages: Sequence[str]) -> None:
        bm25s: Any = require("bm25s", extra="eval", purpose="simulation of extrapolatory claims")
        self._passages = tuple(dict.fromkeys(passages))
        self._forms = tuple(map(Forms.of, self._passages))
        self._tokenise = bm25s.tokenize
        self._index: Any = bm25s.BM25()
        words = self._words(list(self._passages))
        self._known = {word for each in words for word in each}
        if self._known:
            self._index.index(words, show_progress=False)

    def _words(self, texts: list[str]) -> list[list[str]]:
        words: list[list[str]] = self._tokenise(
            texts, stopwords="en", return_ids=False, show_progress=False
        )
        return words

    def find(self, question: str, own: str, answers: AnswerMatcher) -> tuple[str, int] | None:
        """Return the best match for a question without any of its answers, and its rank from 1.

        The question's own passage is excluded. Ties are broken by data set order.
        """
        import numpy as np

        words = [word for word in self._words([question])[0] if word in self._known]
        if not words:
            return None
        scores = self._index.get_scores(words)
        best = np.argsort(-scores, kind="stable")[:_MAX_PASSAGES]
        for rank, number in enumerate(map(int, best), start=1):
            if scores[number] <= 0:
                return None
            text = self._passages[number]
            if text != own and not answers.within(self._forms[number]):
                return text, rank
        return None


ANSWER = "answer substitution"
CONTEXT = "context substitution"


@dataclass(frozen=True, slots=True)
class Simulation:
    """Simulated examples, the same number of each label, in random order.

    `failed` counts failed attempts by method; `dropped` is the number of examples left out to
    balance the labels.
    """

    examples: tuple[Example, ...]
    failed: Counter[str]
    dropped: int


def simulate(
    items: Sequence[QAItem],
    *,
    per_label: int | None = None,
    every_label: bool = False,
    seed: int = 0,
    on_progress: Callable[[int, int | None], None] | None = None,
) -> Simulation:
    """Create the same number of examples of each label, at most `per_label`.

    Other questions affect which label a question gets, but not the example of that label.
    `every_label` creates an example of each label for every question: then a model cannot infer
    labels from questions, but training and test data must be split by question.
    """
    maker = _ExampleMaker(items, seed)
    made: dict[Label, list[tuple[int, Example]]] = {label: [] for label in LABELS}
    order = Random(seed).sample(range(len(items)), len(items))  # noqa: S311  (no secret)
    for done, number in enumerate(order, start=1):
        labels = sorted(LABELS, key=lambda label: len(made[label]))
        if per_label is not None:
            labels = [label for label in labels if len(made[label]) < per_label]
        if not labels:
            break
        for label in labels:
            example = maker.make(items[number], label)
            if example is not None:
                made[label].append((done, example))
                if not every_label:
                    break
        if on_progress is not None:
            on_progress(done, len(items))
    least = min(len(each) for each in made.values())
    if not least:
        missing = ", ".join(label for label in LABELS if not made[label])
        reasons = "; ".join(f"{count} times {reason}" for reason, count in maker.failed.items())
        raise InputError(
            f"Cannot create {missing} examples from {len(items)} questions{f' ({reasons})' if reasons else ''}.",
            hint="Use more questions, with more passages.",
        )
    kept = sorted(
        (each for examples in made.values() for each in examples[:least]),
        key=lambda each: (each[0], LABELS.index(each[1].label or "Attributable")),
    )
    return Simulation(
        tuple(example for _, example in kept),
        maker.failed,
        sum(map(len, made.values())) - len(kept),
    )


_SENTENCE_TOKENS = 96


def rewrite(made: Simulation, judge: Judge) -> Simulation:
    """Rewrite questions and short answers as sentences with a language model.

    If a reply lacks the answer, the example keeps the short one, which is counted in `failed`.
    """
    prompt = JudgePrompt.load("attrscore-rewrite")
    prompts = [prompt.fill(question=each.query, answer=each.answer) for each in made.examples]
    model = require_ability(judge, "complete")
    examples = []
    failed = Counter(made.failed)
    replies = model.complete(prompts, max_new_tokens=_SENTENCE_TOKENS)
    for example, reply in zip(made.examples, replies, strict=True):
        text = " ".join(reply.split())
        if AnswerMatcher.of([example.answer]).within(Forms.of(text)):
            how = {**example.how, "short": example.answer}
            examples.append(replace(example, answer=text, how=how))
        else:
            failed["the sentence lacks the answer"] += 1
            examples.append(example)
    return replace(made, examples=tuple(examples), failed=failed)


class _ExampleMaker:
    """Creates the examples of one data set."""

    def __init__(self, items: Sequence[QAItem], seed: int) -> None:
        self._seed = seed
        self._candidates = Candidates(items)
        self._negatives = Negatives([item.context for item in items])
        self._method_counts: Final[Counter[str]] = Counter()
        self.failed: Counter[str] = Counter()

    def make(self, item: QAItem, label: Label) -> Example | None:
        """Create an example with this label; None if the question does not allow one."""
        if label == "Attributable":
            return self._example(item, label, item.answers[0], item.context, {"made": "as is"})
        if label == "Extrapolatory":
            return self._extrapolatory(item)
        # Try the less used method first.
        for method in sorted((ANSWER, CONTEXT), key=lambda method: self._method_counts[method]):
            made = self._by_answer(item) if method == ANSWER else self._by_context(item)
            if made is not None:
                self._method_counts[method] += 1
                return made
            self.failed[f"no {method}"] += 1
        return None

    def _extrapolatory(self, item: QAItem) -> Example | None:
        answers = AnswerMatcher.of(item.answers)
        found = self._negatives.find(item.question, item.context, answers)
        if found is None or not answers.searchable:
            self.failed["no similar passage without the answer"] += 1
            return None
        text, rank = found
        how: dict[str, object] = {"made": "BM25 negative", "rank": rank}
        return self._example(item, "Extrapolatory", item.answers[0], text, how)

    def _by_answer(self, item: QAItem) -> Example | None:
        for wrong in self._candidates.of(item, self._draws(item, ANSWER)):
            right = item.answers[0]
            how: dict[str, object] = {"made": ANSWER, "was": right, "kind": kind_of(right)}
            return self._example(item, "Contradictory", wrong, item.context, how)
        return None

    def _by_context(self, item: QAItem) -> Example | None:
        answers = AnswerMatcher.of(item.answers)
        for wrong in self._candidates.of(item, self._draws(item, CONTEXT)):
            text, count = replace_answers(item.context, item.answers, wrong)
            if not count or answers.within(Forms.of(text)):
                continue  # an answer occurs in a spelling that exact search missed
            right = item.answers[0]
            how: dict[str, object] = {"made": CONTEXT, "substitute": wrong, "places": count}
            how["kind"] = kind_of(right)
            return self._example(item, "Contradictory", right, text, how)
        return None

    def _draws(self, item: QAItem, method: str) -> Random:
        return Random(f"{self._seed}\0{item.id}\0{method}")  # noqa: S311  (no secret)

    def _example(
        self, item: QAItem, label: Label, answer: str, reference: str, how: dict[str, object]
    ) -> Example:
        name, how = f"{item.id}-{label.lower()}", {**how, "question": item.id}
        return Example(name, item.question, answer, reference, label, how)


def replace_answers(text: str, answers: Sequence[str], substitute: str) -> tuple[str, int]:
    """Replace all occurrences of answers in a text, longest answers first, and count them.

    Example:
        >>> replace_answers("Ann Lee came. Lee sang.", ["Ann Lee", "Lee"], "Bob Ray")
        ('Bob Ray came. Bob Ray sang.', 2)
    """
    spans: list[tuple[int, int]] = []
    for answer in sorted(answers, key=len, reverse=True):
        for start, end in occurrences(text, answer):
            if all(end <= a or b <= start for a, b in spans):
                spans.append((start, end))
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + substitute + text[end:]
    return text, len(spans)
