"""``--gen-kwargs``: how an answer is decoded, in the words of lm-evaluation-harness."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING

from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.cli.engine_options import EngineOptions

__all__ = ["read_gen_kwargs", "with_gen_kwargs"]

_WHOLE = ("max_new_tokens", "top_k", "num_beams", "seed")
_NUMBERS = ("temperature", "top_p", "repetition_penalty")
_ALSO = dict.fromkeys(("max_gen_toks", "max_tokens", "max_completion_tokens"), "max_new_tokens")
_NAMES = (*_WHOLE, *_NUMBERS, *_ALSO, "do_sample")


def read_gen_kwargs(text: str) -> dict[str, float | int]:
    """Read ``name=value,name=value``, or a JSON object, as options of an engine.

    ``do_sample=false`` is temperature 0; ``do_sample=true`` needs a temperature, or takes 1.

    Raises:
        InputError: a name or a value is not one of them.

    Example:
        >>> read_gen_kwargs("temperature=0.7,max_gen_toks=128")
        {'temperature': 0.7, 'max_new_tokens': 128}
    """
    found: dict[str, float | int] = {}
    sampled: bool | None = None
    for name, value in _pairs(text):
        if name not in _NAMES:
            close = difflib.get_close_matches(name, _NAMES, n=1)
            hint = f"did you mean {close[0]}?" if close else "leave it out"
            if name in ("until", "stop", "stop_sequences"):
                hint = "leave it out: the prompt's template says where an answer ends"
            raise InputError(
                f"gen_kwargs: got {name!r}, expected some of {', '.join(_NAMES)}; {hint}"
            )
        key = _ALSO.get(name, name)
        if key in found or (key == "do_sample" and sampled is not None):
            raise InputError(f"gen_kwargs: got {name} twice, expected it once; leave one out")
        if key == "do_sample":
            sampled = _truth(value)
        else:
            found[key] = _number(name, value, whole=key in _WHOLE)
    if sampled is False:
        if found.get("temperature"):
            raise InputError(
                f"gen_kwargs: got do_sample=false with temperature={found['temperature']}, expected "
                "one of them; leave one out"
            )
        found["temperature"] = 0.0
    elif sampled:
        found.setdefault("temperature", 1.0)
    return found


def with_gen_kwargs(options: EngineOptions, text: str | None) -> EngineOptions:
    """Return options with those of ``--gen-kwargs`` among them, as if each had been typed.

    Raises:
        InputError: they cannot be read, or one was given by its own flag, too.
    """
    if text is None:
        return options
    from dataclasses import replace

    from semqa.cli.flags import flag

    read = read_gen_kwargs(text)
    for name in read:
        if name in options.typed:
            raise InputError(
                f"gen_kwargs: got {name} and {flag(name)}, expected one of them; leave one out"
            )
    return replace(
        options,
        **read,  # type: ignore[arg-type]  # numbers, by names that are known
        habits=options.habits - read.keys(),
        typed=options.typed | read.keys(),
    )


def _pairs(text: str) -> list[tuple[str, object]]:
    if text.lstrip().startswith("{"):
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            given = None
        if isinstance(given, dict):
            return list(given.items())
        raise InputError(
            f"gen_kwargs: got {text!r:.80}, expected a JSON object or name=value pairs, such as "
            "temperature=0.7,top_p=0.9; correct it"
        )
    pairs: list[tuple[str, object]] = []
    for part in text.split(","):
        name, sign, value = part.partition("=")
        if not sign or not name.strip():
            raise InputError(
                f"gen_kwargs: got {part!r}, expected name=value pairs, such as "
                "temperature=0.7,top_p=0.9; correct it"
            )
        pairs.append((name.strip(), value.strip()))
    return pairs


def _truth(value: object) -> bool:
    said = str(value).lower()
    if said not in ("true", "false", "1", "0"):
        raise InputError(f"gen_kwargs: got do_sample={value}, expected true or false; correct it")
    return said in ("true", "1")


def _number(name: str, value: object, *, whole: bool) -> float | int:
    try:
        if isinstance(value, bool):
            raise ValueError
        return int(str(value)) if whole else float(str(value))
    except ValueError as error:
        rule = "a whole number" if whole else "a number"
        raise InputError(f"gen_kwargs: got {name}={value}, expected {rule}; correct it") from error
