"""AttrScore's scores: F1 of each label, micro and macro F1, and unparsed outputs.

The paper's overall score is the accuracy over all examples, where an unparsed output is wrong;
here, it is ``micro_f1``. The released code (`official_scores`) leaves unparsed outputs out, and
returns NaN for a class that is never predicted.

Source: Yue et al. 2023, metrics.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from semqa.attribution.attrscore.examples import LABELS, Label
from semqa.metrics.statistics import percentile_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NO_EXAMPLES = "no labelled examples"


def score_labels(
    true: Sequence[Label],
    predicted: Sequence[Label | None],
    *,
    resamples: int = 1_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Score predicted labels; None is an unparsed output.

    Scores are in [0, 1]: ``micro_f1``, the accuracy over all examples, which is the paper's overall
    score; ``macro_f1``, the mean F1 of labels with a defined F1; ``micro_f1_labels``, the
    micro-average over the three labels, where an unparsed output is a false negative of its label
    but not a false positive; and ``parsed_accuracy``, the accuracy over parsed outputs. ``intervals``
    are 95% bootstrap intervals; ``unscored`` has the reason for each score that is None.

    Example:
        >>> scores = score_labels(["Attributable", "Contradictory"], ["Attributable", None])
        >>> scores["micro_f1"], scores["parsed_accuracy"], scores["labels"]["Contradictory"]["f1"]
        (0.5, 1.0, 0.0)
    """
    confusion = _confusion(true, predicted)
    labels = {label: _label_scores(confusion, i) for i, label in enumerate(LABELS)}
    unparsed = sum(row[-1] for row in confusion)
    hits = sum(confusion[i][i] for i in range(len(LABELS)))
    f1s = [each["f1"] for each in labels.values() if each["f1"] is not None]
    n = sum(map(sum, confusion))
    parsed = n - unparsed
    unscored = {}
    if not n:
        unscored = dict.fromkeys(("micro_f1", "macro_f1", "micro_f1_labels"), _NO_EXAMPLES)
    if not parsed:
        unscored["parsed_accuracy"] = "no output was parsed" if n else _NO_EXAMPLES
    return {
        "n": n,
        "unparsed": unparsed,
        "micro_f1": hits / n if n else None,
        "macro_f1": sum(f1s) / len(f1s) if f1s else None,
        "micro_f1_labels": 2 * hits / (n + parsed) if n else None,
        "parsed_accuracy": hits / parsed if parsed else None,
        "labels": labels,
        "confusion": {
            "rows": list(LABELS),
            "columns": [*LABELS, "unparsed"],
            "counts": [list(row) for row in confusion],
        },
        "intervals": _intervals(confusion, resamples, seed) if n and resamples else {},
        "unscored": unscored,
    }


def score_by_domain(
    rows: Sequence[tuple[str, Label, Label | None]], *, resamples: int = 1_000, seed: int = 0
) -> dict[str, dict[str, Any]]:
    """Score rows of domain, true label and predicted label by domain; see `score_labels`.

    Fewer than two domains have no scores.
    """
    domains: dict[str, list[tuple[Label, Label | None]]] = {}
    for domain, gold, guess in rows:
        domains.setdefault(domain, []).append((gold, guess))
    if len(domains) < 2:
        return {}
    return {
        domain: score_labels(
            [g for g, _ in own], [p for _, p in own], resamples=resamples, seed=seed
        )
        for domain, own in domains.items()
    }


def f1_rows(scores: Mapping[str, Mapping[str, Any]], missing: str) -> list[list[str]]:
    """Return table rows: name, n, F1 of each label, micro and macro F1 in percent."""

    def percent(value: float | None) -> str:
        return missing if value is None else f"{100 * value:.1f}"

    return [
        [
            name or "–",
            str(own["n"]),
            *(percent(own["labels"][label]["f1"]) for label in LABELS),
            percent(own["micro_f1"]),
            percent(own["macro_f1"]),
        ]
        for name, own in scores.items()
    ]


