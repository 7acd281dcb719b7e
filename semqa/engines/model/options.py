"""Settings shared by all engines with a language model: decoding and the rules for answers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from semqa.checks import check_choice, check_range, check_whole
from semqa.data.files import decode_text, open_input
from semqa.data.jsonl import as_row, decode_json
from semqa.decoding.policy import QuotePolicy, checked_numbers
from semqa.engines.base import PromptTooLongError
from semqa.engines.model.text import AnswerText
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.decoding import Vocabulary
    from semqa.engines.base import Request
    from semqa.prompting import Form, PromptBuilder, Template

DTYPES = ("auto", "float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """Decoding options; the defaults are greedy and reproducible.

    Attributes:
        temperature: 0 for greedy decoding; above 0, tokens are sampled.
        top_p: sample from the smallest set of most likely tokens with at least this probability.
        top_k: sample from this many most likely tokens; 0 for all.
        seed: random seed; the same question with the same sources gets the same answer.
        constraint: one of `SWITCHES`; ``on`` allows only verbatim quotes.
        free, boundary, quote_bias: see `QuotePolicy`; ignored if the constraint is off.
        quote_from: numbers of the sources that may be quoted, starting at 1; None for all. Ignored
            if the constraint is off.
    """

    SWITCHES: ClassVar[tuple[str, ...]] = ("on", "off")

    max_new_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0
    batch_size: int = 8
    constraint: str = "on"
    free: str = "glue"
    boundary: str = "word"
    quote_bias: float = 0.0
    quote_from: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_choice("constraint", self.constraint, self.SWITCHES)
        for name, minimum in _MINIMUM.items():
            check_whole(name, getattr(self, name), minimum)
        check_range("temperature", self.temperature, 0.0, 100.0)
        check_range("top_p", self.top_p, 0.0, 1.0, least_given=False)
        if self.temperature == 0 and (self.top_p < 1 or self.top_k > 0):
            name = "top_p" if self.top_p < 1 else "top_k"
            raise InputError("needs a temperature above 0.", field=name, value=getattr(self, name))
        object.__setattr__(self, "quote_from", checked_numbers("quote_from", self.quote_from))
        _ = self.policy

    @property
    def constrained(self) -> bool:
        """Whether there is a constraint."""
        return self.constraint != "off"

    @property
    def policy(self) -> QuotePolicy:
        """The rules for answers."""
        settings = {name: getattr(self, name) for name in _POLICY}
        return QuotePolicy(**settings, sources=self.quote_from)

    def check_sources(self, count: int) -> None:
        """Raise if `quote_from` names a source that does not exist."""
        if self.constrained and self.quote_from and self.quote_from[-1] > count:
            raise InputError(
                f"names source {self.quote_from[-1]}, but there are {count}.",
                field="quote_from",
                value=self.quote_from,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions(AnswerOptions):
    """Decoding options of a model that runs locally.

    Attributes:
        decoding: ``spans`` to choose among whole quotes, ``tokens`` to decode token by token; the
            default is spans if `can_choose_spans`.
    """

    decoding: str | None = None

    def __post_init__(self) -> None:
        AnswerOptions.__post_init__(self)  # `super()` fails: slots=True recreates the class
        if self.decoding is not None:
            check_choice("decoding", self.decoding, ("spans", "tokens"))
        if self.decoding == "spans" and not self.can_choose_spans:
            raise InputError(
                "can be spans only with the constraint on and greedy decoding (no temperature, num_beams or repetition_penalty).",
                field="decoding",
                value=self.decoding,
            )

    @property
    def can_choose_spans(self) -> bool:
        """Whether the other settings allow ``decoding="spans"``."""
        return self.constrained and self.temperature == 0


_POLICY = ("free", "boundary", "quote_bias")
_MINIMUM = {"max_new_tokens": 1, "top_k": 0, "seed": 0, "batch_size": 1}


def seed_of(seed: int, request: Request) -> int:
    """Derive the 63-bit random seed of one request."""
    digest = hashlib.sha256(str(seed).encode())
    earlier = (part for exchange in request.history for part in exchange)
    texts = (part for source in request.sources for part in (source.title, source.text))
    parts = (request.question, *texts, *earlier)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data) + data)
    return int.from_bytes(digest.digest()[:8], "big") >> 1


_SETTINGS_FILE = "semqa-asked.json"
_TEMPLATE_FILE = "semqa-prompt.jinja"


def learned_files(template: Template, form: Form) -> dict[str, bytes]:
    """Return the files (name to content) that record the prompt a model is fine-tuned with."""
    settings = {"prompt": _TEMPLATE_FILE, "form": form, "shots": 0}
    return {
        _TEMPLATE_FILE: template.raw,
        _SETTINGS_FILE: (json.dumps(settings, indent=1) + "\n").encode(),
    }


def learned_settings(model: str) -> dict[str, object]:
    """Return the prompt options a model was fine-tuned with; empty for other models."""
    file = Path(model).expanduser() / _SETTINGS_FILE
    if not file.is_file():
        return {}
    with open_input(file) as opened:
        name = opened.name
        found = as_row(decode_json(decode_text(opened.read_all(), name), name), name).fields
    template = found.get("prompt")
    if not isinstance(template, str) or Path(template).name != template:
        raise InputError(f'{file}: "prompt" must name a file in the same folder.')
    return {**found, "prompt": str(file.with_name(template))}


def default_prompts() -> PromptBuilder:
    """Return the default prompt builder, with the exemplars that come with semqa."""
    from semqa.prompting import PromptBuilder, ShippedExemplars

    exemplars = ShippedExemplars()
    return PromptBuilder("qsum", exemplars, len(exemplars))


def check_template(template: Template) -> None:
    """Raise if a template cannot be used with the constraint."""
    for stop in template.header.stop:
        if "[" in stop or "]" in stop:
            raise InputError(
                f"Prompt {template.name}: a stop string must not contain brackets while the constraint is on, got {stop!r}."
            )
    if template.answers != "quotes":
        raise InputError(
            f"Prompt {template.name} asks for {template.answers}, which the constraint does not allow.",
            hint="Turn the constraint off, or choose a prompt for quotes.",
        )


_Options = TypeVar("_Options", bound="AnswerOptions")

_FREE: dict[str, object] = {
    "constraint": "off",
    "decoding": None,
    "num_beams": 1,
    "repetition_penalty": 1.0,
}
_GREEDY: dict[str, object] = {"temperature": 0.0, "top_p": 1.0, "top_k": 0}


def free_options(options: _Options, max_new_tokens: int, *, sample: bool = False) -> _Options:
    """Return the options for unconstrained completion.

    Args:
        sample: keep the temperature, `top_p`, `top_k` and seed; otherwise decode greedily.
    """
    known = {field.name for field in fields(options)}
    overrides = _FREE if sample else _FREE | _GREEDY
    changed: dict[str, Any] = {name: value for name, value in overrides.items() if name in known}
    return replace(options, max_new_tokens=max_new_tokens, **changed)


def check_fits(tokens: int, limit: int) -> None:
    """Raise if a prompt has more tokens than fit."""
    if tokens > limit:
        raise PromptTooLongError(
            f"The prompt has {tokens:,} tokens; at most {limit:,} fit. Shorten it."
        )


def read_text(tokens: Sequence[int], vocabulary: Vocabulary) -> str:
    """Decode generated tokens, without end tokens and surrounding white space."""
    text = AnswerText(vocabulary, ())
    pieces = [text.add(token) for token in tokens if token not in vocabulary.eos_ids]
    return ("".join(pieces) + text.end()).strip()
