"""Models of transformers that judge: entailment, answers by a span, questions by an encoder-decoder.

Long texts are read in overlapping windows. *Entailment* is the highest of all windows, because what a part
of a text says, the text says; of the rest, contradiction gets the highest of all windows, and neutral what
remains. A hypothesis that leaves no room for its premise is judged sentence by sentence: all must follow,
and one that is contradicted contradicts the whole. An *answer* must score above no answer, which is the
span of the first token, by a threshold; no window may have a better one. A *question* is written with a
beam search after reading as much of the passage as fits, with the answer in the middle.

Loads torch and transformers only when a model is loaded.

Source: AutoAIS as ALCE uses it (Gao et al. 2023, section 4), where the model writes "1" or "0"; differs in
that the probabilities of the two are compared. SQuAD 2.0's rule (Devlin et al. 2019, section 4.3). Q²
(Honovich et al. 2021, section 3), whose model reads "answer: … context: …".
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from semqa.attribution.judges.base import Entailment, Pair, Span, TooLongError
from semqa.attribution.sentences import split_sentences
from semqa.checks import check_range, check_whole
from semqa.engines.model.hub import (
    explained,
    folder_of,
    for_weights,
    is_on_disk_only,
    load_tokenizer,
    model_identity,
    quiet,
    quiet_log,
)
from semqa.engines.model.text import PromptEncoder
from semqa.engines.transformers.loading import check_tokenizer, choose_device, dtype_option
from semqa.errors import InputError, SemqaError
from semqa.prompting.prompt import Spelling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from semqa.attribution.judges.base import Reading, Relation


_NAMES: dict[str, Relation] = {
    **dict.fromkeys(
        [
            "entailment",
            "entails",
            "entailed",
            "attributable",
            "supported",
            "supports",
            "support",
            "consistent",
        ],
        "entailment",
    ),
    **dict.fromkeys(
        [
            "neutral",
            "extrapolatory",
            "notentailment",
            "nonentailment",
            "notentailed",
            "unsupported",
            "notsupported",
            "nei",
            "notenoughinfo",
            "notenoughinformation",
            "inconsistent",
            "unattributable",
            "notattributable",
        ],
        "neutral",
    ),
    **dict.fromkeys(
        ["contradiction", "contradicts", "contradictory", "refuted", "refutes", "refute"],
        "contradiction",
    ),
}
"""Names by their letters alone. Of two labels, the other one is all that does not follow: neutral."""


def read_labels(
    model: str, named: Mapping[int, str], given: str | None
) -> tuple[Relation | None, ...]:
    """Return the relation of each output of a classifier.

    Args:
        model: its name, for messages.
        named: the labels that its configuration names, by their numbers.
        given: what the user says of them, in order, between slashes; None for what the names say.

    Example:
        >>> read_labels("m", {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}, None)
        ('contradiction', 'neutral', 'entailment')
    """
    names = [named[number] for number in sorted(named)]
    words = names if given is None else [word.strip() for word in given.split("/")]
    if len(words) != len(names):
        raise InputError(
            f"must name the {len(names)} labels of {model}, got {given!r}.",
            field="labels",
            value=given,
        )
    read = tuple(_NAMES.get(re.sub(r"[^a-z]", "", word.casefold())) for word in words)
    if None in read or read.count("entailment") != 1:
        raise InputError(
            f"The model {model} has labels of unknown meaning: {', '.join(words)}.",
            hint="Say what they mean in their order, such as labels=contradiction/neutral/entailment.",
        )
    return read


_Out = TypeVar("_Out")
_Row = dict[str, list[int]]
"""What a tokenizer makes of a text, or of two."""

_DIGITS = 6
"""Decimals of a probability: fewer than padding can change in float32."""


def in_batches(
    rows: Sequence[_Row], size: int, run: Callable[[list[int]], Sequence[_Out]]
) -> list[_Out]:
    """Return what `run` makes of the row of each number, given neighbours in length together."""
    order = sorted(range(len(rows)), key=lambda number: len(rows[number]["input_ids"]))
    results: dict[int, _Out] = {}
    for start in range(0, len(order), size):
        numbers = order[start : start + size]
        results.update(zip(numbers, run(numbers), strict=True))
    return [results[number] for number in range(len(rows))]


def padded(tokenizer: Any, rows: Sequence[_Row], device: Any) -> dict[str, Any]:
    """Return rows of token ids as tensors [B, T], with an attention mask."""
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


def rounded(value: float) -> float:
    """Round a probability so that it does not depend on the batch."""
    return round(min(1.0, max(0.0, value)), _DIGITS)


Part = Literal["nli", "qa", "qg"]

DEFAULTS: dict[Part, str] = {
    "nli": "google/t5_xxl_true_nli_mixture",
    "qa": "ktrapeznikov/albert-xlarge-v2-squad-v2",
    "qg": "mrm8488/t5-base-finetuned-question-generation-ap",
}
"""The models of a part that names none: of AutoAIS and ALCE (11 billion weights), and of Q²."""

_TEXTS = ("labels", "words", "premise-format")
_DTYPES = ("auto", "float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How models are loaded and asked.

    Attributes:
        device: such as ``cpu`` or ``cuda:1``; by default a GPU if there is one.
        dtype: of the weights; by default ``float32`` on a CPU, else as they were saved.
        batch_size: inputs that a model reads together.
        labels: what the labels 0, 1, … of a classifier mean, if their names do not tell:
            ``contradiction/neutral/entailment``.
        words: what a model that writes its verdict writes, for entailment and for the rest, or for
            entailment, neutral and contradiction.
        premise_format: what such a model reads, with ``{premise}`` and ``{hypothesis}``.
        threshold: how much more an answer must score than no answer.

    Raises:
        InputError: a setting is invalid.
    """

    device: str | None = None
    dtype: str | None = None
    batch_size: int = 8
    labels: str | None = None
    words: str = "1/0"
    premise_format: str = "premise: {premise} hypothesis: {hypothesis}"
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if self.dtype is not None and self.dtype not in _DTYPES:
            raise InputError(
                f"must be one of {', '.join(_DTYPES)}, got {self.dtype!r}.",
                field="dtype",
                value=self.dtype,
            )
        check_whole("batch_size", self.batch_size, 1)
        check_range("threshold", self.threshold, -1e6, 1e6)
        if len(self.verdicts) not in (2, 3) or len(set(self.verdicts)) < len(self.verdicts):
            raise InputError(
                f"must be two or three different words, such as 1/0, got {self.words!r}.",
                field="words",
                value=self.words,
            )
        if any(self.premise_format.count(hole) != 1 for hole in ("{premise}", "{hypothesis}")):
            raise InputError(
                f"must contain {{premise}} and {{hypothesis}}, each once, got {self.premise_format!r}.",
                field="premise_format",
                value=self.premise_format,
            )

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The words of `words`."""
        return tuple(word.strip() for word in self.words.split("/") if word.strip())

    def identity(self) -> str:
        """Return the settings that can change a result."""
        kept = ("dtype", "labels", "premise_format", "threshold", "words")
        return ",".join(f"{name}={getattr(self, name)}" for name in kept)


def read_parts(spec: str, carried: str) -> tuple[dict[Part, str], dict[str, object]]:
    """Return the models by part, and the settings, that a specification names after its first colon.

    Example:
        >>> read_parts("transformers:nli=a/b,threshold=1", "nli=a/b,threshold=1")
        ({'nli': 'a/b'}, {'threshold': 1.0})
    """
    models: dict[Part, str] = {}
    settings: dict[str, object] = {}
    for piece in filter(None, map(str.strip, carried.split(","))):
        name, equals, value = (part.strip() for part in piece.partition("="))
        key = name.replace("_", "-")
        if key in (*models, *settings) or key.replace("-", "_") in settings:
            raise InputError(f"is there twice in {spec!r}.", field=name)
        if key in DEFAULTS:
            models[key] = value or DEFAULTS[key]
        elif key in _TEXTS and equals:
            settings[key.replace("-", "_")] = value
        elif key == "threshold" and equals:
            try:
                settings[key] = float(value)
            except ValueError:
                raise InputError(
                    f"must be a number, got {value!r}.", field=name, value=value
                ) from None
        else:
            names = ", ".join(f"{each}=" for each in (*DEFAULTS, *_TEXTS, "threshold"))
            raise InputError(
                f"{piece!r} in {spec!r} must begin with one of {names}.",
                hint="Write such as transformers:nli=MODEL.",
            )
    return models or dict(DEFAULTS), settings


_TRAINED_FOR: dict[Part, str] = {
    "nli": "to tell entailment: a sequence classifier, or an encoder-decoder that writes its verdict",
    "qa": "to answer by a span of a passage, such as on SQuAD 2.0",
    "qg": "to ask questions: an encoder-decoder",
}
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "longformer", "mpnet", "xlm-roberta-xl"}
"""Kinds of models whose first position is the number of the padding token, and one more."""

_NO_POSITIONS = 4096
"""Most tokens for models that know no positions, such as T5: what memory bears."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model and its tokenizer.

    Attributes:
        writes: whether it is an encoder-decoder that writes what it has to say.
        longest: most tokens that it reads.
        spelled: parts the characters of control tokens in a text, which are then read as text.
    """

    name: str
    model: Any
    tokenizer: Any
    writes: bool
    longest: int
    spelled: Spelling


def model_digest(name: str) -> str | None:
    """Return what tells a model from others, without loading it; None if it is not here yet."""
    folder = folder_of(name)
    return model_identity(f"transformers:{folder or name}")


def load(name: str, part: Part, settings: ModelSettings) -> Loaded:
    """Load a model for a part of a judge."""
    folder = folder_of(name)
    shared: dict[str, Any] = {"trust_remote_code": False}
    if folder is None:
        # Use the local copy: results of two versions must not be mixed.
        if (commit := model_digest(name)) is not None:
            shared["revision"] = commit
        if is_on_disk_only(name, commit):
            shared["local_files_only"] = True
    from transformers import AutoConfig

    device = choose_device(settings.device)
    dtype = settings.dtype or ("float32" if device == "cpu" else "auto")
    with quiet():
        try:
            config = AutoConfig.from_pretrained(folder or name, **shared)
            kind, writes = _kind(part, config)
            tokenizer = load_tokenizer(name, folder, shared)
            model, report = kind.from_pretrained(
                folder or name,
                config=config,
                output_loading_info=True,
                **dtype_option(dtype),
                **for_weights(shared),
            )
            missing = sorted(report["missing_keys"])
            if missing:
                raise InputError(
                    f"The model {name} was not trained {_TRAINED_FOR[part]}: it has no weights for {missing[0]}."
                )
            check_tokenizer(name, tokenizer, model)
            # “</s>” in somebody's text is four characters, and not the end of it. (Where places in the
            # text do not matter, it is spelled besides: some vocabularies have it as a word.)
            tokenizer.split_special_tokens = True
            model = model.to(device).eval()
        except SemqaError:
            raise
        except Exception as error:  # the libraries below raise all sorts
            raise explained(
                name, None, error, f"one that was trained {_TRAINED_FOR[part]}"
            ) from error
    reserved = PromptEncoder(tokenizer, is_encoder_decoder=writes, form="completion").reserved
    longest = longest_input(tokenizer, model.config)
    return Loaded(name, model, tokenizer, writes, longest, Spelling(reserved))


def _kind(part: Part, config: Any) -> tuple[Any, bool]:
    """Return the class to load, and whether it writes."""
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
    """Return how many tokens a model reads at most, as its tokenizer and its positions say."""
    distances = getattr(config, "relative_attention_num_buckets", None)
    if distances and config.is_encoder_decoder:
        return _NO_POSITIONS  # T5's kin: 512 is what its tokenizers say, and no limit of the model
    limits = [_NO_POSITIONS, int(min(tokenizer.model_max_length, 1 << 30))]
    positions = getattr(config, "max_position_embeddings", None) or getattr(
        config, "n_positions", None
    )
    if isinstance(positions, int) and positions > 0:
        if config.model_type in _OFFSET_POSITIONS:
            positions -= int(config.pad_token_id or 0) + 1
        limits.append(positions)
    return min(limits)


_LEAST_WINDOW = 16
"""Tokens of the premise that must fit beside a hypothesis."""

_MARGIN = 4
"""Tokens that a part of a text may have more than it had in the whole."""

_STRIDE = 128
"""Tokens that neighbouring windows of a long text share."""


class Entailer:
    """Tells entailment with one model."""

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
        """Return the relation of each hypothesis to its premise.

        Raises:
            TooLongError: a sentence of a hypothesis is too long for the model.
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
        by_pair = [self._cut(pair) for pair in pairs]
        rows = [row for own in by_pair for row in own]
        judge = self._write if self._loaded.writes else self._classify
        judged = iter(
            in_batches(
                rows,
                self._settings.batch_size,
                lambda numbers: judge([rows[number] for number in numbers]),
            )
        )
        return [_joined([self._read(next(judged)) for _ in own]) for own in by_pair]

    def _parts(self, pair: Pair) -> list[str]:
        """Return the hypothesis, or its sentences if it is too long."""
        with quiet_log():
            if self._room(pair.hypothesis) >= _LEAST_WINDOW:
                return [pair.hypothesis]
            if len(self._encode(*pair)["input_ids"]) <= self._loaded.longest:
                return [pair.hypothesis]
        return split_sentences(pair.hypothesis) or [pair.hypothesis]

    def _room(self, hypothesis: str) -> int:
        """Return how many tokens of a premise fit beside a hypothesis."""
        return self._loaded.longest - len(self._encode("", hypothesis)["input_ids"])

    def _cut(self, pair: Pair) -> list[_Row]:
        """Return the windows of a pair; one if the pair fits."""
        with quiet_log():  # of texts that are longer than the model: they are cut below
            whole = self._encode(pair.premise, pair.hypothesis)
            if len(whole["input_ids"]) <= self._loaded.longest:
                return [whole]
            room = self._room(pair.hypothesis)
            if room < _LEAST_WINDOW:
                raise TooLongError(
                    f"A sentence of the hypothesis is too long for {self._loaded.name}: {' '.join(pair.hypothesis.split())[:60]!r}… leaves {room} tokens for the premise."
                )
            return [
                row
                for start, end in self._spans(pair.premise, room)
                for row in self._fitting(pair.premise[start:end], pair.hypothesis)
            ]

    def _fitting(self, premise: str, hypothesis: str) -> list[_Row]:
        """Return a window, or two if the cut text has more tokens than before."""
        row = self._encode(premise, hypothesis)
        if len(row["input_ids"]) <= self._loaded.longest or len(premise) < 2:
            return [row]
        half = len(premise) // 2
        return [
            each
            for part in (premise[:half], premise[half:])
            for each in self._fitting(part, hypothesis)
        ]

    def _spans(self, text: str, room: int) -> list[tuple[int, int]]:
        """Return the windows of a text as character spans."""
        # A text that is cut may take some tokens more than its part of the whole.
        size = max(1, room - _MARGIN)
        stride = min(_STRIDE, size // 2)
        tokenizer = self._loaded.tokenizer
        made = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        offsets = made["offset_mapping"]
        spans = []
        for first in range(0, len(offsets), size - stride):
            last = min(first + size, len(offsets)) - 1
            spans.append((offsets[first][0], offsets[last][1]))
            if last + 1 == len(offsets):
                break
        return spans

    def _encode(self, premise: str, hypothesis: str) -> _Row:
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

    def _classify(self, rows: Sequence[_Row]) -> list[list[float]]:
        import torch

        model = self._loaded.model
        with torch.inference_mode(), quiet_log():
            logits = model(**padded(self._loaded.tokenizer, rows, model.device)).logits
        return list(logits.float().softmax(-1).tolist())

    def _write(self, rows: Sequence[_Row]) -> list[list[float]]:
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
    """Combine the judgements of the parts of one hypothesis."""
    if len(parts) == 1:
        return parts[0]
    follows = min(each.entailment for each in parts)
    contrary = min(max(each.contradiction for each in parts), 1 - follows)
    return Entailment(follows, rounded(1 - follows - contrary), contrary)


def _joined(windows: Sequence[Entailment]) -> Entailment:
    """Combine the judgements of the windows of one premise."""
    follows = rounded(max(each.entailment for each in windows))
    contrary = min(rounded(max(each.contradiction for each in windows)), 1 - follows)
    return Entailment(follows, rounded(1 - follows - contrary), contrary)


def _word_tokens(loaded: Loaded, words: Sequence[str]) -> list[list[int]]:
    """Return the tokens of each verdict, which the model must tell apart."""
    tokens = [loaded.tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    unknown = loaded.tokenizer.unk_token_id
    if len({tuple(each) for each in tokens}) < len(tokens) or any(
        not each or unknown in each for each in tokens
    ):
        raise InputError(
            f"are the same to the model {loaded.name}: {'/'.join(words)}.",
            field="words",
            value=words,
        )
    return [list(each) for each in tokens]


_LONGEST_ANSWER = 30
"""Tokens."""

_TIED = 4
"""Decimals of a score in which spans count as equal; the first one is taken then."""


class _Passage(NamedTuple):
    """A question and a part of its passage, in which each token stands at its offset.

    Tokens of the question have no offset.
    """

    row: _Row
    offsets: list[tuple[int, int] | None]


class _Found(NamedTuple):
    """The best span of a window, in characters, and the scores of it and of no answer."""

    score: float
    start: int
    end: int
    null: float


class Reader:
    """Answers questions with one model."""

    def __init__(self, loaded: Loaded, settings: ModelSettings) -> None:
        if not loaded.tokenizer.is_fast:
            raise InputError(
                f"The model {loaded.name} has a slow tokenizer, which does not tell where tokens are.",
                hint="Choose a model with a tokenizer.json.",
            )
        self._loaded = loaded
        self._settings = settings

    def run(self, readings: Sequence[Reading]) -> list[Span | None]:
        """Return the span that answers each question, or None.

        Raises:
            TooLongError: a question is too long for the model.
        """
        by_reading = [self._cut(reading) for reading in readings]
        windows = [window for own in by_reading for window in own]
        found = iter(
            in_batches(
                [window.row for window in windows],
                self._settings.batch_size,
                lambda numbers: self._read([windows[number] for number in numbers]),
            )
        )
        return [
            self._joined(reading.passage, [next(found) for _ in own])
            for reading, own in zip(readings, by_reading, strict=True)
        ]

    def _cut(self, reading: Reading) -> list[_Passage]:
        tokenizer, longest = self._loaded.tokenizer, self._loaded.longest
        with quiet_log():
            asked = len(tokenizer(reading.question, "")["input_ids"])
            if longest - asked < _LEAST_WINDOW:
                raise TooLongError(
                    f"The question is too long for {self._loaded.name}: {asked} tokens of at most {longest - _LEAST_WINDOW}."
                )
            made = tokenizer(
                reading.question,
                reading.passage,
                truncation="only_second",
                max_length=longest,
                stride=min(_STRIDE, (longest - asked) // 2),
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
            windows.append(_Passage({n: made[n][place] for n in names}, offsets))
        return windows

    def _read(self, windows: list[_Passage]) -> list[_Found]:
        import torch

        model = self._loaded.model
        with torch.inference_mode(), quiet_log():
            made = model(**padded(self._loaded.tokenizer, [w.row for w in windows], model.device))
        starts, ends = made.start_logits.float().cpu(), made.end_logits.float().cpu()
        return [self._best(window, starts[row], ends[row]) for row, window in enumerate(windows)]

    def _best(self, window: _Passage, starts: Any, ends: Any) -> _Found:
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
        band &= ~torch.ones(size, size, dtype=torch.bool).triu(_LONGEST_ANSWER)
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


_MOST_TOKENS = 64
"""Of a question."""

_READS = 512
"""Most tokens of what is read: a question is about what stands near its answer."""

_HEAD = re.compile(r"^\s*question\s*:\s*", re.IGNORECASE)


class Asker:
    """Asks questions with one model, which reads "answer: … context: …"."""

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
        rows = [self._encode(spelled(answer), spelled(passage)) for answer, passage in readings]
        return in_batches(
            rows,
            max(1, self._settings.batch_size // max(1, count // 2)),
            lambda numbers: self._write([rows[number] for number in numbers], count),
        )

    def _encode(self, answer: str, passage: str) -> _Row:
        def encoded(text: str) -> _Row:
            return dict(self._loaded.tokenizer(f"answer: {answer}  context: {text}"))

        with quiet_log():
            row = encoded(passage)
            if len(row["input_ids"]) <= self._longest:
                return row
            room = self._longest - len(encoded("")["input_ids"])
            if room < 1:
                raise TooLongError(
                    f"The answer {' '.join(answer.split())[:60]!r}… is too long for {self._loaded.name}, which reads {self._longest} tokens."
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

    def _write(self, rows: Sequence[_Row], count: int) -> list[list[str]]:
        import torch
        from transformers import GenerationConfig

        model, tokenizer = self._loaded.model, self._loaded.tokenizer
        inputs = padded(tokenizer, rows, model.device)
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
            written = model.generate(**inputs, generation_config=settings)
        texts = tokenizer.batch_decode(written, skip_special_tokens=True)
        return [_read(texts[first : first + count]) for first in range(0, len(texts), count)]


def _read(texts: Sequence[str]) -> list[str]:
    questions = (" ".join(_HEAD.sub("", text).split()) for text in texts)
    return list(dict.fromkeys(question for question in questions if question))
