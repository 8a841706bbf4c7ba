"""Which models and providers support tool search, and their beta headers: one table each.

No other module names a model or a provider.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

__all__ = ["ADDITIONS_BETA", "BETA_OF", "MCP_BETA", "Provider", "Support", "check_choice", "support", "takes_additions"]

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


def check_choice(option: str, value: object, choices: Iterable[str], *, or_else: str = "") -> None:
    """Raise unless `value` is one of `choices`.

    Raises:
        ValueError: the message lists the choices, and what else the option accepts.
    """
    known = list(choices)
    if value not in known:
        listed = ", ".join(map(repr, known)) + (f" or {or_else}" if or_else else "")
        raise ValueError(f"`{option}` is {value!r}: use one of {listed}.")
