"""Settings of training runs, for Python and for the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from semqa.training.options import TrainingOptions

__all__ = ["BRIEF", "DECODER", "T5", "command", "options"]

T5: dict[str, Any] = {
    "max_steps": 120,
    "eval_steps": 60,
    "batch_size": 10,
    "learning_rate": 0.01,
    "max_new_tokens": 24,
    "max_length": 128,
    "eval_batch_size": 20,
    "device": "cpu",
}
DECODER = {**T5, "max_steps": 100, "eval_steps": 100, "learning_rate": 0.005}
BRIEF = {**T5, "max_steps": 8, "eval_steps": 2, "max_new_tokens": 4, "constraint": "off"}


def options(folder: Path, model: str, **given: Any) -> TrainingOptions:
    """Return options for a model in the test folder."""
    return TrainingOptions(model=str(folder / model), prompt=str(folder / "short.jinja"), **given)


def command(folder: Path, model: str, out: Path, **given: Any) -> list[str]:
    """Return the same options as command line arguments; True means a flag without a value."""
    data, dev = str(folder / "train.jsonl"), str(folder / "dev.jsonl")
    flags = []
    for name, value in given.items():
        flags += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return [
        *("train", data, "--dev", dev, "--model", str(folder / model)),
        *("--prompt", str(folder / "short.jinja"), "--out", str(out), *flags),
    ]
