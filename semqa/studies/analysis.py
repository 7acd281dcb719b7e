"""Statistics shared by several tasks: means, agreement, paired comparison of systems, times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean, median, stdev
from typing import Any

from semqa.metrics.agreement import Level, cohen_kappa, krippendorff_alpha, pairwise_agreement
from semqa.metrics.bootstrap import mean_with_interval, paired_means, question_mean
from semqa.metrics.statistics import holm
from semqa.studies.kind import Figures, Item, Studies, Table, counted, majority

RESAMPLES = 10_000
ALL = "all"


def scales_report(
    studies: Studies,
    scales: Sequence[str],
    words: Callable[[Item], int],
) -> Figures:
    """Return the statistics of answers that were rated on scales.

    Means are over ratings. Their intervals resample whole questions, because ratings of one answer
    and answers to one question are not independent. Systems are compared on the questions that both
    answered, by the mean rating of each answer, with Holm's correction over the pairs of a scale.
    Krippendorff's alpha is computed at the ordinal and, as often reported, at the interval level.
    If the designs of the studies differ, systems are named by system and design.
    """
    several = len({study.settings.design for study, _ in studies}) > 1
    seed = studies[0][0].settings.seed
    ratings = [
        (f"{each.item.system} ({study.settings.design})" if several else each.item.system, each)
        for study, rated in studies
        for each in rated
    ]
    means: dict[str, dict[str, Any]] = {}
    answers: dict[str, dict[str, dict[str, list[int]]]] = {}
    times = {}
    for system in dict.fromkeys(name for name, _ in ratings):
        own = [each for name, each in ratings if name == system]
        means[system], answers[system] = {}, {}
        for scale in scales:
            given = [(each.item.item, each.values[scale]) for each in own]
            mean = question_mean(given, resamples=RESAMPLES, seed=seed)
            means[system][scale] = mean._asdict()
            answers[system][scale] = defaultdict(list)
            for item, level in given:
                answers[system][scale][item].append(level)
        times[system] = times_of([(each.seconds, words(each.item)) for each in own], seed)
    agreement = {
        scale: _agreement(levels for own in answers.values() for levels in own[scale].values())
        for scale in scales
    }
    compared = [row for scale in scales for row in _compare(scale, answers, seed)]
    record: dict[str, Any] = {
        "ratings": len(ratings),
        "raters": len({each.rater for _, each in ratings}),
        "answers": sum(len(own[scales[0]]) for own in answers.values()),
        "means": means,
        "agreement": agreement,
        "comparisons": compared,
        "times": times,
        "seed": seed,
        "resamples": RESAMPLES,
    }
    notes = [rated_note(record, "answer", record["answers"]), *unscored_notes(*agreement.values())]
    return Figures(record, list(_tables(record, scales)), notes)


def labels_report(
    studies: Studies,
    label_of: Callable[[Mapping[str, Any]], str],
    labels: Sequence[str],
    *,
    words: Callable[[Item], int],
    group: Callable[[Item], str] = lambda item: item.system,
) -> Figures:
    """Return the statistics of items that get one label each, by majority vote.

    Agreement leaves out adjudicating raters, who saw only the difficult items: it uses the first
    `per_item` ratings of each item. Shares are over the items with a majority, by `group`.
    """
    votes: dict[tuple[int, tuple[str, ...]], list[str]] = defaultdict(list)
    first: dict[str, dict[Hashable, Hashable]] = defaultdict(dict)
    groups: dict[tuple[int, tuple[str, ...]], str] = {}
    more = 0
    for number, (study, rated) in enumerate(studies):
        for each in rated:
            unit = (number, study.kind.key(each.item))
            groups[unit] = group(each.item)
            if len(votes[unit]) < study.settings.per_item:
                first[each.rater][unit] = label_of(each.values)
            else:
                more += 1
            votes[unit].append(label_of(each.values))
    decided = {unit: majority(given) for unit, given in votes.items()}
    shares = {
        name: {label: own.count(label) for label in labels}
        for name in dict.fromkeys(
            (*groups.values(), *([ALL] if len(set(groups.values())) > 1 else []))
        )
        for own in [[v for u, v in decided.items() if name in (groups[u], ALL)]]
    }
    ratings = [each for _, rated in studies for each in rated]
    agreed = rater_agreement(first)
    record: dict[str, Any] = {
        "ratings": len(ratings),
        "raters": len({each.rater for each in ratings}),
        "items": len(votes),
        "undecided": sum(label is None for label in decided.values()),
        "further_ratings": more,
        "labels": shares,
        "agreement": agreed,
    }
    rows = []
    for name, own in shares.items():
        total = sum(own.values())
        row = [name or (ALL if len(shares) == 1 else "–"), str(total)]
        for label in labels:
            row += [str(own[label]), figure(100 * own[label] / total if total else None, 1)]
        rows.append(row)
    heads = ("majority label", "items", *(head for label in labels for head in (label, "%")))
    tables: list[Table] = [(heads, rows), agreement_table({"label": agreed})]
    add_times(record, tables, studies, words)
    notes = [
        f"{rated_note(record, 'item', record['items'])}; {more} to settle disagreements; "
        f"{record['undecided']} undecided"
    ]
    return Figures(record, tables, notes + unscored_notes(agreed))


def rater_agreement(
    labels: Mapping[str, Mapping[Hashable, Hashable]], level: Level = "nominal"
) -> dict[str, Any]:
    """Return the agreement of raters; `labels` are by rater and unit.

    It has Krippendorff's alpha, the probability that two raters of a unit agree, and, for nominal
    labels, Cohen's kappa of each pair of raters on the units that both rated.
    """
    units: dict[Hashable, list[Hashable]] = defaultdict(list)
    for own in labels.values():
        for unit, label in own.items():
            units[unit].append(label)
    kappas = []
    for one, other in combinations(sorted(labels), 2) if level == "nominal" else ():
        both = [unit for unit in labels[one] if unit in labels[other]]
        if both:
            kappa = cohen_kappa([labels[one][u] for u in both], [labels[other][u] for u in both])
            kappas.append({"raters": [one, other], "n": len(both), "kappa": kappa.to_dict()})
    return {
        "alpha": krippendorff_alpha(list(units.values()), level=level).to_dict(),
        "pairwise": pairwise_agreement(list(units.values())).to_dict(),
        "kappas": kappas,
    }


def agreement_table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return a table with a row per question: alpha, pairwise agreement and mean kappa."""
    rows: list[Sequence[str]] = []
    for name, own in found.items():
        known = [(e["n"], e["kappa"]["value"]) for e in own.get("kappas", ())]
        values = [value for _, value in known if value is not None]
        rows.append(
            [
                name,
                str(own["pairwise"]["n"]),
                figure(own["alpha"]["value"], 3),
                figure(own["pairwise"]["value"], 3),
                figure(fmean(values) if values else None, 3),
                str(len(values)),
            ]
        )
    return ("agreement", "rated twice", "α", "pairs", "mean κ", "rater pairs"), rows


