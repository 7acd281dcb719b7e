"""TofuEval (Tang et al. 2024): topic-focused summaries, judged sentence by sentence.

For each sentence the rater says whether it is consistent with the document and, if not, explains
the error and chooses its types. Then the rater rates the relevance of the whole summary (1 to 5)
and selects the key points that it covers. If a topic has no key points, the rater writes them
first, with the summary hidden. The design ``key-points`` asks only for the key points of each
topic; its export is an input of the other design.

Input files are recognised by their columns: annotated sentences as released (the labels are not
shown); JSON lines with ``doc_id``, ``topic``, ``summary`` and optionally ``model_name``; documents
(``doc_id``, ``source``); and key points (``doc_id``, ``topic``, ``key_points``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from semqa.attribution.tofueval.data import (
    ERROR_TYPES,
    AnnotatedSentence,
    SummaryKey,
    by_summary,
    error_types,
    key_points_of,
    read_annotations,
    read_categories,
    read_documents,
    read_key_points,
)
from semqa.attribution.tofueval.judging import (
    completeness,
    key_of,
    mean_completeness,
    mean_relevance,
    read_texts,
    read_topics,
)
from semqa.attribution.tofueval.meta import ErrorCounts, Rate, count_errors, error_rates
from semqa.data.csv_rows import CsvFile, encode_csv, read_csv
from semqa.data.jsonl import read_rows, shown
from semqa.errors import InputError
from semqa.studies.analysis import (
    ALL,
    add_times,
    agreement_table,
    figure,
    rated_note,
    rater_agreement,
    unscored_notes,
)
from semqa.studies.kind import (
    Figures,
    Input,
    Item,
    Kind,
    Option,
    Part,
    Question,
    Rated,
    Stage,
    Studies,
    Study,
    Table,
    csv_lines,
    expected_of,
    levels,
    majority,
    text_part,
)
from semqa.studies.tables import column, filled, kept_tables, read_kept

SENTENCES, KEY_POINTS = "sentences", "key-points"
NONE = 0
"""The answer for a summary that covers no key point."""

_TYPES = tuple(
    Option(name, name, f"The sentence {definition}.") for name, definition in ERROR_TYPES.items()
)
_RELEVANCE = Question(
    "relevance",
    "How relevant is the summary to the topic?",
    "scale",
    levels("Not at all", "Slightly", "About half", "Mostly", "Fully"),
)
_WRITTEN = Question(
    "key_points",
    "What must a complete summary on this topic say?",
    "lines",
    hint="One point per line, each a short sentence.",
)
_NO_POINT = Option(NONE, "None of them", alone=True)


class TofuEval(Kind):
    """Rating of consistency by sentence, relevance, and completeness by key points."""

    name = "tofueval"
    title = "Is the summary consistent with the document?"
    designs = (SENTENCES, KEY_POINTS)
    per_item = 2
    columns = (
        "doc_id", "topic", "model_name", "sent_idx", "summ_sent", "sent_label", "exp", "type",
        "dataset", "split",
    )  # fmt: skip

    def read(self, inputs: Sequence[Input], design: str) -> list[Item]:
        files = _Files(inputs)
        return files.topics() if design == KEY_POINTS else files.summaries()

    def keep(self, inputs: Sequence[Input]) -> dict[str, bytes]:
        return kept_tables([each for each in inputs if _role(each) != "documents"])

    def key(self, item: Item) -> tuple[str, ...]:
        return tuple(str(item.data[name]) for name in _KEY)

    def stages(self, item: Item, design: str) -> tuple[Stage, ...]:
        data = item.data
        topic = text_part("Topic", data["topic"])
        document = {**text_part("Document", data["document"]), "id": "document", "search": True}
        if design == KEY_POINTS:
            return (Stage("Write the key points", (topic, document), (_WRITTEN,)),)
        texts = [text for _, text, _ in data["sentences"]]
        summary = {"id": "summary", "kind": "sentences", "label": "Summary", "sentences": texts}
        points = data.get("points")
        stages: list[Stage] = []
        if points is None:
            hidden = text_part("Summary", "Hidden until you have written the key points.")
            parts: tuple[Part, ...] = (topic, {**hidden, "id": "summary"}, document)
            stages.append(Stage("Write the key points first", parts, (_WRITTEN,)))
        for place, (number, text, _) in enumerate(data["sentences"]):
            parts = ({**summary, "at": place},)
            if not stages:
                parts = (topic, *parts, document)
            title = f"Sentence {place + 1} of {len(texts)}"
            questions = _sentence_questions(number, text)
            stages.append(Stage(title, parts, questions, revisable=True))
        asked = [_RELEVANCE]
        if points is None or points:
            asked.append(_covered(points))
        asked.append(Question("remark", "Remark (optional)", "text", required=False))
        whole = {**summary, "at": None}
        stages.append(Stage("The summary as a whole", (whole,), tuple(asked)))
        return tuple(stages)

    def rows(self, study: Study, rated: Rated) -> Iterator[dict[str, Any]]:
        """Yield a row per sentence, and one for the whole summary."""
        data, values = rated.item.data, rated.values
        key = {name: data[name] for name in ("dataset", "split", "doc_id", "topic")}
        rater = {"rater": rated.rater}
        whole: dict[str, Any] = {}
        if study.settings.design == SENTENCES:
            key |= {"model_name": data["model"]}
            for number, text, _ in data["sentences"]:
                name = f"s{number}"
                if name in values:
                    yield {
                        **key,
                        "sent_idx": number,
                        "summ_sent": text,
                        "sent_label": values[name],
                        "exp": values.get(f"{name}_why", ""),
                        "type": ", ".join(values.get(f"{name}_types", ())),
                        **rater,
                    }
            covered = made(rated.item, values)
            if "relevance" in values:
                whole["relevance"] = values["relevance"]
            if covered is not None:
                whole |= {"made": covered, "completeness": completeness(covered).value}
        points = points_of(rated.item, values)
        if points:
            whole["key_points"] = points
        if whole:
            remark = values.get("remark", "")
            yield {**key, **whole, "remark": remark, **rater, "seconds": round(rated.seconds, 1)}

    def table(self, study: Study, ratings: Sequence[Rated]) -> Iterable[bytes]:
        if study.settings.design == KEY_POINTS:
            rows: list[dict[str, Any]] = [
                {"doc_id": doc_id, "topic": topic, "key_points": points_cell(points)}
                for (doc_id, topic), points in _first_points(ratings).items()
            ]
            return csv_lines(("doc_id", "topic", "key_points"), rows)
        rows = [
            {
                "doc_id": key.doc_id,
                "topic": key.topic,
                "model_name": key.model,
                "sent_idx": sentence.index,
                "summ_sent": sentence.text,
                **_cells(sentence),
                "dataset": key.dataset,
                "split": sentence.split,
            }
            for sentence in consensus(study, ratings).values()
            for key in [sentence.key]
        ]
        return csv_lines(self.columns, rows)

    def tables(self, study: Study, ratings: Sequence[Rated]) -> dict[str, Iterable[bytes]]:
        points = study.settings.design == KEY_POINTS
        found: dict[str, Iterable[bytes]] = {}
        for name, file in read_kept(study).items():
            if column(file, "key_points" if points else "sent_label") is not None:
                cells = _points(file, ratings) if points else _labels(study, name, file, ratings)
                whole = filled(file, cells)
                rated = tuple(whole.records[row] for row in sorted(cells))
                found[name] = encode_csv(replace(whole, records=rated))
        return found

    def report(self, studies: Studies) -> Figures:
        """Return error rates and types, relevance, completeness, and agreement.

        Error rates use the combined verdicts of `consensus`. Relevance and completeness are means
        over ratings. Agreement is computed over all raters, for sentence labels, relevance and key
        points.
        """
        sentences = [each for study, rated in studies for each in consensus(study, rated).values()]
        categories: dict[str, dict[str, str]] = {}
        for study, _ in studies:
            for item in study.items:
                if "category" in item.data:
                    of = categories.setdefault(str(item.data["dataset"]), {})
                    of[str(item.data["topic"])] = str(item.data["category"])
        rates = error_rates(sentences, categories)
        types = count_errors(sentences)
        labels: dict[str, dict[str, dict[Hashable, Hashable]]] = {
            name: defaultdict(dict) for name in ("sentence", "relevance", "key point")
        }
        by_system: dict[str, list[Rated]] = defaultdict(list)
        units = set()
        for number, (study, rated) in enumerate(studies):
            for each in rated:
                unit = (number, study.kind.key(each.item))
                units.add(unit)
                by_system[each.item.system].append(each)
                for index, _, _ in each.item.data.get("sentences", ()):
                    if (label := each.values.get(f"s{index}")) is not None:
                        labels["sentence"][each.rater][*unit, index] = label
                if (level := each.values.get("relevance")) is not None:
                    labels["relevance"][each.rater][unit] = level
                if each.item.data.get("points") is not None:
                    for point, is_made in enumerate(made(each.item, each.values) or ()):
                        labels["key point"][each.rater][*unit, point] = is_made
        systems = {system: _scores(own) for system, own in by_system.items()}
        agreed = {
            name: rater_agreement(own, "ordinal" if name == "relevance" else "nominal")
            for name, own in labels.items()
            if own
        }
        ratings = [each for _, rated in studies for each in rated]
        record: dict[str, Any] = {
            "ratings": len(ratings),
            "raters": len({each.rater for each in ratings}),
            "summaries": len(units),
            "rates": [rate.to_dict() for rate in rates],
            "errors": types._asdict(),
            "systems": systems,
            "agreement": agreed,
        }
        tables = _rate_tables(rates, types) if sentences else []
        if any(own["relevance"]["n"] for own in systems.values()):
            tables.append(_systems_table(systems))
        if agreed:
            tables.append(agreement_table(agreed))
        add_times(record, tables, studies, _words_of)
        notes = [rated_note(record, "summary", record["summaries"])]
        return Figures(record, tables, notes + unscored_notes(*agreed.values()))


_KEY = ("dataset", "split", "doc_id", "topic", "model")


def _sentence_questions(number: int, text: str) -> tuple[Question, ...]:
    """Return the questions about a sentence; the hint repeats it for small screens."""
    wrong = ((f"s{number}", ("no",)),)
    return (
        Question(
            f"s{number}",
            "Does the document support all of this sentence?",
            "choice",
            (Option("yes", "Yes: it is consistent"), Option("no", "No: something in it is wrong")),
            hint=f"“{text}”",
        ),
        Question(f"s{number}_why", "What is wrong with it?", "text", when=wrong),
        Question(
            f"s{number}_types",
            "Which types of error does it have?",
            "several",
            _TYPES,
            when=wrong,
            hint="Select all that apply.",
        ),
    )


def _covered(points: Sequence[str] | None) -> Question:
    given = tuple(Option(n, point) for n, point in enumerate(points or (), 1))
    return Question(
        "covered",
        "Which of these key points does the summary cover?",
        "several",
        (*given, _NO_POINT),
        hint="In any wording. Select all that apply.",
        lines_of=_WRITTEN.id if points is None else "",
    )


def points_of(item: Item, values: Mapping[str, Any]) -> list[str]:
    """Return the key points that a rater compared a summary with."""
    given = item.data.get("points")
    if given is not None:
        return list(given)
    return [line.strip() for line in values.get(_WRITTEN.id, "").splitlines() if line.strip()]


def made(item: Item, values: Mapping[str, Any]) -> list[bool] | None:
    """Return whether a summary covers each key point, according to a rater; None if not asked."""
    if "covered" not in values:
        return None
    return [n in values["covered"] for n in range(1, len(points_of(item, values)) + 1)]


# Reading


def _role(given: Input) -> str:
    """Return the role of an input file, by its suffix and columns."""
    suffix = given.path.suffix.lower()
    if suffix == ".json":
        return "categories"
    if suffix == ".csv":
        names = {name.strip().casefold() for name in read_csv(given.path).header}
    else:
        first = next(iter(read_rows(given.path)), None)
        names = set() if first is None else set(first.fields)
    for role, columns in _ROLES.items():
        if names & columns:
            return role
    raise InputError(
        "Unknown columns: expected sentences, summaries, key points, documents or topics.",
        where=str(given.path),
    )


_ROLES = {
    "sentences": {"summ_sent", "sentence"},
    "summaries": {"summary"},
    "points": {"key_points"},
    "documents": {"source", "document", "text"},
    "topics": {"topic"},
}
"""Columns that identify the role of a file; the first match counts."""


class _Files:
    """The input files of a study, by role."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        self._by_role: dict[str, list[Input]] = {}
        for each in inputs:
            self._by_role.setdefault(_role(each), []).append(each)
        self.points = read_key_points(self._paths("points"))
        self.documents = read_documents(self._paths("documents"))
        self._categories = read_categories(self._paths("categories"))

    def _paths(self, role: str) -> list[Path]:
        return [each.path for each in self._by_role.get(role, ())]

    def summaries(self) -> list[Item]:
        points = {(each.doc_id, each.topic): each.points for each in self.points}
        items = list(self._annotated())
        items += [item for each in self._by_role.get("summaries", ()) for item in _written(each)]
        return [self._complete(item, points) for item in items]

    def _annotated(self) -> Iterator[Item]:
        """Yield an item per summary of the annotated files."""
        for given in self._by_role.get("sentences", ()):
            sentences = read_annotations([given.path])
            rows = {id(sentence): row for row, sentence in enumerate(sentences)}
            for (split, key), own in by_summary(sentences).items():
                texts: dict[int, tuple[str, list[int]]] = {}
                for sentence in own:
                    text, places = texts.setdefault(sentence.index, (sentence.text, []))
                    if text != sentence.text:
                        raise InputError(
                            f"Sentence {sentence.index} of this summary appeared before with a "
                            "different text.",
                            where=sentence.where,
                        )
                    places.append(rows[id(sentence)])
                rated = [[index, text, places] for index, (text, places) in sorted(texts.items())]
                expected = {f"s{e.index}": _WORD[e.inconsistent] for e in own}
                item = _item(key, split, rated, expected if given.gold else None)
                item.data["file"] = given.path.name  # type: ignore[index]
                yield item

    def topics(self) -> list[Item]:
        found = {(e.doc_id, e.topic): _topic(e.dataset, e.doc_id, e.topic) for e in self.points}
        for item in self.summaries():
            doc_id, topic = str(item.data["doc_id"]), str(item.data["topic"])
            found.setdefault((doc_id, topic), _topic(str(item.data["dataset"]), doc_id, topic))
        for given in self._by_role.get("topics", ()):
            for doc_id, topic in read_topics(given.path):
                found.setdefault((doc_id, topic), _topic("", doc_id, topic))
        return [self._complete(item, {}) for item in found.values()]

    def _complete(self, item: Item, points: Mapping[tuple[str, str], Sequence[str]]) -> Item:
        """Add the document, key points and category to an item."""
        data = dict(item.data)
        document = self.documents.get(str(data["doc_id"]))
        if document is None:
            raise InputError(
                f"Document {shown(str(data['doc_id']))} is missing. Add a file with the columns "
                "doc_id and source."
            )
        data["document"] = document
        known = points.get((str(data["doc_id"]), str(data["topic"])))
        if known is not None:
            data["points"] = list(known)
        own, common = self._categories.get(str(data["dataset"]), {}), self._categories.get("", {})
        if category := own.get(str(data["topic"])) or common.get(str(data["topic"])):
            data["category"] = category
        return replace(item, data=data)


