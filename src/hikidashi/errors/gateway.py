"""Errors of the gateway."""

from __future__ import annotations

from ._base import HikidashiError


class ServerUnavailableError(HikidashiError, ConnectionError):
    """A server behind the gateway cannot be reached: `reason` says why, `remedy` what to do."""

    def __init__(self, server: str, reason: str, remedy: str = "") -> None:
        super().__init__(server, reason, remedy)
        self.server = server
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        message = f"The MCP server {self.server!r} cannot be reached: {self.reason.rstrip('.')}."
        return f"{message} {self.remedy}" if self.remedy else message


class LoginError(ServerUnavailableError):
    """A person could not log in to a server behind the gateway: `reason` says why, `remedy` what to do."""

    def __str__(self) -> str:
        message = f"The login to the MCP server {self.server!r} failed: {self.reason.rstrip('.')}."
        return f"{message} {self.remedy}" if self.remedy else message
