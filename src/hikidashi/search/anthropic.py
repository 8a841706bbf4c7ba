"""Tool search for the anthropic client, with the search done on our side: any number of tools, any model.

    run = run_anthropic_search(
        client,
        tools,
        model="claude-opus-5-5",
        max_tokens=1024,
        messages=[{"role": "user", "content": "Is it raining in Tokyo?"}],
    )
    print(run.text)

The model is offered `search_tools`, and can call what it finds. `arun_anthropic_search` is the same for
`AsyncAnthropic`; with `stream=True` both return the events as they arrive.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Required, Self, Unpack, get_args, overload

from ..common.json import as_object
from ..convert.anthropic import call_anthropic
from ..errors import MissingExtra, ToolSearchError, ToolTurnLimitError, Unsupported
from ..tool import Tool
from .answers import SEARCH_TOOLS, Shown, Wording
from .anthropic_blocks import (
    ReadMessage,
    ToolSearchCall,
    ToolSearchFailure,
    addition,
    blocks_of,
    called_in_messages,
    found_blocks,
    loaded_by_messages,
    plain_block,
    preloaded_by,
    replayed,
    settled,
    user_text,
    without_additions,
)
from .anthropic_request import ADDITIONS_BETA, BETA_OF, Expand, OfferedTools, Provider, takes_additions
from .catalog import MAX_LIMIT, ToolCatalog
from .log import ConversationRecord
from .options import SearchOptions, check_choice, search_options
from .preload import Preloader, first_new_message
from .search_tools import Found, callable_tool, search_with, unreachable_of

try:
    import anyio
    from anyio import to_thread
    from anyio.from_thread import start_blocking_portal
except ImportError as error:
    raise MissingExtra("anthropic", "anthropic") from error

logger = logging.getLogger("hikidashi")


class LoopOptions(SearchOptions, total=False):
    """Options of `run_anthropic_search` beside those of `SearchOptions`: how tools are offered, and for how long."""

    max_turns: int
    """Maximum number of replies of the model, then `ToolTurnLimitError`; default 20."""
    provider: Provider
    """Whose limits and beta header to use; default "anthropic"."""
    usage: Mapping[str, int]
    """Number of calls of each tool: the most used ones are loaded from the start too, up to five tools in all."""
    betas: Literal["auto", "off"] | Sequence[str]
    """See `to_anthropic_search`."""
    expand: Expand
    """How found tools reach the model. "references" sends all tools deferred and answers a search with
    `tool_reference` blocks, which keeps the prompt cache; "tools" adds found tools to the next request, which works
    with every model. "auto" chooses by model, provider and number of tools."""
    force: bool
    """Search even where it is not worth it (see `worth_it`); otherwise a few small tools are sent as they are."""


class RunOptions(LoopOptions, total=False):
    """`LoopOptions`, and the arguments of `messages.create` for every request.

    Without `compaction`, which would make every request a compaction, and `thread`, with which the server keeps the
    conversation that the loop sends.
    """

    model: Required[str]
    max_tokens: Required[int]
    messages: Required[Iterable[Any]]
    cache_control: Any
    container: Any
    context_management: Any
    diagnostics: Any
    extra_body: Any
    extra_headers: Any
    extra_query: Any
    fallback_credit_token: Any
    fallbacks: Any
    inference_geo: Any
    mcp_servers: Any
    metadata: Any
    output_config: Any
    service_tier: Any
    speed: Any
    stop_sequences: Any
    system: Any
    thinking: Any
    timeout: Any
    tool_choice: Any
    user_profile_id: Any
    workspace_id: Any


class AnthropicClient(Protocol):
    """An `Anthropic` or `AsyncAnthropic` client, of any provider."""

    @property
    def beta(self) -> Any:
        """The namespace that has `messages`."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResults:
    """A stream event between two replies: the results of searches and tools."""

    results: list[dict[str, Any]]
    """The `tool_result` blocks that go into the next request."""
    type: Literal["tool_results"] = "tool_results"


@overload
def run_anthropic_search(
    client: AnthropicClient,
    tools: ToolCatalog | Iterable[Tool],
    *,
    stream: Literal[False] = False,
    **options: Unpack[RunOptions],
) -> ToolRun: ...


@overload
def run_anthropic_search(
    client: AnthropicClient,
    tools: ToolCatalog | Iterable[Tool],
    *,
    stream: Literal[True],
    **options: Unpack[RunOptions],
) -> ToolStream: ...


