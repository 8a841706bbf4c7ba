"""The state of a server behind the gateway, and the events it causes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import mcp_types as types

if TYPE_CHECKING:
    from .upstream import Upstream

__all__ = ["ServerState", "Status", "UpstreamEvents"]

Status = Literal["waiting", "starting", "ready", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class ServerState:
    """The state of a server."""

    name: str
    status: Status = "waiting"
    reason: str = ""
    remedy: str = ""
    last_error: str = ""
    """Its last error with the remedy; kept when it works again."""
    protocol: str = ""
    calls: int = 0
    errors: int = 0
    restarts: int = 0
    since: float = field(default_factory=time.time)


class UpstreamEvents(Protocol):
    """Receives the events of a server."""

    def listing_changed(self, upstream: Upstream) -> None:
        """The listing of the server changed."""
        ...

    def state_changed(self, upstream: Upstream) -> None:
        """The state of the server changed."""
        ...

    def resource_updated(self, upstream: Upstream, uri: str) -> None:
        """A resource changed that is subscribed to."""
        ...

    async def ask(self, upstream: Upstream, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """Answer a request of the server to its client."""
        ...

    async def log(self, upstream: Upstream, params: types.LoggingMessageNotificationParams) -> None:
        """Handle a log message of the server."""
        ...
