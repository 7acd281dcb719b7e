"""The engines of a server, made when they are first asked."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

from semqa.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.engines import Engine

__all__ = ["EngineShelf"]

_ALWAYS = re.compile(r"extractive|bm25|(?:lead|tail)-[1-9][0-9]{0,2}")


class EngineShelf:
    """Holds the engines that may be asked for.

    Who sends a request chooses among these, and cannot have a model loaded that was not meant.

    Args:
        specs: those that were set up, the default first.
        create: makes one of its specification.
    """

    def __init__(self, specs: Sequence[str], create: Callable[[str], Engine]) -> None:
        self.names = tuple(dict.fromkeys(specs))
        self._create = create
        self._made: dict[str, Engine] = {}
        self._lock = threading.Lock()

    @property
    def default(self) -> str:
        """The specification of the engine that answers unless another is asked for."""
        return self.names[0]

    def choose(self, spec: str | None) -> str:
        """Return the specification that is meant.

        Raises:
            NotFoundError: it is not one of these, nor one that needs no model.
        """
        if spec is None:
            return self.default
        if spec in self.names or _ALWAYS.fullmatch(spec):
            return spec
        raise NotFoundError(
            f"engine: got {spec[:80]!r}, expected one of {', '.join(self.names)}; choose one of "
            "these, or start the server with --engine for more"
        )

    def kind(self, spec: str) -> str:
        """Return what an engine is counted as: whoever asks can think of a thousand numbers.

        Example:
            >>> shelf = EngineShelf(["extractive", "lead-3"], lambda spec: NotImplemented)
            >>> shelf.kind("lead-3"), shelf.kind("lead-4")
            ('lead-3', 'lead')
        """
        return spec if spec in self.names else spec.partition("-")[0]

    def made(self, spec: str) -> Engine | None:
        """Return an engine if it is made already."""
        return self._made.get(spec)

    def get(self, spec: str) -> Engine:
        """Return an engine, and make it if need be; that may take long.

        Raises:
            InputError: it cannot be made as it was set up.
            UnavailableError: a model was not reached, or a package is missing.
        """
        with self._lock:
            if spec not in self._made:
                if spec not in self.names:
                    # Those that need no model are cheap, and not worth keeping for anyone's number.
                    return self._create(spec)
                self._made[spec] = self._create(spec)
            return self._made[spec]

    def close(self) -> None:
        """Close the engines that can be closed."""
        with self._lock:
            for engine in self._made.values():
                close: Any = getattr(engine, "close", None)
                if close is not None:
                    close()
            self._made.clear()
