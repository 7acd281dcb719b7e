"""Conversion between text and tokens: prompt encoding and incremental decoding of answers."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.decoding import Vocabulary
    from semqa.prompting import Form, Prompt


class StoppedText:
    """Streams a text, holding back a possible beginning of a stop string.

    Args:
        stops: strings that end an answer; they are cut off.

    Attributes:
        stopped: whether the last piece completed a stop string. If another piece follows, the stop
            string counts as text.

    Example:
        >>> text = StoppedText([" Q:"])
        >>> [text.add(piece) for piece in ("It is.", " Q", "uiet.", " Q", ": why?")], text.end()
        (['It is.', '', ' Quiet.', '', ''], '')
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops = tuple(stops)
        self._held = ""
        self.stopped = False

    def add(self, piece: str) -> str:
        """Add a piece and return the text that is now final."""
        text = self._held + piece
        at = find_stop(text, len(piece), self._stops)
        self.stopped = at is not None
        if at is None:
            at = len(text) - _overlap(text, self._stops)
        self._held = text[at:]
        return text[:at]

    def end(self) -> str:
        """Return the rest of the answer that was held back."""
        return "" if self.stopped else self._held


class AnswerText:
    """Decodes tokens to text incrementally.

    Without stop strings, the joined pieces equal ``vocabulary.decode(tokens)``.

    Example:
        >>> from semqa.decoding import Vocabulary
        >>> words = Vocabulary.from_tokens([b"It is.", b" Q", b"uiet.", b"", b": why?"], [3])
        >>> text = AnswerText(words, stops=[" Q:"])
        >>> [text.add(token) for token in (0, 1, 2, 1, 4)], text.end()
        (['It is.', '', ' Quiet.', '', ''], '')
    """

    def __init__(self, vocabulary: Vocabulary, stops: Sequence[str] = ()) -> None:
        self._vocabulary = vocabulary
        self._text = StoppedText(stops)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._strip = vocabulary.strips_leading_space

    def add(self, token_id: int) -> str:
        """Add a token and return the text that is now final."""
        data = self._vocabulary.token_bytes(token_id)
        if not data:
            return ""
        if self._strip:
            data, self._strip = data.removeprefix(b" "), False
        return self._text.add(self._decoder.decode(data))

    def end(self) -> str:
        """Return the rest of the answer that was held back."""
        if self._text.stopped:
            return ""
        return self._text.end() + self._decoder.decode(b"", final=True)


def find_stop(text: str, new: int, stops: Iterable[str]) -> int | None:
    """Return the start of the first stop string that ends in the last `new` characters, or None.

    Example:
        >>> find_stop("yes. Q: and", 6, [" Q:"])
        4
    """
    found = (text.find(stop, max(0, len(text) - new - len(stop) + 1)) for stop in stops)
    return min((at for at in found if at >= 0), default=None)


def _overlap(text: str, stops: Iterable[str]) -> int:
    """Return the length of the longest suffix that is a prefix of a stop string."""
    return max(
        (
            length
            for stop in stops
            for length in range(1, len(stop))
            if text.endswith(stop[:length])
        ),
        default=0,
    )


def check_unicode(text: str, where: str) -> None:
    """Raise if a text has a lone surrogate, which cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"Lone surrogate in {where}: {error.object[error.start]!a}.") from error


class PromptEncoder:
    """Encodes prompts for one model.

    Attributes:
        reserved: strings that the tokenizer maps to control tokens.
    """

    def __init__(self, tokenizer: Any, *, is_encoder_decoder: bool, form: Form = "auto") -> None:
        has_template = bool(getattr(tokenizer, "chat_template", None))
        if form == "chat" and not has_template:
            raise InputError("cannot be chat: the model has no chat template.", field="form")
        self.chat = has_template and form != "completion"
        self.reserved = _control_strings(tokenizer)
        self._tokenizer = tokenizer
        self._keeps_end = is_encoder_decoder

    def encode(self, prompt: Prompt) -> list[int]:
        """Return the token ids of a prompt."""
        text = self._chat_text(prompt) if self.chat else prompt.text
        check_unicode(text, "the question or a source")
        # A chat template adds the control tokens itself.
        ids = self._tokenizer(text, add_special_tokens=not self.chat)["input_ids"]
        if not self._keeps_end:
            ends = {self._tokenizer.eos_token_id, self._tokenizer.sep_token_id} - {None}
            # Some tokenizers append an end token, but a causal model has to continue the text.
            while not self.chat and ids and ids[-1] in ends:
                ids = ids[:-1]
        return [int(number) for number in ids]

    def encode_answer(self, prompt: Prompt, answer: str) -> list[int]:
        """Return the tokens of an answer that follows a prompt, for a decoder-only model.

        If the tokenizer would merge the end of the prompt with the start of the answer, the answer
        is encoded separately, so that the prompt has the same tokens as at inference.
        """
        given = self.encode(prompt)
        gap = "" if self.chat else " "
        text = (self._chat_text(prompt) if self.chat else prompt.text) + gap + answer
        whole = list(self._tokenizer(text, add_special_tokens=not self.chat)["input_ids"])
        if whole[: len(given)] == given:
            return [int(number) for number in whole[len(given) :]]
        alone = self._tokenizer(answer, add_special_tokens=False)["input_ids"]
        return [int(number) for number in alone]

    def _chat_text(self, prompt: Prompt) -> str:
        from jinja2 import TemplateError

        failure: Exception | None = None
        # Templates of models without a system role reject it.
        for messages in (prompt.messages, prompt.folded):
            try:
                return str(
                    self._tokenizer.apply_chat_template(
                        [message.to_dict() for message in messages],
                        add_generation_prompt=True,
                        tokenize=False,
                    )
                )
            except (TemplateError, ValueError) as error:
                failure = failure or error
        raise InputError(
            f"The model's chat template rejects the prompt: {failure}.",
            hint="Use the completion form (form=completion).",
        ) from failure


def _control_strings(tokenizer: Any) -> tuple[str, ...]:
    """Return the strings that become control tokens, such as ``<|im_start|>``."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    marked = {
        str(token)
        for token in added
        if token.special or (str(token)[:1], str(token)[-1:]) == ("<", ">")
    }
    return tuple(sorted((marked | set(tokenizer.all_special_tokens)) - {""}))
