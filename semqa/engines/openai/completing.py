"""Putting prompts to a model as they are, some at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from semqa.engines.base import PromptTooLongError
from semqa.engines.openai.asking import TOO_LONG
from semqa.engines.openai.remote import Wording
from semqa.engines.openai.transport import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.engines.openai.options import OpenAIOptions
    from semqa.engines.openai.remote import RemoteModel
    from semqa.prompting import Prompt

__all__ = ["complete_all"]


async def complete_all(
    remote: RemoteModel, prompts: Sequence[Prompt], options: OpenAIOptions
) -> list[str]:
    """Return the reply to each prompt, stripped; the first that fails ends the others.

    Raises:
        PromptTooLongError: one is too long for the model.
        RefusedError: the endpoint refuses one.
        UnavailableError: one has no whole reply.
    """
    at_once = asyncio.Semaphore(options.batch_size)

    async def one(prompt: Prompt) -> str:
        async with at_once:
            try:
                return (await remote.ask(Wording.of(prompt), options, {})).text.strip()
            except RefusedError as error:
                if TOO_LONG.search(error.detail):
                    raise PromptTooLongError(str(error)) from error
                raise

    running = [asyncio.ensure_future(one(prompt)) for prompt in prompts]
    try:
        return list(await asyncio.gather(*running))
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
