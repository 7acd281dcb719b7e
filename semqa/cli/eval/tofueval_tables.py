"""TofuEval's figures as tables for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.table import Table

    from semqa.attribution.tofueval.judging import Judgement
    from semqa.attribution.tofueval.meta import ErrorCounts, Rate

__all__ = [
    "evaluator_tables",
    "figure",
    "judged_table",
    "make_table",
    "rates_table",
    "tests_table",
    "types_table",
]


def make_table(*columns: str, left: int = 1) -> Table:
    """Return an empty table; the first `left` columns are text."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < left else "right", no_wrap=place == 0)
    return table


def figure(value: float | None, digits: int = 1) -> str:
    """Return a figure as it is shown; ``unscored`` where there is none."""
    return "unscored" if value is None else f"{value:.{digits}f}"


def rates_table(rates: Iterable[Rate], per: str) -> Table:
    """Return one row a dataset, category and split (or model), with both levels beside each other.

    Args:
        rates: all rates.
        per: ``split`` or ``model``: what rows are parted by, beside the pooled ones.
    """
    other = "model" if per == "split" else "split"
    rows: dict[tuple[str, str, str], dict[str, Rate]] = {}
    for rate in rates:
        if getattr(rate, other) == "all":
            name = (rate.dataset, rate.category, getattr(rate, per))
            rows.setdefault(name, {})[rate.level] = rate
    if len({dataset for dataset, _, _ in rows}) == 2:  # pooled over one
        rows = {name: levels for name, levels in rows.items() if name[0] != "all"}
    names = ("dataset", "topics", per)
    table = make_table(*names, "sentences", "err", "%", "summaries", "err", "%", left=3)
    for name, levels in rows.items():
        cells = [
            cell
            for level in ("sentence", "summary")
            for cell in (
                str(levels[level].n),
                str(levels[level].errors),
                f"{levels[level].percent:.1f}",
            )
        ]
        table.add_row(*name, *cells)
    return table


def types_table(counts: ErrorCounts) -> Table:
    """Return one row a type of error."""
    table = make_table("error", "sentences", "%", "alone")
    for name, count in counts.exploded.items():
        share = 100 * count / counts.inconsistent
        table.add_row(name, str(count), f"{share:.1f}", str(counts.single.get(name, 0)))
    return table


def evaluator_tables(row: Mapping[str, Any]) -> list[Table]:
    """Return the cells and the recall by type of error of an evaluator's first run."""
    run = row["runs"][0]
    means = {
        (cell["dataset"], cell["category"], cell["level"]): cell["balanced_accuracy"]
        for cell in row.get("mean", ())
    }
    title = f"{row['name']}" + (f" (run {run['run']} of {len(row['runs'])})" if means else "")
    columns = [title, "topics", "level", "n", "FPR", "FNR", "BAcc"]
    table = make_table(*columns, *(["BAcc, mean of runs"] if means else []), left=3)
    one = len({cell["dataset"] for cell in run["cells"]}) == 2
    for cell in run["cells"]:
        if one and cell["dataset"] == "all":  # pooled over one
            continue
        name = (cell["dataset"], cell["category"], cell["level"])
        shares = [figure(cell[key]) for key in ("fpr", "fnr", "balanced_accuracy")]
        mean = [figure(means.get(name))] if means else []
        table.add_row(*name, str(cell["n"]), *shares, *mean)
    recall = make_table("recall by error", "n", "found", "%", "alone", "%")
    single = {each["error"]: each for each in run["recall_by_single_error_type"]}
    for each in run["recall_by_error_type"]:
        alone = single.get(each["error"])
        recall.add_row(
            each["error"],
            str(each["n"]),
            str(each["hits"]),
            figure(each["recall"]),
            "0" if alone is None else str(alone["n"]),
            "" if alone is None else figure(alone["recall"]),
        )
    return [table, *([recall] if run["recall_by_error_type"] else [])]


def judged_table(judgements: Sequence[Judgement]) -> Table:
    """Return one row a model: texts, how many are inconsistent, how many replies have no verdict."""
    rows: dict[str, list[Judgement]] = {}
    for each in judgements:
        rows.setdefault(each.judged.key.model, []).append(each)
    level = judgements[0].judged.level if judgements else "text"
    table = make_table(
        "model",
        "sentences" if level == "sentence" else "summaries",
        "inconsistent",
        "%",
        "no verdict",
    )
    names = [*sorted(rows), *(["all"] if len(rows) > 1 else [])]
    for name in names:
        some = judgements if name == "all" and name not in rows else rows[name]
        wrong = sum(each.inconsistent is True for each in some)
        unread = sum(each.inconsistent is None for each in some)
        share = figure(100 * wrong / (len(some) - unread) if len(some) > unread else None)
        table.add_row(name, str(len(some)), str(wrong), share, str(unread))
    return table


def tests_table(tests: Iterable[Mapping[str, Any]]) -> Table:
    """Return one row a paired test."""
    table = make_table(
        "against the first", "level", "BAcc difference", "interval", "p", "n", left=2
    )
    for test in tests:
        if "untested" in test:
            continue
        table.add_row(
            f"{test['a']} - {test['b']}",
            test["level"],
            f"{test['difference']:+.2f}",
            f"{test['low']:+.2f} – {test['high']:+.2f}",
            f"{test['p']:.4f}",
            str(test["n"]),
        )
    return table
