"""The order of the calls of one turn: concurrent, except for those that must run alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class CallOrder:
    """Starts calls in order; one that runs alone waits for all before it, and all after it wait for it.

    pydantic-ai does the same with tools that are `sequential`. Claude Code could do it too, but would hold up a
    tool that is not read-only behind a call that waits for an approval.
    """

    def __init__(self) -> None:
        self._unfinished: dict[asyncio.Future[None], bool] = {}
        """Each call that has not ended yet, and whether it runs alone."""

    @asynccontextmanager
    async def admitted(self, *, alone: bool) -> AsyncGenerator[None]:
        """Wait for the calls that must end first; this one ends with the context."""
        before = [call for call, runs_alone in self._unfinished.items() if alone or runs_alone]
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unfinished[ended] = alone
        try:
            if before:
                await asyncio.wait(before)
            yield
        finally:
            del self._unfinished[ended]
            ended.set_result(None)