def run_anthropic_search(
    client: AnthropicClient, tools: ToolCatalog | Iterable[Tool], *, stream: bool = False, **options: Unpack[RunOptions]
) -> ToolRun | ToolStream:
    """Run a conversation in which the model searches `tools` and calls what it finds, up to its final answer.

    Calls of one reply run concurrently, in an event loop that lives as long as the run; an exception in a tool becomes
    an error result for the model. A tool that the model has not seen is not called: the error says to search for it.
    Tools found earlier in `messages` are loaded.

    Args:
        client: `anthropic.Anthropic`, or the client of another provider.
        tools: hikidashi tools, or a `ToolCatalog` of them, which saves indexing many tools for each run.
        stream: Return a `ToolStream` of events instead of waiting for the end.
        options: `model`, `messages`, `max_tokens` and the other arguments of `messages.create`; and `LoopOptions`.

    A request that fails raises the client's exception. To resume without repeating tool calls, use a stream and go on
    from its `messages`.

    Raises:
        ToolTurnLimitError: the model still called tools after `max_turns` replies.
        ToolValidationError: a tool cannot be called, or its name is invalid or not unique.
        TypeError: an argument is missing, or the client is an async one.
        ValueError: an option is invalid.
    """
    _check(client, "__enter__", "run_anthropic_search", "`arun_anthropic_search` for an `AsyncAnthropic`")
    loop, request = _prepared(tools, options)
    if stream:
        return ToolStream(_streamed(client, loop, request), loop)
    loop.wait()
    with start_blocking_portal() as portal:
        while not loop.take(client.beta.messages.create(**request, **loop.request)):
            portal.call(loop.answer)
    return loop.result


@overload
def arun_anthropic_search(
    client: AnthropicClient,
    tools: ToolCatalog | Iterable[Tool],
    *,
    stream: Literal[False] = False,
    **options: Unpack[RunOptions],
) -> Coroutine[Any, Any, ToolRun]: ...


@overload
def arun_anthropic_search(
    client: AnthropicClient,
    tools: ToolCatalog | Iterable[Tool],
    *,
    stream: Literal[True],
    **options: Unpack[RunOptions],
) -> AsyncToolStream: ...


def arun_anthropic_search(
    client: AnthropicClient, tools: ToolCatalog | Iterable[Tool], *, stream: bool = False, **options: Unpack[RunOptions]
) -> Coroutine[Any, Any, ToolRun] | AsyncToolStream:
    """`run_anthropic_search` for `AsyncAnthropic`: await the result, or with `stream=True` get an `AsyncToolStream`.

    Cancelling it cancels the request and the running tools.
    """
    _check(client, "__aenter__", "arun_anthropic_search", "`run_anthropic_search` for an `Anthropic`")
    loop, request = _prepared(tools, options)
    if stream:
        return AsyncToolStream(_astreamed(client, loop, request), loop)
    return _arun(client, loop, request)


class ToolStream:
    """The client's events of every reply, with `ToolResults` in between.

    To stop early, leave the `with` block or call `close()`: both end the request.
    """

    def __init__(self, events: Generator[Any], loop: ToolLoop) -> None:
        self._events = events
        self._loop = loop

    def __iter__(self) -> Iterator[Any]:
        return self._events

    @property
    def text_stream(self) -> Iterator[str]:
        """The text deltas alone."""
        return (event.text for event in self._events if event.type == "text")

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, to resume from when a request fails: no answered call runs again."""
        return self._loop.settled

    def result(self) -> ToolRun:
        """Wait for the end; return the same as `run_anthropic_search`."""
        for _ in self._events:
            pass
        return self._loop.result

    def close(self) -> None:
        """End the current request and the stream."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncToolStream:
    """The client's events of every reply, with `ToolResults` in between.

    To stop early, leave the `async with` block or call `aclose()`: both end the request.
    """

    def __init__(self, events: AsyncGenerator[Any], loop: ToolLoop) -> None:
        self._events = events
        self._loop = loop

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._events

    @property
    def text_stream(self) -> AsyncIterator[str]:
        """The text deltas alone."""
        return (event.text async for event in self._events if event.type == "text")

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, to resume from when a request fails: no answered call runs again."""
        return self._loop.settled

    async def result(self) -> ToolRun:
        """Wait for the end; return the same as `arun_anthropic_search`."""
        async for _ in self._events:
            pass
        return self._loop.result

    async def aclose(self) -> None:
        """End the current request and the stream."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _check(client: AnthropicClient, needed: str, function: str, instead: str) -> None:
    """Raise `TypeError` for a client of the other kind: sync for async, or the reverse."""
    other = "__aenter__" if needed == "__enter__" else "__enter__"
    if hasattr(client, other) and not hasattr(client, needed):
        raise TypeError(f"`{function}` cannot use {type(client).__name__}. Call {instead}.")


