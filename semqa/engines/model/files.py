"""Where a model's files are: a folder, or the Hub; and the tokenizer among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from semqa.engines.model.hub import first_line
from semqa.errors import InputError

__all__ = ["check_revision", "folder_of", "load_tokenizer"]


def folder_of(name: str) -> str | None:
    """Return the folder that a name stands for, if it is one.

    Raises:
        InputError: it can only be a folder, and there is none, or the folder holds no model.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(f"{path} holds no model: config.json is missing.", value=name)
        return str(path)
    if name.startswith(("/", ".", "~")) or path.is_absolute() or name.count("/") > 1:
        raise InputError(
            f"No such folder: {path}.",
            hint="Give a folder with a config.json, or a name on the Hub such as Qwen/Qwen2.5-0.5B-Instruct.",
            value=name,
        )
    return None


def check_revision(folder: str | None, revision: str | None) -> None:
    """See that a revision is asked of the Hub only.

    Raises:
        InputError: the model is a folder.
    """
    if folder is not None and revision is not None:
        raise InputError(
            f"applies to models on the Hub; {folder} is a folder.", field="revision", value=revision
        )


def load_tokenizer(name: str, folder: str | None, shared: dict[str, Any]) -> Any:
    """Load a tokenizer with transformers.

    Args:
        name: of the model.
        folder: where it is, if it is not on the Hub.
        shared: options of `from_pretrained`.

    Raises:
        InputError: the folder has none that can be loaded.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder or name, **shared)
    except ImportError:
        raise
    except Exception as error:
        if folder is None:
            raise
        raise InputError(
            f"{folder} has no tokenizer ({first_line(error)}).",
            hint="Put its files, such as tokenizer.json, next to config.json.",
        ) from error
