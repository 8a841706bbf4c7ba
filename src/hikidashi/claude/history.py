"""pydantic-ai's messages as the conversation Claude Code holds, and as the transcript it resumes.

A conversation is kept in the form of the Messages API: it can be compared with what a live
session already holds, and everything in it survives a restart of the CLI.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Hashable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, NotRequired, TypedDict, TypeGuard
from uuid import uuid4

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ERROR_OUTCOMES,
    BinaryContent,
    CachePoint,
    CompactionPart,
    DocumentUrl,
    FileUrl,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    ToolSearchReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters, download_item

from ..common.json import is_sequence
from ..convert.claude import LONGEST_BESIDE_IMAGES, LONGEST_ERROR, LONGEST_RESULT, MAX_RESULT_CHARS, too_long
from ..convert.pydantic_ai import is_tool_return
from ..convert.wire import IMAGES, IS_ERROR, decoded, is_text, utf16_length

Downloads = MutableMapping[Hashable, BinaryContent]
"""Downloaded files, so that a run downloads each once."""


async def with_downloads(messages: Sequence[ModelMessage], done: Downloads) -> list[ModelMessage]:
    """`messages` with the bytes in place of each URL that is to be downloaded.

    Raises:
        UserError: a file could not be downloaded.
    """
    return [await _message(message, done) if isinstance(message, ModelRequest) else message for message in messages]


async def returned_with_downloads(value: Any) -> Any:
    """What a tool returned, with the bytes in place of each URL that is to be downloaded.

    Raises:
        UserError: a file could not be downloaded.
    """
    if is_tool_return(value):
        return_value, content = await _loaded(value.return_value, {}), await _loaded(value.content, {})
        return replace(value, return_value=return_value, content=content)
    return await _loaded(value, {})


async def _message(message: ModelRequest, done: Downloads) -> ModelRequest:
    parts: list[Any] = [
        replace(part, content=await _loaded(part.content, done))
        if isinstance(part, UserPromptPart | ToolReturnPart)
        else part
        for part in message.parts
    ]
    return replace(message, parts=parts)


async def _loaded(content: object, done: Downloads) -> Any:
    """`content`, a file or a list of items, with files downloaded."""
    if is_sequence(content) and any(map(_is_to_load, content)):
        return [await _loaded(item, done) for item in content]
    if _is_to_load(content):
        key = (content.url, content.force_download)
        if key not in done:
            done[key] = await _downloaded(content)
        return done[key]
    return content


def _is_to_load(item: object) -> TypeGuard[FileUrl]:
    if not isinstance(item, ImageUrl | DocumentUrl):
        return False
    return bool(item.force_download) or (isinstance(item, DocumentUrl) and is_text(_kind(item)))


async def _downloaded(item: FileUrl) -> BinaryContent:
    try:
        got = await download_item(item, data_format="bytes")
    except Exception as error:  # from the HTTP client, the resolver or the SSRF check
        raise UserError(
            f"The file at {item.url} could not be downloaded ({type(error).__name__}: {error}). Send its bytes as "
            "`BinaryContent`, or leave it out."
        ) from error
    return BinaryContent.narrow_type(
        BinaryContent(got["data"], media_type=got["data_type"], identifier=item.identifier)
    )


# The conversation


CLAUDE_CODE = "claude-code"
"""`provider_name` of the calls that Claude Code ran itself."""

Block = dict[str, Any]
Role = Literal["user", "assistant"]


class WireMessage(TypedDict):
    """One message in the form of the Messages API."""

    role: Role
    content: list[Block]
    model: NotRequired[str]
    """The model that answered: Claude Code sends thinking back only to the same model."""


@dataclass(frozen=True)
class WireConversation:
    """A system prompt, and messages that end with the user's turn."""

    system: str
    messages: list[WireMessage]

    @property
    def last(self) -> list[Block]:
        """The last turn of the user."""
        return self.messages[-1]["content"]


def conversation(
    messages: Sequence[ModelMessage], parameters: ModelRequestParameters, wire_name: Callable[[str], str]
) -> WireConversation:
    """The conversation in `messages`; `wire_name` gives the name Claude Code knows a tool by.

    Raises:
        UserError: the conversation does not end with a request, or has content Claude cannot read.
    """
    system: list[str] = []
    wire: list[WireMessage] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, SystemPromptPart):
                    system.append(part.content)
                else:
                    _append(wire, "user", _request_blocks(_with_wire_names(part, wire_name)))
        else:
            append_response(wire, message, wire_name)
    system.extend(_instructions(messages, parameters))
    if not wire or wire[-1]["role"] != "user":
        raise UserError("The conversation must end with a user prompt or tool results: there is nothing to answer.")
    for turn in wire:
        # The API requires the results of a turn's calls before anything else in the next message.
        turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    return WireConversation("\n\n".join(text for text in system if text), wire)


