"""What can be said about the task in a harness, and where its data is looked for."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa.data.fetch import remote_file
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DATA_SETTING", "HarnessSettings"]

DATA_SETTING = "SEMQA_QUOTESUM"
"""The environment variable that names the QuoteSum file, where no argument does."""

_TEXTS = ("data", "split", "prompt", "exemplars", "train", "encoder")
_SWITCHES = ("canonical", "all_sources", "fit")


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessSettings:
    """Arguments of the task; None means that one was not given.

    Attributes:
        data: the QuoteSum file; by default ``$SEMQA_QUOTESUM``, else the split in the cache, as
            ``semqa data fetch quotesum`` leaves it there. Nothing is downloaded.
        split: which split of the cache: ``dev``, ``test`` or ``train``.
        prompt: a template's name or path; by default ``qsum`` with exemplars, else ``zero-shot``.
        exemplars: how exemplars are chosen (`semqa.retrieval.create_selector`); by default ``knn``.
        train: the QuoteSum file of exemplars; by default the cache's ``train``.
        encoder: the model that ``knn`` compares questions with.
        canonical: read answers as `QuotedAnswer.parse` does, which forgives ``[1 span]``, and score
            what it read, as ``semqa bench`` does. Without it the text itself is scored, as by
            ``semqa score``.
        all_sources: score source 8 too, as ``semqa score --all-sources`` does.
        fit: leave out exemplars where a prompt is too long for the model (lm-evaluation-harness),
            and refuse one that is too long without any; otherwise the harness cuts it at its
            beginning.

    Raises:
        InputError: a value is of the wrong type.
    """

    data: str | None = None
    split: str = "dev"
    prompt: str | None = None
    exemplars: str | None = None
    train: str | None = None
    encoder: str | None = None
    canonical: bool = False
    all_sources: bool = False
    fit: bool = True

    def __post_init__(self) -> None:
        for name in _TEXTS:
            value: object = getattr(self, name)
            if isinstance(value, os.PathLike):
                object.__setattr__(self, name, os.fspath(value))
            elif not (isinstance(value, str) and value) and (value is not None or name == "split"):
                raise InputError(
                    f"argument {name}: got {value!r:.80}, expected a text; correct it or leave it out"
                )
        for name in _SWITCHES:
            switch: object = getattr(self, name)
            if not isinstance(switch, bool):
                raise InputError(
                    f"argument {name}: got {switch!r:.80}, expected true or false; correct it"
                )

    @classmethod
    def among(cls, arguments: Mapping[str, Any]) -> HarnessSettings:
        """Return the settings that stand among the arguments of others.

        Example:
            >>> HarnessSettings.among({"prompt": "qsum", "pretrained": "gpt2"}).prompt
            'qsum'
        """
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in arguments.items() if name in names})

    @property
    def data_path(self) -> Path:
        """The file of the questions.

        Raises:
            InputError: none is named and the cache does not have it.
        """
        named = self.data or os.environ.get(DATA_SETTING, "").strip()
        return Path(named).expanduser() if named else _cached(self.split, "argument data")

    @property
    def train_path(self) -> Path:
        """The file of the exemplars.

        Raises:
            InputError: none is named and the cache does not have it.
        """
        return Path(self.train).expanduser() if self.train else _cached("train", "argument train")


def _cached(split: str, argument: str) -> Path:
    file = remote_file("quotesum", split)
    state = file.state()
    if state != "cached":
        setting = f" or {DATA_SETTING}" if argument.endswith("data") else ""
        raise InputError(
            f"QuoteSum {split}: not there: got {state} at {file.path()}, expected the file; name one "
            f"with the {argument}{setting}, or run: semqa data fetch quotesum --split {split}"
        )
    return file.path()
