"""The state of a gateway and its servers as JSON values."""

from __future__ import annotations

from typing import Any

from ..tokens import estimate_tokens
from .gateway import Gateway
from .names import server_prefix
from .upstream.upstream import Upstream

__all__ = ["progress_of", "status_of"]


def status_of(gateway: Gateway) -> dict[str, Any]:
    """Each server with its state and figures, how tools are shown, and names that differ from the server's own."""
    places = gateway.merged.tool_places.items()
    return {
        "searching": gateway.searching,
        "servers": [_server(upstream) for upstream in gateway.upstreams.values()],
        "names": {
            shown: {"server": place.server, "name": place.name} for shown, place in places if shown != place.name
        },
        "shortened": sorted(
            shown for shown, place in places if shown not in (place.name, server_prefix(place.server) + place.name)
        ),
    }


def progress_of(gateway: Gateway) -> dict[str, Any]:
    """The progress of the servers that are starting; cheap enough to poll."""
    return {"servers": [_state(upstream) for upstream in gateway.upstreams.values()]}


def _state(upstream: Upstream) -> dict[str, Any]:
    state, listing = upstream.state, upstream.listing
    return {
        "name": state.name,
        "transport": upstream.given.server.transport,
        "status": state.status,
        "listed": upstream.listed.is_set(),
        "tools": 0 if listing is None else len(listing.tools),
        "reason": state.reason,
        "remedy": state.remedy,
        "last_error": state.last_error,
    }


def _server(upstream: Upstream) -> dict[str, Any]:
    state, listing = upstream.state, upstream.listing
    tools = () if listing is None else listing.tools
    return {
        **_state(upstream),
        "protocol": state.protocol,
        "tokens": sum(estimate_tokens(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in tools),
        "calls": state.calls,
        "errors": state.errors,
        "restarts": state.restarts,
        "notes": [] if listing is None else list(listing.notes),
    }
