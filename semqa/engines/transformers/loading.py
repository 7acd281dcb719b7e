"""Loading a model and its tokenizer, from a folder or the Hub, with errors of one line.

Knows nothing of questions and answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from semqa.engines.model.files import check_revision, folder_of, load_tokenizer
from semqa.engines.model.hub import explained, for_weights, is_on_disk_only
from semqa.engines.model.quiet import quiet
from semqa.engines.transformers.device import choose_device
from semqa.engines.transformers.tokenizer import check_tokenizer
from semqa.errors import InputError, MissingExtraError, SemqaError
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.engines.transformers.options import TransformersOptions

__all__ = ["LoadedModel", "dtype_option", "load_model"]


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
    folder = folder_of(name)
    where = folder or name
    check_revision(folder, options.revision)
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
            tokenizer = load_tokenizer(name, folder, shared)
            kind: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
            model, report = kind.from_pretrained(
                where, config=config, output_loading_info=True, **for_weights(shared), **weights
            )
            missing = sorted(report["missing_keys"])
            if missing:
                raise InputError(
                    f"Model {name} is not a complete language model: no weights for {missing[0]}{f' and {len(missing) - 1} others' if len(missing) > 1 else ''}."
                )
            check_tokenizer(name, tokenizer, model)
            if "device_map" not in weights:
                model = model.to(device)
        except SemqaError:
            raise
        except Exception as error:  # the libraries below raise all sorts
            raise explained(name, options.revision, error) from error
    return LoadedModel(model.eval(), tokenizer)


def dtype_option(dtype: str) -> dict[str, str]:
    """Return the option of `from_pretrained` that says what weights are loaded as."""
    import transformers

    major, minor = (int(part) for part in transformers.__version__.split(".")[:2])
    return {"dtype" if (major, minor) >= (4, 56) else "torch_dtype": dtype}  # its name since then


def _weights_options(options: TransformersOptions, device: str | None) -> dict[str, Any]:
    import transformers

    given: dict[str, Any] = {**dtype_option(options.dtype)}
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
