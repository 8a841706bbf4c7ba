"""The session state of a client that a new daemon needs when the old one is lost."""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias, cast

__all__ = ["Conversation", "Message"]

Message: TypeAlias = dict[str, Any]
_Id: TypeAlias = str | int

# Answers as the daemon writes them. They may be long, and only their beginning matters.
_ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+|"[^"\\]*"),"(result|error)":')
_HELLO = "initialize"
_INTERNAL_ERROR = -32603
_LISTS = ("tools", "prompts", "resources")


class Conversation:
    """The pending requests, and the messages that restore the client's session at a new daemon.

    Clients up to 2025-11-25 open a session: its `initialize`, log level and subscriptions are kept. Requests of
    2026-07-28 are self-contained.
    """

    def __init__(self) -> None:
        self._waiting: dict[_Id, str] = {}
        self._daemon_requests: set[_Id] = set()
        self._hello: Message | None = None
        self._is_initialized = False
        self._level: Any = None
        self._subscribed: dict[str, Any] = {}

    def client_sends(self, line: bytes) -> bool:
        """Record a message of the client; return whether to forward it: responses to another daemon are not."""
        message = _read(line)
        if message is None:
            return True
        id_, method = _id_of(message), message.get("method")
        if method is None:
            if id_ not in self._daemon_requests and message.keys() & {"result", "error"}:
                return False
            self._daemon_requests.discard(cast("_Id", id_))
        elif id_ is not None:
            self._waiting[id_] = str(method)
        self._keep(message, method)
        return True

    def daemon_sends(self, line: bytes) -> None:
        """Record a message of the daemon."""
        if (answer := _ANSWER.match(line)) is not None:
            self._answered(json.loads(answer[1]), is_error=answer[2] == b"error")
        elif (message := _read(line)) is not None and (id_ := _id_of(message)) is not None:
            if "method" in message:
                self._daemon_requests.add(id_)
            else:
                self._answered(id_, is_error="error" in message)

    def _answered(self, id_: _Id, *, is_error: bool) -> None:
        # A client whose first request is answered late may try `initialize` too: refused, it begins no session.
        if is_error and self._hello is not None and _id_of(self._hello) == id_ and self._waiting.get(id_) == _HELLO:
            self._hello = None
        self._waiting.pop(id_, None)

    def is_request(self, line: bytes) -> bool:
        """Whether `line` is a request."""
        message = _read(line)
        return message is not None and "method" in message and _id_of(message) is not None

    def give_up(self, reason: str) -> list[Message]:
        """An error for each pending request of the client, and a cancellation for each of the daemon."""
        answers = [_error(id_, _error_text(reason, method)) for id_, method in self._waiting.items()]
        answers += [
            {"method": "notifications/cancelled", "params": {"requestId": id_}} for id_ in self._daemon_requests
        ]
        self._waiting.clear()
        self._daemon_requests.clear()
        return answers

    def beginning(self, name: str) -> list[Message]:
        """The first messages to a new daemon, with ids that begin with `name`."""
        if self._hello is None or _id_of(self._hello) in self._waiting:  # it is the message that is sent next
            return []
        messages: list[Message] = [{**self._hello, "id": f"{name} 0"}]
        if self._is_initialized:
            messages.append({"method": "notifications/initialized"})
        if self._level is not None:
            messages.append({"id": f"{name} 1", "method": "logging/setLevel", "params": self._level})
        for at, params in enumerate(self._subscribed.values(), 2):
            messages.append({"id": f"{name} {at}", "method": "resources/subscribe", "params": params})
        return messages

    def changes(self) -> list[Message]:
        """Notifications for a client with a session: a new daemon may list something else."""
        return [{"method": f"notifications/{one}/list_changed"} for one in _LISTS if self._is_initialized]

    def _keep(self, message: Message, method: object) -> None:
        params = message.get("params")
        uri = str(cast("Message", params).get("uri")) if isinstance(params, dict) else ""
        match method:
            case "initialize":
                self._hello = message
            case "notifications/initialized":
                self._is_initialized = True
            case "logging/setLevel":
                self._level = params
            case "resources/subscribe":
                self._subscribed[uri] = params
            case "resources/unsubscribe":
                self._subscribed.pop(uri, None)
            case _:
                return


def _read(line: bytes) -> Message | None:
    """The message on `line`; None if it is malformed, which the daemon reports."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("Message", message) if isinstance(message, dict) else None


def _id_of(message: Message) -> _Id | None:
    id_ = message.get("id")
    return id_ if isinstance(id_, str | int) else None


def _error(id_: _Id, text: str) -> Message:
    return {"id": id_, "error": {"code": _INTERNAL_ERROR, "message": text}}


def _error_text(reason: str, method: str) -> str:
    unknown = " Whether the call was carried out is not known: check before you repeat it."
    return f"{reason}{unknown if method == 'tools/call' else ''}"
