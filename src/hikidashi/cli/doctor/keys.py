"""Which keys are set, by name; a value is looked at for mistakes that are visible in it, and never shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from hikidashi.common.urls import split_base_url

from .report import Check

__all__ = ["KEYS", "check_keys"]

KEYS: Mapping[str, str] = {
    "ANTHROPIC_API_KEY": "Claude Code and the Anthropic API",
    "ANTHROPIC_AUTH_TOKEN": "Claude Code and the Anthropic API",
    "ANTHROPIC_BASE_URL": "Claude Code and the Anthropic API",
    "CLAUDE_CODE_OAUTH_TOKEN": "Claude Code with a subscription",
    "OPENAI_API_KEY": "OpenAI models in pydantic-ai and strands",
    "SLACK_APP_TOKEN": "Slack",
    "SLACK_BOT_TOKEN": "Slack",
    "TAVILY_API_KEY": "web search with Tavily",
}
"""Each environment variable the doctor knows, and what reads it."""

_NEEDS = {"TAVILY_API_KEY": ("tavily", "tavily-python", "tavily")}
"""Keys that only one package can use: its module, its name and its extra."""


def check_keys(environment: Mapping[str, str]) -> Iterator[Check]:
    """Each known key: set, not set, or set to something that cannot work."""
    for name, purpose in KEYS.items():
        yield _check(name, environment.get(name), purpose)


def _check(name: str, value: str | None, purpose: str) -> Check:
    if value is None:
        return Check(area="key", name=name, status="absent", found="not set")
    mistake = _mistake(name, value)
    if mistake:
        found, remedy = mistake
        return Check(area="key", name=name, status="problem", found=found, remedy=remedy)
    return Check(area="key", name=name, status="ok", found=f"set, for {purpose}")


def _mistake(name: str, value: str) -> tuple[str, str] | None:
    if not value.strip():
        return "set, but empty", f"Give it a value, or: unset {name}"
    if value != value.strip():
        return "set, with white space around it", f"Set {name} again without the spaces or the newline."
    if name.endswith("_URL") and not _is_web_address(value):
        return "set, but no http(s) address", f"Set {name} to an address such as https://api.anthropic.com"
    if name in _NEEDS and find_spec(_NEEDS[name][0]) is None:
        _, package, extra = _NEEDS[name]
        return f"set, but {package} is not installed", f"pip install 'hikidashi[{extra}]'"
    return None


def _is_web_address(value: str) -> bool:
    try:
        split_base_url(value)
    except ValueError:
        return False
    return True
