"""Alias of `hikidashi.search.live`, where these names live now."""

from .live import LiveServers, ServerState

__all__ = ["LiveServers", "ServerState"]
