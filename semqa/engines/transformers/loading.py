"""Loading a model and its tokenizer, from a folder or the Hub, with errors of one line.

Knows nothing of questions and answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa.engines.transformers.device import choose_device
from semqa.engines.transformers.hub import explained, first_line, is_on_disk_only
from semqa.engines.transformers.quiet import quiet
from semqa.engines.transformers.tokenizer import check_tokenizer
from semqa.errors import InputError, MissingExtraError, SemqaError
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.engines.transformers.options import TransformersOptions

__all__ = ["LoadedModel", "load_model"]


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model that generates text, and its tokenizer."""

    model: Any
    tokenizer: Any


def load_model(name: str, options: TransformersOptions) -> LoadedModel:
    """Load a causal or an encoder-decoder model; its configuration says which it is.

    Args:
        name: a folder, or the name of a model on the Hub.
        options: dtype, device, quantisation and the like.

    Raises:
        InputError: there is no such model, it cannot be loaded so, or it has no tokenizer.
        UnavailableError: the Hub was not reached.
        MissingExtraError: a package is missing.
    """
    purpose = f"the engine transformers:{name}"
    for package in ("transformers", "torch"):
        if find_spec(package) is None:
            require(package, extra="local", purpose=purpose)
    folder = _folder(name)
    where = folder or name
    _check_revision(folder, options)
    # Before torch and transformers are imported, which takes longer than to be refused.
    on_disk_only = folder is None and is_on_disk_only(name, options.revision)
    require("torch", extra="local", purpose=purpose)
    require("transformers", extra="local", purpose=purpose)
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

    device = None if options.device_map else choose_device(options.device)
    weights = _weights_options(options, device)
    shared: dict[str, Any] = {"trust_remote_code": options.trust_remote_code}
    if options.revision is not None:
        shared["revision"] = options.revision
    if on_disk_only:
        shared["local_files_only"] = True
    with quiet():
        try:
            config = AutoConfig.from_pretrained(where, **shared)
            tokenizer = _load_tokenizer(name, folder, shared)
            kind: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
            model, report = kind.from_pretrained(
                where, config=config, output_loading_info=True, **shared, **weights
            )
            missing = sorted(report["missing_keys"])
            if missing:
                raise InputError(
                    f"model {name}: not a whole language model: got no weights for {missing[0]}"
                    f"{f' and {len(missing) - 1} others' if len(missing) > 1 else ''}, expected "
                    "all of them; choose a model that was trained to write text"
                )
            check_tokenizer(name, tokenizer, model)
            if "device_map" not in weights:
                model = model.to(device)
        except SemqaError:
            raise
        except Exception as error:  # the libraries below raise all sorts
            raise explained(name, options.revision, error) from error
    return LoadedModel(model.eval(), tokenizer)


def _load_tokenizer(name: str, folder: str | None, shared: dict[str, Any]) -> Any:
    """Load the tokenizer.

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


def _check_revision(folder: str | None, options: TransformersOptions) -> None:
    if folder is not None and options.revision is not None:
        raise InputError(
            f"revision: got {options.revision!r} with the folder {folder}, expected a model of the "
            "Hub, for a folder has one state; leave it out"
        )


def _folder(name: str) -> str | None:
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


def _weights_options(options: TransformersOptions, device: str | None) -> dict[str, Any]:
    import transformers

    major, minor = (int(part) for part in transformers.__version__.split(".")[:2])
    given: dict[str, Any] = {
        # Its name since 4.56.
        "dtype" if (major, minor) >= (4, 56) else "torch_dtype": options.dtype
    }
    if options.attn_implementation is not None:
        given["attn_implementation"] = options.attn_implementation
    quantised = options.load_in_8bit or options.load_in_4bit
    if quantised or options.device_map is not None:
        _require_package("accelerate", "device_map or quantised weights")
        given["device_map"] = options.device_map or {"": device}
    if quantised:
        _require_package("bitsandbytes", "quantised weights")
        given["quantization_config"] = transformers.BitsAndBytesConfig(
            load_in_8bit=options.load_in_8bit, load_in_4bit=options.load_in_4bit
        )
    return given


def _require_package(package: str, purpose: str) -> None:
    if find_spec(package) is None:
        raise MissingExtraError(
            f"{purpose}: a package is missing: got no {package}, expected it; run: pip install "
            f"{package}"
        )