def _item(
    key: SummaryKey, split: str, sentences: list[list[Any]], expected: dict[str, Any] | None
) -> Item:
    data = {
        "dataset": key.dataset,
        "split": split,
        "doc_id": key.doc_id,
        "topic": key.topic,
        "model": key.model,
        "sentences": sentences,
    }
    return Item(f"{key.doc_id}: {key.topic}", key.model, data, expected)


def _topic(dataset: str, doc_id: str, topic: str) -> Item:
    data = {"dataset": dataset, "split": "", "doc_id": doc_id, "topic": topic, "model": ""}
    return Item(f"{doc_id}: {topic}", "", data)


def _written(given: Input) -> list[Item]:
    """Return the summaries of a JSON Lines file."""
    sentences: dict[SummaryKey, list[list[Any]]] = {}
    for each in read_texts([given.path], "sentence"):
        sentences.setdefault(each.key, []).append([each.index, each.text, []])
    rows = list(read_rows(given.path))
    places: dict[SummaryKey, str] = {}
    for row in rows:
        first = places.setdefault(key_of(row), row.where)
        if first != row.where:
            raise InputError(
                f"This summary duplicates {first}.",
                where=row.where,
                hint="Give each summary its own model_name.",
            )
    return [
        _item(key, "", held, expected_of(row, gold=given.gold))
        for (key, held), row in zip(sentences.items(), rows, strict=True)
    ]


