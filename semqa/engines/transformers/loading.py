"""Load a model and its tokenizer from a folder or the Hub, and compute the prompt limit."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from semqa.engines.model.engine import check_budget
from semqa.engines.model.hub import ModelFiles
from semqa.engines.options import TransformersOptions
from semqa.errors import InputError, MissingExtraError
from semqa.extras import require


def choose_device(given: str | None) -> str:
    """Return the device to run on: the given one, or a GPU if available."""
    import torch

    if given is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(given)
        usable = device.type != "meta"  # has no data
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError):
        # The exception depends on the missing device.
        usable = False
    if not usable:
        raise InputError(
            f"must be one of {', '.join(_devices())} on this machine, got {given!r}.",
            field="device",
        )
    return given


def _devices() -> list[str]:
    import torch

    found = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    return [*found, "mps"] if torch.backends.mps.is_available() else found


def check_tokenizer(name: str, tokenizer: Any, model: Any) -> None:
    """Raise if a tokenizer has no text tokens or has tokens that the model does not know.

    Tokens added to a tokenizer later, such as a padding token, may be unknown to the model; they
    raise an error only if a prompt contains one.
    """
    added = set(getattr(tokenizer, "added_tokens_decoder", {}))
    special = set(tokenizer.all_special_tokens)
    own = {
        token: number
        for token, number in tokenizer.get_vocab().items()
        if number not in added and token not in special
    }
    # Without files, transformers makes a tokenizer with only control tokens or a space.
    if not any(token.strip("▁Ġ ") for token in own):
        raise InputError(
            f"Model {name} has no tokenizer: none of its tokens has any text.",
            hint="Put the tokenizer's files, such as tokenizer.json, next to config.json.",
        )
    known = int(model.get_input_embeddings().num_embeddings)
    highest = max(own.values())
    if highest >= known:
        raise InputError(
            f"Model {name} has another model's tokenizer: its ids go up to {highest:,}, but the model has {known:,} tokens."
        )


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A generative model and its tokenizer."""

    model: Any
    tokenizer: Any


def load_model(name: str, options: TransformersOptions) -> LoadedModel:
    """Load a causal or encoder-decoder model, depending on its configuration."""
    for package in ("transformers", "torch"):
        if find_spec(package) is None:
            require(package, extra="local", purpose=f"the engine transformers:{name}")
    files = ModelFiles.find(name, options.revision, trust_remote_code=options.trust_remote_code)
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

    device = None if options.device_map else choose_device(options.device)
    weights = _weights_options(options, device)
    with files.loading():
        config, tokenizer = files.config(), files.tokenizer()
        kind: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        model, missing = files.model(kind, config, **weights)
        if missing:
            raise InputError(
                f"Model {name} is not a complete language model: no weights for {missing[0]}."
            )
        check_tokenizer(name, tokenizer, model)
        if "device_map" not in weights:
            model = model.to(device)
    return LoadedModel(model.eval(), tokenizer)


def _weights_options(options: TransformersOptions, device: str | None) -> dict[str, Any]:
    import transformers

    given: dict[str, Any] = {"dtype": options.dtype}
    if options.attn_implementation is not None:
        given["attn_implementation"] = options.attn_implementation
    quantized = options.load_in_8bit or options.load_in_4bit
    if quantized or options.device_map is not None:
        _require_package("accelerate", "device_map or quantized weights")
        given["device_map"] = options.device_map or {"": device}
    if quantized:
        _require_package("bitsandbytes", "quantized weights")
        given["quantization_config"] = transformers.BitsAndBytesConfig(
            load_in_8bit=options.load_in_8bit, load_in_4bit=options.load_in_4bit
        )
    return given


def _require_package(package: str, purpose: str) -> None:
    if find_spec(package) is None:
        raise MissingExtraError(f"{purpose} needs {package}. Run: pip install {package}")


_UNLIMITED = 1 << 30
_NAMES = ("max_position_embeddings", "max_seq_len", "seq_length", "max_sequence_length")


def prompt_limit(loaded: LoadedModel, options: TransformersOptions) -> int:
    """Return the maximum tokens of a prompt, from the model's configuration or the option `context`.

    In a causal model, prompt and answer share the context. In an encoder-decoder model, the encoder
    reads only the prompt.
    """
    config = loaded.model.config
    limit = _last_position(loaded)
    if options.context is not None and options.context > limit:
        raise InputError(
            f"must be at most {limit:,}, the model's positions, got {options.context:,}.",
            field="context",
        )
    positions = options.context or _positions(loaded)
    # An encoder-decoder model reads a start token before the answer.
    start = 1 if config.is_encoder_decoder else 0
    check_budget(options.max_new_tokens, positions - start)
    return positions if config.is_encoder_decoder else positions - options.max_new_tokens


def _last_position(loaded: LoadedModel) -> int:
    """Return the number of positions a model supports; beyond it, output fails or is garbage."""
    config = loaded.model.config.get_text_config()
    alibi = getattr(config, "alibi", False)
    if alibi or _has_relative_positions(config) or _has_scaled_positions(config):
        return _UNLIMITED
    value = getattr(config, "max_position_embeddings", None)
    return value if isinstance(value, int) and value > 0 else _UNLIMITED


def _has_scaled_positions(config: Any) -> bool:
    """Whether rotary positions are scaled, so that the configured maximum does not apply."""
    # Renamed in transformers 5, where each type of layer may have its own settings.
    given = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    settings = [given, *(value for value in given.values() if isinstance(value, dict))]
    kinds = (one.get("rope_type", one.get("type", "default")) for one in settings)
    return any(kind != "default" for kind in kinds)


def _has_relative_positions(config: Any) -> bool:
    """Whether a model has relative positions, like T5, and so no maximum position."""
    return bool(
        getattr(config, "relative_attention_num_buckets", None) and config.is_encoder_decoder
    )


def _positions(loaded: LoadedModel) -> int:
    config = loaded.model.config.get_text_config()
    if _has_relative_positions(config):
        return _UNLIMITED
    for name in _NAMES:
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return min(int(loaded.tokenizer.model_max_length), _UNLIMITED)
