"""The settings of the copy constraint.

The rules are defined on text, not on tokens (``docs/constraint.md``).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from semqa.checks import check_settings
from semqa.errors import InputError

if TYPE_CHECKING:
    SourceNumbers = tuple[int, ...]
else:
    SourceNumbers = str  # as typed on a command line

RULES_PANEL = "Content of answers"
"""Help panel of the options."""


@dataclass(frozen=True, slots=True)
class QuotePolicy:
    """Rules for quotes and for the free text around them.

    In every case, a quote contains a content word, no source text is quoted twice, and an answer has
    a quote or is the abstention sentence.

    Attributes:
        free: the text allowed outside quotes. ``glue`` allows short runs of words that make no
            claims (see `semqa.quotes.words`) and words of the question; ``any`` allows all text.
        boundary: where a span may begin and end. ``word`` allows no cut inside a word, a number or
            a character (`semqa.quotes.words.cuts_word`); ``char`` allows all cuts.
        quote_from: the numbers (from 1) of the quotable sources; None for all.
        quote_bias: added to the logit of every token that opens a quote. The limits are within the
            range of half precision, and larger than any score.

    Example:
        >>> QuotePolicy(quote_from=(3, 1))
        QuotePolicy(free='glue', boundary='word', quote_from=(1, 3), quote_bias=0.0)
    """

    free: Annotated[
        Literal["glue", "any"],
        Option(
            help="Text allowed outside quotes: words that make no claim, or any.",
            rich_help_panel=RULES_PANEL,
        ),
    ] = "glue"
    boundary: Annotated[
        Literal["word", "char"],
        Option(help="Where quotes may start and end.", rich_help_panel=RULES_PANEL),
    ] = "word"
    quote_from: Annotated[
        SourceNumbers | None,
        Option(
            help="Sources that may be quoted, such as 1,3.",
            show_default="all",
            metavar="NUMBER,…",
            rich_help_panel=RULES_PANEL,
        ),
    ] = None
    quote_bias: Annotated[
        float,
        Option(
            min=-60_000,
            max=60_000,
            help="Bias on the logits that open a quote.",
            rich_help_panel=RULES_PANEL,
        ),
    ] = 0.0

    def __post_init__(self) -> None:
        check_settings(self)
        object.__setattr__(self, "quote_from", _numbers(self.quote_from))

    def check_sources(self, count: int) -> None:
        """Raise if `quote_from` names a source that does not exist."""
        if self.quote_from and self.quote_from[-1] > count:
            raise InputError(
                f"names source {self.quote_from[-1]}, but there are {count}.",
                field="quote_from",
                value=self.quote_from,
            )


def _numbers(given: Iterable[int] | str | None) -> tuple[int, ...] | None:
    """Return source numbers, sorted and without duplicates, from numbers or a text like ``1,3``."""
    if given is None:
        return None
    try:
        parts = given.split(",") if isinstance(given, str) else given
        numbers = [int(each) if isinstance(each, str) else each for each in parts]
    except (TypeError, ValueError):
        numbers = []
    if not numbers or any(type(each) is not int or not 0 < each <= 1_000_000 for each in numbers):
        raise InputError(
            f"must be source numbers such as 1,3, got {given!r:.80}.",
            field="quote_from",
            value=given,
        )
    return tuple(sorted(set(numbers)))
