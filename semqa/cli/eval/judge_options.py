"""The options of `judging`, taken together by commands that ask a judge."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa.cli.eval import judging

if TYPE_CHECKING:
    from collections.abc import Callable

    from semqa.attribution.judges import CachedJudge

__all__ = ["JudgeOptions", "takes_judge_options"]


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """What was said of the judge on the command line.

    Attributes:
        judge: its specification.
        judge_cache: folder of its judgements.
        no_judge_cache: whether to keep none.
        judge_device: where its models run.
        judge_dtype: of their weights.
        judge_batch: inputs judged together.
        judge_url: the endpoint of an openai engine.
    """

    judge: str = "lexical"
    judge_cache: Path | None = None
    no_judge_cache: bool = False
    judge_device: str | None = None
    judge_dtype: str | None = None
    judge_batch: int | None = None
    judge_url: str | None = None

    def open(
        self,
        prompt: str | None = None,
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> CachedJudge:
        """Create the judge; see `judging.open_judge`."""
        return judging.open_judge(
            self.judge,
            self.judge_cache,
            no_cache=self.no_judge_cache,
            device=self.judge_device,
            dtype=self.judge_dtype,
            batch_size=self.judge_batch,
            base_url=self.judge_url,
            prompt=prompt,
            temperature=temperature,
            seed=seed,
        )


_TYPES = {
    "judge": judging.JudgeName,
    "judge_cache": judging.JudgeCache,
    "no_judge_cache": judging.NoJudgeCache,
    "judge_device": judging.JudgeDevice,
    "judge_dtype": judging.JudgeDtype,
    "judge_batch": judging.JudgeBatch,
    "judge_url": judging.JudgeUrl,
}


def takes_judge_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command every option of `JudgeOptions`; it gets them as ``asking``, by name."""

    def run(**values: Any) -> None:
        own = {field.name: values.pop(field.name) for field in fields(JudgeOptions)}
        command(asking=JudgeOptions(**own), **values)

    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(f.name, keyword, default=f.default, annotation=_TYPES[f.name])
        for f in fields(JudgeOptions)
    ]
    signature = inspect.signature(command, eval_str=True)
    kept = [p for p in signature.parameters.values() if p.name != "asking"]
    parameters = [*(p.replace(kind=keyword) for p in kept), *added]
    made: Any = run
    made.__signature__ = signature.replace(parameters=parameters)
    made.__annotations__ = {p.name: p.annotation for p in parameters}
    made.__doc__ = command.__doc__
    return run
