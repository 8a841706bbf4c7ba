"""MCP servers that the API connects to: their entries in a request, and how their tools are loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Required, TypedDict, cast

from ...errors import ToolValidationError

__all__ = ["McpToolset", "defers_all", "is_mcp_toolset", "mcp_entries", "without_deferral"]


class McpToolset(TypedDict, total=False):
    """An MCP server that the API connects to, and how its tools are loaded."""

    name: Required[str]
    url: str
    """Omit it to pass `mcp_servers` yourself."""
    authorization_token: str
    default_config: dict[str, Any]
    """For all its tools; `defer_loading` depends on the variant unless given."""
    configs: dict[str, dict[str, Any]]
    """For single tools, by name on the server: `{"search_events": {"defer_loading": False}}`."""


_SERVER_FIELDS = ("authorization_token", "tool_configuration")
_TOOLSET_FIELDS = ("configs", "cache_control", "tools")
_KNOWN = ("name", "url", "default_config", *_TOOLSET_FIELDS, *_SERVER_FIELDS)


def toolset_list(toolsets: object) -> list[Any]:
    """`toolsets` as a list.

    Raises:
        ToolValidationError: it is a single toolset, or not a list.
    """
    if isinstance(toolsets, str | Mapping) or not isinstance(toolsets, Iterable):
        raise ToolValidationError(
            f"`mcp_toolsets` is a {type(cast('object', toolsets)).__name__}: use a list of toolsets."
        )
    return list(cast("Iterable[Any]", toolsets))


def mcp_entries(
    toolsets: Iterable[McpToolset | Mapping[str, Any]], *, deferred: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The `mcp_servers` entries of toolsets with a URL, and an `mcp_toolset` for each.

    Args:
        toolsets: The toolsets as given by the caller.
        deferred: The default of `defer_loading`.

    Raises:
        ToolValidationError: a toolset has no name, a name that is not unique, or unknown fields.
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
    """Whether this entry of `tools` is an MCP toolset."""
    return definition.get("type") == "mcp_toolset"


def defers_all(definition: Mapping[str, Any]) -> bool:
    """Whether this is an MCP toolset whose tools are deferred by default."""
    return bool(definition.get("default_config", {}).get("defer_loading"))


def without_deferral(toolset: dict[str, Any]) -> dict[str, Any]:
    """The same toolset with every enabled tool loaded."""
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
    fields = {field: value for field, value in cast("Mapping[str, Any]", given).items() if value is not None}
    fields.pop("type", None)
    name = fields.pop("name", None) or fields.pop("mcp_server_name", None)
    if not isinstance(name, str) or not name:  # fields by name only: one of them is a secret
        raise ToolValidationError(f"An MCP toolset needs the `name` of its server; this one has {_listed(fields)}.")
    entry: dict[str, Any] = {
        "type": "mcp_toolset",
        "mcp_server_name": name,
        "default_config": {
            "defer_loading": deferred,
            **_config(name, "default_config", fields.pop("default_config", {})),
        },
    }
    if "configs" in fields:
        configs = _config(name, "configs", fields["configs"])
        fields["configs"] = {tool: _config(name, f"configs[{tool!r}]", config) for tool, config in configs.items()}
    entry |= {field: fields.pop(field) for field in _TOOLSET_FIELDS if field in fields}
    server = {"type": "url", "name": name, "url": fields.pop("url", None)}
    server |= {field: fields.pop(field) for field in _SERVER_FIELDS if field in fields}
    if fields:
        raise ToolValidationError(f"MCP toolset {name!r} has {_listed(fields)}. Known are: {', '.join(_KNOWN)}.")
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
