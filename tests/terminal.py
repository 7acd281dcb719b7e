"""A real pseudo-terminal for commands, to see and type what a person would."""

from __future__ import annotations

import codecs
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import pytest

from semqa.__main__ import main

__all__ = ["Talk", "Terminal", "talking", "terminal"]


class Talk:
    """A program in a terminal, with its output so far and a way to send keys."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process, self._master = process, master
        self.screen = ""
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        with suppress(OSError):  # Linux's way to say that the other end is closed
            while block := os.read(self._master, 65_536):
                with self._lock:
                    self.screen += decode(block)

    def until(self, text: str) -> str:
        """Return what is shown up to a text, when it is."""
        end = time.monotonic() + 120
        while text not in self.screen:
            assert time.monotonic() < end, self.screen
            assert self.process.poll() is None or text in self.screen, self.screen
            time.sleep(0.02)
        with self._lock:
            shown, _, self.screen = self.screen.partition(text)
        return shown + text

    def keys(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self, seconds: float = 60) -> int:
        """Return the exit code; raise `subprocess.TimeoutExpired` if the program goes on."""
        code = self.process.wait(timeout=seconds)
        self._reader.join(10)
        return code


def _own_terminal() -> None:
    """Make standard input the terminal that sends Ctrl-C."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


with suppress(ImportError):  # not on Windows
    import fcntl
    import termios


@contextmanager
def talking(
    command: Sequence[str | Path], cwd: Path, env: Mapping[str, str] | None = None
) -> Iterator[Talk]:
    """Run a program in a terminal of its own."""
    pty = pytest.importorskip("pty", reason="needs pseudo-terminals, which this system lacks")
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=cwd,
        env={**os.environ, "TERM": "xterm", **(env or {})},
        start_new_session=True,
        preexec_fn=_own_terminal,  # noqa: PLW1509 - the reading thread begins later
    )
    os.close(slave)
    talk = Talk(process, master)
    try:
        yield talk
    finally:
        process.kill()
        talk.end()
        os.close(master)


class Terminal(Protocol):
    """Runs a command in a terminal of 100 columns; returns all that the terminal was sent."""

    def __call__(
        self,
        *args: str | Path,
        program: list[str] | None = None,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> str:
        """Run ``semqa`` with these arguments in this process, or another program."""
        ...


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """Call as ``terminal("answer", "Who?", …)``; starts in an empty folder."""

    def run(
        *args: str | Path,
        program: list[str] | None = None,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> str:
        folder, settings = cwd or tmp_path, {"COLUMNS": "100", **(env or {})}
        if program is None:
            return _in_this_process(["semqa", *map(str, args)], folder, settings)
        with talking(program, folder, settings) as talk:
            talk.end()
            return talk.screen.replace("\r\n", "\n")

    return run


def _in_this_process(argv: list[str], folder: Path, env: Mapping[str, str]) -> str:
    """Run ``semqa`` with streams that are a terminal, which no other process controls."""
    pty = pytest.importorskip("pty", reason="needs pseudo-terminals, which this system lacks")
    master, slave = pty.openpty()
    shown = bytearray()

    def read() -> None:
        with suppress(OSError):  # Linux's way to say that the other end is closed
            while block := os.read(master, 65_536):
                shown.extend(block)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
            stack.callback(os.close, slave)
            patch.chdir(folder)
            for name, value in {"TERM": "xterm", **env}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", argv)
            for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
                stream = stack.enter_context(os.fdopen(os.dup(slave), mode, encoding="utf-8"))
                patch.setattr(sys, name, stream)
            with pytest.raises(SystemExit):
                main()
    finally:
        reader.join(10)
        os.close(master)
    return shown.decode().replace("\r\n", "\n")
