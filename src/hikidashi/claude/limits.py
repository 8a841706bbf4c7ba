"""Limits on tool retries, usage and turns within one request.

Within one request Claude Code takes as many turns as the model asks for. pydantic-ai counts between requests
and sees none of them, so they are counted here with its rules and its errors. A tool call that must not run
is never answered: Claude Code waits for it and asks the model nothing more, until its session is closed. Tokens
are known when a message ends; by then Claude Code may have sent one more request, whose answer is not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Mapping
from copy import copy
from typing import Any

from claude_agent_sdk import Message, StreamEvent
from pydantic_ai.exceptions import ModelRetry, UnexpectedModelBehavior
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage, RunUsage, UsageLimits

from ..common.json import is_mapping
from ..errors import ClaudeCodeLimitError

DEFAULT_MAX_TURNS = 50
"""Turns of a request that belongs to no agent run: as many as a run has requests by default."""

_DEFAULT_RETRIES = 1
"""pydantic-ai's default, if neither the tool nor its toolset nor its agent has one."""


class Tally:
    """Counts over all requests of a run.

    Failed attempts count as in pydantic-ai's `ToolManager`: once per tool and turn, and a turn in which the tool
    succeeded resets its count.
    """

    def __init__(self) -> None:
        self.extra_requests = 0
        """Requests to the API beyond the first of each request of the run, which pydantic-ai counts itself."""
        self._retries: dict[str, int] = {}
        self._failed: set[str] = set()
        self._succeeded: set[str] = set()

    def next_request(self, turns: int) -> None:
        """Count the turns of the request before."""
        self.extra_requests += max(0, turns - 1)

    def next_turn(self) -> None:
        """Close the counts of the turn before."""
        kept = {name: count for name, count in self._retries.items() if name not in self._succeeded}
        self._retries = kept | {name: self._retries.get(name, 0) + 1 for name in self._failed}
        self._failed, self._succeeded = set(), set()

    def failed(self, name: str, max_retries: int, error: ModelRetry) -> None:
        """Count a failed attempt.

        Raises:
            UnexpectedModelBehavior: the tool has no retry left.
        """
        if self._retries.get(name, 0) >= max_retries:
            raise UnexpectedModelBehavior(
                f"Tool {name!r} exceeded max retries count of {max_retries}. Consider raising the retry limit, or see "
                "the docs on tool retries: https://pydantic.dev/docs/ai/tools-toolsets/tools-advanced/#tool-retries"
            ) from error
        self._failed.add(name)

    def succeeded(self, name: str) -> None:
        """Count a successful call."""
        self._succeeded.add(name)


