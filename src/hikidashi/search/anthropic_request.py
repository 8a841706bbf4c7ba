"""Requests to the Messages API with its own tool search.

Needs no package: `client.beta.messages.create(**to_anthropic_search(tools, model=model), model=model, ...)`,
then `tool_searches(message)` gives the searches and their results. `run_anthropic_search` also calls the tools, and
searches on our side instead of on the server.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, Required, TypedDict, get_args

from ..common.json import is_iterable, is_mapping, type_name
from ..convert.anthropic import to_anthropic
from ..convert.wire import WireNames, listed, root_schema
from ..errors import ToolSearchError, ToolValidationError, Unsupported
from ..tokens import estimate_tokens
from ..tool import Tool
from .answers import SEARCH_TOOLS
from .anthropic_blocks import NAME_OF, TYPE_OF, Variant
from .catalog import MAX_QUERY, MAX_TOOLS
from .engine.entry import entry_of
from .options import CheckedOptions, check_choice, names_in, search_options
from .search_tools import reporting_lost_connections

logger = logging.getLogger("hikidashi")


def to_anthropic_search(
    tools: Iterable[Any],
    *,
    variant: Variant = "regex",
    provider: Provider = "anthropic",
    model: str | None = None,
    always_loaded: Collection[str] = (),
    usage: Mapping[str, int] | None = None,
    mcp_toolsets: Iterable[McpToolset | Mapping[str, Any]] = (),
    betas: Literal["auto", "off"] | Sequence[str] = "auto",
    force: bool = False,
) -> dict[str, Any]:
    """Arguments for `client.beta.messages.create(**...)`: `tools`, and `betas` and `mcp_servers` if there are any.

    The search tool comes first and is never deferred; the others follow in the order given, deferred except those to
    keep loaded. Where search is not worth it (see `worth_it`), or every tool is kept loaded, the tools are not deferred
    and the reason is logged; an MCP toolset always counts as large, since only its server knows how many tools it has.

    The same arguments give the same bytes, as the prompt cache requires: read `usage` once per conversation, not once
    per turn. The API refuses a `cache_control` on a deferred tool; it is moved to the last loaded tool, where it
    covers the same prefix, as deferred tools are not part of the cache.

    Args:
        tools: Anything `ToolCatalog` accepts, or a `ToolCatalog`, and server tools of the API. Aliases and tags, which
            the API refuses, are left out.
        variant: "regex" and "bm25" search on the server. With "client" the search tool is an ordinary one that you
            answer with `reference_blocks`, as `run_anthropic_search` does; a model that cannot expand
            references is sent the loaded tools only; add the found ones to the next request.
        provider: Whose beta header to send. Amazon Bedrock knows tool search in InvokeModel only, not in Converse.
        model: Checked for support if given. A model of unknown name needs `force`.
        always_loaded: Names to keep loaded; 3 to 5 that nearly every conversation needs.
        usage: Number of calls of each tool: the most used ones are kept loaded too, up to five tools in all. A dict
            with `"defer_loading": False` is kept loaded as well.
        mcp_toolsets: MCP servers for the API to connect to, which adds their beta header. Their tools are deferred,
            but with "client" loaded, unless a `default_config` says otherwise: only the API's own search finds them.
        betas: "auto" sends the provider's header, "off" none: the Claude API no longer needs it. A list is sent as it
            is. The header for MCP is added where it is needed.
        force: Search even where it is not worth it, and on a model of unknown name.

    Raises:
        Unsupported: the model cannot search tools on this provider.
        ToolValidationError: the name or schema of a tool is invalid, or two names are the same; `always_loaded` names a
            tool that does not exist; an MCP toolset has no name or unknown fields.
        ToolSearchError: there are more than 10,000 tools.
        ValueError: `variant`, `provider`, `betas`, `usage` or `always_loaded` is invalid.
    """
    check_choice("variant", variant, get_args(Variant))
    check_choice("provider", provider, BETA_OF)
    headers = _given_headers(betas)
    given = _definitions_of(tools)
    definitions = [definition for definition in given if not _is_mcp_toolset(definition)]
    own = filter(_is_mcp_toolset, given)
    servers, toolsets = _mcp_entries(own, mcp_toolsets, deferred=variant != "client")
    kept = _kept(definitions, always_loaded, usage or {})
    request: dict[str, Any] = {}
    if not (force or toolsets) and (reason := _reason_against(definitions, kept)):
        logger.info("tool search is left out: %s", reason)
        request["tools"] = [_without(definition, "defer_loading") for definition in definitions]
    else:
        able = _checked(model, provider, variant, force=force)
        search = client_search_tool() if variant == "client" else {"type": TYPE_OF[variant], "name": NAME_OF[variant]}
        _check_name_is_free(search["name"], (definition.get("name") for definition in definitions))
        if not able:
            toolsets = [_without_deferral(toolset) for toolset in toolsets]
        request["tools"] = _offered([search, *definitions, *toolsets], kept, leave_out=not able)
        if betas == "auto" and able:
            headers = [BETA_OF[provider]]
    if toolsets and not any(header.startswith("mcp-client-") for header in headers):
        headers.append(MCP_BETA)
    if headers:
        request["betas"] = headers
    if servers:
        request["mcp_servers"] = servers
    return request


def _given_headers(betas: Literal["auto", "off"] | Sequence[str]) -> list[str]:
    """The headers in `betas`; none for "auto" and "off".

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(betas, Sequence) or not all(isinstance(header, str) for header in betas):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"`betas` is {betas!r:.100}: use 'auto', 'off' or a list of headers.")
    if isinstance(betas, str):
        check_choice("betas", betas, ("auto", "off"), or_else="a list of headers")
        return []
    return list(betas)


