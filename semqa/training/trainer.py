"""One training with transformers' Trainer: its arguments, its batches and its evaluations."""

from __future__ import annotations

import math
from inspect import signature
from typing import TYPE_CHECKING, Any

import torch

from semqa.errors import InputError
from semqa.metrics import METRICS
from semqa.trainer.fit import fit
from semqa.trainer.run import GuardedTrainer, Keeping, OneDevice, Run, arguments
from semqa.training.encoding import IGNORED, prompt_size, unpack

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from semqa.trainer import Session
    from semqa.training.encoding import Encoded
    from semqa.training.options import TrainingOptions
    from semqa.training.scoring import DevScorer

__all__ = ["Padding", "make_run"]

_LOGGED = 50
"""Steps between two losses in TensorBoard."""
_NOT_PACKED = "pack: This model cannot learn several answers behind one prompt; leave it out."
_PRECISIONS = {
    (False, False): None,
    (True, False): torch.bfloat16,
    (False, True): torch.float16,
}
"""What is computed in, with bf16 and fp16."""


def make_run(
    model: Any,
    tokenizer: Any,
    examples: Encoded,
    dev: DevScorer,
    session: Session,
    options: TrainingOptions,
    *,
    tensorboard: Path | None = None,
) -> Run:
    """Return a training that is ready to go.

    Args:
        model: what is trained.
        tokenizer: its tokenizer.
        examples: to learn from.
        dev: scores the model as it is.
        session: folder, processes, and who is told.
        options: what, and how.
        tensorboard: folder for TensorBoard's events.

    Raises:
        InputError: the device does not compute so, the batch cannot be shared out, or the model
            does not fit into memory.
    """

    def save(folder: str) -> None:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)

    logged: dict[str, Any] = {"logging_strategy": "steps", "logging_steps": _LOGGED}
    ranks = session.ranks
    share = ranks.share(options.batch_size)
    pad = tokenizer.pad_token_id
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    padding = Padding(
        0 if pad is None else int(pad),
        signature(base.forward).parameters,
        is_encoder_decoder=bool(model.config.is_encoder_decoder),
    )
    given = arguments(
        options,
        session.folder,
        optim="adafactor" if options.optimizer == "adafactor" else "adamw_torch",
        lr_scheduler_type=_SCHEDULES[bool(options.warmup_steps), options.schedule],
        max_steps=options.max_steps,
        gradient_checkpointing=options.gradient_checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        **({} if tensorboard is None else logged),
    )
    if options.pack:
        _check_packing(model, padding, examples.features)
    found = fit(
        model,
        padding,
        examples.features,
        share=share,
        state_bytes=0 if options.optimizer == "adafactor" else 2,
        precision=_PRECISIONS[options.bf16, options.fp16],
        gradient_checkpointing=options.gradient_checkpointing,
    )
    micro_batch = min(ranks.join_spread([found.micro_batch]))
    if session.progress.on_fit is not None and ranks.rank == 0:
        session.progress.on_fit(found, options.max_steps)
    trainer = _ScoringTrainer(
        dev,
        model=model,
        args=OneDevice(
            **given,
            per_device_train_batch_size=micro_batch,
            gradient_accumulation_steps=share // micro_batch,
        ),
        train_dataset=examples.features,
        data_collator=padding,
    )
    if tensorboard is not None and session.ranks.rank == 0:
        trainer.add_callback(_tensorboard(tensorboard))
    keeping = Keeping(
        options.metric,
        (*METRICS, "verified"),
        save,
        evaluate_steps=options.eval_steps,
        most=session.most_checkpoints,
    )
    return Run(trainer, session.folder, session.ranks, keeping, session.progress.on_progress)


