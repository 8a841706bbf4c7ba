"""Preloading: the tools for a user's message, loaded before the model's first turn.

A search of the message takes the place of the model's own. What was loaded stays for the conversation: a seam reads
from the state of a conversation what its messages have loaded, and searches only for those of which it does not say. As
the result depends only on the catalogue and on the messages in their order, that finds the same tools once more, unless
they were found before the catalogue was ready.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice, zip_longest
from threading import Lock
from typing import Any

from ..errors import ToolSearchError
from .catalog import MAX_LIMIT, ToolCatalog
from .message import requests_in, text_of
from .options import CheckedOptions

logger = logging.getLogger("hikidashi")

_LIKELY = 0.15  # by words alone, the least probability that the first tool is right
_MOST = 4  # the default bound of a conversation, in tools of one message
_REMEMBERED = 1_000  # messages


class MessageSearch:
    """The tools that match a user's message; the last messages are remembered.

    A conversation that is resumed is searched for from its first message, so a seam keeps one of these for all of its
    conversations. What was found before the catalogue was ready is not remembered.
    """

    def __init__(self, catalog: ToolCatalog) -> None:
        self._catalog = catalog
        self._version = catalog.version
        self._remembered: dict[str, list[list[str]]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._catalog)

    def rankings(self, text: str) -> list[list[str]]:
        """For each part of `text` that some tool is likely to serve, the names of the nearest tools, best first.

        To load one in vain costs a few tokens, and to load none a turn of the model.
        """
        version, is_ready = self._catalog.version, self._catalog.is_ready
        with self._lock:
            if version != self._version:
                self._version, self._remembered = version, {}
            known = self._remembered.pop(text, None)
        rankings = known if known is not None else self._searched(text)
        with self._lock:
            if version == self._version and is_ready:
                self._remembered[text] = rankings
                if len(self._remembered) > _REMEMBERED:
                    del self._remembered[next(iter(self._remembered))]
        return rankings

    def _searched(self, text: str) -> list[list[str]]:
        rankings: list[list[str]] = []
        for request in requests_in(text, self._catalog.limit_query):
            try:
                matches = self._catalog.search(request, limit=MAX_LIMIT)
            except ToolSearchError as error:  # one part that cannot be searched for: `select:` with unknown names
                logger.debug("%r was not searched for: %s", request, error)
                continue
            best = next(iter(matches), None)
            if best and (best.confident or (best.nearness is None and best.probability >= _LIKELY)):
                rankings.append([match.name for match in matches])
        return rankings


class Preloader:
    """Which tools to load for the messages of one conversation; a seam keeps one per conversation.

    A seam asks for the `best` tools for a message, and tells with `remember` which of them it has loaded: what its
    budget has no room for stays to be loaded for a later message.

    Args:
        catalog: The tools, or a search of them that several conversations share.
        count: How many tools one message may load.
        most: How many tools a conversation may load in all; by default four times `count`.
        listed: Names of tools that the model has anyway. They are never loaded, but a message for which one of them is
            among the best needs one tool less.
    """

    def __init__(
        self,
        catalog: ToolCatalog | MessageSearch,
        count: int,
        *,
        most: int | None = None,
        listed: Iterable[str] = (),
    ) -> None:
        self.count = count
        self.most = _MOST * count if most is None else most
        self._search = catalog if isinstance(catalog, MessageSearch) else MessageSearch(catalog)
        self._listed = frozenset(listed)
        self._loaded: dict[str, None] = {}

    @classmethod
    def of(cls, options: CheckedOptions, catalog: ToolCatalog | MessageSearch, listed: Iterable[str] = ()) -> Preloader:
        """A preloader with the bounds of the `options` of a search."""
        return cls(catalog, options.preload, most=options.preload_most, listed=listed)

    @property
    def loaded(self) -> tuple[str, ...]:
        """The names of all tools that were loaded, in the order in which they were loaded."""
        return tuple(self._loaded)

    def __contains__(self, name: object) -> bool:
        """Whether the tool was loaded."""
        return name in self._loaded

    def remember(self, names: Iterable[str]) -> None:
        """Count `names` as loaded, for this message or, as the saved state of a conversation says, for earlier ones."""
        self._loaded.update(dict.fromkeys(names))

    def load(self, message: object, *, among: Container[str] | None = None) -> list[str]:
        """The `best` tools for a user's `message`, all of which count as loaded."""
        new = self.best(message, among=among)
        self.remember(new)
        return new

    def best(
        self, message: object, *, among: Container[str] | None = None, has: Container[str] = frozenset()
    ) -> list[str]:
        """The names of the tools to load now for a user's `message`: new ones only, best first.

        Empty for a message that asks for nothing a tool does, and once the conversation has all it may load. A search
        that fails is logged and loads nothing.

        Args:
            message: Text, or a message or content of any framework, of which the text parts are read.
            among: The names that may be loaded; by default those of the catalogue.
            has: The names of tools that the model has by now in another way, such as a search: as `listed`.
        """
        if len(self._loaded) >= self.most or not len(self._search):
            return []
        try:
            rankings = self._search.rankings(text_of(message))
        except Exception:
            # Without these tools the model can still search: never a reason to end a run.
            logger.warning("Nothing was preloaded for a message, since the search failed.", exc_info=True)
            return []
        if among is not None:
            rankings = [[name for name in ranking if name in among] for ranking in rankings]
        merged = (name for names in zip_longest(*rankings) for name in names if name is not None)
        best = islice(dict.fromkeys(merged), self.count)
        new = [name for name in best if not (name in self._loaded or name in self._listed or name in has)]
        return new[: self.most - len(self._loaded)]


def first_new_message(messages: Sequence[Mapping[str, Any]]) -> int:
    """The index of the first message after the last reply of the model, in messages with a `role`."""
    replies = (index for index in range(len(messages), 0, -1) if messages[index - 1].get("role") == "assistant")
    return next(replies, 0)
