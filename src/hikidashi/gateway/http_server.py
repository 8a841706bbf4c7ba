"""The gateway over streamable HTTP: what is refused at the door, the ASGI application, and uvicorn."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    decode_header_value,
    find_duplicated_routing_header,
)
from mcp_types import HEADER_MISMATCH
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response

from ..common.json import as_object, is_object
from ..common.urls import is_loopback
from .auth.bearer import RequireAccessToken, RequireSharedToken, metadata_routes
from .calls import CallAnswers, HttpCalls, replayed
from .gateway import Gateway
from .options import OAuthOptions
from .server import GatewayMCPServer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 4 * 1024 * 1024
"""Maximum size of a request body, in bytes."""
_MOST_HEADERS = 200
_MOST_HEADER_BYTES = 65_536
_BODY_SECONDS = 60.0

_AUTHORITY = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9.-]+))(?::(?P<port>[0-9]{1,5}))?")


class Door:
    """Refuses requests that are not meant for this host, too large, too slow, or not what their headers say.

    Args:
        app: The application that handles the others.
        host: Its address. On a loopback address, requests for another host or from a page of another one are
            refused (DNS rebinding); elsewhere a token is needed, and the names of the host are not known.
        body_seconds: Timeout for receiving a body.
    """

    def __init__(self, app: ASGIApp, host: str, *, body_seconds: float = _BODY_SECONDS) -> None:
        self._app = app
        self._host = host.strip("[]").lower() if is_loopback(host.strip("[]")) else None
        self._seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused_by_headers(scope, headers)
        body: bytes | None = b""
        if refused is None:
            try:
                async with asyncio.timeout(self._seconds):
                    body = await _body(receive)
            except TimeoutError:
                refused = _text(408, f"The body did not arrive within {self._seconds:g} s")
        if body is None:
            return  # the client is gone
        if refused is None and len(body) > MOST_BYTES:
            refused = _text(413, f"The body has more than {MOST_BYTES:,} bytes")
        if refused is None and scope["method"] == "POST":
            refused = _inconsistent(headers, body)
        if refused is not None:
            await refused(scope, receive, send)
        else:
            whole: Message = {"type": "http.request", "body": body, "more_body": False}
            await self._app(scope, replayed(whole, receive), send)

    def _refused_by_headers(self, scope: Scope, headers: Headers) -> Response | None:
        items = headers.items()
        if len(items) > _MOST_HEADERS or sum(len(name) + len(value) for name, value in items) > _MOST_HEADER_BYTES:
            return _text(431, "Too many headers, or too long ones")
        if self._host is not None:
            hosts, origins = headers.getlist("host"), headers.getlist("origin")
            if len(hosts) != 1 or not self._is_here(hosts[0]):
                return _text(421, "Invalid Host header")
            if origins and (len(origins) > 1 or not self._is_ours(origins[0])):
                return _text(403, "Invalid Origin header")
        if scope["method"] == "POST":
            kinds = [kind.partition(";")[0].strip().lower() for kind in headers.getlist("content-type")]
            if kinds != ["application/json"]:
                return _text(415, "Send Content-Type: application/json")
            length = headers.get("content-length") or ""
            if length.isdecimal() and (len(length) > 18 or int(length) > MOST_BYTES):
                return _text(413, f"The body has more than {MOST_BYTES:,} bytes")
        return None

    def _is_here(self, authority: str) -> bool:
        """Whether `authority`, a host with or without a port, names this machine."""
        parts = _AUTHORITY.fullmatch(authority)
        if parts is None or not 0 < int(parts["port"] or 80) < 65_536:
            return False
        name = (parts["ipv6"] or parts["name"]).lower()
        is_address = parts["ipv6"] is not None or name.rpartition(".")[2].isdigit()
        return name in ("localhost", self._host) or (is_address and is_loopback(name))

    def _is_ours(self, origin: str) -> bool:
        """Whether a page of `origin` comes from this machine; sandboxed pages and files have the origin `null`."""
        scheme, separator, authority = origin.partition("://")
        return separator != "" and scheme.lower() in ("http", "https") and self._is_here(authority)


async def _body(receive: Receive) -> bytes | None:
    """The body of a request, or as much of it as shows that it is too large; None if the client is gone."""
    received = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        received += message.get("body", b"")
        if len(received) > MOST_BYTES or not message.get("more_body", False):
            return bytes(received)


def _inconsistent(headers: Headers, body: bytes) -> Response | None:
    """An error response if the headers that proxies route by do not match the body.

    The `mcp` package compares them for modern revisions only, and a request may leave out its revision.
    """
    duplicated = find_duplicated_routing_header(headers.items())
    method, name = headers.get(MCP_METHOD_HEADER), headers.get(MCP_NAME_HEADER)
    revision = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    is_compared = (method is not None or name is not None) and revision in (None, *HANDSHAKE_PROTOCOL_VERSIONS)
    if not is_compared and duplicated is None:
        return None
    try:
        message: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None  # the application refuses it
    if duplicated is not None:
        request_id = as_object(message).get("id")
        return _mismatch(request_id, f"{duplicated} header appears more than once")
    if not is_object(message):
        return _mismatch(None, f"{MCP_METHOD_HEADER} and {MCP_NAME_HEADER} headers are for a single message")
    request = message
    if method is not None and method != request.get("method"):
        return _mismatch(request.get("id"), f"{MCP_METHOD_HEADER} header does not match the request body's method")
    params = request.get("params")
    key = NAME_BEARING_METHODS.get(str(request.get("method")))
    named = params.get(key) if key is not None and is_object(params) else None
    if name is not None and named is not None and decode_header_value(name) != named:
        return _mismatch(
            request.get("id"), f"{MCP_NAME_HEADER} header does not match the request body's {key!r} parameter"
        )
    return None


def _mismatch(request_id: Any, message: str) -> Response:
    identity = request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None
    error = {"code": HEADER_MISMATCH, "message": message}
    return JSONResponse({"jsonrpc": "2.0", "id": identity, "error": error}, 400)


def _text(status: int, text: str) -> Response:
    return PlainTextResponse(text, status, {"Connection": "close"})


_GRACE = 2  # seconds that requests have to end by themselves; those that listen for changes never do
_IDLE_SECONDS = 75
"""Much longer than clients keep a connection: most drop it after 5 s, which is the default here too. A server that
closes at the same moment as a client sends makes the request fail."""


def http_server(app: Any, host: str, port: int) -> uvicorn.Server:
    """A server of the ASGI application `app`."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        lifespan="on",
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE,
    )
    return uvicorn.Server(config)