_WORD = {False: "yes", True: "no"}
"""Labels of the released files, by whether a sentence is inconsistent."""


# Writing


def consensus(study: Study, ratings: Sequence[Rated]) -> dict[tuple[str, ...], AnnotatedSentence]:
    """Return the combined verdict on each sentence, by key of the summary and sentence number.

    A sentence is inconsistent if at least half of its raters say so. Their explanations are joined,
    one per line. Its error types are those named by at least half of these raters, or all types if
    there are none.
    """
    given: dict[tuple[str, ...], tuple[Item, list[Mapping[str, Any]]]] = {}
    for each in ratings:
        key = study.kind.key(each.item)
        given.setdefault(key, (each.item, []))[1].append(each.values)
    found = {}
    for key, (item, values) in given.items():
        for number, text, _ in item.data.get("sentences", ()):
            name = f"s{number}"
            answered = [each for each in values if name in each]
            wrong = [each for each in answered if each[name] == "no"]
            if not answered:
                continue
            inconsistent = majority([each[name] for each in answered]) != "yes"
            named = Counter(t for each in wrong for t in each.get(f"{name}_types", ()))
            types = [t for t, count in named.items() if 2 * count >= len(wrong)] or list(named)
            why = dict.fromkeys(each.get(f"{name}_why", "") for each in wrong)
            dataset, split, doc_id, topic, model = key
            found[(*key, str(number))] = AnnotatedSentence(
                SummaryKey(dataset, doc_id, topic, model),
                number,
                text,
                inconsistent,
                tuple(types) if inconsistent else (),
                "\n".join(filter(None, why)) if inconsistent else "",
                split,
            )
    return found


