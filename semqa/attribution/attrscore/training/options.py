"""The settings of a training; knows nothing of torch, so that a wrong one is found before it loads."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from semqa.attribution.attrscore.family import DEFAULT_FAMILY, family_named
from semqa.errors import InputError

__all__ = ["Kind", "TrainingOptions"]

Kind = Literal["auto", "classifier", "seq2seq"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """What is trained, and how.

    Attributes:
        model: a folder, or a name on the Hub.
        kind: ``classifier`` over reference and claim, or ``seq2seq``, which writes the label word
            after a prompt; ``auto`` is seq2seq for an encoder-decoder model.
        family: of the prompt, for seq2seq.
        with_query: whether claims have their query in front.
        epochs: passes over the training data.
        max_steps: ends training after so many steps of the optimizer, whatever `epochs` says.
        batch_size: examples of which a step's gradients are summed, over all processes.
        accumulate: batches whose gradients make one step; with `batch_size`, 64 examples as in the
            paper.
        learning_rate: at its highest; it falls to 0 along a cosine.
        warmup_steps: steps over which it rises; 0 for `warmup_ratio` of all steps.
        warmup_ratio: share of the steps over which it rises.
        weight_decay: of the optimizer.
        max_length: tokens of an input; references are cut to fit, claims never.
        save_steps: steps between checkpoints; by default one an epoch.
        metric: by which the best model is told: ``micro_f1`` or ``macro_f1``.
        seed: of initial weights, order and dropout.
        device: ``cpu`` keeps off the GPU; by default a GPU if there is one.
        bf16: compute in bfloat16 where that is safe.
        fp16: compute in float16 where that is safe, on a GPU.

    Raises:
        InputError: a setting is out of its range.
    """

    model: str
    kind: Kind = "auto"
    family: str = DEFAULT_FAMILY
    with_query: bool = True
    epochs: float = 3.0
    max_steps: int | None = None
    batch_size: int = 8
    accumulate: int = 8
    learning_rate: float = 2e-5
    warmup_steps: int = 0
    warmup_ratio: float = 0.03
    weight_decay: float = 0.0
    max_length: int = 512
    save_steps: int | None = None
    metric: str = "micro_f1"
    seed: int = 0
    device: str | None = None
    bf16: bool = False
    fp16: bool = False

    def __post_init__(self) -> None:
        if self.kind not in ("auto", "classifier", "seq2seq"):
            raise InputError(
                f"kind: got {self.kind!r}, expected auto, classifier or seq2seq; choose one of them"
            )
        if self.metric not in ("micro_f1", "macro_f1"):
            raise InputError(
                f"metric: got {self.metric!r}, expected micro_f1 or macro_f1; choose one of them"
            )
        family_named(self.family)
        for name in ("max_steps", "batch_size", "accumulate", "max_length", "save_steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name}: got {value}, expected 1 or more; correct it")
        if not 0 < self.epochs <= 10_000:
            raise InputError(
                f"epochs: got {self.epochs:g}, expected more than 0 and at most 10,000; correct it"
            )
        if not 0 < self.learning_rate <= 10:
            raise InputError(
                f"learning_rate: got {self.learning_rate:g}, expected more than 0 and at most 10; "
                "correct it"
            )
        for name in ("warmup_steps", "warmup_ratio", "weight_decay", "seed"):
            if getattr(self, name) < 0:
                raise InputError(
                    f"{name}: got {getattr(self, name)}, expected 0 or more; correct it"
                )

        if self.fp16 and self.bf16:
            raise InputError("fp16: got it with bf16=True, expected one of the two; leave one out")

    def to_dict(self) -> dict[str, object]:
        """Return the settings ready for JSON."""
        return asdict(self)
