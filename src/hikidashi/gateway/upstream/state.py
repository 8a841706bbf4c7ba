"""How a server behind the gateway is, and who is told of what happens there."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from ...errors import MissingExtra

try:
    import mcp_types as types
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

if TYPE_CHECKING:
    from .upstream import Upstream

__all__ = ["ServerState", "Status", "UpstreamEvents"]

Status = Literal["waiting", "starting", "ready", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class ServerState:
    """How a server is."""

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
    """Told of what happens at a server."""

    def listing_changed(self, upstream: Upstream) -> None:
        """The server lists something else than before."""
        ...

    def state_changed(self, upstream: Upstream) -> None:
        """The server is in another state."""
        ...

    def resource_updated(self, upstream: Upstream, uri: str) -> None:
        """A resource that was subscribed to has changed."""
        ...

    async def ask(self, upstream: Upstream, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """The server asks a client something."""
        ...

    async def log(self, upstream: Upstream, params: types.LoggingMessageNotificationParams) -> None:
        """The server has a message for the log."""
        ...
