"""Claude Code's permission rules and hook for our tools, in its `settings.json`.

Searching, calls that only read, and `read_result` are allowed; `call_tool`, which may change something, still needs
permission. The hook sees the call before it is made, so that the permission prompt names the server and the tool behind
`call_tool`, and so that rules about the tools behind us stay in force.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from ...common.json import as_list, as_object, is_list, is_object, parse
from ...config.gateway import LONGEST_NAME
from ...errors import ConfigError, ToolSourceError
from ...servers.clients import Machine, System
from ..config import is_own_format, read_servers
from ..names import SEPARATOR, exposed_names, longest_name_with, server_prefix
from .edits import append, content_of, read_bytes, remove, remove_items, value_at

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
    present = as_list(_at(text, _ALLOW))
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
    if not is_object(item):
        return False
    given = item
    hooks: Any = given.get("hooks")
    if given.get("matcher") != hook_matcher(name) or not is_list(hooks):
        return False
    commands = [str(hook.get("command")) for hook in hooks]
    return bool(commands) and all("hikidashi" in command and "serve hook" in command for command in commands)


def _at(text: str, path: tuple[str, ...]) -> Any:
    node = parse(text, comments=False)
    return None if node is None else value_at(node.value, path)


Behaviour = Literal["allow", "deny", "ask"]

_CALLING = ("call_tool", "call_read_tool")
_OWN = (*_CALLING, "search_tools", "read_result")
_MANAGED: dict[System, str] = {
    "linux": "/etc/claude-code",
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": "C:/Program Files/ClaudeCode",
}
_LONGEST = 600  # characters of the arguments in a question


@dataclass(frozen=True)
class Decision:
    """The decision that Claude Code gets."""

    behaviour: Behaviour
    reason: str

    def as_json(self) -> dict[str, Any]:
        """The decision as the output of a PreToolUse hook."""
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": self.behaviour,
                "permissionDecisionReason": self.reason,
            }
        }


def answer(data: bytes, *, config: Path | None, name: str, machine: Machine | None = None) -> str:
    """The output for the call that Claude Code sent on standard input; empty leaves it to its own rules.

    Raises:
        ToolSourceError: `data` is not JSON.
    """
    try:
        call: Any = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        remedy = "Claude Code runs this command; `hikidashi serve install claude-code` sets it up."
        raise ToolSourceError("standard input", f"is not JSON ({error})", remedy) from error
    folder: Any = as_object(call).get("cwd")
    try:
        rules = rules_for(Path(folder) if isinstance(folder, str) else Path.cwd(), machine)
        decision = decide(call, servers=server_names(config), rules=rules, name=name)
    except ToolSourceError as error:
        decision = Decision("ask", f"Your permission rules could not be read: {error}")
    return "" if decision is None else json.dumps(decision.as_json())


def decide(
    call: Any, *, servers: Sequence[str], rules: dict[Behaviour, list[str]], name: str = "hikidashi"
) -> Decision | None:
    """The decision on a call; None leaves it to Claude Code's own rules.

    Args:
        call: The input of the hook.
        servers: The names of the servers behind us.
        rules: The person's permission rules.
        name: Our own name in Claude Code.
    """
    hook_input = as_object(call)
    prefix = f"mcp__{normalized(name)}__"
    called = hook_input.get("tool_name")
    if not isinstance(called, str) or not called.startswith(prefix):
        return None
    own = called.removeprefix(prefix)
    arguments: Any = hook_input.get("tool_input")
    tool = own
    if own in _CALLING:
        inner = as_object(arguments)
        tool, arguments = inner.get("name"), inner.get("arguments", {})
        if not isinstance(tool, str):
            return None  # the gateway says what is missing
    elif own in _OWN:
        return None
    shown, longest = _shown(tool, servers), longest_name_with(name)
    for behaviour in ("deny", "ask", "allow"):
        rule = next(
            (rule for rule in rules.get(behaviour, ()) if _fits(rule, tool, servers, own=prefix, longest=longest)), None
        )
        if rule is not None:
            reason = f"{shown}, by your rule {rule}."
            return Decision(
                behaviour, reason if behaviour != "ask" else f"{reason} Arguments: {_shown_arguments(arguments)}"
            )
    allowed = any(_fits(rule, called.removeprefix("mcp__")) for rule in rules.get("allow", ()))
    if own == "call_tool" and not allowed:  # a rule that allows `call_tool` itself asks for no prompts
        return Decision("ask", f"{shown} wants to be called. Arguments: {_shown_arguments(arguments)}")
    return None


def rules_for(cwd: Path, machine: Machine | None = None) -> dict[Behaviour, list[str]]:
    """The rules about MCP tools: managed settings, those of the user, and those of the project in `cwd`.

    Raises:
        ToolSourceError: a file of rules is invalid.
    """
    machine = machine or Machine()
    user = machine.folder("CLAUDE_CONFIG_DIR|~/.claude") / "settings.json"
    rules: dict[Behaviour, list[str]] = {"deny": [], "ask": [], "allow": []}
    managed = Path(_MANAGED[machine.system]) / "managed-settings.json"
    for file in (managed, user, cwd / ".claude" / "settings.json", cwd / ".claude" / "settings.local.json"):
        data = read_bytes(file)
        content: Any = None if data is None else content_of(file, data, "jsonc")
        held: Any = as_object(content).get("permissions")
        for behaviour, known in rules.items():
            listed: Any = as_object(held).get(behaviour)
            items = as_list(listed)
            known += [rule for rule in items if isinstance(rule, str) and rule.startswith("mcp__")]
    return rules


def server_names(config: Path | None) -> list[str]:
    """The names of the servers in `config`; none where it cannot be read, which the gateway reports."""
    try:
        if config is not None and is_own_format(config):
            return [one.name for one in read_servers([config])]
        data = None if config is None else read_bytes(config)
        content: Any = None if data is None or config is None else content_of(config, data, "jsonc")
    except (ConfigError, ToolSourceError):
        return []
    held = as_object(content)
    servers = held.get("mcpServers", held.get("servers"))
    return list(servers) if is_object(servers) else []


def _fits(
    rule: str, tool: str, servers: Iterable[str] = (), *, own: str = "mcp__", longest: int = LONGEST_NAME
) -> bool:
    """Whether a rule such as `mcp__server`, `mcp__server__*` or `mcp__server__tool` is about `tool`.

    Also one that names the tool as we list it where there are few: `mcp__hikidashi__server__tool`.
    """
    pattern = rule.partition("(")[0].removeprefix(own).removeprefix("mcp__")
    if not pattern:
        return False
    if fnmatchcase(tool, pattern.replace("[", "[[]").replace("?", "[?]")) or tool.startswith(pattern + SEPARATOR):
        return True
    for server in servers:  # long names are cut, and end with a digest
        name = pattern.removeprefix(server_prefix(server))
        if name != pattern and tool in exposed_names({server: [name]}, longest=longest).values():
            return True
    return False


def _shown(tool: str, servers: Iterable[str]) -> str:
    fitting = [server for server in servers if tool.startswith(server_prefix(server))]
    if fitting:
        server = max(fitting, key=len)
        return f"Tool {tool.removeprefix(server_prefix(server))!r} of server {server!r}"
    server, separator, name = tool.partition(SEPARATOR)
    return f"Tool {name!r} of server {server!r}" if separator and name else f"Tool {tool!r}"


def _shown_arguments(arguments: Any) -> str:
    """The arguments, not masked: the person who decides must see them."""
    text = json.dumps(arguments, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