def client_search_tool(options: CheckedOptions | None = None) -> dict[str, Any]:
    """The definition of `search_tools`, which the client runs; without `options`, a query is read as words."""
    chosen = options or search_options(strategy="words")
    words, count = chosen.words, chosen.max_results
    return {
        "name": SEARCH_TOOLS,
        "description": chosen.search_description(loads=True),
        "input_schema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "maxLength": MAX_QUERY, "description": chosen.query_description},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": max(10, count),
                    "description": words["limit"].format(count=count),
                },
            },
            "required": ["query"],
        },
    }


def _reason_against(definitions: list[dict[str, Any]], kept: set[str]) -> str | None:
    if all(_is_server_tool(definition) or definition["name"] in kept for definition in definitions):
        return "Every tool is kept loaded: there is nothing to search for."
    verdict = verdict_on(definitions)
    return None if verdict else verdict.reason


def _checked(model: str | None, provider: Provider, variant: Variant, *, force: bool) -> bool:
    """Whether the model supports deferred tools; raise where it does not and the server should search."""
    able = "yes" if model is None else support(model, provider)
    if able == "yes" or (able == "unknown" and force):
        return True
    if variant == "client":
        return False
    where = f"Model {model!r} on {provider!r}"
    remedy = 'Use `variant="client"`: hikidashi searches the tools itself, for any model'
    if able == "unknown":
        known = "whether it can is not known from its name"
        raise Unsupported(f"tool search on the server ({known})", where, f"{remedy}; or pass `force=True` if it can.")
    raise Unsupported("tool search on the server", where, f"{remedy}.")


def _kept(definitions: list[dict[str, Any]], always_loaded: Collection[str], usage: Mapping[str, int]) -> set[str]:
    named = [definition for definition in definitions if "name" in definition]
    not_deferred = {tool["name"] for tool in named if tool.get("defer_loading") is False}
    return _kept_loaded([tool["name"] for tool in named], always_loaded, usage) | not_deferred


def _offered(definitions: list[dict[str, Any]], kept: set[str], *, leave_out: bool) -> list[dict[str, Any]]:
    """The definitions for the request: the search tool first, the others loaded, deferred or left out."""
    offered: list[dict[str, Any]] = []
    cache_control: object = None
    last_loaded = 0
    for position, definition in enumerate(definitions):
        loaded = position == 0 or _is_server_tool(definition) or definition["name"] in kept
        if not loaded and leave_out:
            continue
        if loaded and not _defers_all(definition):
            offered.append(_without(definition, "defer_loading"))
            last_loaded = len(offered) - 1
            continue
        cache_control = definition.get("cache_control") or cache_control
        plain = _without(definition, "cache_control")
        offered.append(plain if loaded else {**plain, "defer_loading": True})
    if cache_control is not None:
        offered[last_loaded].setdefault("cache_control", cache_control)
    return offered


