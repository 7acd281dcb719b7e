"""What an endpoint answers, read with distrust: text, why it ended, and how many tokens it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from semqa.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Piece", "Usage", "read_piece", "read_reply"]

_ENDED = frozenset({"stop", "eos", "end_turn", "stop_sequence"})
_CUT_OFF = frozenset({"length", "max_tokens"})


class Usage(NamedTuple):
    """Tokens read and written; None where the endpoint does not say."""

    prompt_tokens: int | None = None
    new_tokens: int | None = None


class Piece(NamedTuple):
    """A whole reply, or a piece of one.

    Attributes:
        text: the text, or more of it.
        finished: whether the model ended by itself; None where it is not said, as in all pieces but
            the last.
        usage: the tokens, where they are said.
    """

    text: str
    finished: bool | None
    usage: Usage | None


def read_reply(value: object, *, chat: bool) -> Piece:
    """Read a whole reply.

    Raises:
        UnavailableError: it is none, or the endpoint withheld the answer.
    """
    choice = _choice(value)
    if choice is None:
        raise _malformed("no choices", value)
    if chat:
        message = choice.get("message")
        if not isinstance(message, dict):
            raise _malformed("a choice without a message", choice)
        text = message.get("content")
    else:
        text = choice.get("text")
    finished = _finished(choice)
    if text is None and finished is not None:
        text = ""  # where a model thought, or ended at once
    if not isinstance(text, str):
        raise _malformed("an answer that is no text", choice)
    if finished is None:
        raise _malformed("no finish_reason", choice)
    return Piece(_sound(text), finished, _usage(value))


def read_piece(value: object, *, chat: bool) -> Piece:
    """Read one event of a stream.

    Raises:
        UnavailableError: it is none, it tells an error, or the endpoint withheld the answer.
    """
    if isinstance(value, dict) and value.get("error"):
        raise UnavailableError(f"The endpoint failed while answering: {_shown(value['error'])}.")
    choice = _choice(value)
    if choice is None:  # the event with the usage has none
        return Piece("", None, _usage(value))
    if chat:
        delta = choice.get("delta")
        if delta is None and choice.get("finish_reason") is not None:
            delta = {}
        if not isinstance(delta, dict):
            raise _malformed("a piece without a delta", choice)
        text = delta.get("content")
    else:
        text = choice.get("text")
    if text is not None and not isinstance(text, str):
        raise _malformed("a piece that is no text", choice)
    return Piece(text or "", _finished(choice), _usage(value))


def _choice(value: object) -> Mapping[str, object] | None:
    choices = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(choices, list):
        raise _malformed("no choices", value)
    if not choices:
        return None
    if not isinstance(choices[0], dict):
        raise _malformed("a choice that is no object", value)
    return choices[0]


def _finished(choice: Mapping[str, object]) -> bool | None:
    reason = choice.get("finish_reason")
    if reason is None:
        return None
    if reason in _ENDED:
        return True
    if reason in _CUT_OFF:
        return False
    raise UnavailableError(
        f"The endpoint's answer is incomplete: finish_reason is {_shown(reason)}."
    )


def _usage(value: object) -> Usage | None:
    usage = value.get("usage") if isinstance(value, dict) else None
    if not isinstance(usage, dict):
        return None
    return Usage(*(_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")))


def _count(value: object) -> int | None:
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if known else None  # type: ignore[return-value]  # an int by then


def _sound(text: str) -> str:
    """Return a text without halves of characters, which JSON can hold and nothing can print."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _malformed(what: str, value: object) -> UnavailableError:
    return UnavailableError(
        f"Not an answer of an OpenAI-compatible endpoint: {what} in {_shown(value)}. Check --base-url."
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:199] + "…"
