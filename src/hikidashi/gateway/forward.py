"""Forwards a request of a client to a server, and the answer back, for any pair of revisions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.client._input_required import (  # the only driver of input rounds in the package
    InputRequiredRoundsExceededError,
    run_input_required_driver,
)
from mcp_types.methods import is_input_required
from pydantic import TypeAdapter, ValidationError

from ..common.exceptions import first_problem, is_closed_session
from ..common.json import as_object, is_object
from ..errors import ServerUnavailableError
from ..servers.revisions import is_modern_client
from .callers import (
    MOST_REQUESTS,
    Caller,
    Context,
    DirectCaller,
    RunningCall,
    RunningCalls,
    client_key,
    unsupported_requests,
)
from .parked import ParkedCalls, Raw, Seal
from .telemetry import has_trace, is_tracing
from .upstream.requests import LEVELS, AskAgain, ShapedResult, on_behalf_of
from .upstream.state import NotSent
from .upstream.upstream import Upstream

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
        ctx: Context,
        upstream: Upstream,
        request: types.ClientRequest,
        *,
        repeatable: bool = True,
        before: Callable[[Caller], Awaitable[Raw | None]] | None = None,
    ) -> Raw | types.InputRequiredResult:
        """The server's answer to a request of the client, or the input that the client has to give first.

        Args:
            ctx: The client's request.
            upstream: The server.
            request: The request for the server, with the client's input of the round before.
            repeatable: Whether it may be sent again if the connection is lost.
            before: Called first; if it returns a result, that is the answer and the server is not called.

        Raises:
            MCPError: the server refused it, or was lost.
            ServerUnavailableError: the server cannot be reached.
        """
        params = request.params
        if (
            isinstance(params, types.InputResponseRequestParams)
            and params.request_state is not None
            and self._seal.is_ours(params.request_state)
        ):
            return await self._parked.resume(ctx, params.request_state, params.input_responses)
        await upstream.client()
        log_level, is_modern = self.levels.of(ctx), is_modern_client(ctx)
        if log_level is not None and is_modern:  # an older client sets it once
            await upstream.set_level(log_level)
        if is_modern and upstream.is_modern and before is None:
            answer = await self._send(upstream, request, DirectCaller(ctx, log_level), repeatable=repeatable)
            if is_input_required(answer):
                requests = types.InputRequiredResult.model_validate(answer).input_requests or {}
                if refused := unsupported_requests(ctx.session.client_capabilities, requests):
                    raise MCPError.from_error_data(refused)
            return answer

        async def work(caller: Caller) -> Raw:
            if before is not None and (refused := await before(caller)) is not None:
                return refused
            first = _with_input(request, None, None)
            if upstream.is_modern:
                return await self._rounds(upstream, first, caller, repeatable=repeatable)
            return await self._send(upstream, first, caller, repeatable=repeatable)

        if is_modern:
            return await self._parked.begin(ctx, work, log_level)
        return await work(DirectCaller(ctx, log_level))

    async def _rounds(
        self, upstream: Upstream, request: types.ClientRequest, caller: Caller, *, repeatable: bool
    ) -> Raw:
        """The final answer of a modern server; `caller` gives the input that it requires."""

        async def ask(_: str, asked: types.InputRequest) -> types.InputResponse | types.ErrorData:
            return await caller.ask(asked)

        async def send(answers: types.InputResponses | None, state: str | None) -> types.InputRequiredResult | Raw:
            raw = await self._send(upstream, _with_input(request, answers, state), caller, repeatable=False)
            return types.InputRequiredResult.model_validate(raw) if is_input_required(raw) else raw

        raw = await self._send(upstream, request, caller, repeatable=repeatable)
        if not is_input_required(raw):
            return raw
        try:
            asked = types.InputRequiredResult.model_validate(raw)
            return await run_input_required_driver(asked, dispatch=ask, retry=send)
        except InputRequiredRoundsExceededError as error:
            raise MCPError(types.INTERNAL_ERROR, f"The server {upstream.name!r} keeps asking: {error}") from error

    async def _send(self, upstream: Upstream, request: types.ClientRequest, caller: Caller, *, repeatable: bool) -> Raw:
        for attempt in (1, 2):
            call: RunningCall | None = None
            try:
                async with self.running.call(upstream, caller) as call:
                    raw = await _answer(upstream, request, call, repeatable=repeatable)
                await call.delivered()  # after it has given up its turn: nothing else waits for a slow client
                return raw
            except MCPError as error:
                if upstream.login is not None and upstream.login.problem:
                    raise upstream.refused_login(upstream.login.problem) from error
                if call is None or not _is_lost(error):
                    raise
                upstream.lose(call.client, "it closed the connection")
                if attempt == 2 or not (repeatable or isinstance(error, NotSent)):
                    raise ServerUnavailableError(
                        upstream.name,
                        "it ended during the call",
                        "It is started again. Whether the call was carried out is not known: check before you "
                        "repeat it.",
                    ) from error
        raise AssertionError


def _with_input(
    request: types.ClientRequest, responses: types.InputResponses | None, state: str | None
) -> types.ClientRequest:
    """`request` with these responses to what its server asked for."""
    params = request.params
    if not isinstance(params, types.InputResponseRequestParams):
        return request
    given = params.model_copy(update={"input_responses": responses, "request_state": state})
    return request.model_copy(update={"params": given})


async def _answer(upstream: Upstream, request: types.ClientRequest, call: RunningCall, *, repeatable: bool) -> Raw:
    """The server's answer within the time of a call."""
    time = call.time

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        time.restart()
        await call.delivery(partial(call.caller.progress, progress, total, message))()

    with time.scope:
        try:
            direct = upstream.direct_of(call.client)
            # The session makes the span of a request, and puts the context of a trace into it.
            if direct is not None and isinstance(request, types.CallToolRequest) and not (is_tracing() or has_trace()):
                with suppress(AskAgain):
                    return _cleaned(
                        await direct.call(request, call.caller.behalf, on_progress, repeatable=repeatable), request
                    )
            with on_behalf_of(call.caller.behalf):
                raw = await call.client.session.send_request(request, _RAW, progress_callback=on_progress)
            return _cleaned(raw, request)
        except ValidationError as error:
            reason = first_problem(error)
            raise MCPError(
                types.INTERNAL_ERROR, f"The server {upstream.name!r} sent an invalid response: {reason}"
            ) from error
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


