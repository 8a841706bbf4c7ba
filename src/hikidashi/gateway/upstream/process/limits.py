"""Limits of one connection. Watchers run beside it, and raise `ConnectionLost` when their limit is reached."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

import anyio

from ....errors import ServerUnavailableError
from ...auth.logins import ServerLogin
from .._lost import ConnectionLost
from .group import memory_of_group

__all__ = [
    "Usage",
    "answered_within",
    "until_another_login",
    "until_closed",
    "until_idle",
    "until_login_is_needed",
    "until_too_large",
]

_MEMORY_EVERY = 5.0  # seconds


class Usage:
    """How many requests are in flight on a connection, and when the last one ended."""

    def __init__(self) -> None:
        self.running = 0
        self._last = 0.0

    def touch(self) -> None:
        """Mark the connection as used now."""
        self._last = anyio.current_time()

    def begin(self) -> None:
        """A request starts."""
        self.running += 1

    def end(self) -> None:
        """A request ended."""
        self.running -= 1
        self.touch()

    def idle_in(self, seconds: float) -> float:
        """Seconds until the connection has been unused for `seconds`."""
        return self._last + seconds - anyio.current_time()


@contextmanager
def answered_within(server: str, seconds: float) -> Generator[None]:
    """Bound a request that is not a call.

    Raises:
        ServerUnavailableError: it takes longer.
    """
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError:
        reason = f"it did not answer within {seconds:g} s"
        raise ServerUnavailableError(server, reason, "Raise `call_seconds` if it needs longer.") from None


async def until_closed(closed: anyio.Event) -> None:
    """Wait until the server closes the connection."""
    await closed.wait()
    raise ConnectionLost("it closed the connection")


async def until_idle(usage: Usage, seconds: float, is_needed: Callable[[], bool]) -> None:
    """Wait until no request has used the connection for `seconds`, and nothing else needs it."""
    while True:
        left = usage.idle_in(seconds)
        if left <= 0 and not usage.running and not is_needed():
            raise ConnectionLost(f"it was idle for {seconds:g} s", failed=False)
        await anyio.sleep(max(left, 1.0))


async def until_too_large(group: int, megabytes: int) -> None:
    """Wait until the processes of `group` together use more than `megabytes`."""
    while (used := memory_of_group(group)) is not None:
        if used > megabytes * 1_000_000:
            raise ConnectionLost(
                f"its processes use {used / 1e6:,.0f} MB, more than the {megabytes:,} MB that `memory_mb` allows"
            )
        await anyio.sleep(_MEMORY_EVERY)


async def until_login_is_needed(login: ServerLogin) -> None:
    """Wait until the server refuses the login."""
    await login.until_needed()
    raise ConnectionLost(login.problem)


async def until_another_login(login: ServerLogin) -> None:
    """Wait until the person logs in again: the server is reconnected, since another person may have other tools."""
    await login.until_another()
    raise ConnectionLost("the login to it has changed")
