"""CLIs that are started in advance: most of a short run is the start of Claude Code.

One of these is only ever used for a request that would have started the same CLI: same options, same tools, same
system prompt, same environment. It lists the tools it was started with; calls go to the tools of that request.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import os
import weakref
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from claude_agent_sdk import McpSdkServerConfig
from mcp.server import Server

from .session import Session

_MAX_AGE = 300.0
"""Seconds a CLI waits to be used; it takes about 200 MB meanwhile."""


@dataclass(frozen=True, eq=False)
class _Waiting:
    key: object
    session: Session
    servers: Mapping[str, McpSdkServerConfig]
    loop: asyncio.AbstractEventLoop
    end_of_life: asyncio.TimerHandle


class WarmSessions:
    """Up to `count` CLIs per event loop that wait for a request."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._all: list[_Waiting] = []
        _pools.add(self)

    def prepare(
        self, key: object, servers: Mapping[str, McpSdkServerConfig], create: Callable[[Mapping[str, Any]], Session]
    ) -> None:
        """Start a CLI for the next request with this `key`; the oldest one is ended if there are too many.

        Args:
            key: what must be equal for the CLI to be used.
            servers: the MCP servers of this process whose tools it is to offer.
            create: makes the session, given servers that list the same tools.
        """
        loop = asyncio.get_running_loop()
        self._drop_ended()
        mine = [waiting for waiting in self._all if waiting.loop is loop]
        if self.count <= 0 or sum(waiting.key == _complete(key) for waiting in mine) >= self.count:
            return
        for oldest in mine[: max(0, len(mine) - self.count + 1)]:
            self._remove(oldest)
            oldest.session.stop()
        listing = {name: _with_same_tools(config) for name, config in servers.items()}
        session = create(listing)
        session.start_in_background()
        end_of_life = loop.call_later(_MAX_AGE, session.stop)
        self._all.append(_Waiting(_complete(key), session, listing, loop, end_of_life))

    def take(self, key: object, servers: Mapping[str, McpSdkServerConfig]) -> Session | None:
        """A CLI with this `key` that waits on this event loop, its calls redirected to `servers`; None without one."""
        loop = asyncio.get_running_loop()
        self._drop_ended()
        complete = _complete(key)
        for waiting in self._all:
            if waiting.loop is loop and waiting.key == complete and self._remove(waiting):
                for name, config in servers.items():
                    _lead_calls(waiting.servers[name], config)
                return waiting.session
        return None

    async def ready(self) -> int:
        """How many CLIs wait on this event loop, once all are ready."""
        loop = asyncio.get_running_loop()
        mine = [waiting.session for waiting in self._all if waiting.loop is loop]
        await asyncio.gather(*(session.started() for session in mine))
        return sum(session.alive for session in mine)

    async def close(self) -> None:
        """End the CLIs that wait, and wait until those of this event loop are gone."""
        loop = asyncio.get_running_loop()
        gone = [waiting for waiting in list(self._all) if self._remove(waiting)]
        for waiting in gone:
            if waiting.loop is not loop and not waiting.loop.is_closed():
                waiting.loop.call_soon_threadsafe(waiting.session.stop)
        await asyncio.gather(*(waiting.session.close() for waiting in gone if waiting.loop is loop))

    def close_at_exit(self) -> None:
        """End the CLIs of event loops that neither run nor are closed."""
        for loop in {waiting.loop for waiting in self._all}:
            if not loop.is_closed() and not loop.is_running():
                loop.run_until_complete(self.close())

    def _drop_ended(self) -> None:
        for waiting in list(self._all):
            if not waiting.session.alive:
                self._remove(waiting)

    def _remove(self, waiting: _Waiting) -> bool:
        """Remove it; False if another thread was first."""
        try:
            self._all.remove(waiting)
        except ValueError:
            return False
        if not waiting.loop.is_closed():
            waiting.end_of_life.cancel()
        return True


def _complete(key: object) -> object:
    """`key` with the environment and folder that a process inherits."""
    return key, dict(os.environ), Path.cwd()


def _with_same_tools(config: McpSdkServerConfig) -> McpSdkServerConfig:
    """A server that lists the same tools, and whose calls can be redirected."""
    server: Server[Any] = Server(config["name"])
    _copy_handler(_server(config), server, "tools/list")
    _copy_handler(_server(config), server, "tools/call")
    return McpSdkServerConfig(type="sdk", name=config["name"], instance=cast("Any", server))


def _lead_calls(waiting: McpSdkServerConfig, config: McpSdkServerConfig) -> None:
    """Redirect calls of `waiting` to the server of `config`, in the context of the caller."""
    context = contextvars.copy_context()

    def in_context(handler: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def called(*arguments: Any) -> Any:
            async def run() -> Any:
                return await handler(*arguments)

            return await asyncio.create_task(run(), context=context.copy())

        return called

    _copy_handler(_server(config), _server(waiting), "tools/call", in_context)


def _copy_handler(
    source: Server[Any],
    target: Server[Any],
    method: str,
    change: Callable[[Callable[..., Awaitable[Any]]], Callable[..., Awaitable[Any]]] = lambda handler: handler,
) -> None:
    entry = source.get_request_handler(method)
    assert entry is not None, f"every MCP server of this package answers {method}"
    target.add_request_handler(method, entry.params_type, change(entry.handler))


def _server(config: McpSdkServerConfig) -> Server[Any]:
    return config["instance"]


_pools: weakref.WeakSet[WarmSessions] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_pools):
        pool.close_at_exit()
