"""Tables of the search providers and chat models that a config, a command or an argument may name.

Everything that differs between providers is in their row: a new provider is one module and one row. Nothing is
imported before a provider is used. `config`, `web` and `agents` all read these tables.
"""

from __future__ import annotations

from .chat import CHAT_MODELS, ChatModel, api_models, chat_model_of
from .package import Package, load
from .search import (
    DEFAULT_RANKER,
    DEFAULT_SEARCH_PROVIDER,
    SEARCH_PROVIDERS,
    Option,
    Ranker,
    SearchProviderInfo,
    names_taking,
    preferred_search_provider,
    providers_that_can,
)

__all__ = [
    "CHAT_MODELS",
    "DEFAULT_RANKER",
    "DEFAULT_SEARCH_PROVIDER",
    "SEARCH_PROVIDERS",
    "ChatModel",
    "Option",
    "Package",
    "Ranker",
    "SearchProviderInfo",
    "api_models",
    "chat_model_of",
    "load",
    "names_taking",
    "preferred_search_provider",
    "providers_that_can",
]
