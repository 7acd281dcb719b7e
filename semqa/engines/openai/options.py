"""The settings of the engine: which constraint to ask an endpoint for, and how long to wait for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from semqa.checks import check_range, check_whole
from semqa.engines.model.options import AnswerOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIOptions(AnswerOptions):
    """All settings of an `OpenAIEngine`, besides those of `AnswerOptions`.

    Attributes:
        batch_size: how many requests are under way at once.
        constraint: ``processor``, ``grammar``, ``pointing`` or ``repair``; ``auto`` (or ``on``) takes
            the first of these that the endpoint offers; ``off``.
        timeout: seconds until an answer must be there, all tries together.
        connect_timeout: seconds until a connection must stand.
        read_timeout: seconds of silence on a connection before it counts as dead; an answer that is
            not streamed is silent until it is finished.
        attempts: how often a request is made that fails for reasons that may pass.
    """

    SWITCHES: ClassVar[tuple[str, ...]] = ("auto", "on", "processor", "grammar", "pointing", "repair", "off")  # fmt: skip

    constraint: str = "auto"
    timeout: float = 600.0
    connect_timeout: float = 10.0
    read_timeout: float = 300.0
    attempts: int = 5

    def __post_init__(self) -> None:
        if self.constraint == "on":
            object.__setattr__(self, "constraint", "auto")
        for name in ("timeout", "connect_timeout", "read_timeout"):
            check_range(name, getattr(self, name), 0.0, 86_400.0, least_given=False)
        check_whole("attempts", self.attempts, 1)
        AnswerOptions.__post_init__(self)  # `super()` fails where slots make the class anew
