"""The exceptions semqa raises on purpose, split by who has to act.

Messages have one form: ``<what was wrong>: got <value>, expected <rule>; <what to do>``, with
``file:line`` in front when the value came from a file.
"""

__all__ = [
    "InputError",
    "MissingExtraError",
    "NotFoundError",
    "SemqaError",
    "UnavailableError",
]


class SemqaError(Exception):
    """Root of every exception that semqa raises on purpose."""


class InputError(SemqaError):
    """Something the user gave (a file, a field, an option) is not usable; the user can mend it."""


class NotFoundError(InputError):
    """What the user named does not exist, or is not theirs to see: the two look the same."""


class UnavailableError(SemqaError):
    """Something outside (network, disk, a server) did not do its part; trying again may help."""


class MissingExtraError(UnavailableError):
    """A feature needs packages that are not installed; the message names the pip command."""
