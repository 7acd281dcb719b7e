"""Fields of requests that several interfaces share, and the shapes of errors and of the server's own answer.

Reply models serve the OpenAPI schema alone; a test holds replies to them. Replies in the shapes of other
interfaces have none: their clients' types describe them, and tests use those clients.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeVar

from annotated_types import MaxLen
from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field

from semqa.errors import InputError
from semqa.quotes import Source, Verdict
from semqa.server.answering import Given


def _unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON can write a lone surrogate, which nothing else can.
        raise ValueError("must be Unicode text, without lone surrogates") from None
    return text


Text = Annotated[str, AfterValidator(_unicode)]
"""A string that is Unicode text."""


MOST_MEMBERS = 10_000
"""Members of a list, before any of them is looked at closely."""

_T = TypeVar("_T")


class _FirstWrong(FailFast):
    """Ends at the first member that is wrong: a million errors would fill the memory."""

    __hash__ = object.__hash__  # what stands in a union must have one


Many = Annotated[list[_T], MaxLen(MOST_MEMBERS), _FirstWrong()]
"""A list in a request."""


class SourceIn(BaseModel):
    """A passage to answer from."""

    text: Text = Field(description="The passage.")
    title: Text = Field("", description="Its title, which can be quoted as well.")
    url: Text | None = Field(None, description="Where a reader finds the whole document.")

    def given(self) -> Given:
        """Return it as a source of a question."""
        return Given(Source(self.text, self.title, self.url))


Sources = Annotated[
    Many[SourceIn] | None,
    Field(
        description="Passages to answer from, numbered from 1; without any, collections are looked into."
    ),
]
Collection = Annotated[
    Text | Many[Text] | None,
    Field(
        description="Name or names of collections to answer from, after the sources if there are any. "
        "Without a name and without sources, all are searched."
    ),
]
Engine = Annotated[
    Text | None, Field(description="The engine that answers; the server's default without it.")
]
Limit = Annotated[int | None, Field(ge=1, le=100, description="Most passages to find.")]
Renumber = Annotated[
    bool, Field(description="Number the sources in the order in which the answer quotes them.")
]


MOST_TOLD = 20
"""Names of fields without effect that a reply lists."""


class Lenient(BaseModel):
    """A request of somebody else's interface.

    A field that would change the reply and cannot be honoured is refused by its name. Any other field
    that is not read, such as a temperature, is listed in the reply (`unused`).
    """

    model_config = ConfigDict(extra="allow")

    refused: ClassVar[dict[str, tuple[str, tuple[object, ...]]]] = {}
    """For each field that is refused: why, and the values that are accepted."""

    def unused(self) -> tuple[str, ...]:
        """Return the fields that have no effect."""
        given = {
            name: value for name, value in (self.model_extra or {}).items() if value is not None
        }
        for name, (why, accepted) in self.refused.items():
            if name in given and given.pop(name) not in accepted:
                raise InputError(why, field=name)
        shown = sorted(name.encode("ascii", "replace").decode()[:60] for name in given)
        return tuple(shown[:MOST_TOLD])


TEXT_ALONE = ({"type": "text"}, "text", {"format": {"type": "text"}})
NO_TOOLS = "must be none or auto: tools are never called."
MaxTokens = Annotated[
    int | None,
    Field(ge=1, description="Most tokens to write: words and punctuation marks, as counted here."),
]


STREAMED: dict[str, Any] = {"application/json": {}, "text/event-stream": {}}
"""Content of a reply that is JSON, or a stream of events where one is asked for."""


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ErrorDetail(_Reply):
    """What went wrong."""

    type: str
    message: str
    param: str | None = Field(description="The field at fault, where it is a single one.")
    code: str | None
    request_id: str


class ErrorOut(_Reply):
    """An error."""

    type: Literal["error"]
    error: ErrorDetail
    request_id: str


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the replies of an endpoint that may fail in these ways."""
    return {status: {"model": ErrorOut} for status in statuses}


class PlaceOut(_Reply):
    """A place in a source: ``source[field][start:end]``."""

    field: Literal["body", "title"]
    start: int
    end: int


class RepairedOut(_Reply):
    """How a quote was written before it was made verbatim."""

    source: int
    text: str
    distance: float


class QuoteOut(_Reply):
    """A quote. Offsets are Unicode code points, 0-based, end exclusive."""

    source: int = Field(description="Number of the source that it names.")
    text: str
    status: Literal["verified", "misattributed", "fabricated", "malformed"]
    reason: str = Field(description="Why it is not verified.")
    answer_start: int = Field(description="Its place in the answer with marks.")
    answer_end: int
    plain_start: int = Field(description="Its place in the answer without marks.")
    plain_end: int
    field: Literal["body", "title"] | None = Field(description="Which part of the source it is in.")
    source_start: int | None = Field(description="Its place there; null unless verified.")
    source_end: int | None
    occurrences: list[PlaceOut] = Field(description="Every place of its text in the source.")
    found_in: list[int] = Field(
        description="Other sources that hold the text, if its own does not."
    )
    cut: bool = Field(description="Whether it begins or ends inside a word or number.")
    repaired: RepairedOut | None
    relevance: float | None = Field(
        description="Estimated chance that a person would quote it to answer the question."
    )


class DroppedOut(_Reply):
    """A mark that lost its brackets because its text is in no source."""

    source: int
    text: str
    reason: str
    answer_start: int
    answer_end: int
    plain_start: int
    plain_end: int


class SourceOut(_Reply):
    """A source that the answer speaks of; of one that was retrieved also where it is from."""

    number: int
    title: str
    text: str
    url: str | None
    collection: str | None = None
    document_id: str | None = None
    name: str | None = None
    start: int | None = Field(None, description="Its place in the document's text.")
    end: int | None = None
    page: int | None = None


class CountsOut(_Reply):
    """How many quotes have each status."""

    verified: int
    misattributed: int
    fabricated: int
    malformed: int


class ClaimOut(_Reply):
    """Words outside of quotes that are neither glue nor words of the question."""

    text: str
    answer_start: int
    answer_end: int
    plain_start: int
    plain_end: int


class UsageOut(_Reply):
    """Tokens; null where no model tells."""

    prompt_tokens: int | None
    completion_tokens: int | None


class AnswerOut(_Reply):
    """A quoted answer."""

    id: str
    created: int
    engine: str
    question: str
    understood: str = Field(description="The question in the context of the conversation.")
    answer: str = Field(description="With marks: [ 1 quote ].")
    plain: str = Field(description="Without marks.")
    verdict: Verdict = Field(
        description="quoted: every claim is in a verified quote. unverified: a quote is not verified, or "
        "a mark was dropped. unquoted: nothing is quoted, or words outside of quotes make claims. "
        "abstained: the sources do not answer."
    )
    verified: bool = Field(description="True only if the verdict is quoted.")
    abstained: bool = Field(description="Whether the answer says that the sources do not answer.")
    relevance: float | None = Field(description="The highest relevance of a verified quote.")
    unanswered: list[str] = Field(description="Parts of the question that nothing was found for.")
    finished: bool = Field(description="False where a budget of tokens cut it off.")
    counts: CountsOut
    quotes: list[QuoteOut]
    dropped: list[DroppedOut]
    claims: list[ClaimOut]
    nearest: list[QuoteOut] = Field(
        description="Of an abstention: the quotes that come nearest to an answer."
    )
    sources: list[SourceOut]
    usage: UsageOut
