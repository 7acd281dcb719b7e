"""Transformers models as judges of entailment, for extractive answers and for question generation.

Long texts are split into overlapping windows.

- *Entailment* is the maximum over all windows, because a text states what any part of it states.
  Contradiction is the maximum too, limited to the remaining probability; neutral gets the rest. If
  a hypothesis leaves no room for its premise, each of its sentences is judged: all must be
  entailed, and one contradicted sentence contradicts the whole.
- An *answer* is the best span of all windows. Its score must exceed the lowest "no answer" score,
  which is the score of the first token's span, by a threshold.
- A *question* is generated with beam search from as much of the passage as fits, centred on the
  answer.

torch and transformers are imported only when a model is loaded. A run with all judgements in the
cache loads no model.

Sources: AutoAIS as in ALCE (Gao et al. 2023, section 4), where the model generates "1" or "0";
here, the probabilities of the two are compared instead. The rule of SQuAD 2.0 (Devlin et al. 2019,
section 4.3). Q² (Honovich et al. 2021, section 3), where the model reads "answer: … context: …".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeVar

from semqa.attribution.judges.base import (
    Ability,
    Entailment,
    Judge,
    Pair,
    Reading,
    Relation,
    Span,
    TooLongError,
)
from semqa.attribution.sentences import split_sentences
from semqa.checks import check_choice, check_number
from semqa.engines.model.hub import ModelFiles, folder_of, model_identity, quiet_log
from semqa.engines.model.text import PromptEncoder
from semqa.engines.transformers.loading import check_tokenizer, choose_device
from semqa.errors import InputError
from semqa.extras import require
from semqa.prompting.prompt import Spelling

_SPELLINGS: dict[Relation, str] = {
    "entailment": "entailment entails entailed attributable supported supports support consistent",
    "neutral": (
        "neutral extrapolatory notentailment nonentailment notentailed unsupported notsupported nei "
        "notenoughinfo notenoughinformation inconsistent unattributable notattributable"
    ),
    "contradiction": "contradiction contradicts contradictory refuted refutes refute",
}
_LABEL_NAMES = {name: relation for relation, names in _SPELLINGS.items() for name in names.split()}
"""Label names, letters only. With two labels, the one that is not entailment is neutral."""


def read_labels(
    model: str, named: Mapping[int, str], given: str | None
) -> tuple[Relation | None, ...]:
    """Return the relation of each output of a classifier.

    The user's names (`given`, separated by slashes) replace those of the model's configuration.

    Example:
        >>> read_labels("m", {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}, None)
        ('contradiction', 'neutral', 'entailment')
    """
    names = [named[number] for number in sorted(named)]
    words = names if given is None else [word.strip() for word in given.split("/")]
    if len(words) != len(names):
        rule = f"must name the {len(names)} labels of {model}, got {given!r}."
        raise InputError(rule, field="labels")
    read = tuple(_LABEL_NAMES.get(re.sub(r"[^a-z]", "", word.casefold())) for word in words)
    if None in read or read.count("entailment") != 1:
        raise InputError(
            f"The model {model} has unknown labels: {', '.join(words)}.",
            hint="Name their meanings in order, such as labels=contradiction/neutral/entailment.",
        )
    return read


_In = TypeVar("_In")
_Out = TypeVar("_Out")
_Row = dict[str, list[int]]
"""Tokenizer output for a text or a pair of texts."""

_DIGITS = 6
"""Decimals of a probability, few enough that padding in float32 cannot change them."""


def in_batches(
    inputs: Sequence[_In], lengths: Sequence[int], size: int, run: Callable[[list[_In]], list[_Out]]
) -> list[_Out]:
    """Call `run` on batches of inputs sorted by length; return results in input order."""
    order = sorted(range(len(inputs)), key=lengths.__getitem__)
    results: dict[int, _Out] = {}
    for start in range(0, len(order), size):
        numbers = order[start : start + size]
        results |= zip(numbers, run([inputs[number] for number in numbers]), strict=True)
    return [results[number] for number in range(len(inputs))]


def pad_batch(tokenizer: Any, rows: Sequence[_Row], device: Any) -> dict[str, Any]:
    """Return tokenizer outputs as padded tensors, each [B, T]."""
    import torch

    width = max(len(row["input_ids"]) for row in rows)
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    fills = {"input_ids": pad, "attention_mask": 0, "token_type_ids": 0}
    return {
        name: torch.tensor(
            [row[name] + [fill] * (width - len(row[name])) for row in rows], device=device
        )
        for name, fill in fills.items()
        if name in rows[0]
    }


def round_probability(value: float) -> float:
    """Round a probability so that it does not depend on the batch, and clip it to [0, 1]."""
    return round(min(1.0, max(0.0, value)), _DIGITS)


Part = Literal["nli", "qa", "qg"]

DEFAULTS: dict[Part, str] = {
    "nli": "google/t5_xxl_true_nli_mixture",
    "qa": "ktrapeznikov/albert-xlarge-v2-squad-v2",
    "qg": "mrm8488/t5-base-finetuned-question-generation-ap",
}
"""Default models: those of AutoAIS and ALCE (11 billion parameters), and of Q²."""

_SETTINGS: dict[str, type] = {
    "labels": str,
    "words": str,
    "premise_format": str,
    "threshold": float,
}
_DTYPES = ("auto", "float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Settings for loading and running models; see `docs/attribution/judges.md`.

    Attributes:
        device: by default a GPU if available.
        dtype: of the weights; by default ``float32`` on a CPU, otherwise as saved.
        words: the outputs of a model that generates its verdict: for entailment and everything
            else, or for entailment, neutral and contradiction.
        threshold: an answer must exceed the "no answer" score by more than this.
    """

    device: str | None = None
    dtype: str | None = None
    batch_size: int = 8
    labels: str | None = None
    words: str = "1/0"
    premise_format: str = "premise: {premise} hypothesis: {hypothesis}"
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if self.dtype is not None:
            check_choice("dtype", self.dtype, _DTYPES)
        check_number("batch_size", self.batch_size, 1, whole=True)
        check_number("threshold", self.threshold, -1e6, 1e6)
        if len(self.verdicts) not in (2, 3) or len(set(self.verdicts)) < len(self.verdicts):
            raise InputError(
                f"must be two or three different words, such as 1/0, got {self.words!r}.",
                field="words",
            )
        if any(self.premise_format.count(hole) != 1 for hole in ("{premise}", "{hypothesis}")):
            raise InputError(
                f"must contain {{premise}} and {{hypothesis}}, each once, got {self.premise_format!r}.",
                field="premise_format",
            )

    @property
    def verdicts(self) -> tuple[str, ...]:
        return tuple(word.strip() for word in self.words.split("/") if word.strip())

    def identity(self) -> str:
        """Return the settings that can change a result, as text."""
        kept = ("dtype", "labels", "premise_format", "threshold", "words")
        return ",".join(f"{name}={getattr(self, name)}" for name in kept)


