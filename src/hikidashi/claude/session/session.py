"""One live conversation with the Claude Code CLI.

A task of its own owns the client from connect to disconnect, so neither the cancellation of a caller
nor the end of its task can leave a process behind: whatever happens, the task ends the CLI first.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookContext,
    HookMatcher,
    Message,
    ResultMessage,
)
from claude_agent_sdk.types import HookEvent, HookJSONOutput

from ...errors import ClaudeCodeTimeoutError
from ..failures import failed_process, too_late
from ..history import Block, Conversation, WireMessage
from ..limits import Guard
from ._offer import Offer
from .parking import ParkedTools

# Disconnecting in the middle of a turn takes 7 s and lets the CLI go on calling the API;
# interrupting it first takes a few milliseconds. This bounds the wait for its last word.
_INTERRUPT_GRACE = 2.0

_BACKGROUND_DELAY = 0.05
"""Seconds after which a CLI that nobody waits for is started."""

Hooks = dict[HookEvent, list[HookMatcher]]

_AFTER_CALLS = cast("HookEvent", "PostToolBatch")
"""The hook after the last call of a turn; the SDK types its answer and not its name."""


class Deadline:
    """The moment by which an answer must be there."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.at = None if seconds is None else asyncio.get_running_loop().time() + seconds
        """In the time of the event loop."""

    def timeout(self) -> asyncio.Timeout:
        """A context that ends at the deadline."""
        return asyncio.timeout_at(self.at)

    def passed(self, waiting_for: str, model_name: str) -> ClaudeCodeTimeoutError:
        """The error to raise when it has passed."""
        return too_late(self.seconds or 0, waiting_for, model_name)


