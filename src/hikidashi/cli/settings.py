"""What a command runs with: the config in a file, or what serves best without one; and the folder for what it keeps."""

from __future__ import annotations

import os
from pathlib import Path

from hikidashi.config import AgentConfig, Config, ToolsConfig, WebSearchConfig, find_config, load_config
from hikidashi.providers import preferred_search_provider

from .output import language_of_environment

__all__ = ["config_for", "state_folder"]


def config_for(named: Path | None) -> Config:
    """The config in the file `named`, or in the one that is found here; without any, what the keys that are set allow.

    Tavily or the local index searches, and a model's API or Claude Code answers.

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


def state_folder() -> Path:
    """Where commands keep what outlives them: `$XDG_STATE_HOME/hikidashi`, by default under `~/.local/state`."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "hikidashi"
