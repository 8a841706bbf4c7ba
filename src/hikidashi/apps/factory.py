"""The responder that a config describes, and the packages, keys and logins that it still lacks."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..config import Config
from ..config.sections import web_search_to_offer
from ..errors import ConfigError, HikidashiError
from ..providers import Package, load
from ..texts import Language
from .failures import Audience, sentence
from .responder import Responder

if TYPE_CHECKING:
    from ..web.answers import Untrusted


def make_responder(config: Config, *, audience: Audience = "user") -> Responder:
    """The responder of `config`; nothing is sent and no process starts before the first question.

    Web tools that are on and lack their key are left out, with a warning in the log. Failure messages are for users,
    or with `audience="operator"` for the operator.

    Raises:
        ConfigError: a key or a package is missing.
        MissingExtra: an extra of hikidashi is not installed.
    """
    made = _claude_code if config.agent.engine == "claude-code" else _strands
    return made(config, audience)


def _strands(config: Config, audience: Audience) -> Responder:
    from ..web.strands import web_tools_factory
    from .strands import StrandsResponder

    agent = config.agent
    web = web_tools_factory(config.tools.web_search, language=agent.language, untrusted=_untrusted(config))
    return StrandsResponder(
        agent,
        factories=[web] if web else [],
        source=config.path or "config",
        audience=audience,
        secrets=config.secrets,
    )


def _claude_code(config: Config, audience: Audience) -> Responder:
    from ..web.providers.choose import configured_provider
    from ..web.pydantic_ai import web_toolset
    from ..web.tools import SearchDefaults
    from .pydantic_ai import PydanticAIResponder

    agent = config.agent
    search = web_search_to_offer(config.tools.web_search)
    provider = None if search is None else configured_provider(search, language=agent.language)
    web = []
    if search is not None:
        defaults = SearchDefaults(search_depth=search.search_depth, max_results=search.max_results)
        web = [web_toolset(provider, language=agent.language, untrusted=_untrusted(config), defaults=defaults)]
    return PydanticAIResponder(
        load(agent.info.make)(agent, agent.model or agent.info.default_model),
        toolsets=web,
        system_prompt=agent.system_prompt,
        language=agent.language,
        model_settings={"max_tokens": agent.max_tokens},
        secrets=config.secrets,
        audience=audience,
        on_close=provider.aclose if provider else None,
    )


def _untrusted(config: Config) -> Untrusted:
    return "fence" if config.agent.untrusted == "fence" else None


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
    elif problem := agent.missing_key(environment):
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
    if config.agent.api_key or sys.platform == "darwin" or _login_file(environment).is_file():
        return True
    set_up = [name for name, value in environment.items() if value]
    return any(name.startswith((*_OTHER_LOGINS, _OTHER_SERVICES)) for name in set_up)


def _login_file(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / ".credentials.json"


@contextmanager
def _logging_disabled() -> Generator[None]:
    """Disable logging: the report has the same problems."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
