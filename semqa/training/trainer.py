"""A training run with transformers' Trainer: memory, batches, evaluations and checkpoints.

The Trainer computes the steps; `Run` decides when to evaluate and save, keeps the best model, and
handles interruptions. This module imports torch and transformers.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import psutil
import torch
from accelerate.utils.memory import should_reduce_batch_size
from transformers import (
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
)

from semqa.errors import InputError
from semqa.metrics import METRICS
from semqa.training.examples import IGNORED, DevScorer, Encoded, prompt_size, unpack
from semqa.training.folder import Fit, Interrupt, Session, TrainingFolder
from semqa.training.options import TrainingOptions


def arguments(settings: Any, folder: TrainingFolder, **given: Any) -> dict[str, Any]:
    """Return the `TrainingArguments` common to all training runs, and those given.

    The Trainer's own evaluations and checkpoints are off, because `Run` decides about them.
    """
    on_gpu = settings.device != "cpu" and torch.cuda.is_available()
    if settings.fp16 and not on_gpu:
        raise InputError("needs a GPU.", field="fp16", hint="Use bf16 on a CPU.")
    if settings.bf16 and on_gpu and not torch.cuda.is_bf16_supported():
        name = torch.cuda.get_device_name()
        raise InputError(f"is not supported by {name}.", field="bf16", hint="Use fp16 instead.")
    return {
        "output_dir": str(folder.checkpoints),
        "learning_rate": settings.learning_rate,
        "eval_strategy": "no",
        "save_strategy": "no",
        "logging_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "log_level": "error",
        "seed": settings.seed,
        "data_seed": settings.seed,
        # Without a GPU, the Trainer uses bfloat16 only with `use_cpu`.
        "use_cpu": settings.device == "cpu" or (settings.bf16 and not on_gpu),
        "bf16": settings.bf16,
        "fp16": settings.fp16,
        "dataloader_pin_memory": False,
        "remove_unused_columns": False,
        **given,
    }


class OneDevice(TrainingArguments):
    """Training arguments for one GPU per process, even if more are visible.

    Otherwise the Trainer would multiply the batch size by the number of GPUs.
    """

    @property
    def n_gpu(self) -> int:
        """The number of GPUs: 1, or 0 on a CPU."""
        return min(1, int(super().n_gpu))


class GuardedTrainer(Trainer):
    """A Trainer that tracks its loss, and reports write errors of checkpoints."""

    folder: TrainingFolder
    losses: Any = 0.0
    """Sum of all losses; it is not finite once any of them was not."""

    def __init__(self, **given: Any) -> None:
        self._caches = getattr(given["model"].config, "use_cache", None)
        super().__init__(**given)

    @contextmanager
    def as_given(self) -> Iterator[None]:
        """Restore the model's `use_cache`, which the Trainer turns off, within the block."""
        config: Any = getattr(self.model, "config", None)
        now = config.use_cache
        config.use_cache = now if self._caches is None else self._caches
        try:
            yield
        finally:
            config.use_cache = now

    def training_step(self, *given: Any, **named: Any) -> torch.Tensor:
        """Run a training step, and add its loss to the sum."""
        loss = super().training_step(*given, **named)
        self.losses = self.losses + loss.detach()
        return loss

    def _save_checkpoint(self, *given: Any, **named: Any) -> None:
        with self.folder.writing():
            super()._save_checkpoint(*given, **named)


