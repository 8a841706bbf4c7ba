"""A responder that is made in a thread: frameworks take seconds to import, and the prompt should not wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import aclosing

from hikidashi.apps.responder import AnswerEvent, Message, Responder

__all__ = ["BackgroundResponder"]


class BackgroundResponder:
    """The responder that `make` returns. Every method waits until it is made, and raises what `make` raised.

    Ctrl-C cancels the wait, not the work: a later call gets the responder. An import cannot be cancelled, so
    `aclose()` waits for it too.
    """

    def __init__(self, make: Callable[[], Responder]) -> None:
        """Start to make the responder."""
        maker = ThreadPoolExecutor(1, thread_name_prefix="responder")
        self._making = maker.submit(make)
        maker.shutdown(wait=False)  # the thread ends with its only task

    async def wait_until_made(self) -> None:
        """Wait until `make` has returned or raised."""
        await asyncio.to_thread(wait, [self._making])

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools the model may call."""
        return self._making.result().tool_names

    async def stream(self, conversation: Sequence[Message]) -> AsyncGenerator[AnswerEvent]:
        """The answer to the last message, piece by piece."""
        await self.wait_until_made()
        async with aclosing(self._making.result().stream(conversation)) as events:
            async for event in events:
                yield event

    async def respond(self, conversation: Sequence[Message]) -> str:
        """The whole answer to the last message."""
        await self.wait_until_made()
        return await self._making.result().respond(conversation)

    async def aclose(self) -> None:
        """Close the responder, if it was made; an error of `make` was raised by the call that needed it."""
        await self.wait_until_made()
        if self._making.exception() is None:
            await self._making.result().aclose()