def times_table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return a table with a row of times per name; see `times_of`."""
    rows = [
        [
            name,
            str(own["n"]),
            *(figure(own["seconds"][key], 1) for key in ("median", "mean", "sd")),
            *(figure(own["seconds_per_word"][key], 2) for key in ("mean", "sd")),
        ]
        for name, own in found.items()
    ]
    heads = ("time", "ratings", "seconds, median", "mean", "sd", "seconds per word", "sd")
    return heads, rows


def add_times(
    record: dict[str, Any], tables: list[Table], studies: Studies, words: Callable[[Item], int]
) -> None:
    """Add the working times to a record and its tables, unless all ratings were imported."""
    timed = [(e.seconds, words(e.item)) for _, rated in studies for e in rated if e.seconds]
    if timed:
        record["times"] = times_of(timed, studies[0][0].settings.seed)
        tables.append(times_table({"all": record["times"]}))


def rated_note(record: Mapping[str, Any], noun: str, number: int) -> str:
    """Return the number of ratings, of rated items and of raters, as a note."""
    return (
        f"{counted(record['ratings'], 'rating')} of {counted(number, noun)} by "
        f"{counted(record['raters'], 'rater')}"
    )


def unscored_notes(*agreed: Mapping[str, Any]) -> list[str]:
    """Return the reasons why agreement is undefined, if it is."""
    reasons = {
        each["unscored"]
        for own in agreed
        for each in own.values()
        if isinstance(each, dict) and "unscored" in each
    }
    return [f"unscored: {reason}" for reason in sorted(reasons)]


def times_of(read: Sequence[tuple[float, int]], seed: int = 0) -> dict[str, Any]:
    """Return the times from the seconds and words of each rating; 0 words do not count."""
    seconds = [each for each, _ in read]
    per_word = [each / count for each, count in read if count]
    mean = mean_with_interval(per_word, resamples=RESAMPLES, seed=seed)
    return {
        "n": len(seconds),
        "seconds": {"mean": fmean(seconds), "median": median(seconds), "sd": spread(seconds)},
        "seconds_per_word": {
            "mean": mean.value,
            "interval": mean.interval,
            "median": median(per_word) if per_word else None,
            "sd": spread(per_word),
        },
    }


def spread(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation, or None if there are fewer than two values."""
    return stdev(values) if len(values) > 1 else None