def _cleaned(raw: Raw, request: types.ClientRequest) -> Raw:
    """`raw` without the metadata of its hop, and with the fields that modern clients require."""
    meta = raw.get("_meta")
    kept = without_hop_keys(meta) if is_object(meta) else {}
    rest = {key: value for key, value in raw.items() if key != "_meta"} | ({"_meta": kept} if kept else {})
    if isinstance(raw, ShapedResult):
        return ShapedResult(rest, raw.version) if "_meta" in raw else raw
    listed = {"ttlMs": 0, "cacheScope": "private"} if isinstance(request, types.ReadResourceRequest) else {}
    return {"resultType": "complete", **listed, **rest}


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

    def of(self, ctx: Context) -> types.LoggingLevel | None:
        """The minimum level of log messages during this request; None for no messages."""
        if not is_modern_client(ctx):
            return self.of_client(client_key(ctx))
        level = as_object(ctx.meta).get(types.LOG_LEVEL_META_KEY)
        return level if level in LEVELS else None


_RESERVED = "io.modelcontextprotocol/"
_OF_ONE_HOP = frozenset({"progressToken"})
_TRACE = ("traceparent", "tracestate")


def passed_on(ctx: Context) -> types.RequestParamsMeta | None:
    """The metadata of a client's request, for the server."""
    meta: Any = without_hop_keys(as_object((ctx.params or {}).get("_meta")))
    if has_trace():  # the request to the server gets the context of its own span
        for key in _TRACE:
            meta.pop(key, None)
    return meta or None


def without_hop_keys(meta: Mapping[str, Any]) -> dict[str, Any]:
    """`meta` without the keys that the `mcp` package sets on each hop."""
    return {key: value for key, value in meta.items() if not key.startswith(_RESERVED) and key not in _OF_ONE_HOP}
