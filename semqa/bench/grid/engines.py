"""The engine that runs share: a model is loaded once for all runs in a row that ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.engines import ConstrainedEngine, SharingEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from semqa.bench.plan import Plan
    from semqa.engines import Engine
    from semqa.prompting import PromptBuilder

__all__ = ["HeldEngine"]


class HeldEngine:
    """Holds the last engine that was loaded, and closes it when another is wanted.

    Args:
        say: told in words what takes long.
    """

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self._say = say
        self._spec: str | None = None
        self._held: Engine | None = None

    def take(self, plan: Plan, prompts: PromptBuilder | None) -> Engine | None:
        """Return the engine of a run, with its settings; it stays held here.

        Raises:
            InputError: there is no such engine, or it does not take an option.
            UnavailableError: a model was not reached, or a package is missing.
        """
        held = self._held
        if isinstance(held, SharingEngine) and self._spec == plan.engine:
            shared = held.with_settings(plan.given, prompts)
            if shared is not None:
                if isinstance(shared, ConstrainedEngine):
                    shared.warm_up(self._say)
                return shared
        # Before the next one is loaded: two models may not fit.
        self.close()
        self._held, self._spec = plan.create_engine(prompts, self._say), plan.engine
        return self._held

    def close(self) -> None:
        """Let go of the engine that is held."""
        held, self._held, self._spec = self._held, None, None
        if held is not None:
            getattr(held, "close", lambda: None)()
