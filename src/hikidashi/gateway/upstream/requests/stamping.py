"""Capabilities and log level of the client, in each request to a server of 2026-07-28.

The `mcp` package stamps requests with the capabilities of the gateway. A server must not rely on a capability that the
client lacks, so a forwarded request is stamped with those of its client.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast, get_args

import mcp_types as types

from ....servers.messages import WatchedSends

__all__ = ["LEVELS", "Behalf", "Envelope", "on_behalf_of", "reaches", "stamp", "stamping"]

LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)

_ENVELOPE = (types.PROTOCOL_VERSION_META_KEY, types.CLIENT_INFO_META_KEY, types.CLIENT_CAPABILITIES_META_KEY)
_TASKS = "io.modelcontextprotocol/tasks"  # the gateway does not support tasks, so no server may answer with one


@dataclass(frozen=True, slots=True)
class Behalf:
    """The client on whose behalf a request is forwarded."""

    capabilities: types.ClientCapabilities | None
    log_level: types.LoggingLevel | None


def reaches(level: types.LoggingLevel, wanted: types.LoggingLevel | None) -> bool:
    """Whether `level` is at least `wanted`; None means no messages."""
    return wanted is not None and LEVELS.index(level) >= LEVELS.index(wanted)


_BEHALF: ContextVar[Behalf | None] = ContextVar("hikidashi_gateway_behalf", default=None)


@contextmanager
def on_behalf_of(client: Behalf) -> Generator[None]:
    """Stamp the requests sent in this block with the capabilities of `client`."""
    token = _BEHALF.set(client)
    try:
        yield
    finally:
        _BEHALF.reset(token)


class Envelope:
    """The `_meta` that the `mcp` package puts into each request of one connection since 2026-07-28."""

    def __init__(self) -> None:
        self.meta: dict[str, Any] | None = None
        """What it put into the last request; None before the first one, and up to 2025-11-25."""

    def seen(self, meta: dict[str, Any]) -> None:
        """Keep what all requests have in common."""
        self.meta = {key: meta[key] for key in _ENVELOPE if key in meta}


@asynccontextmanager
async def stamping(transport: AbstractAsyncContextManager[Any], envelope: Envelope) -> AsyncGenerator[tuple[Any, Any]]:
    """`transport`, with each request stamped for its client, and what the package stamps kept in `envelope`."""
    async with transport as (read, write):
        yield read, _Stamping(write, envelope)


class _Stamping(WatchedSends):
    """A stream that stamps the requests written to it."""

    def __init__(self, inner: Any, envelope: Envelope) -> None:
        super().__init__(inner)
        self._envelope = envelope

    def _sends(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            meta = (message.params or {}).get("_meta")
            # Before 2026-07-28, capabilities are declared once per connection.
            if isinstance(meta, dict) and types.CLIENT_CAPABILITIES_META_KEY in meta:
                stamped = cast("dict[str, Any]", meta)
                self._envelope.seen(stamped)
                if (client := _BEHALF.get()) is not None:
                    stamp(stamped, client)


def stamp(meta: dict[str, Any], client: Behalf) -> None:
    """Put the capabilities and the log level of `client` into the `_meta` of a request."""
    can = client.capabilities or types.ClientCapabilities()
    declared = can.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"tasks"})
    if (extensions := declared.get("extensions")) is not None:
        extensions.pop(_TASKS, None)
        if not extensions:
            del declared["extensions"]
    meta[types.CLIENT_CAPABILITIES_META_KEY] = declared
    if client.log_level is not None:
        meta[types.LOG_LEVEL_META_KEY] = client.log_level
