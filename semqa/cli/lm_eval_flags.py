"""Flags as people know them from lm-evaluation-harness: read where we have them, else explained."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from semqa.cli.flags import flag
from semqa.cli.help import Command
from semqa.cli.output import say
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ALSO", "LmEvalCommand", "elsewhere", "is_auto"]

ALSO = {"output_path": "out", "num_fewshot": "shots"}
"""Names of the harness that mean options of ours."""

_ELSEWHERE = {
    "model": "name it in {engine}, such as transformers:my/model or vllm:my/model",
    "model_args": "give each argument by its own name, such as {dtype}; pretrained is the MODEL of "
    "{engine} transformers:MODEL",
    "tasks": "leave it out: the task is QuoteSum",
    "include_path": "leave it out: the task is QuoteSum",
    "apply_chat_template": "leave it out: a model that has a template gets messages, unless {form} "
    "says otherwise",
    "fewshot_as_multiturn": "leave it out: among messages, an exemplar is two turns",
    "system_instruction": "write it into a template of your own, and name its file in {prompt}",
    "max_batch_size": "give {batch_size} a number",
    "samples": "give {limit}, or a file of these questions alone",
    "use_cache": "leave it out: what is answered is kept in the folder of the run",
    "cache_requests": "leave it out: what is answered is kept in the folder of the run",
    "write_out": "leave it out: examples.jsonl has every prompt",
    "show_config": "leave it out: run.json has the settings",
    "check_integrity": "leave it out: run.json has digests of data, prompt and code",
    "metadata": "give each argument by its own name, such as {data} or {train}",
    "verbosity": "leave it out",
    "wandb_args": "leave it out; semqa report writes tables as CSV",
    "confirm_run_unsafe_code": "leave it out: none is run",
}
"""Names of the harness that have no like of ours, and what to do instead."""

_ROWS_ARE_KEPT = "--log-samples: rows are always kept, in examples.jsonl"


class LmEvalCommand(Command):
    """A command that takes flags in the spelling of lm-evaluation-harness, too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments.

        Raises:
            InputError: a flag is the harness's alone; the message says what to do instead.
        """
        known = {name for each in self.params for name in each.opts}
        parsed: list[str] = super().parse_args(ctx, _in_our_words(args, known))
        return parsed


def elsewhere(name: str, spell: Callable[[str], str]) -> str | None:
    """Return what to do in place of a name of the harness; None if it is not one of these.

    Args:
        name: with underscores.
        spell: writes the name of an option as it is given.

    Example:
        >>> elsewhere("samples", lambda option: f"--{option}")
        'give --limit, or a file of these questions alone'
    """
    if name not in _ELSEWHERE:
        return None
    options = ("engine", "dtype", "form", "prompt", "batch_size", "limit", "data", "train")
    return _ELSEWHERE[name].format_map({option: spell(option) for option in options})


def is_auto(text: str) -> bool:
    """Tell whether a batch size leaves the choice to the engine.

    Example:
        >>> is_auto("auto"), is_auto("auto:4"), is_auto("8")
        (True, True, False)
    """
    return re.fullmatch(r"auto(:[0-9]+)?", text.lower()) is not None


def _in_our_words(args: Sequence[str], known: set[str]) -> list[str]:
    """Return arguments with flags of the harness as ours."""
    found: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*found, word, *rest]
        name, sign, value = word.partition("=")
        if not name.startswith("--"):
            found.append(word)
            continue
        key = name[2:].replace("-", "_")
        ours = flag(ALSO.get(key, key))
        if ours not in known:
            if key == "log_samples":
                say(_ROWS_ARE_KEPT)
                continue
            if (advice := elsewhere(key, flag)) is not None:
                raise InputError(
                    f"{name}: got a flag of lm-evaluation-harness, expected those of semqa bench "
                    f"quotesum --help; {advice}"
                )
            found.append(word)
            continue
        if not sign and rest and ours in ("--batch-size", "--gen-kwargs"):
            value, sign = rest.pop(0), "="
        if ours == "--batch-size" and is_auto(value):
            continue
        if ours == "--gen-kwargs":
            # The harness also takes them as several words.
            while rest and re.match(r"\w+=", rest[0]):
                value += f",{rest.pop(0)}"
        found.append(f"{ours}{sign}{value}")
    return found
