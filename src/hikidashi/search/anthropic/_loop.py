"""A conversation in which the model looks for tools and calls them, without the network.

`hikidashi.search.anthropic` sends what `ToolLoop.request` says and hands each reply to `ToolLoop.take`; this file
never sees a client.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import anyio

from ...convert.anthropic import call_anthropic
from ...convert.wire_names import WireNames
from ...errors import ToolSearchError, ToolTurnLimitError, ToolValidationError, Unsupported
from ...tool import Tool
from .._names import SEARCH_TOOLS, search_names
from ..answers.budget import DEFAULT_BUDGET, AnswerBudget, Shown, budget_of
from ..answers.search_tools import Found, asked, check_max_results
from ..answers.texts import wording
from ..catalog import MAX_LIMIT, MAX_TOOLS, ToolCatalog
from ..engine.entry import entry_of
from ..mcp_servers.lost_connection import telling_lost_connections
from ..mcp_servers.unreachable import unreachable_of
from ..wire import client_search_tool, to_anthropic_search
from ..wire.blocks import ToolSearchCall, ToolSearchFailure, blocks_of, plain_block
from ..wire.definitions import definitions_of, judged, kept_loaded, refuse_twin
from ..wire.models import BETA_OF, Provider, one_of, support
from ._history import found_blocks, loaded_by, replayed, settled
from ._options import Expand

if TYPE_CHECKING:
    from ..records.log import Recorder

__all__ = ["ToolLoop", "ToolRun"]

logger = logging.getLogger("hikidashi")

_WORDS = wording("en")
_LONGEST_NAME: dict[Provider, int] = {"bedrock": 64}
_LONGEST_ELSEWHERE = 128
_PAUSED = ("pause_turn", "compaction")  # the reply is sent back as it is, and the API goes on with it


@dataclass(frozen=True, kw_only=True)
class ToolRun:
    """A conversation that has come to its answer."""

    message: Any
    """The last message, as the anthropic client gave it."""
    messages: list[dict[str, Any]]
    """The whole conversation with that message, to go on from; without it where it is empty or was cut in a call."""
    turns: int
    """How many requests it took."""
    searches: tuple[ToolSearchCall, ...]
    """What the model looked for, and what it found."""
    loaded: tuple[str, ...]
    """The tools that the model sees now."""

    @property
    def text(self) -> str:
        """The text of the answer."""
        return "".join(block.get("text", "") for block in blocks_of(self.message) if block.get("type") == "text")


class ToolLoop:
    """The state of one conversation: what is loaded, what was said, what the next request holds."""

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
        max_results: int | None = None,
        limit: int | None = None,
        betas: Literal["auto", "off"] | Sequence[str] = "auto",
        expand: Expand = "auto",
        force: bool = False,
        record: Recorder | None = None,
        budget: AnswerBudget | int = DEFAULT_BUDGET,
    ) -> None:
        if max_turns < 1:
            raise ValueError(f"`max_turns` is the number of replies and must be at least 1, got {max_turns}.")
        self._max_results = _max_results(max_results, limit)
        one_of("provider", provider, BETA_OF)
        one_of("expand", expand, get_args(Expand))
        self._budget = budget_of(budget)
        own = [_callable(tool) for tool in tools]
        longest = _LONGEST_NAME.get(provider, _LONGEST_ELSEWHERE)
        self._names = WireNames((tool.name for tool in own), longest=longest)
        given = [self._sent(tool) for tool in own]
        wanted = [always_loaded] if isinstance(always_loaded, str) else always_loaded
        always_loaded = [self._names.of(name) if name in self._names else name for name in wanted]
        usage = {self._names.of(name): count for name, count in (usage or {}).items() if name in self._names}
        self._tools = {tool.name: tool for tool in given}
        self._search_names = search_names(self._tools)
        self._record = record
        self._max_turns = max_turns
        self._turns = 0
        self._searches: list[ToolSearchCall] = []
        self._message: Any = None
        self._calls: list[dict[str, Any]] = []
        self._notes: list[str] = []
        self._done = False
        definitions = definitions_of(given, limit=None)
        self._searching = force or bool(judged(definitions))
        if expand == "auto":
            able = support(model, provider) == "yes" and len(given) <= MAX_TOOLS
            expand = "references" if able else "tools"
        self._by_reference = expand == "references"
        if not self._searching:
            self._request = to_anthropic_search(given, betas=betas, always_loaded=always_loaded)
            self._loaded = dict.fromkeys(self._tools)
        else:
            self._catalog = tools if isinstance(tools, ToolCatalog) else ToolCatalog(own, limit_tools=len(own))
            self._request = self._offer(given, always_loaded, usage, provider, betas)
            self._loaded = {
                tool["name"]: None
                for tool in self._request["tools"]
                if tool["name"] in self._tools and not tool.get("defer_loading")
            }
        self.messages = replayed(messages, self._tools, by_reference=self._by_reference)
        self._load(loaded_by(self.messages, self._tools))

    @property
    def request(self) -> dict[str, Any]:
        """`tools`, `betas` and `messages` of the next request."""
        return {**self._request, "messages": self.messages}

    @property
    def settled(self) -> list[dict[str, Any]]:
        """The conversation as far as it can be gone on from: every call in it is answered."""
        return settled(self.messages)

    @property
    def result(self) -> ToolRun:
        """How it ended.

        Raises:
            RuntimeError: it has not.
        """
        if not self._done:
            raise RuntimeError("The conversation was left before its answer. Read the stream to its end.")
        return ToolRun(
            message=self._message,
            messages=self.settled,
            turns=self._turns,
            searches=tuple(self._searches),
            loaded=tuple(self._loaded),
        )

    def take(self, message: Any) -> bool:
        """Whether `message`, a reply, was the last one; if not, `answer` it."""
        self._turns += 1
        self._message = message
        self.messages.append({"role": "assistant", "content": [plain_block(block) for block in message.content]})
        if message.stop_reason == "tool_use":
            self._calls = [block for block in self.messages[-1]["content"] if block["type"] == "tool_use"]
        else:
            self._calls = []
        self._done = not self._calls and message.stop_reason not in _PAUSED
        return self._done

    async def answer(self) -> list[dict[str, Any]]:
        """The results of the calls in the last reply, in their order; they are part of the next request.

        Calls of one reply run side by side. What goes wrong in one is a result that the model reads.

        Raises:
            ToolTurnLimitError: no further request is allowed; the conversation in it ends with these results.
        """
        calls = self._calls
        # What stands if a tool gives up by raising the cancellation of something that it waited for.
        results = [_error(call, f"Tool {call['name']!r} was cancelled before it answered.") for call in calls]
        visible = set(self._loaded)  # what the model saw when it made the calls

        async def fill(position: int, call: dict[str, Any]) -> None:
            results[position] = await self._result(call, visible)

        async with anyio.create_task_group() as group:
            for position, call in enumerate(calls):
                group.start_soon(fill, position, call)
        if results:
            # What a search says beside references: its own result takes nothing else.
            notes = [{"type": "text", "text": note} for note in self._notes]
            self.messages.append({"role": "user", "content": [*results, *notes]})
            self._notes.clear()
        if self._turns >= self._max_turns:
            raise ToolTurnLimitError(self._max_turns, self.messages)
        return results

    async def _result(self, call: dict[str, Any], visible: set[str]) -> dict[str, Any]:
        name = call["name"]
        if self._searching and name in self._search_names:
            return {"type": "tool_result", "tool_use_id": call["id"], **self._search(call)}
        if self._searching and name not in visible:
            return _error(call, self._not_loaded(name))
        if self._record is not None and name in self._tools:
            self._record.called(self._names.original(name) or name)
        try:
            return await call_anthropic([self._tools[name]] if name in self._tools else [], call)
        except Unsupported as error:
            return _error(call, str(error))
        except Exception as error:
            logger.exception("the result of tool %r cannot be sent", name)
            return _error(call, f"The result of tool {name!r} cannot be sent. {type(error).__name__}: {error}")

    def _not_loaded(self, name: str) -> str:
        if (self._names.original(name) or name) in unreachable_of(self._catalog):
            return _WORDS.unreachable(name)
        if name in self._tools:
            return (
                f"Tool {name!r} is not loaded: you have not seen its definition. Call `{SEARCH_TOOLS}` with the query "
                f"`select:{name}`, then call it with the arguments that its definition asks for."
            )
        return (
            f"There is no tool {name!r}. Call `{SEARCH_TOOLS}` with a few words that say what you need, "
            "then call one of the tools it loads."
        )

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
                raise ToolSearchError("invalid_tool_input", "`query` must be text: a few words that say what you need.")
            found = asked(self._catalog, query, strategy="words", limit=min(max(wanted, 1), MAX_LIMIT))
        except ToolSearchError as error:
            failure = ToolSearchFailure(code=error.code, message=str(error))
            self._searches.append(replace(made, failure=failure))
            return {"content": [{"type": "text", "text": str(error)}], "is_error": True}
        # The catalogue may have grown since the conversation began, and the API refuses what `tools` does not name.
        sent = (replace(entry, name=self._names.of(entry.name)) for entry in found.entries)
        found = replace(found, entries=tuple(entry for entry in sent if entry.name in self._tools))
        shown = found.shown(self._budget)
        names = tuple(entry.name for entry in shown.whole)
        self._searches.append(replace(made, references=names))
        if self._record is not None:
            recorded = [self._names.original(entry.name) or entry.name for entry in found.entries]
            self._record.searched(query, found.kind, recorded)
        self._load(names)
        said = "\n".join(_notes(query, found, shown))
        if not names:
            return {"content": [{"type": "text", "text": said}]}
        content = found_blocks(names, by_reference=self._by_reference)
        if said and self._by_reference:
            self._notes.append(said)
        elif said:
            content = [*content, {"type": "text", "text": said}]
        return {"content": content}

    def _sent(self, tool: Tool) -> Tool:
        """`tool` as the API takes it: under a name that it allows, and not longer than a search may answer."""
        told = telling_lost_connections(tool, _WORDS)
        name = self._names.of(tool.name)
        if name != tool.name:
            told = replace(told, name=name, description=tool.description or tool.name)
        if len(tool.description) + len(str(tool.input_schema)) <= self._budget.tokens:
            return told  # a token has a character or more
        cut = self._budget.cut(entry_of(told))
        return replace(told, description=cut.description, input_schema=cut.input_schema)

    def _offer(
        self,
        given: list[Tool],
        always_loaded: Collection[str],
        usage: Mapping[str, int] | None,
        provider: Provider,
        betas: Literal["auto", "off"] | Sequence[str],
    ) -> dict[str, Any]:
        if self._by_reference:
            return to_anthropic_search(
                given,
                variant="client",
                provider=provider,
                always_loaded=always_loaded,
                usage=usage,
                betas=betas,
                force=True,
            )
        refuse_twin(self._tools, SEARCH_TOOLS)
        kept = kept_loaded(list(self._tools), always_loaded, usage or {})
        loaded = definitions_of(tool.deferred(False) for name, tool in self._tools.items() if name in kept)
        request: dict[str, Any] = {"tools": [client_search_tool(), *loaded]}
        return request if isinstance(betas, str) else {**request, "betas": list(betas)}

    def _load(self, names: Iterable[str]) -> None:
        """Makes tools visible; where the model cannot follow a reference, by sending them from now on."""
        new = [name for name in dict.fromkeys(names) if name not in self._loaded]
        self._loaded.update(dict.fromkeys(new))
        if new and self._searching and not self._by_reference:
            added = definitions_of(self._tools[name].deferred(False) for name in new)
            self._request = {**self._request, "tools": [*self._request["tools"], *added]}


def _notes(query: str, found: Found, shown: Shown) -> Iterable[str]:
    """What a search says beside the tools that it loads."""
    if not found.entries:
        hidden = _WORDS.only_hidden(query, found.hidden)
        yield (
            hidden
            if found.hidden
            else f"No tool matches {query!r}. Try other words: what it does, or what it works on."
        )
        return
    if not found.confident:
        yield _WORDS["nearest loaded"].format(query=query)
    yield from _WORDS.rest(shown)
    if found.hidden:
        yield _WORDS.hidden(found.hidden)


def _max_results(max_results: int | None, limit: int | None) -> int:
    """The value of `max_results`, or of its alias `limit`.

    Raises:
        TypeError: both are given.
        ValueError: it is out of range.
    """
    if max_results is not None and limit is not None:
        raise TypeError("`limit` is an alias of `max_results`: pass `max_results` alone.")
    if limit is not None:
        return check_max_results(limit, "limit")
    return check_max_results(5 if max_results is None else max_results)


def _callable(tool: object) -> Tool:
    if isinstance(tool, Tool):
        return tool
    raise ToolValidationError(
        f"To be called, a tool must be a hikidashi Tool, got {type(tool).__name__}. Convert it first: `from_function`, "
        "`from_pydantic_ai`, `from_mcp` or `from_strands`."
    )


def _error(call: dict[str, Any], said: str) -> dict[str, Any]:
    content = [{"type": "text", "text": said}]
    return {"type": "tool_result", "tool_use_id": call["id"], "content": content, "is_error": True}
