"""Prompts to token ids: the chat template of the model, or the completion form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.prompting import Form, Prompt

__all__ = ["PromptEncoder"]


class PromptEncoder:
    """Encodes prompts for one model.

    Args:
        tokenizer: a tokenizer of transformers.
        is_encoder_decoder: whether the prompt goes to an encoder.
        form: ``chat``, ``completion``, or ``auto``: chat where the tokenizer has a chat template.

    Attributes:
        chat: whether prompts are given as messages.
        reserved: strings that the tokenizer reads as control tokens.

    Raises:
        InputError: the chat form is asked for, and the tokenizer has no template.
    """

    def __init__(self, tokenizer: Any, *, is_encoder_decoder: bool, form: Form = "auto") -> None:
        has_template = bool(getattr(tokenizer, "chat_template", None))
        if form == "chat" and not has_template:
            raise InputError(
                "cannot be chat: the model has no chat template.", field="form", value=form
            )
        self.chat = has_template and form != "completion"
        self.reserved = _control_strings(tokenizer)
        self._tokenizer = tokenizer
        self._ends = is_encoder_decoder

    def encode(self, prompt: Prompt) -> list[int]:
        """Return the token ids that the model reads.

        Raises:
            InputError: the model's chat template refuses the messages, or they are no Unicode text.
        """
        text = self._chat_text(prompt) if self.chat else prompt.text
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"Lone surrogate in the question or a source: {error.object[error.start]!a}."
            ) from error
        # A chat template writes the control tokens itself.
        ids = self._tokenizer(text, add_special_tokens=not self.chat)["input_ids"]
        if not self._ends:
            ends = {self._tokenizer.eos_token_id, self._tokenizer.sep_token_id} - {None}
            # Some tokenizers close each text, but a causal model is to go on with it.
            while not self.chat and ids and ids[-1] in ends:
                ids = ids[:-1]
        return [int(number) for number in ids]

    def encode_answer(self, prompt: Prompt, answer: str) -> list[int]:
        """Return the tokens of an answer as a decoder-only model is to write it after a prompt.

        Where the tokenizer would join the prompt's end and the answer's beginning to one token, the
        answer is encoded by itself: the prompt's tokens are what they are when the model is asked.

        Raises:
            InputError: as `encode`.
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
        # Templates of models that know no system role refuse it.
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
            f"The model's chat template refuses the prompt: {failure}.",
            hint="Use the completion form (form=completion).",
        ) from failure


def _control_strings(tokenizer: Any) -> tuple[str, ...]:
    """Return what in a text becomes a control token, such as ``<|im_start|>``."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    marked = {
        str(token)
        for token in added
        if token.special or (str(token)[:1], str(token)[-1:]) == ("<", ">")
    }
    return tuple(sorted((marked | set(tokenizer.all_special_tokens)) - {""}))
