"""Notifications of a server on their way to a client, each in a task: a client that reads slowly delays nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

__all__ = ["Reports"]

_MOST = 1_000

logger = logging.getLogger("hikidashi.gateway")


class Reports:
    """The notifications that are being passed on."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def room(self) -> None:
        """Wait while very many are on their way: a server that floods is read no faster than its client reads."""
        while len(self._tasks) >= _MOST:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def start(self, passing: Coroutine[Any, Any, None]) -> None:
        """Pass one on; if that fails, it is logged."""
        task = asyncio.create_task(_logged(passing))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        """Drop those that have not arrived."""
        for task in self._tasks:
            task.cancel()


async def _logged(passing: Coroutine[Any, Any, None]) -> None:
    try:
        await passing
    except Exception:
        logger.exception("a notification of a server was not passed on")
