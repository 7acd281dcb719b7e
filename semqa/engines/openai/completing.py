"""Putting prompts to a model as they are, some at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from semqa.engines.base import PromptTooLongError
from semqa.engines.openai.asking import TOO_LONG
from semqa.engines.openai.remote import Wording
from semqa.engines.openai.transport import RefusedError
from semqa.engines.openai.ways import schema_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.engines.openai.options import OpenAIOptions
    from semqa.engines.openai.remote import RemoteModel
    from semqa.prompting import Prompt

__all__ = ["complete_all"]


async def complete_all(
    remote: RemoteModel,
    prompts: Sequence[Prompt],
    options: OpenAIOptions,
    schema: Mapping[str, object] | None = None,
) -> list[str]:
    """Return the reply to each prompt, stripped; the first that fails ends the others.

    Args:
        remote: the model.
        prompts: what is asked.
        options: how to decode, and how many to ask at the same time.
        schema: a JSON schema of the replies; left out once the endpoint has refused it.

    Raises:
        PromptTooLongError: one is too long for the model.
        RefusedError: the endpoint refuses one.
        UnavailableError: one has no whole reply.
    """
    at_once = asyncio.Semaphore(options.batch_size)

    async def one(prompt: Prompt) -> str:
        async with at_once:
            while True:
                held = schema is not None and remote.takes_schemas
                fields = schema_fields(schema) if held and schema is not None else {}
                try:
                    return (await remote.ask(Wording.of(prompt), options, fields)).text.strip()
                except RefusedError as error:
                    if TOO_LONG.search(error.detail):
                        raise PromptTooLongError(str(error)) from error
                    if not held or error.status in (401, 403, 404):
                        raise
                    remote.takes_schemas = False

    running = [asyncio.ensure_future(one(prompt)) for prompt in prompts]
    try:
        return list(await asyncio.gather(*running))
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
