"""Where the browser comes back to after a login (RFC 8252): a page on 127.0.0.1 that waits for one answer."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs

from ...common.loopback import Exchange, Limits, LoopbackServer
from ...common.unicode import well_formed
from ...errors import MissingExtra

try:
    import anyio
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

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
    """Receives the answer of an authorization server; what is not an answer to the login that waits is refused."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port=port, limits=_LIMITS)
        self.state: str | None = None
        """What the answer has to carry; set before the browser is sent away."""
        self._answer: dict[str, str] | None = None

    @property
    def redirect_uri(self) -> str:
        """The address of the page."""
        return self.url + _PATH

    async def answer(self) -> dict[str, str]:
        """The parameters that the browser comes back with."""
        while self._answer is None:  # noqa: ASYNC110 - it comes from a thread
            await anyio.sleep(_POLL)
        return self._answer

    def handle(self, exchange: Exchange) -> None:
        """Take the answer, or refuse the request."""
        given = {name: values[0] for name, values in parse_qs(exchange.query, max_num_fields=20).items()}
        is_ours = self.state is not None and hmac.compare_digest(
            well_formed(given.get("state", "")).encode(), self.state.encode()
        )
        if exchange.method != "GET" or exchange.path != _PATH or not is_ours or self._answer is not None:
            exchange.answer(400, b"No login waits for this.\n", _HEADERS)
            return
        self._answer = given
        said = "The login was refused." if "error" in given else "You are logged in."
        exchange.answer(200, f"{said} You can close this page.\n".encode(), _HEADERS)
