"""Which of the configured tools are offered to a model: those that are on and can work."""

from __future__ import annotations

import logging

from .models import WebSearchConfig

__all__ = ["web_search_to_offer"]

logger = logging.getLogger("hikidashi.config")


def web_search_to_offer(search: WebSearchConfig | None) -> WebSearchConfig | None:
    """`search` where it can be offered, else None; call it at start, since a missing key is logged as a warning."""
    if search is None or not search.enabled:
        return None
    if search.needs_key:
        logger.warning(
            "tools.web_search is enabled but has no api_key: the web tools are not offered. "
            "Set the key (api_key: ${TAVILY_API_KEY}), or choose provider: local."
        )
        return None
    return search