def read_parts(spec: str, arguments: str) -> tuple[dict[Part, str], dict[str, object]]:
    """Parse the part of a specification after its first colon into models and settings.

    Example:
        >>> read_parts("transformers:nli=a/b,threshold=1", "nli=a/b,threshold=1")
        ({'nli': 'a/b'}, {'threshold': 1.0})
    """
    models: dict[Part, str] = {}
    settings: dict[str, object] = {}
    for piece in filter(None, map(str.strip, arguments.split(","))):
        name, equals, value = (part.strip() for part in piece.partition("="))
        key = name.replace("-", "_")
        if key in models or key in settings:
            raise InputError(f"is given twice in {spec!r}.", field=name)
        if key in DEFAULTS:
            models[key] = value or DEFAULTS[key]
        elif key in _SETTINGS and equals:
            try:
                settings[key] = _SETTINGS[key](value)
            except ValueError:
                raise InputError(f"must be a number, got {value!r}.", field=name) from None
        else:
            names = ", ".join(f"{each}=" for each in (*DEFAULTS, *_SETTINGS)).replace("_", "-")
            raise InputError(
                f"{piece!r} in {spec!r} must begin with one of {names}.",
                hint="Example: transformers:nli=MODEL.",
            )
    return models or dict(DEFAULTS), settings


