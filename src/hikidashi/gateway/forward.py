"""Forwards a request of a client to a server, and the answer back, for any pair of revisions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

import mcp_types as types
from mcp import MCPError
from mcp.client import Client
from mcp.client._input_required import (  # the only driver of input rounds in the package
    InputRequiredRoundsExceededError,
    run_input_required_driver,
)
from mcp.server import ServerRequestContext
from mcp.shared.dispatcher import ProgressFnT
from mcp_types.methods import is_input_required
from pydantic import TypeAdapter, ValidationError

from ..common.exceptions import first_problem, is_closed_session
from ..common.json import as_object, is_object
from ..errors import ServerUnavailableError
from ..servers.revisions import is_modern_client
from .callers import (
    MOST_REQUESTS,
    Caller,
    DirectCaller,
    RunningCall,
    RunningCalls,
    client_key,
    unsupported_requests,
)
from .parked import ParkedCalls, Raw, Seal
from .telemetry import has_trace, is_tracing
from .upstream.requests import LEVELS, AskAgain, NotSent, ShapedResult, on_behalf_of
from .upstream.upstream import Upstream

__all__ = ["Forwarder", "LogLevels", "MakeRequest", "passed_on", "without_hop_keys"]

MakeRequest = Callable[[types.InputResponses | None, str | None], types.ClientRequest]
"""Builds the request for a server from the input responses and the request state of a round."""

_Result = TypeVar("_Result")
_RAW: Any = TypeAdapter(dict[str, Any])
_SESSION_GONE = "Session terminated"


class Forwarder:
    """Forwards requests, and the requests that servers send meanwhile.

    Args:
        parked: The calls that wait for input of modern clients.
        seal: Distinguishes request states of these calls from those of servers.
    """

    def __init__(self, parked: ParkedCalls, seal: Seal) -> None:
        self._parked = parked
        self._seal = seal
        self.levels = LogLevels()
        self.running = RunningCalls()

    async def forward(
        self,
        ctx: ServerRequestContext[Any, Any],
        upstream: Upstream,
        make: MakeRequest,
        *,
        repeatable: bool = True,
        responses: types.InputResponses | None = None,
        state: str | None = None,
        before: Callable[[Caller], Awaitable[Raw | None]] | None = None,
    ) -> Raw | types.InputRequiredResult:
        """The server's answer to a request of the client, or the input that the client has to give first.

        Args:
            ctx: The client's request.
            upstream: The server.
            make: Builds the request for the server.
            repeatable: Whether it may be sent again if the connection is lost.
            responses: The client's input of the round before.
            state: The request state of the round before.
            before: Called first; if it returns a result, that is the answer and the server is not called.

        Raises:
            MCPError: the server refused it, or was lost.
            ServerUnavailableError: the server cannot be reached.
        """
        if state is not None and self._seal.is_ours(state):
            return await self._parked.resume(ctx, state, responses)
        await upstream.client()
        log_level = self.levels.of(ctx)
        if log_level is not None and is_modern_client(ctx):  # an older client sets it once
            await upstream.set_level(log_level)
        if is_modern_client(ctx) and upstream.is_modern and before is None:
            answer = await self._send(
                upstream, make(responses, state), DirectCaller(ctx, log_level), repeatable=repeatable
            )
            if is_input_required(answer):
                requests = types.InputRequiredResult.model_validate(answer).input_requests or {}
                if refused := unsupported_requests(ctx.session.client_capabilities, requests):
                    raise MCPError.from_error_data(refused)
            return answer

        async def work(caller: Caller) -> Raw:
            if before is not None and (refused := await before(caller)) is not None:
                return refused
            if upstream.is_modern:
                return await self._rounds(upstream, make, caller, repeatable=repeatable)
            return await self._send(upstream, make(None, None), caller, repeatable=repeatable)

        if is_modern_client(ctx):
            return await self._parked.begin(ctx, work, log_level)
        return await work(DirectCaller(ctx, log_level))

    async def _rounds(self, upstream: Upstream, make: MakeRequest, caller: Caller, *, repeatable: bool) -> Raw:
        """The final answer of a modern server; `caller` gives the input that it requires."""

        async def send(answers: types.InputResponses | None, state: str | None) -> types.InputRequiredResult | _Final:
            first = answers is None and state is None
            raw = await self._send(upstream, make(answers, state), caller, repeatable=repeatable and first)
            return types.InputRequiredResult.model_validate(raw) if is_input_required(raw) else _Final(raw)

        async def ask(_: str, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
            return await caller.ask(request)

        answer = await send(None, None)
        if isinstance(answer, _Final):
            return answer.raw
        try:
            return (await run_input_required_driver(answer, dispatch=ask, retry=send)).raw
        except InputRequiredRoundsExceededError as error:
            raise MCPError(types.INTERNAL_ERROR, f"The server {upstream.name!r} keeps asking: {error}") from error

    async def _send(
        self,
        upstream: Upstream,
        request: types.ClientRequest,
        caller: Caller,
        *,
        repeatable: bool,
    ) -> Raw:
        for attempt in (1, 2):
            client: Client | None = None

            async def send(connected: Client, call: RunningCall) -> Raw:
                nonlocal client
                client = connected
                return await _answer(connected, upstream, request, caller, call, repeatable=repeatable)

            try:
                return await self.running.call(upstream, caller, send)
            except MCPError as error:
                if upstream.login is not None and upstream.login.problem:
                    raise upstream.refused_login(upstream.login.problem) from error
                if client is None or not _is_lost(error):
                    raise
                upstream.lose(client, "it closed the connection")
                if attempt == 2 or not (repeatable or isinstance(error, NotSent)):
                    raise ServerUnavailableError(
                        upstream.name,
                        "it ended during the call",
                        "It is started again. Whether the call was carried out is not known: check before you "
                        "repeat it.",
                    ) from error
        raise AssertionError


class _Final:
    """An answer that ends the rounds."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw


