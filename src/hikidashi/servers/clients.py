"""The MCP clients we know: one row for each, with the location and format of its files."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

ClientName = Literal[
    "claude-desktop",
    "claude-code",
    "claude-code-project",
    "cursor",
    "vscode",
    "windsurf",
    "codex",
    "gemini",
    "zed",
]
Format = Literal["json", "jsonc", "toml"]
System = Literal["linux", "darwin", "win32"]


def _system() -> System:
    return "win32" if sys.platform == "win32" else "darwin" if sys.platform == "darwin" else "linux"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where files are: the system, the environment, the home and the project folder."""

    system: System = field(default_factory=_system)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    home: Path = field(default_factory=Path.home)
    project: Path = field(default_factory=Path.cwd)

    def folder(self, kind: str) -> Path:
        """The folder that `kind` names: `home`, `project`, `config` (per application), or a variable with a default.

        `NAME|~/below` is the folder in the variable NAME, or the one below the home folder.
        """
        if kind == "home":
            return self.home
        if kind == "project":
            return self.project
        if kind == "config":
            match self.system:
                case "win32":
                    return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
                case "darwin":
                    return self.home / "Library" / "Application Support"
                case _:
                    return self.folder("XDG_CONFIG_HOME|~/.config")
        name, _, default = kind.partition("|")
        return Path(self.environ.get(name) or self.home / default.removeprefix("~/"))


@dataclass(frozen=True)
class Place:
    """A file that may have servers."""

    folder: str
    """A kind of folder, as `Machine.folder` knows it."""
    path: str
    key: tuple[str, ...]
    """Where in the file the servers are."""
    systems: tuple[System, ...] = ("linux", "darwin", "win32")

    def file(self, machine: Machine) -> Path:
        """The file on this machine."""
        return machine.folder(self.folder) / self.path

    @property
    def of_project(self) -> bool:
        """Whether it belongs to the project folder."""
        return self.folder == "project"


@dataclass(frozen=True, kw_only=True)
class Client:
    """An MCP client."""

    name: ClientName
    title: str
    format: Format
    places: tuple[Place, ...]
    """The first that fits the system is where our entry goes; all are searched."""
    settings: Place | None = None
    """Where Claude Code keeps its permission rules and hooks."""
    after: str = "Restart it to see the tools."
    """What makes the client read the file again."""

    def main(self, machine: Machine) -> Place:
        """Where our entry goes."""
        return self.on(machine)[0]

    def on(self, machine: Machine) -> tuple[Place, ...]:
        """The files on this system."""
        return tuple(place for place in self.places if machine.system in place.systems)


_SERVERS = ("mcpServers",)
_NEW_SESSION = "Start a new session to see the tools."

CLIENTS: tuple[Client, ...] = (
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        format="json",
        places=(Place("config", "Claude/claude_desktop_config.json", _SERVERS),),
    ),
    Client(
        name="claude-code",
        title="Claude Code",
        format="json",
        places=(Place("CLAUDE_CONFIG_DIR|~/", ".claude.json", _SERVERS),),
        settings=Place("CLAUDE_CONFIG_DIR|~/.claude", "settings.json", ()),
        after=_NEW_SESSION,
    ),
    Client(
        name="claude-code-project",
        title="Claude Code (project)",
        format="json",
        places=(Place("project", ".mcp.json", _SERVERS),),
        settings=Place("project", ".claude/settings.local.json", ()),
        after=_NEW_SESSION,
    ),
    Client(
        name="cursor",
        title="Cursor",
        format="jsonc",
        places=(Place("home", ".cursor/mcp.json", _SERVERS), Place("project", ".cursor/mcp.json", _SERVERS)),
    ),
    Client(
        name="vscode",
        title="VS Code",
        format="jsonc",
        places=(
            Place("config", "Code/User/mcp.json", ("servers",)),
            Place("config", "Code/User/settings.json", ("mcp", "servers")),
            Place("project", ".vscode/mcp.json", ("servers",)),
        ),
        after="Run `MCP: List Servers` in it to start the server.",
    ),
    Client(
        name="windsurf",
        title="Windsurf",
        format="jsonc",
        places=(Place("home", ".codeium/windsurf/mcp_config.json", _SERVERS),),
        after="Press Refresh in Cascade to see the tools.",
    ),
    Client(
        name="codex",
        title="Codex",
        format="toml",
        places=(
            Place("CODEX_HOME|~/.codex", "config.toml", ("mcp_servers",)),
            Place("project", ".codex/config.toml", ("mcp_servers",)),
        ),
        after=_NEW_SESSION,
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        format="jsonc",
        places=(
            Place("GEMINI_CLI_HOME|~/", ".gemini/settings.json", _SERVERS),
            Place("project", ".gemini/settings.json", _SERVERS),
        ),
        after=_NEW_SESSION,
    ),
    Client(
        name="zed",
        title="Zed",
        format="jsonc",
        places=(
            Place("config", "Zed/settings.json", ("context_servers",), ("win32",)),
            Place("XDG_CONFIG_HOME|~/.config", "zed/settings.json", ("context_servers",), ("linux", "darwin")),
            Place("project", ".zed/settings.json", ("context_servers",)),
        ),
        after="It reads the file as it is saved.",
    ),
)


def client_named(name: str) -> Client:
    """The client `name`."""
    return next(client for client in CLIENTS if client.name == name)
