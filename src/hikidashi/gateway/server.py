"""The MCP server that clients connect to: its capabilities, sessions and request handlers."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any

import anyio
import mcp_types as types
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.models import InitializationOptions
from mcp.server.stdio import stdio_server

from .. import __version__
from .callers import CONNECTION, client_key
from .gateway import Gateway
from .resources import PromptHandlers, ResourceHandlers
from .telemetry import RequestSpans
from .tool_calls import ToolHandlers

_FORGET_SECONDS = 5.0

_Context = ServerRequestContext[Any, Any]
_STATE: ContextVar[dict[str, str] | None] = ContextVar("hikidashi_gateway_connection", default=None)


class GatewayMCPServer(Server[Any]):
    """The server side of a gateway, for clients of any revision."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        tools, resources, prompts = ToolHandlers(gateway), ResourceHandlers(gateway), PromptHandlers(gateway)
        self._resources = resources
        # Raw results pass unchanged, which the types of these handlers do not allow for.
        raw: dict[str, Any] = {
            "on_call_tool": tools.call_tool,
            "on_read_resource": resources.read,
            "on_get_prompt": prompts.get_prompt,
            "on_completion": prompts.complete,
        }
        super().__init__(
            "hikidashi",
            version=__version__,
            title="hikidashi",
            on_list_tools=tools.list_tools,
            on_list_resources=resources.list_resources,
            on_list_resource_templates=resources.list_templates,
            on_subscribe_resource=resources.subscribe,
            on_unsubscribe_resource=resources.unsubscribe,
            on_subscriptions_listen=resources.listen,
            on_list_prompts=prompts.list_prompts,
            lifespan=lambda _: self._connection(),
            **raw,
        )
        self.middleware[:] = [RequestSpans()]
        # Not in the constructor, which warns of what modern revisions deprecate: older clients use it.
        self.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        self.add_notification_handler("notifications/initialized", types.NotificationParams, self._initialized)
        self.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, self._roots_changed)

    @property
    def instructions(self) -> str | None:
        """The current instructions for clients."""
        return self._gateway.instructions or None

    @instructions.setter
    def instructions(self, value: str | None) -> None:
        """Ignored: the constructor of the base class sets it."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """As in the base class, with `listChanged` declared for every list."""
        return super().create_initialization_options(
            notification_options or NotificationOptions(True, True, True), experimental_capabilities, extensions
        )

    async def _initialized(self, ctx: _Context, _: types.NotificationParams) -> None:
        self._gateway.remember_client(ctx)

    async def _roots_changed(self, _: _Context, __: types.NotificationParams) -> None:
        for upstream in self._gateway.upstreams.values():
            await upstream.roots_changed()

    async def _set_level(self, ctx: _Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        self._gateway.forwarder.levels.set(client_key(ctx), params.level)
        async with anyio.create_task_group() as tasks:
            for upstream in self._gateway.upstreams.values():
                tasks.start_soon(upstream.set_level, params.level)
        return types.EmptyResult()

    @contextmanager
    def connection(self) -> Generator[dict[str, str]]:
        """The lifespan context of the connection that `run` serves in this block."""
        state = {CONNECTION: _new_client()}
        token = _STATE.set(state)
        try:
            yield state
        finally:
            _STATE.reset(token)

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[dict[str, str]]:
        """A connection over pipes or a socket, or all of them over HTTP."""
        state = _STATE.get() or {CONNECTION: _new_client()}
        client = state[CONNECTION]
        try:
            yield state
        finally:
            self._gateway.sessions.pop(client, None)
            with anyio.CancelScope(shield=True), anyio.move_on_after(_FORGET_SECONDS):
                await self._resources.forget(client)


def _new_client() -> str:
    return f"connection {secrets.token_hex(8)}"


async def serve_stdio(gateway: Gateway) -> None:
    """Speak MCP on standard input and output until the client closes them."""
    server = GatewayMCPServer(gateway)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
