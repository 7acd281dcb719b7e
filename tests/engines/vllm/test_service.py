"""The service's thread: closing while callers wait, and use in a forked process."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from semqa import InputError
from semqa.engines.vllm.service import Service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Endless:
    """A fake vLLM engine that starts answers but never ends them, even at shutdown."""

    errored = False

    async def generate(self, _prompt: Any, _params: Any, _number: str) -> AsyncIterator[Any]:
        class Output:
            class Completion:
                token_ids = (7,)
                finish_reason = None

            outputs = (Completion(),)
            prompt_logprobs = None

        yield Output()
        await asyncio.sleep(60)

    def shutdown(self) -> None:
        pass


def test_closing_raises_in_waiting_threads() -> None:
    service = Service(Endless)
    told: list[str] = []

    def asked(streamed: bool) -> None:
        try:
            if streamed:
                list(service.stream([1], None))
            else:
                service.run([([1], None), ([2], None)])
        except InputError as error:
            told.append(str(error))

    threads = [threading.Thread(target=asked, args=(n % 2 == 0,), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    closing = [threading.Thread(target=service.close, daemon=True) for _ in range(2)]
    for thread in closing:
        thread.start()
    for thread in (*threads, *closing):
        thread.join(10)
        assert not thread.is_alive()
    assert len(told) == 4
    assert all("The engine is closed" in one for one in told)
    with pytest.raises(InputError, match="The engine is closed"):
        service.run([([1], None)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_gets_an_error_and_closes_nothing() -> None:
    service = Service(Endless)
    child = os.fork()
    if child == 0:
        try:
            service.run([([1], None)])
        except InputError as error:
            service.close()
            os._exit(0 if "forked" in str(error) else 1)
        os._exit(2)
    until = time.monotonic() + 10
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < until:
        time.sleep(0.05)
    if ended == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert ended == (child, 0)
    assert next(service.stream([1], None)).tokens == [7]
    service.close()