class Padding:
    """Puts examples of different lengths into one batch.

    A decoder-only model is asked for scores of the answers alone: prompts are filled up at the left,
    so that the answers stand at the end, and those before the longest are not computed. If several
    answers follow one prompt, each sees the prompt and itself.

    Args:
        pad: the token to fill up with, which is masked.
        forward: the names that the model's ``forward`` takes.
        is_encoder_decoder: whether labels are of a sequence of their own.
    """

    def __init__(self, pad: int, forward: Collection[str], *, is_encoder_decoder: bool) -> None:
        self._pad = pad
        self._at_left = not is_encoder_decoder
        self._positions = self._at_left and "position_ids" in forward
        self._trims = self._at_left and "logits_to_keep" in forward

    def __call__(self, features: Sequence[dict[str, list[int]]]) -> dict[str, Any]:
        """Return ids [B, T], mask [B, T] (or [B, 1, T, T] for packed answers) and labels [B, U]."""
        ids = [each["input_ids"] for each in features]
        labels = [each["labels"] for each in features]
        mask = self._filled([[1] * len(each) for each in ids], 0)
        batch: dict[str, Any] = {"input_ids": self._filled(ids, self._pad), "attention_mask": mask}
        batch["labels"] = self._filled(labels, IGNORED)
        if self._positions:
            batch["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)
        if self._at_left and any(len(unpack(each)) > 1 for each in features):
            seen = _seen(mask.bool(), batch["labels"])
            batch["position_ids"] = (seen.sum(-1) - 1).clamp(min=0)
            batch["attention_mask"] = (seen | torch.eye(mask.shape[1], dtype=torch.bool))[:, None]
        if self._trims:
            # The token before the first label is the one that predicts it.
            longest = max(len(each) - prompt_size(each) for each in labels)
            batch["logits_to_keep"] = longest + 1
            batch["labels"] = batch["labels"][:, -longest - 1 :]
        return batch

    def _filled(self, rows: Sequence[Sequence[int]], value: int) -> torch.Tensor:
        width = max(map(len, rows))
        fill = [[value] * (width - len(row)) for row in rows]
        parts = zip(fill, rows, strict=True) if self._at_left else zip(rows, fill, strict=True)
        return torch.tensor([[*first, *second] for first, second in parts])


def _seen(mask: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return which tokens [B, T, T] each token sees: those before it in the prompt and its answer."""
    begins = torch.zeros_like(mask)
    begins[:, :-1] = (labels[:, :-1] == IGNORED) & (labels[:, 1:] != IGNORED)
    answer = begins.cumsum(1)  # 0 in the prompt, but for its last token, which each answer has
    own = (answer[:, None, :] == 0) | (answer[:, None, :] == answer[:, :, None])
    return own.tril() & mask[:, None, :]


def _check_packing(model: Any, padding: Padding, features: Sequence[dict[str, list[int]]]) -> None:
    """Compare the loss of packed answers with that of the same answers apart.

    Raises:
        InputError: they differ: the model does not keep to the mask, or to the positions.
    """
    most = max(features, key=lambda each: len(unpack(each)))
    parameter = next(model.parameters())
    training = model.training
    model.eval()
    losses = []
    try:
        with torch.no_grad():
            for rows in ([most], unpack(most)):
                batch = padding(rows)
                given = {
                    name: value.to(parameter.device) if isinstance(value, torch.Tensor) else value
                    for name, value in batch.items()
                }
                losses.append(float(model(**given).loss))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(_NOT_PACKED) from error
    finally:
        model.train(training)
    tolerance = 1e-3 if parameter.dtype == torch.float32 else 2e-2
    if not math.isclose(*losses, rel_tol=tolerance):
        raise InputError(_NOT_PACKED)


class _ScoringTrainer(GuardedTrainer):
    """A Trainer whose evaluations are what a scorer finds."""

    def __init__(self, dev: DevScorer, **given: Any) -> None:
        super().__init__(**given)
        self._dev = dev

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the scores of the model as it is, and tell the callbacks."""
        model: Any = self.model
        model.eval()  # the next step sets it back
        with self.as_given():
            metrics = {f"eval_{name}": value for name, value in self._dev.scores().items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        return metrics


def _tensorboard(folder: Path) -> Any:
    from torch.utils.tensorboard import SummaryWriter
    from transformers import integrations

    known: Any = integrations  # it states no names
    return known.TensorBoardCallback(SummaryWriter(log_dir=str(folder)))


_SCHEDULES = {
    (False, "constant"): "constant",
    (True, "constant"): "constant_with_warmup",
    **{(warm, name): name for warm in (False, True) for name in ("linear", "cosine")},
}
