"""Answers by a model that marks a span of a passage, or none.

Passages that are longer than the model reads are read in windows that overlap. No answer stands for
the whole passage only where no window has a better one.

Source: SQuAD 2.0's rule (Devlin et al. 2019, section 4.3): the best span must score above no answer,
which is the span of the first token, by a threshold.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.attribution.judges.base import Span
from semqa.attribution.judges.length import TooLongError
from semqa.attribution.judges.models.batches import in_batches, padded, rounded
from semqa.engines.model.hub import quiet_log
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.judges.base import Reading
    from semqa.attribution.judges.models.loading import Loaded
    from semqa.attribution.judges.models.settings import ModelSettings

__all__ = ["Reader"]

_LEAST_WINDOW = 16
_TIED = 4
"""Decimals of a score in which spans count as equal; the first one is taken then."""


class _Window(NamedTuple):
    """A question and a part of its passage.

    Attributes:
        reading: the number of the reading.
        row: what the tokenizer made of it.
        offsets: where each token stands in the passage; None for those of the question.
    """

    reading: int
    row: dict[str, list[int]]
    offsets: list[tuple[int, int] | None]


class _Found(NamedTuple):
    """The best span of a window, in characters, and the scores of it and of no answer."""

    score: float
    start: int
    end: int
    null: float


class Reader:
    """Answers questions with one model.

    Args:
        loaded: the model.
        settings: how it is asked.

    Raises:
        InputError: its tokenizer does not tell where tokens stand.
    """

    def __init__(self, loaded: Loaded, settings: ModelSettings) -> None:
        if not loaded.tokenizer.is_fast:
            raise InputError(
                f"model {loaded.name}: a slow tokenizer: got one that does not tell where tokens "
                "stand in a text, expected a fast one (tokenizer.json); choose another model"
            )
        self._loaded = loaded
        self._settings = settings

    def run(self, readings: Sequence[Reading]) -> list[Span | None]:
        """Return the span that answers each question, or None.

        Raises:
            TooLongError: a question is too long for the model.
        """
        windows = [w for number, one in enumerate(readings) for w in self._cut(number, one)]
        found = in_batches(
            windows,
            lambda window: len(window.row["input_ids"]),
            self._settings.batch_size,
            self._read,
        )
        by_reading: list[list[_Found]] = [[] for _ in readings]
        for window, one in zip(windows, found, strict=True):
            by_reading[window.reading].append(one)
        return [
            self._joined(reading.passage, each)
            for reading, each in zip(readings, by_reading, strict=True)
        ]

    def _cut(self, number: int, reading: Reading) -> list[_Window]:
        tokenizer, longest = self._loaded.tokenizer, self._loaded.longest
        with quiet_log():
            asked = len(tokenizer(reading.question, "")["input_ids"])
            if longest - asked < _LEAST_WINDOW:
                raise TooLongError(
                    f"the question is too long for {self._loaded.name}: got {asked} tokens, "
                    f"expected at most {longest - _LEAST_WINDOW}; shorten it"
                )
            made = tokenizer(
                reading.question,
                reading.passage,
                truncation="only_second",
                max_length=longest,
                stride=min(self._settings.stride, (longest - asked) // 2),
                return_overflowing_tokens=True,
                return_offsets_mapping=True,
            )
        windows = []
        names = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in made]
        for place in range(len(made["input_ids"])):
            parts = made.sequence_ids(place)
            offsets = [
                tuple(at) if part == 1 else None
                for at, part in zip(made["offset_mapping"][place], parts, strict=True)
            ]
            windows.append(_Window(number, {n: made[n][place] for n in names}, offsets))
        return windows

    def _read(self, windows: list[_Window]) -> list[_Found]:
        import torch

        model = self._loaded.model
        with torch.inference_mode(), quiet_log():
            made = model(**padded(self._loaded.tokenizer, [w.row for w in windows], model.device))
        starts, ends = made.start_logits.float().cpu(), made.end_logits.float().cpu()
        return [self._best(window, starts[row], ends[row]) for row, window in enumerate(windows)]

    def _best(self, window: _Window, starts: Any, ends: Any) -> _Found:
        """Return the best span of a window; scores are sums of two logits."""
        ids = window.row["input_ids"]
        marks = self._loaded.tokenizer.cls_token_id
        first = ids.index(marks) if marks in ids else 0
        null = float(starts[first] + ends[first])
        inside = [place for place, at in enumerate(window.offsets) if at and at[0] < at[1]]
        if not inside:
            return _Found(-math.inf, 0, 0, null)
        # [T, T] scores of all spans of allowed lengths; windows are some hundreds of tokens.
        import torch

        size = len(window.offsets)
        allowed = torch.zeros(size, dtype=torch.bool)
        allowed[inside] = True
        scores = starts[:size, None] + ends[None, :size]
        band = torch.ones(size, size, dtype=torch.bool).triu()
        band &= ~torch.ones(size, size, dtype=torch.bool).triu(self._settings.longest_answer)
        scores = scores.masked_fill(~(band & allowed[:, None] & allowed[None, :]), -math.inf)
        # Rounded, so that padding cannot decide between spans that score the same.
        place = int((scores * 10**_TIED).round().flatten().argmax())
        a, b = divmod(place, size)
        begin, end = window.offsets[a], window.offsets[b]
        if begin is None or end is None:
            return _Found(-math.inf, 0, 0, null)
        return _Found(float(scores[a, b]), begin[0], end[1], null)

    def _joined(self, passage: str, windows: Sequence[_Found]) -> Span | None:
        best = max(windows, key=lambda found: round(found.score, _TIED))
        null = min(found.null for found in windows)
        lead = best.score - null
        if not math.isfinite(best.score) or lead <= self._settings.threshold:
            return None
        # Byte-level tokens have the space before a word as part of it.
        text = passage[best.start : best.end]
        start = best.start + len(text) - len(text.lstrip())
        text = text.strip()
        if not text:
            return None
        certain = 1 / (1 + math.exp(-max(-700.0, lead)))
        return Span(text, start, start + len(text), rounded(certain))
