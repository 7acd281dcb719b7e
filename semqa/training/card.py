"""The card of a trained model, as the Hub shows it: what it is of, and how good it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa.data.atomic import write_atomic

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["write_card"]

_SHOWN = {"rougeLsum": "ROUGE-L", "sem_f1": "Sem-F1", "sem_recall": "Sem-Rec", "semqa": "SEMQA"}


def write_card(folder: Path, record: Mapping[str, Any]) -> None:
    """Write ``README.md`` into a model's folder.

    Args:
        folder: of the model.
        record: of its training.

    Raises:
        UnavailableError: the disk failed or is full.
    """
    write_atomic(folder / "README.md", [_card(record).encode()])


def _card(record: Mapping[str, Any]) -> str:
    options, best = record["options"], record["best"]
    base, head = _base(record)
    header = {
        **head,
        "library_name": "transformers" if _is_whole(record) else "peft",
        "pipeline_tag": "text-generation",
        "tags": ["semqa", "quotes", "attribution"],
    }
    scores = {
        **{told: f"{best[name]:.1f}" for name, told in _SHOWN.items() if name in best},
        "answers with quotes, all verified": f"{100 * best['verified']:.0f}%",
    }
    data, prompt = record["data"], record["prompt"]
    version = f", version {prompt['version']}" if prompt["version"] else ""
    yaml = "".join(f"{name}: {json.dumps(value)}\n" for name, value in header.items())
    rows = "".join(f"| {name} | {value} |\n" for name, value in scores.items())
    return f"""---
{yaml}---

# A model that answers in quotes

{base}, trained ({record["method"]}) by semqa {record["versions"]["semqa"]} to answer questions from numbered
sources with marked quotes: `[ 1 … ]` holds words of source 1.

    semqa answer 'QUESTION' --sources FILE --engine transformers:FOLDER

FOLDER is a copy of these files; `semqa-asked.json` says how the model is to be asked.

## Scores

On {data["dev"]["questions"]} dev questions, copy constraint {options["constraint"]}, at step {best["step"]} of
{options["max_steps"]:,}:

| | |
|---|---:|
{rows}
## Data

| | questions | answers | SHA-256 of the rows |
|---|---:|---:|---|
{_data_row("training", data["train"])}{_data_row("dev", data["dev"])}
Questions in both: {record["shared_questions"]}. Prompt: {prompt["template"]}{version}, SHA-256
`{prompt["sha256"]}`.

## Licence

That of the base model holds, and that of the data: QuoteSum's is CC BY-SA 4.0. Add `license` above before
you publish the model.
"""


def _data_row(name: str, data: Mapping[str, Any]) -> str:
    return f"| {name} | {data['questions']} | {data['answers']} | `{data['sha256']}` |\n"


def _base(record: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return what the base model is called, and its entry, without the path of a local folder."""
    name, identity = record["options"]["model"], record["model_identity"]
    if Path(name).expanduser().is_dir():
        return f"A local model ({identity})", {}
    return f"{name} ({identity})", {"base_model": name}


def _is_whole(record: Mapping[str, Any]) -> bool:
    return record["method"] == "full" or bool(record["options"]["merge"])
