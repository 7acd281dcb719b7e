"""One training with transformers' Trainer, whatever it trains: its steps, and what it leaves behind.

Loads torch and transformers.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import torch
from transformers import (
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
)

from semqa.errors import InputError
from semqa.trainer.fit import memory_errors
from semqa.trainer.interrupt import Interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from semqa.trainer.folder import TrainingFolder
    from semqa.trainer.ranks import Ranks

__all__ = ["GuardedTrainer", "Keeping", "OneDevice", "Run", "arguments"]


class Settings(Protocol):
    """Options that all trainings have."""

    @property
    def learning_rate(self) -> float: ...
    @property
    def warmup_steps(self) -> int: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def device(self) -> str | None: ...
    @property
    def bf16(self) -> bool: ...
    @property
    def fp16(self) -> bool: ...


def arguments(settings: Settings, folder: TrainingFolder, **given: Any) -> dict[str, Any]:
    """Return what all trainings give as `TrainingArguments`.

    Evaluations and checkpoints are the `Run`'s business.

    Args:
        settings: what is the same for all trainings.
        folder: where checkpoints go.
        given: further arguments, which count before these.

    Raises:
        InputError: the device does not compute so.
    """
    on_gpu = settings.device != "cpu" and torch.cuda.is_available()
    if settings.fp16 and not on_gpu:
        raise InputError("fp16: got it on a CPU, expected a GPU; leave it out, or take bf16")
    if settings.bf16 and on_gpu and not torch.cuda.is_bf16_supported():
        raise InputError(
            f"bf16: got it on {torch.cuda.get_device_name()}, expected a GPU that computes in "
            "bfloat16; leave it out, or take fp16 in its place"
        )
    return {
        "output_dir": str(folder.checkpoints),
        "learning_rate": settings.learning_rate,
        "warmup_steps": settings.warmup_steps,
        "weight_decay": settings.weight_decay,
        "eval_strategy": "no",
        "save_strategy": "no",
        "logging_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "log_level": "error",
        "seed": settings.seed,
        "data_seed": settings.seed,
        # Without a GPU the Trainer computes in bfloat16 only where it is told so.
        "use_cpu": settings.device == "cpu" or (settings.bf16 and not on_gpu),
        "bf16": settings.bf16,
        "fp16": settings.fp16,
        "dataloader_pin_memory": False,
        "remove_unused_columns": False,
        **given,
    }


class OneDevice(TrainingArguments):
    """Arguments of a process that trains on one GPU however many it sees.

    The Trainer would make each batch as many times as large as there are GPUs.
    """

    @property
    def n_gpu(self) -> int:
        """One, or none on a CPU."""
        return min(1, int(super().n_gpu))


class GuardedTrainer(Trainer):
    """A Trainer that watches its losses, and says it in words when a checkpoint cannot be written.

    Attributes:
        folder: of the training.
        losses: their sum, no number once one of them was none.
    """

    folder: TrainingFolder
    losses: Any = 0.0

    def __init__(self, **given: Any) -> None:
        self._caches = getattr(given["model"].config, "use_cache", None)
        super().__init__(**given)

    @contextmanager
    def as_given(self) -> Iterator[None]:
        """Let a model that writes remember what it has read, which the Trainer turns off."""
        config: Any = getattr(self.model, "config", None)
        now = config.use_cache
        config.use_cache = now if self._caches is None else self._caches
        try:
            yield
        finally:
            config.use_cache = now

    def training_step(self, *given: Any, **named: Any) -> torch.Tensor:
        """Do as the Trainer does, and add the loss to the sum."""
        loss = super().training_step(*given, **named)
        self.losses = self.losses + loss.detach()
        return loss

    def _save_checkpoint(self, *given: Any, **named: Any) -> None:
        with self.folder.writing():
            super()._save_checkpoint(*given, **named)


class Keeping:
    """When a model is evaluated and which one is kept.

    Args:
        metric: a score's name; the first model with the highest is kept.
        scores: names of all scores that an evaluation states.
        save: writes the model to a folder.
        evaluate_steps: steps between evaluations; None for one at the end of each epoch.
        save_steps: steps between checkpoints; None for one at each evaluation.
        most: checkpoints that are left at a time.
    """

    def __init__(
        self,
        metric: str,
        scores: Collection[str],
        save: Callable[[str], object],
        *,
        evaluate_steps: int | None = None,
        save_steps: int | None = None,
        most: int = 2,
    ) -> None:
        self.metric = metric
        self.scores = scores
        self.save = save
        self.evaluate_steps = evaluate_steps
        self.save_steps = save_steps
        self.most = most

    def evaluates(self, state: TrainerState) -> bool:
        """Whether an evaluation is due after a step."""
        if state.global_step >= state.max_steps:
            return True
        if self.evaluate_steps is None:
            return float(state.epoch or 0.0).is_integer()
        return state.global_step % self.evaluate_steps == 0

    def saves(self, state: TrainerState) -> bool:
        """Whether a checkpoint is due after a step, and after its evaluation."""
        if state.global_step >= state.max_steps or self.save_steps is None:
            return self.evaluates(state)
        return state.global_step % self.save_steps == 0


class Run:
    """A training that can be gone on with.

    Args:
        trainer: with all that it needs.
        folder: where everything goes.
        ranks: the processes of the training.
        keeping: what is evaluated and kept, and when.
        on_progress: called with how many steps are done, and of how many.
    """

    def __init__(
        self,
        trainer: GuardedTrainer,
        folder: TrainingFolder,
        ranks: Ranks,
        keeping: Keeping,
        on_progress: Callable[[int, int | None], None] | None,
    ) -> None:
        trainer.folder = folder
        self._trainer: Any = trainer
        self._folder = folder
        self._ranks = ranks
        self._keeping = keeping
        self._best = ranks.first(folder.best)
        self._interrupt = Interrupt()
        self._stopped = False
        self._on_progress = on_progress
        for callback in (PrinterCallback, ProgressCallback):
            trainer.remove_callback(callback)
        trainer.add_callback(_Watcher(self))

    def go(self, checkpoint: Path | None) -> list[dict[str, Any]]:
        """Train to the end, from a checkpoint if there is one.

        Returns:
            Step, epoch and scores of each evaluation, also of those before the checkpoint.

        Raises:
            InputError: loss or weights are no numbers any more; no checkpoint has them.
            UnavailableError: the disk failed or is full.
            KeyboardInterrupt: Ctrl-C or SIGTERM; what was done so far is in a checkpoint.
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
        """Return the evaluations, which the Trainer's own state keeps across checkpoints."""
        found: dict[int, dict[str, Any]] = {}
        for entry in self._trainer.state.log_history:
            if f"eval_{self._keeping.metric}" in entry:
                found[entry["step"]] = self._evaluation(entry["step"], entry["epoch"], entry)
        return [found[step] for step in sorted(found)]

    def _evaluation(self, step: int, epoch: float, metrics: dict[str, Any]) -> dict[str, Any]:
        scores = {
            name: metrics[f"eval_{name}"]
            for name in self._keeping.scores
            if f"eval_{name}" in metrics
        }
        return {"step": step, "epoch": round(epoch, 4), **scores}

    def stepped(self, state: TrainerState, control: Any) -> None:
        """Decide what is to be done after a step."""
        if self._on_progress is not None and self._ranks.rank == 0:
            self._on_progress(state.global_step, state.max_steps)
        self._stopped = self._ranks.any(self._interrupt.wanted)
        control.should_evaluate = self._keeping.evaluates(state)
        control.should_save = self._keeping.saves(state) or self._stopped
        if self._stopped and state.global_step < state.max_steps:
            control.should_training_stop = True
        if control.should_evaluate or control.should_save:
            self._check()

    def evaluated(self, state: TrainerState, metrics: dict[str, Any]) -> None:
        """Keep the model if it is better than all before.

        Raises:
            InputError: the data does not define the score that tells.
            UnavailableError: the disk failed or is full.
        """
        name = self._keeping.metric
        if f"eval_{name}" not in metrics:
            raise InputError(
                f"metric: got {name}, which the dev data does not define, expected one that it "
                "does, such as rougeLsum; choose another, or give short answers"
            )
        found = self._evaluation(state.global_step, state.epoch or 0.0, metrics)
        if self._best is None or found[name] > self._best[name]:
            with self._trainer.as_given():
                self._ranks.first(lambda: self._folder.keep(found, self._keeping.save))
            self._best = found

    def saved(self, state: TrainerState) -> None:
        """Take a checkpoint for whole, now that all processes have written their part."""
        self._ranks.wait()
        self._ranks.first(lambda: self._folder.seal(state.global_step, self._keeping.most))

    def _check(self) -> None:
        """See that losses and weights are numbers: what is none never gets into a checkpoint."""
        loss = self._trainer.losses
        weights = [each for each in self._trainer.model.parameters() if each.requires_grad]
        if not bool(torch.isfinite(torch.as_tensor(loss))):
            what = "a loss that is no number"
        elif not all(bool(torch.isfinite(each).all()) for each in weights):
            what = "weights that are no numbers"
        else:
            return
        raise InputError(
            f"training: diverged by step {self._trainer.state.global_step}: got {what}, expected "
            "numbers; lower --learning-rate, and choose a new folder"
        )


class _Watcher(TrainerCallback):
    """Tells a run what the Trainer does."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ARG002
        self._run.stepped(state, control)
        return control

    def on_evaluate(self, args: Any, state: Any, control: Any, **given: Any) -> None:  # noqa: ARG002
        self._run.evaluated(state, given["metrics"])

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        self._run.saved(state)


def _finished(checkpoint: Path | None) -> TrainerState | None:
    """Return the state of a checkpoint after which nothing is left to do, or None.

    The Trainer, gone on with from such a one, would add a step.
    """
    if checkpoint is None:
        return None
    state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
    return state if state.global_step >= state.max_steps else None
