"""Flag, Int and AIS rates, significance tests, annotators' agreement and speed, and their report.

Flag is the rate over all outputs, Int over outputs that are not flagged, and AIS over interpretable
outputs. Int & AIS, over outputs that are not flagged, is the rate that readers experience.

The paper stars rates that are significantly below the best rate of their column (p < 0.01). A
two-sided z-test of two independent proportions reproduces its stars. McNemar's exact test compares
systems, or task designs, on the same outputs.

Agreement is computed from single ratings, or from released files, which only state how many of five
annotators agree with the majority. Rows with a count outside 3 to 5 are left out.

All results are JSON-ready objects. An undefined figure is None, with the reason in ``unscored``.

Source: Rashkin et al., "Measuring Attribution in Natural Language Generation Models" (Computational
Linguistics 49, 2023), section 4 and tables 3, 4 and 7.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import fmean, median, stdev
from typing import Any, Literal, TypeVar, get_args

from semqa.attribution.ais.ratings import ATTRIBUTION_ONLY, RatedUnit, Rating, Verdict, consensus
from semqa.attribution.ais.released import MAJORITIES, ReleasedFile, data_checks, drop_duplicates
from semqa.errors import InputError
from semqa.metrics.agreement import consensus_fit, krippendorff_alpha, pairwise_agreement, unanimity
from semqa.metrics.bootstrap import question_mean
from semqa.metrics.statistics import McNemar, compare_rates, holm, mcnemar, wilson_interval

_Key = TypeVar("_Key")
Measure = Literal["flag", "int", "ais", "int_and_ais"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

_UNDEFINED = {
    "flag": "no outputs",
    "int": "every output is flagged",
    "ais": "no output is interpretable",
    "int_and_ais": "every output is flagged",
}


def _rate(count: int, n: int, unscored: str = "") -> dict[str, Any]:
    """Return a rate in percent with Wilson's 95% interval."""
    if not n:
        return {"count": count, "n": n, "percent": None, "unscored": unscored}
    interval = [100 * end for end in wilson_interval(count, n)]
    return {"count": count, "n": n, "percent": 100 * count / n, "interval": interval}


def _value(given: Verdict | Rating, measure: Measure) -> bool | None:
    """Return the value for a measure; None if the measure does not apply."""
    if measure == "flag":
        return given.flagged
    if measure == "int":
        return given.interpretable
    if measure == "ais":
        return given.attributable
    return None if given.interpretable is None else bool(given.attributable)


def rates_of(system: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the rates of verdicts by measure, with their number ``n`` and the name ``system``."""
    row: dict[str, Any] = {"system": system, "n": len(verdicts)}
    for measure in MEASURES:
        answers = [a for each in verdicts if (a := _value(each, measure)) is not None]
        row[measure] = _rate(sum(answers), len(answers), _UNDEFINED[measure])
    return row


def system_rates(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Return the rates of each system, in order of appearance; duplicates count each time."""
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.system].append(verdict)
    return [rates_of(system, group) for system, group in groups.items()]


SystemTest = Literal["z", "mcnemar"]

LEVEL = 0.01
"""The paper's level of significance."""

MIN_SHARED = 0.9
"""Minimum share of the smaller system's examples that both must have for a paired test."""


def compare_systems(
    verdicts: Sequence[Verdict],
    measure: Measure,
    *,
    baseline: str | None = None,
    test: SystemTest = "z",
    correct: bool = False,
) -> list[dict[str, Any]]:
    """Compare each system with the best one, or with the baseline, in order of appearance.

    Args:
        verdicts: the verdicts of one task and design.
        measure: the rate; for ``flag``, the lowest is best.
        test: ``z`` for independent rates, or ``mcnemar`` on the examples of both systems.
        correct: whether to correct for multiple comparisons, with Holm's method.

    Returns:
        For each comparison, the ``difference`` in percentage points, the p-value ``p``, and the
        p-value ``adjusted`` for all comparisons of this measure, which is ``significant`` below
        `LEVEL`. ``pairs`` is McNemar's test.
    """
    rates = {each["system"]: each[measure] for each in system_rates(verdicts)}
    sign = -1 if measure == "flag" else 1
    scored = [system for system, rate in rates.items() if rate["n"]]
    best = max(scored, key=lambda system: sign * rates[system]["percent"], default=None)
    other = baseline if baseline is not None else best
    if other is None:
        return []
    found: list[dict[str, Any]] = []
    for name, rate in rates.items():
        if name == other:
            continue
        a, b = rate, rates[other]
        undefined = a["percent"] is None or b["percent"] is None
        row = {
            "measure": measure,
            "system": name,
            "other": other,
            "difference": None if undefined else a["percent"] - b["percent"],
            "p": None,
            "adjusted": None,
            "significant": False,
        }
        if test == "mcnemar":
            pairs = compare_paired(verdicts, name, other, measure)
            row["pairs"] = pairs.to_dict()
            p, unscored = pairs.p, pairs.unscored or _not_comparable(pairs.n, min(a["n"], b["n"]))
        else:
            tested = compare_rates((a["count"], a["n"]), (b["count"], b["n"]))
            p, unscored = tested.value, tested.unscored
        row |= {"p": p} if unscored is None else {"unscored": unscored}
        found.append(row)
    tested_rows = [row for row in found if row["p"] is not None]
    ps = [row["p"] for row in tested_rows]
    for row, p in zip(tested_rows, holm(ps) if correct else ps, strict=True):
        row |= {"adjusted": p, "significant": p < LEVEL}
    return found


