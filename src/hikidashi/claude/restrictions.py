"""Disallowed tools, and allowed values of tool parameters.

Tools of this process are checked here, before they run: neither a permission mode nor a settings file
changes that. For the tools of Claude Code and of further MCP servers, its own rules and a `PreToolUse`
hook do the same.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, cast

from claude_agent_sdk import HookContext, HookMatcher
from claude_agent_sdk.types import HookEvent, HookJSONOutput

from ..convert.claude import shown_name
from ..errors import InvalidSettingError

logger = logging.getLogger("hikidashi")

Allowed = object
"""Allowed values of a parameter: a JSON value, a tuple or set of such values, a compiled pattern for the whole string,
or a function that returns whether a value is allowed."""

ParameterRestrictions = Mapping[str, Mapping[str, Allowed]]
"""Tool name → parameter → allowed values."""

_WITHOUT_HOOKS = "CLAUDE_CODE_SIMPLE"
_RESTRICTIONS, _DISALLOWED = "tool_parameter_restrictions", "disallowed_tools"


class Restrictions:
    """Disallowed tools and restricted parameters."""

    def __init__(self, disallowed: Iterable[str] = (), parameters: ParameterRestrictions | None = None) -> None:
        """Validate the restrictions.

        Raises:
            InvalidSettingError: a name is not a string, or a restriction has an unknown type.
        """
        self.disallowed = _checked_names(disallowed)
        self._parameters = _checked_parameters({} if parameters is None else parameters)

    def restricts(self, names: Iterable[str]) -> bool:
        """Whether a tool known by one of `names` has a restricted parameter."""
        return any(self._rules(names))

    def refusal(
        self, names: Iterable[str], arguments: Mapping[str, Any], schema: Mapping[str, Any] | None = None
    ) -> str | None:
        """Why a call is refused, for the model to read; `None` if it is not.

        A parameter that is left out has the default that `schema` names, if it does; else it is not restricted.
        """
        properties: Mapping[str, Any] = (schema or {}).get("properties") or {}
        for parameters in self._rules(names):
            for name, allowed in parameters.items():
                default: Mapping[str, Any] = properties.get(name) or {}
                if name not in arguments and "default" not in default:
                    continue
                value = arguments[name] if name in arguments else default["default"]
                if not _allows(allowed, value):
                    reason = f"Refused: parameter {name!r} cannot be {_shown(value)}. Allowed: {_described(allowed)}."
                    return f"{reason} Call the tool again with an allowed value, or do without it."
        return None

    def hooks(self, environment: Mapping[str, str]) -> dict[HookEvent, list[HookMatcher]]:
        """Hooks by which a CLI in this environment asks before it runs a tool that is not of this process.

        Raises:
            InvalidSettingError: the environment turns hooks off.
        """
        if not self._parameters:
            return {}
        if environment.get(_WITHOUT_HOOKS, "").lower() not in ("", "0", "false", "no", "off"):
            raise InvalidSettingError(
                _RESTRICTIONS,
                self._parameters,
                f"`{_WITHOUT_HOOKS}` in the environment turns off the hooks that check tools of Claude Code. Unset it",
            )

        async def check(given: Any, _: str | None, __: HookContext) -> HookJSONOutput:
            arguments = given.get("tool_input")
            known = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
            refusal = self.refusal([str(given.get("tool_name"))], known)
            if refusal is None:
                return {}
            return {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": refusal,
                }
            }

        return {"PreToolUse": [HookMatcher(hooks=[check])]}

    def _rules(self, names: Iterable[str]) -> Iterable[Mapping[str, Allowed]]:
        known = set(names)
        return (rules for tool, rules in self._parameters.items() if any(_matches(tool, name) for name in known))


class OwnToolRestrictions:
    """The restrictions of tools of this process, which are known by their own names and by those of its servers."""

    def __init__(self, restrictions: Restrictions, servers: Iterable[str] = ()) -> None:
        self._restrictions = restrictions
        self._servers = tuple(map(shown_name, servers))

    def disallows(self, name: str) -> bool:
        """Whether the tool `name` is disallowed.

        Raises:
            InvalidSettingError: a rule with an argument, which only Claude Code's own tools have.
        """
        for rule in self._restrictions.disallowed:
            tool, bracket, _ = rule.partition("(")
            if not any(_matches(tool, known) for known in self._names(name)):
                continue
            if bracket:
                raise InvalidSettingError(
                    _DISALLOWED,
                    rule,
                    f"{name!r} is a tool of the agent, whose calls have no such form. Use `{_RESTRICTIONS}` for it",
                )
            return True
        return False

    def restricts(self, name: str) -> bool:
        """Whether the tool `name` has a restricted parameter."""
        return self._restrictions.restricts(self._names(name))

    def refusal(self, name: str, arguments: object, schema: Mapping[str, Any]) -> str | None:
        """Why a call of the tool `name` is refused, for the model to read; `None` if it is not."""
        given = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
        return self._restrictions.refusal(self._names(name), given, schema)

    def _names(self, name: str) -> set[str]:
        return {name} | {f"mcp__{server}__{shown_name(name)}" for server in self._servers}


def _matches(pattern: str, name: str) -> bool:
    # `mcp__server` stands for each of its tools, as in Claude Code's own rules.
    whole_server = pattern.startswith("mcp__") and "__" not in pattern[5:] and name.startswith(f"{pattern}__")
    return pattern == name or whole_server or fnmatchcase(name, pattern)


def _allows(allowed: Allowed, value: object) -> bool:
    match allowed:
        case re.Pattern():
            return isinstance(value, str) and cast("re.Pattern[str]", allowed).fullmatch(value) is not None
        case tuple() | set() | frozenset():
            return any(_equal(one, value) for one in cast("Iterable[object]", allowed))
        case _ if callable(allowed):
            try:
                return bool(cast("Callable[[object], object]", allowed)(value))
            except Exception:  # a check that raises has not allowed anything
                logger.exception("the restriction %s failed", _described(allowed))
                return False
        case _:
            return _equal(allowed, value)


def _equal(one: object, other: object) -> bool:
    """Whether two JSON values are the same: `True` is not 1, but 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("dict[str, object]", one), cast("dict[str, object]", other)
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(one, list) and isinstance(other, list):
        items, others = cast("list[object]", one), cast("list[object]", other)
        return len(items) == len(others) and all(map(_equal, items, others))
    return one == other


