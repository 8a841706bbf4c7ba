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

from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Protocol, Self, Unpack, cast, overload

from ...errors import MissingExtra
from ...tool import Tool
from ..catalog import ToolCatalog
from ._options import LoopOptions, RunOptions

try:
    from anyio import to_thread
    from anyio.from_thread import start_blocking_portal
except ImportError as error:
    raise MissingExtra("anthropic", "anthropic") from error

from ._loop import ToolLoop, ToolRun

__all__ = [
    "AnthropicClient",
    "AsyncToolStream",
    "LoopOptions",
    "RunOptions",
    "ToolResults",
    "ToolRun",
    "ToolStream",
    "arun_anthropic_search",
    "run_anthropic_search",
]


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _check(client: AnthropicClient, needed: str, function: str, instead: str) -> None:
    """Raise `TypeError` for a client of the other kind: sync for async, or the reverse."""
    other = "__aenter__" if needed == "__enter__" else "__enter__"
    if hasattr(client, other) and not hasattr(client, needed):
        raise TypeError(f"`{function}` cannot use {type(client).__name__}. Call {instead}.")


def _prepared(tools: ToolCatalog | Iterable[Tool], options: RunOptions) -> tuple[ToolLoop, dict[str, Any]]:
    """The loop, and the arguments that are the same in every request."""
    request = cast("dict[str, Any]", dict(options))
    for name in ("compaction", "thread"):
        if request.get(name) is not None:
            raise TypeError(f"`{name}` cannot go into every request of a run. Send it with `messages.create` yourself.")
    if missing := [name for name in ("model", "max_tokens", "messages") if name not in request]:
        raise TypeError(f"A run needs {', '.join(f'`{name}`' for name in missing)}, as `messages.create` does.")
    own = cast("LoopOptions", {name: request.pop(name) for name in LoopOptions.__annotations__ if name in request})
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
