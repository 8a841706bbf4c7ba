"""Gateway: every tool of many MCP servers behind one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from ..errors import MissingExtra, ServerUnavailableError, ToolValidationError
from ..search.mcp_servers import McpServer
from ..search.records.log import Recorder
from ..tokens import estimate_tokens
from ._finder import OWN_TOOLS, Finder, about_servers, own_tools
from ._merged import Merged, merged
from ._policy import is_read_only, matches
from .bridge.forward import Forwarder
from .bridge.parked import ParkedCalls
from .bridge.sealing import Seal
from .cache import ListingCache
from .options import GatewayOptions, GatewayServer
from .upstream.reaper import Reaper
from .upstream.stamping import reaches
from .upstream.state import ServerState
from .upstream.upstream import Upstream

try:
    import anyio
    import mcp_types as types
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import InMemorySubscriptionBus
    from mcp.shared.subscriptions import (
        PromptsListChanged,
        ResourcesListChanged,
        ResourceUpdated,
        ServerEvent,
        ToolsListChanged,
    )
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["Gateway"]

logger = logging.getLogger("hikidashi.gateway")

_NAME = "hikidashi"
_MOST_SESSIONS = 1_024


class Gateway:
    """The tools, resources and prompts of many MCP servers, as one.

        async with Gateway(read_mcp_config(".mcp.json")) as gateway:
            await gateway.serve_stdio()

    Args:
        servers: Whom to stand in front of, each with a name of its own.
        options: How the tools are shown.
        cache: Where listings are kept for the next start; nowhere unless given.
        record: Recorder notified of each search and call.
        keys: Secrets (32 bytes or more) that seal the states of calls which wait for a person; every replica needs
            the same. A key of this process unless given.

    Raises:
        ToolValidationError: two servers have the same name.
    """

    def __init__(
        self,
        servers: Iterable[GatewayServer | McpServer],
        *,
        options: GatewayOptions | None = None,
        cache: ListingCache | None = None,
        record: Recorder | None = None,
        keys: Sequence[str] = (),
    ) -> None:
        self.options = options or GatewayOptions()
        self.record = record
        self.cache = cache
        self.merged = Merged()
        self.finder = Finder()
        self.bus = InMemorySubscriptionBus()
        self._reaper = Reaper()
        self._seal = Seal(keys)
        self._stack = AsyncExitStack()
        self._events: anyio.Event | None = None
        self.sessions: dict[str, ServerSession] = {}
        """Clients up to 2025-11-25 that notifications are sent to."""
        self.subscribers: dict[str, set[str]] = {}
        """Which clients, and streams of clients, watch a resource."""
        self._pending: list[ServerEvent] = []
        self.searching = False
        """Whether tools are searched instead of listed."""
        self.upstreams: dict[str, Upstream] = {}
        for given in servers:
            one = given if isinstance(given, GatewayServer) else GatewayServer(given)
            if one.name in self.upstreams:
                raise ToolValidationError(f"Two MCP servers are named {one.name!r}. Rename one.", one.name)
            listing = None if cache is None else cache.read(one.server)
            self.upstreams[one.name] = Upstream(one, self, self._reaper, listing)
        self._merge()

    async def __aenter__(self) -> Self:
        """Begin to connect the servers; those that are lazy, and whose tools are known, wait for their first call."""
        async with AsyncExitStack() as stack:
            stack.callback(self._reaper.close)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            self.forwarder = Forwarder(ParkedCalls(tasks, self._seal), self._seal)
            self._events = anyio.Event()
            tasks.start_soon(self._tell_clients)
            for upstream in self.upstreams.values():
                tasks.start_soon(upstream.run)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    # What is shown

    @property
    def states(self) -> list[ServerState]:
        """How each server is."""
        return [upstream.state for upstream in self.upstreams.values()]

    def _decide_to_search(self) -> bool:
        if self.options.search != "auto":
            return self.options.search == "on"
        tools = self.merged.tools.values()
        return len(tools) > self.options.most_listed or sum(map(_tokens_of, tools)) > self.options.most_tokens

    def listed_tools(self, promoted: Iterable[str] = ()) -> list[types.Tool]:
        """What `tools/list` shows, always in the same order."""
        if not self.searching:
            return list(self.merged.tools.values())
        pinned = [name for name in self.merged.tools if matches(name, self.options.pin)]
        more = [name for name in promoted if name in self.merged.tools and name not in pinned]
        return [*own_tools(self.about), *(self.merged.tools[name] for name in (*pinned, *more))]

    def listed_tool(self, name: str | None) -> types.Tool | None:
        """The tool that the list shows under `name`; None where that takes a look at the list."""
        return None if name is None or self.searching else self.merged.tools.get(name)

    @property
    def about(self) -> str:
        """Which servers there are, and what they are for."""
        return about_servers(
            (name, _purpose(upstream), 0 if upstream.listing is None else len(upstream.listing.tools))
            for name, upstream in self.upstreams.items()
        )

    @property
    def instructions(self) -> str:
        """What the gateway tells clients about itself."""
        if not self.searching:
            said = [
                f"## {name}\n{upstream.listing.instructions}"
                for name, upstream in self.upstreams.items()
                if upstream.listing is not None and upstream.listing.instructions
            ]
            return "\n\n".join(said)
        return (
            f"{len(self.merged.tools):,} tools are behind this server, and most are not listed. Find what you need "
            f"with search_tools, then call it with the tool that the answer names. {self.about}"
        )

    def down(self) -> dict[str, str]:
        """The servers that cannot be reached, and why."""
        return {
            state.name: f"{state.reason}. {state.remedy}".strip() for state in self.states if state.status == "failed"
        }

    async def listed(self, seconds: float) -> None:
        """Wait until every server has listed what it has or failed to, at most `seconds`."""
        missing = [upstream for upstream in self.upstreams.values() if not upstream.listed.is_set()]
        with anyio.move_on_after(seconds if missing else None):
            for upstream in missing:
                await upstream.listed.wait()

    def upstream_of(self, server: str) -> Upstream:
        """The server of this name.

        Raises:
            ServerUnavailableError: there is none any more.
        """
        if server not in self.upstreams:
            raise ServerUnavailableError(server, "it is not configured any more")
        return self.upstreams[server]

    def remember(self, key: str, session: ServerSession) -> None:
        """Send notifications to this client."""
        self.sessions.pop(key, None)
        self.sessions[key] = session
        while len(self.sessions) > _MOST_SESSIONS:
            self.sessions.pop(next(iter(self.sessions)))

    # What servers say

    def listing_changed(self, upstream: Upstream) -> None:
        """A server lists something else: show it."""
        if self.cache is not None and upstream.listing is not None:
            self.cache.write(upstream.given.server, upstream.listing)
        self._merge()
        self._publish(ToolsListChanged(), PromptsListChanged(), ResourcesListChanged())

    def state_changed(self, upstream: Upstream) -> None:
        """A server is in another state."""
        logger.info("MCP server %r is %s. %s", upstream.name, upstream.state.status, upstream.state.reason)

    def resource_updated(self, upstream: Upstream, uri: str) -> None:
        """A resource changed: tell those who subscribed."""
        for shown, place in self.merged.resource_places.items():
            if (place.server, place.name) == (upstream.name, uri):
                uri = shown
        self._publish(ResourceUpdated(uri=uri))

    async def ask(self, upstream: Upstream, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """A server asks a client."""
        return await self.forwarder.running.ask(upstream, request)

    async def log(self, upstream: Upstream, params: types.LoggingMessageNotificationParams) -> None:
        """A server has a message for the log."""
        if not await self.forwarder.running.log(upstream, params):
            for key, session in list(self.sessions.items()):
                if reaches(params.level, self.forwarder.levels.of_client(key)):
                    await _quietly(session.send_notification, types.LoggingMessageNotification(params=params))

    def _merge(self) -> None:
        listings = {name: one.listing for name, one in self.upstreams.items() if one.listing is not None}
        self.merged = merged(listings, self.options.names, reserved=OWN_TOOLS)
        self.searching = self._decide_to_search()  # once: every call asks
        read_only = frozenset(
            shown
            for shown, place in self.merged.tool_places.items()
            if is_read_only(self.merged.own_tools[shown], self.upstreams[place.server].given.options)
        )
        self.finder.update(self.merged, read_only)

    def _publish(self, *events: ServerEvent) -> None:
        self._pending += events
        if self._events is not None:
            self._events.set()

    async def _tell_clients(self) -> None:
        """Send what changed to clients of all revisions; each change once, however often it was told."""
        while True:
            assert self._events is not None
            await self._events.wait()
            self._events = anyio.Event()
            events, self._pending = list(dict.fromkeys(self._pending)), []
            for event in events:
                await self.bus.publish(event)
                for key, session in list(self.sessions.items()):
                    if not await _quietly(_notify, session, key, event, self.subscribers):
                        self.sessions.pop(key, None)


async def _notify(session: ServerSession, key: str, event: ServerEvent, subscribers: dict[str, set[str]]) -> None:
    match event:
        case ToolsListChanged():
            await session.send_tool_list_changed()
        case PromptsListChanged():
            await session.send_prompt_list_changed()
        case ResourcesListChanged():
            await session.send_resource_list_changed()
        case ResourceUpdated(uri=uri):
            if key in subscribers.get(uri, ()):
                await session.send_resource_updated(uri)


async def _quietly(send: Any, *arguments: Any) -> bool:
    """Whether it could be sent: a client that is gone is not missed."""
    try:
        with anyio.fail_after(5.0):
            await send(*arguments)
    except Exception:
        return False
    return True


def _purpose(upstream: Upstream) -> str | None:
    listing = upstream.listing
    if listing is None:
        return None
    described = listing.info.description if listing.info is not None else None
    return described or listing.instructions or ", ".join(tool.name for tool in listing.tools[:8])


def _tokens_of(tool: types.Tool) -> int:
    return estimate_tokens(tool.model_dump_json(by_alias=True, exclude_none=True))
