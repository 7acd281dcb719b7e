"""Seeds, prompts and checks that the engines with a language model share."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from semqa.data.files import decode_text, open_input
from semqa.data.jsonl import as_row, decode_json
from semqa.engines.model.text import AnswerText
from semqa.errors import InputError, PromptTooLongError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.decoding import Vocabulary
    from semqa.engines.base import Request
    from semqa.engines.options import AnswerOptions
    from semqa.prompting import Form, PromptBuilder, Template


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
    for stop in template.stop:
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
