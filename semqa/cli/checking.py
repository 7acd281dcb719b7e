"""Judging of answers in ``answer --check`` and ``bench --judge``."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

    from semqa.attribution.ais.auto import AnswerCheck
    from semqa.attribution.judges import CachedJudge
    from semqa.cli.eval.judging import JudgeOptions
    from semqa.quotes import QuotedAnswer


def open_named_judge(
    options: JudgeOptions,
    *,
    named: bool,
    needs: str,
    typed: Collection[str] = (),
    reads: bool = False,
) -> CachedJudge | None:
    """Open a judge, or return None if none is named.

    Args:
        options: the judge's options.
        named: whether to use a judge.
        needs: the flag that turns judging on.
        typed: names of the options given on the command line.
        reads: also accept a judge that answers questions but does not judge entailment.
    """
    if not named:
        for each in fields(options):
            if each.name in typed:
                raise InputError(f"needs {needs}.", field=each.name)
        return None
    from semqa.attribution.judges.base import abilities_of, require_ability

    opened = options.open()
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
