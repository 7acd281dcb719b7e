"""Does a measure see what people saw? Each response on its own, and systems as wholes.

Source: Honovich et al. 2021. *Response level*: a score above a threshold predicts that the response is
consistent; one at it or below, that it is not. *System level*, after Graham and Liu 2016: systems are
simulated, each answering the same sampled contexts, with an inconsistent response in a known share of
them; a good measure ranks them by that share.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semqa.data.files import write_atomic
from semqa.errors import InputError
from semqa.extras import require
from semqa.metrics.agreement import at_threshold, precision_recall, ranking, spearman_rows
from semqa.metrics.statistics import percentile_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from semqa.attribution.q2.responses import Response
    from semqa.metrics.agreement import AtThreshold, Detection, PrecisionRecall, Ranking


_SHOWN = {
    "q2": "Q²",
    "q2_no_nli": "Q² without NLI",
    "overlap": "overlap",
    "words": "overlap of all words",
    "bleu": "BLEU",
    "bertscore": "BERTScore",
    "nli": "end-to-end NLI",
}


def shown_name(measure: str) -> str:
    """Return a measure's name for a table or a picture; a user's own is its own name.

    Example:
        >>> shown_name("q2"), shown_name("mine")
        ('Q²', 'mine')
    """
    return _SHOWN.get(measure, measure)


THRESHOLD = 0.5
_DIGITS = 9


class Judged(NamedTuple):
    """A response with the scores that measures gave it; None if one is unscored."""

    response: Response
    scores: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Level:
    """One measure against the labels of responses.

    Attributes:
        measure: its name.
        n: responses with a label and a score.
        unscored: responses with a label and none.
        at: what each threshold decides; the positives are the consistent responses.
        ranking: areas under the curves; likewise.
        consistent: the curve of detecting consistent responses by high scores; None if there
            are none.
        inconsistent: the curve of detecting inconsistent ones by low scores; its thresholds are
            those of ``1 - score``.
    """

    measure: str
    n: int
    unscored: int
    at: tuple[AtThreshold, ...]
    ranking: Ranking
    consistent: PrecisionRecall | None
    inconsistent: PrecisionRecall | None

    def to_dict(self, *, curves: bool = False) -> dict[str, Any]:
        """Return the figures for JSON.

        Args:
            curves: with all points of the two curves.
        """
        row: dict[str, Any] = {
            "n": self.n,
            "unscored": self.unscored,
            **_decided(self.at[0]),
            "roc_auc": self.ranking.roc_auc.value,
            "average_precision_consistent": self.ranking.average_precision.value,
            "average_precision_inconsistent": self.ranking.average_precision_negative.value,
        }
        if len(self.at) > 1:
            row["thresholds"] = [_decided(at) for at in self.at]
        if curves:
            row["curves"] = {
                name: None
                if curve is None
                else {part: getattr(curve, part).tolist() for part in curve._fields}
                for name, curve in (
                    ("consistent", self.consistent),
                    ("inconsistent", self.inconsistent),
                )
            }
        return row


@dataclass(frozen=True, slots=True)
class Simulation:
    """How systems are made up.

    Attributes:
        rates: the share of inconsistent responses of each, in [0, 1].
        size: contexts that each answers, sampled with replacement; all answer the same.
        iterations: how often they are simulated.
        seed: random seed.
        official: draw as the released code does (pandas and numpy's global generator), so that
            a seed gives its figures; the default draws from a generator of its own.
    """

    rates: tuple[float, ...] = (0.05, 0.1, 0.15, 0.2, 0.25)
    size: int = 350
    iterations: int = 1000
    seed: int = 0
    official: bool = False

    def __post_init__(self) -> None:
        if self.size < 1 or self.iterations < 1 or self.seed < 0:
            raise InputError(
                f"Simulated systems need a size and iterations of at least 1 and a seed of at least 0, got {self.size}, {self.iterations} and {self.seed}."
            )
        if len(set(self.rates)) < 2 or not all(0 <= rate <= 1 for rate in self.rates):
            raise InputError(
                f"needs two different shares or more, each from 0 to 1, got {', '.join(map(str, self.rates)) or 'none'}.",
                field="--rate",
                value=self.rates,
            )

    @property
    def inconsistent(self) -> tuple[int, ...]:
        """Inconsistent responses of each system; a half is rounded to the even neighbour."""
        return tuple(round(rate * self.size) for rate in self.rates)


@dataclass(frozen=True, slots=True)
class SystemLevel:
    """How one measure ranks simulated systems: Spearman's correlation with their true order.

    Attributes:
        measure: its name.
        contexts: that have one consistent and one inconsistent response, both scored.
        mean: over iterations; None if no iteration has a correlation.
        interval: from the 2.5th to the 97.5th percentile; None likewise.
        unscored: iterations whose systems all scored the same.
        gap: mean score of the consistent responses minus that of the inconsistent ones.
    """

    measure: str
    contexts: int
    mean: float | None
    interval: tuple[float, float] | None
    unscored: int
    gap: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "contexts": self.contexts,
            "spearman": self.mean,
            "interval": None if self.interval is None else list(self.interval),
            "unscored": self.unscored,
            "gap": self.gap,
        }


@dataclass(slots=True)
class _Context:
    consistent: list[Judged] = field(default_factory=list)
    inconsistent: list[Judged] = field(default_factory=list)


def response_level(judged: Iterable[Judged], measure: str, *thresholds: float) -> Level | None:
    """Compare one measure with the labels.

    BLEU is divided by 100 before the threshold is compared, and BERTScore is spread over [0, 1] by
    its smallest and largest value, as the paper does.

    Args:
        judged: the responses; those without a label do not count.
        measure: the name of the scores.
        thresholds: to decide by; 0.5 if there is none.

    Returns:
        None if no response has both a label and a score.
    """
    labelled = [each for each in judged if each.response.inconsistent is not None]
    pairs = [
        (score, not each.response.inconsistent)
        for each in labelled
        if (score := each.scores.get(measure)) is not None
    ]
    if not pairs:
        return None
    scores = _unit([score for score, _ in pairs], measure)
    labels = [label for _, label in pairs]
    # Scores that are equal but for the order of their sums must tie.
    ranked = [round(score, _DIGITS) for score in scores]
    turned = [round(1 - score, _DIGITS) for score in scores]
    return Level(
        measure,
        len(pairs),
        len(labelled) - len(pairs),
        tuple(at_threshold(scores, labels, each) for each in thresholds or (THRESHOLD,)),
        ranking(ranked, labels),
        precision_recall(ranked, labels),
        precision_recall(turned, [not label for label in labels]),
    )


def contexts_of(judged: Iterable[Judged], measure: str) -> list[tuple[float, float]]:
    """Return the scores of the contexts that can stand in for either kind of response.

    A context counts where people found one response consistent and another not; of several of a
    kind the first that is scored is taken.

    Returns:
        (consistent, inconsistent) score of each context, in the order of the file.
    """
    found: dict[str, _Context] = {}
    for each in judged:
        response = each.response
        if response.context is None or response.inconsistent is None:
            continue
        if each.scores.get(measure) is None:
            continue
        context = found.setdefault(response.context, _Context())
        (context.inconsistent if response.inconsistent else context.consistent).append(each)
    return [
        (_score(context.consistent[0], measure), _score(context.inconsistent[0], measure))
        for context in found.values()
        if context.consistent and context.inconsistent
    ]


def system_level(
    contexts: Sequence[tuple[float, float]], measure: str, simulation: Simulation | None = None
) -> SystemLevel | None:
    """Rank simulated systems by one measure.

    Args:
        contexts: the scores of `contexts_of`.
        measure: their name.
        simulation: how systems are made up.

    Returns:
        None without a context.
    """
    if not contexts:
        return None
    simulation = simulation or Simulation()
    scores = np.asarray(contexts, dtype=np.float64)  # [contexts, 2]
    worse = scores[:, 0] - scores[:, 1]
    means = np.empty((simulation.iterations, len(simulation.rates)))
    for row, (drawn, replaced) in enumerate(_draws(len(scores), simulation)):
        whole, loss = scores[drawn, 0].sum(), worse[drawn]
        for column, places in enumerate(replaced):
            means[row, column] = (whole - loss[places].sum()) / simulation.size
    found = spearman_rows(means, [-rate for rate in simulation.rates])
    known = [correlation for correlation in found if correlation is not None]
    return SystemLevel(
        measure,
        len(scores),
        float(np.mean(known)) if known else None,
        percentile_interval(known) if known else None,
        len(found) - len(known),
        float(scores[:, 0].mean() - scores[:, 1].mean()),
    )


def annotation_counts(judged: Iterable[Judged]) -> dict[str, Any]:
    """Return what people found in contexts that several systems respond to.

    Returns:
        ``contexts``; ``inconsistent`` (system to number); ``exactly_one``, ``both`` (all of several)
        and ``none``: how many contexts have so many inconsistent responses.
    """
    labels: dict[str, list[bool]] = {}
    systems: dict[str, int] = {}
    for each in judged:
        response = each.response
        if response.context is None or response.inconsistent is None:
            continue
        labels.setdefault(response.context, []).append(response.inconsistent)
        name = response.system or ""
        systems[name] = systems.get(name, 0) + response.inconsistent
    return {
        "contexts": len(labels),
        "inconsistent": systems,
        "exactly_one": sum(found.count(True) == 1 for found in labels.values()),
        "both": sum(all(found) for found in labels.values()),
        "none": sum(not any(found) for found in labels.values()),
    }


def _draws(
    contexts: int, simulation: Simulation
) -> Iterator[tuple[NDArray[np.int64], list[NDArray[np.int64]]]]:
    """Yield the contexts of each iteration, and the places that each system gets wrong."""
    size, counts = simulation.size, simulation.inconsistent
    if simulation.official:
        # The old generator, seeded as numpy's global one is, without touching it.
        old = np.random.RandomState(simulation.seed)
        for _ in range(simulation.iterations):
            drawn = old.choice(contexts, size=size, replace=True)
            yield drawn, [old.choice(size, size=count, replace=False) for count in counts]
        return
    new = np.random.default_rng(simulation.seed)
    for _ in range(simulation.iterations):
        drawn = new.integers(contexts, size=size)
        yield drawn, [new.choice(size, size=count, replace=False) for count in counts]


def _unit(scores: Sequence[float], measure: str) -> list[float]:
    if measure == "bleu":
        return [score / 100 for score in scores]
    if measure == "bertscore":
        low = min(scores)
        spread = max(score - low for score in scores)
        return [(score - low) / spread if spread else 0.0 for score in scores]
    return list(scores)


def _score(judged: Judged, measure: str) -> float:
    score = judged.scores[measure]
    assert score is not None  # noqa: S101  (the caller left the others out)
    return score


def _decided(at: AtThreshold) -> dict[str, Any]:
    return {
        "threshold": at.threshold,
        "accuracy": at.accuracy,
        "consistent": _shown(at.positive),
        "inconsistent": _shown(at.negative),
        "confusion": {
            "inconsistent_as_inconsistent": at.true_negatives,
            "inconsistent_as_consistent": at.false_positives,
            "consistent_as_inconsistent": at.false_negatives,
            "consistent_as_consistent": at.true_positives,
        },
    }


def _shown(detection: Detection) -> dict[str, float | None]:
    return {name: getattr(detection, name).value for name in detection._fields}


FORMATS = ("svg", "png", "pdf")


def plot_levels(levels: Sequence[Level], path: Path) -> None:
    """Write a picture with four panels: two curves, and precision and recall by threshold.

    Left, detecting inconsistent responses by low scores; right, consistent ones by high scores. The
    same figures give the same bytes.

    Args:
        levels: one measure each.
        path: its ending says the format, one of `FORMATS`.

    Raises:
        InputError: there is nothing to draw, the format is unknown, or the file cannot be written.
        MissingExtraError: matplotlib is not installed.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError(
            f"must end in .{', .'.join(FORMATS)}, got {path.name!r}.", field="--plot", value=path
        )
    if not levels:
        raise InputError(
            "has nothing to draw: no response has both a label and a score.", field="--plot"
        )
    figures = require("matplotlib.figure", extra="eval", purpose="--plot")
    settings = require("matplotlib", extra="eval", purpose="--plot")
    stream = io.BytesIO()
    with settings.rc_context({"svg.hashsalt": "semqa", "svg.fonttype": "path"}):
        figure = figures.Figure(figsize=(11, 8), layout="constrained")
        panels = figure.subplots(2, 2)
        for column, what in enumerate(("inconsistent", "consistent")):
            _curves(panels[0][column], levels, what)
            _by_threshold(panels[1][column], levels, what)
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
        figure.savefig(stream, format=kind, dpi=150, metadata=metadata)
    write_atomic(path, [stream.getvalue()])


def _curve(level: Level, what: str) -> PrecisionRecall | None:
    curve: PrecisionRecall | None = getattr(level, what)
    return curve


def _curves(axes: Any, levels: Sequence[Level], what: str) -> None:
    for level in levels:
        if (curve := _curve(level, what)) is not None:
            axes.step(curve.recall, curve.precision, where="post", label=shown_name(level.measure))
    axes.set(
        title=f"Detecting {what} responses",
        xlabel="recall",
        ylabel="precision",
        xlim=(0, 1.01),
        ylim=(0, 1.01),
    )
    axes.grid(visible=True, alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower left")


def _by_threshold(axes: Any, levels: Sequence[Level], what: str) -> None:
    """Draw steps: between two scores no decision changes."""
    low = what == "inconsistent"
    for place, level in enumerate(levels):
        if (curve := _curve(level, what)) is None:
            continue
        at = 1 - curve.thresholds if low else curve.thresholds
        for values, style in ((curve.precision, "-"), (curve.recall, "--")):
            # In rising order: at or below a threshold, what lies between it and the next one up
            # is decided as at it; at or above, as at the next one.
            points = (at[::-1], values[-2::-1]) if low else (at, values[:-1])
            side = "post" if low else "pre"
            axes.step(*points, where=side, color=f"C{place % 10}", linestyle=style)
    rule = "score at most" if low else "score at least"
    axes.set(
        title="precision (solid) and recall (dashed)",
        xlabel=f"threshold: {rule}",
        xlim=(-0.01, 1.01),
        ylim=(0, 1.01),
    )
    axes.grid(visible=True, alpha=0.3)
