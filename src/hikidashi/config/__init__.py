"""Config files in YAML or TOML, with `${VARIABLE}` references, checked key by key."""

from __future__ import annotations

from .load import check_config, find_config, load_config
from .sections import AgentConfig, Config, GatewayConfig, ServerConfig, SlackConfig, ToolsConfig, WebSearchConfig

__all__ = [
    "AgentConfig",
    "Config",
    "GatewayConfig",
    "ServerConfig",
    "SlackConfig",
    "ToolsConfig",
    "WebSearchConfig",
    "check_config",
    "find_config",
    "load_config",
]