def compare_paired(
    verdicts: Sequence[Verdict], first: str, second: str, measure: Measure
) -> McNemar:
    """Compare two systems on the items where both have a value; duplicates count once."""
    own: dict[str, dict[str, Verdict]] = {first: {}, second: {}}
    for verdict in drop_duplicates(verdicts):
        if verdict.system in own:
            own[verdict.system][verdict.item] = verdict
    return _mcnemar(own[first], own[second], measure)


def _not_comparable(shared: int, smaller: int) -> str | None:
    if shared >= MIN_SHARED * smaller:
        return None
    return (
        f"rated on different examples: only {shared} of {smaller} are the same; use a test for "
        "independent rates"
    )


def compare_designs(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Compare each two designs of a task in every measure, on the outputs rated in both.

    Each output has one verdict. For ``ais``, only outputs interpretable in both designs count.
    """
    tasks: dict[str, dict[str, dict[tuple[str, str], Verdict]]] = {}
    for verdict in verdicts:
        designs = tasks.setdefault(verdict.task, {})
        designs.setdefault(verdict.design, {})[verdict.item, verdict.system] = verdict
    return [
        {
            "task": task,
            "measure": measure,
            "first": first,
            "second": second,
            **_mcnemar(designs[first], designs[second], measure).to_dict(),
        }
        for task, designs in tasks.items()
        for first, second in combinations(designs, 2)
        for measure in MEASURES
    ]


def _mcnemar(
    first: Mapping[_Key, Verdict], second: Mapping[_Key, Verdict], measure: Measure
) -> McNemar:
    pairs = [
        (a, b)
        for key, verdict in first.items()
        if key in second
        and (a := _value(verdict, measure)) is not None
        and (b := _value(second[key], measure)) is not None
    ]
    return mcnemar([a for a, _ in pairs], [b for _, b in pairs])


Question = Literal["flag", "int", "ais"]
_Cases = list[tuple[list[bool], bool | None]]
"""The answers on each output, and their consensus."""

ANNOTATORS = 5
"""Annotators per output in the released files."""


def agreement_of_ratings(units: Sequence[RatedUnit]) -> list[dict[str, Any]]:
    """Compute the agreement on each question from single ratings.

    Outputs with fewer than two answers are ``dropped``. Ties have no consensus and are left out of
    F1 and accuracy, which compare single answers with it. Questions that the design does not ask
    are omitted.
    """
    asked: dict[Question, _Cases] = {"flag": [], "int": [], "ais": []}
    both = any(unit.ratings[0].interpretability_asked for unit in units)
    if not both:
        del asked["int"]
    for unit in units:
        verdict = unit.verdict
        asked["flag"].append(([r.flagged for r in unit.ratings], verdict.flagged))
        if not verdict.flagged and both:
            given = [r.interpretable for r in unit.ratings if r.interpretable is not None]
            asked["int"].append((given, None if "int" in unit.tied else verdict.interpretable))
        if verdict.interpretable or not (both or verdict.flagged):
            given = [r.attributable for r in unit.ratings if r.attributable is not None]
            asked["ais"].append((given, None if "ais" in unit.tied else verdict.attributable))
    found = []
    for question, cases in asked.items():
        row = _agreement(question, cases)
        name = {"int": "interpretable_level", "ais": "attributable_level"}.get(question, "")
        levels = [
            [n for r in unit.ratings if (n := getattr(r, name, None)) is not None] for unit in units
        ]
        if any(levels):
            alpha = krippendorff_alpha(levels, level="ordinal")
            row["krippendorff_alpha_levels"] = alpha.to_dict()
        found.append(row)
    return found


def agreement_of_counts(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Compute the agreement on ``int`` and ``ais`` from the size of the majority of five."""
    asked: dict[Question, _Cases] = {"int": [], "ais": []}
    for each in verdicts:
        questions: tuple[tuple[Question, bool | None, int | None], ...] = (
            ("int", each.interpretable, each.agree_int),
            ("ais", each.attributable, each.agree_ais),
        )
        for question, majority, agree in questions:
            if majority is not None:
                given: list[bool] = []
                if agree in MAJORITIES:
                    given = [majority] * agree + [not majority] * (ANNOTATORS - agree)
                asked[question].append((given, majority))
    return [_agreement(question, cases) for question, cases in asked.items()]


def _agreement(question: Question, cases: _Cases) -> dict[str, Any]:
    kept = [(given, truth) for given, truth in cases if len(given) > 1]
    units = [given for given, _ in kept]
    fit = consensus_fit(units, [truth for _, truth in kept])
    figures = {
        "krippendorff_alpha": krippendorff_alpha(units),
        "pairwise_agreement": pairwise_agreement(units),
        "f1_yes": fit.f1.get(True),
        "f1_no": fit.f1.get(False),
        "f1_macro": fit.macro,
        "accuracy": fit.accuracy,
        "unanimous": unanimity(units),
    }
    row = {"question": question, "items": len(kept), "dropped": len(cases) - len(kept)}
    return row | {name: each and each.to_dict() for name, each in figures.items()}


Grouping = Literal["task", "design", "annotator", "system"]


def completion_times(
    ratings: Iterable[Rating], by: Sequence[Grouping] = ("task", "design")
) -> list[dict[str, Any]]:
    """Return the completion times of each group of ratings, in order of appearance.

    `n` ratings have a time. Prefer the median: a few long breaks of annotators raise the mean.
    """
    groups: dict[tuple[str, ...], list[float | None]] = defaultdict(list)
    for rating in ratings:
        groups[tuple(getattr(rating, name) for name in by)].append(rating.seconds)
    found = []
    for key, all_seconds in groups.items():
        seconds = [each for each in all_seconds if each is not None]
        n = len(seconds)
        found.append(
            {
                **{str(name): value for name, value in zip(by, key, strict=True)},
                "n": n,
                "untimed": len(all_seconds) - n,
                "median_seconds": median(seconds) if n else None,
                "mean_seconds": fmean(seconds) if n else None,
                "sd_seconds": stdev(seconds) if n > 1 else None,
                "total_seconds": sum(seconds),
            }
        )
    return found


Judgement = Literal["int", "ais", "int_and_ais"]
JUDGEMENTS: tuple[Judgement, ...] = get_args(Judgement)


def compare_with_experts(
    units: Sequence[RatedUnit], experts: Iterable[RatedUnit]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Compare each design with experts, and the designs of a task with each other.

    The experts' consensus on an output is the truth; their own design does not matter. Flagged
    outputs are left out. ``int_and_ais`` is the final answer of every design: is the output both
    interpretable and fully attributable? For the design that only asks about attribution, it is
    that answer.

    Returns:
        For each task, design and judgement, how often the consensus and ``single`` ratings are
        right; and for each two designs of a task, McNemar's test of their correctness on the same
        outputs.
    """
    truth = {unit.verdict.output_key: unit.verdict for unit in experts}
    groups: dict[str, dict[str, list[RatedUnit]]] = {}
    for unit in units:
        if unit.verdict.output_key in truth:
            designs = groups.setdefault(unit.verdict.task, {})
            designs.setdefault(unit.verdict.design, []).append(unit)
    fits, compared = [], []
    for task, designs in groups.items():
        right: dict[tuple[str, Judgement], dict[object, bool]] = {}
        for design, group in designs.items():
            for judgement in JUDGEMENTS:
                fit, correct = _fit(judgement, group, truth)
                if correct:
                    fits.append({"task": task, "design": design, "judgement": judgement, **fit})
                    right[design, judgement] = correct
        for first, second in combinations(designs, 2):
            for judgement in JUDGEMENTS:
                one, other = right.get((first, judgement), {}), right.get((second, judgement), {})
                if shared := [key for key in one if key in other]:
                    pairs = mcnemar([one[key] for key in shared], [other[key] for key in shared])
                    row = {"task": task, "judgement": judgement, "first": first, "second": second}
                    compared.append({**row, "pairs": pairs.to_dict()})
    return fits, compared


def _fit(
    judgement: Judgement, group: Sequence[RatedUnit], truth: Mapping[tuple[str, str, str], Verdict]
) -> tuple[dict[str, Any], dict[object, bool]]:
    predicted, expected = [], []
    correct: dict[object, bool] = {}
    single: list[tuple[str, float | None]] = []
    for unit in group:
        key = unit.verdict.output_key
        expert = _answer(truth[key], judgement)
        if expert is None:
            continue
        answers = [_answer(rating, judgement) for rating in unit.ratings]
        single += [(repr(key), float(each == expert)) for each in answers if each is not None]
        if (verdict := _answer(unit.verdict, judgement)) is not None:
            predicted.append(verdict)
            expected.append(expert)
            correct[key] = verdict == expert
    fit = {
        "consensus": _rate(sum(correct.values()), len(correct)),
        "single": question_mean(single)._asdict(),
        "f1_macro": consensus_fit([[each] for each in predicted], expected).macro.to_dict(),
        "krippendorff_alpha": krippendorff_alpha(
            list(zip(predicted, expected, strict=True))
        ).to_dict(),
    }
    return fit, correct


def _answer(given: Verdict | Rating, judgement: Judgement) -> bool | None:
    final = judgement == "int_and_ais" and given.design == ATTRIBUTION_ONLY
    return _value(given, "ais" if final else judgement)


COMPARED: tuple[Measure, ...] = ("int", "ais", "int_and_ais")
"""The rates used to compare systems."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a report; the defaults follow the paper. See `compare_systems`.

    Attributes:
        without: systems to leave out.
        first_only: whether to use only the first row of each item and system.
        agreement: whether to compute the agreement of annotators.
        by: groups for completion times, besides the task; ``design`` also compares designs.
    """

    test: SystemTest = "z"
    correct: bool = False
    baseline: str | None = None
    without: tuple[str, ...] = ()
    first_only: bool = False
    agreement: bool = True
    by: tuple[Grouping, ...] = ()


def report(
    files: Sequence[ReleasedFile],
    ratings: Sequence[Rating],
    settings: Settings = Settings(),
    *,
    experts: Sequence[Rating] = (),
) -> dict[str, Any]:
    """Report on released files, each with one task, and on ratings of any tasks and designs.

    ``correctness`` compares each two designs by their agreement with `experts`.
    """
    kept = [rating for rating in ratings if rating.system not in settings.without]
    together = consensus(kept)
    fits, correctness = compare_with_experts(together, consensus(experts))
    units: dict[tuple[str, str], list[RatedUnit]] = {}
    for unit in together:
        units.setdefault((unit.verdict.task, unit.verdict.design), []).append(unit)
    systems = [row.verdict.system for file in files for row in file.rows]
    _check_names([*systems, *(each.system for each in ratings)], settings)
    return {
        "tasks": [
            *(_released(file, settings) for file in files),
            *(_rated(group, settings) for group in units.values()),
        ],
        "designs": compare_designs([unit.verdict for unit in together])
        if "design" in settings.by
        else [],
        "times": completion_times(kept, tuple(dict.fromkeys(("task", *settings.by))))
        if kept
        else [],
        "experts": fits,
        "correctness": correctness,
        "settings": asdict(settings),
    }


def _released(file: ReleasedFile, settings: Settings) -> dict[str, Any]:
    rows = [row for row in file.rows if row.verdict.system not in settings.without]
    verdicts = [row.verdict for row in rows]
    if settings.first_only:
        verdicts = drop_duplicates(verdicts)
    return {
        "task": file.rows[0].verdict.task if file.rows else "",
        "design": "",
        "origin": "released",
        **_rates(verdicts, settings),
        "agreement": agreement_of_counts(verdicts) if settings.agreement else [],
        "data_checks": data_checks(rows),
        "ties": {},
    }


def _rated(units: Sequence[RatedUnit], settings: Settings) -> dict[str, Any]:
    tied = [question for unit in units for question in unit.tied]
    return {
        "task": units[0].verdict.task,
        "design": units[0].verdict.design,
        "origin": "ratings",
        **_rates([unit.verdict for unit in units], settings),
        "agreement": agreement_of_ratings(units) if settings.agreement else [],
        "data_checks": {},
        "ties": {name: tied.count(name) for name in ("int", "ais") if name in tied},
    }


def _rates(verdicts: Sequence[Verdict], settings: Settings) -> dict[str, Any]:
    systems = system_rates(verdicts)
    comparisons = []
    if settings.baseline is None or settings.baseline in {each["system"] for each in systems}:
        chosen: Any = {name: getattr(settings, name) for name in ("baseline", "test", "correct")}
        for measure in COMPARED:
            comparisons += compare_systems(verdicts, measure, **chosen)
    total = rates_of("all", verdicts) if verdicts else None
    return {"systems": systems, "total": total, "comparisons": comparisons}


def _check_names(known: Sequence[str], settings: Settings) -> None:
    """Raise if a system named in the settings does not exist, or its rows are all left out."""
    left = [name for name in known if name not in settings.without]
    baseline = () if settings.baseline is None else (settings.baseline,)
    for names, among in ((settings.without, known), (baseline, left)):
        for name in names:
            if name not in among:
                hint = f"Choose from {', '.join(dict.fromkeys(among))}." if among else None
                raise InputError(f"The system {name!r} has no ratings.", value=name, hint=hint)
