"""The Messages API on loopback, with a script in place of the model: its answers, its streams and its refusals."""

from __future__ import annotations

import json
import math
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Any

from ..common.json import as_object, is_list, is_object
from .fault import Cut, ErrorStatus, Hang, Malformed, Slow
from .script import Answer, RecordedRequest, Reply, Script, Step, blocks_of, say
from .server import Exchange, LoopbackServer
from .tool_search import Dialect, refused_tools, with_searches_done

# The service's header that a retry is useless; clients that retry a 500 otherwise wait for seconds.
_NO_RETRY = {"x-should-retry": "false"}
_MOST_DELTAS = 32
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_NAME = r"^[a-zA-Z0-9_-]{1,128}$"
_PROPERTY = r"^[a-zA-Z0-9_.-]{1,64}$"
_LONGEST_NAME = 128


class MessagesServer(LoopbackServer):
    """A Messages API that answers from a script, for clients that take a base URL.

    The script is a list of steps, taken one per request, or one function that answers every request. A request
    that the real API would refuse is refused here too, and takes no step. Searches for tools are carried out; see
    `search_regex` and `search_words`.

    Args:
        script: The answers.
        tool_search_dialect: Spelling of the error codes of a search: "2026" is the current one, "2025" the first one.
    """

    def __init__(self, script: Script = (), *, tool_search_dialect: Dialect = "2026") -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._requests: list[RecordedRequest] = []
        self._refusals: list[str] = []
        self._exhausted = False
        self._dialect: Dialect = tool_search_dialect
        self._every: Callable[[RecordedRequest], Answer] | None = None
        if callable(script):
            self._every = script
            self._steps = list[Step]()
        else:
            self._steps = [script] if isinstance(script, Answer) else [_step(step) for step in script]
        self._length = len(self._steps)

    @property
    def requests(self) -> list[RecordedRequest]:
        """Every `POST /v1/messages`, oldest first, also those that were refused."""
        with self._lock:
            return list(self._requests)

    @property
    def refusals(self) -> list[str]:
        """Why requests were refused as invalid, oldest first."""
        with self._lock:
            return list(self._refusals)

    @property
    def exhausted(self) -> bool:
        """Whether a request came when the script was used up."""
        return self._exhausted

    @property
    def remaining(self) -> int:
        """How many steps of the script are left."""
        with self._lock:
            return len(self._steps)

    def env(self, home: Path | str) -> dict[str, str]:
        """Environment variables for the Claude Code CLI: this server as its API, and `home` as its private home.

        Logins and other providers that the surrounding environment may name are switched off, and no proxy is used
        on the way here. The folder is created if missing.
        """
        folder = Path(home)
        config = folder / ".claude"
        config.mkdir(parents=True, exist_ok=True)
        return {
            "HOME": str(folder),
            "CLAUDE_CONFIG_DIR": str(config),
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "sk-test",
            "ANTHROPIC_AUTH_TOKEN": "",
            "CLAUDE_CODE_OAUTH_TOKEN": "",
            "CLAUDE_CODE_USE_BEDROCK": "",
            "CLAUDE_CODE_USE_FOUNDRY": "",
            "CLAUDE_CODE_USE_VERTEX": "",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def handle(self, exchange: Exchange) -> None:
        """Answer one request."""
        match exchange.method, exchange.path:
            case "POST", "/v1/messages":
                self._messages(exchange)
            case "POST", "/v1/messages/count_tokens":
                self._count_tokens(exchange)
            case "GET" | "HEAD", "/":
                exchange.answer(200, b"{}", {"content-type": "application/json"})
            case _:
                message = f"Not found: {exchange.method} {exchange.path}"
                _send_error(exchange, ErrorStatus(404, "not_found_error", message))

    def _messages(self, exchange: Exchange) -> None:
        body = _parsed(exchange.body)
        request = _recorded(exchange, body)
        refused = refusal(exchange.headers, body)
        with self._lock:
            self._requests.append(request)
            if refused is not None:
                self._refusals.append(refused.message)
        _play(exchange, request, refused or self._answer_to(request))

    def _answer_to(self, request: RecordedRequest) -> Answer:
        with self._lock:
            step = self._every or (self._steps.pop(0) if self._steps else None)
            if step is None:
                self._exhausted = True
        if step is None:
            message = f"The script is used up: it had {self._length} answers, and this request needs one more."
            return ErrorStatus(500, "api_error", message, _NO_RETRY)
        try:
            answer = _answer(step(request)) if callable(step) else step
            return with_searches_done(answer, request, dialect=self._dialect)
        except Exception as error:
            self.failures.append(error)
            message = f"The script raised {type(error).__name__}: {error}"
            return ErrorStatus(500, "api_error", message, _NO_RETRY)

    def _count_tokens(self, exchange: Exchange) -> None:
        body = _parsed(exchange.body)
        refused = refusal(exchange.headers, body, required=("model", "messages"))
        if refused is not None:
            _send_error(exchange, refused)
        else:
            counted = math.ceil(_recorded(exchange, body).prompt_size / 4)
            exchange.answer(200, _wire({"input_tokens": counted}), _headers())


def _recorded(exchange: Exchange, body: dict[str, Any] | None) -> RecordedRequest:
    return RecordedRequest(
        path=f"{exchange.path}?{exchange.query}" if exchange.query else exchange.path,
        headers=exchange.headers,
        body=body or {},
        size=len(exchange.body),
    )


def _step(step: Step) -> Step:
    return step if callable(step) else _answer(step)


def _answer(answer: Answer) -> Answer:
    if isinstance(answer, Answer):  # pyright: ignore[reportUnnecessaryIsInstance] - not every test is type-checked
        return answer
    raise TypeError(f"A script answers with a Reply, a Fault or a str, got {answer!r}.")


def _play(exchange: Exchange, request: RecordedRequest, answer: Answer) -> None:
    match answer:
        case Reply() | str():
            _send_reply(exchange, request, answer)
        case ErrorStatus():
            _send_error(exchange, answer)
        case Slow():
            exchange.wait(answer.seconds)
            _play(exchange, request, answer.then)
        case Cut():
            _send_reply(exchange, request, answer.reply, cut_after=answer.after_events)
        case Malformed():
            _send_malformed(exchange, request)
        case Hang():  # pragma: no branch - there is no other
            exchange.wait(None)


def _send_reply(
    exchange: Exchange, request: RecordedRequest, reply: Reply | str, *, cut_after: int | None = None
) -> None:
    reply = (say(reply) if isinstance(reply, str) else reply).addressed_to(request)
    exchange.wait(reply.delay)
    message_id = _new_id("msg")
    if not request.stream:
        send = exchange.answer if cut_after is None else exchange.answer_in_part
        send(200, _wire(_message_body(reply, message_id=message_id, model=request.model)), _headers())
        return
    exchange.begin_stream(200, _headers("text/event-stream"))
    for event in islice(_message_events(reply, message_id=message_id, model=request.model), cut_after):
        exchange.send(_sent_event(event))
        exchange.wait(reply.pause)
    if cut_after is None:
        exchange.end_stream()
    else:
        exchange.hang_up()


def _send_malformed(exchange: Exchange, request: RecordedRequest) -> None:
    whole = Reply().addressed_to(request)
    message_id = _new_id("msg")
    if not request.stream:
        written = _wire(_message_body(whole, message_id=message_id, model=request.model))
        exchange.answer(200, written[: len(written) // 2], _headers())
        return
    exchange.begin_stream(200, _headers("text/event-stream"))
    exchange.send(_sent_event(next(_message_events(whole, message_id=message_id, model=request.model))))
    exchange.send(_sse("content_block_start", b'{"type": "content_block_start", "index": 0, "content_bl'))
    exchange.end_stream()


def _send_error(exchange: Exchange, error: ErrorStatus) -> None:
    request_id = _new_id("req")
    body = {"type": "error", "error": {"type": error.type, "message": error.message}, "request_id": request_id}
    exchange.answer(error.code, _wire(body), {**_headers(request_id=request_id), **error.headers})


def _headers(content_type: str = "application/json", *, request_id: str | None = None) -> dict[str, str]:
    return {"content-type": content_type, "request-id": request_id or _new_id("req")}


def _new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:24]}"


def _parsed(body: bytes) -> dict[str, Any] | None:
    try:
        parsed: object = json.loads(body)
    except ValueError:
        return None
    return parsed if is_object(parsed) else None


def _message_body(reply: Reply, *, message_id: str, model: str) -> dict[str, Any]:
    """The whole message, as a plain request gets it."""
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(reply.content),
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": dict(reply.usage or {}),
    }