class Run(TrainerCallback):
    """A resumable training run, as a callback of its Trainer.

    Args:
        metric: name of the score that selects the best model; the first one wins a tie.
        scores: names of all scores of an evaluation.
        save: writes the model to a folder.
        evaluate_steps: steps between evaluations; None to evaluate after each epoch.
        save_steps: steps between checkpoints; None to save at each evaluation.
    """

    def __init__(
        self,
        trainer: GuardedTrainer,
        session: Session,
        metric: str,
        scores: Collection[str],
        save: Callable[[str], object],
        *,
        evaluate_steps: int | None = None,
        save_steps: int | None = None,
    ) -> None:
        trainer.folder = session.folder
        self._trainer: Any = trainer
        self._folder, self._ranks = session.folder, session.ranks
        self._on_progress = session.progress.on_progress
        self._metric, self._scores, self._save = metric, scores, save
        self._evaluate_steps, self._save_steps = evaluate_steps, save_steps
        self._best = self._ranks.first(self._folder.best)
        self._interrupt = Interrupt()
        self._stopped = False
        for callback in (PrinterCallback, ProgressCallback):
            trainer.remove_callback(callback)
        trainer.add_callback(self)

    def _evaluates(self, state: TrainerState) -> bool:
        if state.global_step >= state.max_steps:
            return True
        if self._evaluate_steps is None:
            return float(state.epoch or 0.0).is_integer()
        return state.global_step % self._evaluate_steps == 0

    def _saves(self, state: TrainerState) -> bool:
        if state.global_step >= state.max_steps or self._save_steps is None:
            return self._evaluates(state)
        return state.global_step % self._save_steps == 0

    def go(self, checkpoint: Path | None) -> list[dict[str, Any]]:
        """Train to the end; return step, epoch and scores of all evaluations, also before a restart.

        Raises:
            InputError: the loss or weights became NaN or infinite; no such checkpoint is saved.
            UnavailableError: a file cannot be written.
            KeyboardInterrupt: Ctrl-C or SIGTERM; a checkpoint has been saved.
        """
        done = _finished(checkpoint)
        if done is not None:
            self._trainer.state = done
            return self._evaluations()
        with self._interrupt, memory_errors():
            self._trainer.train(
                resume_from_checkpoint=None if checkpoint is None else str(checkpoint)
            )
        if self._stopped:
            raise self._interrupt.error()
        return self._evaluations()

    def _evaluations(self) -> list[dict[str, Any]]:
        """Return the evaluations in the Trainer's log, which is part of its checkpoints."""
        found: dict[int, dict[str, Any]] = {}
        for entry in self._trainer.state.log_history:
            if f"eval_{self._metric}" in entry:
                found[entry["step"]] = self._evaluation(entry["step"], entry["epoch"], entry)
        return [found[step] for step in sorted(found)]

    def _evaluation(self, step: int, epoch: float, metrics: dict[str, Any]) -> dict[str, Any]:
        scores = {
            name: metrics[f"eval_{name}"] for name in self._scores if f"eval_{name}" in metrics
        }
        return {"step": step, "epoch": round(epoch, 4), **scores}

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ARG002
        """Decide whether to evaluate, save or stop after a step."""
        if self._on_progress is not None and self._ranks.rank == 0:
            self._on_progress(state.global_step, state.max_steps)
        self._stopped = self._ranks.any(self._interrupt.requested)
        control.should_evaluate = self._evaluates(state)
        control.should_save = self._saves(state) or self._stopped
        if self._stopped and state.global_step < state.max_steps:
            control.should_training_stop = True
        if control.should_evaluate or control.should_save:
            self._check()
        return control

    def on_evaluate(self, args: Any, state: Any, control: Any, **given: Any) -> None:  # noqa: ARG002
        """Keep the model if it is the best so far."""
        name, metrics = self._metric, given["metrics"]
        if f"eval_{name}" not in metrics:
            raise InputError(f"{name} is undefined on the dev data.", field="metric")
        found = self._evaluation(state.global_step, state.epoch or 0.0, metrics)
        if self._best is None or found[name] > self._best[name]:
            with self._trainer.as_given():
                self._ranks.first(lambda: self._folder.keep(found, self._save))
            self._best = found

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Mark the checkpoint as complete once all processes have written their part."""
        self._ranks.wait()
        self._ranks.first(lambda: self._folder.seal(state.global_step))

    def _check(self) -> None:
        """Reject NaN and inf before saving."""
        loss = self._trainer.losses
        weights = [each for each in self._trainer.model.parameters() if each.requires_grad]
        finite = bool(torch.isfinite(torch.as_tensor(loss)))
        if not (finite and all(bool(torch.isfinite(each).all()) for each in weights)):
            raise InputError(
                f"Training diverged by step {self._trainer.state.global_step}: loss or weights are "
                "not finite.",
                hint="Lower the learning rate, and choose a new folder.",
            )


def _finished(checkpoint: Path | None) -> TrainerState | None:
    """Return the state of a checkpoint if all steps are done, or None.

    The Trainer would do one more step if it resumed from such a checkpoint.
    """
    if checkpoint is None:
        return None
    state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
    return state if state.global_step >= state.max_steps else None


_NOT_PACKED = "is not supported: this model cannot keep packed answers apart."
_PRECISIONS = {(False, False): None, (True, False): torch.bfloat16, (False, True): torch.float16}
"""Data type of the computation, by bf16 and fp16."""


def make_run(
    model: Any,
    tokenizer: Any,
    examples: Encoded,
    dev: DevScorer,
    session: Session,
    options: TrainingOptions,
) -> Run:
    """Prepare a training run: measure memory, and set up the Trainer."""

    def save(folder: str) -> None:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)

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
        lr_scheduler_type=_SCHEDULES.get(options.schedule, options.schedule),
        max_steps=options.max_steps,
        warmup_steps=options.warmup_steps,
        weight_decay=options.weight_decay,
        gradient_checkpointing=options.gradient_checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False},
    )
    if options.pack:
        _check_packing(model, padding, examples.features)
    if session.progress.say is not None and ranks.rank == 0:
        session.progress.say("measuring memory and time with the longest example …")
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
    scores = (*METRICS, "verified")
    return Run(trainer, session, options.metric, scores, save, evaluate_steps=options.eval_steps)


class Padding:
    """A collator that pads examples to one batch.

    For decoder-only models, examples are padded on the left, so that logits need to be computed
    only for the last tokens, up to the longest answer. In packed examples, each answer attends only
    to the prompt and itself. `forward` has the names of the parameters of the model's ``forward``.
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
    """Return which tokens [B, T, T] each one attends to: those before it in prompt and answer."""
    begins = torch.zeros_like(mask)
    begins[:, :-1] = (labels[:, :-1] == IGNORED) & (labels[:, 1:] != IGNORED)
    answer = begins.cumsum(1)  # 0 in the prompt, but not for its last token
    own = (answer[:, None, :] == 0) | (answer[:, None, :] == answer[:, :, None])
    return own.tril() & mask[:, None, :]


