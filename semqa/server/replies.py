"""What replies look like, for the schema alone: what is sent is made elsewhere, and tested to fit."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from semqa.quotes import Verdict

__all__ = ["STREAMED", "AnswerOut", "ChatOut", "ErrorOut", "MessageOut", "errors"]

STREAMED: dict[str, Any] = {"application/json": {}, "text/event-stream": {}}
"""Content of a reply that is JSON, or a stream of events where one is asked for."""


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ErrorDetail(_Reply):
    """What went wrong."""

    type: str
    message: str
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
    """A mark that lost its brackets, for no source says what it held."""

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


VERDICT = Field(
    description="quoted: every claim is in a verified quote. unverified: a quote is not verified, or "
    "a mark was dropped. unquoted: nothing is quoted, or words outside of quotes make claims. "
    "abstained: the sources do not answer."
)
VERIFIED = Field(description="True only if the verdict is quoted.")
ABSTAINED = Field(description="Whether the answer says that the sources do not answer.")
NEAREST = Field(description="Of an abstention: the quotes that come nearest to an answer.")
RELEVANCE = Field(description="The highest relevance of a verified quote.")
UNANSWERED = Field(description="Parts of the question that nothing was found for.")


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
    verdict: Verdict = VERDICT
    verified: bool = VERIFIED
    abstained: bool = ABSTAINED
    relevance: float | None = RELEVANCE
    unanswered: list[str] = UNANSWERED
    finished: bool = Field(description="False where a budget of tokens cut it off.")
    counts: CountsOut
    quotes: list[QuoteOut]
    dropped: list[DroppedOut]
    claims: list[ClaimOut]
    nearest: list[QuoteOut] = NEAREST
    sources: list[SourceOut]
    usage: UsageOut


class DetailsOut(_Reply):
    """What the interfaces of others have no field for."""

    verdict: Verdict = VERDICT
    verified: bool = VERIFIED
    abstained: bool = ABSTAINED
    relevance: float | None = RELEVANCE
    unanswered: list[str] = UNANSWERED
    counts: CountsOut
    quotes: list[QuoteOut] = Field(
        description="All of them, those that are not verified too, each with the place that was meant."
    )
    dropped: list[DroppedOut]
    claims: list[ClaimOut]
    nearest: list[QuoteOut] = NEAREST
    sources: list[SourceOut]


class UrlCitationOut(_Reply):
    """Place of a quote in the content, and where its source is."""

    url: str
    title: str
    start_index: int
    end_index: int


class AnnotationOut(_Reply):
    """A quote that is verified."""

    index: int
    type: Literal["url_citation"]
    url_citation: UrlCitationOut
    source_index: int
    field: Literal["body", "title"]
    source_start: int
    source_end: int
    quote: str
    status: Literal["verified"]


class ChatMessageOut(_Reply):
    """The answer."""

    role: Literal["assistant"]
    content: str
    refusal: None
    annotations: list[AnnotationOut]


class ChoiceOut(_Reply):
    """The only choice."""

    index: Literal[0]
    message: ChatMessageOut
    logprobs: None
    finish_reason: Literal["stop", "length"]


class ChatUsageOut(_Reply):
    """Tokens; 0 where no model tells."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatOut(_Reply):
    """A chat completion."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChoiceOut]
    usage: ChatUsageOut
    semqa: DetailsOut


class BlockOut(_Reply):
    """A quote with its citation, or what stands between quotes."""

    type: Literal["text"]
    text: str
    citations: list[dict[str, Any]] | None


class MessageUsageOut(_Reply):
    """Tokens; 0 where no model tells."""

    input_tokens: int
    output_tokens: int


class MessageOut(_Reply):
    """A message."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[BlockOut]
    stop_reason: Literal["end_turn", "max_tokens"]
    stop_sequence: None
    usage: MessageUsageOut
    semqa: DetailsOut
