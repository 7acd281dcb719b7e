"""Silence while transformers works: its bars and warnings are not our output."""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["quiet", "quiet_hub", "quiet_log"]

_lock = Lock()
_inside = 0
_restore: list[Callable[[], None]] = []


@contextmanager
def quiet_log() -> Iterator[None]:
    """Let transformers and the Hub's client show errors alone.

    What was set before is put back when the last of those inside, in any thread, leaves.
    """
    global _inside  # noqa: PLW0603  (the level of a log is global)
    with _lock:
        if _inside == 0:
            _silence()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            while _inside == 0 and _restore:
                _restore.pop()()


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Let the Hub's client log errors alone: no word of each try, nor of tokens that nobody needs."""
    from huggingface_hub.utils import logging as hub_logging

    level = hub_logging.get_verbosity()
    hub_logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        hub_logging.set_verbosity(level)


@contextmanager
def quiet() -> Iterator[None]:
    """Do so, and keep back Python's and the Hub's warnings as well; for one thread at a time."""
    with quiet_hub(), quiet_log(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _silence() -> None:
    from transformers.utils import logging

    # By its name: the module is hidden behind a class of the same name.
    hub: Any = import_module("huggingface_hub.utils.tqdm")
    level = logging.get_verbosity()
    if not hub.are_progress_bars_disabled():
        _restore.append(hub.enable_progress_bars)
        hub.disable_progress_bars()
    if logging.is_progress_bar_enabled():
        _restore.append(logging.enable_progress_bar)
        logging.disable_progress_bar()
    _restore.append(lambda: logging.set_verbosity(level))
    logging.set_verbosity_error()
