"""MCP servers that the API itself connects to: what a request says of them and of the loading of their tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Required, TypedDict, cast

from ...errors import ToolValidationError

__all__ = ["McpToolset", "defers_all", "is_mcp_toolset", "mcp_entries", "without_deferral"]


class McpToolset(TypedDict, total=False):
    """An MCP server that the API connects to, and how its tools are loaded."""

    name: Required[str]
    url: str
    """Left out where the caller sends `mcp_servers` himself."""
    authorization_token: str
    default_config: dict[str, Any]
    """For all its tools; says whether they are deferred, which otherwise the variant decides."""
    configs: dict[str, dict[str, Any]]
    """For single tools, by their names on the server: `{"search_events": {"defer_loading": False}}`."""


_SERVER_FIELDS = ("authorization_token", "tool_configuration")
_TOOLSET_FIELDS = ("configs", "cache_control", "tools")
_KNOWN = ("name", "url", "default_config", *_TOOLSET_FIELDS, *_SERVER_FIELDS)


def mcp_entries(
    toolsets: Iterable[McpToolset | Mapping[str, Any]], *, deferred: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The entries of `mcp_servers` for those that have an address, and an `mcp_toolset` for each.

    Args:
        toolsets: What the caller says of them.
        deferred: Whether their tools are deferred where the caller does not say.

    Raises:
        ToolValidationError: one lacks its name, has that of another, or says what the API does not know.
    """
    servers: list[dict[str, Any]] = []
    entries: dict[str, dict[str, Any]] = {}
    for given in toolsets:
        server, entry = _entry(given, deferred=deferred)
        name = entry["mcp_server_name"]
        if name in entries:
            raise ToolValidationError(f"Two MCP toolsets are for the server {name!r}. Put their `configs` into one.")
        entries[name] = entry
        if server is not None:
            servers.append(server)
    return servers, list(entries.values())


def is_mcp_toolset(definition: Mapping[str, Any]) -> bool:
    """Whether this entry of `tools` stands for all tools of an MCP server."""
    return definition.get("type") == "mcp_toolset"


def defers_all(definition: Mapping[str, Any]) -> bool:
    """Whether this is an MCP toolset of which nothing need be loaded."""
    return bool(definition.get("default_config", {}).get("defer_loading"))


def without_deferral(toolset: dict[str, Any]) -> dict[str, Any]:
    """The same toolset, of which every tool that is enabled is loaded."""
    configs = {tool: _loaded(config) for tool, config in toolset.get("configs", {}).items()}
    kept = {"configs": configs} if configs else {}
    return {**toolset, "default_config": _loaded(toolset["default_config"]), **kept}


def _loaded(config: Mapping[str, Any]) -> dict[str, Any]:
    return {**config, "defer_loading": False}


def _entry(given: object, *, deferred: bool) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    if not isinstance(given, Mapping):
        raise ToolValidationError(
            f'An MCP toolset is a dict such as {{"name": "db", "url": "https://…"}}, got {given!r}.'
        )
    told = {field: value for field, value in cast("Mapping[str, Any]", given).items() if value is not None}
    told.pop("type", None)
    name = told.pop("name", None) or told.pop("mcp_server_name", None)
    if not isinstance(name, str) or not name:  # fields by name only: one of them is a secret
        raise ToolValidationError(f"An MCP toolset needs the `name` of its server; this one has {_listed(told)}.")
    entry: dict[str, Any] = {
        "type": "mcp_toolset",
        "mcp_server_name": name,
        "default_config": {
            "defer_loading": deferred,
            **_config(name, "default_config", told.pop("default_config", {})),
        },
    }
    if "configs" in told:
        configs = _config(name, "configs", told["configs"])
        told["configs"] = {tool: _config(name, f"configs[{tool!r}]", config) for tool, config in configs.items()}
    entry |= {field: told.pop(field) for field in _TOOLSET_FIELDS if field in told}
    server = {"type": "url", "name": name, "url": told.pop("url", None)}
    server |= {field: told.pop(field) for field in _SERVER_FIELDS if field in told}
    if told:
        raise ToolValidationError(f"MCP toolset {name!r} has {_listed(told)}. Known are: {', '.join(_KNOWN)}.")
    if server["url"] is not None:
        return server, entry
    if lost := [field for field in _SERVER_FIELDS if field in server]:
        raise ToolValidationError(
            f"MCP toolset {name!r} has {_listed(lost)} but no `url` to use it with. Add the `url`."
        )
    return None, entry


def _config(server: str, field: str, value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    raise ToolValidationError(f"`{field}` of MCP toolset {server!r} is {value!r}, not a dict.")


def _listed(fields: Iterable[str]) -> str:
    return ", ".join(map(repr, fields)) or "nothing"
