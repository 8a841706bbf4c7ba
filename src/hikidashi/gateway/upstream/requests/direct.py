"""Calls of tools to a server since 2026-07-28, without the session of the `mcp` package.

A call of that revision is self-contained. Everything else, and calls within a trace, go through the session.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import mcp_types as types
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.inbound import mcp_param_headers, x_mcp_header_map
from mcp_types.methods import serialize_server_result

from ....servers.config import McpServer
from ...auth.logins import ServerLogin
from .._lost import NotSent
from ._http_requests import AskAgain, HttpRequests, OnNotification
from ._stream_requests import StreamRequests
from .stamping import Behalf, Envelope, stamp, stamping

__all__ = ["AskAgain", "DirectCalls", "NotSent", "ShapedResult"]

_METHOD = "tools/call"


class ShapedResult(dict[str, Any]):
    """A result that is known to be valid, and to have the fields of `version` only."""

    def __init__(self, result: dict[str, Any], version: str) -> None:
        super().__init__(result)
        self.version = version


class DirectCalls:
    """Sends calls to one connected server.

    Args:
        server: The server.
        login: The person's login to it, if it takes one.
        seconds: Timeout for connecting.
        on_notification: Called with a notification in the response to a call.
        on_error: Called with the status line of an error response.
    """

    def __init__(
        self,
        server: McpServer,
        *,
        login: ServerLogin | None,
        seconds: float,
        on_notification: OnNotification,
        on_error: Callable[[str], None],
    ) -> None:
        self._login = login
        self._envelope = Envelope()
        self._lines: StreamRequests | None = None
        self._http: HttpRequests | None = None
        if HttpRequests.can_reach(server):
            self._http = HttpRequests(server, seconds=seconds, on_notification=on_notification, on_error=on_error)
        self._is_process = server.transport == "stdio"
        self._headers: dict[str, dict[tuple[str, ...], str]] = {}

    @asynccontextmanager
    async def wrap(self, transport: AbstractAsyncContextManager[Any]) -> AsyncGenerator[tuple[Any, Any]]:
        """`transport` for the session, whose streams the calls share where there is only one connection."""
        try:
            async with stamping(transport, self._envelope) as (read, write):
                if self._is_process:
                    self._lines = StreamRequests(read, write)
                yield self._lines or read, write
        finally:
            if self._http is not None:
                self._http.close()

    def listed(self, tools: Iterable[types.Tool]) -> None:
        """Take note of the tools whose arguments are repeated in headers."""
        found = {tool.name: x_mcp_header_map(tool.input_schema) for tool in tools}
        self._headers = {name: headers for name, headers in found.items() if headers}

    async def call(
        self, request: types.CallToolRequest, client: Behalf, on_progress: ProgressFnT, *, repeatable: bool
    ) -> dict[str, Any]:
        """The result of a call on behalf of `client`, as the server sent it.

        Raises:
            AskAgain: the session has to send it.
            MCPError: the server answered with an error, or the connection is closed.
            ValidationError: the result is malformed.
        """
        envelope = self._envelope.meta
        if envelope is None or (self._lines is None and self._http is None):
            raise AskAgain
        params = _dumped(request.params)
        meta = {**params.get("_meta", {}), **envelope}
        params["_meta"] = meta
        stamp(meta, client)
        if self._lines is not None:
            result = await self._lines.request(_METHOD, params, on_progress)
        else:
            assert self._http is not None
            result = await self._http.request(
                _METHOD, params, on_progress, self._headers_of(params), repeatable=repeatable
            )
        version = meta[types.PROTOCOL_VERSION_META_KEY]
        shaped = serialize_server_result(_METHOD, version, result)
        return ShapedResult(shaped, version) if shaped == result else result  # an older client may know other fields

    def _headers_of(self, params: dict[str, Any]) -> dict[str, str]:
        declared = self._headers.get(params["name"])
        headers = {} if declared is None else mcp_param_headers(declared, params.get("arguments") or {})
        if self._login is not None:
            authorization = self._login.authorization()
            if authorization is None:
                raise AskAgain
            if authorization:
                headers["authorization"] = authorization
        return headers


def _dumped(params: types.CallToolRequestParams) -> dict[str, Any]:
    if params.input_responses is not None or params.request_state is not None:
        return params.model_dump(by_alias=True, mode="json", exclude_none=True)
    # Nothing in the first round of a call is a model: arguments and metadata are as the client sent them.
    given = {"name": params.name, "arguments": params.arguments, "_meta": params.meta}
    return {name: value for name, value in given.items() if value is not None}