def _cells(sentence: AnnotatedSentence) -> dict[str, str]:
    return {
        "sent_label": _WORD[sentence.inconsistent],
        "exp": sentence.explanation,
        "type": ", ".join(sentence.errors),
    }


_MEANING: dict[str, Callable[[str], object]] = {
    "sent_label": lambda cell: cell.strip().casefold(),
    "exp": str.strip,
    "type": lambda cell: frozenset(error_types(cell)),
}


def _labels(
    study: Study, name: str, file: CsvFile, ratings: Sequence[Rated]
) -> dict[int, dict[str, str]]:
    """Return the rated rows of a table, with the cells whose meaning differs from the verdicts."""
    verdicts = consensus(study, ratings)
    found: dict[int, dict[str, str]] = {}
    for item in study.items:
        for number, _, rows in item.data["sentences"] if item.data.get("file") == name else ():
            verdict = verdicts.get((*study.kind.key(item), str(number)))
            if verdict is None:
                continue
            for row, (label, cell) in product(rows, _cells(verdict).items()):
                new = found.setdefault(row, {})
                place = column(file, label)
                old = "" if place is None else file.records[row].cells[place]
                if _MEANING[label](old) != _MEANING[label](cell):
                    new[label] = cell
    return found


def _points(file: CsvFile, ratings: Sequence[Rated]) -> dict[int, dict[str, str]]:
    """Return the rows with key points of a rater, and the first rater's where they differ."""
    key_points = _first_points(ratings)
    doc, topic, cell = (column(file, name) for name in ("doc_id", "topic", "key_points"))
    doc = column(file, "meeting_id") if doc is None else doc
    assert doc is not None and topic is not None and cell is not None  # noqa: S101, PT018 - was read
    found: dict[int, dict[str, str]] = {}
    for row, record in enumerate(file.records):
        points = key_points.get((record.cells[doc].strip(), record.cells[topic].strip()))
        if points is not None:
            old = [" ".join(point.split()) for point in key_points_of(record.cells[cell], "")]
            found[row] = {} if points == old else {"key_points": points_cell(points)}
    return found


