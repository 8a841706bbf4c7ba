"""The sections of the gateway (`hikidashi serve`): its MCP servers, and how it shows their tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ._rules import amount, flag, named_texts, number, one_of, one_of_on_off, patterns, text, texts
from .section import Section

__all__ = ["GatewayConfig", "ServerConfig"]

_CONFIRM = ("never", "destructive")
_ENTRY = ("command", "args", "env", "cwd", "url", "type", "headers")
_OF_PROCESS = ("args", "env", "cwd")
_OF_ADDRESS = ("type", "headers")


@dataclass(frozen=True, kw_only=True)
class ServerConfig(Section):
    """An MCP server behind the gateway: a `command` or a `url`, and its options beside them.

    `${NAME}`, `${NAME:-default}` and `${keyring:SERVICE/NAME}` are filled in when the server starts, so one that is
    missing concerns this server alone.
    """

    command: str | None = field(default=None, metadata=text("the program to start", raw=True))
    """The program to start, which speaks MCP over stdio."""
    args: tuple[str, ...] | None = field(default=None, metadata=texts("[-y, some-server]"))
    """Its arguments."""
    env: Mapping[str, str] | None = field(default=None, repr=False, metadata=named_texts("{API_KEY: '${API_KEY}'}"))
    """Environment variables for it."""
    cwd: str | None = field(default=None, metadata=text("a folder", raw=True))
    """Its working folder, relative to the folder of the config file, which is also the default."""
    url: str | None = field(default=None, repr=False, metadata=text("an address", raw=True))
    """The address of a server that runs elsewhere."""
    type: Literal["http", "sse"] | None = field(default=None, metadata=one_of(Literal["http", "sse"]))
    """How to talk to the address: streamable HTTP by default, or SSE for old servers."""
    headers: Mapping[str, str] | None = field(
        default=None, repr=False, metadata=named_texts("{Authorization: 'Bearer ${TOKEN}'}")
    )
    """HTTP headers for the address."""
    disabled: bool = field(default=False, metadata=flag())
    """Whether the server is left out."""
    lazy: bool | None = field(default=None, metadata=flag())
    """Whether it is connected when a tool is first called, if its tools are known from before; true for processes."""
    start_seconds: float = field(default=30.0, metadata=amount())
    """How long it may take to start and to list what it has."""
    call_seconds: float = field(default=300.0, metadata=amount())
    """How long a call may take; progress restarts the limit."""
    at_once: int = field(default=16, metadata=number(1))
    """How many calls run at the same time; more wait."""
    result_characters: int = field(default=100_000, metadata=number(1))
    """How long a result may be before it is cut and the rest is read with `read_result`."""
    memory_mb: int | None = field(default=None, metadata=number(1))
    """How much memory its processes may use together; no limit by default."""
    idle_seconds: float = field(default=900.0, metadata=amount(zero=True, note=" (0 is never)"))
    """After how long without a call a process is stopped; 0 is never."""
    read_only: tuple[str, ...] = field(default=(), metadata=patterns("['get_*', 'list_*']"))
    """Patterns of tools that only read, whatever their annotations say."""
    confirm: Literal["never", "destructive"] | tuple[str, ...] | None = field(
        default=None, metadata=patterns("['delete_*']", words=_CONFIRM)
    )
    """Which calls a person must confirm, or patterns of tools; by default as `gateway.confirm`."""

    @classmethod
    def conflicts(cls, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """A server is a process or an address, and has the keys of that kind."""
        command, url = given.get("command"), given.get("url")
        if command and url:
            yield "url", "does not go with `command`. Keep one of them."
        elif not command and not url:
            yield "command", "is missing. Write `command` with `args` and `env`, or `url` with `headers`."
        else:
            for key in _OF_ADDRESS if command else _OF_PROCESS:
                if given.get(key) is not None:
                    yield key, f"does not go with `{'command' if command else 'url'}`. Leave it out."

    @property
    def entry(self) -> dict[str, Any]:
        """How to reach it, in the form of an entry of `.mcp.json`."""
        given = {key: getattr(self, key) for key in _ENTRY if getattr(self, key) is not None}
        return given if self.args is None else {**given, "args": list(self.args)}

    @property
    def options(self) -> dict[str, Any]:
        """Its options that were written, or have a default."""
        names = [item.name for item in fields(self) if item.name not in (*_ENTRY, "disabled")]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True, kw_only=True)
class GatewayConfig(Section):
    """How `hikidashi serve` shows the tools of its servers; options of the command line come first."""

    names: Literal["prefixed", "plain"] = field(default="prefixed", metadata=one_of(Literal["prefixed", "plain"]))
    """`server__tool`, or the tool's own name where only one server has it."""
    search: Literal["auto", "on", "off"] = field(default="auto", metadata=one_of_on_off(Literal["auto", "on", "off"]))
    """Whether tools are searched instead of listed; auto decides by their number and size."""
    promote: bool = field(default=False, metadata=flag())
    """Whether a found tool is listed from then on, for clients up to 2025-11-25."""
    pin: tuple[str, ...] = field(default=(), metadata=patterns("['files__*']"))
    """Patterns of tools that are always listed; `most-used` or `most-used:10` are those most called by `record`."""
    record: str | None = field(default=None, metadata=text("a file"))
    """The file that records searches and calls, relative to the config file; by default none."""
    most_listed: int = field(default=10, metadata=number(0))
    """With `search: auto`, how many tools are listed at most."""
    most_tokens: int = field(default=3_000, metadata=number(0))
    """With `search: auto`, how many tokens their definitions may cost."""
    confirm: Literal["never", "destructive"] | tuple[str, ...] = field(
        default="never", metadata=patterns("['delete_*']", words=_CONFIRM)
    )
    """Which calls a person must confirm, unless a server says otherwise."""
