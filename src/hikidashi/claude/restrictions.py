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
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, TypeGuard

from claude_agent_sdk import HookContext, HookMatcher
from claude_agent_sdk.types import HookEvent, HookJSONOutput

from ..common.json import as_object, as_text, is_iterable, is_list, is_mapping, is_object
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


def checked_restrictions(disallowed: Iterable[str], parameters: ParameterRestrictions | None) -> Restrictions:
    """The restrictions that a model was given, validated.

    Raises:
        InvalidSettingError: a name is not a string, or a restriction has an unknown type.
    """
    given: ParameterRestrictions = {} if parameters is None else parameters
    return Restrictions(_checked_names(disallowed), _checked_parameters(given), given)


@dataclass(frozen=True)
class Restrictions:
    """Disallowed tools and restricted parameters."""

    disallowed: tuple[str, ...] = ()
    parameters: Mapping[str, Mapping[str, _AllowedValues]] = field(
        default_factory=dict[str, Mapping[str, "_AllowedValues"]]
    )
    given: ParameterRestrictions = field(default_factory=dict[str, Mapping[str, Allowed]])
    """The parameters as they were given, for errors."""
    servers: tuple[str, ...] = ()
    """The servers under which tools of this process are known too."""

    def disallows(self, tool: str) -> bool:
        """Whether a tool of this process is disallowed.

        Raises:
            InvalidSettingError: a rule with an argument, which only Claude Code's own tools have.
        """
        for rule in self.disallowed:
            pattern, bracket, _ = rule.partition("(")
            if not self._matches(pattern, tool):
                continue
            if bracket:
                raise InvalidSettingError(
                    _DISALLOWED,
                    rule,
                    f"{tool!r} is a tool of the agent, whose calls have no such form. Use `{_RESTRICTIONS}` for it",
                )
            return True
        return False

    def restricts(self, tool: str) -> bool:
        """Whether the tool has a restricted parameter."""
        return any(self._matches(pattern, tool) for pattern in self.parameters)

    def refusal(self, tool: str, arguments: object, schema: Mapping[str, Any] | None = None) -> str | None:
        """Why a call is refused, for the model to read; `None` if it is not.

        A parameter that is left out has the default that `schema` names, if it does; else it is not restricted.
        """
        given, properties = as_object(arguments), as_object((schema or {}).get("properties"))
        for pattern, parameters in self.parameters.items():
            if not self._matches(pattern, tool):
                continue
            for name, rule in parameters.items():
                default = as_object(properties.get(name))
                if name not in given and "default" not in default:
                    continue
                value = given[name] if name in given else default["default"]
                if not rule.allows(value):
                    reason = f"Refused: parameter {name!r} cannot be {_shown(value)}. Allowed: {rule.described}."
                    return f"{reason} Call the tool again with an allowed value, or do without it."
        return None

    def hooks(self, environment: Mapping[str, str]) -> dict[HookEvent, list[HookMatcher]]:
        """Hooks by which a CLI in this environment asks before it runs a tool that is not of this process.

        Raises:
            InvalidSettingError: the environment turns hooks off.
        """
        if not self.parameters:
            return {}
        if environment.get(_WITHOUT_HOOKS, "").lower() not in ("", "0", "false", "no", "off"):
            raise InvalidSettingError(
                _RESTRICTIONS,
                self.given,
                f"`{_WITHOUT_HOOKS}` in the environment turns off the hooks that check tools of Claude Code. Unset it",
            )

        async def check(given: Any, _: str | None, __: HookContext) -> HookJSONOutput:
            refusal = self.refusal(str(given.get("tool_name")), given.get("tool_input"))
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

    def _matches(self, pattern: str, tool: str) -> bool:
        names = (tool, *(f"mcp__{shown_name(server)}__{shown_name(tool)}" for server in self.servers))
        # `mcp__server` stands for each of its tools, as in Claude Code's own rules.
        whole_server = pattern.startswith("mcp__") and "__" not in pattern[5:]
        # Names of tools are case-sensitive on every system; `fnmatch` follows that of the file system.
        return any(
            pattern == name or fnmatchcase(name, pattern) or (whole_server and name.startswith(f"{pattern}__"))
            for name in names
        )


@dataclass(frozen=True)
class _AllowedValues:
    """The allowed values of one parameter."""

    allows: Callable[[object], bool]
    described: str


def _rule(allowed: object) -> _AllowedValues | None:
    """The rule that `allowed` stands for; None if it is nothing that can be checked."""
    if _is_pattern(allowed):
        described = f"text that matches {allowed.pattern!r}"
        rule = _AllowedValues(lambda value: isinstance(value, str) and allowed.fullmatch(value) is not None, described)
        return rule if isinstance(allowed.pattern, str) else None
    if callable(allowed):
        return _rule_of_function(allowed)
    values = list(allowed) if is_iterable(allowed) and isinstance(allowed, tuple | set | frozenset) else [allowed]
    try:
        json.dumps(values, allow_nan=False)
    except (TypeError, ValueError):
        return None
    described = " or ".join(sorted(map(_shown, values))) or "nothing"
    return _AllowedValues(lambda value: any(_equal(one, value) for one in values), described)


def _is_pattern(value: object) -> TypeGuard[re.Pattern[Any]]:
    return isinstance(value, re.Pattern)


def _rule_of_function(function: Callable[[object], object]) -> _AllowedValues:
    summary = (getattr(function, "__doc__", None) or "").strip().partition("\n")[0].rstrip(".")
    described = summary or f"what `{getattr(function, '__name__', type(function).__name__)}` accepts"

    def allows(value: object) -> bool:
        try:
            return bool(function(value))
        except Exception:  # a check that raises has not allowed anything
            logger.exception("the restriction %s failed", described)
            return False

    return _AllowedValues(allows, described)


def _equal(one: object, other: object) -> bool:
    """Whether two JSON values are the same: `True` is not 1, but 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if is_list(one) and is_list(other):
        return len(one) == len(other) and all(map(_equal, one, other))
    return one == other


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _checked_names(given: object) -> tuple[str, ...]:
    names = tuple(given) if is_iterable(given) and not isinstance(given, str) else ("",)
    if not all(as_text(name).strip() for name in names):
        raise InvalidSettingError(
            _DISALLOWED, given, "it must be a list of names, such as ['Bash(git push:*)', 'my_tool']"
        )
    return names


def _checked_parameters(given: object) -> dict[str, dict[str, _AllowedValues]]:
    wanted = "it must be {tool: {parameter: allowed}}, such as {'Bash': {'run_in_background': False}}"
    checked: dict[str, dict[str, _AllowedValues]] = {}
    if not is_mapping(given):
        raise InvalidSettingError(_RESTRICTIONS, given, wanted)
    for tool, parameters in given.items():
        if not as_text(tool).strip() or "(" in tool or not is_mapping(parameters):
            raise InvalidSettingError(_RESTRICTIONS, given, wanted)
        checked[tool] = {}
        for name, allowed in parameters.items():
            rule = _rule(allowed)
            if rule is None or as_text(name) != name:
                raise InvalidSettingError(
                    _RESTRICTIONS,
                    {tool: {name: allowed}},
                    "a parameter may be restricted to a JSON value, a tuple or set of JSON values, a compiled pattern, "
                    "or what a function accepts",
                )
            checked[tool][name] = rule
    return checked