def http_app(
    gateway: Gateway, *, host: str = "127.0.0.1", token: str | None = None, oauth: OAuthOptions | None = None
) -> Any:
    """An ASGI application with the gateway at `/mcp`.

    Args:
        gateway: An entered gateway.
        host: Its address; on a loopback address, requests for another host or from another origin are refused.
        token: The token that clients must send as `Authorization: Bearer ...`.
        oauth: Whose access tokens clients must send instead, and for which audience.

    Raises:
        ValueError: both a token and `oauth` are given, or the token is empty.
    """
    if token is not None and oauth is not None:
        raise ValueError("`token` and `oauth` are both given: use one of them.")
    if token is not None and not token.strip():
        raise ValueError("`token` is empty.")
    server = GatewayMCPServer(gateway)
    app = server.streamable_http_app(
        host=host,
        max_request_body_size=MOST_BYTES,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # `Door` is stricter
        custom_starlette_routes=[] if oauth is None else metadata_routes(oauth),
    )
    app.add_middleware(HttpCalls, answers=CallAnswers(server, gateway, {}))
    if token is not None:
        app.add_middleware(RequireSharedToken, token=token.strip())
    if oauth is not None:
        app.add_middleware(RequireAccessToken, options=oauth)
    app.add_middleware(Door, host=host)  # the last one added runs first
    return app
