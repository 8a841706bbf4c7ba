"""One answer of Claude Code as pydantic-ai's streamed response."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    Message,
    ResultMessage,
    StreamEvent,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from pydantic_ai.messages import (
    BinaryContent,
    FinishReason,
    ModelResponseStreamEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
    ToolCallPart,
)
from pydantic_ai.models import StreamedResponse

from ..errors import ClaudeCodeProcessError
from ..tool import json_text
from .failures import failed_result
from .history import CLAUDE_CODE
from .limits import UsageCount
from .session import Deadline, Session


@dataclass
class TurnCalls:
    """The calls so far. An answer is complete when Claude Code has run all of its own, and the others wait."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    """The name on Claude Code's side of each call, by id, in the order of the calls."""
    waiting: set[str] = field(default_factory=set[str])
    """Calls that pydantic-ai is to run."""
    running: set[str] = field(default_factory=set[str])
    """Calls that Claude Code, or an MCP server behind it, runs and has not answered yet."""
    arriving: bool = False
    """Whether the message is still arriving."""
    released: bool = False
    """Whether the waiting calls were released, so that Claude Code ends its turn itself."""

    def begin_message(self) -> None:
        """Record that a message has begun to arrive."""
        self.arriving = True

    def end_message(self) -> None:
        """Record that the message is complete."""
        self.arriving = False

    def release(self) -> None:
        """Record that the waiting calls were released."""
        self.released = True

    def add(self, call_id: str, name: str, *, waits: bool) -> None:
        """Record a call that has begun to arrive."""
        self.names[call_id] = name
        (self.waiting if waits else self.running).add(call_id)

    def waits(self, call_id: str) -> None:
        """Record that pydantic-ai is to run a call after all."""
        self.running.discard(call_id)
        self.waiting.add(call_id)

    @property
    def only_wait(self) -> bool:
        """Whether nothing more can arrive before pydantic-ai has run a call."""
        return bool(self.waiting) and not (self.running or self.arriving or self.released)

    def held_up_by_waiting(self, runs_beside: Container[str]) -> bool:
        """Whether a call may never start because one before it waits.

        Args:
            runs_beside: names of tools whose calls Claude Code runs concurrently, because they are read-only to it.
        """
        behind = False
        for call_id, name in self.names.items():
            if behind and call_id in self.running and name not in runs_beside:
                return True
            behind = behind or call_id in self.waiting
        return False


_FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_call",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}

_OUT_OF_TOKENS = {"max_tokens", "model_context_window_exceeded"}
_REFUSED = {"refusal"}


def finish_details(delta: Mapping[str, Any]) -> dict[str, Any]:
    """The end of a message in its `message_delta`, for `provider_details`."""
    details: dict[str, Any] = {"finish_reason": delta["stop_reason"]}
    stopped: Mapping[str, Any] = delta.get("stop_details") or {}
    if stopped.get("explanation") is not None:
        details["refusal"] = stopped["explanation"]
    if stopped.get("category") is not None:
        details["refusal_category"] = stopped["category"]
    return details


def cut_short(provider_details: Mapping[str, Any] | None, runs_a_call: bool) -> bool:
    """Whether an answer that was cut short is final.

    Claude Code would ask it to go on, up to three times, with no setting to stop it. A call that it runs itself
    before the tokens were used up is different: then there are results to go on with.
    """
    reason = (provider_details or {}).get("finish_reason")
    return reason in _REFUSED or (reason in _OUT_OF_TOKENS and not runs_a_call)


@dataclass
class _ArrivingCall:
    """A call that Claude Code runs itself, while its arguments arrive."""

    id: str
    name: str
    arguments: str = ""


