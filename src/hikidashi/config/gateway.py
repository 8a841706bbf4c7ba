"""The options of the gateway (`hikidashi serve`) and of each server behind it: each is declared here, and nowhere else.

The sections of the config are these options with what only a file has; the command line is made of those fields that
say how they appear on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ..errors import ConfigError
from .rules import amount, flag, named_texts, number, one_of, one_of_on_off, patterns, text, texts
from .section import ConfigSection, on_command_line, rules_of

NameStyle = Literal["prefixed", "plain"]
SearchMode = Literal["auto", "on", "off"]
Confirm = Literal["never", "destructive"]

_CONFIRM = ("never", "destructive")
_OF_PROCESS = ("args", "env", "cwd")
_OF_ADDRESS = ("type", "headers")

LONGEST_NAME = 64 - len("mcp__hikidashi__")
"""Most characters of a name: the model APIs allow 64, and Claude Code puts our name in it in front."""
SHORTEST_LIMIT = 20
"""The least that names may be limited to: a part of the name, and a digest."""


@dataclass(frozen=True, kw_only=True)
class ServerOptions(ConfigSection):
    """Limits and policy of one server.

    Raises:
        ConfigError: a value is not allowed; it is a `ValueError` too.
    """

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
    confirm: Confirm | tuple[str, ...] = field(default="never", metadata=patterns("['delete_*']", words=_CONFIRM))
    """Which calls a person must confirm, or patterns of tools."""


@dataclass(frozen=True, kw_only=True)
class _ServerEntry(ConfigSection):
    """What a file says of a server beside its options."""

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


@dataclass(frozen=True, kw_only=True)
class ServerConfig(ServerOptions, _ServerEntry):
    """An MCP server behind the gateway: a `command` or a `url`, and its options beside them.

    `${NAME}`, `${NAME:-default}` and `${keyring:SERVICE/NAME}` are filled in when the server starts, so one that is
    missing concerns this server alone.
    """

    confirm: Confirm | tuple[str, ...] | None = field(  # pyright: ignore[reportIncompatibleVariableOverride]
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
        names = [item.name for item in fields(_ServerEntry) if item.name != "disabled"]
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return given if self.args is None else {**given, "args": list(self.args)}

    @property
    def options(self) -> ServerOptions:
        """Its options; those that were not written have their defaults."""
        given = {name: getattr(self, name) for name in rules_of(ServerOptions) if getattr(self, name) is not None}
        return ServerOptions(**given)


@dataclass(frozen=True, kw_only=True)
class GatewayOptions(ConfigSection):
    """How a gateway shows its tools.

    Raises:
        ConfigError: a value is not allowed; it is a `ValueError` too.
    """

    names: NameStyle = field(
        default="prefixed",
        metadata=one_of(NameStyle)
        | on_command_line("server__tool, or the tool's own name where it is unique.", shown_default="prefixed"),
    )
    """`server__tool`, or the tool's own name where only one server has it."""
    search: SearchMode = field(
        default="auto",
        metadata=one_of_on_off(SearchMode)
        | on_command_line("Search tools instead of listing them.", shown_default="auto"),
    )
    """Whether tools are searched instead of listed; auto decides by their number and size."""
    promote: bool = field(
        default=False,
        metadata=flag() | on_command_line("List a tool once it was found, for clients up to 2025-11-25."),
    )
    """Whether a found tool is listed from then on, for clients up to 2025-11-25."""
    pin: tuple[str, ...] = field(
        default=(),
        metadata=patterns("['files__*']")
        | on_command_line("Tools that are always listed; most-used:5 is by --record.", metavar="GLOB"),
    )
    """Patterns of tools that are always listed; `most-used` or `most-used:10` are those most called by `record`."""
    most_listed: int = field(default=10, metadata=number(0))
    """With `search: auto`, how many tools are listed at most."""
    most_tokens: int = field(default=3_000, metadata=number(0))
    """With `search: auto`, how many tokens their definitions may cost."""
    longest_name: int = LONGEST_NAME
    """Most characters of a name; the model APIs allow 64, with what the client puts in front."""

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        if self.longest_name < SHORTEST_LIMIT:
            reason = f"{self.longest_name!r} is out of range. Write a whole number of {SHORTEST_LIMIT} or more."
            raise ConfigError(type(self).__name__, reason, "longest_name")


@dataclass(frozen=True, kw_only=True)
class GatewayConfig(GatewayOptions):
    """How `hikidashi serve` shows the tools of its servers; options of the command line come first."""

    record: str | None = field(
        default=None,
        metadata=text("a file") | on_command_line("Record searches and calls, for tools report.", metavar="FILE"),
    )
    """The file that records searches and calls, relative to the config file; by default none."""
    confirm: Confirm | tuple[str, ...] = field(default="never", metadata=patterns("['delete_*']", words=_CONFIRM))
    """Which calls a person must confirm, unless a server says otherwise."""