def _described(allowed: Allowed) -> str:
    match allowed:
        case re.Pattern():
            return f"text that matches {cast('re.Pattern[str]', allowed).pattern!r}"
        case tuple() | set() | frozenset():
            return " or ".join(sorted(map(_shown, cast("Iterable[object]", allowed)))) or "nothing"
        case _ if callable(allowed):
            summary = (getattr(allowed, "__doc__", None) or "").strip().partition("\n")[0].rstrip(".")
            return summary or f"what `{getattr(allowed, '__name__', type(allowed).__name__)}` accepts"
        case _:
            return _shown(allowed)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _checked_names(given: object) -> tuple[str, ...]:
    names = list(cast("Iterable[object]", given)) if isinstance(given, Iterable) else [given]
    if isinstance(given, str) or not all(isinstance(name, str) and name.strip() for name in names):
        raise InvalidSettingError(
            _DISALLOWED, cast("object", given), "it must be a list of names, such as ['Bash(git push:*)', 'my_tool']"
        )
    return tuple(cast("list[str]", names))


def _checked_parameters(given: object) -> dict[str, dict[str, Allowed]]:
    wanted = "it must be {tool: {parameter: allowed}}, such as {'Bash': {'run_in_background': False}}"
    if not isinstance(given, Mapping):
        raise InvalidSettingError(_RESTRICTIONS, given, wanted)
    checked: dict[str, dict[str, Allowed]] = {}
    for tool, parameters in cast("Mapping[object, object]", given).items():
        if not isinstance(tool, str) or not tool.strip() or "(" in tool or not isinstance(parameters, Mapping):
            raise InvalidSettingError(_RESTRICTIONS, cast("object", given), wanted)
        checked[tool] = {}
        for name, allowed in cast("Mapping[object, object]", parameters).items():
            if not isinstance(name, str) or not _is_known(allowed):
                raise InvalidSettingError(
                    _RESTRICTIONS,
                    {tool: {name: allowed}},
                    "a parameter may be restricted to a JSON value, a tuple or set of JSON values, a compiled pattern, "
                    "or what a function accepts",
                )
            checked[tool][name] = allowed
    return checked


def _is_known(allowed: object) -> bool:
    if isinstance(allowed, re.Pattern):
        return isinstance(cast("re.Pattern[Any]", allowed).pattern, str)
    if callable(allowed):
        return True
    values = cast("Iterable[object]", allowed) if isinstance(allowed, tuple | set | frozenset) else [allowed]
    try:
        json.dumps(list(values), allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
