"""How a model that `semqa train` made is to be asked: files in its folder.

Without them a trained model is asked with exemplars that it never saw.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from semqa.data.files import decode_text, open_input
from semqa.data.jsonl import as_row, decode_json
from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.prompting import Form, Template

__all__ = ["learned_files", "learned_settings"]

_SETTINGS = "semqa-asked.json"
_TEMPLATE = "semqa-prompt.jinja"


def learned_files(template: Template, form: Form) -> dict[str, bytes]:
    """Return the files, by name, for a model that learns from prompts of a template."""
    settings = {"prompt": _TEMPLATE, "form": form, "shots": 0}
    return {
        _TEMPLATE: template.raw,
        _SETTINGS: (json.dumps(settings, indent=1) + "\n").encode(),
    }


def learned_settings(model: str) -> dict[str, object]:
    """Return the options by which a model is asked as it was trained; none for other models.

    Args:
        model: a folder, or a name on the Hub, for which nothing is known.

    Raises:
        InputError: the folder's file is damaged.
    """
    file = Path(model).expanduser() / _SETTINGS
    if not file.is_file():
        return {}
    with open_input(file) as opened:
        name = opened.name
        found = as_row(decode_json(decode_text(opened.read_all(), name), name), name).fields
    template = found.get("prompt")
    if not isinstance(template, str) or Path(template).name != template:
        raise InputError(f'{file}: "prompt" must name a file in the same folder.')
    return {**found, "prompt": str(file.with_name(template))}
