"""The file of a grid: YAML, read so that every setting knows its line.

Scalars stay text here, as on a command line: ``on`` is no boolean and ``1e3`` no number until an
option reads it. So a key takes what its flag takes, and nothing else. Knows no option by name, but
for the keys of its own.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semqa.data.files import ByteBudget, decode_text, display_name, open_input
from semqa.data.jsonl import shown
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["GridConfig", "Setting", "read_config"]

MAX_BYTES = 2**20
"""Longest file of settings."""

MAX_CELLS = 10_000
"""Most cells of a grid; more is a slip, such as a list in a place where none was meant."""

MAX_NODES = 100_000
"""Most values in a file, those counted again that an alias repeats."""

OBJECTS = ("gen_kwargs", "engine_args")
"""Keys whose value may be a mapping; it is handed on as JSON."""

POLICY, RUNS, NAME, ENGINE = "policy", "runs", "name", "engine"


_HINTS = {
    "character '\\t'": "put spaces where the tab is",
    "mapping values": "put quotes around a value with a colon, and one key on a line",
    "another document": "remove the line ---",
    "undefined alias": "put quotes around a value that begins with *, or define it with & before",
    "expected ',' or": "close the list or mapping that begins above",
    "end of stream": "close what is open above",
}
"""By a part of what the parser says: what most likely is to be done."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of one key.

    Attributes:
        key: with underscores, whatever the file has.
        text: the value as written; None for null, which means that it is not given.
        where: ``file:line``, or the flag, for messages.
        axis: whether it is one of several values of its key.
        own: whether it stands in an item of ``runs``.
    """

    key: str
    text: str | None
    where: str
    axis: bool = False
    own: bool = False


@dataclass(frozen=True, slots=True)
class GridConfig:
    """What a file says.

    Attributes:
        path: as messages show it.
        settings: the values of each key at the top, one or, of an axis, several.
        policies: the bundles of settings that vary together.
        runs: the items of ``runs``, each like `settings`.
    """

    path: str
    settings: Mapping[str, Sequence[Setting]]
    policies: Sequence[Sequence[Setting]]
    runs: Sequence[Mapping[str, Sequence[Setting]]]

    def cells(self) -> list[dict[str, Setting]]:
        """Return the settings of each cell: those of the grid first, then those of ``runs``.

        The grid is the product of all lists at the top, the last varying fastest; there is one
        where ``engine`` is at the top. A run takes over what is no list at the top.

        Raises:
            InputError: there is no cell, or there are too many.
        """
        found: list[dict[str, Setting]] = []
        if ENGINE in self.settings:
            found += self._product(self.settings, self.policies or [()])
        single = {key: values for key, values in self.settings.items() if not values[0].axis}
        for run in self.runs:
            found += self._product({**single, **run}, [()], already=len(found))
        if not found:
            raise InputError(
                f"{self.path}: nothing to run: got no engine and no runs, expected one of them; "
                "write such as engine: extractive"
            )
        return found

    def _product(
        self,
        settings: Mapping[str, Sequence[Setting]],
        bundles: Sequence[Sequence[Setting]],
        already: int = 0,
    ) -> Iterator[dict[str, Setting]]:
        count = already + len(bundles)
        for values in settings.values():
            count *= len(values)
        if count > MAX_CELLS:
            raise InputError(
                f"{self.path}: too many runs: got {count:,}, expected at most {MAX_CELLS:,}; "
                "shorten a list"
            )
        for chosen in itertools.product(*settings.values()):
            for bundle in bundles:
                yield {each.key: each for each in (*chosen, *bundle)}


def read_config(path: Path | str) -> GridConfig:
    """Read a file of settings.

    Args:
        path: the file; ``-`` is standard input.

    Raises:
        InputError: it is not to be read; the message names file and line.
    """
    import yaml

    name = display_name(path)
    with open_input(path, ByteBudget(MAX_BYTES)) as file:
        text = decode_text(file.read_all(), name)
    try:
        top = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}" if mark is not None else name
        problem = getattr(error, "problem", None) or "lists or mappings without end"
        hint = next((hint for part, hint in _HINTS.items() if part in problem), "mend it")
        raise InputError(
            f"{where}: not YAML: got {problem!r}, expected lines such as engine: extractive; {hint}"
        ) from error
    return _Reader(name).config(top)


class _Reader:
    """Takes YAML's nodes apart."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes = 0

    def config(self, top: Any) -> GridConfig:
        if top is None:
            raise InputError(
                f"{self._name}: no settings: got an empty file, expected lines such as engine: "
                "extractive; write some"
            )
        settings: dict[str, Sequence[Setting]] = {}
        policies: list[Sequence[Setting]] = []
        runs: list[Mapping[str, Sequence[Setting]]] = []
        for key, node in self._pairs(top, "a mapping of settings"):
            if key == RUNS:
                runs = [self._run(each) for each in self._items(node, RUNS)]
            elif key == POLICY:
                policies = [self._bundle(each) for each in self._items(node, POLICY)]
            elif key == NAME:
                raise InputError(
                    f"{self._where(node)}: name: got it for all runs, expected it in an item of "
                    "runs; move it there"
                )
            else:
                settings[key] = self._values(key, node)
        return GridConfig(self._name, settings, policies, runs)

    def _run(self, node: Any) -> dict[str, Sequence[Setting]]:
        found: dict[str, Sequence[Setting]] = {}
        for key, value in self._pairs(node, "a mapping of settings, such as - engine: human"):
            if key == POLICY:
                if value.id != "mapping":
                    raise self._wrong(value, key, "one mapping here")
                found |= {each.key: [each] for each in self._bundle(value, own=True)}
            else:
                found[key] = self._values(key, value, own=True)
        return found

    def _bundle(self, node: Any, own: bool = False) -> list[Setting]:
        pairs = self._pairs(node, "a mapping, such as {free: any}")
        return [self._setting(key, value, axis=not own, own=own) for key, value in pairs]

    def _items(self, node: Any, key: str) -> list[Any]:
        if node.id != "sequence" or not node.value:
            raise self._wrong(node, key, "a list with an item or more")
        return list(node.value)

    def _pairs(self, node: Any, rule: str) -> Iterator[tuple[str, Any]]:
        if node.id != "mapping":
            raise InputError(
                f"{self._where(node)}: got {_kind(node)}, expected {rule}; write key: value"
            )
        seen: dict[str, str] = {}
        for key_node, value in node.value:
            where = self._where(key_node)
            if key_node.id != "scalar":
                raise InputError(
                    f"{where}: got {_kind(key_node)} for a key, expected the name of a flag; mend it"
                )
            key = key_node.value.removeprefix("--").replace("-", "_")
            if key in seen:
                raise InputError(
                    f"{where}: {key_node.value}: got it a second time, expected it once (first at "
                    f"{seen[key]}); leave one out"
                )
            seen[key] = where
            yield key, value

    def _values(self, key: str, node: Any, own: bool = False) -> list[Setting]:
        if node.id != "sequence":
            return [self._setting(key, node, own=own)]
        if not node.value:
            raise self._wrong(node, key, "at least one value")
        found = [self._setting(key, each, axis=len(node.value) > 1, own=own) for each in node.value]
        seen: set[str | None] = set()
        for setting in found:
            if setting.text in seen:
                raise InputError(
                    f"{setting.where}: {key}: got {setting.text!r} twice, expected each value once; "
                    "leave one out"
                )
            seen.add(setting.text)
        return found

    def _setting(self, key: str, node: Any, *, axis: bool = False, own: bool = False) -> Setting:
        where = self._where(node)
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise self._wrong(node, key, f"at most {MAX_NODES:,} values in all")
        if node.id == "scalar":
            empty = node.tag == "tag:yaml.org,2002:null"
            return Setting(key, None if empty else node.value, where, axis, own)
        if key in OBJECTS and node.id == "mapping":
            return Setting(key, json.dumps(self._plain(key, node)), where, axis, own)
        raise self._wrong(node, key, "a value" if key not in OBJECTS else "a value or a mapping")

    def _plain(self, key: str, node: Any, depth: int = 0) -> object:
        """Return what a node holds as JSON has it, where numbers and booleans are what they look."""
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > 20:
            raise self._wrong(node, key, "a mapping without end-less nesting")
        if node.id == "mapping":
            return {
                each.value: self._plain(key, value, depth + 1)
                for each, value in node.value
                if each.id == "scalar"
            }
        if node.id == "sequence":
            return [self._plain(key, each, depth + 1) for each in node.value]
        if node.tag.endswith((":int", ":float", ":bool", ":null")):
            try:
                value: object = json.loads(node.value.lower())
            except ValueError:
                return str(node.value)
            return value
        return str(node.value)

    def _where(self, node: Any) -> str:
        return f"{self._name}:{node.start_mark.line + 1}"

    def _wrong(self, node: Any, key: str, rule: str) -> InputError:
        return InputError(
            f"{self._where(node)}: {key.replace('_', '-')}: got {_kind(node)}, expected {rule}; "
            "correct it"
        )


def _kind(node: Any) -> str:
    if node.id == "scalar":
        return "nothing" if not node.value else shown(node.value)
    empty = "" if node.value else "an empty "
    return f"{empty or 'a '}{'list' if node.id == 'sequence' else 'mapping'}"