def _without(definition: Mapping[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in definition.items() if name != field}


FEWEST_TOOLS = 10
FEWEST_TOKENS = 10_000
_MOST_USED = 5
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")

_SEARCH_TYPE = "tool_search_tool_"
_OF_THE_CATALOGUE = frozenset({"aliases", "tags", "title", "metadata", "_meta"})  # for our search; the API refuses them


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Whether tool search is worth it for a set of tools; usable as a bool."""

    worth_it: bool
    tools: int
    tokens: int
    """Estimated tokens of the definitions; counted only as far as the verdict needs."""
    reason: str

    def __bool__(self) -> bool:
        return self.worth_it


def worth_it(tools: Iterable[Any]) -> Verdict:
    """Whether search is worth it for `tools`: at least 10 of them, with at least 10,000 tokens of definitions.

    Below that, sending all tools costs less than searching.

    Raises:
        ToolValidationError: the name or schema of a tool is invalid, or two names are the same.
        ToolSearchError: there are more than 10,000 tools.
        Unsupported: the API does not accept an input schema; see `root_schema`.
    """
    return verdict_on(_definitions_of(tools))


def verdict_on(definitions: list[dict[str, Any]]) -> Verdict:
    """`worth_it` for definitions."""
    count = sum(not _is_server_tool(definition) for definition in definitions)
    tokens = 0
    for definition in definitions:
        tokens += _tokens(definition)
        if tokens >= FEWEST_TOKENS and count >= FEWEST_TOOLS:
            reason = f"{count} tools cost {FEWEST_TOKENS:,} tokens or more in every request."
            return Verdict(worth_it=True, tools=count, tokens=tokens, reason=reason)
    if count < FEWEST_TOOLS:
        reason = f"There are {count} tools, fewer than {FEWEST_TOOLS}: the model chooses well among all of them."
    else:
        reason = f"{count} tools cost about {tokens:,} tokens, less than {FEWEST_TOKENS:,}: searching costs more."
    return Verdict(worth_it=False, tools=count, tokens=tokens, reason=reason)


def _definitions_of(tools: Iterable[Any], *, limit: int | None = MAX_TOOLS) -> list[dict[str, Any]]:
    """The definitions of `tools`, in order; dicts are copied.

    Server tools of the API (`web_search_…`, `mcp_toolset`) stay as they are; its search tools are left out.

    Raises:
        ToolValidationError: the name or schema of a tool is invalid, or two names are the same.
        ToolSearchError: there are more than `limit` tools.
        Unsupported: the API does not accept an input schema; see `root_schema`.
    """
    definitions: list[dict[str, Any]] = []
    names: dict[object, Any] = {}
    for position, tool in enumerate(listed(tools)):
        definition = _definition(tool, position)
        if str(definition.get("type", "")).startswith(_SEARCH_TYPE):
            continue
        name = definition.get("name")
        if name is not None and name in names:
            raise ToolValidationError(
                f"Two tools are called {name!r}: {_origin(names[name])} and {_origin(tool)} at position {position}. "
                "Rename one of them.",
                name,
            )
        names[name] = tool
        definitions.append(definition)
    if limit is not None and len(definitions) > limit:
        raise ToolSearchError(
            "invalid_tool_input",
            f"A request takes {limit:,} tools, and these are {len(definitions):,}. Leave some out, or split the "
            "work between agents.",
        )
    return definitions


def _kept_loaded(names: list[str], always_loaded: Collection[str], usage: Mapping[str, int]) -> set[str]:
    """The names to keep loaded: `always_loaded`, and the most used ones, up to five in all.

    Raises:
        ToolValidationError: `always_loaded` has a name that is not in `names`.
        ValueError: `always_loaded` is not a list of names, or `usage` not a mapping to numbers.
    """
    if not isinstance(usage, Mapping) or not all(isinstance(count, int | float) for count in usage.values()):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"`usage` is {usage!r:.100}: use the calls of each tool, such as `SearchLog(...).usage()`.")
    loaded = dict.fromkeys(names_in("always_loaded", always_loaded))
    unknown = [name for name in loaded if name not in set(names)]
    if unknown:
        raise ToolValidationError(
            f"`always_loaded` names {', '.join(map(repr, unknown))}, but there is no such tool. Check the spelling.",
            unknown[0],
        )
    for name in sorted(names, key=lambda name: -usage.get(name, 0)):  # stable: the caller's order breaks ties
        if len(loaded) >= _MOST_USED or usage.get(name, 0) <= 0:
            break
        loaded[name] = None
    return set(loaded)


def _check_name_is_free(search_tool: str, names: Iterable[str | None]) -> None:
    """Raise if a tool has the name of the search tool.

    Raises:
        ToolValidationError: `search_tool` is in `names`.
    """
    if search_tool in names:
        raise ToolValidationError(f"A tool is called {search_tool!r}, as the search tool is. Rename it.", search_tool)


def _is_server_tool(definition: Mapping[str, Any]) -> bool:
    """Whether this is a server tool of the API, or a set of them; these are never deferred here."""
    return definition.get("type", "custom") != "custom"


def _definition(tool: Any, position: int) -> dict[str, Any]:
    if isinstance(tool, Tool):
        return to_anthropic([tool])[0]
    own: dict[str, Any] = {}
    if is_mapping(tool):
        if _is_mcp_toolset(tool):
            return dict(tool)
        if _is_anthropic(tool):
            own = {name: value for name, value in tool.items() if value is not None and name not in _OF_THE_CATALOGUE}
            if _is_server_tool(own) and isinstance(own.get("name"), str):
                return own
    entry = entry_of(tool, position)
    if not _NAME.fullmatch(entry.name):
        raise ToolValidationError(
            f"The Anthropic API refuses the tool name {entry.name!r}: it takes 1 to 128 ASCII letters, digits, `_` and "
            "`-`. Rename it.",
            entry.name,
        )
    schema = root_schema(entry.input_schema, tool_name=entry.name, target="The Anthropic API")
    if own:
        return {**own, "input_schema": schema}
    described = {"description": entry.description} if entry.description else {}
    return {"name": entry.name, **described, "input_schema": schema}


def _tokens(definition: dict[str, Any]) -> int:
    try:
        return estimate_tokens({name: value for name, value in definition.items() if name != "defer_loading"})
    except (TypeError, ValueError) as error:
        name = definition.get("name")
        raise ToolValidationError(f"The definition of tool {name!r} is not JSON: {error}.", name) from error


def _is_anthropic(tool: Mapping[str, Any]) -> bool:
    if "name" in tool and "input_schema" in tool:
        return True
    return tool.get("type", "function") not in ("function", "custom")  # a server tool; `function` is OpenAI's


def _origin(tool: Any) -> str:
    return "a dict" if isinstance(tool, Mapping) else f"a {type(tool).__module__.split('.')[0]} {type(tool).__name__}"


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


def _mcp_entries(
    own: Iterable[dict[str, Any]], toolsets: object, *, deferred: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The `mcp_servers` entries of toolsets with a URL, and an `mcp_toolset` for each.

    Args:
        own: Toolsets among the tools.
        toolsets: The toolsets as given by the caller.
        deferred: The default of `defer_loading`.

    Raises:
        ToolValidationError: `toolsets` is not a list; a toolset has no name, a name that is not unique, or unknown
            fields.
    """
    if isinstance(toolsets, str) or is_mapping(toolsets) or not is_iterable(toolsets):
        raise ToolValidationError(f"`mcp_toolsets` is a {type_name(toolsets)}: use a list of toolsets.")
    servers: list[dict[str, Any]] = []
    entries: dict[str, dict[str, Any]] = {}
    for given in chain(own, toolsets):
        server, entry = _entry(given, deferred=deferred)
        name = entry["mcp_server_name"]
        if name in entries:
            raise ToolValidationError(f"Two MCP toolsets are for the server {name!r}. Put their `configs` into one.")
        entries[name] = entry
        if server is not None:
            servers.append(server)
    return servers, list(entries.values())


def _is_mcp_toolset(definition: Mapping[str, Any]) -> bool:
    """Whether this entry of `tools` is an MCP toolset."""
    return definition.get("type") == "mcp_toolset"


def _defers_all(definition: Mapping[str, Any]) -> bool:
    """Whether this is an MCP toolset whose tools are deferred by default."""
    return bool(definition.get("default_config", {}).get("defer_loading"))


def _without_deferral(toolset: dict[str, Any]) -> dict[str, Any]:
    """The same toolset with every enabled tool loaded."""
    configs = {tool: _loaded(config) for tool, config in toolset.get("configs", {}).items()}
    kept = {"configs": configs} if configs else {}
    return {**toolset, "default_config": _loaded(toolset["default_config"]), **kept}


def _loaded(config: Mapping[str, Any]) -> dict[str, Any]:
    return {**config, "defer_loading": False}


def _entry(given: object, *, deferred: bool) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    if not is_mapping(given):
        raise ToolValidationError(
            f'An MCP toolset is a dict such as {{"name": "db", "url": "https://…"}}, got {given!r}.'
        )
    fields = {field: value for field, value in given.items() if value is not None}
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
    if is_mapping(value):
        return dict(value)
    raise ToolValidationError(f"`{field}` of MCP toolset {server!r} is {value!r}, not a dict.")


def _listed(fields: Iterable[str]) -> str:
    return ", ".join(map(repr, fields)) or "nothing"


Provider = Literal["anthropic", "foundry", "vertex", "bedrock"]

Support = Literal["yes", "no", "unknown"]

# The Claude API has not required these since February 2026, and still accepts them.
BETA_OF: dict[Provider, str] = {
    "anthropic": "advanced-tool-use-2025-11-20",
    "foundry": "advanced-tool-use-2025-11-20",
    "vertex": "tool-search-tool-2025-10-19",
    "bedrock": "tool-search-tool-2025-10-19",
}

MCP_BETA = "mcp-client-2025-11-20"
ADDITIONS_BETA = "mid-conversation-tool-changes-2026-07-01"
"""For `tool_addition` blocks in a message of the system, which load deferred tools without a change of `tools`."""

_Since = dict[str, tuple[int, int]]

_CLAUDE: _Since = {"sonnet": (4, 0), "opus": (4, 0), "haiku": (4, 5), "fable": (5, 0), "mythos": (5, 0)}

# Amazon Bedrock supports it in InvokeModel only, not in Converse.
_FIRST_OF: dict[Provider, _Since] = {
    "anthropic": _CLAUDE,
    "foundry": _CLAUDE,
    "vertex": _CLAUDE,
    "bedrock": {"opus": (4, 5)},
}

_TAKES_ADDITIONS: _Since = {"opus": (4, 8), "sonnet": (5, 5), "haiku": (5, 5), "fable": (5, 0), "mythos": (5, 0)}

# `claude-sonnet-4-5-20250929`, `claude-3-5-haiku-latest`, `us.anthropic.claude-opus-4-5-20251101-v1:0`,
# `claude-opus-4@20250514`: the version comes before the family up to 3, and a date is not a version.
_MODEL = re.compile(
    r"(?:^|[./])claude-(?:(?P<old_major>\d)(?:[-.](?P<old_minor>\d{1,2}))?-)?(?P<family>[a-z]+)"
    r"(?:-(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2}))?)?(?!\d)"
)


def support(model: str, provider: Provider = "anthropic") -> Support:
    """Whether `model` supports tool search and tool references on `provider`.

    "unknown" for a name without family or version, such as the ARN of an inference profile.
    """
    return _since(_FIRST_OF[provider], model)


def takes_additions(model: str, provider: Provider = "anthropic") -> bool:
    """Whether `model` takes `tool_addition` blocks on `provider`; False if that is not known."""
    return provider == "anthropic" and _since(_TAKES_ADDITIONS, model) == "yes"


def _since(first_of: _Since, model: str) -> Support:
    named = _MODEL.search(model)
    if named is None or named["family"] not in _CLAUDE:
        return "unknown"
    first = first_of.get(named["family"])
    major, minor = named["old_major"] or named["major"], named["old_minor"] or named["minor"]
    if major is None:
        return "unknown"
    return "yes" if first is not None and (int(major), int(minor or 0)) >= first else "no"


Expand = Literal["auto", "references", "tools"]

_LONGEST_NAME: dict[Provider, int] = {"bedrock": 64}

_LONGEST_ELSEWHERE = 128


class OfferedTools:
    """The tools of one conversation, the part of a request about them, and those that are loaded.

    Args:
        own: The tools, under their own names.
        options: Which are loaded from the start, by their own names, and the budget to which definitions are cut.
        model: The model, which decides what `expand="auto"` is.
        provider: Where the model runs.
        usage: Number of calls, by own name.
        betas: Beta features of the request.
        expand: How found tools are loaded.
        force: Search also where all definitions are small.
    """

    def __init__(
        self,
        own: list[Tool],
        options: CheckedOptions,
        *,
        model: str,
        provider: Provider,
        usage: Mapping[str, int],
        betas: Literal["auto", "off"] | Sequence[str],
        expand: Expand,
        force: bool,
    ) -> None:
        self._budget = options.budget
        self._words = options.words
        longest = _LONGEST_NAME.get(provider, _LONGEST_ELSEWHERE)
        self.names = WireNames((tool.name for tool in own), longest=longest)
        given = [self._sent(tool) for tool in own]
        self.tools = {tool.name: tool for tool in given}
        """By the name under which each is sent."""
        able = support(model, provider) == "yes" and len(given) <= MAX_TOOLS
        self.by_reference = expand == "references" or (expand == "auto" and able)
        definitions = _definitions_of(given, limit=MAX_TOOLS if self.by_reference else None)
        self.searching = force or bool(verdict_on(definitions))
        """Whether the model searches; else all definitions are sent."""
        always_loaded = [self.names.of(name) if name in self.names else name for name in options.always_loaded]
        counts = {self.names.of(name): count for name, count in usage.items() if name in self.names}
        kept = _kept_loaded([*self.tools], always_loaded, counts)
        headers = _given_headers(betas)
        if self.searching:
            _check_name_is_free(SEARCH_TOOLS, self.tools)
            search = client_search_tool(options)
            definitions = _offered([search, *definitions], kept, leave_out=not self.by_reference)
            if betas == "auto" and self.by_reference:
                headers = [BETA_OF[provider]]
        self.request: dict[str, Any] = {"tools": definitions, **({"betas": headers} if headers else {})}
        """`tools` and `betas` of the next request."""
        self.loaded = {
            tool["name"]: None for tool in definitions if tool["name"] in self.tools and not tool.get("defer_loading")
        }
        """The names of the loaded tools, as sent."""
        self.preloaded: list[str] = []
        """Those of them that messages of the user loaded."""

    def __contains__(self, name: object) -> bool:
        """Whether the tool of this own name is loaded."""
        return isinstance(name, str) and name in self.names and self.names.of(name) in self.loaded

    def add_beta(self, beta: str) -> None:
        """Add a beta feature to the request."""
        self.request = {**self.request, "betas": [*self.request.get("betas", ()), beta]}

    def own(self, name: str) -> str:
        """The name in the catalogue of a tool that is sent as `name`."""
        return self.names.original(name) or name

    def preload(self, best: Iterable[str], *, in_full: bool, is_known: bool = False) -> list[str]:
        """Load `best` as far as the budget allows; return what is new.

        Args:
            best: The names of tools.
            in_full: Put their definitions into the list of tools; else a message has to name them.
            is_known: They were loaded before, so that the budget allowed them.
        """
        sent = [self.names.of(name) for name in best if name in self.names]
        new = [name for name in sent if name not in self.loaded]
        if not is_known:
            new = [entry.name for entry in self._budget.shown([entry_of(self.tools[name]) for name in new]).whole]
        self.load(new, in_full=in_full)
        self.preloaded += new
        return [*map(self.own, new)]

    def load(self, names: Iterable[str], *, in_full: bool = False) -> None:
        """Load tools: without references, or `in_full`, by adding their definitions at the end of the request.

        With references, the definition of a deferred tool moves there, where it belongs to the cached prefix.
        """
        new = [name for name in dict.fromkeys(names) if name not in self.loaded]
        self.loaded.update(dict.fromkeys(new))
        if new and self.searching and (in_full or not self.by_reference):
            others = [tool for tool in self.request["tools"] if tool["name"] not in new]
            added = _definitions_of(self.tools[name].deferred(False) for name in new)
            self.request = {**self.request, "tools": [*others, *added]}

    def _sent(self, tool: Tool) -> Tool:
        """`tool` with a name that the API accepts, and a definition cut to the budget."""
        sent = reporting_lost_connections(tool, self._words)
        name = self.names.of(tool.name)
        if name != tool.name:
            sent = replace(sent, name=name, description=tool.description or tool.name)
        if len(tool.description) + len(str(tool.input_schema)) <= self._budget.tokens:
            return sent  # a token is at least one character
        cut = self._budget.cut(entry_of(sent))
        return replace(sent, description=cut.description, input_schema=cut.input_schema)
