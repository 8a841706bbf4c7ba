"""The redirect URI of a login (RFC 8252): a page on 127.0.0.1 that receives one authorization response."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs

import anyio

from ...common.loopback import Exchange, Limits, LoopbackServer
from ...common.unicode import well_formed

__all__ = ["CallbackPage"]

_PATH = "/callback"
_LIMITS = Limits(connections=16)
_POLL = 0.05  # seconds
_HEADERS = {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "connection": "close",
}


class CallbackPage(LoopbackServer):
    """Receives the response of an authorization server; requests with another `state` are refused."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port=port, limits=_LIMITS)
        self.state: str | None = None
        """The `state` that the response must have; set before the browser is redirected."""
        self._answer: dict[str, str] | None = None

    @property
    def redirect_uri(self) -> str:
        """The URL of the page."""
        return self.url + _PATH

    async def answer(self) -> dict[str, str]:
        """Wait for the parameters of the authorization response."""
        while self._answer is None:  # noqa: ASYNC110 - a thread sets it
            await anyio.sleep(_POLL)
        return self._answer

    def handle(self, exchange: Exchange) -> None:
        """Accept the authorization response, or refuse the request."""
        parameters = {name: values[0] for name, values in parse_qs(exchange.query, max_num_fields=20).items()}
        is_ours = self.state is not None and hmac.compare_digest(
            well_formed(parameters.get("state", "")).encode(), self.state.encode()
        )
        if exchange.method != "GET" or exchange.path != _PATH or not is_ours or self._answer is not None:
            exchange.answer(400, b"No login is waiting for this.\n", _HEADERS)
            return
        self._answer = parameters
        text = "The login was refused." if "error" in parameters else "You are logged in."
        exchange.answer(200, f"{text} You can close this page.\n".encode(), _HEADERS)
