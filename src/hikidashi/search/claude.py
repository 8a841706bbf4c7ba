"""Tool search for Claude Code, through the Claude Agent SDK: two tools in place of any number."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack
from weakref import WeakKeyDictionary

from .. import __version__
from ..errors import MissingExtra
from ..tool import Tool, ToolResult
from .answers import CALL_TOOL, SEARCH_TOOLS, Language, wording
from .catalog import ToolCatalog
from .log import ConversationRecord
from .options import SearchOptions, names_in, search_options
from .preload import Preloader
from .search_tools import FoundTools, ToolSearchHandler

try:
    from claude_agent_sdk import HookContext, HookMatcher, McpSdkServerConfig
    from claude_agent_sdk.types import HookEvent, HookJSONOutput
except ImportError as error:
    raise MissingExtra("claude-agent-sdk", "claude") from error

from ..convert.claude import hooks_for_unknown, mark_for_one_conversation, shown_name, to_claude

logger = logging.getLogger("hikidashi")


def to_claude_search(
    tools: Iterable[Tool] | ToolCatalog,
    *,
    name: str = "tools",
    version: str = __version__,
    discovered: Iterable[str] = (),
    **options: Unpack[SearchOptions],
) -> McpSdkServerConfig:
    """An MCP server for `ClaudeAgentOptions(mcp_servers={name: ...})` that lists two tools for any number of tools.

    `search_tools` returns the name, description and input schema of matching tools; `call_tool` calls one of them. The
    tool itself validates the arguments. A tool that was not found before is not called: the answer shows its
    definition, so that the model can call it again. Allow both with `allowed_tools=search_tool_names(name)`; a
    permission callback finds the tool's own name in the input of `call_tool`. With `hooks=search_hooks(name)`, a model
    that calls a tool by its own name is advised to search.

    One server serves one conversation, and remembers what was found as long as it lives. For a conversation that is
    resumed, pass the names that were found before as `discovered`.

    With `preload`, definitions come with the messages of the user, by the hooks of `search_hooks(server)`, where
    `server` is what this function returns. A `ClaudeCodeModel` has many conversations, and refuses such a server in its
    `mcp_servers`: give the tools to the agent with `to_pydantic_ai_search`.

    Args:
        tools: hikidashi tools, or a catalogue of them, which may change while the server runs.
        name: The key in `mcp_servers`.
        version: The version that the server reports.
        discovered: Names of tools that count as found already.
        options: See `SearchOptions`.

    Raises:
        ToolValidationError: a tool is called `search_tools` or `call_tool`, or is not a hikidashi tool, or
            `always_loaded` names a tool that does not exist.
        ValueError: an option is invalid.
    """
    checked = search_options(**options)
    conversation = ConversationRecord(checked.record)
    handler = ToolSearchHandler(tools, replace(checked, record=conversation))
    found_before = names_in("discovered", discovered)
    loaded = checked.always_loaded
    found = dict.fromkeys([*found_before, *loaded])
    conversation.remember(loaded, "listed")
    conversation.remember(found_before, "search")

    preloading: _Preloading | None = None
    if checked.preloads:
        preloader = Preloader.of(checked, handler.catalog, loaded)
        preloading = _Preloading(handler, found, preloader)

    def search(arguments: dict[str, Any]) -> ToolResult:
        if preloading is not None:
            preloading.warn_without_hooks()
        return handler.search(arguments, found)

    async def call(arguments: dict[str, Any]) -> ToolResult:
        return await handler.call(arguments, found)

    offered = [
        handler.search_tool(search),
        handler.call_tool(call),
        *(tool.deferred(False) for tool in handler.always_loaded),
    ]
    server = to_claude(offered, name=name, version=version, always_load=True)
    if preloading is not None:
        _PRELOADING[server["instance"]] = preloading
        mark_for_one_conversation(server)
    return server


class _Preloading:
    """The tools that come with the messages of a user, in the conversation of one server."""

    def __init__(self, handler: ToolSearchHandler, found: FoundTools, preloader: Preloader) -> None:
        self._handler = handler
        self._found = found
        self._preloader = preloader
        self._has_hooks = False

    def hook(self) -> HookMatcher:
        """The hook that adds definitions to a message."""

        async def add(given: Any, _: str | None, __: HookContext) -> HookJSONOutput:
            prompt = str(given.get("prompt") or "")
            best = self._preloader.best(prompt, has=self._found)
            context = self._handler.preloaded(prompt, best, self._found)
            self._preloader.remember(name for name in best if name in self._found)
            if not context:
                return {}
            return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": context}}

        self._has_hooks = True
        return HookMatcher(hooks=[add])

    def warn_without_hooks(self) -> None:
        """Log once that nothing can be preloaded."""
        if not self._has_hooks:
            self._has_hooks = True
            logger.warning(
                "Nothing is preloaded: pass `hooks=search_hooks(server)` in `ClaudeAgentOptions`, with the server "
                "itself."
            )


_PRELOADING: WeakKeyDictionary[Any, _Preloading] = WeakKeyDictionary()


def search_tool_names(server_name: str = "tools") -> list[str]:
    """The names of the two tools of `to_claude_search` in Claude Code, for `allowed_tools`."""
    return [f"mcp__{shown_name(server_name)}__{tool}" for tool in (SEARCH_TOOLS, CALL_TOOL)]


def search_hooks(
    server_name: str | McpSdkServerConfig = "tools", *, language: Language = "en"
) -> dict[HookEvent, list[HookMatcher]]:
    """Hooks for `ClaudeAgentOptions(hooks=...)` that advise a model to search if it calls a tool by its own name.

    Given the server that `to_claude_search` made with `preload`, they also add the definitions of the best tools to
    each message of the user.

    Args:
        server_name: The server, or its key in `mcp_servers`.
        language: Language of the advice.
    """
    words = wording(language)
    own = f"mcp__{shown_name(server_name if isinstance(server_name, str) else server_name['name'])}__"

    def advice(names: list[str]) -> str:
        own_names = [name for name in names if name.startswith(own) or not name.startswith("mcp__")]
        return "\n".join(map(words.not_listed, own_names))

    hooks = hooks_for_unknown(advice)
    preloading = None if isinstance(server_name, str) else _PRELOADING.get(server_name["instance"])
    return hooks if preloading is None else {**hooks, "UserPromptSubmit": [preloading.hook()]}
