"""One live conversation with the Claude Code CLI, and the calls that wait in it.

Claude Code calls a tool; the call waits (is parked) here; pydantic-ai runs the tool; the result completes the call.
A task of its own owns the client from connect to disconnect, so that neither the cancellation of a caller nor the end
of its task leaves a process behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookContext,
    HookMatcher,
    McpSdkServerConfig,
    Message,
    ResultMessage,
    SystemMessage,
)
from claude_agent_sdk.types import HookEvent, HookJSONOutput
from mcp.server import Server, ServerRequestContext
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams
from mcp.types import Tool as McpTool
from pydantic_ai.messages import ModelResponse
from pydantic_ai.tools import ToolDefinition

from ..convert.claude import AFTER_CALLS, MAX_RESULT_CHARS, ClaudeNames, listed_schema
from ..errors import ClaudeCodeTimeoutError, ToolValidationError
from .failures import DeadlineError, failed_process
from .history import Block, WireConversation, WireMessage, append_response
from .restrictions import Restrictions

if TYPE_CHECKING:
    from .request import ClaudeRequest

CALL_ID_META = "claudecode/toolUseId"
"""The key in `_meta` for the id of the `tool_use` block that a call comes from."""


def _error(text: str) -> CallToolResult:
    return CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": True})


_NO_ANSWER = _error("This call ended before it was answered.")
_NOT_FOR_SUB_AGENTS = _error(
    "A sub-agent cannot call this tool: the main agent runs it. Say in your answer which call you need and why."
)


class ParkedTools:
    """Tools that Claude Code can call and pydantic-ai runs.

    The SDK's own server hides the id of the call and validates arguments itself, so this one is an `mcp.server.Server`.
    `names` includes tools that may be listed later, so that adding a tool never renames another.
    """

    def __init__(
        self,
        definitions: Sequence[ToolDefinition],
        *,
        server_name: str,
        restrictions: Restrictions | None = None,
        names: Iterable[str] = (),
    ) -> None:
        self.server_name = server_name
        self._schemas = {tool.name: tool.parameters_json_schema for tool in definitions}
        self._restrictions = restrictions or Restrictions()
        self.wire = ClaudeNames(server_name, [*names, *self._schemas])
        """The names in Claude Code."""
        self.names = {self.wire.full(name): name for name in self._schemas}
        """Name in Claude Code → name in pydantic-ai."""
        self.restricted = frozenset(filter(self._restrictions.restricts, self._schemas))
        """The tools of which a call may be refused, depending on its arguments."""
        self._listed = [_listed(definition, self.wire.of(definition.name)) for definition in definitions]
        self.listing = [tool.model_dump(by_alias=True, exclude_none=True) for tool in self._listed]
        """The tools as the model sees them; sessions with equal listings are interchangeable."""
        self._calls: dict[str, asyncio.Future[CallToolResult]] = {}
        self._released: set[str] = set()
        """Ids of the calls that were ended without a result."""
        self.abandoned = False
        """Whether a turn of Claude Code ended with such a call, so that its conversation is incomplete."""

    def config(self) -> McpSdkServerConfig:
        """A server of its own for one session, for `ClaudeAgentOptions.mcp_servers`."""
        server: Server[Any] = Server(self.server_name, on_list_tools=self._list, on_call_tool=self._park)
        return McpSdkServerConfig(type="sdk", name=self.server_name, instance=server)

    def refusal(self, name: str, arguments: object) -> str | None:
        """Why a call of the tool `name` does not park, for the model to read."""
        return self._restrictions.refusal(name, arguments, self._schemas.get(name, {}))

    def answer(self, results: Iterable[Block]) -> None:
        """Complete the calls that the `tool_result` blocks answer."""
        for block in results:
            self._complete(block["tool_use_id"], _mcp_result(block))

    def refuse(self, call_ids: Iterable[str]) -> None:
        """Refuse calls of a sub-agent of Claude Code, which pydantic-ai does not see."""
        for call_id in call_ids:
            self._complete(call_id, _NOT_FOR_SUB_AGENTS)

    def release(self, call_ids: Iterable[str] | None = None) -> None:
        """End these calls, or all, without a result, so that Claude Code goes on to the calls behind them."""
        # With a result and not a cancellation, which would end the MCP server and fail the calls after this one.
        for call_id in list(self._calls if call_ids is None else call_ids):
            if self._complete(call_id, _NO_ANSWER):
                self._released.add(call_id)

    def end_abandoned_turn(self, turn: Any) -> HookJSONOutput:
        """The answer to a `PostToolBatch` hook: end the turn before the model reads a result not from outside.

        That is the result of a call that was released, or that Claude Code gave up.
        """
        calls = [call["tool_use_id"] for call in turn["tool_calls"]]
        if not any(call_id in self._released or self._waits(call_id) for call_id in calls):
            return {}
        self.abandoned = True
        return {"continue_": False, "stopReason": "A call waits for its result from outside."}

    def _complete(self, call_id: str, result: CallToolResult) -> bool:
        """Whether the call was not complete before."""
        future = self._call(call_id)
        is_open = not future.done()
        if is_open:
            future.set_result(result)
        return is_open

    def _waits(self, call_id: str) -> bool:
        future = self._calls.get(call_id)
        return future is not None and (future.cancelled() or not future.done())

    def _call(self, call_id: str) -> asyncio.Future[CallToolResult]:
        # Created by whichever side is first: Claude Code may call before its turn is complete.
        return self._calls.setdefault(call_id, asyncio.get_running_loop().create_future())

    async def _list(self, _: ServerRequestContext[Any, Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=self._listed)

    async def _park(self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        name = self.wire.original(params.name) or params.name
        if (refusal := self.refusal(name, params.arguments)) is not None:
            return _error(refusal)
        meta: Mapping[str, Any] = context.meta or params.meta or {}
        return await self._call(str(meta[CALL_ID_META]))


def _listed(definition: ToolDefinition, name: str) -> McpTool:
    description = definition.description or ""
    return McpTool.model_validate(
        {
            "name": name,
            "description": description or ("" if name == definition.name else definition.name),
            "inputSchema": listed_schema(definition.name, description, definition.parameters_json_schema),
            # Claude Code runs only the calls of read-only tools concurrently. pydantic-ai decides about that itself, so
            # every call may park at once.
            "annotations": {"readOnlyHint": True},
            "_meta": {"anthropic/maxResultSizeChars": MAX_RESULT_CHARS, "anthropic/alwaysLoad": True},
        }
    )


def _mcp_result(block: Block) -> CallToolResult:
    content = [_mcp_block(item) for item in block["content"]]
    return CallToolResult.model_validate({"content": content, "isError": block.get("is_error", False)})


def _mcp_block(block: Block) -> Block:
    match block:
        case {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}:
            return {"type": "image", "data": data, "mimeType": media_type}
        case _:  # text: see `results_fit_mcp` for what MCP cannot carry
            return block


_LONGEST_NAME = 128
_MOST_NAMED = 10


def _missing_tools(missing: list[str], init: dict[str, Any]) -> str:
    named = ", ".join(map(repr, missing[:_MOST_NAMED]))
    more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
    servers: list[dict[str, Any]] = init.get("mcp_servers") or []
    down = {server["name"]: server["status"] for server in servers if server["status"] != "connected"}
    reasons = [f"the MCP server {name!r} is {status!r}" for name, status in down.items()]
    if (longest := max(map(len, missing))) > _LONGEST_NAME:
        reasons.append(f"a name has {longest} characters, and the limit is {_LONGEST_NAME}")
    reasons = reasons or [
        "an input schema with `anyOf`, `oneOf` or `allOf` at its root, or `disallowed_tools`, a hook or a settings "
        "file that denies the tool"
    ]
    return (
        f"Claude Code does not offer {len(missing)} of the tools that it was given: {named}{more}. "
        f"Likely reason: {'; '.join(reasons)}. Change the tool, or leave it out of the agent."
    )


# Disconnecting in the middle of a turn takes 7 s and lets the CLI go on calling the API;
# interrupting it first takes a few milliseconds. This bounds the wait for its last message.
_INTERRUPT_GRACE = 2.0

_BACKGROUND_DELAY = 0.05
"""Seconds before a CLI is started in the background."""

Hooks = dict[HookEvent, list[HookMatcher]]


class Deadline:
    """When a request must be answered."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.at = None if seconds is None else asyncio.get_running_loop().time() + seconds
        """On the clock of the event loop; None is never."""

    def timeout(self) -> asyncio.Timeout:
        """A context manager that raises `TimeoutError` at the deadline."""
        return asyncio.timeout_at(self.at)

    def passed(self, waiting_for: str, model_name: str) -> ClaudeCodeTimeoutError:
        """The error to raise after the deadline."""
        return DeadlineError(self.seconds or 0, waiting_for, model_name)


