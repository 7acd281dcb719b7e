"""Request fields that several APIs share, and models of errors and of our own API's answer.

Reply models are only used for the OpenAPI schema; a test validates replies against them. Replies of
other vendors' APIs have no models here: tests check them with the official clients.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

from annotated_types import MaxLen
from pydantic import AfterValidator, BaseModel, FailFast, Field, JsonValue

from semqa.errors import InputError
from semqa.quotes import Source, Verdict
from semqa.server.answering import AnswerSource


def _unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON escapes can encode lone surrogates, which UTF-8 cannot.
        raise ValueError("must be Unicode text, without lone surrogates") from None
    return text


Text = Annotated[str, AfterValidator(_unicode)]
"""A string without lone surrogates."""


MAX_ITEMS = 10_000
"""Maximum length of a list in a request."""

_T = TypeVar("_T")


class _FailFast(FailFast):
    """Stops at the first invalid item, because a million errors would fill the memory."""

    __hash__ = object.__hash__  # pydantic requires it for members of a union


Many = Annotated[list[_T], MaxLen(MAX_ITEMS), _FailFast()]
"""A list in a request."""


class RequestBody(BaseModel, extra="forbid", strict=True, allow_inf_nan=False):
    """An object in a request. Values are not converted: "yes" is not a boolean."""


class LenientBody(RequestBody, extra="allow"):
    """A `RequestBody` that may have unknown fields."""

    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)  # finite, too


class SourceIn(RequestBody):
    """A passage to answer from."""

    text: Text = Field(description="The passage.")
    title: Text = Field("", description="Title, which can be quoted as well.")
    url: Text | None = Field(None, description="URL of the whole document.")


Sources = Annotated[
    Many[SourceIn] | None,
    Field(
        description="Passages to answer from, numbered from 1. Without this field, collections are "
        "searched; an empty list needs a collection."
    ),
]


def to_sources(given: list[SourceIn] | None) -> list[AnswerSource] | None:
    """Convert the sources of a request; None if there is no such field."""
    if given is None:
        return None
    return [AnswerSource(Source(each.text, each.title, each.url)) for each in given]


Collection = Annotated[
    Text | Many[Text] | None,
    Field(
        description="Name or names of collections to search, in addition to the sources. Without "
        "names and without sources, all collections are searched."
    ),
]
Engine = Annotated[
    Text | None, Field(description="Specification of the engine; default: the server's.")
]
Limit = Annotated[
    int | None, Field(ge=1, le=100, description="Maximum number of passages to retrieve.")
]
Renumber = Annotated[
    bool, Field(description="Number the sources in the order in which the answer quotes them.")
]


MaxTokens = Annotated[
    int | None,
    Field(ge=1, description="Maximum length of the answer, in words and punctuation marks."),
]


MAX_LISTED = 20
"""Maximum number of fields without effect that a reply lists."""


TEXT_ALONE = ({"type": "text"}, "text", {"format": {"type": "text"}})
_NOT_JSON = "answers are quotes, not JSON."
_NOT_STORED = "is not supported: replies are not stored. Send the whole conversation."

REFUSED: dict[str, tuple[str, tuple[object, ...]]] = {
    "n": ("must be 1: there is only one answer.", (1,)),
    "response_format": (f"must be text: {_NOT_JSON}", TEXT_ALONE),
    "output_format": (f"is not supported: {_NOT_JSON}", ()),
    "output_config": ("is not supported.", ({},)),
    "modalities": ("must be text.", (["text"],)),
    "audio": ("is not supported: the reply is text.", ()),
    "stop": ("is not supported: it might cut a quote.", ([],)),
    "stop_sequences": ("are not supported: they might cut a quote.", ([],)),
    "tool_choice": (
        "must be none or auto: tools are never called.",
        (
            "none",
            "auto",
            {"type": "none"},
            {"type": "auto"},
            {"type": "auto", "disable_parallel_tool_use": True},
            {"type": "file_search"},
        ),
    ),
    "function_call": ("must be none or auto: tools are never called.", ("none", "auto")),
    "mcp_servers": ("are not supported: tools are never called.", ([],)),
    "web_search_options": ("is not supported: only your documents are searched.", ()),
    "logprobs": ("must be false: log probabilities are not available.", (False,)),
    "top_logprobs": ("must be 0: log probabilities are not available.", (0,)),
    "logit_bias": ("is not supported.", ({},)),
    "prediction": ("is not supported.", ()),
    "include": (
        "is not supported.",
        ([], ["reasoning.encrypted_content"], ["file_search_call.results"]),
    ),
    "store": ("must be false: replies are not stored.", (False,)),
    "background": ("must be false.", (False,)),
    "previous_response_id": (_NOT_STORED, ()),
    "conversation": (_NOT_STORED, ()),
    "prompt": ("is not supported: there are no stored prompts.", ()),
    "container": ("is not supported: there are no containers.", ()),
    "sources": ("are not supported: send documents as content blocks of a message.", ([],)),
}
"""Unsupported fields that would change the reply: the error message and the accepted values."""


class LenientRequest(LenientBody):
    """A request of another vendor's API.

    An unsupported field that would change the reply is refused, also one of another API. The reply
    lists any other unknown field, such as a temperature, as `unused`.
    """

    model: Text = Field(
        "semqa", description="A model of GET /v1/models; any other name means the default."
    )
    stream: bool | None = None
    collection: Collection = None
    engine: Engine = None
    limit: Limit = None
    max_tokens: MaxTokens = None
    max_completion_tokens: MaxTokens = None
    max_output_tokens: MaxTokens = None

    def token_limit(self) -> int | None:
        limits = (self.max_tokens, self.max_completion_tokens, self.max_output_tokens)
        return min((limit for limit in limits if limit is not None), default=None)

    def unused(self) -> tuple[str, ...]:
        """Return the fields that have no effect; raise if a field is refused."""
        given = {
            name: value for name, value in (self.model_extra or {}).items() if value is not None
        }
        for name, (why, accepted) in REFUSED.items():
            if name in given and given.pop(name) not in accepted:
                raise InputError(why, field=name)
        shown = sorted(name.encode("ascii", "replace").decode()[:60] for name in given)
        return tuple(shown[:MAX_LISTED])


def unknown_fields(part: LenientBody, field: str) -> Iterator[str]:
    """Yield the unknown fields of a part and the parts in it, such as a document's `context`."""
    kind = getattr(part, "type", "")
    if kind in ("tool_use", "thinking", "redacted_thinking"):
        return  # not read at all
    for name, value in (part.model_extra or {}).items():
        if value is not None and not (
            kind == "tool_result" and name in ("tool_use_id", "is_error")
        ):
            yield f"{field}.{name.encode('ascii', 'replace').decode()[:60]}"
    for name in ("source", "citations", "content"):
        inner = getattr(part, name, None)
        if isinstance(inner, LenientBody):
            yield from unknown_fields(inner, f"{field}.{name}")
        elif isinstance(inner, list):
            for at, each in enumerate(inner):
                if isinstance(each, LenientBody):
                    yield from unknown_fields(each, f"{field}.{name}.{at}")


