"""What a gateway and each of its servers can be told."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ..search.mcp_servers import McpServer
from .names import NameStyle

__all__ = ["GatewayOptions", "GatewayServer", "SearchMode", "ServerOptions"]

SearchMode = Literal["auto", "on", "off"]
Confirm = Literal["never", "destructive"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerOptions:
    """Limits and policy of one server.

    Args:
        lazy: Connect when a tool is first called, if the tools are known from before; None is yes for processes.
        start_seconds: How long it may take to start and to list what it has.
        call_seconds: How long a call may take; progress begins it anew.
        at_once: How many calls run at the same time; more wait.
        result_characters: How long a result may be before it is cut and the rest is read with `read_result`.
        memory_mb: How much memory its processes may use together; None is no limit.
        idle_seconds: After how long without a call a process is stopped; 0 is never.
        read_only: Patterns of tools that only read, whatever their annotations say.
        confirm: Which calls a person is asked for, or patterns of tools.
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
        for name in ("start_seconds", "call_seconds", "at_once", "result_characters"):
            _check_positive(name, getattr(self, name))
        if self.memory_mb is not None:
            _check_positive("memory_mb", self.memory_mb)
        if not _is_number(self.idle_seconds) or self.idle_seconds < 0:
            raise ValueError(f"`idle_seconds` is {self.idle_seconds!r}: use a number from 0 on; 0 is never.")

    @classmethod
    def names(cls) -> frozenset[str]:
        """The names of all options."""
        return frozenset(option.name for option in fields(cls))


@dataclass(frozen=True, slots=True)
class GatewayServer:
    """A server behind the gateway: how to reach it, and what it may do."""

    server: McpServer
    options: ServerOptions = field(default_factory=ServerOptions)

    @property
    def name(self) -> str:
        """Its name."""
        return self.server.name

    @property
    def lazy(self) -> bool:
        """Whether it is connected only when it is needed."""
        return self.server.transport == "stdio" if self.options.lazy is None else self.options.lazy


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayOptions:
    """How a gateway shows its tools.

    Args:
        names: "prefixed" is `server__tool`; "plain" keeps names that only one server has.
        search: Whether tools are searched instead of listed; "auto" decides by their number and size.
        promote: Whether a found tool is listed from then on, for clients up to 2025-11-25.
        pin: Patterns of tools that are always listed.
        most_listed: With "auto", how many tools are listed at most.
        most_tokens: With "auto", how many tokens their definitions may cost.
        language: The language of what the model reads.
    """

    names: NameStyle = "prefixed"
    search: SearchMode = "auto"
    promote: bool = False
    pin: tuple[str, ...] = ()
    most_listed: int = 10
    most_tokens: int = 3_000
    language: Literal["en", "ja"] = "en"

    def __post_init__(self) -> None:
        for name, allowed in (("names", ("prefixed", "plain")), ("search", ("auto", "on", "off"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"`{name}` is {getattr(self, name)!r}: use {', '.join(map(repr, allowed))}.")


def _check_positive(name: str, value: Any) -> None:
    if not _is_number(value) or value <= 0:
        raise ValueError(f"`{name}` is {value!r}: use a number above 0.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
