"""A catalogue that follows running MCP servers as they change their tools, disconnect and reconnect.

    async with LiveServers(read_mcp_config(".mcp.json")) as live:
        server = to_claude_search(live.catalog)

An adapter that gets `live.catalog` offers the tools that the servers have at the moment.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from ...errors import MissingExtra, ToolValidationError
from ..catalog import ToolCatalog
from .entries.config import McpServer
from .state import ServerState

try:
    import anyio
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

from ._follower import Follower, Timing
from .listing import StartLimit

__all__ = ["LiveServers", "ServerState"]

logger = logging.getLogger("hikidashi")

_UNLIMITED = 2**62


class LiveServers:
    """The tools of MCP servers in one catalogue, as `server__tool`, inside an `async with` block.

    When a server changes its tools (`tools/list_changed`, or `subscriptions/listen` with protocol 2026-07-28), the
    catalogue changes too. A lost server is reconnected, without limit, at growing intervals; until then its tools are
    not in the catalogue, a search that matches them says so, and a call gets an error. Tools that were taken from the
    catalogue before work again when their server is back.

    Calls may come from any thread and event loop; the connections live in the loop that entered the block.

    Args:
        servers: The servers to follow, with unique names.
        catalog: The catalogue to add the tools to; default: a new one.
        seconds: Timeout for starting a server and listing its tools, from its own start.
        at_once: Maximum number of processes that start at the same time; default: the number of cores plus one.
        check_every: Seconds without a notification after which the tools of a server are listed again.
        retry_after: Seconds until a lost server is tried again; doubled with each failure, up to a minute.
        on_change: Called with the state of a server whenever it or one of its tools changes; an exception is logged.

    Raises:
        ToolValidationError: two servers have the same name.
        ValueError: `at_once` is less than 1.
    """

    def __init__(
        self,
        servers: Iterable[McpServer],
        *,
        catalog: ToolCatalog | None = None,
        seconds: float = 30.0,
        at_once: int | None = None,
        check_every: float = 60.0,
        retry_after: float = 0.5,
        on_change: Callable[[ServerState], None] = lambda _: None,
    ) -> None:
        self.catalog = ToolCatalog(limit_tools=_UNLIMITED) if catalog is None else catalog
        timing = Timing(seconds, check_every, retry_after)
        self._at_once = at_once
        self._on_change = on_change
        self._followers: dict[str, Follower] = {}
        for server in servers:
            if server.name in self._followers:
                raise ToolValidationError(f"Two MCP servers are named {server.name!r}. Rename one.", server.name)
            self._followers[server.name] = Follower(server, self.catalog, timing, self._notify)
        self._stack = AsyncExitStack()
        self._changed = anyio.Event()

    @property
    def states(self) -> Mapping[str, ServerState]:
        """The state of each server, by name."""
        return {name: follower.state for name, follower in self._followers.items()}

    async def __aenter__(self) -> Self:
        """Start the servers; return when each has listed its tools or failed to."""
        async with AsyncExitStack() as stack:
            limits = StartLimit(self._at_once)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            for follower in self._followers.values():
                tasks.start_soon(follower.run, limits.of(follower.server))
            for follower in self._followers.values():
                await follower.first_result.wait()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):  # the task group would raise it inside an `ExceptionGroup`
            kind = error = trace = None
        await self._stack.__aexit__(kind, error, trace)
        for follower in self._followers.values():
            follower.forget()

    async def changed(self) -> None:
        """Return when the state or the tools of some server have changed."""
        await self._changed.wait()

    def _notify(self, state: ServerState) -> None:
        """Log a new state, and notify waiters."""
        logger.info("%s", state)
        try:
            self._on_change(state)
        except Exception:  # of the caller's code, which is no reason to lose a server
            logger.exception("`on_change` failed for MCP server %r", state.server)
        before, self._changed = self._changed, anyio.Event()
        before.set()
