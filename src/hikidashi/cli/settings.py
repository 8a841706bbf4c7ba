"""The config that a command runs with: the one in a file, or a default for the keys that are set."""

from __future__ import annotations

import os
from pathlib import Path

from hikidashi.config import AgentConfig, Config, ToolsConfig, WebSearchConfig, find_config, load_config
from hikidashi.providers import preferred_search_provider

from .output import language_of_environment


def config_for(named: Path | None) -> Config:
    """The config in the file `named` or in that of the current folder, or a default for the keys that are set.

    By default Tavily or the local index searches, and a model's API or Claude Code answers.

    Raises:
        ConfigError: the file cannot be used.
    """
    path = named or find_config()
    if path is not None:
        return load_config(path)
    found = preferred_search_provider(os.environ)
    search = WebSearchConfig(enabled=True, api_key=found.key_in(os.environ), provider=found.name)
    engine = "strands" if os.environ.get("ANTHROPIC_API_KEY") else "claude-code"
    return Config(
        tools=ToolsConfig(web_search=search), agent=AgentConfig(engine=engine, language=language_of_environment())
    )
