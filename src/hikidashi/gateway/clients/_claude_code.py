"""Claude Code's permission rules and hook for our tools, in its `settings.json`.

Searching, calls that only read, and `read_result` are allowed; `call_tool`, which may change something, still needs
permission. The hook sees the call before it is made, so that the permission prompt names the server and the tool behind
`call_tool`, and so that rules about the tools behind us stay in force.
"""

from __future__ import annotations

import re
import shlex
import sys
from typing import Any, cast

from ...common.jsonc import parse
from ._json_edit import append, remove, remove_items

__all__ = ["allowed_rules", "hook_command", "hook_matcher", "normalized", "with_rules", "without_rules"]

_ALLOW = ("permissions", "allow")
_HOOKS = ("hooks", "PreToolUse")
_ALLOWED_TOOLS = ("search_tools", "call_read_tool", "read_result")
_HOOK_SECONDS = 30


def normalized(name: str) -> str:
    """A server's name as Claude Code uses it in the names of tools."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def allowed_rules(name: str) -> tuple[str, ...]:
    """The permission rules for the tools that change nothing."""
    return tuple(f"mcp__{normalized(name)}__{tool}" for tool in _ALLOWED_TOOLS)


def hook_matcher(name: str) -> str:
    """The matcher of the hook: all of our tools."""
    return f"mcp__{normalized(name)}__.*"


def hook_command(command: str, args: list[str], *, windows: bool = sys.platform == "win32") -> str:
    """The shell command of the hook."""
    words = [command, *args]
    if not windows:
        return shlex.join(words)
    # Claude Code may have it run by Git Bash, where a backslash is not a path separator.
    return " ".join(f'"{word}"' if " " in word else word for word in (word.replace("\\", "/") for word in words))


def with_rules(text: str, name: str, command: str) -> str:
    """The settings `text` with our rules and our hook.

    Raises:
        JsoncError: it is not JSON.
        EditError: `permissions` or `hooks` have another form than Claude Code reads.
    """
    text = _without_hook(text, name)
    present = _strings(text, _ALLOW)
    for rule in allowed_rules(name):
        if rule not in present:
            text = append(text, _ALLOW, rule, comments=False)
    hook = {"type": "command", "command": command, "timeout": _HOOK_SECONDS}
    return append(text, _HOOKS, {"matcher": hook_matcher(name), "hooks": [hook]}, comments=False)


def without_rules(text: str, name: str) -> str:
    """The settings `text` without our rules and our hook; lists that are empty then are taken out too.

    Raises:
        JsoncError: it is not JSON.
    """
    rules = allowed_rules(name)
    text = remove_items(text, _ALLOW, lambda item: item in rules, comments=False)
    text = _without_hook(text, name)
    for path in (_ALLOW, _HOOKS):
        for length in (2, 1):
            if _at(text, path[:length]) in ([], {}):
                text = remove(text, path[:length], comments=False)
    return text


def _without_hook(text: str, name: str) -> str:
    return remove_items(text, _HOOKS, lambda item: _is_our_hook(item, name), comments=False)


def _is_our_hook(item: Any, name: str) -> bool:
    if not isinstance(item, dict):
        return False
    given = cast("dict[str, Any]", item)
    hooks: Any = given.get("hooks")
    if given.get("matcher") != hook_matcher(name) or not isinstance(hooks, list):
        return False
    commands = [str(cast("dict[str, Any]", hook).get("command")) for hook in cast("list[Any]", hooks)]
    return bool(commands) and all("hikidashi" in command and "serve hook" in command for command in commands)


def _strings(text: str, path: tuple[str, ...]) -> list[Any]:
    found = _at(text, path)
    return cast("list[Any]", found) if isinstance(found, list) else []


def _at(text: str, path: tuple[str, ...]) -> Any:
    node = parse(text, comments=False)
    for key in path:
        node = node.child(key) if node is not None else None
    return None if node is None else node.value