_TRAINED_FOR: dict[Part, str] = {
    "nli": "for entailment (a sequence classifier, or an encoder-decoder that generates its verdict)",
    "qa": "for extractive question answering, such as on SQuAD 2.0",
    "qg": "for question generation (an encoder-decoder)",
}
_OFFSET_TYPES = {"roberta", "xlm-roberta", "camembert", "longformer", "mpnet", "xlm-roberta-xl"}
"""Model types whose positions start after the index of the padding token."""

_MAX_WITHOUT_POSITIONS = 4096
"""Maximum input tokens for models without position embeddings, such as T5; limits memory."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model and its tokenizer.

    Attributes:
        generates: whether it generates its output, as encoder-decoders do.
        longest: maximum number of input tokens.
        spelled: splits control tokens in a text, so that they are read as plain text.
    """

    name: str
    model: Any
    tokenizer: Any
    generates: bool
    longest: int
    spelled: Spelling


def model_digest(name: str) -> str | None:
    """Return a digest or commit that identifies a model; None if it is not downloaded yet."""
    folder = folder_of(name)
    return model_identity(f"transformers:{folder or name}")


def load(name: str, part: Part, settings: ModelSettings) -> Loaded:
    """Load a model for a part of a judge."""
    # Use the local copy, so that results of two versions are never mixed.
    files = ModelFiles.find(name, model_digest(name) if folder_of(name) is None else None)
    device = choose_device(settings.device)
    dtype = settings.dtype or ("float32" if device == "cpu" else "auto")
    with files.loading(f"one that was trained {_TRAINED_FOR[part]}"):
        config = files.config()
        kind, generates = _model_class(part, config)
        tokenizer = files.tokenizer()
        model, missing = files.model(kind, config, dtype=dtype)
        if missing:
            raise InputError(
                f"The model {name} was not trained {_TRAINED_FOR[part]}: it has no weights for {missing[0]}."
            )
        check_tokenizer(name, tokenizer, model)
        # “</s>” in a user's text is four characters, not an end token. (If offsets do not
        # matter, `spelled` splits it too: some vocabularies have it as an ordinary token.)
        tokenizer.split_special_tokens = True
        model = model.to(device).eval()
    reserved = PromptEncoder(tokenizer, is_encoder_decoder=generates, form="completion").reserved
    longest = longest_input(tokenizer, model.config)
    return Loaded(name, model, tokenizer, generates, longest, Spelling(reserved))


def _model_class(part: Part, config: Any) -> tuple[Any, bool]:
    """Return the model class, and whether the model generates its output."""
    from transformers import (
        AutoModelForQuestionAnswering,
        AutoModelForSeq2SeqLM,
        AutoModelForSequenceClassification,
    )

    named = " ".join(getattr(config, "architectures", None) or ())
    if part == "qg":
        return AutoModelForSeq2SeqLM, True
    if part == "qa":
        return AutoModelForQuestionAnswering, False
    if config.is_encoder_decoder and "SequenceClassification" not in named:
        return AutoModelForSeq2SeqLM, True
    return AutoModelForSequenceClassification, False


def longest_input(tokenizer: Any, config: Any) -> int:
    """Return the maximum number of input tokens, from the tokenizer and the position embeddings."""
    distances = getattr(config, "relative_attention_num_buckets", None)
    if distances and config.is_encoder_decoder:
        return _MAX_WITHOUT_POSITIONS  # such as T5; its tokenizer's 512 is not a limit
    limits = [_MAX_WITHOUT_POSITIONS, int(min(tokenizer.model_max_length, 1 << 30))]
    positions = getattr(config, "max_position_embeddings", None) or getattr(
        config, "n_positions", None
    )
    if isinstance(positions, int) and positions > 0:
        if config.model_type in _OFFSET_TYPES:
            positions -= int(config.pad_token_id or 0) + 1
        limits.append(positions)
    return min(limits)


_MIN_WINDOW = 16
"""Minimum tokens left for the premise (or passage) in a window."""