def mean_scores(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Average ``micro_f1``, ``macro_f1`` and ``f1 LABEL`` over several prompts, as in the paper."""

    def mean(values: list[Any]) -> float | None:
        return None if None in values else fmean(values)

    found = {name: mean([each[name] for each in scores]) for name in ("micro_f1", "macro_f1")}
    return found | {
        f"f1 {label}": mean([each["labels"][label]["f1"] for each in scores]) for label in LABELS
    }


def _confusion(
    true: Sequence[Label], predicted: Sequence[Label | None]
) -> tuple[tuple[int, ...], ...]:
    """Return the confusion matrix: true labels by predicted labels, unparsed ones last."""
    counts = Counter(zip(true, predicted, strict=True))
    return tuple(tuple(counts[gold, guess] for guess in (*LABELS, None)) for gold in LABELS)


def official_scores(pairs: Sequence[tuple[Label, Label | None]]) -> dict[str, Any]:
    """Score pairs of true and predicted labels as the released code does; None is unparsed.

    Unparsed outputs are left out: ``micro_f1`` is the accuracy over parsed outputs, unlike in the
    paper. NaN, from a division by zero, becomes None and is listed in ``nan``.
    """
    table = _confusion([gold for gold, _ in pairs], [guess for _, guess in pairs])
    confusion = [list(row[:-1]) for row in table]
    hits = [row[i] for i, row in enumerate(confusion)]
    precision = list(map(_ratio, hits, map(sum, zip(*confusion, strict=True))))
    recall = list(map(_ratio, hits, map(sum, confusion)))
    f1 = [_ratio(2 * p * r, p + r) for p, r in zip(precision, recall, strict=True)]
    values = {
        "micro_f1": _ratio(sum(hits), sum(map(sum, confusion))),
        "macro_f1": sum(f1) / len(f1),
    }
    for name, figures in (("f1", f1), ("precision", precision), ("recall", recall)):
        values |= {f"{name} {label}": v for label, v in zip(LABELS, figures, strict=True)}
    return {
        **{name: None if math.isnan(value) else value for name, value in values.items()},
        "nan": [name for name, value in values.items() if math.isnan(value)],
        "unparsed": sum(row[-1] for row in table),
        "confusion": confusion,
    }


def _ratio(part: float, whole: float) -> float:
    """Divide; return NaN for 0/0, or if an operand is NaN."""
    return part / whole if whole else math.nan


def _label_scores(confusion: Sequence[Sequence[int]], i: int) -> dict[str, Any]:
    hits, n = confusion[i][i], sum(confusion[i])
    predicted = sum(row[i] for row in confusion)
    unscored = {}
    if not predicted:
        unscored["precision"] = "this label is never predicted"
    if not n:
        unscored["recall"] = "no example has this label"
    if not n and not predicted:
        unscored["f1"] = "no example has this label, and it is never predicted"
    return {
        "precision": hits / predicted if predicted else None,
        "recall": hits / n if n else None,
        "f1": 2 * hits / (n + predicted) if n + predicted else None,
        "n": n,
        "predicted": predicted,
        "unscored": unscored,
    }


def _intervals(
    confusion: Sequence[Sequence[int]], resamples: int, seed: int
) -> dict[str, list[float]]:
    """Return percentile intervals; resampling examples is resampling the cells of the table."""
    import numpy as np

    cells = np.array(confusion, dtype=np.int64)
    total = int(cells.sum())
    draws = np.random.default_rng(seed).multinomial(total, cells.ravel() / total, size=resamples)
    tables: NDArray[np.int64] = draws.reshape(resamples, *cells.shape)
    size = len(LABELS)
    hits = np.einsum("rii->ri", tables[:, :, :size])
    weight = tables.sum(axis=2) + tables[:, :, :size].sum(axis=1)
    f1 = np.where(weight > 0, 2 * hits / np.maximum(weight, 1), np.nan)
    scored = (weight > 0).sum(axis=1)
    values: dict[str, NDArray[np.float64]] = {
        "micro_f1": hits.sum(axis=1) / total,
        "macro_f1": np.where(weight > 0, f1, 0).sum(axis=1) / np.maximum(scored, 1),
        **{label: f1[:, i] for i, label in enumerate(LABELS)},
    }
    defined = {name: drawn[~np.isnan(drawn)] for name, drawn in values.items()}
    return {name: list(percentile_interval(d)) for name, d in defined.items() if len(d)}
