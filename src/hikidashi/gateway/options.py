"""A server behind the gateway with its options, the policy by them, and how HTTP clients log in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult

from ..common.urls import is_loopback, split_base_url
from ..config.gateway import ServerOptions
from ..config.section import CommandOption, on_command_line
from ..servers.config import McpServer, check_server, project_folder, server_from
from ..servers.references import EntryError, References, Syntax, password

if TYPE_CHECKING:
    import mcp_types as types


@dataclass(frozen=True, slots=True)
class ServerProblem:
    """Why a server cannot be used as it is configured, and what to do."""

    reason: str
    remedy: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigEntry:
    """A server's entry as its file has it, with references such as `${NAME}`."""

    source: str
    """The file."""
    given: Mapping[str, Any] = field(repr=False)
    syntax: Syntax = field(default_factory=Syntax)
    options: frozenset[str] = frozenset()
    """The names of the options that the entry has."""
    needs_keyring: bool = False


@dataclass(frozen=True, slots=True)
class GatewayServer:
    """A server behind the gateway: how to reach it, and its limits.

    Args:
        server: How to reach it; references to the keyring are not expanded yet.
        options: Its limits and policy.
        entry: What its file says; None for a server made in code.
        problem: Why it cannot be used; it is shown with its problem, and the others are not affected.
    """

    server: McpServer
    options: ServerOptions = field(default_factory=ServerOptions)
    entry: ConfigEntry | None = field(default=None, repr=False, compare=False)
    problem: ServerProblem | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.server.name

    @property
    def lazy(self) -> bool:
        """Whether it is connected only when it is needed."""
        return self.server.transport == "stdio" if self.options.lazy is None else self.options.lazy

    @property
    def needs_keyring(self) -> bool:
        """Whether it has references to the keyring."""
        return self.entry is not None and self.entry.needs_keyring

    def checked(self) -> GatewayServer:
        """The same server, with its problem where a value can be given to no process and be sent in no request."""
        if self.problem is not None:
            return self
        try:
            check_server(self.server)
        except EntryError as error:
            return replace(self, problem=ServerProblem(f"it {error.reason}", error.remedy))
        return self

    def with_passwords(self) -> McpServer:
        """How to reach it, with its references to the keyring expanded; may wait for the keyring to be unlocked.

        Raises:
            EntryError: a password is missing.
        """
        if self.entry is None or not self.entry.needs_keyring:
            return self.server
        folder = project_folder(Path(self.entry.source))
        references = References(keyring=password, syntax=self.entry.syntax, folder=folder)
        return replace(server_from(self.name, self.entry.given, references), cwd=self.server.cwd)


def _option(name: str, said: str, metavar: str, shown_default: str | bool = False) -> dict[str, CommandOption]:
    variable = f"HIKIDASHI_OAUTH_{name.upper()}"
    flag = f"--oauth-{name}"
    return on_command_line(said, flag=flag, metavar=metavar, shown_default=shown_default, variable=variable)


_SCOPE = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]+")  # scope-token of RFC 6749


@dataclass(frozen=True, kw_only=True, slots=True)
class OAuthOptions:
    """The gateway as an OAuth 2.1 resource server: clients send JWT access tokens of one issuer.

    Raises:
        ValueError: a URL is not https (http is for loopback addresses), or a value is invalid.
    """

    issuer: str = field(
        metadata=_option("issuer", "Authorization server whose access tokens (JWT) HTTP clients must send.", "URL")
    )
    """URL of the authorization server; `iss` of a token must be exactly this."""
    audience: str = field(
        metadata=_option("audience", "What these tokens must be for, such as the public URL of the gateway.", "AUD")
    )
    """What tokens must be meant for (`aud`); by RFC 8707 the public URL of the gateway."""
    jwks_url: str | None = field(
        default=None, metadata=_option("jwks", "The keys of the issuer.", "URL", "as its metadata says")
    )
    """Where the issuer publishes its keys; by default its metadata says so (RFC 8414, OpenID Connect)."""
    scopes: tuple[str, ...] = field(
        default=(), metadata=_option("scope", "A scope that tokens must have; repeatable.", "SCOPE")
    )
    """Scopes that a token must have."""
    resource: str | None = field(
        default=None,
        metadata=_option("resource", "The public URL of the gateway.", "URL", "the audience, if it is a URL"),
    )
    """The public URL of the gateway, for the protected resource metadata (RFC 9728); by default the audience, if it is
    a URL, or else the URL that a client asked for."""

    def __post_init__(self) -> None:
        _check_url("issuer", self.issuer, query=False)
        if not self.audience or self.audience != self.audience.strip():
            raise ValueError(f"`audience` is {self.audience!r}: use the value that tokens have in `aud`.")
        if self.jwks_url is not None:
            _check_url("jwks_url", self.jwks_url)
        if self.resource is not None:
            _check_url("resource", self.resource)
        for scope in self.scopes:
            if not _SCOPE.fullmatch(scope):
                raise ValueError(f"`scopes` has {scope!r}: use one word for each scope.")

    @property
    def resource_url(self) -> str | None:
        """The public URL of the gateway, where it is known."""
        if self.resource is not None:
            return self.resource
        try:
            split_base_url(self.audience)
        except ValueError:
            return None
        return self.audience


def _check_url(name: str, url: str, *, query: bool = True) -> None:
    try:
        parts = split_base_url(url)
    except ValueError as error:
        raise ValueError(f"`{name}` {error}.") from error
    if problem := _problem(parts, query=query):
        raise ValueError(f"`{name}` {problem}.")


def _problem(parts: SplitResult, *, query: bool) -> str | None:
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        return f"is {parts.geturl()!r}: use https, as others could read and change what http carries"
    if parts.username is not None or parts.password is not None:
        return "has a name or a password in it: leave them out"
    if parts.fragment or (parts.query and not query):
        return f"is {parts.geturl()!r}: leave out what follows the path"
    return None


def is_read_only(tool: types.Tool, options: ServerOptions) -> bool:
    """Whether a tool is read-only, by the `read_only` option or by its annotations."""
    if matches(tool.name, options.read_only):
        return True
    return tool.annotations is not None and tool.annotations.read_only_hint is True


def is_repeatable(tool: types.Tool, options: ServerOptions) -> bool:
    """Whether a call may be repeated: the tool is read-only or idempotent."""
    return is_read_only(tool, options) or (tool.annotations is not None and tool.annotations.idempotent_hint is True)


def needs_confirmation(tool: types.Tool, options: ServerOptions) -> bool:
    """Whether a person must confirm a call of the tool."""
    if isinstance(options.confirm, tuple):
        return matches(tool.name, options.confirm)
    if options.confirm == "never" or is_read_only(tool, options):
        return False
    return tool.annotations is None or tool.annotations.destructive_hint is not False


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether `name` matches one of the glob `patterns` (`*`, `?`, `[…]`)."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
