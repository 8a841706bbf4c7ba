"""Packages, keys and logins that a config needs and that are missing: `chat` and `slack` do not start, and
`config check` reports them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager

from hikidashi.apps.failures import sentence
from hikidashi.config import Config
from hikidashi.errors import ConfigError, HikidashiError
from hikidashi.providers import Package

from ..doctor import check_login
from ..output import Language

__all__ = ["anything_missing", "first_problem", "startup_problems"]

_NO_FILE = "no config file"

# Other ways to log in than a file: a token, a key, or another service (Bedrock, Vertex and others).
_OTHER_LOGINS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH", "CLAUDE_CODE_API_KEY")
_OTHER_SERVICES = "CLAUDE_CODE_USE_"


def anything_missing(config: Config) -> bool:
    """Whether a package, a key or a login is missing, checked without imports."""
    search = config.tools.web_search
    missing = next(_missing(config, os.environ, "en"), None)
    return missing is not None or (search is not None and search.needs_key)


def first_problem(config: Config, *, language: Language = "en") -> HikidashiError | None:
    """The error for the first missing package, key or login, checked without imports; None if nothing is missing."""
    return next(_missing(config, os.environ, language), None)


def startup_problems(config: Config) -> list[HikidashiError]:
    """Everything that keeps the chat from starting: what is missing or, if nothing is, the error of a real start.

    This imports the frameworks, which takes a second or two.
    """
    if missing := list(_missing(config, os.environ, "en")):
        return missing
    from hikidashi.apps.factory import make_responder

    async def made() -> None:
        await make_responder(config).aclose()

    with _logging_disabled():
        try:
            asyncio.run(made())
        except HikidashiError as error:
            return [error]
    return []


def _missing(config: Config, environment: Mapping[str, str], language: Language) -> Iterator[HikidashiError]:
    source, agent = config.path or _NO_FILE, config.agent
    for package, key in _packages(config).items():
        if not package.is_installed:
            yield package.missing(source, key)
    if agent.engine == "claude-code":
        if not _may_be_logged_in(config, environment):
            yield ConfigError(source, sentence("login", language, "operator"))
    elif problem := agent.info.missing_key(agent, environment):
        yield ConfigError(source, problem, "agent.api_key")


def _packages(config: Config) -> dict[Package, str]:
    """Each package that the config needs, and the setting that needs it."""
    search = config.tools.web_search
    needed = dict.fromkeys(config.agent.info.packages, "agent.provider")
    if search is not None and search.usable:
        needed |= dict.fromkeys(search.info.packages_for(search.ranker), "tools.web_search.provider")
    return needed


def _may_be_logged_in(config: Config, environment: Mapping[str, str]) -> bool:
    """False only if Claude Code is certain to refuse: on macOS the login is in the keychain, which is not read."""
    if config.agent.api_key or sys.platform == "darwin" or check_login(environment).status == "ok":
        return True
    set_up = [name for name, value in environment.items() if value]
    return any(name.startswith((*_OTHER_LOGINS, _OTHER_SERVICES)) for name in set_up)


@contextmanager
def _logging_disabled() -> Generator[None]:
    """Disable logging: the report has the same problems."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
