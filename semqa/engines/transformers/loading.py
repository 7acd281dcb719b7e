"""Loading a model and its tokenizer, from a folder or the Hub, with errors of one line.

Knows nothing of questions and answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa.engines.transformers.quiet import quiet
from semqa.errors import InputError, MissingExtraError, UnavailableError
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.engines.transformers.options import TransformersOptions
    from semqa.errors import SemqaError

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
        InputError: there is no such model, or it cannot be loaded so.
        UnavailableError: the Hub was not reached.
        MissingExtraError: a package is missing.
    """
    purpose = f"the engine transformers:{name}"
    require("torch", extra="local", purpose=purpose)
    require("transformers", extra="local", purpose=purpose)
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    where = _folder(name) or name
    origin = {"revision": options.revision} if options.revision is not None else {}
    shared = {"trust_remote_code": options.trust_remote_code, **origin}
    weights = _weights_options(options)
    with quiet():
        try:
            config = AutoConfig.from_pretrained(where, **shared)
            tokenizer = AutoTokenizer.from_pretrained(where, **shared)
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
            if "device_map" not in weights:
                model = model.to(options.device or _best_device())
        except InputError:
            raise
        except ImportError as error:
            raise MissingExtraError(
                f"model {name}: a package is missing: got {_line(error)!r}, expected what it needs; "
                "install it with pip"
            ) from error
        except Exception as error:  # the libraries below raise all sorts
            raise _explained(name, options, error) from error
    return LoadedModel(model.eval(), tokenizer)


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


def _weights_options(options: TransformersOptions) -> dict[str, Any]:
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
        given["device_map"] = options.device_map or {"": options.device or _best_device()}
    if quantised:
        _require_package("bitsandbytes", "quantised weights")
        given["quantization_config"] = transformers.BitsAndBytesConfig(
            load_in_8bit=options.load_in_8bit, load_in_4bit=options.load_in_4bit
        )
    return given


def _require_package(package: str, purpose: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingExtraError(
            f"{purpose}: a package is missing: got no {package}, expected it; run: pip install "
            f"{package}"
        )


def _best_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _explained(name: str, options: TransformersOptions, error: Exception) -> SemqaError:
    """Say in one line what a library's error means for the user."""
    from huggingface_hub import errors

    causes = _chain(error)

    def caused_by(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    if caused_by(errors.GatedRepoError):
        return InputError(
            f"model {name}: access is restricted: got no permission, expected accepted terms; "
            f"accept them at https://huggingface.co/{name}, then run: hf auth login"
        )
    if caused_by(errors.RepositoryNotFoundError):
        return InputError(
            f"model {name}: not found: got no such folder, nor such a model on the Hub, expected "
            "one of them; correct the name, or log in if the model is private: hf auth login"
        )
    if caused_by(errors.RevisionNotFoundError):
        return InputError(
            f"model {name}: no such revision: got {options.revision!r}, expected a branch, tag or "
            "commit of the model; correct it or leave it out"
        )
    if caused_by(errors.HFValidationError):
        return InputError(
            f"model: not a name: got {name!r}, expected a folder or a name such as "
            "Qwen/Qwen2.5-0.5B-Instruct; correct it"
        )
    if caused_by(errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError):
        return UnavailableError(
            f"model {name}: not here, and the Hub was not reached: got no copy of it on this "
            "machine, expected one, or a connection; try again online, or give a folder"
        )
    if caused_by(errors.HfHubHTTPError, ConnectionError, TimeoutError):
        return UnavailableError(
            f"model {name}: the Hub failed: got {_line(error)!r}, expected the model's files; try "
            "again later, or give a folder"
        )
    return InputError(
        f"model {name}: cannot be loaded: got {_line(error)!r}, expected a causal or "
        "encoder-decoder language model; choose another model or other options"
    )


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    return chain


def _line(error: BaseException) -> str:
    """Return the first line of a message, no longer than a line."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    first = lines[0].strip()
    return first if len(first) <= 200 else first[:199] + "…"
