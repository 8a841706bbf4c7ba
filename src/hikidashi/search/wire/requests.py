"""Tool search on the wire of the Messages API: requests that offer it, replies that tell of it.

Needs no package: `client.beta.messages.create(**to_anthropic_search(tools, model=model), model=model, ...)`,
then `tool_searches(message)` says what was looked for and found. The loop that also calls the tools, and searches
here instead of on the server, is `hikidashi.search.anthropic`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from ...errors import Unsupported
from .._alias import alias
from .._names import SEARCH_TOOLS
from ..catalog import MAX_QUERY
from .blocks import (
    NAME_OF,
    TYPE_OF,
    ToolSearchCall,
    ToolSearchFailure,
    Variant,
    reference_blocks,
    referenced_tools,
    search_requests,
    tool_searches,
)
from .definitions import Verdict, definitions_of, is_server_tool, judged, kept_loaded, refuse_twin, worth_it
from .mcp_toolset import McpToolset, defers_all, is_mcp_toolset, mcp_entries, without_deferral
from .models import BETA_OF, MCP_BETA, Provider, Support, one_of, support

__all__ = [
    "McpToolset",
    "Provider",
    "Support",
    "ToolSearchCall",
    "ToolSearchFailure",
    "Variant",
    "Verdict",
    "client_search_tool",
    "reference_blocks",
    "referenced_tools",
    "search_requests",
    "support",
    "to_anthropic_search",
    "tool_search_request",
    "tool_searches",
    "worth_it",
]

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
    """`tools`, and `betas` and `mcp_servers` where there are any, for `client.beta.messages.create(**...)`.

    The search tool comes first and is never deferred; the others follow in the order given, deferred but for the
    ones to keep. Where search does not pay (see `worth_it`), or every tool is kept, the tools come plain and the reason
    is logged; an MCP toolset always counts as large, since only its server knows how many tools it has.

    The same arguments give the same bytes, which the prompt cache needs: take `usage` once for a conversation, not
    once a turn. A `cache_control` on a tool that is deferred, which the API refuses, moves to the last tool that is
    loaded; it covers the same prefix there, as deferred tools are no part of the cache.

    Args:
        tools: Whatever `ToolCatalog` takes, or a `ToolCatalog`, and tools that the API itself runs. Aliases and tags,
            which the API refuses, are left out.
        variant: "regex" and "bm25" search on the server. With "client" the search tool is an ordinary one that you
            answer with `reference_blocks`, as `run_anthropic_search` does; a model that cannot expand
            references is offered the loaded tools only, to which you add what is found.
        provider: Whose beta header to send. Amazon Bedrock knows tool search in InvokeModel only, not in Converse.
        model: Checked if given. A model whose name says nothing needs `force`.
        always_loaded: Names to keep loaded; 3 to 5 that nearly every conversation needs.
        usage: How often each tool was called: the most used are kept loaded too, until there are five. A dict with
            `"defer_loading": False` of its own is kept as well.
        mcp_toolsets: MCP servers for the API to connect to, which adds their beta header. Their tools are deferred,
            but with "client" loaded, unless a `default_config` says otherwise: only the API's own search finds them.
        betas: "auto" sends the provider's header, "off" none: the Claude API does not need it any more. A list
            stands for itself. The header for MCP is added where it is needed.
        force: Search even where it does not pay, and on a model whose name says nothing.

    Raises:
        Unsupported: the model cannot search tools on this provider.
        ToolValidationError: a tool has no usable name or schema, or the name of another; a name in `always_loaded`
            is no tool's; an MCP toolset lacks its name or says what the API does not know.
        ToolSearchError: there are more than 10,000 tools.
        ValueError: `variant`, `provider` or `betas` is a word that nobody knows.
    """
    one_of("variant", variant, get_args(Variant))
    one_of("provider", provider, BETA_OF)
    if isinstance(betas, str):
        one_of("betas", betas, ("auto", "off"), or_else="a list of headers")
    given = definitions_of(tools)
    definitions = [definition for definition in given if not is_mcp_toolset(definition)]
    servers, toolsets = mcp_entries([*filter(is_mcp_toolset, given), *mcp_toolsets], deferred=variant != "client")
    kept = _kept(definitions, always_loaded, usage or {})
    request: dict[str, Any] = {}
    if not (force or toolsets) and (reason := _reason_against(definitions, kept)):
        logger.info("tool search is left out: %s", reason)
        request["tools"] = [_without(definition, "defer_loading") for definition in definitions]
        headers: list[str] = [] if isinstance(betas, str) else list(betas)
    else:
        able = _checked(model, provider, variant, force=force)
        search = client_search_tool() if variant == "client" else {"type": TYPE_OF[variant], "name": NAME_OF[variant]}
        refuse_twin((definition.get("name") for definition in definitions), search["name"])
        if not able:
            toolsets = [without_deferral(toolset) for toolset in toolsets]
        request["tools"] = _offered([search, *definitions, *toolsets], kept, leave_out=not able)
        headers = [BETA_OF[provider]] if betas == "auto" and able else [] if isinstance(betas, str) else list(betas)
    if toolsets and not any(header.startswith("mcp-client-") for header in headers):
        headers.append(MCP_BETA)
    if headers:
        request["betas"] = headers
    if servers:
        request["mcp_servers"] = servers
    return request


tool_search_request = alias("tool_search_request", to_anthropic_search)
"""Alias of `to_anthropic_search`."""


def client_search_tool(name: str = SEARCH_TOOLS) -> dict[str, Any]:
    """The definition of a search tool that the client answers."""
    return {
        "name": name,
        "description": (
            "Finds tools that are not loaded yet and loads the best matches, so that you can call them. Use it when "
            "no loaded tool fits the task: many more exist. Describe one need in a few words, such as `send mail` or "
            "`weather forecast`; search again for each further need. `select:name_a,name_b` loads "
            "tools whose names you know. If nothing matches, try other words before you give up."
        ),
        "input_schema": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "maxLength": MAX_QUERY,
                    "description": "A few words that say what the tool should do, or `select:` and names.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 10,
                    "description": "How many at most; 5 if left out.",
                },
            },
            "required": ["query"],
        },
    }


def _reason_against(definitions: list[dict[str, Any]], kept: set[str]) -> str | None:
    if all(is_server_tool(definition) or definition["name"] in kept for definition in definitions):
        return "Every tool is kept loaded: there is nothing to search for."
    verdict = judged(definitions)
    return None if verdict else verdict.reason


def _checked(model: str | None, provider: Provider, variant: Variant, *, force: bool) -> bool:
    """Whether deferred tools may be sent at all; refuses a search on the server where they may not."""
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
    own_wish = {tool["name"] for tool in named if tool.get("defer_loading") is False}
    return kept_loaded([tool["name"] for tool in named], always_loaded, usage) | own_wish


def _offered(definitions: list[dict[str, Any]], kept: set[str], *, leave_out: bool) -> list[dict[str, Any]]:
    """The definitions as they go out: the search tool first, the rest deferred, left out or loaded."""
    offered: list[dict[str, Any]] = []
    homeless: object = None
    last_loaded = 0
    for position, definition in enumerate(definitions):
        loaded = position == 0 or is_server_tool(definition) or definition["name"] in kept
        if not loaded and leave_out:
            continue
        if loaded and not defers_all(definition):
            offered.append(_without(definition, "defer_loading"))
            last_loaded = len(offered) - 1
            continue
        homeless = definition.get("cache_control") or homeless
        plain = _without(definition, "cache_control")
        offered.append(plain if loaded else {**plain, "defer_loading": True})
    if homeless is not None:
        offered[last_loaded].setdefault("cache_control", homeless)
    return offered


def _without(definition: Mapping[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in definition.items() if name != field}
