"""The engine that commands use unless another is named: saved by `semqa models use`."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.cli.engine_options import EngineOptions

__all__ = ["BUILT_IN", "Saved", "load", "save", "saved_path", "with_default"]

BUILT_IN = "extractive"


class Saved(NamedTuple):
    """An engine and its options, as they were typed."""

    engine: str
    options: Mapping[str, Any]


def saved_path() -> Path:
    """Return the path of the saved engine, in the user's configuration folder.

    It is ``semqa/engine.json`` in ``$XDG_CONFIG_HOME`` or ``~/.config``; on macOS in ``~/Library/Application
    Support``; on Windows in ``%LOCALAPPDATA%``.

    Raises:
        InputError: the home folder cannot be found.
    """
    try:
        xdg = Path(os.environ.get("XDG_CONFIG_HOME", ""))
        if xdg.is_absolute():
            folder = xdg
        elif sys.platform == "darwin":
            folder = Path.home() / "Library" / "Application Support"
        elif sys.platform == "win32":
            folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        else:
            folder = Path.home() / ".config"
    except RuntimeError as error:
        raise InputError(f"No home folder ({error}). Set XDG_CONFIG_HOME.") from error
    return folder / "semqa" / "engine.json"


def load() -> Saved | None:
    """Return the saved engine, or None.

    Raises:
        InputError: the file cannot be read.
    """
    path = saved_path()
    try:
        value = json.loads(path.read_text("utf-8"))
        engine, options = value["engine"], value["options"]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(path) from error
    if not isinstance(engine, str) or not isinstance(options, dict):
        raise _unreadable(path)
    return Saved(engine, options)


def save(engine: str, options: EngineOptions) -> Saved:
    """Save an engine with its typed options; the built-in one without options removes the file.

    Raises:
        InputError: the file cannot be written.
    """
    names = options.typed & set(options.__annotations__)
    given = {name: _plain(getattr(options, name)) for name in sorted(names)}
    saved, path = Saved(engine, given), saved_path()
    try:
        if engine == BUILT_IN and not given:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(saved._asdict(), indent=2) + "\n", "utf-8")
    except OSError as error:
        raise InputError(f"{error.strerror or error}.", where=str(path)) from error
    return saved


def with_default(engine: str | None, options: EngineOptions) -> tuple[str, EngineOptions]:
    """Return the engine to use and its options: the saved ones if no engine is named.

    Options that were given come before saved ones.

    Raises:
        InputError: the saved engine cannot be read.
    """
    if engine is not None:
        return engine, options
    saved = load()
    if saved is None:
        return BUILT_IN, options
    hints = options.__annotations__
    if not saved.options.keys() <= hints.keys():
        raise _unreadable(saved_path())
    # The environment's habits are weaker than what was saved for this engine.
    missing = {
        name for name in saved.options if getattr(options, name) is None or name in options.habits
    }
    try:
        added = {name: _typed(hints[name], saved.options[name]) for name in missing}
    except (ValueError, TypeError) as error:
        raise _unreadable(saved_path()) from error
    return saved.engine, replace(options, **added, habits=options.habits - missing)


def _plain(value: object) -> object:
    if isinstance(value, StrEnum):
        return value.value
    return str(value.absolute()) if isinstance(value, Path) else value


def _typed(hint: Any, value: Any) -> Any:
    """Return a value from JSON as the option's type has it."""
    for kind in get_args(get_args(hint)[0]):
        if isinstance(kind, type) and issubclass(kind, (StrEnum, Path)):
            return kind(value)
    return value


def _unreadable(path: Path) -> InputError:
    return InputError(
        'Not a saved engine. Run "semqa models use ENGINE" to replace it.', where=str(path)
    )