def _first_points(ratings: Sequence[Rated]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for each in ratings:
        key = str(each.item.data["doc_id"]), str(each.item.data["topic"])
        found.setdefault(key, points_of(each.item, each.values))
    return found


def points_cell(points: Sequence[str]) -> str:
    """Return key points in the released format: a list of numbered sentences.

    Example:
        >>> points_cell(["It was late.", "It rained."])
        "['1. It was late.', '2. It rained.']"
    """
    return repr([f"{number}. {point}" for number, point in enumerate(points, 1)])


# The report


def _words_of(item: Item) -> int:
    texts = [str(item.data["document"]), *(text for _, text, _ in item.data.get("sentences", ()))]
    return sum(len(text.split()) for text in texts)


def _scores(ratings: Sequence[Rated]) -> dict[str, Any]:
    """Return the relevance and completeness of a system's summaries."""
    levels_of = [each.values["relevance"] for each in ratings if "relevance" in each.values]
    covered = [made(each.item, each.values) for each in ratings]
    complete = mean_completeness(completeness(each) for each in covered if each is not None)
    return {
        "relevant": mean_relevance(each.values.get("relevance") for each in ratings).to_dict(),
        "relevance": {"value": fmean(levels_of) if levels_of else None, "n": len(levels_of)},
        "completeness": complete.to_dict(),
    }


def _rate_tables(rates: Sequence[Rate], types: ErrorCounts) -> list[Table]:
    rows: dict[tuple[str, str], list[str]] = {}
    for rate in rates:  # of sentences, then of summaries
        if (rate.dataset, rate.split) == (ALL, ALL):
            cells = (str(rate.n), str(rate.errors), figure(rate.percent, 1))
            rows.setdefault((rate.model, rate.category), []).extend(cells)
    heads = ("errors by system", "topics", "sentences", "err", "%", "summaries", "err", "%")
    tables: list[Table] = [(heads, [[*name, *cells] for name, cells in rows.items()])]
    if types.exploded:
        counts = [
            [name, str(n), figure(100 * n / types.inconsistent, 1), str(types.single.get(name, 0))]
            for name, n in types.exploded.items()
        ]
        tables.append((("error", "sentences", "%", "alone"), counts))
    return tables


def _systems_table(systems: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = [
        [
            name,
            figure(own["relevance"]["value"], 2),
            _percent(own["relevant"]["value"]),
            str(own["relevance"]["n"]),
            _percent(own["completeness"]["value"]),
            str(own["completeness"].get("n", 0)),
        ]
        for name, own in systems.items()
    ]
    columns = ("relevance 1–5", "relevant %", "ratings", "complete %", "ratings")
    return ("summaries by system", *columns), rows


def _percent(value: float | None) -> str:
    return figure(None if value is None else 100 * value, 1)
