"""Request states that name a parked call: sealed, bound to the principal, the request and a time."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState, authenticated_principal
from mcp_types import INVALID_PARAMS

__all__ = ["Seal"]

_PREFIX = "hikidashi."


class Seal:
    """Seals and opens the states of parked calls, with AES-256-GCM.

    Args:
        keys: Secrets of at least 32 bytes; the first seals, all open. By default, a random key of this process.
        seconds: How long a state is valid.
    """

    def __init__(self, keys: Sequence[str] = (), *, seconds: float = 600.0) -> None:
        self._codec = AESGCMRequestStateCodec(list(keys) or [os.urandom(32)])
        self._instance = os.urandom(8).hex()
        self.seconds = seconds

    def is_ours(self, state: str | None) -> bool:
        """Whether a request state is that of a parked call, and not of a server."""
        return state is not None and state.startswith(_PREFIX)

    def seal(self, ctx: ServerRequestContext[Any, Any], call_id: str) -> str:
        """The request state of a parked call."""
        claims = {"i": self._instance, "c": call_id, "e": time.time() + self.seconds, "b": _binding(ctx)}
        return _PREFIX + self._codec.seal(json.dumps(claims).encode())

    def open(self, ctx: ServerRequestContext[Any, Any], state: str) -> str:
        """The id of the call that a state names.

        Raises:
            MCPError: it is expired, forged, of another request or principal, or the call is parked in another process.
        """
        try:
            claims = json.loads(self._codec.unseal(state.removeprefix(_PREFIX)))
        except (InvalidRequestState, ValueError):
            raise _refused("invalid_request_state", "Invalid or expired requestState") from None
        if claims["e"] < time.time() or claims["b"] != _binding(ctx):
            raise _refused("invalid_request_state", "Invalid or expired requestState")
        if claims["i"] != self._instance:
            raise _refused(
                "parked_elsewhere",
                "This call waits in another process of the gateway, or in one that has ended. Call the tool again, "
                "and have the balancer send the answers of one client to one process.",
            )
        return str(claims["c"])


def _refused(reason: str, message: str) -> MCPError:
    return MCPError(code=INVALID_PARAMS, message=message, data={"reason": reason})


def _binding(ctx: ServerRequestContext[Any, Any]) -> str:
    params: Mapping[str, Any] = ctx.params or {}
    request: dict[str, Any] = {
        "method": ctx.method,
        "target": params.get("name", params.get("uri")),
        "arguments": params.get("arguments") or {},
        "principal": authenticated_principal(ctx),
    }
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
