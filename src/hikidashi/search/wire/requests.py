"""Requests to the Messages API with tool search.

Needs no package: `client.beta.messages.create(**to_anthropic_search(tools, model=model), model=model, ...)`,
then `tool_searches(message)` gives the searches and their results. `run_anthropic_search` also calls the tools, and
searches on our side instead of on the server.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from ...errors import Unsupported
from ..answers.search_tools import Strategy
from ..answers.texts import SEARCH_TOOLS, Language, wording
from ..catalog import MAX_QUERY
from .blocks import (
    NAME_OF,
    TYPE_OF,
    Variant,
)
from .definitions import check_name_is_free, definitions_of, is_server_tool, kept_loaded, verdict_on
from .mcp_toolset import McpToolset, defers_all, is_mcp_toolset, mcp_entries, toolset_list, without_deferral
from .models import BETA_OF, MCP_BETA, Provider, check_choice, support

__all__ = ["client_search_tool", "to_anthropic_search"]

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
    if not isinstance(betas, Sequence) or not all(isinstance(header, str) for header in betas):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"`betas` is {betas!r:.100}: use 'auto', 'off' or a list of headers.")
    if isinstance(betas, str):
        check_choice("betas", betas, ("auto", "off"), or_else="a list of headers")
    given = definitions_of(tools)
    definitions = [definition for definition in given if not is_mcp_toolset(definition)]
    servers, toolsets = mcp_entries(
        [*filter(is_mcp_toolset, given), *toolset_list(mcp_toolsets)], deferred=variant != "client"
    )
    kept = _kept(definitions, always_loaded, usage or {})
    request: dict[str, Any] = {}
    if not (force or toolsets) and (reason := _reason_against(definitions, kept)):
        logger.info("tool search is left out: %s", reason)
        request["tools"] = [_without(definition, "defer_loading") for definition in definitions]
        headers: list[str] = [] if isinstance(betas, str) else list(betas)
    else:
        able = _checked(model, provider, variant, force=force)
        search = client_search_tool() if variant == "client" else {"type": TYPE_OF[variant], "name": NAME_OF[variant]}
        check_name_is_free(search["name"], (definition.get("name") for definition in definitions))
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


def client_search_tool(
    name: str = SEARCH_TOOLS,
    *,
    strategy: Strategy = "words",
    max_results: int = 5,
    about: str | None = None,
    language: Language = "en",
) -> dict[str, Any]:
    """The definition of a search tool that the client runs: `search_tools` unless named otherwise.

    Args:
        name: The name of the tool.
        strategy: How you read a query: as words, as a regular expression, or both (an expression between slashes).
        max_results: Number of tools that you load where the model sets no `limit`.
        about: What the tools are for, in a few words.
        language: Language of the text that the model reads.
    """
    words = wording(language)
    return {
        "name": name,
        "description": words.search_description(about, loads=True),
        "input_schema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "maxLength": MAX_QUERY, "description": words[f"query {strategy}"]},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": max(10, max_results),
                    "description": words["limit"].format(count=max_results),
                },
            },
            "required": ["query"],
        },
    }


def _reason_against(definitions: list[dict[str, Any]], kept: set[str]) -> str | None:
    if all(is_server_tool(definition) or definition["name"] in kept for definition in definitions):
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
    return kept_loaded([tool["name"] for tool in named], always_loaded, usage) | not_deferred


def _offered(definitions: list[dict[str, Any]], kept: set[str], *, leave_out: bool) -> list[dict[str, Any]]:
    """The definitions for the request: the search tool first, the others loaded, deferred or left out."""
    offered: list[dict[str, Any]] = []
    cache_control: object = None
    last_loaded = 0
    for position, definition in enumerate(definitions):
        loaded = position == 0 or is_server_tool(definition) or definition["name"] in kept
        if not loaded and leave_out:
            continue
        if loaded and not defers_all(definition):
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
