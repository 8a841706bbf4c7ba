"""Config files in YAML or TOML, with `${VARIABLE}` references, checked key by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.lazy import attach

if TYPE_CHECKING:
    from .gateway import GatewayConfig as GatewayConfig
    from .gateway import ServerConfig as ServerConfig
    from .load import check_config as check_config
    from .load import find_config as find_config
    from .load import load_config as load_config
    from .sections import AgentConfig as AgentConfig
    from .sections import Config as Config
    from .sections import SlackConfig as SlackConfig
    from .sections import ToolsConfig as ToolsConfig
    from .sections import WebSearchConfig as WebSearchConfig
else:
    __getattr__, __dir__, __all__ = attach(__name__)
