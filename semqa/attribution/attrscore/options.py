"""The settings of AttrScore's training, each with its help; see `semqa.training.options`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from typer import Option

from semqa.errors import InputError
from semqa.training.options import check_options, invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """Settings of a training. A batch times `accumulate` is 64 examples, as in the paper.

    Raises:
        InputError: a setting is out of its range.
    """

    model: Annotated[str, Option(help="The model to begin with: a folder or a name on the Hub.")]
    kind: Annotated[
        Literal["auto", "classifier", "seq2seq"],
        Option(help="auto: seq2seq for encoder-decoder models, else classifier."),
    ] = "auto"
    family: Annotated[
        Literal["attribution-defined", "attribution", "fact-checking", "nli", "summarization"],
        Option(help="Prompt family, for seq2seq."),
    ] = "attribution-defined"
    epochs: Annotated[float, Option(help="Passes over the examples.")] = 3.0
    max_steps: Annotated[
        int | None, Option(help="End after so many steps, whatever --epochs says.")
    ] = None
    batch_size: Annotated[int, Option(help="Examples a step, in all processes.")] = 8
    accumulate: Annotated[int, Option(help="Batches that make a step.")] = 8
    learning_rate: Annotated[
        float, Option(help="At its highest; it falls to 0 along a cosine.")
    ] = 2e-5
    max_length: Annotated[
        int, Option(help="Tokens of an input; references are cut, claims never.")
    ] = 512
    save_steps: Annotated[
        int | None, Option(help="Steps between checkpoints, if not an epoch.")
    ] = None
    seed: Annotated[
        int, Option(help="Of initial weights, order and dropout.", envvar="SEMQA_SEED")
    ] = 0
    device: Annotated[Literal["cpu"] | None, Option(help="Keep off the GPU.")] = None
    bf16: Annotated[bool, Option("--bf16", help="Compute in bfloat16.")] = False
    fp16: Annotated[bool, Option("--fp16", help="Compute in float16, on a GPU.")] = False

    def __post_init__(self) -> None:
        check_options(self)
        if not 0 < self.epochs <= 10_000:
            raise invalid("epochs", self.epochs, "above 0 and at most 10,000")
        if self.fp16 and self.bf16:
            raise InputError("excludes bf16.", field="fp16")