def append_response(wire: list[WireMessage], response: ModelResponse, wire_name: Callable[[str], str]) -> None:
    """Add a response to `wire`: calls that Claude Code ran itself bring their results along."""
    answered = {part.tool_call_id for part in response.parts if isinstance(part, NativeToolReturnPart)}
    cut_off: list[Block] = []
    for part in response.parts:
        blocks = _response_blocks(part, wire_name)
        if isinstance(part, NativeToolReturnPart):
            _append(wire, "user", [*cut_off, *blocks])
            cut_off = []
            continue
        _append(wire, "assistant", blocks, response.model_name)
        if isinstance(part, NativeToolCallPart) and part.tool_call_id not in answered:
            cut_off += map(_unknown_outcome, blocks)
    _append(wire, "user", cut_off)


def _unknown_outcome(call: Block) -> Block:
    """A result for a call that Claude Code started and never reported: without one a model would call again."""
    text = (
        "The run ended before the result of this call was recorded, so its outcome is unknown. "
        "Check whether it took effect before you rely on it or call the tool again."
    )
    return {"type": "tool_result", "tool_use_id": call["id"], "content": [_text(text)], "is_error": True}


def _response_blocks(part: Any, wire_name: Callable[[str], str]) -> list[Block]:
    whole: Any = part  # a `match` leaves its type parameters unknown
    match part:
        case TextPart() if part.content:
            return [_text(part.content)]
        case ThinkingPart(id="redacted_thinking", provider_name="anthropic", signature=str(data)):
            return [{"type": "redacted_thinking", "data": data}]
        case ThinkingPart(provider_name="anthropic", signature=str(signature)) if signature:
            return [{"type": "thinking", "thinking": part.content, "signature": signature}]
        case ToolCallPart():
            return [_tool_use(whole, wire_name(part.tool_name))]
        case NativeToolCallPart(provider_name="claude-code"):
            return [_tool_use(whole, part.tool_name)]
        case NativeToolReturnPart(provider_name="claude-code"):
            return [_tool_result(whole)]
        case _:  # native parts of another provider mean nothing to Claude Code
            return []


def transcript(messages: Sequence[WireMessage], *, session_id: str, cwd: str, model: str) -> list[dict[str, Any]]:
    """`messages` as the entries of a Claude Code session that can be resumed."""
    entries: list[dict[str, Any]] = []
    parent: str | None = None
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    for message in messages:
        uuid = str(uuid4())
        body: dict[str, Any] = {"role": message["role"], "content": message["content"]}
        if message["role"] == "assistant":
            # Claude Code drops thinking blocks from entries without the other fields of an API message.
            calls = any(block["type"] == "tool_use" for block in message["content"])
            body |= {
                "id": f"msg_{uuid4().hex[:24]}",
                "type": "message",
                "model": message.get("model") or model,
                "stop_reason": "tool_use" if calls else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            }
        entries.append(
            {
                "type": message["role"],
                "uuid": uuid,
                "parentUuid": parent,
                "sessionId": session_id,
                "timestamp": now,
                "cwd": cwd,
                "isSidechain": False,
                "userType": "external",
                "message": body,
            }
        )
        parent = uuid
    return entries


def _append(wire: list[WireMessage], role: Role, blocks: list[Block], model: str | None = None) -> None:
    if not blocks:
        return
    if wire and wire[-1]["role"] == role:
        wire[-1]["content"].extend(blocks)
        return
    message: WireMessage = {"role": role, "content": list(blocks)}
    if model is not None and role == "assistant":
        message["model"] = model
    wire.append(message)