STREAMED: dict[str, Any] = {"application/json": {}, "text/event-stream": {}}
"""Content types of a reply: JSON, or a stream of events if the request asks for it."""


class _Reply(BaseModel, extra="forbid"):
    pass


class PlaceOut(_Reply):
    """A place in a source: ``source[field][start:end]``."""

    field: Literal["body", "title"]
    start: int
    end: int


class RepairedOut(_Reply):
    """A quote as the model wrote it, before it was repaired."""

    source: int
    text: str
    distance: float


class _SpanOut(_Reply):
    answer_start: int = Field(description="Start offset in the answer with marks.")
    answer_end: int
    plain_start: int = Field(description="Start offset in the answer without marks.")
    plain_end: int


class QuoteOut(_SpanOut):
    """A quote. Offsets are Unicode code points, 0-based, end exclusive."""

    source: int = Field(description="Number of the cited source.")
    text: str
    status: Literal["verified", "misattributed", "fabricated", "malformed"]
    reason: str = Field(description="Why the quote is not verified; else empty.")
    field: Literal["body", "title"] | None = Field(description="Field of the source.")
    source_start: int | None = Field(
        description="Start offset in that field; null unless verified."
    )
    source_end: int | None
    occurrences: list[PlaceOut] = Field(description="All places of the text in the source.")
    found_in: list[int] = Field(
        description="Other sources that contain the text, if the cited one does not."
    )
    cut: bool = Field(description="Whether the quote begins or ends inside a word or number.")
    repaired: RepairedOut | None
    relevance: float | None = Field(
        description="Estimated probability that a person would quote it to answer the question."
    )


class DroppedOut(_SpanOut):
    """A mark that was dropped because its text is in no source."""

    source: int
    text: str
    reason: str


class SourceOut(_Reply):
    """A source that the answer mentions; a retrieved source also has its origin."""

    number: int
    title: str
    text: str
    url: str | None
    collection: str | None = None
    document_id: str | None = None
    name: str | None = None
    start: int | None = Field(None, description="Start offset in the text of the document.")
    end: int | None = None
    page: int | None = None


class CountsOut(_Reply):
    """Number of quotes by status."""

    verified: int
    misattributed: int
    fabricated: int
    malformed: int


class ClaimOut(_SpanOut):
    """Text outside of quotes that is neither connecting words nor words of the question."""

    text: str


class UsageOut(_Reply):
    """Token counts; null if unknown."""

    prompt_tokens: int | None
    completion_tokens: int | None


class AnswerOut(_Reply):
    """A quoted answer."""

    id: str
    created: int
    engine: str
    question: str
    understood: str = Field(description="The question in the context of the conversation.")
    answer: str = Field(description="The answer with marks: [ 1 quote ].")
    plain: str = Field(description="The answer without marks.")
    verdict: Verdict = Field(
        description="quoted: every claim is in a verified quote. unverified: a quote is not verified, "
        "or a mark was dropped. unquoted: nothing is quoted, or there are claims outside of quotes. "
        "abstained: the sources do not answer the question, or the message is not a question."
    )
    verified: bool = Field(description="True only if the verdict is quoted.")
    abstained: bool = Field(
        description="Whether the engine abstained: the sources do not answer the question."
    )
    relevance: float | None = Field(
        description="Relevance of the answer: usually that of its best quote."
    )
    answerable: float | None = Field(
        description="Estimated chance that the sources answer the question; null if not estimated."
    )
    unanswered: list[str] = Field(
        description="Parts of the question that the sources do not answer."
    )
    finished: bool = Field(description="False if the token limit cut the answer off.")
    counts: CountsOut
    quotes: list[QuoteOut]
    dropped: list[DroppedOut]
    claims: list[ClaimOut]
    nearest: list[QuoteOut] = Field(
        description="If abstained: the quotes that are closest to an answer."
    )
    sources: list[SourceOut]
    usage: UsageOut