def _message_events(reply: Reply, *, message_id: str, model: str) -> Iterator[dict[str, Any]]:
    """The events that build the same message piece by piece."""
    whole = _message_body(reply, message_id=message_id, model=model)
    begun: dict[str, Any] = {
        **whole,
        "content": [],
        "stop_reason": None,
        "usage": {**whole["usage"], "output_tokens": 1},
    }
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(reply.content):
        empty, deltas = _opened(block, reply.chunk)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": reply.stop_reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def _sent_event(data: Mapping[str, Any]) -> bytes:
    """One server-sent event, named after its type."""
    return _sse(data["type"], _wire(data))


def _sse(name: str, data: bytes) -> bytes:
    """One server-sent event of raw data."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


def _wire(value: object) -> bytes:
    """`value` as JSON in UTF-8, as the API writes it."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8, only an escape
        return json.dumps(value).encode()


def _opened(block: dict[str, Any], chunk: int | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The block as it starts, and the deltas that fill it."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [
                {"type": "text_delta", "text": piece} for piece in _deltas(block["text"], chunk)
            ]
        case "thinking":
            return {**block, "thinking": "", "signature": ""}, [
                *({"type": "thinking_delta", "thinking": piece} for piece in _deltas(block["thinking"], chunk)),
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case "tool_use" | "server_tool_use":
            written = json.dumps(block["input"], ensure_ascii=False)
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": piece} for piece in _deltas(written, chunk)
            ]
        case _:  # such as redacted_thinking: these arrive whole
            return block, []


