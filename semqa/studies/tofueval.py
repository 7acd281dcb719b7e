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

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from semqa.attribution.records import read_table
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
    read_texts,
    read_topics,
)
from semqa.data.csv_rows import encode_csv, encode_record, read_csv
from semqa.data.jsonl import read_rows, shown
from semqa.errors import InputError
from semqa.studies.kind import (
    Figures,
    Format,
    ImportedRating,
    Input,
    Item,
    Kind,
    Option,
    Part,
    Question,
    Rated,
    Stage,
    expected_of,
    has_raters,
    imported_rating,
    json_bytes,
    levels,
    majority,
    text_part,
)
from semqa.studies.tables import (
    column,
    kept_tables,
    read_kept,
    with_cells,
    with_columns,
    with_records,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from semqa.attribution.tofueval.data import KeyPoints
    from semqa.data.csv_rows import CsvFile
    from semqa.data.jsonl import Row
    from semqa.studies.kind import Study

SENTENCES, KEY_POINTS = "sentences", "key-points"
NONE = 0
"""The answer for a summary that covers no key point."""

_TYPES = tuple(
    Option(error.name, error.name, f"The sentence {error.definition}.") for error in ERROR_TYPES
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

    def read(self, inputs: Sequence[Input], design: str) -> list[Item]:
        files = _Files(inputs)
        return files.topics() if design == KEY_POINTS else files.summaries()

    def keep(self, inputs: Sequence[Input]) -> dict[str, bytes]:
        return kept_tables([each for each in inputs if _role(each) != "documents"])

    def key(self, item: Item) -> tuple[str, ...]:
        return tuple(str(item.data[name]) for name in _KEY)

    def stages(self, item: Item, design: str) -> tuple[Stage, ...]:
        data = item.data
        topic = text_part("Topic", str(data["topic"]))
        document: Part = {
            **text_part("Document", str(data["document"])),
            "id": "document",
            "search": True,
        }
        if design == KEY_POINTS:
            return (Stage("Write the key points", (topic, document), (_WRITTEN,)),)
        texts = [text for _, text, _ in data["sentences"]]

        def summary(at: int | None) -> Part:
            return {
                "id": "summary",
                "kind": "sentences",
                "label": "Summary",
                "sentences": texts,
                "at": at,
            }

        points = data.get("points")
        stages: list[Stage] = []
        if points is None:
            hidden = text_part("Summary", "Hidden until you have written the key points.")
            parts: tuple[Part, ...] = (topic, {**hidden, "id": "summary"}, document)
            stages.append(Stage("Write the key points first", parts, (_WRITTEN,)))
        stages += [
            Stage(
                f"Sentence {place + 1} of {len(texts)}",
                (topic, summary(place), document)
                if not stages and not place
                else (summary(place),),
                _sentence_questions(number, text),
                revisable=True,
            )
            for place, (number, text, _) in enumerate(data["sentences"])
        ]
        asked = [_RELEVANCE]
        if points is None or points:
            asked.append(_covered(points))
        asked.append(Question("remark", "Remark (optional)", "text", required=False))
        stages.append(Stage("The summary as a whole", (summary(None),), tuple(asked)))
        return tuple(stages)

    def imported(self, study: Study, inputs: Sequence[Input]) -> list[ImportedRating]:
        places = study.places
        rated = [each for each in inputs if has_raters(each)]
        files = _Files([each for each in inputs if each not in rated])
        if study.settings.design == KEY_POINTS:
            given = [(files.topic_of(each), _points_values(each)) for each in files.points]
        else:
            given = [(item, _released_values(own)) for item, own in files.annotated()]
        found = [rating for each in rated for rating in _exported(study, each)]
        # The name of an export, and so the data set, may differ from that of the released file.
        names = Counter(key[2:] for key in places)
        loose = {key[2:]: number for key, number in places.items() if names[key[2:]] == 1}
        for item, values in given:
            place = places.get(self.key(item)) or loose.get(self.key(item)[2:])
            if place is None:
                raise InputError(f"{item.item} {item.system}".strip() + " is not in the study.")
            if values:
                found.append(ImportedRating(place, values))
        return found

    def export(self, study: Study, ratings: Sequence[Rated], form: Format) -> Iterable[bytes]:
        """Return JSON lines per sentence and rater, or a CSV file with the released columns."""
        if form == "jsonl":
            return [json_bytes(row) for each in ratings for row in _rows(study, each)]
        kept = _kept(study)
        if len(kept) == 1:
            ((name, file),) = kept.items()
            return _labelled(study, name, file, ratings)
        if study.settings.design == KEY_POINTS:
            return _plain_points(study, ratings)
        return _plain(study, ratings)

    def tables(self, study: Study, ratings: Sequence[Rated]) -> dict[str, Iterable[bytes]]:
        kept = _kept(study)
        return {name: _labelled(study, name, file, ratings) for name, file in kept.items()}

    def report(self, studies: Sequence[tuple[Study, Sequence[Rated]]]) -> Figures:
        """Return error rates and types, relevance, completeness, and agreement."""
        from semqa.studies.tofueval_report import report

        return report(studies)


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
        """Return an item per summary."""
        points = {(each.doc_id, each.topic): each.points for each in self.points}
        items = [item for item, _ in self.annotated()]
        items += [item for each in self._by_role.get("summaries", ()) for item in _written(each)]
        return [self._complete(item, points) for item in items]

    def annotated(self) -> Iterator[tuple[Item, list[AnnotatedSentence]]]:
        """Yield an item per summary of the annotated files, with its sentences."""
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
                yield item, own

    def topics(self) -> list[Item]:
        """Return an item per document and topic."""
        found = {(e.doc_id, e.topic): self.topic_of(e) for e in self.points}
        for item in self.summaries():
            doc_id, topic = str(item.data["doc_id"]), str(item.data["topic"])
            found.setdefault((doc_id, topic), _topic(str(item.data["dataset"]), doc_id, topic))
        for given in self._by_role.get("topics", ()):
            for doc_id, topic in read_topics(given.path):
                found.setdefault((doc_id, topic), _topic("", doc_id, topic))
        return [self._complete(item, {}) for item in found.values()]

    def topic_of(self, points: KeyPoints) -> Item:
        """Return the item of a topic with key points."""
        return _topic(points.dataset, points.doc_id, points.topic)

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


def _released_values(own: Sequence[AnnotatedSentence]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for each in own:
        name = f"s{each.index}"
        values[name] = _WORD[each.inconsistent]
        if each.inconsistent:
            values |= {f"{name}_why": each.explanation.strip(), f"{name}_types": [*each.errors]}
    return values


def _exported(study: Study, given: Input) -> Iterator[ImportedRating]:
    """Yield the ratings of an export, which has a row per sentence and one per summary."""
    names = ("dataset", "split", "doc_id", "topic", "model_name")
    found: dict[tuple[str, ...], tuple[Row, dict[str, Any]]] = {}
    for row in read_table(given.path):
        key = *(row.text(name, "") for name in names), row.text("rater")
        values = found[key][1] if key in found else {}
        found[key] = (row, values)  # the last row has the seconds
        if (number := row.fields.get("sent_idx")) is not None:
            values[f"s{number}"] = row.text("sent_label")
            values[f"s{number}_why"] = row.text("exp")
            values[f"s{number}_types"] = [*error_types(row.text("type"))]
            continue
        values |= {name: row.fields.get(name) for name in ("relevance", "remark")}
        if isinstance(made := row.fields.get("made"), list):
            values["covered"] = [n for n, is_made in enumerate(made, 1) if is_made] or [NONE]
        if isinstance(points := row.fields.get("key_points"), list):
            values[_WRITTEN.id] = "\n".join(map(str, points))
    places = study.places
    for key, (row, values) in found.items():
        yield imported_rating(study, row, places.get(key[:-1]), values)


def _points_values(given: KeyPoints) -> dict[str, Any]:
    return {_WRITTEN.id: "\n".join(_one_line(given.points))} if given.points else {}


def _one_line(points: Iterable[str]) -> list[str]:
    return [" ".join(point.split()) for point in points]


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


def _kept(study: Study) -> dict[str, CsvFile]:
    """Return the kept tables that an export of this design updates."""
    required = "key_points" if study.settings.design == KEY_POINTS else "sent_label"
    return {
        name: file for name, file in read_kept(study).items() if column(file, required) is not None
    }


def _labelled(study: Study, name: str, file: CsvFile, ratings: Sequence[Rated]) -> Iterable[bytes]:
    """Return a table with the verdicts filled in; rows that were not rated are kept."""
    if study.settings.design == KEY_POINTS:
        return _with_points(file, ratings)
    verdicts = consensus(study, ratings)
    at: dict[int, AnnotatedSentence] = {}
    for item in study.items:
        if item.data.get("file") == name:
            for number, _, rows in item.data["sentences"]:
                if (verdict := verdicts.get((*study.kind.key(item), str(number)))) is not None:
                    at |= dict.fromkeys(rows, verdict)
    wide = with_columns(file, ["exp", "type"])
    records = []
    for row, record in enumerate(wide.records):
        if (verdict := at.get(row)) is not None:
            record = with_cells(record, _cells(wide, record.cells, verdict))  # noqa: PLW2901
        records.append(record)
    return encode_csv(with_records(wide, records))


def _cells(file: CsvFile, cells: Sequence[str], verdict: AnnotatedSentence) -> dict[int, str]:
    """Return new cells by index, for the cells whose meaning differs from the verdict."""
    new: dict[str, tuple[str, Callable[[str], object]]] = {
        "sent_label": (_WORD[verdict.inconsistent], lambda cell: cell.strip().casefold()),
        "exp": (verdict.explanation, str.strip),
        "type": (", ".join(verdict.errors), lambda cell: frozenset(error_types(cell))),
    }
    found = {}
    for name, (value, meaning) in new.items():
        place = column(file, name)
        assert place is not None  # noqa: S101 - exists or was added
        if meaning(cells[place]) != meaning(value):
            found[place] = value
    return found


def _with_points(file: CsvFile, ratings: Sequence[Rated]) -> Iterable[bytes]:
    """Return a table with the key points of the first rater of each topic."""
    key_points = _first_points(ratings)
    doc, topic, cell = (column(file, name) for name in ("doc_id", "topic", "key_points"))
    doc = column(file, "meeting_id") if doc is None else doc
    assert doc is not None and topic is not None and cell is not None  # noqa: S101, PT018 - was read
    records = []
    for record in file.records:
        points = key_points.get((record.cells[doc].strip(), record.cells[topic].strip()))
        if points is not None and points != _one_line(key_points_of(record.cells[cell], "")):
            record = with_cells(record, {cell: points_cell(points)})  # noqa: PLW2901
        records.append(record)
    return encode_csv(with_records(file, records))


COLUMNS = (
    "doc_id",
    "topic",
    "model_name",
    "sent_idx",
    "summ_sent",
    "sent_label",
    "exp",
    "type",
    "dataset",
    "split",
)
"""The columns of an export without a released table."""


def _plain(study: Study, ratings: Sequence[Rated]) -> Iterable[bytes]:
    yield encode_record(COLUMNS).encode()
    for sentence in consensus(study, ratings).values():
        key = sentence.key
        cells = (
            key.doc_id,
            key.topic,
            key.model,
            str(sentence.index),
            sentence.text,
            _WORD[sentence.inconsistent],
            sentence.explanation,
            ", ".join(sentence.errors),
            key.dataset,
            sentence.split,
        )
        yield encode_record(cells).encode()


def _plain_points(study: Study, ratings: Sequence[Rated]) -> Iterable[bytes]:
    del study
    yield encode_record(("doc_id", "topic", "key_points")).encode()
    for (doc_id, topic), points in _first_points(ratings).items():
        yield encode_record((doc_id, topic, points_cell(points))).encode()


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


def _rows(study: Study, rated: Rated) -> Iterator[dict[str, Any]]:
    """Yield a row per sentence, and one for the whole summary."""
    data, values = rated.item.data, rated.values
    key = {"dataset": data["dataset"], "split": data["split"], "doc_id": data["doc_id"]}
    key |= {"topic": data["topic"]}
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
