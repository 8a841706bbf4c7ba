"""robots.txt by RFC 9309: which pages of a host a crawler may read, and the delay between two pages.

`urllib.robotparser` applies the first rule that matches and knows no wildcards; the standard applies the longest.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from ...errors import FetchRefused, PageError
from ..messages import reason

if TYPE_CHECKING:
    from ..pages.fetch import Fetcher

__all__ = ["AGENT", "LONGEST_DELAY", "Robots", "RobotsRules", "parse_robots"]

AGENT = "hikidashi"
"""The product token of this crawler in robots.txt."""
LONGEST_DELAY = 10.0
"""The longest delay between two pages of a host that is honoured, in seconds."""

_MAX_BYTES = 500 * 1024  # the minimum that the standard requires a crawler to parse
_MOST_RULES = 2_000
_LATER = (408, 429)  # statuses of a server that may have a robots.txt
_LINE = re.compile(r"\s*([A-Za-z-]+)\s*:\s*([^#\r\n]*)")


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules of one host."""

    rules: tuple[tuple[str, bool], ...] = ()
    """Path patterns, and whether they are allowed."""
    delay: float = 0.0
    """Seconds between two pages."""
    refused: str | None = None
    """Why nothing may be read, if robots.txt could not be fetched."""

    def allows(self, path: str) -> bool:
        """Whether `path`, with its query, may be read: the longest matching rule decides, and without one it may."""
        target = _normal(path or "/")
        fitting = [(len(pattern), allowed) for pattern, allowed in self.rules if _fits(pattern, target)]
        return max(fitting, default=(0, True))[1]


ALLOW_ALL = RobotsRules()


def parse_robots(body: bytes, agent: str = AGENT) -> RobotsRules:
    """The rules of a robots.txt for `agent`: all its groups merged, else the group `*`."""
    groups: dict[str, list[tuple[str, str]]] = {}
    agents: list[str] = []
    in_rules = False
    for line in body[:_MAX_BYTES].decode("utf-8-sig", "replace").splitlines():
        if not (found := _LINE.match(line)):
            continue
        name, value = found[1].lower(), found[2].strip()
        if name == "user-agent":
            agents = [value.lower()] if in_rules or not agents else [*agents, value.lower()]
            in_rules = False
            groups.setdefault(value.lower(), [])
        elif name in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for one in agents:
                groups[one].append((name, value))
    own = [rule for name, rules in groups.items() if _is_for(name, agent) for rule in rules]
    known = any(_is_for(name, agent) for name in groups)
    return _rules(own if known else groups.get("*", []))


class Robots:
    """The rules of each host, fetched once through a guarded fetcher."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._hosts: dict[str, asyncio.Task[RobotsRules]] = {}

    async def rules(self, url: str) -> RobotsRules:
        """The rules of the host of `url`."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._hosts:
            self._hosts[origin] = asyncio.create_task(self._fetched(f"{origin}/robots.txt"))
        return await asyncio.shield(self._hosts[origin])

    async def refusal(self, url: str) -> str | None:
        """Why `url` must not be read; None if it may."""
        rules = await self.rules(url)
        if rules.refused is not None:
            return rules.refused
        parts = urlsplit(url)
        allowed = rules.allows(f"{parts.path}?{parts.query}" if parts.query else parts.path)
        return None if allowed else reason("robots")

    async def known_refusal(self, url: str) -> str | None:
        """As `refusal`, but only if the rules of the host are known; none are fetched for a link alone."""
        parts = urlsplit(url)
        return await self.refusal(url) if f"{parts.scheme}://{parts.netloc}" in self._hosts else None

    async def aclose(self) -> None:
        """Cancel the requests that are running."""
        for task in self._hosts.values():
            task.cancel()
        await asyncio.gather(*self._hosts.values(), return_exceptions=True)

    async def _fetched(self, url: str) -> RobotsRules:
        try:
            fetched = await self._fetcher.fetch(url)
        except FetchRefused:
            return ALLOW_ALL  # fetching the pages is guarded as well
        except PageError as error:
            status = error.status_code or 0
            endless = error.reason == reason("redirects", limit=self._fetcher.max_redirects)
            if endless or (400 <= status < 500 and status not in _LATER):
                return ALLOW_ALL  # a host without robots.txt allows everything
            return RobotsRules(refused=reason("robots_unreadable", why=error.reason))
        return await asyncio.to_thread(parse_robots, fetched.body)


def _is_for(name: str, agent: str) -> bool:
    token = re.match(r"[a-z_-]+", name)
    return bool(token) and token[0] == agent.lower()


def _rules(lines: Iterable[tuple[str, str]]) -> RobotsRules:
    rules: list[tuple[str, bool]] = []
    delay = 0.0
    for name, value in lines:
        if name == "crawl-delay":
            delay = max(delay, _seconds(value))
        elif value and len(rules) < _MOST_RULES:
            rules.append((_normal(value), name == "allow"))
    return RobotsRules(tuple(rules), min(delay, LONGEST_DELAY))


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        return 0.0
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0


def _normal(path: str) -> str:
    """`path` normalized: %7E and ~ are the same, an encoded slash stays encoded."""
    kept = path.replace("%2F", "%252F").replace("%2f", "%252F")
    return quote(unquote(kept, errors="replace"), safe="/*$?=&!'()+,;:@~[]%")


def _fits(pattern: str, path: str) -> bool:
    """Whether `path` matches `pattern`; `*` is any characters, `$` the end. Takes linear time."""
    ends = pattern.endswith("$")
    first, *pieces = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    if not pieces:
        return not ends or at == len(path)
    *middle, last = pieces
    for piece in middle:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return (path.endswith(last) and len(path) - len(last) >= at) if ends else path.find(last, at) >= 0
