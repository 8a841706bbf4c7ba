"""The state of a conversation in which the model searches for tools and calls them; no network here.

`run.py` sends `ToolLoop.request` and passes each reply to `ToolLoop.take`; this file never sees a client.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import anyio

from ...convert.anthropic import call_anthropic
from ...convert.shared.wire_names import WireNames
from ...errors import ToolSearchError, ToolTurnLimitError, ToolValidationError, Unsupported
from ...tool import Tool
from ..answers.budget import DEFAULT_BUDGET, AnswerBudget, Shown, budget_of
from ..answers.search_tools import Found, Strategy, check_options, names_in, search_catalog
from ..answers.texts import SEARCH_TOOLS, Language, Wording, search_names, wording
from ..catalog import MAX_LIMIT, MAX_TOOLS, ToolCatalog
from ..engine.entry import entry_of
from ..mcp_servers.lost_connection import reporting_lost_connections
from ..mcp_servers.unreachable import unreachable_of
from ..preload import Preloader, check_preload, first_new_message
from ..records.conversation import ConversationRecord
from ..wire import client_search_tool, to_anthropic_search
from ..wire.blocks import ToolSearchCall, ToolSearchFailure, blocks_of, plain_block
from ..wire.definitions import check_name_is_free, definitions_of, kept_loaded, verdict_on
from ..wire.models import ADDITIONS_BETA, BETA_OF, Provider, check_choice, support, takes_additions
from ._history import (
    addition,
    called_in_messages,
    found_blocks,
    loaded_by_messages,
    replayed,
    settled,
    user_text,
    without_additions,
)
from ._options import Expand, max_results_of

if TYPE_CHECKING:
    from ..records.log import Recorder

__all__ = ["ToolLoop", "ToolRun"]

logger = logging.getLogger("hikidashi")

_LONGEST_NAME: dict[Provider, int] = {"bedrock": 64}
_LONGEST_ELSEWHERE = 128
_PAUSED = ("pause_turn", "compaction")  # the reply is sent back unchanged, and the API continues it


@dataclass(frozen=True, kw_only=True)
class ToolRun:
    """A finished conversation."""

    message: Any
    """The last message, an object of the anthropic package."""
    messages: list[dict[str, Any]]
    """The whole conversation, to continue from; without the last message if it is empty or cut off in a call."""
    turns: int
    """Number of requests."""
    searches: tuple[ToolSearchCall, ...]
    """The searches of the model and their results."""
    loaded: tuple[str, ...]
    """The names of the loaded tools."""
    preloaded: tuple[str, ...] = ()
    """Those of them that messages of the user loaded: see `LoopOptions.preload`."""

    @property
    def text(self) -> str:
        """The text of the answer."""
        return "".join(block.get("text", "") for block in blocks_of(self.message) if block.get("type") == "text")


class ToolLoop:
    """One conversation: its messages, the loaded tools, and the next request."""

    def __init__(
        self,
        tools: ToolCatalog | Iterable[Tool],
        *,
        model: str,
        messages: Iterable[Any],
        max_turns: int = 20,
        provider: Provider = "anthropic",
        always_loaded: Collection[str] = (),
        usage: Mapping[str, int] | None = None,
        strategy: Strategy = "both",
        max_results: int | None = None,
        limit: int | None = None,
        about: str | None = None,
        language: Language = "en",
        betas: Literal["auto", "off"] | Sequence[str] = "auto",
        expand: Expand = "auto",
        force: bool = False,
        record: Recorder | None = None,
        budget: AnswerBudget | int = DEFAULT_BUDGET,
        preload: int | None = None,
        preload_most: int | None = None,
    ) -> None:
        count = check_preload(preload, preload_most)
        if max_turns < 1:
            raise ValueError(f"`max_turns` is the number of replies and must be at least 1, got {max_turns}.")
        self._max_results = max_results_of(max_results, limit)
        check_options(strategy, self._max_results)
        self._strategy: Strategy = strategy
        self._about = about
        self._language: Language = language
        self._words = wording(language)
        check_choice("provider", provider, BETA_OF)
        check_choice("expand", expand, get_args(Expand))
        self._budget = budget_of(budget)
        own = [_callable(tool) for tool in tools]
        longest = _LONGEST_NAME.get(provider, _LONGEST_ELSEWHERE)
        self._names = WireNames((tool.name for tool in own), longest=longest)
        given = [self._sent(tool) for tool in own]
        wanted = names_in("always_loaded", always_loaded)
        always_loaded = [self._names.of(name) if name in self._names else name for name in wanted]
        usage = {self._names.of(name): count for name, count in (usage or {}).items() if name in self._names}
        self._tools = {tool.name: tool for tool in given}
        self._search_names = search_names(self._tools)
        self._max_turns = max_turns
        self._turns = 0
        self._searches: list[ToolSearchCall] = []
        self._message: Any = None
        self._calls: list[dict[str, Any]] = []
        self._notes: list[str] = []
        self._done = False
        definitions = definitions_of(given, limit=None)
        self._searching = force or bool(verdict_on(definitions))
        if expand == "auto":
            able = support(model, provider) == "yes" and len(given) <= MAX_TOOLS
            expand = "references" if able else "tools"
        self._by_reference = expand == "references"
        if not self._searching:
            self._request: dict[str, Any] = to_anthropic_search(given, betas=betas, always_loaded=always_loaded)
            self._loaded = dict.fromkeys(self._tools)
        else:
            self._catalog = tools if isinstance(tools, ToolCatalog) else ToolCatalog(own, limit_tools=len(own))
            self._request = self._offer(given, always_loaded, usage, provider, betas)
            self._loaded = {
                tool["name"]: None
                for tool in self._request["tools"]
                if tool["name"] in self._tools and not tool.get("defer_loading")
            }
        given_messages = replayed(
            messages, self._tools, by_reference=self._by_reference, removed=self._words["removed"]
        )
        self._messages, added = without_additions(given_messages)
        allowed = betas == "auto" or (not isinstance(betas, str) and ADDITIONS_BETA in betas)
        self._by_addition = (
            (bool(count) or bool(added))
            and (self._searching and self._by_reference)
            and (allowed and takes_additions(model, provider))
        )
        if self._by_addition and betas == "auto":  # in every request, also before the first addition
            self._request = {**self._request, "betas": [*self._request.get("betas", ()), ADDITIONS_BETA]}
        listed = [*map(self._own, self._loaded)]
        self._conversation = ConversationRecord(record, listed=listed)
        self._preloaded: list[str] = []
        searched = count and self._searching
        preloader = Preloader(self._catalog, count, most=preload_most, listed=listed) if searched else None
        self._replay(preloader, added if self._searching else {})

    @property
    def request(self) -> dict[str, Any]:
        """`tools`, `betas` and `messages` of the next request."""
        return {**self._request, "messages": self._messages}

    @property
    def settled(self) -> list[dict[str, Any]]:
        """The conversation as far as it can be continued: every call in it is answered."""
        return settled(self._messages)

    @property
    def result(self) -> ToolRun:
        """The finished conversation.

        Raises:
            RuntimeError: it is not finished.
        """
        if not self._done:
            raise RuntimeError("The conversation was left before its answer. Read the stream to its end.")
        return ToolRun(
            message=self._message,
            messages=self.settled,
            turns=self._turns,
            searches=tuple(self._searches),
            loaded=tuple(self._loaded),
            preloaded=tuple(self._preloaded),
        )

    def take(self, message: Any) -> bool:
        """Add a reply; return whether it was the last one. If not, call `answer`."""
        self._turns += 1
        self._message = message
        self._messages.append({"role": "assistant", "content": [plain_block(block) for block in message.content]})
        if message.stop_reason == "tool_use":
            self._calls = [block for block in self._messages[-1]["content"] if block["type"] == "tool_use"]
        else:
            self._calls = []
        self._done = not self._calls and message.stop_reason not in _PAUSED
        return self._done

    async def answer(self) -> list[dict[str, Any]]:
        """Run the calls of the last reply concurrently; return their results in order, and add them to the request.

        An exception in a tool becomes an error result.

        Raises:
            ToolTurnLimitError: no further request is allowed; its conversation ends with these results.
        """
        calls = self._calls
        # The result of a tool that raises the cancellation of something that it awaited.
        results = [_error(call, f"Tool {call['name']!r} was cancelled before it answered.") for call in calls]
        visible = set(self._loaded)  # what the model saw when it made the calls

        async def fill(position: int, call: dict[str, Any]) -> None:
            results[position] = await self._result(call, visible)

        async with anyio.create_task_group() as group:
            for position, call in enumerate(calls):
                group.start_soon(fill, position, call)
        if results:
            # Notes of a search: a result with references can have no other content.
            notes = [{"type": "text", "text": note} for note in self._notes]
            self._messages.append({"role": "user", "content": [*results, *notes]})
            self._notes.clear()
        if self._turns >= self._max_turns:
            raise ToolTurnLimitError(self._max_turns, self._messages)
        return results

    async def _result(self, call: dict[str, Any], visible: set[str]) -> dict[str, Any]:
        name = call["name"]
        if self._searching and name in self._search_names:
            return {"type": "tool_result", "tool_use_id": call["id"], **self._search(call)}
        if self._searching and name not in visible:
            return _error(call, self._not_loaded(name))
        if name in self._tools:
            self._conversation.called(self._own(name))
        try:
            known = [self._tools[name]] if name in self._tools else self._tools.values()
            return await call_anthropic(known, call)
        except Unsupported as error:
            return _error(call, str(error))
        except Exception as error:
            logger.exception("the result of tool %r cannot be sent", name)
            return _error(call, f"The result of tool {name!r} cannot be sent. {type(error).__name__}: {error}")

    def _not_loaded(self, name: str) -> str:
        if self._own(name) in unreachable_of(self._catalog):
            return self._words.unreachable(name)
        if name in self._tools:
            return self._words["not loaded"].format(name=name)
        return self._words["none to load"].format(name=name)

    def _search(self, call: dict[str, Any]) -> dict[str, Any]:
        given = cast("dict[str, Any]", call["input"]) if isinstance(call["input"], dict) else {}
        query, limit = given.get("query"), given.get("limit")
        made = ToolSearchCall(
            id=call["id"],
            variant="client",
            query=query if isinstance(query, str) else json.dumps(query, ensure_ascii=False),
            limit=limit if type(limit) is int else None,
        )
        wanted = self._max_results if made.limit is None else made.limit
        try:
            if not isinstance(query, str):
                raise ToolSearchError("invalid_tool_input", self._words["query is not text"])
            most = min(max(wanted, 1), MAX_LIMIT)
            found = search_catalog(self._catalog, query, strategy=self._strategy, limit=most, own=self._own)
        except ToolSearchError as error:
            failure = ToolSearchFailure(code=error.code, message=str(error))
            self._searches.append(replace(made, failure=failure))
            return {"content": [{"type": "text", "text": str(error)}], "is_error": True}
        # The catalogue may have grown since the start, and the API refuses references to tools not in `tools`.
        sent = (replace(entry, name=self._names.of(entry.name)) for entry in found.entries)
        found = replace(found, entries=tuple(entry for entry in sent if entry.name in self._tools))
        shown = found.shown(self._budget)
        names = tuple(entry.name for entry in shown.whole)
        self._searches.append(replace(made, references=names))
        self._conversation.searched(query, found.kind, [self._own(entry.name) for entry in found.entries])
        self._load(names)
        notes = "\n".join(_notes(query, found, shown, self._words))
        if not names:
            return {"content": [{"type": "text", "text": notes}]}
        content = found_blocks(names, by_reference=self._by_reference)
        if notes and self._by_reference:
            self._notes.append(notes)
        elif notes:
            content = [*content, {"type": "text", "text": notes}]
        return {"content": content}

    def _sent(self, tool: Tool) -> Tool:
        """`tool` with a name that the API accepts, and a definition cut to the budget."""
        sent = reporting_lost_connections(tool, self._words)
        name = self._names.of(tool.name)
        if name != tool.name:
            sent = replace(sent, name=name, description=tool.description or tool.name)
        if len(tool.description) + len(str(tool.input_schema)) <= self._budget.tokens:
            return sent  # a token is at least one character
        cut = self._budget.cut(entry_of(sent))
        return replace(sent, description=cut.description, input_schema=cut.input_schema)

    def _offer(
        self,
        given: list[Tool],
        always_loaded: Collection[str],
        usage: Mapping[str, int] | None,
        provider: Provider,
        betas: Literal["auto", "off"] | Sequence[str],
    ) -> dict[str, Any]:
        search = client_search_tool(
            strategy=self._strategy, max_results=self._max_results, about=self._about, language=self._language
        )
        if self._by_reference:
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
        check_name_is_free(SEARCH_TOOLS, self._tools)
        kept = kept_loaded(list(self._tools), always_loaded, usage or {})
        loaded = definitions_of(tool.deferred(False) for name, tool in self._tools.items() if name in kept)
        request = {"tools": [search, *loaded]}
        return request if isinstance(betas, str) else {**request, "betas": list(betas)}

    def _own(self, name: str) -> str:
        """The name in the catalogue of a tool that is sent as `name`."""
        return self._names.original(name) or name

    def _replay(self, preloader: Preloader | None, added: Mapping[int, list[str]]) -> None:
        """Load what searches and messages of the user have loaded so far, and what its new messages load.

        In the order of the conversation: what a message loads depends on it alone and on those before, so that a
        conversation that is continued has the same definitions in the same order, as the prompt cache requires.

        Args:
            preloader: What loads tools for messages; None for nothing.
            added: The tools that messages have loaded, by place, as the conversation says.
        """
        new_from = first_new_message(self._messages)
        replies = [place for place, message in enumerate(self._messages) if message.get("role") == "assistant"]
        first_reply = replies[0] if replies else len(self._messages)
        sent: list[dict[str, Any]] = []
        pending: list[str] = []
        loaded = loaded_by_messages(self._messages, self._tools)
        called = called_in_messages(self._messages)
        for index, (message, found, used) in enumerate(zip(self._messages, loaded, called, strict=True)):
            if pending and message.get("role") == "assistant":
                sent.append(addition(pending))
                pending = []
            sent.append(message)
            self._load(found)
            self._conversation.remember(map(self._own, found), "search")
            if preloader is None and index not in added:
                continue
            said = user_text(message)
            # What was called was loaded, even if the search would not find it again: tools change, and encoders.
            names = self._preload(map(self._own, used) if preloader is not None else (), in_full=True)
            before = [name for name in map(self._own, added.get(index, ())) if name in self._names]
            if before and preloader is not None:
                preloader.remember(before)
            best = before or (preloader.load(said) if said and preloader is not None else ())
            in_full = index < first_reply or not self._by_addition
            loaded = self._preload(best, in_full=in_full, is_known=bool(before))
            names += loaded
            pending += [] if in_full else map(self._names.of, loaded)
            if said and index >= new_from and not before:
                self._conversation.preloaded(said, names)
            else:
                self._conversation.remember(names, "preload")
        self._messages = [*sent, addition(pending)] if pending else sent

    def _preload(self, best: Iterable[str], *, in_full: bool, is_known: bool = False) -> list[str]:
        """Load `best` as far as the budget allows; return what is new.

        Args:
            best: The names of tools.
            in_full: Put their definitions into the list of tools; else a message has to name them.
            is_known: They were loaded before, so that the budget allowed them.
        """
        sent = [self._names.of(name) for name in best if name in self._names]
        new = [name for name in sent if name not in self._loaded]
        if not is_known:
            new = [entry.name for entry in self._budget.shown([entry_of(self._tools[name]) for name in new]).whole]
        self._load(new, in_full=in_full)
        self._preloaded += new
        return [*map(self._own, new)]

    def _load(self, names: Iterable[str], *, in_full: bool = False) -> None:
        """Load tools: without references, or `in_full`, by adding their definitions at the end of the request.

        With references, the definition of a deferred tool moves there, where it belongs to the cached prefix.
        """
        new = [name for name in dict.fromkeys(names) if name not in self._loaded]
        self._loaded.update(dict.fromkeys(new))
        if new and self._searching and (in_full or not self._by_reference):
            others = [tool for tool in self._request["tools"] if tool["name"] not in new]
            added = definitions_of(self._tools[name].deferred(False) for name in new)
            self._request = {**self._request, "tools": [*others, *added]}


def _notes(query: str, found: Found, shown: Shown, words: Wording) -> Iterable[str]:
    """Notes for the model about a search, beside the loaded tools."""
    if not found.entries:
        hidden = words.only_hidden(query, found.hidden)
        yield hidden if found.hidden else words["no match to load"].format(query=query)
        return
    if not found.confident:
        yield words["nearest loaded"].format(query=query)
    yield from words.rest(shown)
    yield from words.missing(found.hidden, found.unknown)


def _callable(tool: object) -> Tool:
    if isinstance(tool, Tool):
        return tool
    raise ToolValidationError(
        f"To be called, a tool must be a hikidashi Tool, got {type(tool).__name__}. Convert it first: `from_function`, "
        "`from_pydantic_ai`, `from_mcp` or `from_strands`."
    )


def _error(call: dict[str, Any], text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "tool_result", "tool_use_id": call["id"], "content": content, "is_error": True}