class Session:
    """A running CLI, the conversation it holds, and the calls it waits for."""

    def __init__(self, options: ClaudeAgentOptions, request: ClaudeRequest, *, resources: contextlib.ExitStack) -> None:
        """Prepare a session; nothing runs before `start`.

        Args:
            options: how to start the CLI.
            request: the request that begins the conversation.
            resources: closed when the CLI has ended.
        """
        self.serve(request)
        self.expected_tools = request.expected_tools
        """The tools that Claude Code must offer. All are read-only to it: it runs their calls concurrently."""
        self._held: list[WireMessage] = []
        self._waiting: frozenset[str] = frozenset()
        self.has_parked = False
        """Whether a call waited here in an earlier request."""
        self.is_reused = False
        """Whether the CLI was started before the request that it answers now, and may have ended since."""
        self._spent_usd = 0.0
        self._model_name = options.model or "default"
        self._stderr: deque[str] = deque(maxlen=50)  # the last lines say why it ended
        stderr = self._with_stderr_kept(options.stderr)
        self._client = ClaudeSDKClient(replace(options, stderr=stderr, hooks=self._with_end_of_turn(options.hooks)))
        self._resources = resources
        self._messages: asyncio.Queue[Message | BaseException | None] = asyncio.Queue()
        self._stopped: Exception | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(
            lambda ready: ready.cancelled() or ready.exception()
        )  # retrieved: asyncio warns of none
        self._in_turn = False
        self._over = False
        self._ending = False
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether the CLI can still take a turn."""
        return self._task is not None and not (self._task.done() or self._over or self._ending)

    @property
    def is_waiting(self) -> bool:
        """Whether a call waits for its result."""
        return bool(self._waiting)

    def can_continue(self, conversation: WireConversation, identity: object) -> bool:
        """Whether `continue_with(conversation)` leads to the same conversation as a new CLI would."""
        if not self.alive or self.parked.abandoned or self._identity != identity:
            return False
        missing = self._missing(conversation)
        if missing is None:
            return False
        answered = {block["tool_use_id"] for block in missing if block["type"] == "tool_result"}
        # A turn that waits takes results alone: a prompt beside them can only be sent as history.
        return answered >= self._waiting and (not self._waiting or len(answered) == len(missing))

    def is_answered_by(self, conversation: WireConversation) -> bool:
        """Whether calls wait here, and the last turn of `conversation` has all of their results."""
        answered = {block["tool_use_id"] for block in conversation.last if block["type"] == "tool_result"}
        return bool(self._waiting) and self._waiting <= answered

    def _missing(self, conversation: WireConversation) -> list[Block] | None:
        """The blocks of the last turn of `conversation` that the CLI does not hold; None if it lacks an earlier turn.

        It holds some of them already if it ran some of the calls that the turn answers.
        """
        before, last = conversation.messages[:-1], conversation.last
        if self._held == before:
            return last
        known = self._held[-1]["content"] if len(self._held) == len(conversation.messages) else []
        if not known or self._held[:-1] != before or last[: len(known)] != known:
            return None
        return last[len(known) :]

    def serve(self, request: ClaudeRequest) -> None:
        """Serve `request`, for which a session with the same options would have been started."""
        self.parked, self.guard = request.parked, request.guard
        self._wire_name, self._identity = request.wire_name, request.identity
        self.guard.on_limit(self._stop)
        self.is_reused = True

    def start_in_background(self) -> None:
        """Start the CLI for a later run, in an empty context.

        Not at once: asyncio hangs if it is cancelled while it starts a process, as at the end of `asyncio.run()`,
        and a program that ends right after its run needs no CLI.
        """
        self._begin(contextvars.Context(), delay=_BACKGROUND_DELAY)

    async def start(self, deadline: Deadline) -> None:
        """Start the CLI if necessary, and wait until it is ready.

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

    async def started(self) -> None:
        """Return when the CLI is ready, or has failed to start."""
        await asyncio.wait([self._ready])

    def _begin(self, context: contextvars.Context | None, *, delay: float) -> None:
        self._task = asyncio.create_task(self._live(delay), name="hikidashi-claude-code", context=context)
        self._task.add_done_callback(self._ended)

    def _ended(self, _: asyncio.Task[None]) -> None:
        # Here and not at the end of the task: one that is cancelled at once never begins.
        self._ready.cancel()
        self._resources.close()

    async def begin(self, messages: Sequence[WireMessage], prompt: Sequence[Block] | None) -> None:
        """Send the first turn to a CLI that then holds `messages`; without a prompt it goes on with a resumed turn."""
        self._held = list(messages)
        await self._send(prompt)

    async def _send(self, blocks: Sequence[Block] | None) -> None:
        self._in_turn = True
        if blocks is not None:
            try:
                await self._client.query(_user_turn(list(blocks)))
            except Exception as error:  # the CLI has ended: `messages` raises it
                self._messages.put_nowait(error)

    async def continue_with(self, conversation: WireConversation) -> None:
        """Send the last turn of `conversation`: results of the calls that wait, or the next prompt."""
        blocks = self._missing(conversation) or []
        self._held = list(conversation.messages)
        self.is_reused = True
        if not self._waiting:
            await self._send(blocks)
            return
        self._in_turn = True
        self.has_parked = True
        self._waiting = frozenset()
        self.parked.answer(blocks)

    def record_answer(self, answer: ModelResponse, *, waiting: Iterable[str]) -> None:
        """Add `answer` to the conversation; the calls with the ids `waiting` wait for their results."""
        append_response(self._held, answer, self._wire_name)
        self._waiting = frozenset(waiting)

    def record_cost(self, total_usd: float) -> float:
        """What the last turn cost, given what the CLI has spent since its start."""
        cost, self._spent_usd = total_usd - self._spent_usd, total_usd
        return cost

    async def messages(self, deadline: Deadline) -> AsyncIterator[Message]:
        """The messages of the CLI as they arrive.

        Raises:
            ClaudeCodeError: the CLI ended or was closed, or nothing came before the deadline.
            ToolValidationError: Claude Code does not offer a tool.
        """
        while not self._closed:
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
            if isinstance(message, SystemMessage) and message.subtype == "init":
                self._check_tools(message.data)
            yield message
        raise failed_process(None, self._model_name, "\n".join(self._stderr))

    def _check_tools(self, init: dict[str, Any]) -> None:
        # Claude Code drops a tool that it cannot offer, silently. It lists the others before it asks the model.
        if missing := sorted(self.expected_tools.difference(init.get("tools") or ())):
            raise ToolValidationError(_missing_tools(missing, init), missing[0])

    def stop(self) -> None:
        """Begin to end the CLI; `close` waits for the end."""
        self._closed = True
        self._messages.put_nowait(None)  # wakes a reader
        if self._task is not None and not self._ending:  # a second cancellation would break into the ending itself
            self._ending = True
            self._task.cancel()

    async def close(self) -> None:
        """End the CLI, and wait until it has ended even if the caller is cancelled meanwhile."""
        self.stop()
        if self._task is None:
            self._resources.close()
            return
        cancelled: asyncio.CancelledError | None = None
        while not self._task.done():
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError as error:  # raised later: ending takes seconds, a leaked process stays
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
                self.guard.observe(message)
            self._over = True
            self._messages.put_nowait(None)
        except Exception as error:  # raised where the caller waits
            self._over = True
            if self._ready.done():
                self._messages.put_nowait(error)
            else:
                self._ready.set_exception(failed_process(error, self._model_name, "\n".join(self._stderr)))
        finally:
            self._ending = True
            await self._end()

    def _stop(self, error: Exception) -> None:
        """Let `messages` raise `error`: a limit was reached."""
        self._stopped = error
        self._messages.put_nowait(error)

    def _with_end_of_turn(self, hooks: Hooks | None) -> Hooks:
        """`hooks`, and one that ends a turn in which a call got no result."""

        async def end_abandoned_turn(turn: Any, _: str | None, __: HookContext) -> HookJSONOutput:
            return self.parked.end_abandoned_turn(turn)  # of the request that is served now

        given = hooks or {}
        return {**given, AFTER_CALLS: [*given.get(AFTER_CALLS, []), HookMatcher(hooks=[end_abandoned_turn])]}

    def _with_stderr_kept(self, callback: Callable[[str], None] | None) -> Callable[[str], None]:
        def keep(line: str) -> None:
            self._stderr.append(line)
            if callback is not None:
                callback(line)

        return keep

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
