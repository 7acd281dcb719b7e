"""Statistics of TofuEval annotations: error rates and types, relevance, completeness, agreement."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Any

from semqa.attribution.tofueval.judging import completeness, mean_completeness, mean_relevance
from semqa.attribution.tofueval.meta import count_errors, error_rates
from semqa.studies.analysis import (
    ALL,
    agreement_table,
    figure,
    rater_agreement,
    times_of,
    times_table,
    unscored_notes,
)
from semqa.studies.kind import Figures, counted
from semqa.studies.tofueval import consensus, made

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from semqa.attribution.tofueval.meta import ErrorCounts, Rate
    from semqa.studies.kind import Item, Rated, Study, Table


def report(studies: Sequence[tuple[Study, Sequence[Rated]]]) -> Figures:
    """Return the statistics of one or more studies.

    Error rates use the combined verdicts of `semqa.studies.tofueval.consensus`. Relevance and
    completeness are means over ratings. Agreement is computed over all raters, for sentence labels,
    relevance and key points.
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
    for number, (study, rated) in enumerate(studies):
        for each in rated:
            unit = (number, study.kind.key(each.item))
            by_system[each.item.system].append(each)
            for index, _, _ in each.item.data.get("sentences", ()):
                if (label := each.values.get(f"s{index}")) is not None:
                    labels["sentence"][each.rater][*unit, index] = label
            if (level := each.values.get("relevance")) is not None:
                labels["relevance"][each.rater][unit] = level
            if each.item.data.get("points") is not None:
                for point, is_made in enumerate(made(each.item, each.values) or ()):
                    labels["key point"][each.rater][*unit, point] = is_made
    systems = {
        system: {
            "relevant": mean_relevance(e.values.get("relevance") for e in own).to_dict(),
            "relevance": _mean_of([e.values["relevance"] for e in own if "relevance" in e.values]),
            "completeness": mean_completeness(
                completeness(covered)
                for e in own
                if (covered := made(e.item, e.values)) is not None
            ).to_dict(),
        }
        for system, own in by_system.items()
    }
    agreed = {
        name: rater_agreement(own, "ordinal" if name == "relevance" else "nominal")
        for name, own in labels.items()
        if own
    }
    ratings = [each for _, rated in studies for each in rated]
    timed = [(e.seconds, _words_of(e.item)) for e in ratings if e.seconds]
    record: dict[str, Any] = {
        "ratings": len(ratings),
        "raters": len({each.rater for each in ratings}),
        "summaries": len({(n, s.kind.key(e.item)) for n, (s, r) in enumerate(studies) for e in r}),
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
    if timed:
        record["times"] = times_of(timed, studies[0][0].settings.seed)
        tables.append(times_table({"all": record["times"]}))
    notes = [
        f"{counted(record['ratings'], 'rating')} of {counted(record['summaries'], 'summary')} by "
        f"{counted(record['raters'], 'rater')}"
    ]
    return Figures(record, tables, notes + unscored_notes(*agreed.values()))


def _words_of(item: Item) -> int:
    texts = [str(item.data["document"]), *(text for _, text, _ in item.data.get("sentences", ()))]
    return sum(len(text.split()) for text in texts)


def _mean_of(values: Sequence[int]) -> dict[str, Any]:
    return {"value": fmean(values) if values else None, "n": len(values)}


def _rate_tables(rates: Sequence[Rate], types: ErrorCounts) -> list[Table]:
    rows: dict[tuple[str, str], dict[str, Rate]] = {}
    for rate in rates:
        if (rate.dataset, rate.split) == (ALL, ALL):
            rows.setdefault((rate.model, rate.category), {})[rate.level] = rate
    shown: list[Sequence[str]] = [
        [
            *name,
            *(
                c
                for each in own.values()
                for c in (str(each.n), str(each.errors), figure(each.percent, 1))
            ),
        ]
        for name, own in rows.items()
    ]
    heads: Sequence[str] = (
        "errors by system",
        "topics",
        "sentences",
        "err",
        "%",
        "summaries",
        "err",
        "%",
    )
    tables: list[Table] = [(heads, shown)]
    if types.exploded:
        tables.append(
            (
                ("error", "sentences", "%", "alone"),
                [
                    [
                        name,
                        str(n),
                        figure(100 * n / types.inconsistent, 1),
                        str(types.single.get(name, 0)),
                    ]
                    for name, n in types.exploded.items()
                ],
            )
        )
    return tables


def _systems_table(systems: Mapping[str, Mapping[str, Any]]) -> Table:
    return (
        ("summaries by system", "relevance 1–5", "relevant %", "ratings", "complete %", "ratings"),
        [
            [
                name,
                figure(own["relevance"]["value"], 2),
                _percent(own["relevant"]["value"]),
                str(own["relevance"]["n"]),
                _percent(own["completeness"]["value"]),
                str(own["completeness"].get("n", 0)),
            ]
            for name, own in systems.items()
        ],
    )


def _percent(value: float | None) -> str:
    return figure(None if value is None else 100 * value, 1)
