"""Gateway: every tool of many MCP servers behind one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

import anyio
import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from ..config.gateway import GatewayOptions, ServerOptions
from ..errors import ServerUnavailableError, ToolValidationError
from ..search.log import Recorder
from ..servers.config import McpServer
from ..servers.revisions import is_modern_client
from ..tokens import estimate_tokens
from .auth.logins import Logins, ServerLogin, takes_login
from .callers import client_key, principal_of
from .finder import OWN_TOOLS, Finder, SearchAnswer, own_tools, servers_summary
from .first_lists import FirstLists, ListingCache
from .forward import Forwarder
from .merged import Merged, Origin, merged
from .names import pins_at_start, server_prefix
from .options import GatewayServer, is_read_only, is_repeatable, matches, needs_confirmation
from .parked import ParkedCalls, Seal
from .upstream.processes import Reaper
from .upstream.requests import reaches
from .upstream.state import ServerState
from .upstream.upstream import Upstream

logger = logging.getLogger("hikidashi.gateway")

_NAME = "hikidashi"
_MOST_SESSIONS = 1_024
_INSTRUCTIONS = 32_000  # characters of the instructions of all servers together


class Gateway:
    """The tools, resources and prompts of many MCP servers, as one.

        async with Gateway(read_mcp_config(".mcp.json")) as gateway:
            await gateway.serve_stdio()

    Args:
        servers: The servers behind the gateway, each with a unique name.
        options: How the tools are offered.
        cache: Keeps listings for the next start; by default they are not kept.
        record: Recorder notified of each search and call.
        keys: Secrets (32 bytes or more) that seal the state of calls which wait for a person; the same in every
            replica. By default, a random key of this process.
        logins: Keeps the logins to servers; without it, servers get their `headers` only.

    Raises:
        ToolValidationError: two servers have the same name.
        ValueError: the most used tools are to be pinned, and there is no record of them.
    """

    def __init__(
        self,
        servers: Iterable[GatewayServer | McpServer],
        *,
        options: GatewayOptions | None = None,
        cache: ListingCache | None = None,
        record: Recorder | None = None,
        keys: Sequence[str] = (),
        logins: Logins | None = None,
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
        self.sessions: dict[str, tuple[ServerSession, str]] = {}
        """Older clients that notifications are sent to, each with its principal."""
        self.subscribers: dict[str, set[str]] = {}
        """Which clients, and streams of clients, watch a resource."""
        self._pending: list[ServerEvent] = []
        self.searching = False
        """Whether tools are searched instead of listed."""
        self.upstreams: dict[str, Upstream] = {}
        for given in servers:
            one = (given if isinstance(given, GatewayServer) else GatewayServer(given)).checked()
            if one.name in self.upstreams:
                raise ToolValidationError(f"Two MCP servers are named {one.name!r}. Rename one.", one.name)
            listing = None if cache is None else cache.read(one.server)
            takes = one.problem is None and takes_login(one.server)
            login = ServerLogin(logins, one.server) if takes and logins is not None else None
            self.upstreams[one.name] = Upstream(one, self, self._reaper, listing, login)
        self.first_lists = FirstLists(self.upstreams.values())
        self._pin = pins_at_start(self.options, record, self.upstreams)
        self._merge()

    async def __aenter__(self) -> Self:
        """Start to connect the servers; a lazy one whose listing is known waits for its first call."""
        async with AsyncExitStack() as stack:
            stack.callback(self._reaper.close)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            self.forwarder = Forwarder(ParkedCalls(tasks, self._seal), self._seal)
            self._events = anyio.Event()
            tasks.start_soon(self.first_lists.follow)
            tasks.start_soon(self.finder.run)
            tasks.start_soon(self._notify_clients)
            for upstream in self.upstreams.values():
                tasks.start_soon(upstream.run)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    # What clients see

    @property
    def states(self) -> list[ServerState]:
        """The state of each server."""
        return [upstream.state for upstream in self.upstreams.values()]

    def _decide_to_search(self) -> bool:
        if self.options.search != "auto":
            return self.options.search == "on"
        tools = self.merged.tools.values()
        return len(tools) > self.options.most_listed or sum(map(tokens_of, tools)) > self.options.most_tokens

    def listed_tools(self, promoted: Iterable[str] = ()) -> list[types.Tool]:
        """The tools of `tools/list`, always in the same order; `promoted` are added for one client."""
        if not self.searching:
            return [*(self._own_tools() if self.offers_search else ()), *self.merged.tools.values()]
        pinned = [name for name in self.merged.tools if matches(name, self._pin)]
        more = [name for name in promoted if name in self.merged.tools and name not in pinned]
        return [*self._own_tools(), *(self.merged.tools[name] for name in (*pinned, *more))]

    def _own_tools(self) -> list[types.Tool]:
        longest = max((one.given.options.result_characters for one in self.upstreams.values()), default=0)
        return own_tools(self.summary, longest)

    def always_lists(self, name: str) -> bool:
        """Whether `tools/list` has the tool `name` for every client: all are listed, or it is pinned."""
        return not self.searching or matches(name, self._pin)

    @property
    def summary(self) -> str:
        """The servers and their descriptions, in one bounded line."""
        return servers_summary(
            (name, _description_of(upstream), None if upstream.listing is None else len(upstream.listing.tools))
            for name, upstream in self.upstreams.items()
        )

    @property
    def instructions(self) -> str:
        """The `instructions` that clients get."""
        if not self.searching:
            given = {
                name: upstream.listing.instructions
                for name, upstream in self.upstreams.items()
                if upstream.listing is not None and upstream.listing.instructions
            }
            room = _INSTRUCTIONS // max(1, len(given))
            sections = [f"## {name}\n{_cut(text, room)}" for name, text in given.items()]
            if self.offers_search:
                names = ", ".join(self.never_listed)
                sections.append(f"The tools of {names} are not known yet: find them with search_tools.")
            return "\n\n".join(sections)
        return (
            f"{len(self.merged.tools):,} tools are behind this server, and most are not listed. Find what you need "
            f"with search_tools, then call it with the tool that the answer names. {self.summary}"
        )

    @property
    def never_listed(self) -> list[str]:
        """The servers whose tools are not known: they are still starting, or have failed since the start."""
        return [name for name, upstream in self.upstreams.items() if upstream.listing is None]

    @property
    def offers_search(self) -> bool:
        """Whether the tools that search are listed.

        They are as long as a server was never listed: a client that lists once still finds its tools when they come.
        """
        return self.searching or (self.options.search == "auto" and bool(self.never_listed))

    def search(self, query: str) -> SearchAnswer:
        """The tools for a query, with notes on servers that cannot be reached or are still starting.

        Raises:
            ToolSearchError: the query is invalid.
        """
        return self.finder.search(query, down=self._down())

    def nearest(self, name: str) -> str:
        """The answer to a call of an unknown tool."""
        return self.finder.nearest(name, searching=self.offers_search, down=self._down())

    async def until_known(self, name: str, is_known: Callable[[], bool]) -> None:
        """Wait for the server of a tool or prompt that no listed server has, if it is still starting."""

        def may_be_of(server: str) -> bool:
            return self.options.names == "plain" or name.startswith(server_prefix(server))

        if not is_known():
            await self.first_lists.wait(is_known)
            await self.first_lists.wait_until(is_known, may_be_of)

    def _down(self) -> dict[str, str]:
        """The servers that cannot be reached, with reason and remedy; none for one that starts for the first time."""
        starting = {one.name: "" for one in self.upstreams.values() if not one.listed.is_set()}
        return starting | {
            state.name: f"{state.reason}. {state.remedy}".strip()
            for state in self.states
            if state.status == "failed" or (state.status == "starting" and state.reason)
        }

    async def listed(self, seconds: float) -> None:
        """Wait until every server has been listed or has failed, at most so long."""
        with anyio.move_on_after(seconds):
            for upstream in self.upstreams.values():
                await upstream.listed.wait()

    def upstream_of(self, server: str) -> Upstream:
        """The server of this name.

        Raises:
            ServerUnavailableError: it is not configured any more.
        """
        if server not in self.upstreams:
            raise ServerUnavailableError(server, "it is not configured any more")
        return self.upstreams[server]

    def remember_client(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """Send notifications to the client of a request; a modern one listens by itself."""
        if is_modern_client(ctx):
            return
        key = client_key(ctx)
        self.sessions.pop(key, None)
        self.sessions[key] = ctx.session, principal_of(ctx)
        while len(self.sessions) > _MOST_SESSIONS:
            self.sessions.pop(next(iter(self.sessions)))

    # Events of servers

    def listing_changed(self, upstream: Upstream) -> None:
        """Offer the new listing of a server, and notify clients."""
        if self.cache is not None and upstream.listing is not None:
            self.cache.write(upstream.given.server, upstream.listing)
        self.first_lists.one_listed(upstream, anyio.current_time())
        self._merge()
        self._publish(ToolsListChanged(), PromptsListChanged(), ResourcesListChanged())

    def state_changed(self, upstream: Upstream) -> None:
        """Log the new state of a server."""
        self.first_lists.changed()
        logger.info("MCP server %r is %s. %s", upstream.name, upstream.state.status, upstream.state.reason)

    def resource_updated(self, upstream: Upstream, uri: str) -> None:
        """Notify the subscribers of a resource."""
        self._publish(ResourceUpdated(uri=self.merged.resources.shown_uri(Origin(upstream.name, uri))))

    async def ask(self, upstream: Upstream, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """The answer of the client whose call `upstream` works on."""
        return await self.forwarder.running.ask(upstream, request)

    async def log(self, upstream: Upstream, params: types.LoggingMessageNotificationParams) -> None:
        """Pass a log message of a server to clients.

        One that comes outside of calls may still be about an earlier one, so it is for its principal only.
        """
        running = self.forwarder.running
        if not await running.log(upstream, params):
            for key, (session, principal) in list(self.sessions.items()):
                concerns = running.principals_of(upstream) <= {principal}
                if concerns and reaches(params.level, self.forwarder.levels.of_client(key)):
                    await _quietly(session.send_notification, types.LoggingMessageNotification(params=params))

    def _merge(self) -> None:
        listings = {name: one.listing for name, one in self.upstreams.items() if one.listing is not None}
        self.merged = merged(listings, self.options.names, longest=self.options.longest_name, reserved=OWN_TOOLS)
        self.searching = self._decide_to_search()  # cached: every call needs it
        self.repeatable = self._tools_that(is_repeatable)
        """The tools that may be called again after a lost connection."""
        self.confirmed = self._tools_that(needs_confirmation)
        """The tools each call of which a person confirms."""
        self.finder.update(self.merged, self._tools_that(is_read_only))

    def _tools_that(self, holds: Callable[[types.Tool, ServerOptions], bool]) -> frozenset[str]:
        """The names of the tools for which the policy says so."""
        places, own = self.merged.tool_places, self.merged.own_tools  # the policy refers to names at the server
        options = {name: upstream.given.options for name, upstream in self.upstreams.items()}
        return frozenset(name for name, place in places.items() if holds(own[name], options[place.server]))

    def _publish(self, *events: ServerEvent) -> None:
        self._pending += events
        if self._events is not None:
            self._events.set()

    async def _notify_clients(self) -> None:
        """Send pending changes to clients of all revisions, each change once."""
        while True:
            assert self._events is not None
            await self._events.wait()
            self._events = anyio.Event()
            events, self._pending = list(dict.fromkeys(self._pending)), []
            for event in events:
                await self.bus.publish(event)
                for key, (session, _) in list(self.sessions.items()):
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
    """Whether it could be sent; a client that is gone is not an error."""
    try:
        with anyio.fail_after(5.0):
            await send(*arguments)
    except Exception:
        return False
    return True


def _description_of(upstream: Upstream) -> str | None:
    listing = upstream.listing
    if listing is None:
        return None
    described = listing.info.description if listing.info is not None else None
    return described or listing.instructions or ", ".join(tool.name for tool in listing.tools[:8])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters are left out)"


def tokens_of(tool: types.Tool) -> int:
    """How many tokens the definition of a tool costs."""
    return estimate_tokens(tool.model_dump_json(by_alias=True, exclude_none=True))
