"""Run several commands in one process, so that imports and the start of vLLM are paid for once.

    python -m tests.real.together FOLDER < COMMANDS

COMMANDS is a JSON list of lists of arguments. What the n-th command prints goes to ``FOLDER/n.out``,
also if a library prints it. The first command that fails ends the process with its exit code.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from semqa.__main__ import main as run_command
from semqa.engines.vllm import engine
from semqa.engines.vllm.service import load_service


@contextmanager
def _vllm_started_once() -> Iterator[None]:
    """Share vLLM among the engines that ask for the same; it is closed at the end of the block."""
    started: dict[str, Any] = {}

    def load_once(name: str, options: Any) -> Any:
        key = f"{name} {options}"
        if key not in started:
            started[key] = load_service(name, options)
            stack.callback(started[key].service.close)
            started[key].service.close = lambda: None  # as each command does
        return started[key]

    with ExitStack() as stack, mock.patch.object(engine, "load_service", load_once):
        yield


def main() -> None:
    folder = Path(sys.argv[1])
    with _vllm_started_once():
        for number, args in enumerate(json.load(sys.stdin)):
            with (folder / f"{number}.out").open("wb") as out:
                os.dup2(out.fileno(), 1)
            sys.argv = ["semqa", *args]
            try:
                run_command()
            except SystemExit as ended:
                if ended.code:
                    raise
            sys.stdout.flush()


if __name__ == "__main__":
    main()
