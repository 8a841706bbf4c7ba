"""The client of a running call: receives the server's requests, progress and log messages."""

from __future__ import annotations

import secrets
from typing import Any, Protocol

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.request_state import authenticated_principal
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ..upstream.requests.stamping import Behalf, reaches

__all__ = [
    "CONNECTION",
    "Caller",
    "DirectCaller",
    "client_key",
    "conversation_of",
    "is_modern",
    "missing_capability",
    "principal_of",
    "send_log",
    "unsupported_requests",
]

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


def is_modern(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client speaks 2026-07-28 or later, without requests from server to client."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def principal_of(ctx: ServerRequestContext[Any, Any]) -> str:
    """The issuer, subject and client of the access token of a request; empty where no such token is needed."""
    return authenticated_principal(ctx) or ""


def client_key(ctx: ServerRequestContext[Any, Any]) -> str:
    """Identifies the client of a request: by HTTP session or connection; a stateless HTTP request has a key of its own.

    A key is never reused for another client: what one person allowed must not be allowed for another.
    """
    if ctx.request is None:
        return ctx.lifespan_context[CONNECTION]
    # Modern requests have no session, and nothing checks such a header.
    session_id = None if is_modern(ctx) else ctx.request.headers.get("mcp-session-id")
    if session_id:
        return f"session {session_id} {principal_of(ctx)}"
    return f"{_ALONE}{ctx.request.scope.setdefault('hikidashi.request', secrets.token_hex(8))}"


def conversation_of(ctx: ServerRequestContext[Any, Any]) -> str | None:
    """What `client_key` gives; None for a stateless HTTP request, which belongs to no conversation that is known."""
    key = client_key(ctx)
    return None if key.startswith(_ALONE) else key


class DirectCaller:
    """A client that waits for the answer to its request; up to 2025-11-25 it can be sent requests meanwhile."""

    def __init__(self, ctx: ServerRequestContext[Any, Any], log_level: types.LoggingLevel | None) -> None:
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


async def send_log(
    ctx: ServerRequestContext[Any, Any], params: types.LoggingMessageNotificationParams, client: Behalf
) -> None:
    """Send a log message to the client of a request, if its level is high enough."""
    if not reaches(params.level, client.log_level):
        return
    try:
        # Not `send_log_message`, which warns of what 2026-07-28 deprecates: older clients use it.
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