def _check_packing(model: Any, padding: Padding, features: Sequence[dict[str, list[int]]]) -> None:
    """Raise if packing changes the loss, because the model ignores the mask or the positions."""
    most = max(features, key=lambda each: len(unpack(each)))
    parameter = next(model.parameters())
    training = model.training
    model.eval()
    losses = []
    try:
        with torch.no_grad():
            for rows in ([most], unpack(most)):
                batch = padding(rows)
                given = {name: _moved(value, parameter.device) for name, value in batch.items()}
                losses.append(float(model(**given).loss))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(_NOT_PACKED, field="pack") from error
    finally:
        model.train(training)
    tolerance = 1e-3 if parameter.dtype == torch.float32 else 2e-2
    if not math.isclose(*losses, rel_tol=tolerance):
        raise InputError(_NOT_PACKED, field="pack")


class _ScoringTrainer(GuardedTrainer):
    def __init__(self, dev: DevScorer, **given: Any) -> None:
        super().__init__(**given)
        self._dev = dev

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the scores of the current model, and notify the callbacks."""
        model: Any = self.model
        model.eval()  # the next step restores training mode
        with self.as_given():
            metrics = {f"eval_{name}": value for name, value in self._dev.scores().items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        return metrics


_SCHEDULES = {"constant": "constant_with_warmup"}  # the same without warmup


_CPU_TOKENS = 2_048
"""Maximum tokens of a micro-batch on a CPU; larger ones are not faster."""
_MEMORY_SHARE = 0.8
"""Share of the free memory that training may use."""
_BACKWARD = 1.25
"""Memory of a backward pass, relative to the activations kept by the forward pass."""
_RECOMPUTED = 2.0
"""The same with gradient checkpointing, including one layer's recomputed activations."""