def _instructions(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> Iterable[str]:
    if parameters.instruction_parts is not None:
        return [part.content for part in parameters.instruction_parts]
    # Without an agent, the instructions are on the requests; the newest ones apply.
    requests = (message for message in reversed(messages) if isinstance(message, ModelRequest))
    newest = next((request.instructions for request in requests if request.instructions), None)
    return [newest] if newest else []


def _request_blocks(part: Any) -> list[Block]:
    whole: Any = part
    match part:
        case UserPromptPart():
            content = [part.content] if isinstance(part.content, str) else part.content
            return [block for item in content for block in content_blocks(item)]
        case ToolReturnPart():
            return [_tool_result(whole)]
        case CompactionPart():
            return [_text(f"<conversation_summary>\n{part.content}\n</conversation_summary>")]
        case _ if callable(model_response := getattr(part, "model_response", None)):
            return _retry_blocks(part, str(model_response()))
        case _:
            raise UserError(
                f"`ClaudeCodeModel` cannot send a {type(part).__name__}. Run the model through an `Agent`, "
                "or pass the messages through `model.prepare_messages()` first."
            )


def _with_wire_names(part: object, wire_name: Callable[[str], str]) -> object:
    """`part`; what a tool search found has the names under which Claude Code lists the tools from then on."""
    if not isinstance(part, ToolSearchReturnPart):
        return part
    found = [{**tool, "name": wire_name(tool["name"])} for tool in part.discovered_tools]
    return replace(part, content={**part.content, "discovered_tools": found})


def _retry_blocks(part: object, text: str) -> list[Block]:
    """A retry: as the result of the call it names, or as text of the user."""
    if getattr(part, "tool_name", None) is None:
        return [_text(text)]
    call_id: str = getattr(part, "tool_call_id")  # noqa: B009 - the class is on its way out of pydantic-ai
    return [{"type": "tool_result", "tool_use_id": call_id, "content": [_text(text)], "is_error": True}]


def content_blocks(item: object) -> list[Block]:
    """A piece of user content as blocks of the Messages API.

    Raises:
        UserError: Claude cannot read this kind of content.
    """
    match item:
        case str():
            return [_text(item)] if item else []
        case TextContent():
            return [_text(item.content)] if item.content else []
        case CachePoint():
            return []  # Claude Code sets its own cache points
        case BinaryContent(media_type=media_type) if media_type in IMAGES:
            return [{"type": "image", "source": _base64_source(item)}]
        case BinaryContent(media_type="application/pdf"):
            return [{"type": "document", "source": _base64_source(item)}]
        case BinaryContent(media_type=media_type) if is_text(media_type):
            if (text := decoded(item.data, media_type)) is None:
                raise UserError(
                    f"The {media_type!r} content {item.identifier!r} is neither UTF-8 nor in the charset that it "
                    "names. Send its text as a `str`."
                )
            return [_text(text)] if text else []
        case ImageUrl():
            return [{"type": "image", "source": {"type": "url", "url": item.url}}]
        case DocumentUrl() if _kind(item) in ("application/pdf", "DocumentUrl"):
            return [{"type": "document", "source": {"type": "url", "url": item.url}}]
        case _:
            raise UserError(
                f"Claude Code cannot read {_kind(item)!r} content. Send text, images as PNG, JPEG, GIF or WebP, or PDF "
                "documents."
            )


def _kind(item: object) -> str:
    """The media type of `item` or, if it has none, the name of its class."""
    try:
        return str(getattr(item, "media_type", None) or type(item).__name__)
    except ValueError:  # a URL that does not say what it is
        return type(item).__name__


def _base64_source(item: BinaryContent) -> Block:
    return {"type": "base64", "media_type": item.media_type, "data": base64.b64encode(item.data).decode()}


def _tool_use(part: ToolCallPart[Any] | NativeToolCallPart[Any], name: str) -> Block:
    return {"type": "tool_use", "id": part.tool_call_id, "name": name, "input": part.args_as_dict()}


def _tool_result(part: ToolReturnPart[Any] | NativeToolReturnPart[Any]) -> Block:
    items = part.content_items(mode="str", wrap_if_error=False)
    content = [block for item in items for block in content_blocks(item)]
    is_error = part.outcome in ERROR_OUTCOMES or part.outcome == "denied"
    if (length := _text_length(content)) > LONGEST_RESULT:
        is_error, content = True, [_text(too_long(part.tool_name, length, LONGEST_RESULT))]
    elif is_error and any(block["type"] != "text" for block in content):
        is_error, content = False, [_text(IS_ERROR), *content]  # beside `is_error` the API takes only text
    block: Block = {"type": "tool_result", "tool_use_id": part.tool_call_id, "content": content}
    return {**block, "is_error": True} if is_error else block


def results_fit_mcp(turn: Sequence[Block]) -> bool:
    """Whether Claude Code shows the model all of these tool results if it gets them as answers to its calls.

    It writes documents and long text to a file, and shows URLs as text. A transcript carries them as they are.
    """
    results = [block for block in turn if block["type"] == "tool_result"]
    return all(_fits_mcp(block["content"], bool(block.get("is_error"))) for block in results)


def _fits_mcp(content: Sequence[Block], is_error: bool) -> bool:
    if any(block["type"] == "document" or block.get("source", {}).get("type") == "url" for block in content):
        return False
    images = any(block["type"] == "image" for block in content)
    longest = LONGEST_ERROR if is_error else LONGEST_BESIDE_IMAGES if images else MAX_RESULT_CHARS
    return _text_length(content) <= longest


def _text_length(content: Sequence[Block]) -> int:
    return sum(utf16_length(block["text"]) for block in content if block["type"] == "text")


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
