"""LoRA: adapters on a model's linear layers, and the whole model that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from semqa.training.options import TrainingOptions

__all__ = ["ADAPTER", "adapted", "merge"]

ADAPTER = "adapter"
"""The folder in the model's that holds the adapters alone."""


def adapted(model: Any, options: TrainingOptions) -> Any:
    """Return the model with new adapters; the model itself is changed, and frozen.

    Raises:
        InputError: it has no such layers.

    Source: Hu et al. 2022, LoRA.
    """
    from peft import LoraConfig, TaskType, get_peft_model

    targets: Any = list(options.lora_targets)
    encoder_decoder = bool(model.config.is_encoder_decoder)
    config = LoraConfig(
        task_type=TaskType.SEQ_2_SEQ_LM if encoder_decoder else TaskType.CAUSAL_LM,
        r=options.lora_rank,
        lora_alpha=options.lora_alpha,
        lora_dropout=options.lora_dropout,
        target_modules="all-linear" if targets == ["all-linear"] else targets,
        bias="none",
    )
    try:
        return get_peft_model(model, config)
    except ValueError as error:
        raise InputError(
            f"lora_targets: got {', '.join(options.lora_targets)}, expected modules of the model "
            f"{options.model} ({' '.join(str(error).split())[:200]}); leave it out for all-linear"
        ) from error


def merge(adapters: Path, base: Any, tokenizer: Any, folder: Path) -> None:
    """Write the model that adapters make of their base, and the adapters beside it.

    Args:
        adapters: their folder.
        base: the model that they were trained on, as it was loaded; it is changed.
        tokenizer: the model's.
        folder: where to.
    """
    from peft import PeftModel

    model: Any = PeftModel.from_pretrained(base, str(adapters))
    model.save_pretrained(str(folder / ADAPTER))
    model.merge_and_unload().save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
