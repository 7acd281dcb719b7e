"""Judging of answers in ``answer --check`` and ``bench --judge``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from semqa.attribution.ais.auto import AnswerCheck
    from semqa.attribution.judges import CachedJudge
    from semqa.quotes import QuotedAnswer

_OPTIONS = ("judge", "judge_cache", "no_judge_cache", "judge_device", "judge_url")


def open_named_judge(
    judge: str | None,
    cache: Path | None,
    *,
    no_cache: bool,
    device: str | None,
    base_url: str | None,
    needs: str,
    typed: Collection[str] = (),
    reads: bool = False,
) -> CachedJudge | None:
    """Open a judge, or return None if none is named.

    Args:
        judge: specification of the judge.
        cache: folder of judgements.
        no_cache: do not cache judgements.
        device: device of the judge's models.
        base_url: address of the judge's endpoint.
        needs: the flag that turns judging on.
        typed: names of the options given on the command line.
        reads: also accept a judge that answers questions but does not judge entailment.
    """
    if judge is None:
        for name in _OPTIONS:
            if name in typed:
                raise InputError(f"needs {needs}.", field=name)
        return None
    from semqa.attribution.judges.base import abilities_of, require_ability
    from semqa.cli.eval.judging import JudgeOptions

    opened = JudgeOptions(judge, cache, no_cache, judge_device=device, judge_url=base_url).open()
    if not (reads and "answer" in abilities_of(opened)):
        require_ability(opened, "entailment")
    return opened


def judge_answer(question: str, answer: QuotedAnswer, judge: CachedJudge) -> AnswerCheck:
    """Judge an answer, and close the judge."""
    from semqa.attribution.ais.auto import CheckInput, check_answers
    from semqa.cli.eval.judging import judge_progress, unparsed_note
    from semqa.cli.output import say

    try:
        with judge_progress(judge, "judging"):
            (check,) = check_answers([CheckInput(question, answer)], judge)
    finally:
        judge.close()
    for note in unparsed_note(judge):
        say(note)
    return check
