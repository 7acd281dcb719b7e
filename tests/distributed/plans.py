"""A plan whose engine takes its time, tells who answers what, and dies where it is told to."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semqa.bench import Plan
from semqa.engines import Engine, create_engine
from semqa.errors import InputError, UnavailableError
from semqa.prompting import PromptBuilder
from semqa.quotes import QuotedAnswer, Source


@dataclass(frozen=True, kw_only=True)
class SlowPlan(Plan):
    """Quotes first sentences, slowly.

    Attributes:
        log: a folder that gets a file for each process that answers, with a line an answer.
        seconds: how long an answer takes.
        deadly: the question that kills the process that is asked it.
        hopeless: the question that cannot be answered.
        away: the question at which what answers is gone.
        unmade: whether the engine cannot be made.
        stillborn: whether the process dies that makes it.
        stuck: the question that the first process that is asked it does not answer for a long time;
            ``stuck`` beside the log holds its number.
    """

    log: Path
    seconds: float = 0.05
    deadly: str = ""
    hopeless: str = ""
    away: str = ""
    unmade: bool = False
    stillborn: bool = False
    stuck: str = ""

    def create_engine(
        self, prompts: PromptBuilder | None = None, say: Callable[[str], None] | None = None
    ) -> Engine:
        del prompts, say
        if self.unmade:
            raise InputError("model: got nothing, expected weights; give another")
        if self.stillborn:
            os.kill(os.getpid(), signal.SIGKILL)
        return _SlowEngine(self)


class _SlowEngine:
    name = "lead-1"

    def __init__(self, plan: SlowPlan) -> None:
        self._plan = plan
        self._engine = create_engine("lead-1")

    def answer(self, question: str, sources: Sequence[Source], history: Any = ()) -> QuotedAnswer:
        plan = self._plan
        with (plan.log / str(os.getpid())).open("a", encoding="utf-8") as log:
            log.write(question + "\n")
        time.sleep(plan.seconds)
        if question == plan.stuck:
            with suppress(FileExistsError), plan.log.with_name("stuck").open("x") as file:
                file.write(str(os.getpid()))
                file.flush()
                time.sleep(120)
        if question == plan.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        if question == plan.hopeless:
            raise InputError("the question: got no hope, expected some; ask another")
        if question == plan.away:
            raise UnavailableError("the endpoint: got silence, expected an answer; wait")
        return self._engine.answer(question, sources)
