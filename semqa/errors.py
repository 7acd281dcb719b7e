"""The exceptions semqa raises on purpose, split by who has to act.

An error carries its parts (message, field, value, hint, place). The command line, the server and
vLLM set `field` to the name that their user typed; nothing parses a message.
"""

__all__ = [
    "ForbiddenError",
    "InputError",
    "MissingExtraError",
    "NotFoundError",
    "SemqaError",
    "UnavailableError",
]


class SemqaError(Exception):
    """Root of every exception that semqa raises on purpose."""


class InputError(SemqaError):
    """Invalid input: a file, a field or an option that the user can correct.

    Args:
        message: what is wrong. If a field is given, it continues a sentence that begins with the
            field's name: ``must be at least 1, got 0.``
        field: name of the setting or key, such as ``max_words``. A caller that knows it by another
            name (``--max-words``) sets the attribute and raises the error again.
        value: the invalid value.
        hint: how to correct it, one sentence; left out if that is obvious.
        where: the place, such as ``sources.jsonl:14``.

    Example:
        >>> error = InputError("must be at least 1, got 0.", field="max_words", value=0)
        >>> str(error)
        'max_words must be at least 1, got 0.'
        >>> error.field, error.where = "--max-words", "grid.yaml:3"
        >>> str(error)
        'grid.yaml:3: --max-words must be at least 1, got 0.'
    """

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        value: object = None,
        hint: str | None = None,
        where: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.value = value
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return place + " ".join(filter(None, (self.field, self.message, self.hint)))


class NotFoundError(InputError):
    """What the user named does not exist, or is not theirs to see: the two look the same."""


class ForbiddenError(InputError):
    """What the user named is there for them, but not for this."""


class UnavailableError(SemqaError):
    """Something outside (network, disk, a server) did not do its part; trying again may help."""


class MissingExtraError(UnavailableError):
    """A feature needs packages that are not installed; the message names the pip command."""
