"""The state of a conversation in which the model searches for tools and calls them; no network here.

`run.py` sends `ToolLoop.request` and passes each reply to `ToolLoop.take`; this file never sees a client.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import anyio

from ...convert.anthropic import call_anthropic
from ...errors import ToolSearchError, ToolTurnLimitError, ToolValidationError, Unsupported
from ...tool import Tool
from ..answers.budget import DEFAULT_BUDGET, AnswerBudget, Shown, budget_of
from ..answers.search_tools import Found, Strategy, check_options, names_in, search_catalog
from ..answers.texts import SEARCH_TOOLS, Language, Wording, wording
from ..catalog import MAX_LIMIT, ToolCatalog
from ..preload import Preloader, check_preload, first_new_message
from ..records.conversation import ConversationRecord
from ..unreachable import unreachable_of
from ..wire import client_search_tool
from ..wire.blocks import ToolSearchCall, ToolSearchFailure, blocks_of, plain_block
from ..wire.models import ADDITIONS_BETA, BETA_OF, Provider, check_choice, takes_additions
from ._history import (
    ReadMessage,
    addition,
    called_in_messages,
    found_blocks,
    loaded_by_messages,
    preloaded_by,
    replayed,
    settled,
    user_text,
    without_additions,
)
from ._offered import OfferedTools
from ._options import Expand

if TYPE_CHECKING:
    from ..records.log import Recorder

__all__ = ["ToolLoop", "ToolRun"]

logger = logging.getLogger("hikidashi")

_AWAITED = 1_000  # tools of a list: more would take longer than the patience, so that it would be in vain
_PATIENCE = 5.0  # seconds

_PAUSED = ("pause_turn", "compaction")  # the reply is sent back unchanged, and the API continues it


@dataclass(frozen=True, kw_only=True)
class ToolRun:
    """A finished conversation."""

    message: Any
    """The last message, an object of the anthropic package."""
    messages: list[dict[str, Any]]
    """The whole conversation, to continue from; without the last message if it is empty or cut off in a call.

    With `preload`, messages of the user remember which tools they have loaded, until they are turned into JSON.
    """
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
        max_results: int = 5,
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
        check_options(strategy, max_results)
        self._max_results = max_results
        self._strategy: Strategy = strategy
        self._words = wording(language)
        check_choice("provider", provider, BETA_OF)
        check_choice("expand", expand, get_args(Expand))
        self._budget = budget_of(budget)
        own = [_callable(tool) for tool in tools]
        self._offered = OfferedTools(
            own,
            search=client_search_tool(strategy=strategy, max_results=max_results, about=about, language=language),
            model=model,
            provider=provider,
            always_loaded=names_in("always_loaded", always_loaded),
            usage=usage or {},
            betas=betas,
            expand=expand,
            force=force,
            budget=self._budget,
            words=self._words,
        )
        self._max_turns = max_turns
        self._turns = 0
        self._searches: list[ToolSearchCall] = []
        self._message: Any = None
        self._calls: list[dict[str, Any]] = []
        self._notes: list[str] = []
        self._done = False
        if self._offered.searching:
            self._catalog = tools if isinstance(tools, ToolCatalog) else ToolCatalog(own, limit_tools=len(own))
        given_messages = replayed(
            messages, self._offered.tools, by_reference=self._offered.by_reference, removed=self._words["removed"]
        )
        self._messages, added = without_additions(given_messages)
        allowed = betas == "auto" or (not isinstance(betas, str) and ADDITIONS_BETA in betas)
        self._by_addition = (
            (bool(count) or bool(added))
            and (self._offered.searching and self._offered.by_reference)
            and (allowed and takes_additions(model, provider))
        )
        if self._by_addition and betas == "auto":  # in every request, also before the first addition
            self._offered.add_beta(ADDITIONS_BETA)
        listed = [*map(self._offered.own, self._offered.loaded)]
        self._conversation = ConversationRecord(record, listed=listed)
        searched = count and self._offered.searching
        self._preloader = Preloader(self._catalog, count, most=preload_most, listed=listed) if searched else None
        self._added = added if self._offered.searching else {}
        self._is_replayed = False
        self._waits = bool(searched) and not isinstance(tools, ToolCatalog) and len(own) <= _AWAITED

    @property
    def is_ready(self) -> bool:
        """Whether `wait` would return at once."""
        return not self._waits or self._catalog.is_ready

    def wait(self) -> None:
        """Wait a few seconds for the vectors of tools that were given as a list; call it before the first request.

        Their catalogue lives no longer than the run. If the vectors came after the first message was searched for, the
        next run would find other tools for it. The owner of a catalogue can wait for it with `ToolCatalog.ready`.
        """
        if self._waits:
            with suppress(Exception):  # the search raises it again, and then nothing is preloaded
                self._catalog.ready(_PATIENCE)

    @property
    def request(self) -> dict[str, Any]:
        """`tools`, `betas` and `messages` of the next request."""
        self._replay()
        return {**self._offered.request, "messages": self._messages}

    @property
    def settled(self) -> list[dict[str, Any]]:
        """The conversation as far as it can be continued: every call in it is answered."""
        self._replay()
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
            loaded=tuple(self._offered.loaded),
            preloaded=tuple(self._offered.preloaded),
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
        visible = set(self._offered.loaded)  # what the model saw when it made the calls

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
        if self._offered.searching and name == SEARCH_TOOLS:
            return {"type": "tool_result", "tool_use_id": call["id"], **self._search(call)}
        if self._offered.searching and name not in visible:
            return _error(call, self._not_loaded(name))
        if name in self._offered.tools:
            self._conversation.called(self._offered.own(name))
        try:
            known = [self._offered.tools[name]] if name in self._offered.tools else self._offered.tools.values()
            return await call_anthropic(known, call)
        except Unsupported as error:
            return _error(call, str(error))
        except Exception as error:
            logger.exception("the result of tool %r cannot be sent", name)
            return _error(call, f"The result of tool {name!r} cannot be sent. {type(error).__name__}: {error}")

    def _not_loaded(self, name: str) -> str:
        if self._offered.own(name) in unreachable_of(self._catalog):
            return self._words.unreachable(name)
        if name in self._offered.tools:
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
            found = search_catalog(self._catalog, query, strategy=self._strategy, limit=most, own=self._offered.own)
        except ToolSearchError as error:
            failure = ToolSearchFailure(code=error.code, message=str(error))
            self._searches.append(replace(made, failure=failure))
            return {"content": [{"type": "text", "text": str(error)}], "is_error": True}
        # The catalogue may have grown since the start, and the API refuses references to tools not in `tools`.
        sent = (replace(entry, name=self._offered.names.of(entry.name)) for entry in found.entries)
        found = replace(found, entries=tuple(entry for entry in sent if entry.name in self._offered.tools))
        shown = found.shown(self._budget)
        names = tuple(entry.name for entry in shown.whole)
        self._searches.append(replace(made, references=names))
        self._conversation.searched(query, found.kind, [self._offered.own(entry.name) for entry in found.entries])
        self._offered.load(names)
        notes = "\n".join(_notes(query, found, shown, self._words))
        if not names:
            return {"content": [{"type": "text", "text": notes}]}
        content = found_blocks(names, by_reference=self._offered.by_reference)
        if notes and self._offered.by_reference:
            self._notes.append(notes)
        elif notes:
            content = [*content, {"type": "text", "text": notes}]
        return {"content": content}

    def _replay(self) -> None:
        """Load what searches and messages of the user have loaded so far, and what its new messages load.

        In the order of the conversation, and a message that is known to have loaded tools has loaded these: so a
        conversation that is continued has the same definitions in the same order, as the prompt cache requires. Of
        others that is not known; their tools depend on them and on those before alone.
        """
        if self._is_replayed:
            return
        self._is_replayed = True
        preloader = self._preloader
        new_from = first_new_message(self._messages)
        replies = [place for place, message in enumerate(self._messages) if message.get("role") == "assistant"]
        first_reply = replies[0] if replies else len(self._messages)
        sent: list[dict[str, Any]] = []
        pending: list[str] = []
        loaded = loaded_by_messages(self._messages)
        called = called_in_messages(self._messages)
        for index, (message, found, used) in enumerate(zip(self._messages, loaded, called, strict=True)):
            if pending and message.get("role") == "assistant":
                sent.append(addition(pending))
                pending = []
            sent.append(message)
            self._offered.load(found)
            self._conversation.remember(map(self._offered.own, found), "search")
            known = self._known(index, message)
            if preloader is None and known is None:
                continue
            said = user_text(message)
            # What was called was loaded, even if the search would not find it again: tools change, and encoders.
            names = self._offered.preload(map(self._offered.own, used) if preloader is not None else (), in_full=True)
            best = known
            if best is None:
                best = preloader.best(said, has=self._offered) if said and preloader is not None else []
            in_full = index < first_reply or not self._by_addition
            loaded = self._offered.preload(best, in_full=in_full, is_known=known is not None)
            if preloader is not None:
                preloader.remember(loaded if known is None else known)
            names += loaded
            pending += [] if in_full else map(self._offered.names.of, loaded)
            if said and known is None:
                sent[-1] = ReadMessage(message, loaded)
            if said and index >= new_from and known is None:
                self._conversation.preloaded(said, names)
            else:
                self._conversation.remember(names, "preload")
        self._messages = [*sent, addition(pending)] if pending else sent

    def _known(self, index: int, message: Mapping[str, Any]) -> list[str] | None:
        """The own names of the tools that a message has loaded, as the conversation says; None if it does not."""
        if not self._offered.searching:
            return None
        added = self._added.get(index)
        names = preloaded_by(message) if added is None else map(self._offered.own, added)
        return None if names is None else [name for name in names if name in self._offered.names]


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