def _prepared(tools: ToolCatalog | Iterable[Tool], options: RunOptions) -> tuple[ToolLoop, dict[str, Any]]:
    """The loop, and the arguments that are the same in every request."""
    request: dict[str, Any] = {**options}
    for name in ("compaction", "thread"):
        if request.get(name) is not None:
            raise TypeError(f"`{name}` cannot go into every request of a run. Send it with `messages.create` yourself.")
    if missing := [name for name in ("model", "max_tokens", "messages") if name not in request]:
        raise TypeError(f"A run needs {', '.join(f'`{name}`' for name in missing)}, as `messages.create` does.")
    own: Any = {name: request.pop(name) for name in LoopOptions.__annotations__ if name in request}
    return ToolLoop(tools, model=request["model"], messages=request.pop("messages"), **own), request


def _streamed(client: AnthropicClient, loop: ToolLoop, request: dict[str, Any]) -> Generator[Any]:
    loop.wait()
    with start_blocking_portal() as portal:
        while True:
            with client.beta.messages.stream(**request, **loop.request) as stream:
                yield from stream
                message = stream.get_final_message()
            if loop.take(message):
                return
            yield ToolResults(results=portal.call(loop.answer))


async def _arun(client: AnthropicClient, loop: ToolLoop, request: dict[str, Any]) -> ToolRun:
    await _waited(loop)
    while not loop.take(await client.beta.messages.create(**request, **loop.request)):
        await loop.answer()
    return loop.result


async def _astreamed(client: AnthropicClient, loop: ToolLoop, request: dict[str, Any]) -> AsyncGenerator[Any]:
    await _waited(loop)
    while True:
        async with client.beta.messages.stream(**request, **loop.request) as stream:
            async for event in stream:
                yield event
            message = await stream.get_final_message()
        if loop.take(message):
            return
        yield ToolResults(results=await loop.answer())


async def _waited(loop: ToolLoop) -> None:
    if not loop.is_ready:  # in a thread, so that the event loop goes on
        await to_thread.run_sync(loop.wait, abandon_on_cancel=True)


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
        usage: Mapping[str, int] | None = None,
        betas: Literal["auto", "off"] | Sequence[str] = "auto",
        expand: Expand = "auto",
        force: bool = False,
        **options: Unpack[SearchOptions],
    ) -> None:
        self._options = checked = search_options(**options)
        self._words = checked.words
        if max_turns < 1:
            raise ValueError(f"`max_turns` is the number of replies and must be at least 1, got {max_turns}.")
        check_choice("provider", provider, BETA_OF)
        check_choice("expand", expand, get_args(Expand))
        own = [callable_tool(tool) for tool in tools]
        self._offered = OfferedTools(
            own, checked, model=model, provider=provider, usage=usage or {}, betas=betas, expand=expand, force=force
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
            (checked.preloads or bool(added))
            and (self._offered.searching and self._offered.by_reference)
            and (allowed and takes_additions(model, provider))
        )
        if self._by_addition and betas == "auto":  # in every request, also before the first addition
            self._offered.add_beta(ADDITIONS_BETA)
        listed = [*map(self._offered.own, self._offered.loaded)]
        self._conversation = ConversationRecord(checked.record, listed=listed)
        searched = checked.preloads and self._offered.searching
        self._preloader = Preloader.of(checked, self._catalog, listed) if searched else None
        self._added = added if self._offered.searching else {}
        self._is_replayed = False
        self._waits = searched and not isinstance(tools, ToolCatalog) and len(own) <= _AWAITED

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
        given = as_object(call["input"])
        query, limit = given.get("query"), given.get("limit")
        made = ToolSearchCall(
            id=call["id"],
            variant="client",
            query=query if isinstance(query, str) else json.dumps(query, ensure_ascii=False),
            limit=limit if type(limit) is int else None,
        )
        try:
            if not isinstance(query, str):
                raise ToolSearchError("invalid_tool_input", self._words["query is not text"])
            most = None if made.limit is None else min(max(made.limit, 1), MAX_LIMIT)
            found = search_with(self._options, self._catalog, query, limit=most, own=self._offered.own)
        except ToolSearchError as error:
            failure = ToolSearchFailure(code=error.code, message=str(error))
            self._searches.append(replace(made, failure=failure))
            return {"content": [{"type": "text", "text": str(error)}], "is_error": True}
        # The catalogue may have grown since the start, and the API refuses references to tools not in `tools`.
        sent = (replace(entry, name=self._offered.names.of(entry.name)) for entry in found.entries)
        found = replace(found, entries=tuple(entry for entry in sent if entry.name in self._offered.tools))
        shown = found.shown(self._options.budget)
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


def _error(call: dict[str, Any], text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "tool_result", "tool_use_id": call["id"], "content": content, "is_error": True}