@dataclass
class ClaudeCodeStreamedResponse(StreamedResponse):
    """Reads a session until it has answered, or waits for tool results."""

    session: Session
    _relaunch: Callable[[], Awaitable[Session]]
    """Starts a new session, in place of one that was reused and turns out to have ended."""
    _deadline: Deadline
    _requested_model: str
    _native_output: bool
    """Whether the answer is the JSON value that Claude Code validated, not the text around it."""

    complete: bool = field(default=False, init=False)
    """Whether the answer was read to its end, so that the session can take another turn."""
    _closed: bool = field(default=False, init=False)
    """Whether the caller has closed the stream."""
    _message_id: str = field(default="", init=False)
    _counted: UsageCount = field(default_factory=UsageCount, init=False)
    _model_name: str = field(default="", init=False)
    _running: dict[int, _ArrivingCall] = field(default_factory=dict[int, _ArrivingCall], init=False)
    _runs_a_call: bool = field(default=False, init=False)
    """Whether Claude Code itself answers a call of the message."""
    _calls: TurnCalls = field(default_factory=TurnCalls, init=False)
    _results: list[ToolResultBlock] = field(default_factory=list[ToolResultBlock], init=False)
    """Results that arrived before the message that called for them was complete."""
    _timestamp: datetime = field(default_factory=lambda: datetime.now(UTC), init=False)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async for message in self._messages():
            if isinstance(message, StreamEvent) and message.parent_tool_use_id is None:
                for event in self._api_event(message.event):
                    yield event
                if message.event["type"] == "message_delta" and cut_short(self.provider_details, self._runs_a_call):
                    # Claude Code would ask the model to go on, and lose this answer.
                    await self.session.close()
                    return
            elif isinstance(message, UserMessage):
                for event in self._results_of_own_calls(message):
                    yield event
            elif isinstance(message, ResultMessage):
                for event in self._result(message):
                    yield event
                self._finish()
                return
            elif isinstance(message, AssistantMessage) and message.parent_tool_use_id is not None:
                uses = [block for block in message.content if isinstance(block, ToolUseBlock)]
                parked = self.session.parked
                parked.refuse(block.id for block in uses if block.name in parked.names)
            if self._calls.only_wait:
                self._finish()
                return

    async def _messages(self) -> AsyncIterator[Message]:
        relaunch = self._relaunch if self.session.is_reused else None
        try:
            async for message in self.session.messages(self._deadline):
                if relaunch is not None and isinstance(message, ResultMessage) and self.session.parked.abandoned:
                    break  # the calls that this request answers were abandoned before it
                if isinstance(message, StreamEvent):
                    relaunch = None
                yield message
        except ClaudeCodeProcessError:
            if self._closed:
                return
            if relaunch is None:
                raise
        if relaunch is not None:
            await self.session.close()
            self.session = await relaunch()
            async for message in self.session.messages(self._deadline):
                yield message

    def _finish(self) -> None:
        self.complete = True
        self.session.record_answer(self.get(), waiting=self._calls.waiting)

    def _api_event(self, event: dict[str, Any]) -> Iterator[ModelResponseStreamEvent]:
        match event:
            case {"type": "message_start", "message": message}:
                self._message_id = message["id"]
                self._model_name = message["model"]
                self.provider_response_id = message["id"]
                self._counted.begin_message()
                self._runs_a_call = False
                self._count(message.get("usage") or {})
                self._calls.begin_message()
            case {"type": "content_block_start", "index": index, "content_block": block}:
                yield from self._block_start((self._message_id, index), block)
            case {"type": "content_block_delta", "index": index, "delta": delta}:
                yield from self._block_delta((self._message_id, index), delta)
            case {"type": "content_block_stop", "index": index}:
                yield from self._own_call(index)
            case {"type": "message_delta", "delta": delta}:
                if reason := delta.get("stop_reason"):
                    self.finish_reason = _FINISH_REASONS.get(reason)
                    self.provider_details = {**(self.provider_details or {}), **finish_details(delta)}
                self._count(event.get("usage") or {})
            case {"type": "message_stop"}:
                yield from self._message_stop()
            case _:
                pass

    def _message_stop(self) -> Iterator[ModelResponseStreamEvent]:
        self._calls.end_message()
        yield from map(self._own_result, self._results)
        self._results = []
        if self._calls.held_up_by_waiting(self.session.expected_tools):
            # Claude Code runs such calls one after another, and would never run these. The results of the calls before
            # them reach the model in a new session.
            self.session.parked.release(self._calls.waiting)
            self._calls.release()

    def _block_start(self, key: tuple[str, int], block: dict[str, Any]) -> Iterator[ModelResponseStreamEvent]:
        manager, provider = self._parts_manager, self.provider_name
        match block:
            case {"type": "text", "text": text} if text:
                yield from manager.handle_text_delta(vendor_part_id=key, content=text)
            case {"type": "thinking", "thinking": text}:
                signature = block.get("signature") or None
                yield from manager.handle_thinking_delta(
                    vendor_part_id=key, content=text, signature=signature, provider_name=provider
                )
            case {"type": "redacted_thinking", "data": data}:
                yield from manager.handle_thinking_delta(
                    vendor_part_id=key, id="redacted_thinking", content="", signature=data, provider_name=provider
                )
            case {"type": "tool_use", "id": call_id, "name": wire_name}:
                name = self.session.parked.names.get(wire_name)
                must_be_seen_whole = name in self.session.parked.restricted
                self._calls.add(call_id, wire_name, waits=name is not None and not must_be_seen_whole)
                if name is None or must_be_seen_whole:
                    self._running[key[1]] = _ArrivingCall(call_id, wire_name)
                    return
                yield from manager.handle_tool_call_delta_events(
                    vendor_part_id=key, tool_name=name, args=None, tool_call_id=call_id
                )
            case _:
                pass

    def _block_delta(self, key: tuple[str, int], delta: dict[str, Any]) -> Iterator[ModelResponseStreamEvent]:
        manager = self._parts_manager
        match delta:
            case {"type": "text_delta", "text": text}:
                yield from manager.handle_text_delta(vendor_part_id=key, content=text)
            case {"type": "thinking_delta", "thinking": text}:
                yield from manager.handle_thinking_delta(vendor_part_id=key, content=text)
            case {"type": "signature_delta", "signature": signature}:
                provider = self.provider_name
                yield from manager.handle_thinking_delta(
                    vendor_part_id=key, signature=signature, provider_name=provider
                )
            case {"type": "input_json_delta", "partial_json": piece}:
                if call := self._running.get(key[1]):
                    call.arguments += piece
                else:
                    yield from manager.handle_tool_call_delta_events(vendor_part_id=key, args=piece)
            case _:
                pass

    def _own_call(self, index: int) -> Iterator[ModelResponseStreamEvent]:
        call = self._running.pop(index, None)
        if call is None:
            return
        name = self.session.parked.names.get(call.name)
        if name is not None and not self._is_refused(name, call.arguments):
            self._calls.waits(call.id)
            waiting = ToolCallPart(tool_name=name, args=call.arguments or "{}", tool_call_id=call.id)
            yield self._parts_manager.handle_part(vendor_part_id=call.id, part=waiting)
            return
        self._runs_a_call = True
        part = NativeToolCallPart(
            tool_name=call.name, args=call.arguments or "{}", tool_call_id=call.id, provider_name=CLAUDE_CODE
        )
        yield self._parts_manager.handle_part(vendor_part_id=call.id, part=part)

    def _is_refused(self, name: str, arguments: str) -> bool:
        """Whether the call is refused, so that Claude Code goes on with the refusal as its result."""
        try:
            parsed: object = json.loads(arguments or "{}")
        except ValueError:  # pydantic-ai reports it
            parsed = {}
        return self.session.parked.refusal(name, parsed) is not None

    def _results_of_own_calls(self, message: UserMessage) -> list[ModelResponseStreamEvent]:
        if message.parent_tool_use_id is not None or isinstance(message.content, str):
            return []
        results = [
            block
            for block in message.content
            if isinstance(block, ToolResultBlock) and block.tool_use_id in self._calls.running
        ]
        for block in results:
            self._calls.running.discard(block.tool_use_id)
        if self._calls.arriving:
            # Claude Code starts calls, and answers those of unknown tools, before their message is complete. In the
            # history the results of a message stand after all of its calls.
            self._results += results
            return []
        return [self._own_result(block) for block in results]

    def _own_result(self, block: ToolResultBlock) -> ModelResponseStreamEvent:
        part = NativeToolReturnPart(
            tool_name=self._calls.names[block.tool_use_id],
            content=_result_content(block.content),
            tool_call_id=block.tool_use_id,
            outcome="failed" if block.is_error else "success",
            provider_name=CLAUDE_CODE,
        )
        return self._parts_manager.handle_part(vendor_part_id=f"{block.tool_use_id}-result", part=part)

    def _result(self, result: ResultMessage) -> Iterator[ModelResponseStreamEvent]:
        if result.is_error:
            raise failed_result(result, self.model_name)
        cost = self.session.record_cost(result.total_cost_usd or 0.0)
        self.provider_details = {
            **(self.provider_details or {}),
            "session_id": result.session_id,
            "total_cost_usd": cost,
            "num_turns": result.num_turns,
        }
        if not self.session.has_parked:
            # pydantic-ai has priced the turns that parked already; the CLI's sum would count them twice.
            self._usage.cost = Decimal(str(cost))
        if self._native_output and result.structured_output is not None:
            content = json_text(result.structured_output)
            yield from self._parts_manager.handle_text_delta(vendor_part_id="structured-output", content=content)

    def _count(self, usage: dict[str, Any]) -> None:
        self._counted.report(usage)
        self._usage = self._counted.total()

    async def close_stream(self) -> None:
        """End the CLI, and with it the events of the answer."""
        self._closed = True  # a response that wraps this one has `cancelled` set instead of it
        await self.session.close()

    @property
    def model_name(self) -> str:
        """The model that answered."""
        return self._model_name or self._requested_model

    @property
    def provider_name(self) -> str:
        """`"anthropic"`."""
        return "anthropic"

    @property
    def provider_url(self) -> None:
        """None: only the CLI knows it."""
        return None

    @property
    def timestamp(self) -> datetime:
        """When the request was made."""
        return self._timestamp


def _result_content(content: str | list[dict[str, Any]] | None) -> str | list[str | BinaryContent]:
    """The result of a tool of Claude Code itself: text or, if it has images, text and images."""
    if content is None or isinstance(content, str):
        return content or ""
    items = [_result_item(block) for block in content]
    texts = [item for item in items if isinstance(item, str)]
    return "\n".join(texts) if len(texts) == len(items) else items


def _result_item(block: dict[str, Any]) -> str | BinaryContent:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image", "source": {"type": "base64", "media_type": str(media_type), "data": str(data)}}:
            return BinaryContent.narrow_type(BinaryContent(base64.b64decode(data), media_type=media_type))
        case _:
            return json.dumps(block)
