"""The settings of a training: each with its help, which `semqa train` shows for the flag of its name."""

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from typer import Option

from semqa.errors import InputError

LORA = "LoRA"
"""The panel of the options for LoRA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """What is trained, and how; the defaults are the paper's where it states one.

    Source: Schuster et al. 2024, section 5 (optimizer, learning rate, batch, steps, choice of the
    checkpoint); LoRA's are common ones, and no paper's.
    """

    model: Annotated[str, Option(help="The model to begin with: a folder or a name on the Hub.")]
    method: Annotated[
        Literal["auto", "full", "lora"],
        Option(help="auto: all weights of encoder-decoder models, LoRA for the others."),
    ] = "auto"
    prompt: Annotated[str, Option(help="The template of the prompts: its name, or a file.")] = (
        "zero-shot"
    )
    form: Annotated[Literal["auto", "chat", "completion"], Option(help="Of the prompts.")] = "auto"
    max_steps: Annotated[int, Option(help="Steps of the optimizer.")] = 25_000
    batch_size: Annotated[int, Option(help="Answers a step, however many fit at once.")] = 32
    pack: Annotated[
        bool, Option("--pack", help="Learn the answers to a question together, behind one prompt.")
    ] = False
    optimizer: Annotated[Literal["adafactor", "adamw"], Option(help="Adafactor, or AdamW.")] = (
        "adafactor"
    )
    learning_rate: Annotated[float, Option(help="At its highest.")] = 1e-3
    schedule: Annotated[
        Literal["constant", "linear", "cosine"], Option(help="Of the learning rate.")
    ] = "constant"
    warmup_steps: Annotated[int, Option(help="Steps over which it rises.")] = 0
    weight_decay: Annotated[float, Option(help="Of the optimizer.")] = 0.0
    eval_steps: Annotated[
        int, Option(help="Steps between evaluations, each with a checkpoint.")
    ] = 500
    eval_batch_size: Annotated[int, Option(help="Questions answered together.")] = 8
    metric: Annotated[
        Literal["rougeLsum", "rougeL", "sem_f1", "semqa"],
        Option(help="That tells the best checkpoint."),
    ] = "rougeLsum"
    constraint: Annotated[
        Literal["on", "off"], Option(help="Evaluate under the copy constraint.")
    ] = "on"
    max_new_tokens: Annotated[int, Option(help="Of an answer in an evaluation.")] = 256
    max_length: Annotated[
        int,
        Option(
            help="Tokens of a prompt, of a decoder-only model with its answer; longer ones are left out."
        ),
    ] = 2048
    lora_rank: Annotated[int, Option(help="Of the adapters.", rich_help_panel=LORA)] = 16
    lora_alpha: Annotated[int, Option(help="Of the adapters.", rich_help_panel=LORA)] = 32
    lora_dropout: Annotated[float, Option(help="Of the adapters.", rich_help_panel=LORA)] = 0.05
    lora_targets: Annotated[
        str, Option(help="Names of modules, with commas, or all-linear.", rich_help_panel=LORA)
    ] = "all-linear"
    merge: Annotated[
        bool,
        Option(help="Make a whole model of the adapters when all is done.", rich_help_panel=LORA),
    ] = True
    gradient_checkpointing: Annotated[
        bool, Option("--gradient-checkpointing", help="Less memory, more time.")
    ] = False
    seed: Annotated[int, Option(help="Of new weights, order and dropout.", envvar="SEMQA_SEED")] = 0
    device: Annotated[Literal["cpu"] | None, Option(help="Keep off the GPU.")] = None
    bf16: Annotated[bool, Option("--bf16", help="Compute in bfloat16.")] = False
    fp16: Annotated[bool, Option("--fp16", help="Compute in float16, on a GPU.")] = False
    dtype: Annotated[
        Literal["float32", "bfloat16"], Option(help="Of the weights; bfloat16 for LoRA only.")
    ] = "float32"

    def __post_init__(self) -> None:
        check_options(self, zero=("warmup_steps", "seed"))
        if not 0 <= self.weight_decay <= 10:
            raise invalid("weight_decay", self.weight_decay, "between 0 and 10")
        if not 0 <= self.lora_dropout <= 0.99:
            raise invalid("lora_dropout", self.lora_dropout, "between 0 and 0.99")
        if self.fp16 and (self.bf16 or self.dtype == "bfloat16"):
            raise InputError("cannot go with bfloat16.", field="fp16")


def check_options(options: Any, zero: tuple[str, ...] = ("seed",)) -> None:
    """Check the choices of a training, its whole numbers (from 1, or from 0), and its learning rate."""
    hints = get_type_hints(type(options))
    for field in fields(options):
        value, kind = getattr(options, field.name), hints[field.name]
        if get_origin(kind) is Literal and value not in get_args(kind):
            raise invalid(field.name, value, f"one of {', '.join(get_args(kind))}")
        least = 0 if field.name in zero else 1
        if kind in (int, int | None) and value is not None and value < least:
            raise invalid(field.name, value, f"a whole number from {least}")
    if not 0 < options.learning_rate <= 10:
        raise invalid("learning_rate", options.learning_rate, "above 0 and at most 10")
    if options.device not in (None, "cpu"):
        error = invalid("device", options.device, "cpu or None")
        error.hint = "Choose a GPU with CUDA_VISIBLE_DEVICES."
        raise error


def invalid(name: str, value: object, rule: str) -> InputError:
    """Return the error of a setting that is out of its range."""
    return InputError(f"must be {rule}, got {value!r}.", field=name, value=value)
