"""Parse the YAML file of a grid, keeping the line of every setting for error messages.

Scalars stay text, as on a command line: ``on`` is not a boolean and ``1e3`` is not a number until
an option parses it, so a key accepts the same values as its flag. This module knows only its own keys,
not the options.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from semqa.data.files import ByteBudget, decode_text, display_name, open_input
from semqa.data.jsonl import shown
from semqa.errors import InputError

MAX_BYTES = 2**20
MAX_CELLS = 10_000

OBJECTS = ("engine_args",)
"""Keys that accept a mapping, which is passed on as JSON."""

RUNS, NAME, ENGINE = "runs", "name", "engine"


class Setting(NamedTuple):
    """One value of one key.

    Attributes:
        text: the value as written; None for null, which means "not set".
        where: ``file:line``, or the flag, for messages.
        axis: whether the key has several values.
        own: whether it is set in an item of ``runs``.
    """

    key: str
    text: str | None
    where: str
    axis: bool = False
    own: bool = False

    @property
    def shown(self) -> str:
        """The key as spelled in messages."""
        return self.key.replace("_", "-")

    def error(self, message: str, hint: str | None = None) -> InputError:
        """Return an error about this setting."""
        return InputError(message, field=self.shown, value=self.text, hint=hint, where=self.where)


Settings = dict[str, "Sequence[Setting]"]


@dataclass(frozen=True, slots=True)
class GridConfig:
    """A parsed grid file."""

    path: str
    settings: Settings
    runs: Sequence[Settings]

    def every(self) -> Iterator[tuple[str, Sequence[Setting]]]:
        """Yield each key in the file with its values."""
        for settings in (self.settings, *self.runs):
            yield from settings.items()

    def cells(self) -> list[dict[str, Setting]]:
        """Return the settings of each cell: first the grid, then ``runs``.

        The grid is the product of all top-level lists, the last varying fastest. It needs a
        top-level ``engine``. A run inherits every top-level setting that has a single value.
        """
        found: list[dict[str, Setting]] = []
        if ENGINE in self.settings:
            found += self._product(self.settings)
        single = {key: values for key, values in self.settings.items() if not values[0].axis}
        for run in self.runs:
            found += self._product({**single, **run}, already=len(found))
        if not found:
            raise InputError("Nothing to run: add an engine or runs.", where=self.path)
        return found

    def _product(self, settings: Settings, already: int = 0) -> Iterator[dict[str, Setting]]:
        count = already + math.prod(map(len, settings.values()))
        if count > MAX_CELLS:
            raise InputError(
                f"There are {count:,} runs; at most {MAX_CELLS:,} are allowed.", where=self.path
            )
        for chosen in itertools.product(*settings.values()):
            yield {each.key: each for each in chosen}


def read_config(path: Path | str) -> GridConfig:
    """Parse a grid file."""
    import yaml

    name = display_name(path)
    with open_input(path, ByteBudget(MAX_BYTES)) as file:
        text = decode_text(file.read_all(), name)
    try:
        top = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}" if mark is not None else name
        problem = getattr(error, "problem", None) or "lists or mappings nested too deeply"
        raise InputError(f"Invalid YAML: {problem}.", where=where) from error
    return _Parser(name).config(top)


class _Parser:
    """Converts YAML nodes to settings."""

    def __init__(self, name: str) -> None:
        self._name = name

    def config(self, top: Any) -> GridConfig:
        if top is None:
            raise InputError("The file has no settings.", where=self._name)
        settings: Settings = {}
        runs: list[Settings] = []
        for key, node in self._pairs(top, None):
            if key == RUNS:
                if node.id != "sequence" or not node.value:
                    raise self._wrong(node, key, f"must be a list, got {_kind(node)}.")
                runs = [self._run(each) for each in node.value]
            elif key == NAME:
                raise self._wrong(node, key, "can only be set in an item of runs.")
            else:
                settings[key] = self._values(key, node)
        return GridConfig(self._name, settings, runs)

    def _run(self, node: Any) -> Settings:
        return {key: self._values(key, value, own=True) for key, value in self._pairs(node, RUNS)}

    def _pairs(self, node: Any, field: str | None) -> Iterator[tuple[str, Any]]:
        if node.id != "mapping":
            what = "must hold mappings" if field else "Settings must be a mapping"
            raise self._wrong(node, field, f"{what} such as engine: human, got {_kind(node)}.")
        seen: dict[str, str] = {}
        for key_node, value in node.value:
            where = self._where(key_node)
            if key_node.id != "scalar":
                raise InputError(f"A key must be text, got {_kind(key_node)}.", where=where)
            key = key_node.value.removeprefix("--").replace("-", "_")
            if key in seen:
                raise self._wrong(key_node, key, f"is set twice, first at {seen[key]}.")
            seen[key] = where
            yield key, value

    def _values(self, key: str, node: Any, own: bool = False) -> list[Setting]:
        if node.id != "sequence":
            return [self._setting(key, node, own=own)]
        if not node.value:
            raise self._wrong(node, key, "needs at least one value.")
        found = [self._setting(key, each, axis=len(node.value) > 1, own=own) for each in node.value]
        seen: set[str | None] = set()
        for setting in found:
            if setting.text in seen:
                raise setting.error(f"has the value {setting.text!r} twice.")
            seen.add(setting.text)
        return found

    def _setting(self, key: str, node: Any, *, axis: bool = False, own: bool = False) -> Setting:
        where = self._where(node)
        if node.id == "scalar":
            empty = node.tag == "tag:yaml.org,2002:null"
            return Setting(key, None if empty else node.value, where, axis, own)
        if key in OBJECTS and node.id == "mapping":
            return Setting(key, self._plain(key, node), where, axis, own)
        raise self._wrong(node, key, f"must be a value, got {_kind(node)}.")

    def _plain(self, key: str, node: Any) -> str:
        import yaml

        try:
            return json.dumps(yaml.SafeLoader("").construct_document(node), default=str)
        except (yaml.YAMLError, RecursionError, TypeError, ValueError) as error:
            raise self._wrong(node, key, "cannot be written as JSON.") from error

    def _where(self, node: Any) -> str:
        return f"{self._name}:{node.start_mark.line + 1}"

    def _wrong(self, node: Any, key: str | None, message: str) -> InputError:
        field = None if key is None else key.replace("_", "-")
        return InputError(message, field=field, where=self._where(node))


def _kind(node: Any) -> str:
    if node.id == "scalar":
        return shown(node.value) if node.value else "nothing"
    return "a list" if node.id == "sequence" else "a mapping"
