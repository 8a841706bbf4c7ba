"""The responder that a config describes: strands or Claude Code, with the web tools if they are on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..config import Config
from ..config.register import web_search_to_offer
from ..providers import load
from .failures import Audience
from .responder import Responder

if TYPE_CHECKING:
    from ..web.answers.fence import Untrusted

__all__ = ["make_responder"]


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
