"""How much of a stranger's file is read, for how long."""

from __future__ import annotations

from dataclasses import dataclass, fields

from semqa.errors import InputError

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on one document; a file beyond one of them is refused.

    Attributes:
        size: bytes of the file.
        unpacked: bytes that it becomes when it is unpacked.
        characters: code points of its text.
        pages: pages of a PDF.
        seconds: time to read it.
        memory: bytes of memory to read it, where the system can hold a process to that.

    Raises:
        InputError: a limit is not above zero.
    """

    size: int = 64 * 2**20
    unpacked: int = 512 * 2**20
    characters: int = 20_000_000
    pages: int = 5000
    seconds: float = 60.0
    memory: int = 2 * 2**30

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise InputError(f"must be above 0, got {value!r}.", field=field.name, value=value)
