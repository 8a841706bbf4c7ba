"""Preloading in a pydantic-ai run: which tools the messages of its history load, and how the model sees them.

The tools for the first messages are in the request as if they had never been deferred. Those for later messages are
added in the history, as pydantic-ai does with tools that were found: a change of the list of tools would invalidate the
prompt cache. Both are recorded in the history of the run as a `ToolAvailabilityDeltaPart`, without which pydantic-ai
would refuse their calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...errors import MissingExtra
from ..engine.text.user_message import text_of
from ..preload import Preloader
from ..records.conversation import ConversationRecord

try:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.tools import ToolDefinition
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

from ._engine import Engine
from ._history import happened_in

__all__ = ["Preloading"]


class Preloading:
    """The tools that are preloaded in one run, and how all tools of its conversation were found.

    Args:
        engine: The search of the agent.
        count: How many tools one message may load; 0 for none.
        most: How many tools the conversation may load.
        conversation: The records of the conversation.
    """

    def __init__(self, engine: Engine, count: int, most: int | None, conversation: ConversationRecord) -> None:
        self._engine = engine
        self._count = count
        self._most = most
        self._conversation = conversation
        self._preloader: Preloader | None = None
        self._read: list[object] = []
        self._loaded: dict[str, None] = {}
        self.first: set[str] = set()
        """The tools for messages before the first answer of a model, which are not deferred."""
        self._visible: dict[str, tuple[ToolDefinition, ToolDefinition]] = {}

    @property
    def loaded(self) -> tuple[str, ...]:
        """The names of the preloaded tools, in the order in which they were loaded."""
        return tuple(self._loaded)

    def read(self, history: Sequence[ModelMessage], tools: Sequence[ToolDefinition]) -> None:
        """Load the tools for the messages of users in `history` that were not read before, among deferred `tools`."""
        searched: dict[str, ToolDefinition] | None = None
        original = self._engine.names.original
        for happened in happened_in(history):
            self._conversation.remember(map(original, happened.found), "search")
            content = happened.message
            if not self._count or content is None or content in self._read:
                continue
            if searched is None:
                # `with_native` marks deferred tools that may be searched: those of an unloaded capability may not.
                searched = {tool.name: tool for tool in tools if tool.defer_loading and tool.with_native}
            if not searched:
                return
            if self._preloader is None:
                self._preloader = self._engine.preloader([*searched.values()], self._count, self._most)
            self._read.append(content)
            names = [name for name in happened.added if name in searched]
            if not names:  # the history does not say what the message has loaded
                best = self._preloader.best(content, among=searched)
                names = self._engine.within_budget([searched[name] for name in best])
            self._preloader.remember(names)
            self._loaded.update(dict.fromkeys(names))
            if happened.is_first:
                self.first.update(names)
            if happened.is_new:
                self._conversation.preloaded(text_of(content), [*map(original, names)])
            else:
                self._conversation.remember(map(original, names), "preload")

    def shown(self, tools: Sequence[ToolDefinition], *, lists_deferred: bool) -> list[ToolDefinition]:
        """`tools` with the preloaded ones last, in the order in which they were loaded; the first are not deferred.

        Args:
            tools: The tools of a request.
            lists_deferred: Whether the request lists deferred tools too. Then later ones stay where they are listed.
        """
        last = {name for name in self.loaded if name in self.first or not lists_deferred}
        named = {tool.name: tool for tool in tools if tool.name in last}
        ordered = (named[name] for name in self.loaded if name in named)
        return [*(tool for tool in tools if tool.name not in named), *map(self._shown, ordered)]

    def _shown(self, tool: ToolDefinition) -> ToolDefinition:
        if tool.name not in self.first:
            return tool
        known = self._visible.get(tool.name)
        if known is None or (known[0] is not tool and known[0] != tool):
            known = self._visible[tool.name] = tool, replace(tool, defer_loading=False, with_native=None)
        return known[1]
