"""Whether the web tools of a config are offered to a model."""

from __future__ import annotations

import logging

from .models import WebSearchConfig

__all__ = ["web_search_to_offer"]

logger = logging.getLogger("hikidashi.config")


def web_search_to_offer(search: WebSearchConfig | None) -> WebSearchConfig | None:
    """`search` if its tools can be offered, else None; a missing key is logged as a warning."""
    if search is None or not search.enabled:
        return None
    if search.needs_key:
        logger.warning("tools.web_search is enabled but %s", search.info.missing_key("config"))
        return None
    return search
