"""The client of a running call: receives the server's requests, progress and log messages."""

from __future__ import annotations

import math
import secrets
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Protocol

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.client import Client
from mcp.server import ServerRequestContext
from mcp.server.request_state import authenticated_principal
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from opentelemetry.context import get_current

from ..errors import ServerUnavailableError
from ..servers.revisions import is_modern_client
from .telemetry import within_trace
from .upstream.requests import Behalf, reaches
from .upstream.upstream import Turn, Upstream

Context = ServerRequestContext[Any, Any]

CONNECTION = "connection"
"""Key of the client key of a connection in the lifespan context."""

_ALONE = "request "

_RESULT_OF: dict[type[Any], type[Any]] = {
    types.ElicitRequest: types.ElicitResult,
    types.ListRootsRequest: types.ListRootsResult,
}


class Caller(Protocol):
    """The client that a running call belongs to."""

    key: str
    """Identifies the client."""
    principal: str
    """Identifies the person or service that the client acts for."""
    behalf: Behalf
    """Its capabilities and log level, as a server gets them."""

    async def ask(self, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """The client's answer to a server's elicitation, sampling or roots request."""
        ...

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress to the client."""
        ...

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Send a log message to the client."""
        ...


def principal_of(ctx: Context) -> str:
    """The issuer, subject and client of the access token of a request; empty where no such token is needed."""
    return authenticated_principal(ctx) or ""


def client_key(ctx: Context) -> str:
    """Identifies the client of a request: by HTTP session or connection; a stateless HTTP request has a key of its own.

    A key is never reused for another client: what one person allowed must not be allowed for another.
    """
    if ctx.request is None:
        return ctx.lifespan_context[CONNECTION]
    # Modern requests have no session, and nothing checks such a header.
    session_id = None if is_modern_client(ctx) else ctx.request.headers.get("mcp-session-id")
    if session_id:
        return f"session {session_id} {principal_of(ctx)}"
    return f"{_ALONE}{ctx.request.scope.setdefault('hikidashi.request', secrets.token_hex(8))}"


def conversation_of(ctx: Context) -> str | None:
    """What `client_key` gives; None for a stateless HTTP request, which belongs to no conversation that is known."""
    key = client_key(ctx)
    return None if key.startswith(_ALONE) else key


class DirectCaller:
    """A client that waits for the answer to its request; an older one can be sent requests meanwhile."""

    def __init__(self, ctx: Context, log_level: types.LoggingLevel | None) -> None:
        self.key = client_key(ctx)
        self.principal = principal_of(ctx)
        self.behalf = Behalf(ctx.session.client_capabilities, log_level)
        self._ctx = ctx

    async def ask(self, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """Relay `request` to the client."""
        if missing := missing_capability(self._ctx.session.client_capabilities, request):
            return missing
        result_type = _RESULT_OF.get(type(request)) or _sampling_result(request)
        related = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        try:
            return await self._ctx.session.send_request(request, result_type, metadata=related)
        except NoBackChannelError:
            return types.ErrorData(
                code=types.INVALID_REQUEST,
                message="The client cannot be asked: it has no open connection. Use stdio, or HTTP with a session.",
            )
        except MCPError as refused:
            return refused.error

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress for the client's request."""
        await self._ctx.session.report_progress(progress, total, message)

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Send a log message related to the client's request."""
        await send_log(self._ctx, params, self.behalf)


async def send_log(ctx: Context, params: types.LoggingMessageNotificationParams, client: Behalf) -> None:
    """Send a log message to the client of a request, if its level is high enough."""
    if not reaches(params.level, client.log_level):
        return
    try:
        # Not `send_log_message`, which warns of what modern revisions deprecate.
        await ctx.session.send_notification(types.LoggingMessageNotification(params=params), ctx.request_id)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):  # the client is gone
        return


def missing_capability(
    capabilities: types.ClientCapabilities | None, request: types.InputRequest
) -> types.ErrorData | None:
    """An error unless the client can answer `request`."""
    have = capabilities or types.ClientCapabilities()
    match request:
        case types.ElicitRequest(params=types.ElicitRequestURLParams()):
            able = have.elicitation is not None and have.elicitation.url is not None
            name = "elicitation by URL"
            needed = types.ClientCapabilities(
                elicitation=types.ElicitationCapability(url=types.UrlElicitationCapability())
            )
        case types.ElicitRequest():
            asks = have.elicitation
            able = asks is not None and (asks.form is not None or asks.url is None)  # an empty capability means forms
            name = "elicitation"
            needed = types.ClientCapabilities(elicitation=types.ElicitationCapability())
        case types.CreateMessageRequest(params=params) if params.tools or params.tool_choice:
            able = have.sampling is not None and have.sampling.tools is not None
            name = "sampling with tools"
            needed = types.ClientCapabilities(sampling=types.SamplingCapability(tools=types.SamplingToolsCapability()))
        case types.CreateMessageRequest():
            able = have.sampling is not None
            name = "sampling"
            needed = types.ClientCapabilities(sampling=types.SamplingCapability())
        case _:
            able = have.roots is not None
            name = "roots"
            needed = types.ClientCapabilities(roots=types.RootsCapability())
    if able:
        return None
    return types.ErrorData(
        code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        message=f"The client does not support {name}, which this call needs.",
        data={"requiredCapabilities": needed.model_dump(mode="json", by_alias=True, exclude_none=True)},
    )


def unsupported_requests(
    capabilities: types.ClientCapabilities | None, requests: dict[str, types.InputRequest]
) -> types.ErrorData | None:
    """An error unless the client can answer all of `requests`."""
    return next(filter(None, (missing_capability(capabilities, request) for request in requests.values())), None)


def _sampling_result(request: types.InputRequest) -> type[Any]:
    asks_for_tools = isinstance(request, types.CreateMessageRequest) and (
        request.params.tools is not None or request.params.tool_choice is not None
    )
    return types.CreateMessageResultWithTools if asks_for_tools else types.CreateMessageResult


MOST_REQUESTS = 50
"""How many requests a server may send in one call."""
_DELIVERY_SECONDS = 10.0  # for which an answer waits for notifications that a slow client does not take
_PAUSE = 0.5  # seconds until a request without a call is refused: it slows a server down that sends them in a loop


class RunningCalls:
    """The calls that servers work on."""

    def __init__(self) -> None:
        self._calls: defaultdict[str, list[RunningCall]] = defaultdict(list)
        self._principals: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
        self._turns: defaultdict[str, ClientTurns] = defaultdict(ClientTurns)
        self._undecided = Counter[str]()
        self._changed: anyio.Event | None = None
        """Set at the next change; None while none is waited for."""

    @asynccontextmanager
    async def call(self, upstream: Upstream, caller: Caller) -> AsyncGenerator[RunningCall]:
        """One call of `caller`, from its turn to its answer; the server is started if it is not running."""
        name = upstream.name
        async with AsyncExitStack() as stack:
            turns: list[Turn] = []
            if not upstream.is_modern:
                slot = ClientSlot(self._turns[name], caller.key, caller.behalf)
                turns.append(await stack.enter_async_context(Turn(slot)))
            client, turn = await stack.enter_async_context(upstream.request())
            call = RunningCall(caller, client, [*turns, turn], CallTime(upstream.given.options.call_seconds))
            self._calls[name].append(call)
            if len(self._principals[name]) < 2:  # more make no difference
                self._principals[name] |= {caller.principal}
            try:
                yield call
            finally:
                self._calls[name].remove(call)
                self._notify()

    async def ask(self, upstream: Upstream, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """The response of the client whose call `upstream` is working on."""
        self._turns[upstream.name].has_asked = True
        self._undecided[upstream.name] += 1
        try:
            candidates = self._candidates(upstream)
            while len({call.caller.key for call in candidates}) > 1:
                if self._undecided[upstream.name] >= len(candidates):
                    return _refusal("several clients are calling it at the same time. Call the tool again")
                await self._change()
                candidates = self._candidates(upstream)
        finally:
            self._undecided[upstream.name] -= 1
        if not candidates:
            await anyio.sleep(_PAUSE)
            return _refusal("no client is calling it")
        call = candidates[-1]
        try:
            return await call.ask(request, self._notify)
        finally:
            self._notify()

    async def log(self, upstream: Upstream, params: types.LoggingMessageNotificationParams) -> bool:
        """Send a log message to the clients whose calls `upstream` is working on; False if there are none.

        One that may be about the call of another principal is not sent: it does not name its call.
        """
        calls = list(self._calls[upstream.name])
        if len({call.caller.principal for call in calls}) == 1:
            sending = [call.delivery(partial(call.caller.log, params)) for call in calls]
            async with anyio.create_task_group() as tasks:  # a client that reads slowly delays no other
                for send in sending:
                    tasks.start_soon(send)
        return bool(calls)

    def principals_of(self, upstream: Upstream) -> frozenset[str]:
        """The principals whose calls `upstream` has worked on so far; two of them stand for many."""
        return self._principals[upstream.name]

    def _candidates(self, upstream: Upstream) -> list[RunningCall]:
        """The calls that a request may belong to. One that waits for its client sends no second request meanwhile."""
        calls = self._calls[upstream.name]
        return [call for call in calls if not call.waiting] or list(calls)

    async def _change(self) -> None:
        """Wait for the next change."""
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()

    def _notify(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None


class CallTime:
    """The time limit of a call: restarted by progress and by responses of a client, paused while waiting for one."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.scope = anyio.CancelScope()
        self.asks_too_often = False
        self.restart()

    def restart(self) -> None:
        """Restart the limit."""
        self.scope.deadline = anyio.current_time() + self.seconds

    def pause(self) -> None:
        """Suspend the limit."""
        self.scope.deadline = math.inf


class RunningCall:
    """A call that a server works on."""

    def __init__(self, caller: Caller, client: Client, turns: list[Turn], time: CallTime) -> None:
        self.caller = caller
        self.client = client
        self.time = time
        self.waiting = 0
        self._request_count = 0
        self._turns = turns
        self._trace = get_current()
        self._deliveries = 0
        self._delivered: anyio.Event | None = None

    def delivery(self, send: Callable[[], Awaitable[None]]) -> Callable[[], Coroutine[Any, Any, None]]:
        """`send`, which sends a notification of the server to the client; from now on `delivered` waits for it."""
        self._deliveries += 1

        async def deliver() -> None:
            try:
                await send()
            finally:
                self._deliveries -= 1
                if self._delivered is not None:
                    self._delivered.set()

        return deliver

    async def delivered(self) -> None:
        """Wait for the notifications that came before the answer: after it, a client does not get them."""
        if not self._deliveries:
            return
        with anyio.move_on_after(_DELIVERY_SECONDS):
            while self._deliveries:
                self._delivered = anyio.Event()
                await self._delivered.wait()

    async def ask(
        self, request: types.InputRequest, on_waiting: Callable[[], None]
    ) -> types.InputResponse | types.ErrorData:
        """Ask its client; other calls may run meanwhile."""
        self._request_count += 1
        if self._request_count > MOST_REQUESTS:
            self.time.asks_too_often = True
            self.time.scope.cancel()
            await anyio.sleep_forever()  # an answer would only cause the next request
        self.waiting += 1
        self.time.pause()
        on_waiting()
        try:
            async with AsyncExitStack() as stack:
                for turn in reversed(self._turns):  # so that they are taken again in the order of their first time
                    await stack.enter_async_context(turn.paused())
                with within_trace(self._trace):
                    return await self.caller.ask(request)
        finally:
            self.waiting -= 1
            if not self.waiting:
                self.time.restart()


def _refusal(reason: str) -> types.ErrorData:
    return types.ErrorData(
        code=types.INVALID_REQUEST, message=f"The request of the server reaches no client: {reason}."
    )


_PATIENCE = 1.0  # seconds


class ClientTurns:
    """The calls at one server: those that run, and those that wait for the calls of another client."""

    def __init__(self) -> None:
        self.has_asked = False
        """Whether the server has sent a request; from then on no call overlaps with that of another client."""
        self._running: list[ClientSlot] = []
        self._waiting: list[ClientSlot] = []
        self._changed = anyio.Event()

    async def enter(self, slot: ClientSlot, *, first: bool) -> None:
        """Wait until no other client has a call that runs, or that waited before; `first` goes before all that wait."""
        self._waiting.insert(0 if first else len(self._waiting), slot)
        until = anyio.current_time() + _PATIENCE
        try:
            while self._is_blocked(slot) and (self.has_asked or anyio.current_time() < until):
                with anyio.move_on_at(math.inf if self.has_asked else until):
                    await self._changed.wait()
            self._running.append(slot)
        finally:
            self._waiting.remove(slot)
            self._notify()

    def enter_now(self, slot: ClientSlot) -> bool:
        """Enter if no other client has a call that runs or waits."""
        free = not any(slot.conflicts_with(other) for other in (*self._running, *self._waiting))
        if free:
            self._running.append(slot)
        return free

    def leave(self, slot: ClientSlot) -> None:
        """Let others have their turn."""
        self._running.remove(slot)
        self._notify()

    def _is_blocked(self, slot: ClientSlot) -> bool:
        before = self._waiting[: self._waiting.index(slot)]
        return any(slot.conflicts_with(other) for other in (*self._running, *before))

    def _notify(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class ClientSlot:
    """The turn of one call, as a limiter for `Turn`."""

    def __init__(self, turns: ClientTurns, client: str, behalf: Behalf) -> None:
        self._turns = turns
        self._client = client
        self._can_be_asked = _can_be_asked(behalf)
        self._was_inside = False

    def conflicts_with(self, other: ClientSlot) -> bool:
        """Whether a request of the server could not be attributed if both calls ran."""
        return self._client != other._client and (self._can_be_asked or other._can_be_asked)

    def acquire_on_behalf_of_nowait(self, _: object) -> None:
        """Take a turn, or raise `anyio.WouldBlock`."""
        if not self._turns.enter_now(self):
            raise anyio.WouldBlock
        self._was_inside = True

    async def acquire_on_behalf_of(self, _: object) -> None:
        """Wait for a turn; a call that was paused goes before new ones."""
        first, self._was_inside = self._was_inside, True
        await self._turns.enter(self, first=first)

    def release_on_behalf_of(self, _: object) -> None:
        """End the turn."""
        self._turns.leave(self)


def _can_be_asked(behalf: Behalf) -> bool:
    declared = behalf.capabilities
    return declared is not None and (declared.elicitation or declared.sampling or declared.roots) is not None


def refuse_cursor(params: types.PaginatedRequestParams | None) -> None:
    """Raise for a cursor: the gateway lists everything on one page.

    Raises:
        MCPError: `params` has a cursor.
    """
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown cursor {params.cursor!r}: the list has a single page.")


@contextmanager
def unavailable_as_mcp_error() -> Generator[None]:
    """Raise `ServerUnavailableError` as the protocol error that a client gets."""
    try:
        yield
    except ServerUnavailableError as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
