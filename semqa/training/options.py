"""The settings of a training run; each is also a flag of `semqa train`, with the same help."""

from dataclasses import dataclass
from typing import Annotated, Literal

from typer import Option

from semqa.checks import check_settings
from semqa.errors import InputError

LORA = "LoRA"
"""Name of the help panel for the options of LoRA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """Settings of a training run.

    Source: Schuster et al. 2024, section 5, for the defaults of optimizer, learning rate, batch
    size, steps and checkpoint selection. The other defaults are ours; those of LoRA are common.
    """

    model: Annotated[str, Option(help="Base model: a folder or a Hub name.")]
    method: Annotated[
        Literal["auto", "full", "lora"],
        Option(help="auto: full for encoder-decoder models, LoRA otherwise."),
    ] = "auto"
    prompt: Annotated[str, Option(help="Prompt template: a name or a file.")] = "zero-shot"
    form: Annotated[Literal["auto", "chat", "completion"], Option(help="Prompt format.")] = "auto"
    max_steps: Annotated[int, Option(min=1, help="Number of optimizer steps.")] = 25_000
    batch_size: Annotated[
        int, Option(min=1, help="Examples per optimizer step, in all processes.")
    ] = 32
    pack: Annotated[
        bool, Option("--pack", help="Train all answers to a question in one sequence.")
    ] = False
    optimizer: Annotated[Literal["adafactor", "adamw"], Option(help="Optimizer.")] = "adafactor"
    learning_rate: Annotated[float, Option(min=1e-9, max=10, help="Peak learning rate.")] = 1e-3
    schedule: Annotated[
        Literal["constant", "linear", "cosine"], Option(help="Learning rate schedule.")
    ] = "constant"
    warmup_steps: Annotated[int, Option(min=0, help="Warmup steps of the learning rate.")] = 0
    weight_decay: Annotated[float, Option(min=0, max=10, help="Weight decay.")] = 0.0
    eval_steps: Annotated[
        int, Option(min=1, help="Steps between evaluations, which also save a checkpoint.")
    ] = 500
    eval_batch_size: Annotated[
        int, Option(min=1, help="Batch size of evaluations, in questions.")
    ] = 8
    metric: Annotated[
        Literal["rougeLsum", "rougeL", "sem_f1", "semqa"],
        Option(help="Score that selects the best checkpoint."),
    ] = "rougeLsum"
    constraint: Annotated[
        Literal["on", "off"], Option(help="Copy constraint during evaluations.")
    ] = "on"
    max_new_tokens: Annotated[
        int, Option(min=1, help="Maximum tokens of an answer in evaluations.")
    ] = 256
    max_length: Annotated[
        int, Option(min=1, help="Maximum tokens of an example; longer ones are left out.")
    ] = 2048
    lora_rank: Annotated[int, Option(min=1, help="LoRA rank.", rich_help_panel=LORA)] = 16
    lora_alpha: Annotated[int, Option(min=1, help="LoRA alpha.", rich_help_panel=LORA)] = 32
    lora_dropout: Annotated[
        float, Option(min=0, max=0.99, help="LoRA dropout.", rich_help_panel=LORA)
    ] = 0.05
    lora_targets: Annotated[
        str, Option(help="Modules, separated by commas, or all-linear.", rich_help_panel=LORA)
    ] = "all-linear"
    gradient_checkpointing: Annotated[
        bool, Option("--gradient-checkpointing", help="Use less memory, but more time.")
    ] = False
    seed: Annotated[int, Option(min=0, help="Random seed.", envvar="SEMQA_SEED")] = 0
    device: Annotated[Literal["cpu"] | None, Option(help="Do not use a GPU.")] = None
    bf16: Annotated[bool, Option("--bf16", help="Compute in bfloat16.")] = False
    fp16: Annotated[bool, Option("--fp16", help="Compute in float16 (GPU only).")] = False
    dtype: Annotated[
        Literal["float32", "bfloat16"], Option(help="Type of the weights; bfloat16 only for LoRA.")
    ] = "float32"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.fp16 and (self.bf16 or self.dtype == "bfloat16"):
            raise InputError("cannot be combined with bfloat16.", field="fp16")