class Guard:
    """Watches one session, and ends the request when a limit is reached."""

    def __init__(self, tally: Tally, parked: Container[str] = ()) -> None:
        """Prepare to count; `begin` starts a request.

        Args:
            tally: the counts of the run.
            parked: the tools whose calls go to pydantic-ai, by their names in Claude Code.
        """
        self._end: Callable[[Exception], None] = lambda _: None
        self._tally = tally
        self._parked = parked
        self._run: RunContext[Any] | None = None
        self._max_turns: int | None = None
        self._turns = 0
        self._calls = self._leaves = False
        self._used = UsageCount()
        self._running = 0
        self._ended = False
        self._unanswered: list[asyncio.Future[None]] = []

    def on_limit(self, end: Callable[[Exception], None]) -> None:
        """Call `end` with the error when a limit is reached, in place of the callback given before."""
        self._end = end

    def begin(self, run: RunContext[Any] | None, max_turns: int | None) -> None:
        """Start to count for a request of `run`."""
        self._tally.next_request(self._turns)
        self._turns, self._used, self._run = 0, UsageCount(), run
        self._max_turns = DEFAULT_MAX_TURNS if run is None and max_turns is None else max_turns

    def turns_left(self) -> int | None:
        """How many turns the request may take, as known before it starts."""
        limits = self._limits
        left = [] if self._max_turns is None else [self._max_turns]
        if self._run is not None and limits.request_limit is not None:
            left.append(max(1, limits.request_limit - self._run.usage.requests - self._tally.extra_requests))
        return min(left, default=None)

    def observe(self, message: Message) -> None:
        """Count a message of the CLI."""
        if self._ended or not isinstance(message, StreamEvent) or message.parent_tool_use_id is not None:
            return
        try:
            self._count(message.event)
        except Exception as error:
            self.stop(error)

    def stop(self, error: Exception) -> None:
        """End the request with `error`; the first one counts."""
        if not self._ended:
            self._ended = True
            self._end(error)

    def release(self) -> None:
        """Cancel the calls that are never answered: the session is over."""
        for call in self._unanswered:
            call.cancel()

    def _count(self, event: Mapping[str, Any]) -> None:
        match event:
            case {"type": "message_start", "message": message}:
                self._tally.next_turn()
                self._turns += 1
                self._calls = self._leaves = False
                self._used.begin_message()
                self._used.report(message.get("usage") or {})
            case {"type": "content_block_start", "content_block": {"type": "tool_use", "name": name}}:
                self._calls = True
                self._leaves = self._leaves or name in self._parked
            case {"type": "message_delta"}:
                self._used.report(event.get("usage") or {})
                # An answer and a parked call end this request, and then pydantic-ai itself looks at the limits.
                if self._calls and not self._leaves:
                    self._check_next_turn()
            case _:
                pass

    def _check_next_turn(self) -> None:
        if self._run is not None:
            self._limits.check_per_request_input_tokens(self._used.message().input_tokens)
            self._limits.check_tokens(self._usage())
            self._limits.check_before_request(self._usage())
        if self._max_turns is not None and self._turns >= self._max_turns:
            raise ClaudeCodeLimitError("max_turns", f"the model still called tools after {self._turns} turns")

    def _usage(self) -> RunUsage:
        """The usage of the run, with this request."""
        usage = copy(self._run.usage) if self._run is not None else RunUsage()
        usage.incr(self._used.total())
        usage.requests += self._tally.extra_requests + self._turns
        return usage

    @property
    def _limits(self) -> UsageLimits:
        return (self._run.usage_limits if self._run is not None else None) or UsageLimits()

    # Around each call of a tool that runs in this process

    async def starts(self) -> None:
        """Count a call that is about to run; it never returns once the request has ended."""
        if self._run is not None:
            usage = copy(self._run.usage)
            usage.tool_calls += self._running + 1
            try:
                self._limits.check_before_tool_call(usage)
            except Exception as error:
                self.stop(error)
        if self._ended:
            await self._never()
        self._running += 1

    def ends(self, name: str, *, succeeded: bool) -> None:
        """Count a call that has run."""
        self._running -= 1
        if succeeded:
            self._tally.succeeded(name)
            if self._run is not None:
                self._run.usage.tool_calls += 1

    async def failed(self, name: str, max_retries: int | None, error: ModelRetry) -> None:
        """Count a failed attempt; it never returns if it was one too many.

        `max_retries` is that of the tool or its toolset, if any.
        """
        try:
            self._tally.failed(name, self._retries_of(name, max_retries), error)
        except UnexpectedModelBehavior as final:
            self.stop(final)
            await self._never()

    def _retries_of(self, name: str, max_retries: int | None) -> int:
        manager = None if self._run is None else self._run.tool_manager
        if manager is not None and manager.tools is not None and (tool := manager.tools.get(name)) is not None:
            return tool.max_retries
        return _DEFAULT_RETRIES if max_retries is None else max_retries

    async def _never(self) -> None:
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unanswered.append(answer)
        await answer


_TOKENS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

# A part of the tokens above, and where the API reports it. An hour in the cache has another price than five minutes.
_PARTS = {
    "ephemeral_1h_input_tokens": "cache_creation",
    "thinking_tokens": "output_tokens_details",
    "web_search_requests": "server_tool_use",
}


class UsageCount:
    """The usage of all messages of one answer. Each report replaces the one before for the same message."""

    def __init__(self) -> None:
        self._earlier: dict[str, int] = {}
        self._message: dict[str, int] = {}

    def begin_message(self) -> None:
        """Count what follows for another message."""
        self._earlier = self._details()
        self._message = {}

    def report(self, usage: Mapping[str, Any]) -> None:
        """Count what the API reports for the message."""
        found = {name: usage.get(name) for name in _TOKENS}
        for name, place in _PARTS.items():
            if is_mapping(inside := usage.get(place)):
                found[name] = inside.get(name) or None
        self._message |= {name: value for name, value in found.items() if isinstance(value, int)}

    def total(self) -> RequestUsage:
        """The sum of all messages."""
        return _usage_of(self._details())

    def message(self) -> RequestUsage:
        """The usage of the newest message."""
        return _usage_of(self._message)

    def _details(self) -> dict[str, int]:
        names = [*self._earlier, *(name for name in self._message if name not in self._earlier)]
        return {name: self._earlier.get(name, 0) + self._message.get(name, 0) for name in names}


def _usage_of(details: dict[str, int]) -> RequestUsage:
    read, written = details.get("cache_read_input_tokens", 0), details.get("cache_creation_input_tokens", 0)
    return RequestUsage(
        input_tokens=details.get("input_tokens", 0) + read + written,
        output_tokens=details.get("output_tokens", 0),
        output_reasoning_tokens=details.get("thinking_tokens", 0),
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=min(details.get("ephemeral_1h_input_tokens", 0), written),
        details=details,
    )