async def _answer(
    client: Client,
    upstream: Upstream,
    request: types.ClientRequest,
    caller: Caller,
    call: RunningCall,
    *,
    repeatable: bool,
) -> Raw:
    time = call.time

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        time.restart()
        await call.delivery(partial(caller.progress, progress, total, message))()

    with time.scope:
        try:
            raw = await _sent(client, upstream, request, caller, on_progress, repeatable=repeatable)
        except ValidationError as error:
            reason = first_problem(error)
            raise MCPError(
                types.INTERNAL_ERROR, f"The server {upstream.name!r} sent an invalid response: {reason}"
            ) from error
        return _cleaned(raw, request)
    if time.asks_too_often:
        raise MCPError(
            types.INTERNAL_ERROR,
            f"The server {upstream.name!r} sent more than {MOST_REQUESTS} requests in one call, so it was ended.",
        )
    raise MCPError(
        types.REQUEST_TIMEOUT,
        f"The server {upstream.name!r} did not answer within {time.seconds:g} s. "
        "Raise `call_seconds` if it needs longer.",
    )


async def _sent(
    client: Client,
    upstream: Upstream,
    request: types.ClientRequest,
    caller: Caller,
    on_progress: ProgressFnT,
    *,
    repeatable: bool,
) -> Raw:
    direct = upstream.direct_of(client)
    # The session makes the span of a request, and puts the context of a trace into it.
    if direct is not None and isinstance(request, types.CallToolRequest) and not (is_tracing() or has_trace()):
        with suppress(AskAgain):
            return await direct.call(request, caller.behalf, on_progress, repeatable=repeatable)
    with on_behalf_of(caller.behalf):
        return await client.session.send_request(request, _RAW, progress_callback=on_progress)


def _cleaned(raw: Raw, request: types.ClientRequest) -> Raw:
    """`raw` without the metadata of its hop, and with the fields that modern clients require."""
    if isinstance(raw, ShapedResult):
        return raw if "_meta" not in raw else ShapedResult(_with_meta(raw, without_hop_keys(raw["_meta"])), raw.version)
    required: Raw = {"resultType": "complete"}
    if isinstance(request, types.ReadResourceRequest):
        required |= {"ttlMs": 0, "cacheScope": "private"}
    meta = raw.get("_meta")
    kept = without_hop_keys(meta) if is_object(meta) else {}
    rest = {key: value for key, value in raw.items() if key != "_meta"}
    return {**required, **rest, **({"_meta": kept} if kept else {})}


def _with_meta(raw: Raw, meta: Raw) -> Raw:
    return {key: meta if key == "_meta" else value for key, value in raw.items() if key != "_meta" or meta}


def _is_lost(error: MCPError) -> bool:
    return is_closed_session(error.code, error.message) or error.message == _SESSION_GONE


_UNLESS_SET: types.LoggingLevel = "info"
_MOST_CLIENTS = 1_024


class LogLevels:
    """The log levels that clients have set."""

    def __init__(self) -> None:
        self._set: OrderedDict[str, types.LoggingLevel] = OrderedDict()

    def set(self, client: str, level: types.LoggingLevel) -> None:
        """Remember the level of an older client."""
        self._set[client] = level
        self._set.move_to_end(client)
        while len(self._set) > _MOST_CLIENTS:
            self._set.popitem(last=False)

    def of_client(self, client: str) -> types.LoggingLevel:
        """The level of an older client; `info` unless it set one."""
        return self._set.get(client, _UNLESS_SET)

    def of(self, ctx: ServerRequestContext[Any, Any]) -> types.LoggingLevel | None:
        """The minimum level of log messages during this request; None for no messages."""
        if not is_modern_client(ctx):
            return self.of_client(client_key(ctx))
        level = as_object(ctx.meta).get(types.LOG_LEVEL_META_KEY)
        return level if level in LEVELS else None


_RESERVED = "io.modelcontextprotocol/"
_OF_ONE_HOP = frozenset({"progressToken"})
_TRACE = ("traceparent", "tracestate")


def passed_on(meta: Mapping[str, Any] | None) -> types.RequestParamsMeta | None:
    """The metadata of a client's request, for the server."""
    kept = without_hop_keys(meta)
    if has_trace():  # the request to the server gets the context of its own span
        for key in _TRACE:
            kept.pop(key, None)
    return cast("types.RequestParamsMeta", kept) or None


def without_hop_keys(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """`meta` without the keys that the `mcp` package sets on each hop."""
    return {
        key: value for key, value in (meta or {}).items() if not key.startswith(_RESERVED) and key not in _OF_ONE_HOP
    }
