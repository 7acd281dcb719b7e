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
            raise InputError(
                f"model {name}: no model in this folder: got no config.json, expected what "
                "save_pretrained writes; give another folder"
            )
        return str(path)
    if name.startswith(("/", ".", "~")) or path.is_absolute() or name.count("/") > 1:
        raise InputError(
            f"model {name}: no such folder: got {path}, expected a folder with config.json; give "
            "the path of one, or a name of the Hub such as Qwen/Qwen2.5-0.5B-Instruct"
        )
    return None


def check_revision(folder: str | None, revision: str | None) -> None:
    """See that a revision is asked of the Hub only.

    Raises:
        InputError: the model is a folder.
    """
    if folder is not None and revision is not None:
        raise InputError(
            f"revision: got {revision!r} with the folder {folder}, expected a model of the "
            "Hub, for a folder has one state; leave it out"
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
            f"model {name}: no tokenizer in this folder: got {first_line(error)!r}, expected the "
            "files that the tokenizer's save_pretrained writes, such as tokenizer.json; put them "
            "next to config.json"
        ) from error
