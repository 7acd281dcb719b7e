"""Settings of the engine: the constraint to request, timeouts and retries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from semqa.checks import check_range, check_whole
from semqa.engines.model.options import AnswerOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIOptions(AnswerOptions):
    """Settings of an `OpenAIEngine`, in addition to those of `AnswerOptions`.

    Attributes:
        batch_size: maximum number of concurrent requests.
        constraint: ``processor``, ``grammar``, ``pointing``, ``repair`` or ``off``; ``auto`` (or
            ``on``) uses the first of these that the endpoint supports.
        timeout: seconds for an answer, including retries.
        connect_timeout: seconds to establish a connection.
        read_timeout: seconds to wait for data; without streaming, none arrives until the answer is
            finished.
        attempts: maximum number of attempts if a request fails with a transient error.
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
        AnswerOptions.__post_init__(self)  # `super()` fails: slots=True recreates the class