def _agreement(units: Iterable[Sequence[int]]) -> dict[str, Any]:
    given = list(units)
    return {
        "alpha_ordinal": krippendorff_alpha(given, level="ordinal").to_dict(),
        "alpha_interval": krippendorff_alpha(given, level="interval").to_dict(),
        "pairwise": pairwise_agreement(given).to_dict(),
    }


def _compare(
    scale: str, answers: dict[str, dict[str, dict[str, list[int]]]], seed: int
) -> list[dict[str, Any]]:
    """Compare each pair of systems on one scale, with Holm's correction of the p-values."""
    found: list[dict[str, Any]] = []
    for one, other in combinations(answers, 2):
        left, right = answers[one][scale], answers[other][scale]
        pairs = [(fmean(left[item]), fmean(right[item])) for item in left if item in right]
        if len(pairs) > 1:
            test = paired_means(pairs, resamples=RESAMPLES, seed=seed)
            row = {"scale": scale, "system": one, "other": other, "n": test.n}
            row |= {"difference": test.difference, "interval": [test.low, test.high], "p": test.p}
            found.append(row)
    for row, adjusted in zip(found, holm([row["p"] for row in found]), strict=True):
        row["adjusted"] = adjusted
    return found


def _tables(record: dict[str, Any], scales: Sequence[str]) -> Iterator[Table]:
    means = [[name, *(_mean(own[s]) for s in scales)] for name, own in record["means"].items()]
    yield ("mean, 95% interval", *scales), means
    measures = ("alpha_ordinal", "alpha_interval", "pairwise")
    agreement = [
        [scale, str(own["pairwise"]["n"]), *(figure(own[key]["value"], 3) for key in measures)]
        for scale, own in record["agreement"].items()
    ]
    yield ("agreement", "answers", "α ordinal", "α interval", "pairs"), agreement
    compared = [
        [
            each["scale"],
            f"{each['system']} − {each['other']}",
            str(each["n"]),
            f"{each['difference']:+.2f}",
            "{:+.2f} – {:+.2f}".format(*each["interval"]),
            f"{each['p']:.4f}",
            f"{each['adjusted']:.4f}",
        ]
        for each in record["comparisons"]
    ]
    if compared:
        heads = ("difference", "systems", "questions", "mean", "95% interval", "p", "p (Holm)")
        yield heads, compared
    yield times_table(record["times"])


def _mean(mean: dict[str, Any]) -> str:
    if mean["interval"] is None:
        return figure(mean["value"], 2)
    low, high = mean["interval"]
    return f"{mean['value']:.2f}  {low:.2f}–{high:.2f}"


def figure(value: float | None, digits: int) -> str:
    """Format a number for a table, or a dash if it is None."""
    return "–" if value is None else f"{value:.{digits}f}"
