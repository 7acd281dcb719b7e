"""Q² as tables for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.attribution.q2.meta import shown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.table import Table

__all__ = ["meta_notes", "meta_tables", "run_notes", "run_tables"]


def run_tables(record: Mapping[str, Any]) -> Iterator[Table]:
    """Yield one table for all responses, and one for each system where there are several."""
    yield _scores("", record["scores"], record["bootstrap"]["confidence"])
    for name, scores in record["systems"].items():
        yield _scores(name or "no system", scores, record["bootstrap"]["confidence"])


def run_notes(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a reader must know beside the scores."""
    questions = record["questions"]
    rejected = ", ".join(f"{count} {reason}" for reason, count in questions["rejected"].items())
    yield (
        f"questions: {questions['valid']} valid of {questions['tried']} tried about "
        f"{_count(questions['spans'], 'span')}{f' ({rejected})' if rejected else ''}; "
        f"{questions['unanswered_by_knowledge']} not answered by the knowledge; "
        f"{questions['responses_without']} of {_count(record['n'], 'response')} without a valid one"
    )
    for name, score in record["scores"].items():
        for reason, count in score["unscored"].items():
            yield f"unscored: {count} of {record['n']} ({reason}) in {shown_name(name)}"
    for file in record["files"]:
        if file.get("repeated"):
            yield (
                f"{file['name']}: {file['repeated']} of {file['responses']} responses occur a second "
                "time; --drop-repeated leaves them out"
            )
    settings = record["settings"]
    yield (
        f"judge: {record['judge']['name']}; spans: {record['spans']}; rules: "
        f"{'those of the released code' if settings['official'] else 'default'}"
    )


def meta_tables(record: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of a meta-evaluation."""
    for part, title in (("responses", "responses"), ("contexts", "responses to shared contexts")):
        if (found := record[part]) is not None and found["response_level"]:
            yield _levels(title, found["response_level"])
    contexts = record["contexts"]
    if contexts is not None and contexts["system_level"]:
        table = _table("simulated systems", "Spearman", "95% interval", "contexts", "gap")
        for name, row in contexts["system_level"].items():
            interval = row["interval"]
            table.add_row(
                shown_name(name),
                _figure(row["spearman"]),
                "" if interval is None else f"{interval[0]:.3f} – {interval[1]:.3f}",
                str(row["contexts"]),
                f"{row['gap']:.4f}",
            )
        yield table


def meta_notes(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a reader must know beside the figures of a meta-evaluation."""
    contexts = record["contexts"]
    if contexts is not None:
        counts = contexts["annotation"]
        by_system = ", ".join(f"{n} of {name}" for name, n in counts["inconsistent"].items())
        yield (
            f"{counts['contexts']} contexts; inconsistent: {by_system}; exactly one in "
            f"{counts['exactly_one']}, all in {counts['both']}, none in {counts['none']}"
        )
    for part in ("responses", "contexts"):
        for name, row in (record[part] or {}).get("response_level", {}).items():
            if row["unscored"]:
                yield f"unscored: {row['unscored']} labelled responses in {shown_name(name)}"
    for name in record["unlabelled"]:
        yield f"{name}: its responses have no label; name it by --consistent or --inconsistent"


def _levels(title: str, levels: Mapping[str, Mapping[str, Any]]) -> Table:
    table = _table(
        title,
        "n",
        "at",
        "accuracy",
        "P incons.",
        "R incons.",
        "P cons.",
        "R cons.",
        "ROC AUC",
    )
    for name, row in levels.items():
        for at in row.get("thresholds", [row]):
            table.add_row(
                shown_name(name),
                str(row["n"]),
                f"{at['threshold']:g}",
                *map(
                    _figure,
                    (
                        at["accuracy"],
                        at["inconsistent"]["precision"],
                        at["inconsistent"]["recall"],
                        at["consistent"]["precision"],
                        at["consistent"]["recall"],
                        row["roc_auc"],
                    ),
                ),
            )
    return table


def _scores(title: str, scores: Mapping[str, Mapping[str, Any]], confidence: float) -> Table:
    table = _table(title, "score", f"{confidence:.0%} interval", "n")
    for name, score in scores.items():
        interval = score["interval"]
        table.add_row(
            shown_name(name),
            _figure(score["value"]),
            "" if interval is None else f"{interval[0]:.3f} – {interval[1]:.3f}",
            str(score["n"]),
        )
    return table


def _figure(value: float | None) -> str:
    return "unscored" if value is None else f"{value:.3f}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _table(first: str, *others: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table
