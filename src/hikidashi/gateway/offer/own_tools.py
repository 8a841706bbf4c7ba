"""Definitions of the gateway's own tools, and the summary of the servers in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import mcp_types as types

__all__ = ["CALL_READ_TOOL", "CALL_TOOL", "OWN_TOOLS", "READ_RESULT", "SEARCH_TOOLS", "own_tools", "servers_summary"]

SEARCH_TOOLS = "search_tools"
CALL_READ_TOOL = "call_read_tool"
CALL_TOOL = "call_tool"
READ_RESULT = "read_result"
OWN_TOOLS = (SEARCH_TOOLS, CALL_READ_TOOL, CALL_TOOL, READ_RESULT)

_SUMMARY_CHARACTERS = 1_500
_LONGEST_IN_CLAUDE_CODE = "anthropic/maxResultSizeChars"
_MOST_IN_CLAUDE_CODE = 500_000  # it takes no more
_NOTE_CHARACTERS = 20_000  # of the note at the end, and the JSON around the texts


def own_tools(summary: str, longest_result: int) -> list[types.Tool]:
    """The tools of the gateway itself; they do not depend on earlier searches.

    Args:
        summary: The servers behind the gateway, as `servers_summary` gives them.
        longest_result: Most characters of a result before it is cut.
    """
    # Otherwise Claude Code keeps a result of more than 25,000 tokens from the model, with the handle at its end.
    results = {_LONGEST_IN_CLAUDE_CODE: min(longest_result + _NOTE_CHARACTERS, _MOST_IN_CLAUDE_CODE)}
    query = {
        "type": "string",
        "description": "What you want to do, in a few words; or a tool's name; "
        "or a pattern between slashes; or `select:NAME,NAME` for whole definitions.",
    }
    name = {"type": "string", "description": f"The tool's name, as {SEARCH_TOOLS} shows it."}
    arguments = {
        "type": "object",
        "description": "Its arguments, as its input_schema says.",
        "additionalProperties": True,
    }
    call = {"type": "object", "properties": {"name": name, "arguments": arguments}, "required": ["name", "arguments"]}
    return [
        _own(
            SEARCH_TOOLS,
            "Search the tools",
            "Find tools. Most are not listed, so search before you say that something cannot be done. "
            f"{summary}".strip(),
            {"type": "object", "properties": {"query": query}, "required": ["query"]},
            types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        ),
        _own(
            CALL_READ_TOOL,
            "Call a tool that only reads",
            f"Call a tool that {SEARCH_TOOLS} shows with `call_with: {CALL_READ_TOOL}`: it only reads.",
            call,
            types.ToolAnnotations(read_only_hint=True),
            meta=results,
        ),
        _own(
            CALL_TOOL,
            "Call a tool",
            f"Call a tool that {SEARCH_TOOLS} shows with `call_with: {CALL_TOOL}`: it may change or delete something.",
            call,
            types.ToolAnnotations(read_only_hint=False, destructive_hint=True),
            meta=results,
        ),
        _own(
            READ_RESULT,
            "Read on",
            "Read the rest of a result that was cut: its last line says with which handle and offset.",
            {
                "type": "object",
                "properties": {"handle": {"type": "string"}, "offset": {"type": "integer", "minimum": 0}},
                "required": ["handle"],
            },
            types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
            meta=results,
        ),
    ]


def servers_summary(servers: Iterable[tuple[str, str | None, int | None]]) -> str:
    """One line about all servers, in a bounded number of characters, the same for the same servers.

    Args:
        servers: Name, description or instructions, and number of tools of each; None if they are not known yet.
    """
    listed = [(name, " ".join((description or "").split()), count) for name, description, count in servers]
    if not listed:
        return ""
    room = max(0, _SUMMARY_CHARACTERS // len(listed) - 40)
    parts: list[str] = []
    for name, description, count in listed:
        short = description if len(description) <= room else description[: max(room - 1, 0)].rstrip() + "…"
        known = "tools not known yet" if count is None else f"{count} tool" + "s" * (count != 1)
        parts.append(f"{name} ({known})" + (f": {short}" if short.strip("…") else ""))
    text = "Servers: " + "; ".join(parts) + "."
    return text if len(text) <= 2 * _SUMMARY_CHARACTERS else text[: 2 * _SUMMARY_CHARACTERS] + "…"


def _own(
    name: str,
    title: str,
    description: str,
    schema: dict[str, Any],
    annotations: types.ToolAnnotations,
    *,
    meta: Mapping[str, Any] | None = None,
) -> types.Tool:
    return types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=schema,
        annotations=annotations,
        # Otherwise Claude Code defers it, and only its own tool search would find it.
        _meta={"anthropic/alwaysLoad": True, **(meta or {})},
    )