def _deltas(text: str, chunk: int | None) -> list[str]:
    size = chunk or max(8, math.ceil(len(text) / _MOST_DELTAS))
    return [text[start : start + size] for start in range(0, len(text), size)]


def refusal(
    headers: Mapping[str, str],
    body: dict[str, Any] | None,
    *,
    required: tuple[str, ...] = ("model", "max_tokens", "messages"),
) -> ErrorStatus | None:
    """The error the API would answer this request with, or `None` for a request it would take."""
    if not (headers.get("x-api-key") or headers.get("authorization")):
        return ErrorStatus(401, "authentication_error", "x-api-key header is required")
    if body is None:
        return _invalid("The request body is not a JSON object")
    missing = next((name for name in required if name not in body), None)
    problem = f"{missing}: Field required" if missing else _in_messages(body["messages"]) or problem_in_tools(body)
    return _invalid(problem) if problem else None


def _invalid(message: str) -> ErrorStatus:
    return ErrorStatus(400, "invalid_request_error", message)


def _in_messages(messages: object) -> str | None:
    if not is_list(messages):
        return "messages: Input should be a valid list"
    turns = _turns(messages)
    if not turns:
        return "messages: at least one message is required"
    if turns[0][1] != "user":
        return 'messages: first message must use the "user" role'
    nothing = (0, "", list[dict[str, Any]]())
    for (_, _, before), (at, _, content) in pairwise([nothing, *turns]):
        called = set(_ids(before, "tool_use", "id"))
        for answered in _ids(content, "tool_result", "tool_use_id"):
            if answered not in called:
                return (
                    f"messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {answered}. Each "
                    "`tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
    for (at, _, content), (_, _, after) in pairwise([*turns, nothing]):
        answered = set(_ids(after, "tool_result", "tool_use_id"))
        unanswered = [call for call in _ids(content, "tool_use", "id") if call not in answered]
        if unanswered:
            return (
                f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(unanswered)}. Each `tool_use` block must have a corresponding `tool_result` block "
                "in the next message."
            )
    return next(_in_content(messages), None)


