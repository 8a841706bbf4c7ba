"""What a server of 2026-07-28 is told of the client behind a request: its capabilities and its level of logs.

The `mcp` package stamps each request with what the gateway can do. A server must not rely on what the client cannot,
so requests that are carried for a client say what that client can.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, cast, get_args

from ...errors import MissingExtra

try:
    import mcp_types as types
    from mcp.shared.message import SessionMessage
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["LEVELS", "Behalf", "on_behalf_of", "reaches", "stamping"]

LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)

_TASKS = "io.modelcontextprotocol/tasks"  # the gateway carries no tasks, so no server may answer with one


@dataclass(frozen=True, slots=True)
class Behalf:
    """The client that a request is carried for."""

    capabilities: types.ClientCapabilities | None
    log_level: types.LoggingLevel | None


def reaches(level: types.LoggingLevel, wanted: types.LoggingLevel | None) -> bool:
    """Whether a message of `level` is wanted by who wants them from `wanted` on."""
    return wanted is not None and LEVELS.index(level) >= LEVELS.index(wanted)


_BEHALF: ContextVar[Behalf | None] = ContextVar("hikidashi_gateway_behalf", default=None)


@contextmanager
def on_behalf_of(client: Behalf) -> Generator[None]:
    """Requests that are sent inside say what `client` can."""
    token = _BEHALF.set(client)
    try:
        yield
    finally:
        _BEHALF.reset(token)


@asynccontextmanager
async def stamping(transport: AbstractAsyncContextManager[Any]) -> AsyncGenerator[tuple[Any, Any]]:
    """`transport` with requests stamped for the client they are carried for."""
    async with transport as (read, write):
        yield read, _Stamping(write)


class _Stamping:
    """A stream that stamps what is written to it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def send(self, item: SessionMessage, /) -> None:
        client = _BEHALF.get()
        if client is not None and isinstance(item.message, types.JSONRPCRequest):
            _stamp(item.message, client)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)


def _stamp(request: types.JSONRPCRequest, client: Behalf) -> None:
    meta = (request.params or {}).get("_meta")
    if not isinstance(meta, dict) or types.CLIENT_CAPABILITIES_META_KEY not in meta:
        return  # a server before 2026-07-28 was told once, when it was connected
    stamped = cast("dict[str, Any]", meta)
    can = client.capabilities or types.ClientCapabilities()
    said = can.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"tasks"})
    if (extensions := said.get("extensions")) is not None:
        extensions.pop(_TASKS, None)
        if not extensions:
            del said["extensions"]
    stamped[types.CLIENT_CAPABILITIES_META_KEY] = said
    if client.log_level is not None:
        stamped[types.LOG_LEVEL_META_KEY] = client.log_level
