"""Questions by an encoder-decoder model, written with a beam search.

The model reads as much of the passage as it can, with the answer in the middle.

Source: Q² (Honovich et al. 2021, section 3), whose model reads “answer: … context: …” and writes
“question: …”.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from semqa.attribution.judges.length import TooLongError
from semqa.attribution.judges.models.batches import in_batches, padded
from semqa.engines.model.hub import quiet_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.judges.models.loading import Loaded
    from semqa.attribution.judges.models.settings import ModelSettings

__all__ = ["Asker"]

_MOST_TOKENS = 64
"""Of a question."""

_READS = 512
"""Most tokens of what is read: a question is about what stands near its answer."""

_HEAD = re.compile(r"^\s*question\s*:\s*", re.IGNORECASE)


class _Input(NamedTuple):
    """What is read for one question."""

    row: dict[str, list[int]]


class Asker:
    """Asks questions with one model.

    Args:
        loaded: the model.
        settings: how it is asked.
    """

    def __init__(self, loaded: Loaded, settings: ModelSettings) -> None:
        self._loaded = loaded
        self._settings = settings
        self._longest = min(loaded.longest, _READS)

    def run(self, readings: Sequence[tuple[str, str]], count: int) -> list[list[str]]:
        """Return questions for each answer, best first, each once.

        Raises:
            TooLongError: an answer is too long for the model.
        """
        spelled = self._loaded.spelled
        inputs = [
            _Input(self._encode(spelled(answer), spelled(passage))) for answer, passage in readings
        ]
        return in_batches(
            inputs,
            lambda one: len(one.row["input_ids"]),
            max(1, self._settings.batch_size // max(1, count // 2)),
            lambda some: self._write(some, count),
        )

    def _encode(self, answer: str, passage: str) -> dict[str, list[int]]:
        tokenizer = self._loaded.tokenizer

        def encoded(text: str) -> dict[str, list[int]]:
            before, _, rest = self._settings.ask_format.partition("{context}")
            whole = before.replace("{answer}", answer) + text + rest.replace("{answer}", answer)
            return dict(tokenizer(whole))

        with quiet_log():
            row = encoded(passage)
            if len(row["input_ids"]) <= self._longest:
                return row
            room = self._longest - len(encoded("")["input_ids"])
            if room < 1:
                raise TooLongError(
                    f"the answer is too long for {self._loaded.name}: got "
                    f"{' '.join(answer.split())[:60]!r}…, expected one that fits into "
                    f"{self._longest} tokens; shorten it"
                )
            at = max(0, passage.find(answer))
            middle = at + len(answer) // 2
            size = len(passage)
            while len(row["input_ids"]) > self._longest:
                # Each time by how much it is too long, and a little more.
                size = int(size * min(0.95, self._longest / len(row["input_ids"])))
                start = max(0, min(middle - size // 2, len(passage) - size))
                row = encoded(passage[start : start + size])
        return row

    def _write(self, some: Sequence[_Input], count: int) -> list[list[str]]:
        import torch
        from transformers import GenerationConfig

        model, tokenizer = self._loaded.model, self._loaded.tokenizer
        inputs = padded(tokenizer, [one.row for one in some], model.device)
        inputs.pop("token_type_ids", None)
        config = model.generation_config
        settings = GenerationConfig(
            max_new_tokens=_MOST_TOKENS,
            do_sample=False,
            num_beams=count,
            num_return_sequences=count,
            early_stopping=count > 1,
            decoder_start_token_id=config.decoder_start_token_id
            or model.config.decoder_start_token_id,
            eos_token_id=config.eos_token_id,
            pad_token_id=config.pad_token_id,
            bos_token_id=config.bos_token_id,
            forced_bos_token_id=config.forced_bos_token_id,
        )
        with torch.inference_mode(), quiet_log():
            rows = model.generate(**inputs, generation_config=settings)
        texts = tokenizer.batch_decode(rows, skip_special_tokens=True)
        return [_read(texts[first : first + count]) for first in range(0, len(texts), count)]


def _read(texts: Sequence[str]) -> list[str]:
    questions = (" ".join(_HEAD.sub("", text).split()) for text in texts)
    return list(dict.fromkeys(question for question in questions if question))
