"""Log lines of the web tools: when a call starts and ends, without any content of pages.

Queries are logged in full, addresses as scheme, host and path only, because the rest may contain a key. Importing this
adds no handler: `logging.getLogger("hikidashi").setLevel("INFO")` shows the lines.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Literal, cast
from urllib.parse import urlsplit

__all__ = ["Status", "log_verbose_tool_done", "log_verbose_tool_failed", "log_verbose_tool_start", "shown_urls"]

logger = logging.getLogger("hikidashi.web")

Status = Literal["success", "failed"]

_LONGEST = 1_000
_MOST_URLS = 20


def log_verbose_tool_start(tool_name: str, arguments: Mapping[str, object]) -> None:
    """Log that `tool_name` was called; values are quoted, so that they cannot forge log lines."""
    logger.info("%s start: %s", tool_name, {name: _short(value) for name, value in arguments.items()})


def log_verbose_tool_done(
    tool_name: str, status: Status, execution_time_ms: float, *, provider: str = "", cached: bool = False
) -> None:
    """Log the outcome and duration of a call, and whether the answer came from the cache."""
    by = f" provider={provider}" if provider else ""
    logger.info("%s %s: %.1f ms%s%s", tool_name, status, execution_time_ms, by, " cached" if cached else "")


def log_verbose_tool_failed(tool_name: str, error: Exception) -> None:
    """Log the type of an unexpected `error` and where it was raised; not its text, which may contain a key."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" at {trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"
    logger.error("%s failed with an unexpected %s%s", tool_name, type(error).__name__, place)


def shown_urls(urls: object) -> object:
    """`urls` for the log: without user names, passwords, queries and fragments."""
    if isinstance(urls, str) or not isinstance(urls, Sequence):
        return f"<{type(urls).__name__}>"
    return [_shown(url) for url in cast("Sequence[object]", urls)[:_MOST_URLS]]


def _shown(url: object) -> str:
    if not isinstance(url, str):
        return f"<{type(url).__name__}>"
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "<not a URL>"
    return f"{parts.scheme}://{host}{parts.path}" if host else "<not a URL>"


def _short(value: object) -> object:
    return f"{value[:_LONGEST]}…" if isinstance(value, str) and len(value) > _LONGEST else value
