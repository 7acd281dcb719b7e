"""Options of AttrScore training, with their help; see `semqa.training.options`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from typer import Option

from semqa.checks import check_settings
from semqa.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """Options of a training run. As in the paper, a step has 64 examples by default."""

    model: Annotated[str, Option(help="Base model: a folder or a Hub name.")]
    kind: Annotated[
        Literal["auto", "classifier", "seq2seq"],
        Option(help="auto: seq2seq for encoder-decoders, otherwise classifier."),
    ] = "auto"
    family: Annotated[
        Literal["attribution-defined", "attribution", "fact-checking", "nli", "summarization"],
        Option(help="Prompt family, for seq2seq."),
    ] = "attribution-defined"
    epochs: Annotated[float, Option(min=0.001, max=10_000, help="Number of epochs.")] = 3.0
    max_steps: Annotated[
        int | None, Option(min=1, help="Maximum number of steps; overrides --epochs.")
    ] = None
    batch_size: Annotated[int, Option(min=1, help="Examples per batch, over all processes.")] = 8
    accumulate: Annotated[int, Option(min=1, help="Batches per step (gradient accumulation).")] = 8
    learning_rate: Annotated[
        float, Option(min=1e-9, max=10, help="Peak learning rate; decays to 0 along a cosine.")
    ] = 2e-5
    max_length: Annotated[
        int, Option(min=1, help="Maximum input tokens; only references are cut.")
    ] = 512
    save_steps: Annotated[
        int | None, Option(min=1, help="Steps between checkpoints (default: one epoch).")
    ] = None
    seed: Annotated[int, Option(min=0, help="Random seed.", envvar="SEMQA_SEED")] = 0
    device: Annotated[Literal["cpu"] | None, Option(help="Do not use a GPU.")] = None
    bf16: Annotated[bool, Option("--bf16", help="Compute in bfloat16.")] = False
    fp16: Annotated[bool, Option("--fp16", help="Compute in float16 (GPU only).")] = False

    def __post_init__(self) -> None:
        check_settings(self)
        if self.fp16 and self.bf16:
            raise InputError("cannot be combined with bf16.", field="fp16")
