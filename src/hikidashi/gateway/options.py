"""Options of a gateway, of each server behind it and of its HTTP clients."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import SplitResult

from ..common.urls import is_loopback, split_base_url
from ..servers.config import McpServer, check_server, project_folder, server_from
from ..servers.references import EntryError, References, Syntax, password
from .names import LONGEST_NAME, SHORTEST_LIMIT, NameStyle

if TYPE_CHECKING:
    import mcp_types as types

__all__ = [
    "ConfigEntry",
    "Confirm",
    "GatewayOptions",
    "GatewayServer",
    "OAuthOptions",
    "SearchMode",
    "ServerOptions",
    "ServerProblem",
    "is_read_only",
    "is_repeatable",
    "matches",
    "needs_confirmation",
]


SearchMode = Literal["auto", "on", "off"]
Confirm = Literal["never", "destructive"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerOptions:
    """Limits and policy of one server.

    Args:
        lazy: Connect when a tool is first called, if the tools are known from before; None means True for processes.
        start_seconds: How long it may take to start and to list what it has.
        call_seconds: How long a call may take; progress restarts the limit.
        at_once: How many calls run at the same time; more wait.
        result_characters: How long a result may be before it is cut and the rest is read with `read_result`.
            Images, sounds and files may have 150 times as many characters of base64.
        memory_mb: How much memory its processes may use together; None means no limit.
        idle_seconds: After how long without a call a process is stopped; 0 means never.
        read_only: Patterns of tools that only read, whatever their annotations say.
        confirm: Which calls a person must confirm, or patterns of tools.

    Raises:
        ValueError: a value is not allowed.
    """

    lazy: bool | None = None
    start_seconds: float = 30.0
    call_seconds: float = 300.0
    at_once: int = 16
    result_characters: int = 100_000
    memory_mb: int | None = None
    idle_seconds: float = 900.0
    read_only: tuple[str, ...] = ()
    confirm: Confirm | tuple[str, ...] = "never"

    def __post_init__(self) -> None:
        for name in ("start_seconds", "call_seconds"):
            _check_positive(name, getattr(self, name))
        for name in ("at_once", "result_characters", "memory_mb"):
            if name != "memory_mb" or self.memory_mb is not None:
                _check_positive(name, getattr(self, name), whole=True)
        if not _is_number(self.idle_seconds) or self.idle_seconds < 0:
            raise ValueError(f"`idle_seconds` is {self.idle_seconds!r}: use a number from 0 on; 0 is never.")
        if self.lazy is not None and not isinstance(cast("Any", self.lazy), bool):
            raise ValueError(f"`lazy` is {self.lazy!r}: use true or false.")
        _check_patterns("read_only", self.read_only)
        if self.confirm not in ("never", "destructive"):
            _check_patterns("confirm", self.confirm, ' or "never", "destructive"')

    @classmethod
    def names(cls) -> frozenset[str]:
        """The names of all options."""
        return frozenset(option.name for option in fields(cls))


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


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayOptions:
    """How a gateway shows its tools.

    Args:
        names: "prefixed" is `server__tool`; "plain" keeps names that only one server has.
        search: Whether tools are searched instead of listed; "auto" decides by their number and size.
        promote: Whether a found tool is listed from then on, for clients up to 2025-11-25.
        pin: Patterns of tools that are always listed; "most-used" and "most-used:10" are those most called by the
            records at the start.
        most_listed: With "auto", how many tools are listed at most.
        most_tokens: With "auto", how many tokens their definitions may cost.
        longest_name: Most characters of a name; the model APIs allow 64, with what the client puts in front.

    Raises:
        ValueError: a value is not allowed.
    """

    names: NameStyle = "prefixed"
    search: SearchMode = "auto"
    promote: bool = False
    pin: tuple[str, ...] = ()
    most_listed: int = 10
    most_tokens: int = 3_000
    longest_name: int = LONGEST_NAME

    def __post_init__(self) -> None:
        choices = (("names", ("prefixed", "plain")), ("search", ("auto", "on", "off")))
        for name, allowed in choices:
            if getattr(self, name) not in allowed:
                raise ValueError(f"`{name}` is {getattr(self, name)!r}: use {', '.join(map(repr, allowed))}.")
        _check_patterns("pin", self.pin)
        if self.longest_name < SHORTEST_LIMIT:
            raise ValueError(f"`longest_name` is {self.longest_name!r}: use a number from {SHORTEST_LIMIT} on.")


def _check_positive(name: str, value: Any, *, whole: bool = False) -> None:
    if not _is_number(value) or value <= 0 or (whole and value != int(value)):
        raise ValueError(f"`{name}` is {value!r}: use a {'whole ' if whole else ''}number above 0.")


def _check_patterns(name: str, value: Any, more: str = "") -> None:
    if not isinstance(value, tuple) or not all(isinstance(one, str) and one for one in cast("tuple[Any]", value)):
        raise ValueError(f'`{name}` is {value!r}: use a list of patterns such as ["get_*"]{more}.')


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_SCOPE = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]+")  # scope-token of RFC 6749


@dataclass(frozen=True, kw_only=True, slots=True)
class OAuthOptions:
    """The gateway as an OAuth 2.1 resource server: clients send JWT access tokens of one issuer.

    Args:
        issuer: URL of the authorization server; `iss` of a token must be exactly this.
        audience: What tokens must be meant for (`aud`); by RFC 8707 the public URL of the gateway.
        jwks_url: Where the issuer publishes its keys; by default its metadata says so (RFC 8414, OpenID Connect).
        scopes: Scopes that a token must have.
        resource: The public URL of the gateway, for the protected resource metadata (RFC 9728); by default the
            audience, if it is a URL, or else the URL that a client asked for.

    Raises:
        ValueError: a URL is not https (http is for loopback addresses), or a value is invalid.
    """

    issuer: str
    audience: str
    jwks_url: str | None = None
    scopes: tuple[str, ...] = ()
    resource: str | None = None

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