def fit(
    model: Any,
    collate: Callable[[Any], dict[str, torch.Tensor]],
    examples: Sequence[Mapping[str, Sequence[int]]],
    *,
    share: int,
    state_bytes: int,
    precision: torch.dtype | None = None,
    gradient_checkpointing: bool = False,
) -> Fit:
    """Measure a model on the longest example and choose the largest micro-batch that fits.

    The micro-batch divides the `share` of a step's examples in this process. `state_bytes` are the
    bytes of optimizer state per byte of trained weights; `precision` is the data type of the
    computation, if it differs from the weights.
    """
    ordered = sorted(examples, key=_length)
    device = next(model.parameters()).device
    trained = sum(each.nbytes for each in model.parameters() if each.requires_grad)
    copies = 1 + state_bytes + torch.distributed.is_initialized()  # DDP has buckets of gradients
    free = free_memory(device)
    budget = int(free * _MEMORY_SHARE) - copies * trained
    factor = _RECOMPUTED if gradient_checkpointing else _BACKWARD

    def step(batch: dict[str, torch.Tensor], most: float) -> int:
        given = {name: _moved(value, device) for name, value in batch.items()}
        autocast = torch.autocast(device.type, precision, enabled=precision is not None)
        with autocast, _kept(model, most) as kept:
            loss = model(**given).loss
        loss.backward()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return sum(kept.values())

    if gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    training = model.training
    model.train()
    with torch.random.fork_rng([device] if device.type == "cuda" else []), memory_errors(free):
        each = max(1, int(factor * step(collate([ordered[-1]]), budget / factor)))
        most = min(share, budget // each)
        if device.type == "cpu":
            most = min(most, max(1, _CPU_TOKENS // _length(ordered[-1])))
        micro = next((size for size in range(most, 0, -1) if share % size == 0), 0)
        if not micro:
            raise MemoryError
        model.zero_grad(set_to_none=True)
        begun = time.perf_counter()
        middle = range(len(ordered) // (2 * micro), len(ordered), max(1, len(ordered) // micro))
        step(collate([ordered[place] for place in middle][:micro]), float("inf"))
        seconds = (time.perf_counter() - begun) * share / micro
    model.zero_grad(set_to_none=True)
    model.train(training)
    return Fit(micro, copies * trained + micro * each, free, seconds)


@contextmanager
def memory_errors(free: int | None = None) -> Iterator[None]:
    """Turn an out-of-memory error in the block into an InputError with a hint."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not should_reduce_batch_size(error):
            raise
        detail = "" if free is None else f" ({free / 1e9:.1f} GB are free)"
        raise InputError(
            f"The longest example does not fit into memory{detail}.",
            hint="Lower --max-length, use --gradient-checkpointing or --method lora, or choose a "
            "smaller model.",
        ) from error


def free_memory(device: torch.device) -> int:
    """Return the number of bytes that this process can still allocate on a device."""
    if device.type == "cuda":
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + cached)
    limits = [int(psutil.virtual_memory().available), *_container_memory()]
    return max(0, min(limits) // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def _container_memory() -> list[int]:
    """Return the free memory of the container, if limited; its page cache counts as free."""
    group = Path("/sys/fs/cgroup")
    try:
        most = int((group / "memory.max").read_text())
        used = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return [most - int(used["anon"])]
    except (OSError, ValueError, KeyError):  # no limit, or another operating system
        return []


@contextmanager
def _kept(model: Any, most: float) -> Iterator[dict[int, int]]:
    """Record the bytes that forward passes in the block keep for the backward pass, by address.

    Raises:
        MemoryError: if they exceed `most`.
    """
    weights = {each.untyped_storage().data_ptr() for each in model.parameters()}
    kept: dict[int, int] = {}
    total = 0

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal total
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if address not in weights and address not in kept:
            kept[address] = storage.nbytes()
            total += kept[address]
            if total > most:
                raise MemoryError
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield kept


def _moved(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value


def _length(example: Mapping[str, Sequence[int]]) -> int:
    return max(len(example["input_ids"]), len(example["labels"]))
