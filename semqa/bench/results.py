"""The results of a run: scores with intervals, quoting statistics, versions and machine."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean, median, quantiles

from semqa.attribution.records import versions
from semqa.bench.plan import Item
from semqa.bench.record import ModelCall, Record
from semqa.metrics import Example, ExampleScores, leave_one_out, score_example, summarise
from semqa.quotes import Verdict

RESAMPLES, SEED = 1_000, 0
"""Bootstrap settings for the intervals of all runs and reports."""

SHOWN_FAILURES = 3
"""Number of distinct errors listed in the results; the rows have all of them."""


def score_item(item: Item, prediction: str) -> ExampleScores:
    """Score one prediction against the references of its item.

    In the human row, the left-out reference is scored and `prediction` is ignored.
    """
    question = item.question
    if item.left_out is not None:
        rows = leave_one_out(question.qid, question.texts, question.short_answers, question.numbers)
        return rows[item.left_out]
    return score_example(
        Example(
            qid=question.qid,
            prediction=prediction,
            references=question.texts,
            short_answers=question.short_answers,
            present=question.numbers,
        )
    )


def make_results(
    items: Sequence[Item],
    records: Sequence[Record],
    identity: Mapping[str, object],
) -> dict[str, object]:
    """Compute the results of a finished run, with scores recomputed from the predictions.

    A failed example is scored as an empty answer and excluded from all other statistics.
    """
    pairs = zip(items, records, strict=True)
    scores = [score_item(item, record.prediction) for item, record in pairs]
    answered = [record for record in records if record.error is None]
    calls = [record.call for record in answered if record.call is not None]
    return {
        "results": summarise(scores, resamples=RESAMPLES, seed=SEED).to_dict(),
        "answered": len(answered),
        "failed": len(records) - len(answered),
        "failures": _failures(records),
        "quoting": _quoting(answered),
        "exemplars": _exemplars([len(each.exemplars) for each in calls], identity),
        "tokens": _tokens(calls),
        "constraint": _constraint(calls),
        "seconds": _seconds([record.seconds for record in answered]),
        "throughput": _throughput(answered),
        "config": dict(identity),
        "versions": versions("numpy", "rapidfuzz"),
        "machine": describe_machine(),
    }


def _failures(records: Sequence[Record]) -> list[dict[str, object]]:
    """Return the first `SHOWN_FAILURES` distinct errors, each with its first example."""
    first: dict[str, str] = {}
    for record in records:
        if record.error is not None:
            first.setdefault(record.error, record.id)
    return [{"id": key, "error": error} for error, key in list(first.items())[:SHOWN_FAILURES]]


def _exemplars(counts: Sequence[int], identity: Mapping[str, object]) -> dict[str, object] | None:
    """Return how many exemplars were requested and how many the prompts had."""
    prompts = identity.get("prompts")
    if not isinstance(prompts, dict):
        return None
    asked = prompts["shots"]
    up_to = bool((prompts["exemplars"] or {}).get("up_to"))
    shown = {"fewest": min(counts), "most": max(counts), "mean": fmean(counts)} if counts else {}
    fewer = sum(count < asked for count in counts)
    return {"asked": asked, "up_to": up_to, **shown, "prompts_with_fewer": fewer}


def _tokens(calls: Sequence[ModelCall]) -> dict[str, object] | None:
    """Return prompt and output token counts, if the engine reports them."""
    read = [each.prompt_tokens for each in calls if each.prompt_tokens is not None]
    wrote = [each.new_tokens for each in calls if each.new_tokens is not None]
    if not (read and wrote):
        return None
    return {
        "prompt_mean": fmean(read),
        "prompt_most": max(read),
        "new_mean": fmean(wrote),
        "new_most": max(wrote),
        "cut_off": sum(each.finished is False for each in calls),
    }


def _constraint(calls: Sequence[ModelCall]) -> dict[str, object] | None:
    """Return how quotes were constrained and how well, if the engine reports it."""
    reported = [each for each in calls if each.constraint is not None]
    if not reported:
        return None
    return {
        "ways": dict(Counter(str(each.constraint) for each in reported)),
        "breaches": sum(each.breach is not None for each in reported),
        "repaired_quotes": sum(each.repaired or 0 for each in reported),
        "dropped_marks": sum(each.dropped or 0 for each in reported),
    }


def _throughput(records: Sequence[Record]) -> dict[str, float] | None:
    """Return answers and tokens per second, not counting the time between batches."""
    seconds = sum(record.seconds for record in records)
    if not seconds:
        return None
    found = {"answers_per_second": len(records) / seconds}
    wrote = [record.call.new_tokens for record in records if record.call is not None]
    if wrote and all(count is not None for count in wrote):
        found["new_tokens_per_second"] = sum(filter(None, wrote)) / seconds
    return found


def _quoting(records: Sequence[Record]) -> dict[str, object]:
    if not records:
        return {}
    statuses: Counter[str] = Counter()
    for record in records:
        statuses.update(record.quotes)
    words = sum(record.words for record in records)
    free = sum(record.free_words for record in records)
    verdicts = Counter(record.verdict for record in records)
    return {
        "verdicts": {verdict.value: verdicts[verdict] for verdict in Verdict},
        "statuses": dict(statuses),
        "quotes_per_answer": statuses.total() / len(records),
        "words_per_answer": words / len(records),
        "share_quoted": 1 - free / words if words else None,
        "sources_quoted_per_answer": fmean(record.sources_quoted for record in records),
    }


def _seconds(seconds: Sequence[float]) -> dict[str, float]:
    if not seconds:
        return {}
    p99 = quantiles(seconds, n=100, method="inclusive")[98] if len(seconds) > 1 else seconds[0]
    return {"total": sum(seconds), "p50": median(seconds), "p99": p99, "max": max(seconds)}


def describe_machine() -> dict[str, object]:
    """Return system, Python, processor, memory and GPUs of this machine, ready for JSON.

    GPUs are included only if torch is already imported.
    """
    found: dict[str, object] = {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
    }
    with suppress(AttributeError, OSError, ValueError):  # not on every system
        found["memory_bytes"] = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        found["gpus"] = [
            torch.cuda.get_device_name(place) for place in range(torch.cuda.device_count())
        ]
        found["cuda"] = torch.version.cuda
    return found


def _processor() -> str:
    with suppress(OSError, UnicodeDecodeError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
