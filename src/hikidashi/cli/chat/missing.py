"""What a config needs and this machine lacks: `chat` and `slack` do not start, and `config check` says the same."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

from hikidashi.agents.failures import sentence
from hikidashi.config import Config
from hikidashi.errors import ConfigError, HikidashiError, MissingExtra

from ..doctor.claude_code import check_login
from ..output import Language

__all__ = ["first_problem", "lacks_something", "problems_of"]

_NO_FILE = "no config file"

_EXTRAS = {
    "anthropic": ("anthropic", "anthropic"),
    "claude_agent_sdk": ("claude-agent-sdk", "claude"),
    "httpx": ("httpx", "web"),
    "mcp": ("mcp", "mcp"),
    "pydantic_ai": ("pydantic-ai-slim", "pydantic-ai"),
    "strands": ("strands-agents", "strands"),
    "tavily": ("tavily-python", "tavily"),
    "wordllama": ("wordllama", "semantic"),
}
_CLAUDE_CODE = ("claude_agent_sdk", "mcp", "pydantic_ai")
_MODELS = {"anthropic": "anthropic", "openai": "openai", "bedrock": "boto3", "ollama": "ollama"}
_SEARCHES = {"tavily": ("httpx", "tavily"), "searxng": ("httpx",), "local": ()}
_KEYS = {"anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "openai": ("OPENAI_API_KEY",)}
_ADVICE = {
    "anthropic": "Set ANTHROPIC_API_KEY, or use `engine: claude-code`, which needs none.",
    "openai": "Set OPENAI_API_KEY, or the `base_url` of a server that needs no key.",
}
# Ways to log in that are not a file: a token, a key, or another service (Bedrock, Vertex and the like).
_OTHER_LOGINS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH", "CLAUDE_CODE_API_KEY")
_OTHER_SERVICES = "CLAUDE_CODE_USE_"


def lacks_something(config: Config) -> bool:
    """Whether a package, a key or a login is known to be missing, as far as that shows without importing anything."""
    search = config.tools.web_search
    missing = next(_missing(config, os.environ, "en"), None)
    return missing is not None or (search is not None and search.needs_key)


def first_problem(config: Config, *, language: Language = "en") -> HikidashiError | None:
    """What keeps the chat from starting and shows without importing anything; None if nothing does."""
    return next(_missing(config, os.environ, language), None)


def problems_of(config: Config) -> list[HikidashiError]:
    """Everything that keeps the chat from starting: what is missing or, if nothing is, what fails when it is made.

    The frameworks are imported, which takes a second or two: nothing less is the judgement of the chat itself.
    """
    if missing := list(_missing(config, os.environ, "en")):
        return missing
    from hikidashi.agents.responder import make_responder

    async def made() -> None:
        await make_responder(config).aclose()

    with _unheard():
        try:
            asyncio.run(made())
        except HikidashiError as error:
            return [error]
    return []


def _missing(config: Config, environment: Mapping[str, str], language: Language) -> Iterator[HikidashiError]:
    source = config.path or _NO_FILE
    for package in dict.fromkeys(_packages(config)):
        if find_spec(package) is None:
            yield _package_missing(package, source)
    agent = config.agent
    if agent.engine == "claude-code":
        if not _may_be_logged_in(config, environment):
            yield ConfigError(source, sentence("login", language, "operator"))
    elif _lacks_key(config, environment):
        yield ConfigError(source, f"is missing. {_ADVICE[agent.provider]}", "agent.api_key")


def _packages(config: Config) -> Iterator[str]:
    agent, search = config.agent, config.tools.web_search
    yield from _CLAUDE_CODE if agent.engine == "claude-code" else ("strands", _MODELS[agent.provider])
    if search is not None and search.usable:
        yield from _SEARCHES[search.provider or "tavily"]
        if search.provider == "local" and search.ranker == "hybrid":
            yield "wordllama"


def _package_missing(package: str, source: str) -> HikidashiError:
    if package in _EXTRAS:
        return MissingExtra(*_EXTRAS[package])
    return ConfigError(source, f"needs the package `{package}`. Run: pip install {package}", "agent.provider")


def _lacks_key(config: Config, environment: Mapping[str, str]) -> bool:
    agent = config.agent
    if agent.api_key or agent.provider not in _KEYS:
        return False
    if agent.provider == "openai" and agent.base_url:
        return False
    return not any(map(environment.get, _KEYS[agent.provider]))


def _may_be_logged_in(config: Config, environment: Mapping[str, str]) -> bool:
    """False only where it is certain that Claude Code would say so: macOS keeps its login where nobody looks."""
    if config.agent.api_key or sys.platform == "darwin" or check_login(environment).status == "ok":
        return True
    set_up = [name for name, value in environment.items() if value]
    return any(name.startswith((*_OTHER_LOGINS, _OTHER_SERVICES)) for name in set_up)


@contextmanager
def _unheard() -> Generator[None]:
    """Nothing is logged: the report says it."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
