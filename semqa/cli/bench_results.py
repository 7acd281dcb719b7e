"""The results of a benchmark's run, for people: tables, and what is to be known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.cli.eval.judging import count_note
from semqa.cli.output import write_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["exemplars_told", "show_results"]

NOT_SCORED = "not scored: give the command again with --rescore"


def show_results(results: Mapping[str, Any]) -> None:
    """Print the results of a run: its scores, and in words what they rest on."""
    from semqa.cli.tables import judged_table, print_tables, scores_table, unscored_notes

    scores = results["results"]
    if scores is not None:
        print_tables(scores_table(scores))
    if "judged" in results:
        print_tables(judged_table(results["judged"]))
    for line in (
        *(_judged(results["judged"]) if "judged" in results else ()),
        *([] if scores is None else unscored_notes(scores)),
        *([NOT_SCORED] if scores is None else []),
        *_failed(results),
        *exemplars_told(results["exemplars"]),
        *_written(results),
    ):
        write_result(line)


def _judged(judged: Mapping[str, Any]) -> Iterator[str]:
    """Say what the judge could not do: it counts against the answers."""
    yield from count_note(judged["unparsed"], "neutral, or as no answer")
    if count := max(judged["too_long"], judged.get("auto_ais", judged)["too_long"]):
        yield f"too long for the judge: {count}, which count as not supported, or as no answer"
    for reason, count in judged.get("disambig_f1", {}).get("unscored", {}).items():
        yield f"no Disambig-F1: {count} ({reason})"


def _failed(results: Mapping[str, Any]) -> Iterator[str]:
    """Say what failed: a score with empty answers in it must not pass for one of a model."""
    failed, answered = results["failed"], results["answered"]
    if not failed:
        return
    yield (
        f"failed: {failed} of {failed + answered} examples, which are scored as empty answers; "
        "to try them again, give the same command with --retry-failed"
    )
    for failure in results["failures"]:
        yield f"  {failure['id']}: {failure['error']}"


def exemplars_told(found: Mapping[str, Any] | None) -> Iterator[str]:
    """Say how many exemplars the prompts had, which may be fewer than were asked for.

    Args:
        found: what the results of a run have under ``exemplars``.
    """
    if found is None or not found["asked"] or "mean" not in found:
        return
    fewest, most = found["fewest"], found["most"]
    asked = f"{'up to ' if found['up_to'] else ''}{found['asked']} asked"
    if most == 0:
        yield f"exemplars: {asked}, none fit: these are the scores of 0 shots"
    elif fewest < most:
        yield f"exemplars: {asked}, {fewest} to {most} in a prompt, mean {found['mean']:.1f}"
    elif most < found["asked"]:
        yield f"exemplars: {asked}, {most} in every prompt"
    else:
        yield f"exemplars: {most} in every prompt"


def _written(results: Mapping[str, Any]) -> Iterator[str]:
    quoting, seconds, tokens = results["quoting"], results["seconds"], results["tokens"]
    if not quoting:
        return
    statuses = quoting["statuses"].items()
    counted = ", ".join(f"{count} {status}" for status, count in statuses if count)
    yield (
        f"{quoting['quotes_per_answer']:.1f} quotes and {quoting['words_per_answer']:.0f} words an "
        f"answer; quotes: {counted or 'none'}; {seconds['p50'] * 1000:.1f} ms an answer (median)"
    )
    verdicts = [f"{n} {name}" for name, n in quoting.get("verdicts", {}).items() if n]
    if verdicts:
        yield f"answers: {', '.join(verdicts)}"
    throughput, constraint = results["throughput"], results["constraint"]
    if tokens is not None and throughput is not None:
        rates = [f"{throughput['answers_per_second']:.2f} answers a second"]
        if "new_tokens_per_second" in throughput:
            rates.append(f"{throughput['new_tokens_per_second']:.0f} tokens a second")
        yield f"throughput: {', '.join(rates)}"
    if constraint is not None:
        ways = ", ".join(f"{count} by {way}" for way, count in constraint["ways"].items())
        told = [
            f"{constraint[name]} {said}"
            for name, said in (
                ("breaches", "broke a rule"),
                ("repaired_quotes", "quotes were repaired"),
                ("dropped_marks", "marks lost their brackets"),
            )
            if constraint[name]
        ]
        yield "; ".join([f"constraint: {ways}", *told])
    if tokens is not None and tokens["cut_off"]:
        yield f"cut off by the budget of tokens: {tokens['cut_off']} of {results['answered']} answers"
