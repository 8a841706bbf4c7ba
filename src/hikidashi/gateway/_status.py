"""How a gateway and its servers are, as JSON values."""

from __future__ import annotations

from typing import Any

from ..tokens import estimate_tokens
from .gateway import Gateway

__all__ = ["status_of"]


def status_of(gateway: Gateway) -> dict[str, Any]:
    """Each server with its state, and how tools are shown."""
    servers: list[dict[str, Any]] = []
    for upstream in gateway.upstreams.values():
        state, listing = upstream.state, upstream.listing
        tools = () if listing is None else listing.tools
        servers.append(
            {
                "name": state.name,
                "transport": upstream.given.server.transport,
                "status": state.status,
                "protocol": state.protocol,
                "tools": len(tools),
                "tokens": sum(
                    estimate_tokens(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in tools
                ),
                "calls": state.calls,
                "errors": state.errors,
                "restarts": state.restarts,
                "reason": state.reason,
                "remedy": state.remedy,
                "notes": [] if listing is None else list(listing.notes),
            }
        )
    names = {
        shown: {"server": place.server, "name": place.name}
        for shown, place in gateway.merged.tool_places.items()
        if shown != place.name
    }
    return {"searching": gateway.searching, "servers": servers, "names": names}
