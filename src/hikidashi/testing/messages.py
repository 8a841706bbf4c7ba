"""The Messages API on loopback, with a script in place of the model."""

from __future__ import annotations

import json
import math
import threading
import uuid
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, cast

from ..common.loopback import Exchange, LoopbackServer
from . import _sse as sse
from ._validate import refusal
from .fault import Cut, ErrorStatus, Hang, Malformed, Slow
from .recorded import RecordedRequest
from .script import Answer, Reply, Script, Step, say
from .tool_search import Dialect, with_searches_done

__all__ = ["MessagesServer"]

# The service's header that a retry is useless; clients that retry a 500 otherwise wait for seconds.
_NO_RETRY = {"x-should-retry": "false"}


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
            self.fail(error)
            message = f"The script raised {type(error).__name__}: {error}"
            return ErrorStatus(500, "api_error", message, _NO_RETRY)

    def _count_tokens(self, exchange: Exchange) -> None:
        body = _parsed(exchange.body)
        refused = refusal(exchange.headers, body, required=("model", "messages"))
        if refused is not None:
            _send_error(exchange, refused)
        else:
            counted = math.ceil(_recorded(exchange, body).prompt_size / 4)
            exchange.answer(200, sse.wire({"input_tokens": counted}), _headers())


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
        send(200, sse.wire(sse.message(reply, message_id=message_id, model=request.model)), _headers())
        return
    exchange.begin_stream(200, _headers("text/event-stream"))
    for event in islice(sse.events(reply, message_id=message_id, model=request.model), cut_after):
        exchange.send(sse.event(event))
        exchange.wait(reply.pause)
    if cut_after is None:
        exchange.end_stream()
    else:
        exchange.hang_up()


def _send_malformed(exchange: Exchange, request: RecordedRequest) -> None:
    whole = Reply().addressed_to(request)
    message_id = _new_id("msg")
    if not request.stream:
        written = sse.wire(sse.message(whole, message_id=message_id, model=request.model))
        exchange.answer(200, written[: len(written) // 2], _headers())
        return
    exchange.begin_stream(200, _headers("text/event-stream"))
    exchange.send(sse.event(next(sse.events(whole, message_id=message_id, model=request.model))))
    exchange.send(sse.encode("content_block_start", b'{"type": "content_block_start", "index": 0, "content_bl'))
    exchange.end_stream()


def _send_error(exchange: Exchange, error: ErrorStatus) -> None:
    request_id = _new_id("req")
    body = {"type": "error", "error": {"type": error.type, "message": error.message}, "request_id": request_id}
    exchange.answer(error.code, sse.wire(body), {**_headers(request_id=request_id), **error.headers})


def _headers(content_type: str = "application/json", *, request_id: str | None = None) -> dict[str, str]:
    return {"content-type": content_type, "request-id": request_id or _new_id("req")}


def _new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:24]}"


def _parsed(body: bytes) -> dict[str, Any] | None:
    try:
        parsed = json.loads(body)
    except ValueError:
        return None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else None
