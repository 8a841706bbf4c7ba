"""The result of one call, from the same handlers, checks and middleware as in the `mcp` package."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import HandlerResult
from mcp.server.runner import ServerRunner, modern_error_data
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import X_MCP_HEADER_KEY, InboundModernRoute
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import MessageMetadata
from mcp.shared.transport_context import TransportContext

from ..finder import OWN_TOOLS
from ..gateway import Gateway
from ..server import GatewayMCPServer
from ..upstream.requests.direct import ShapedResult

__all__ = ["CALL", "CallAnswers", "CallContext"]

CALL = "tools/call"

_MOST_RUNNERS = 256
_LONGEST_KEY = 4_096  # characters


class CallContext(ABC):
    """What the `mcp` package needs to know about a request, and how notifications reach its client.

    Subclasses send them.
    """

    can_send_request = False

    def __init__(
        self, request: types.JSONRPCRequest, transport: TransportContext, metadata: MessageMetadata = None
    ) -> None:
        self.transport = transport
        self.request_id: types.RequestId | None = request.id
        self.message_metadata = metadata
        self.cancel_requested = anyio.Event()
        self._progress_token = progress_token_from_params(request.params)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Refused: since 2026-07-28 a server sends no requests."""
        raise NoBackChannelError(method)

    @abstractmethod
    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Send a notification about this request."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the client has asked for it."""
        if self._progress_token is None:
            return
        params: dict[str, Any] = {"progressToken": self._progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self.notify("notifications/progress", params)


class _Runner(ServerRunner[Any]):
    """Runs handlers; a result that a server of the client's revision sent is not validated twice."""

    def _serialize(self, method: str, version: str, result: HandlerResult) -> dict[str, Any]:
        if isinstance(result, ShapedResult) and result.version == version:
            return self._stamp_server_info(version, dict(result))
        return super()._serialize(method, version, result)


class CallAnswers:
    """Answers calls of tools.

    Args:
        server: Handles them.
        gateway: Its gateway.
        lifespan: The lifespan context of the connection.
    """

    def __init__(self, server: GatewayMCPServer, gateway: Gateway, lifespan: Any) -> None:
        self._server = server
        self._gateway = gateway
        self._lifespan = lifespan
        # One for all calls with the same envelope: building one validates the capabilities of the client, and the
        # handlers of calls keep nothing in it.
        self._runners: OrderedDict[str, _Runner] = OrderedDict()
        self._has_headers: tuple[object, dict[str, bool]] = None, {}

    def knows(self, params: Mapping[str, Any] | None) -> bool:
        """Whether the tool that `params` calls is known now."""
        name = (params or {}).get("name")
        return isinstance(name, str) and (name in self._gateway.merged.tools or name in OWN_TOOLS)

    def declares_headers(self, name: str) -> bool:
        """Whether the tool `name` wants arguments repeated in headers."""
        merged, known = self._has_headers
        if merged is not self._gateway.merged:
            known = {}
            self._has_headers = self._gateway.merged, known
        if name not in known:
            tool = self._gateway.merged.tools.get(name)
            known[name] = tool is not None and f'"{X_MCP_HEADER_KEY}"' in json.dumps(tool.input_schema)
        return known[name]

    async def answer(
        self, context: CallContext, request: types.JSONRPCRequest, route: InboundModernRoute
    ) -> types.JSONRPCResponse | types.JSONRPCError:
        """The response to a call."""
        try:
            result = await self._runner(route).on_request(context, CALL, request.params)
        except Exception as error:
            return types.JSONRPCError(jsonrpc="2.0", id=request.id, error=modern_error_data(error))
        return types.JSONRPCResponse.model_construct(jsonrpc="2.0", id=request.id, result=result)

    def _runner(self, route: InboundModernRoute) -> _Runner:
        version, info, capabilities = route.protocol_version, route.client_info, route.client_capabilities
        key = repr((version, info, capabilities))
        runner = self._runners.get(key)
        if runner is None:
            connection = Connection.from_envelope(version, info, capabilities)
            runner = _Runner(cast("Any", self._server), connection, self._lifespan)
            if len(key) <= _LONGEST_KEY:
                self._runners[key] = runner
                if len(self._runners) > _MOST_RUNNERS:
                    self._runners.popitem(last=False)
        return runner
