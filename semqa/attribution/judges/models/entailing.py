"""Entailment by a model: a classifier of two texts, or an encoder-decoder that writes its verdict.

Premises that are longer than the model reads are read in windows that overlap; the hypothesis
stands whole in each. Entailment is the highest of all windows, for what one part of a text says, the
text says; of what is left, contradiction gets the highest of all windows, and neutral the rest. A
hypothesis that leaves no room for its premise is judged sentence by sentence: all of them must
follow, and one that is contradicted contradicts the whole.

Source: AutoAIS as ALCE uses it (Gao et al. 2023, section 4), where the model writes “1” or “0”;
differs in that the probabilities of the two are compared, rather than a text written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.attribution.judges.base import Entailment, Pair
from semqa.attribution.judges.length import TooLongError
from semqa.attribution.judges.lexical_words import sentences
from semqa.attribution.judges.models.batches import in_batches, padded, rounded
from semqa.attribution.judges.models.labels import read_labels
from semqa.engines.model.quiet import quiet_log
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.judges.base import Relation
    from semqa.attribution.judges.models.loading import Loaded
    from semqa.attribution.judges.models.settings import ModelSettings

__all__ = ["Entailer"]

_LEAST_WINDOW = 16
"""Tokens of the premise that must fit beside a hypothesis."""

_MARGIN = 4
"""Tokens that a part of a text may have more than it had in the whole."""


class _Window(NamedTuple):
    """A hypothesis and a part of its premise, as token ids.

    Attributes:
        pair: the number of the pair.
        row: what the tokenizer made of it.
    """

    pair: int
    row: dict[str, list[int]]


class Entailer:
    """Tells entailment with one model.

    Args:
        loaded: the model.
        settings: what labels mean, and how it is asked.

    Raises:
        InputError: the labels of a classifier mean nothing that is known.
    """

    def __init__(self, loaded: Loaded, settings: ModelSettings) -> None:
        self._loaded = loaded
        self._settings = settings
        self._relations: tuple[Relation | None, ...]
        if loaded.writes:
            self._words = _word_tokens(loaded, settings.verdicts)
            all_three: tuple[Relation, ...] = ("entailment", "neutral", "contradiction")
            self._relations = all_three[: len(self._words)]
        else:
            self._relations = read_labels(
                loaded.name, dict(loaded.model.config.id2label), settings.labels
            )

    def run(self, pairs: Sequence[Pair]) -> list[Entailment]:
        """Return how each hypothesis stands to its premise.

        Raises:
            TooLongError: a hypothesis is too long for the model.
        """
        spelled = self._loaded.spelled
        pairs = [Pair(spelled(pair.premise), spelled(pair.hypothesis)) for pair in pairs]
        parts = [self._parts(pair) for pair in pairs]
        flat = [
            Pair(pair.premise, part) for pair, own in zip(pairs, parts, strict=True) for part in own
        ]
        found = iter(self._run(flat))
        return [_all_of([next(found) for _ in own]) for own in parts]

    def _run(self, pairs: Sequence[Pair]) -> list[Entailment]:
        windows = [
            window for number, pair in enumerate(pairs) for window in self._cut(number, pair)
        ]
        judge = self._write if self._loaded.writes else self._classify
        rows = in_batches(
            windows,
            lambda window: len(window.row["input_ids"]),
            self._settings.batch_size,
            lambda some: judge([window.row for window in some]),
        )
        by_pair: list[list[Entailment]] = [[] for _ in pairs]
        for window, probabilities in zip(windows, rows, strict=True):
            by_pair[window.pair].append(self._read(probabilities))
        return [_joined(found) for found in by_pair]

    def _parts(self, pair: Pair) -> list[str]:
        """Return the hypothesis, or its sentences where it is too long to be read whole."""
        with quiet_log():
            if self._room(pair.hypothesis) >= _LEAST_WINDOW:
                return [pair.hypothesis]
            if len(self._encode(*pair)["input_ids"]) <= self._loaded.longest:
                return [pair.hypothesis]
        return sentences(pair.hypothesis) or [pair.hypothesis]

    def _room(self, hypothesis: str) -> int:
        """Return how many tokens of a premise fit beside a hypothesis."""
        return self._loaded.longest - len(self._encode("", hypothesis)["input_ids"])

    def _cut(self, number: int, pair: Pair) -> list[_Window]:
        """Return the windows of a pair; one, where the model reads it whole."""
        tokenizer, longest = self._loaded.tokenizer, self._loaded.longest
        with quiet_log():  # of texts that are longer than the model: they are cut below
            whole = self._encode(pair.premise, pair.hypothesis)
            if len(whole["input_ids"]) <= longest:
                return [_Window(number, whole)]
            room = self._room(pair.hypothesis)
            if room < _LEAST_WINDOW:
                raise TooLongError(
                    f"a sentence of the hypothesis is too long for {self._loaded.name}: got "
                    f"{' '.join(pair.hypothesis.split())[:60]!r}…, which leaves {room} tokens for "
                    f"the premise, expected {_LEAST_WINDOW} at least of {longest}; split it"
                )
            return [
                _Window(number, row)
                for start, end in self._spans(tokenizer, pair.premise, room)
                for row in self._fitting(pair.premise[start:end], pair.hypothesis)
            ]

    def _fitting(self, premise: str, hypothesis: str) -> list[dict[str, list[int]]]:
        """Return a window, or two where a text that is cut has more tokens than its part had."""
        row = self._encode(premise, hypothesis)
        if len(row["input_ids"]) <= self._loaded.longest or len(premise) < 2:
            return [row]
        half = len(premise) // 2
        return [
            each
            for part in (premise[:half], premise[half:])
            for each in self._fitting(part, hypothesis)
        ]

    def _spans(self, tokenizer: Any, text: str, room: int) -> list[tuple[int, int]]:
        """Return where windows of a text begin and end, in characters."""
        # A text that is cut may take some tokens more than its part of the whole.
        size = max(1, room - _MARGIN)
        stride = min(self._settings.stride, size // 2)
        offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)[
            "offset_mapping"
        ]
        spans = []
        for first in range(0, len(offsets), size - stride):
            last = min(first + size, len(offsets)) - 1
            spans.append((offsets[first][0], offsets[last][1]))
            if last + 1 == len(offsets):
                break
        return spans

    def _encode(self, premise: str, hypothesis: str) -> dict[str, list[int]]:
        tokenizer = self._loaded.tokenizer
        if self._loaded.writes:
            form = self._settings.premise_format
            # Not by `format`: braces in texts are text.
            before, _, rest = form.partition("{premise}")
            text = (
                before.replace("{hypothesis}", hypothesis)
                + premise
                + rest.replace("{hypothesis}", hypothesis)
            )
            return dict(tokenizer(text))
        return dict(tokenizer(premise, hypothesis))

    def _classify(self, rows: Sequence[dict[str, list[int]]]) -> list[list[float]]:
        import torch

        model = self._loaded.model
        with torch.inference_mode(), quiet_log():
            logits = model(**padded(self._loaded.tokenizer, rows, model.device)).logits
        return list(logits.float().softmax(-1).tolist())

    def _write(self, rows: Sequence[dict[str, list[int]]]) -> list[list[float]]:
        """Return the probabilities of the verdicts, to each other: [B, verdicts]."""
        import torch

        model = self._loaded.model
        inputs = padded(self._loaded.tokenizer, rows, model.device)
        inputs.pop("token_type_ids", None)
        start = int(model.config.decoder_start_token_id)
        scores = []
        with torch.inference_mode(), quiet_log():
            encoded = model.get_encoder()(**inputs)
            for word in self._words:
                target = torch.tensor([word] * len(rows), device=model.device)
                begun = torch.full((len(rows), 1), start, device=model.device)
                logits = model(
                    encoder_outputs=encoded,
                    attention_mask=inputs["attention_mask"],
                    decoder_input_ids=torch.cat([begun, target[:, :-1]], dim=1),
                ).logits
                chances = logits.float().log_softmax(-1)
                scores.append(chances.gather(-1, target[..., None])[..., 0].sum(-1))
        return list(torch.stack(scores, dim=-1).softmax(-1).tolist())

    def _read(self, probabilities: Sequence[float]) -> Entailment:
        found = {"entailment": 0.0, "neutral": 0.0, "contradiction": 0.0}
        for relation, value in zip(self._relations, probabilities, strict=True):
            if relation is not None:
                found[relation] += value
        return Entailment(**found)


def _all_of(parts: Sequence[Entailment]) -> Entailment:
    """Return what is said of the parts of one hypothesis together."""
    if len(parts) == 1:
        return parts[0]
    follows = min(each.entailment for each in parts)
    contrary = min(max(each.contradiction for each in parts), 1 - follows)
    return Entailment(follows, rounded(1 - follows - contrary), contrary)


def _joined(windows: Sequence[Entailment]) -> Entailment:
    """Return what the windows of one premise say together."""
    follows = rounded(max(each.entailment for each in windows))
    contrary = min(rounded(max(each.contradiction for each in windows)), 1 - follows)
    return Entailment(follows, rounded(1 - follows - contrary), contrary)


def _word_tokens(loaded: Loaded, words: Sequence[str]) -> list[list[int]]:
    """Return the tokens of each verdict.

    Raises:
        InputError: two are the same to the model.
    """
    tokens = [loaded.tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    unknown = loaded.tokenizer.unk_token_id
    if len({tuple(each) for each in tokens}) < len(tokens) or any(
        not each or unknown in each for each in tokens
    ):
        raise InputError(
            f"words: got {'/'.join(words)} for the model {loaded.name}, which does not tell them "
            "apart, expected words that it was trained to write; correct them"
        )
    return [list(each) for each in tokens]
