"""`_meta` across the gateway: keys of a single hop are removed, the rest passes unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import mcp_types as types

from ..telemetry import has_trace

__all__ = ["passed_on", "without_hop_keys"]

_RESERVED = "io.modelcontextprotocol/"
_OF_ONE_HOP = frozenset({"progressToken"})
_TRACE = ("traceparent", "tracestate")


def passed_on(meta: Mapping[str, Any] | None) -> types.RequestParamsMeta | None:
    """The metadata of a client's request, for the server."""
    kept = without_hop_keys(meta)
    if has_trace():  # the request to the server gets the context of its own span
        for key in _TRACE:
            kept.pop(key, None)
    return cast("types.RequestParamsMeta", kept) or None


def without_hop_keys(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """`meta` without the keys that the `mcp` package sets on each hop."""
    return {
        key: value for key, value in (meta or {}).items() if not key.startswith(_RESERVED) and key not in _OF_ONE_HOP
    }
