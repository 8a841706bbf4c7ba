"""The tools that one conversation offers to the API: under which names, in which request, and which are loaded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from ...convert.shared.wire_names import WireNames
from ...tool import Tool
from ..answers.budget import AnswerBudget
from ..answers.texts import SEARCH_TOOLS, Wording
from ..catalog import MAX_TOOLS
from ..engine.entry import entry_of
from ..unreachable import reporting_lost_connections
from ..wire import to_anthropic_search
from ..wire.definitions import check_name_is_free, definitions_of, kept_loaded, verdict_on
from ..wire.models import Provider, support
from ._options import Expand

__all__ = ["OfferedTools"]

_LONGEST_NAME: dict[Provider, int] = {"bedrock": 64}
_LONGEST_ELSEWHERE = 128


class OfferedTools:
    """The tools of one conversation, the part of a request about them, and those that are loaded.

    Args:
        own: The tools, under their own names.
        search: The definition of the search tool.
        model: The model, which decides what `expand="auto"` is.
        provider: Where the model runs.
        always_loaded: Own names of tools that are loaded from the start.
        usage: Number of calls, by own name.
        betas: Beta features of the request.
        expand: How found tools are loaded.
        force: Search also where all definitions are small.
        budget: To which definitions are cut.
        words: What the model reads of a lost server.
    """

    def __init__(
        self,
        own: list[Tool],
        *,
        search: dict[str, Any],
        model: str,
        provider: Provider,
        always_loaded: list[str],
        usage: Mapping[str, int],
        betas: Literal["auto", "off"] | Sequence[str],
        expand: Expand,
        force: bool,
        budget: AnswerBudget,
        words: Wording,
    ) -> None:
        self._budget = budget
        self._words = words
        longest = _LONGEST_NAME.get(provider, _LONGEST_ELSEWHERE)
        self.names = WireNames((tool.name for tool in own), longest=longest)
        given = [self._sent(tool) for tool in own]
        self.tools = {tool.name: tool for tool in given}
        """By the name under which each is sent."""
        kept = [self.names.of(name) if name in self.names else name for name in always_loaded]
        counts = {self.names.of(name): count for name, count in usage.items() if name in self.names}
        definitions = definitions_of(given, limit=None)
        self.searching = force or bool(verdict_on(definitions))
        """Whether the model searches; else all definitions are sent."""
        if expand == "auto":
            able = support(model, provider) == "yes" and len(given) <= MAX_TOOLS
            expand = "references" if able else "tools"
        self.by_reference = expand == "references"
        self.request: dict[str, Any]
        """`tools` and `betas` of the next request."""
        self.loaded: dict[str, None]
        """The names of the loaded tools, as sent."""
        if self.searching:
            self.request = self._offer(given, search, always_loaded=kept, usage=counts, provider=provider, betas=betas)
            self.loaded = {
                tool["name"]: None
                for tool in self.request["tools"]
                if tool["name"] in self.tools and not tool.get("defer_loading")
            }
        else:
            self.request = to_anthropic_search(given, betas=betas, always_loaded=kept)
            self.loaded = dict.fromkeys(self.tools)
        self.preloaded: list[str] = []
        """Those of them that messages of the user loaded."""

    def __contains__(self, name: object) -> bool:
        """Whether the tool of this own name is loaded."""
        return isinstance(name, str) and name in self.names and self.names.of(name) in self.loaded

    def add_beta(self, beta: str) -> None:
        """Add a beta feature to the request."""
        self.request = {**self.request, "betas": [*self.request.get("betas", ()), beta]}

    def own(self, name: str) -> str:
        """The name in the catalogue of a tool that is sent as `name`."""
        return self.names.original(name) or name

    def preload(self, best: Iterable[str], *, in_full: bool, is_known: bool = False) -> list[str]:
        """Load `best` as far as the budget allows; return what is new.

        Args:
            best: The names of tools.
            in_full: Put their definitions into the list of tools; else a message has to name them.
            is_known: They were loaded before, so that the budget allowed them.
        """
        sent = [self.names.of(name) for name in best if name in self.names]
        new = [name for name in sent if name not in self.loaded]
        if not is_known:
            new = [entry.name for entry in self._budget.shown([entry_of(self.tools[name]) for name in new]).whole]
        self.load(new, in_full=in_full)
        self.preloaded += new
        return [*map(self.own, new)]

    def load(self, names: Iterable[str], *, in_full: bool = False) -> None:
        """Load tools: without references, or `in_full`, by adding their definitions at the end of the request.

        With references, the definition of a deferred tool moves there, where it belongs to the cached prefix.
        """
        new = [name for name in dict.fromkeys(names) if name not in self.loaded]
        self.loaded.update(dict.fromkeys(new))
        if new and self.searching and (in_full or not self.by_reference):
            others = [tool for tool in self.request["tools"] if tool["name"] not in new]
            added = definitions_of(self.tools[name].deferred(False) for name in new)
            self.request = {**self.request, "tools": [*others, *added]}

    def _sent(self, tool: Tool) -> Tool:
        """`tool` with a name that the API accepts, and a definition cut to the budget."""
        sent = reporting_lost_connections(tool, self._words)
        name = self.names.of(tool.name)
        if name != tool.name:
            sent = replace(sent, name=name, description=tool.description or tool.name)
        if len(tool.description) + len(str(tool.input_schema)) <= self._budget.tokens:
            return sent  # a token is at least one character
        cut = self._budget.cut(entry_of(sent))
        return replace(sent, description=cut.description, input_schema=cut.input_schema)

    def _offer(
        self,
        given: list[Tool],
        search: dict[str, Any],
        *,
        always_loaded: Collection[str],
        usage: Mapping[str, int],
        provider: Provider,
        betas: Literal["auto", "off"] | Sequence[str],
    ) -> dict[str, Any]:
        if self.by_reference:
            request = to_anthropic_search(
                given,
                variant="client",
                provider=provider,
                always_loaded=always_loaded,
                usage=usage,
                betas=betas,
                force=True,
            )
            return {**request, "tools": [search, *request["tools"][1:]]}
        check_name_is_free(SEARCH_TOOLS, self.tools)
        kept = kept_loaded(list(self.tools), always_loaded, usage)
        loaded = definitions_of(tool.deferred(False) for name, tool in self.tools.items() if name in kept)
        request = {"tools": [search, *loaded]}
        return request if isinstance(betas, str) else {**request, "betas": list(betas)}
