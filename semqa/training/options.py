"""The settings of a training; knows nothing of torch, so that a wrong one is found before it loads."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, get_args

from semqa.engines.model import check_range, check_whole
from semqa.errors import InputError
from semqa.prompting import Form

__all__ = ["Method", "Metric", "Optimizer", "Schedule", "TrainingOptions"]

Method = Literal["auto", "full", "lora"]
Optimizer = Literal["adafactor", "adamw"]
Schedule = Literal["constant", "linear", "cosine"]
Metric = Literal["rougeLsum", "rougeL", "sem_f1", "semqa"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """What is trained, and how; the defaults are the paper's where it states one.

    Attributes:
        model: a folder, or a name on the Hub.
        method: ``full`` changes all weights, ``lora`` adds adapters and changes these; ``auto`` is
            full for an encoder-decoder model, and LoRA for a decoder-only one.
        prompt: a template's name or path; its prompts are what the model learns to answer.
        form: of the prompts: ``chat``, ``completion``, or ``auto``, as the engine has it.
        max_steps: of the optimizer.
        batch_size: answers of a step, over all processes; those that do not fit into memory
            together are learned from one part after the other.
        pack: learn all answers to a question behind one prompt (decoder-only models); a step is of
            `batch_size` questions then.
        optimizer: ``adafactor``, its step sizes not scaled by the weights', or ``adamw``.
        learning_rate: at its highest.
        schedule: what becomes of it: ``constant``, ``linear`` or ``cosine`` down to 0.
        warmup_steps: steps over which it rises.
        weight_decay: of the optimizer.
        eval_steps: steps between evaluations, each with a checkpoint.
        eval_batch_size: questions answered together in an evaluation.
        metric: corpus score by which the best checkpoint is told; the paper's ROUGE-L is
            ``rougeLsum``.
        constraint: whether evaluations decode under the copy constraint: ``on`` or ``off``.
        max_new_tokens: most tokens of an answer in an evaluation.
        max_length: most tokens of a prompt, and of an answer where it has room of its own (of both
            together for a decoder-only model); longer examples are left out.
        lora_rank, lora_alpha, lora_dropout, lora_targets: of the adapters; targets are names of
            modules, or ``all-linear``.
        gradient_checkpointing: spend time to save memory.
        seed: of new weights, order and dropout.
        device: ``cpu`` keeps off the GPU; by default a GPU if there is one.
        bf16: compute in bfloat16 where that is safe.
        fp16: compute in float16 where that is safe, on a GPU.
        dtype: of the weights: ``float32``, or ``bfloat16``, which halves what a frozen model takes
            under LoRA; only there, for it would lose the small changes of a whole one.
        merge: make a whole model of adapters when all is done.

    Raises:
        InputError: a setting is out of its range.

    Source: Schuster et al. 2024, section 5 (optimizer, learning rate, batch, steps, choice of the
    checkpoint); LoRA's are common ones, and no paper's.
    """

    model: str
    method: Method = "auto"
    prompt: str = "zero-shot"
    form: Form = "auto"
    max_steps: int = 25_000
    batch_size: int = 32
    pack: bool = False
    optimizer: Optimizer = "adafactor"
    learning_rate: float = 1e-3
    schedule: Schedule = "constant"
    warmup_steps: int = 0
    weight_decay: float = 0.0
    eval_steps: int = 500
    eval_batch_size: int = 8
    metric: Metric = "rougeLsum"
    constraint: Literal["on", "off"] = "on"
    max_new_tokens: int = 256
    max_length: int = 2048
    lora_rank: int = 16
    lora_alpha: int = 32
    lora_dropout: float = 0.05
    lora_targets: tuple[str, ...] = ("all-linear",)
    gradient_checkpointing: bool = False
    seed: int = 0
    device: str | None = None
    bf16: bool = False
    fp16: bool = False
    dtype: Literal["float32", "bfloat16"] = "float32"
    merge: bool = True

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise InputError(
                    f"{name}: got {getattr(self, name)!r}, expected {', '.join(known)}; choose one "
                    "of them"
                )
        for name in _FROM_ONE:
            check_whole(name, getattr(self, name), 1)
        for name in ("warmup_steps", "seed"):
            check_whole(name, getattr(self, name), 0)
        check_range("learning_rate", self.learning_rate, 0, 10, least_given=False)
        check_range("weight_decay", self.weight_decay, 0, 10)
        check_range("lora_dropout", self.lora_dropout, 0, 0.99)
        if not self.lora_targets or not all(self.lora_targets):
            raise InputError(
                f"lora_targets: got {self.lora_targets!r}, expected names of modules; leave it out "
                "for all-linear"
            )

        if self.device not in (None, "cpu"):
            raise InputError(
                f"device: got {self.device!r}, expected cpu, or None for a GPU if there is one; "
                "choose a GPU with CUDA_VISIBLE_DEVICES"
            )
        if self.fp16 and (self.bf16 or self.dtype == "bfloat16"):
            other = "bf16=True" if self.bf16 else "dtype='bfloat16'"
            raise InputError(f"fp16: got it with {other}, expected one of the two; leave one out")

    def to_dict(self) -> dict[str, object]:
        """Return the settings ready for JSON."""
        return asdict(self)


_CHOICES: dict[str, tuple[str, ...]] = {
    "method": get_args(Method),
    "form": get_args(Form),
    "optimizer": get_args(Optimizer),
    "schedule": get_args(Schedule),
    "metric": get_args(Metric),
    "constraint": ("on", "off"),
    "dtype": ("float32", "bfloat16"),
}
_FROM_ONE = (
    "max_steps",
    "batch_size",
    "eval_steps",
    "eval_batch_size",
    "max_new_tokens",
    "max_length",
    "lora_rank",
    "lora_alpha",
)