def _in_content(messages: list[dict[str, Any]]) -> Iterator[str]:
    for at, message in enumerate(messages):
        for number, block in enumerate(blocks_of(message.get("content"))):
            place = f"messages.{at}.content.{number}"
            inner = blocks_of(block.get("content")) if block.get("type") == "tool_result" else []
            if block.get("is_error") and any(part.get("type") != "text" for part in inner):
                yield f"{place}: all content must be type `text` if `is_error` is true"
            yield from _in_image(place, block)
            for under, part in enumerate(inner):
                yield from _in_image(f"{place}.tool_result.content.{under}", part)


def _in_image(place: str, block: Mapping[str, Any]) -> Iterator[str]:
    source = as_object(block.get("source"))
    if block.get("type") == "image" and source.get("type") == "base64" and source.get("media_type") not in _IMAGES:
        allowed = ", ".join(map(repr, _IMAGES[:-1]))
        yield f"{place}.image.source.base64.media_type: Input should be {allowed} or {_IMAGES[-1]!r}"


def _turns(messages: list[dict[str, Any]]) -> list[tuple[int, str, list[dict[str, Any]]]]:
    """Index, role and blocks of each turn; the API joins messages of one role that follow each other."""
    grouped = groupby(enumerate(messages), key=lambda item: item[1].get("role", ""))
    turns = [(role, list(group)) for role, group in grouped]
    return [
        (group[0][0], role, [block for _, message in group for block in blocks_of(message.get("content"))])
        for role, group in turns
    ]


def _ids(content: list[dict[str, Any]], kind: str, field: str) -> list[str]:
    return [block.get(field, "") for block in content if block.get("type") == kind]


def problem_in_tools(request: dict[str, Any]) -> str | None:
    """Why the API refuses the tools of `request`, or `None`."""
    tools: object = request.get("tools") or []
    if not is_list(tools):
        return "tools: Input should be a valid list"
    names = [tool["name"] for tool in tools if "name" in tool]
    if len(names) != len(set(names)):
        return "tools: Tool names must be unique."
    for at, tool in enumerate(tools):
        if tool.get("type", "custom") == "custom":  # the others are the API's own
            problem = next(_problems(tool), None)
            if problem is not None:
                return f"tools.{at}.custom.{problem}"
    return refused_tools(request)


def _problems(tool: Mapping[str, Any]) -> Iterator[str]:
    name = tool.get("name")
    if name is None:
        yield "name: Field required"
    elif not isinstance(name, str):
        yield "name: Input should be a valid string"
    elif len(name) > _LONGEST_NAME:
        yield f"name: String should have at most {_LONGEST_NAME} characters"
    elif re.fullmatch(_NAME[1:-1], name) is None:
        yield f"name: String should match pattern '{_NAME}'"
    if not isinstance(tool.get("description", ""), str):
        yield "description: Input should be a valid string"
    schema = tool.get("input_schema")
    if schema is None:
        yield "input_schema: Field required"
    elif not is_object(schema):
        yield "input_schema: Input should be a valid dictionary"
    else:
        yield from _problems_in_schema(schema)


def _problems_in_schema(schema: Mapping[str, Any]) -> Iterator[str]:
    if "type" not in schema:
        yield "input_schema.type: Field required"
    elif schema["type"] != "object":
        yield "input_schema.type: Input should be 'object'"
    if any(union in schema for union in ("oneOf", "allOf", "anyOf")):
        yield "input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
    properties: object = {} if schema.get("properties") is None else schema["properties"]
    required: object = schema.get("required")
    if not is_object(properties):
        yield "input_schema.properties: Input should be a valid dictionary"
    elif any(re.fullmatch(_PROPERTY[1:-1], name) is None for name in properties):
        yield f"input_schema.properties: Property keys should match pattern '{_PROPERTY}'"
    if not isinstance(required, list | None):
        yield "input_schema.required: Input should be a valid list"