_MARGIN = 4
"""Spare tokens per window, because a slice of a text can have more tokens than in the whole."""

_STRIDE = 128
"""Maximum overlap of neighbouring windows, in tokens."""


class Entailer:
    """Runs an entailment model."""

    def __init__(self, loaded: Loaded, settings: ModelSettings) -> None:
        self._loaded = loaded
        self._settings = settings
        self._relations: tuple[Relation | None, ...] = ("entailment", "neutral", "contradiction")
        if loaded.generates:
            self._words = _word_tokens(loaded, settings.verdicts)
            self._relations = self._relations[: len(self._words)]
        else:
            self._relations = read_labels(
                loaded.name, dict(loaded.model.config.id2label), settings.labels
            )

    def run(self, pairs: Sequence[Pair]) -> list[Entailment]:
        spelled = self._loaded.spelled
        pairs = [Pair(spelled(pair.premise), spelled(pair.hypothesis)) for pair in pairs]
        parts = [self._parts(pair) for pair in pairs]
        flat = [
            Pair(pair.premise, part) for pair, own in zip(pairs, parts, strict=True) for part in own
        ]
        found = iter(self._run(flat))
        return [_combine([next(found) for _ in own], min) for own in parts]

    def _run(self, pairs: Sequence[Pair]) -> list[Entailment]:
        by_pair = [self._windows(pair) for pair in pairs]
        rows = [row for own in by_pair for row in own]
        judge = self._generate if self._loaded.generates else self._classify
        lengths = [len(row["input_ids"]) for row in rows]
        judged = iter(in_batches(rows, lengths, self._settings.batch_size, judge))
        return [_combine([self._read(next(judged)) for _ in own], max) for own in by_pair]

    def _parts(self, pair: Pair) -> list[str]:
        """Return the hypothesis, or its sentences if it is too long."""
        with quiet_log():
            if self._premise_budget(pair.hypothesis) >= _MIN_WINDOW:
                return [pair.hypothesis]
            if len(self._encode(*pair)["input_ids"]) <= self._loaded.longest:
                return [pair.hypothesis]
        return split_sentences(pair.hypothesis) or [pair.hypothesis]

    def _premise_budget(self, hypothesis: str) -> int:
        return self._loaded.longest - len(self._encode("", hypothesis)["input_ids"])

    def _windows(self, pair: Pair) -> list[_Row]:
        with quiet_log():  # suppress warnings on long texts, which are split below
            whole = self._encode(pair.premise, pair.hypothesis)
            if len(whole["input_ids"]) <= self._loaded.longest:
                return [whole]
            budget = self._premise_budget(pair.hypothesis)
            if budget < _MIN_WINDOW:
                raise TooLongError(
                    f"A sentence of the hypothesis is too long for {self._loaded.name}: {' '.join(pair.hypothesis.split())[:60]!r}… leaves {budget} tokens for the premise."
                )
            return [
                row
                for start, end in self._spans(pair.premise, budget)
                for row in self._split_to_fit(pair.premise[start:end], pair.hypothesis)
            ]

    def _split_to_fit(self, premise: str, hypothesis: str) -> list[_Row]:
        """Return one window, or several if a slice has more tokens than in the whole text."""
        row = self._encode(premise, hypothesis)
        if len(row["input_ids"]) <= self._loaded.longest or len(premise) < 2:
            return [row]
        half = len(premise) // 2
        halves = (premise[:half], premise[half:])
        return [row for part in halves for row in self._split_to_fit(part, hypothesis)]

    def _spans(self, text: str, budget: int) -> list[tuple[int, int]]:
        """Return the character spans of a text's windows."""
        size = max(1, budget - _MARGIN)
        stride = min(_STRIDE, size // 2)
        tokenizer = self._loaded.tokenizer
        made = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        offsets = made["offset_mapping"]
        # The last window is the first one that reaches the end.
        firsts = range(0, max(1, len(offsets) - stride), size - stride)
        windows = (offsets[first : first + size] for first in firsts)
        return [(tokens[0][0], tokens[-1][1]) for tokens in windows if tokens]

    def _encode(self, premise: str, hypothesis: str) -> _Row:
        tokenizer = self._loaded.tokenizer
        if not self._loaded.generates:
            return dict(tokenizer(premise, hypothesis))
        # Not with `format`, because the texts may contain braces.
        parts = self._settings.premise_format.split("{premise}")
        return dict(tokenizer(premise.join(p.replace("{hypothesis}", hypothesis) for p in parts)))

    def _classify(self, rows: Sequence[_Row]) -> list[list[float]]:
        import torch

        model = self._loaded.model
        with torch.inference_mode(), quiet_log():
            logits = model(**pad_batch(self._loaded.tokenizer, rows, model.device)).logits
        return list(logits.float().softmax(-1).tolist())

    def _generate(self, rows: Sequence[_Row]) -> list[list[float]]:
        """Return the probabilities of the verdicts, normalised: [B, verdicts]."""
        import torch

        model = self._loaded.model
        inputs = pad_batch(self._loaded.tokenizer, rows, model.device)
        inputs.pop("token_type_ids", None)
        start = int(model.config.decoder_start_token_id)
        scores = []
        with torch.inference_mode(), quiet_log():
            encoded = model.get_encoder()(**inputs)
            for word in self._words:
                target = torch.tensor([word] * len(rows), device=model.device)
                first = torch.full((len(rows), 1), start, device=model.device)
                logits = model(
                    encoder_outputs=encoded,
                    attention_mask=inputs["attention_mask"],
                    decoder_input_ids=torch.cat([first, target[:, :-1]], dim=1),
                ).logits
                log_probabilities = logits.float().log_softmax(-1)
                scores.append(log_probabilities.gather(-1, target[..., None])[..., 0].sum(-1))
        return list(torch.stack(scores, dim=-1).softmax(-1).tolist())

    def _read(self, probabilities: Sequence[float]) -> Entailment:
        found = {"entailment": 0.0, "neutral": 0.0, "contradiction": 0.0}
        for relation, value in zip(self._relations, probabilities, strict=True):
            if relation is not None:
                found[relation] += value
        return Entailment(**found)


def _combine(parts: Sequence[Entailment], entailed: Callable[..., float]) -> Entailment:
    """Combine the judgements of windows (with `max`) or of sentences (with `min`)."""
    entailment = round_probability(entailed(each.entailment for each in parts))
    contradiction = round_probability(max(each.contradiction for each in parts))
    contradiction = min(contradiction, 1 - entailment)
    return Entailment(entailment, round_probability(1 - entailment - contradiction), contradiction)


def _word_tokens(loaded: Loaded, words: Sequence[str]) -> list[list[int]]:
    """Return the token ids of each verdict; raise if two of them are the same."""
    tokens = [loaded.tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    unknown = loaded.tokenizer.unk_token_id
    if len({tuple(each) for each in tokens}) < len(tokens) or any(
        not each or unknown in each for each in tokens
    ):
        raise InputError(
            f"must be different tokens of the model {loaded.name}, got {'/'.join(words)}.",
            field="words",
            value=words,
        )
    return [list(each) for each in tokens]


_MAX_ANSWER_TOKENS = 30
"""Maximum length of an answer in tokens."""

_SCORE_DECIMALS = 4
"""Decimals to which span scores are compared; of equal spans, the first one is used."""


class _Window(NamedTuple):
    """A question and a window of its passage, with the offsets of the passage's tokens."""

    row: _Row
    offsets: list[tuple[int, int] | None]


class _Found(NamedTuple):
    """The best span of a window, in characters, with its score and the "no answer" score."""

    score: float
    start: int
    end: int
    null: float


class Reader:
    """Runs an extractive question answering model."""

    def __init__(self, loaded: Loaded, settings: ModelSettings) -> None:
        if not loaded.tokenizer.is_fast:
            raise InputError(f"{loaded.name} needs a fast tokenizer, with a tokenizer.json.")
        self._loaded = loaded
        self._settings = settings

    def run(self, readings: Sequence[Reading]) -> list[Span | None]:
        by_reading = [self._windows(reading) for reading in readings]
        windows = [window for own in by_reading for window in own]
        lengths = [len(window.row["input_ids"]) for window in windows]
        found = iter(in_batches(windows, lengths, self._settings.batch_size, self._read))
        return [
            self._combine_windows(reading.passage, [next(found) for _ in own])
            for reading, own in zip(readings, by_reading, strict=True)
        ]

    def _windows(self, reading: Reading) -> list[_Window]:
        tokenizer, longest = self._loaded.tokenizer, self._loaded.longest
        with quiet_log():
            question_tokens = len(tokenizer(reading.question, "")["input_ids"])
            if longest - question_tokens < _MIN_WINDOW:
                raise TooLongError(
                    f"The question is too long for {self._loaded.name}: {question_tokens} tokens of at most {longest - _MIN_WINDOW}."
                )
            made = tokenizer(
                reading.question,
                reading.passage,
                truncation="only_second",
                max_length=longest,
                stride=min(_STRIDE, (longest - question_tokens) // 2),
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
            windows.append(_Window({n: made[n][place] for n in names}, offsets))
        return windows

    def _read(self, windows: list[_Window]) -> list[_Found]:
        import torch

        model = self._loaded.model
        with torch.inference_mode(), quiet_log():
            made = model(
                **pad_batch(self._loaded.tokenizer, [w.row for w in windows], model.device)
            )
        starts, ends = made.start_logits.float().cpu(), made.end_logits.float().cpu()
        return [self._best(window, starts[row], ends[row]) for row, window in enumerate(windows)]

    def _best(self, window: _Window, starts: Any, ends: Any) -> _Found:
        """Return the best span of a window; a score is the sum of the start and end logits."""
        ids = window.row["input_ids"]
        cls = self._loaded.tokenizer.cls_token_id
        first = ids.index(cls) if cls in ids else 0
        null = float(starts[first] + ends[first])
        inside = [place for place, at in enumerate(window.offsets) if at and at[0] < at[1]]
        if not inside:
            return _Found(-math.inf, 0, 0, null)
        # [T, T] scores of all spans; windows have a few hundred tokens.
        import torch

        size = len(window.offsets)
        allowed = torch.zeros(size, size, dtype=torch.bool)
        allowed[torch.tensor(inside)[:, None], torch.tensor(inside)] = True
        allowed = allowed.triu() & ~allowed.triu(_MAX_ANSWER_TOKENS)
        scores = (starts[:size, None] + ends[None, :size]).masked_fill(~allowed, -math.inf)
        # Rounded, so that padding cannot break ties between spans.
        place = int((scores * 10**_SCORE_DECIMALS).round().flatten().argmax())
        a, b = divmod(place, size)
        begin, end = window.offsets[a], window.offsets[b]
        assert begin is not None and end is not None  # noqa: PT018, S101  (both are inside)
        return _Found(float(scores[a, b]), begin[0], end[1], null)

    def _combine_windows(self, passage: str, windows: Sequence[_Found]) -> Span | None:
        best = max(windows, key=lambda found: round(found.score, _SCORE_DECIMALS))
        null = min(found.null for found in windows)
        margin = best.score - null
        if not math.isfinite(best.score) or margin <= self._settings.threshold:
            return None
        # Byte-level tokens include the space before a word.
        text = passage[best.start : best.end]
        start = best.start + len(text) - len(text.lstrip())
        text = text.strip()
        if not text:
            return None
        probability = 1 / (1 + math.exp(-max(-700.0, margin)))
        return Span(text, start, start + len(text), round_probability(probability))


_MAX_QUESTION_TOKENS = 64
"""Maximum length of a question in tokens."""

_MAX_INPUT_TOKENS = 512
"""Maximum input tokens; a question depends on the text near its answer."""

_PREFIX = re.compile(r"^\s*question\s*:\s*", re.IGNORECASE)


class QuestionGenerator:
    """Runs a question generation model, which reads "answer: … context: …"."""

    def __init__(self, loaded: Loaded, settings: ModelSettings) -> None:
        self._loaded = loaded
        self._settings = settings
        self._longest = min(loaded.longest, _MAX_INPUT_TOKENS)

    def run(self, readings: Sequence[tuple[str, str]], count: int) -> list[list[str]]:
        spelled = self._loaded.spelled
        rows = [self._encode(spelled(answer), spelled(passage)) for answer, passage in readings]
        size = max(1, self._settings.batch_size // max(1, count // 2))
        lengths = [len(row["input_ids"]) for row in rows]
        return in_batches(rows, lengths, size, lambda batch: self._generate(batch, count))

    def _encode(self, answer: str, passage: str) -> _Row:
        def encoded(text: str) -> _Row:
            return dict(self._loaded.tokenizer(f"answer: {answer}  context: {text}"))

        with quiet_log():
            row = encoded(passage)
            if len(row["input_ids"]) <= self._longest:
                return row
            budget = self._longest - len(encoded("")["input_ids"])
            if budget < 1:
                raise TooLongError(
                    f"The answer {' '.join(answer.split())[:60]!r}… is too long for {self._loaded.name}, which reads {self._longest} tokens."
                )
            at = max(0, passage.find(answer))
            middle = at + len(answer) // 2
            size = len(passage)
            while len(row["input_ids"]) > self._longest:
                # Shrink by the excess, but by at least 5% each time.
                size = int(size * min(0.95, self._longest / len(row["input_ids"])))
                start = max(0, min(middle - size // 2, len(passage) - size))
                row = encoded(passage[start : start + size])
        return row

    def _generate(self, rows: Sequence[_Row], count: int) -> list[list[str]]:
        import torch
        from transformers import GenerationConfig

        model, tokenizer = self._loaded.model, self._loaded.tokenizer
        inputs = pad_batch(tokenizer, rows, model.device)
        inputs.pop("token_type_ids", None)
        config = model.generation_config
        settings = GenerationConfig(
            max_new_tokens=_MAX_QUESTION_TOKENS,
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
            written = model.generate(**inputs, generation_config=settings)
        texts = tokenizer.batch_decode(written, skip_special_tokens=True)
        return [_read(texts[first : first + count]) for first in range(0, len(texts), count)]


def _read(texts: Sequence[str]) -> list[str]:
    questions = (" ".join(_PREFIX.sub("", text).split()) for text in texts)
    return list(dict.fromkeys(question for question in questions if question))


_ABILITIES: dict[Part, Ability] = {"nli": "entailment", "qa": "answer", "qg": "ask"}
_KINDS: dict[Part, Any] = {"nli": Entailer, "qa": Reader, "qg": QuestionGenerator}
_VERSION = 1
"""Increase this when the same models give different results."""


class TransformersJudge(Judge):
    """A judge with any of three models: entailment, question answering and question generation.

    `models` has a folder or a name on the Hub for each part. Calls are serialized, for threads.
    """

    def __init__(self, models: Mapping[Part, str], settings: ModelSettings, name: str) -> None:
        self.name = name
        self._settings = settings
        self._models = dict(models)
        self._lock = Lock()
        self._loaded: dict[Part, Any] = {}
        for package in ("transformers", "torch"):
            if find_spec(package) is None:  # imported only when a model is loaded
                require(package, extra="local", purpose=f"the judge {self.name}")
        digests = []
        for part, model in self._models.items():
            if model_digest(model) is None:
                self._part(part)  # download the model
            digests.append(f"{part}={model_digest(model)}")
        self.identity = f"transformers/{_VERSION}:{','.join(digests)};{settings.identity()}"

    @property
    def abilities(self) -> frozenset[Ability]:
        return frozenset(_ABILITIES[part] for part in self._models)

    def close(self) -> None:
        with self._lock:
            self._loaded.clear()

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        return self._run("nli", pairs)

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        return self._run("qa", readings)

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        return self._run("qg", readings, count)

    def _run(self, part: Part, *inputs: Any) -> list[Any]:
        with self._lock:
            found: list[Any] = self._part(part).run(*inputs)
        return found

    def _part(self, part: Part) -> Any:
        if part not in self._loaded:
            model = load(self._models[part], part, self._settings)
            self._loaded[part] = _KINDS[part](model, self._settings)
        return self._loaded[part]
