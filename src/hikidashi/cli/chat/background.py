"""A responder that is made in the background: frameworks take seconds to import, and a person types meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import aclosing

from hikidashi.agents.conversation import AnswerEvent, Message, Responder

__all__ = ["LateResponder"]


class LateResponder:
    """The responder that `make` gives; whatever needs it waits until it is made, and raises what `make` raised.

    Ctrl-C ends the waiting, not the making: the next one who waits gets it. A half-done import cannot be stopped, so
    `aclose()` waits for it too.
    """

    def __init__(self, make: Callable[[], Responder]) -> None:
        """Begins to make it."""
        maker = ThreadPoolExecutor(1, thread_name_prefix="responder")
        self._making = maker.submit(make)
        maker.shutdown(wait=False)  # its thread ends with its only work

    async def settled(self) -> None:
        """Returns when nothing is being made or imported any more, whether it went well or not."""
        await asyncio.to_thread(wait, [self._making])

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools the model may call."""
        return self._making.result().tool_names

    async def stream(self, conversation: Sequence[Message]) -> AsyncGenerator[AnswerEvent]:
        """The answer to the last message, piece by piece."""
        await self.settled()
        async with aclosing(self._making.result().stream(conversation)) as events:
            async for event in events:
                yield event

    async def respond(self, conversation: Sequence[Message]) -> str:
        """The whole answer to the last message."""
        await self.settled()
        return await self._making.result().respond(conversation)

    async def aclose(self) -> None:
        """Gives back what was made; of a failure, whoever needed the responder was told."""
        await self.settled()
        if self._making.exception() is None:
            await self._making.result().aclose()