class Session:
    """A running CLI, the messages it holds, and the calls it waits for."""

    def __init__(
        self,
        options: ClaudeAgentOptions,
        parked: ParkedTools,
        guard: Guard,
        *,
        wire_name: Callable[[str], str],
        identity: object,
        offer: Offer,
        resources: contextlib.ExitStack,
    ) -> None:
        """Prepare a session; nothing runs before `start`.

        Args:
            options: how to start the CLI.
            parked: the tools whose calls wait for an answer from outside.
            guard: what counts turns and calls, and ends a request at a limit.
            wire_name: the name Claude Code knows a tool by.
            identity: whatever must be equal for another request to continue here.
            offer: the tools that Claude Code is to offer to the model.
            resources: what the CLI needs as long as it runs, closed with it.
        """
        self.parked = parked
        self.guard = guard
        guard.end = self._stop
        self.wire_name = wire_name
        self.identity = identity
        self.offer = offer
        self.held: list[WireMessage] = []
        """The conversation as the CLI has it."""
        self.waiting: set[str] = set()
        """Ids of the calls that wait for an answer."""
        self.parked_before = False
        """Whether a call has waited here before."""
        self.was_alive = False
        """Whether the CLI was started before the request that it now answers, and may have ended since."""
        self.spent_usd = 0.0
        self._model_name = options.model or "default"
        self._stderr: deque[str] = deque(maxlen=50)
        heard = self._overheard(options.stderr)
        self._client = ClaudeSDKClient(replace(options, stderr=heard, hooks=self._with_end_of_turn(options.hooks)))
        self._resources = resources
        self._messages: asyncio.Queue[Message | BaseException | None] = asyncio.Queue()
        self._stopped: Exception | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())  # heard, if by nobody else
        self._in_turn = False
        self._over = False
        self._ending = False
        self._task: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether the CLI can still be asked something."""
        return self._task is not None and not (self._task.done() or self._over or self._ending)

    def lacks(self, talk: Conversation) -> list[Block] | None:
        """What of the last turn of `talk` the CLI does not hold; `None` if that is not all it does not hold.

        It holds a part of that turn where it ran some of the calls that the turn answers.
        """
        before, last = talk.messages[:-1], talk.last
        if self.held == before:
            return last
        known = self.held[-1]["content"] if len(self.held) == len(talk.messages) else []
        if not known or self.held[:-1] != before or last[: len(known)] != known:
            return None
        return last[len(known) :]

    def serve(self, parked: ParkedTools, guard: Guard, *, wire_name: Callable[[str], str], identity: object) -> None:
        """Take the place of a session that would have been started with these."""
        self.parked, self.guard, self.wire_name, self.identity = parked, guard, wire_name, identity
        guard.end = self._stop
        self.was_alive = True

    def start_in_background(self) -> None:
        """Start the CLI for a run that is yet to come, and with nothing of the context of this one.

        Not at once: asyncio waits for ever if it is cancelled while it starts a process, as at the end of
        `asyncio.run()`, and a program that ends right after its run needs no CLI.
        """
        self._begin(contextvars.Context(), delay=_BACKGROUND_DELAY)

    async def start(self, deadline: Deadline) -> None:
        """Start the CLI, if it was not started before, and wait until it listens.

        Raises:
            ClaudeCodeError: it is missing, did not start, or not in time.
        """
        if self._task is None:
            self._begin(None, delay=0.0)
        try:
            async with deadline.timeout():
                await asyncio.shield(self._ready)
        except TimeoutError as error:
            raise deadline.passed("the Claude Code CLI to start", self._model_name) from error

    async def listening(self) -> None:
        """Return when the CLI listens, or has failed to."""
        await asyncio.wait([self._ready])

    def _begin(self, context: contextvars.Context | None, *, delay: float) -> None:
        self._task = asyncio.create_task(self._live(delay), name="hikidashi-claude-code", context=context)
        self._task.add_done_callback(self._ended)

    def _ended(self, _: asyncio.Task[None]) -> None:
        # Here and not at the end of the task: one that is cancelled at once never begins.
        self._ready.cancel()
        self._resources.close()

    async def ask(self, blocks: Sequence[Block] | None) -> None:
        """Send the user's turn; `None` lets the CLI go on with the turn it resumed."""
        self._in_turn = True
        if blocks is not None:
            try:
                await self._client.query(_user_turn(list(blocks)))
            except Exception as error:  # the CLI is gone: whoever reads the answer hears of it
                self._messages.put_nowait(error)

    async def go_on(self, talk: Conversation) -> None:
        """Send the last turn of `talk`: answers to the calls that wait, or what the user says next."""
        blocks = self.lacks(talk) or []
        self.held = list(talk.messages)
        self.was_alive = True
        if not self.waiting:
            await self.ask(blocks)
            return
        self._in_turn = True
        self.parked_before = True
        self.waiting = set()
        self.parked.answer(blocks)

    async def messages(self, deadline: Deadline) -> AsyncIterator[Message]:
        """What the CLI says, as it says it.

        Raises:
            ClaudeCodeError: the CLI ended, or nothing came before the deadline.
        """
        while True:
            try:
                async with deadline.timeout():
                    message = await self._messages.get()
            except TimeoutError as error:
                waiting_for = "the answer of the model, or of a tool that it called"
                raise deadline.passed(waiting_for, self._model_name) from error
            if self._stopped is not None and message is self._stopped:
                raise self._stopped
            if message is None or isinstance(message, BaseException):
                raise failed_process(message, self._model_name, "\n".join(self._stderr)) from message
            self.offer.check(message)
            yield message

    def stop(self) -> None:
        """Begin to end the CLI."""
        if self._task is not None and not self._ending:  # a second cancellation would break into the ending itself
            self._ending = True
            self._task.cancel()

    async def close(self) -> None:
        """End the CLI, and wait until it is gone even if the caller is cancelled meanwhile."""
        self.stop()
        if self._task is None:
            self._resources.close()
            return
        cancelled: asyncio.CancelledError | None = None
        while not self._task.done():
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError as error:  # later: the ending is bounded, and a process left behind is not
                cancelled = error
        if cancelled is not None:
            raise cancelled

    async def _live(self, delay: float) -> None:
        try:
            await asyncio.sleep(delay)
            await self._client.connect()
            self._ready.set_result(None)
            async for message in self._client.receive_messages():
                if isinstance(message, ResultMessage):
                    self._in_turn = False
                self._messages.put_nowait(message)
                self.guard.heard(message)
            self._over = True
            self._messages.put_nowait(None)
        except Exception as error:  # whatever it is, the one who waits must hear of it
            self._over = True
            if self._ready.done():
                self._messages.put_nowait(error)
            else:
                self._ready.set_exception(failed_process(error, self._model_name, "\n".join(self._stderr)))
        finally:
            self._ending = True
            await self._end()

    def _stop(self, error: Exception) -> None:
        """End what is read with `error`: a limit was reached."""
        self._stopped = error
        self._messages.put_nowait(error)

    def _with_end_of_turn(self, hooks: Hooks | None) -> Hooks:
        """`hooks`, and one that ends a turn in which a call was given up."""

        async def end_abandoned_turn(turn: Any, call_id: str | None, context: HookContext) -> HookJSONOutput:
            return await self.parked.end_abandoned_turn(turn, call_id, context)

        given = hooks or {}
        return {**given, _AFTER_CALLS: [*given.get(_AFTER_CALLS, []), HookMatcher(hooks=[end_abandoned_turn])]}

    def _overheard(self, listener: Callable[[str], None] | None) -> Callable[[str], None]:
        def hear(line: str) -> None:
            self._stderr.append(line)
            if listener is not None:
                listener(line)

        return hear

    async def _end(self) -> None:
        try:
            if self._in_turn and not self._over:
                with contextlib.suppress(Exception):
                    async with asyncio.timeout(_INTERRUPT_GRACE):
                        await self._client.interrupt()
                        async for message in self._client.receive_messages():
                            if isinstance(message, ResultMessage):
                                break
        finally:
            self.parked.release()
            self.guard.release()
            with contextlib.suppress(Exception):
                await self._client.disconnect()


async def _user_turn(blocks: list[Block]) -> AsyncIterator[dict[str, Any]]:
    yield {"type": "user", "message": {"role": "user", "content": blocks}, "parent_tool_use_id": None}
