"""What a client and its daemon have said to each other that matters when the daemon is lost."""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias, cast

__all__ = ["Conversation", "Message"]

Message: TypeAlias = dict[str, Any]
_Id: TypeAlias = str | int

# Answers as the daemon writes them. They may be long, and only their beginning matters.
_ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+|"[^"\\]*"),"(?:result|error)":')
_INTERNAL_ERROR = -32603
_LISTS = ("tools", "prompts", "resources")


class Conversation:
    """The requests that wait for an answer, and what a new daemon has to be told before the client can go on.

    Clients up to 2025-11-25 open a session: its `initialize`, log level and subscriptions are kept. Requests of
    2026-07-28 stand for themselves.
    """

    def __init__(self) -> None:
        self._waiting: dict[_Id, str] = {}
        self._asked: set[_Id] = set()
        self._hello: Message | None = None
        self._is_initialized = False
        self._level: Any = None
        self._subscribed: dict[str, Any] = {}

    def client_sends(self, line: bytes) -> bool:
        """Note a message of the client; return whether the daemon may get it: answers to another daemon may not."""
        message = _read(line)
        if message is None:
            return True
        id_, method = _id_of(message), message.get("method")
        if method is None:
            if id_ not in self._asked and message.keys() & {"result", "error"}:
                return False
            self._asked.discard(cast("_Id", id_))
        elif id_ is not None:
            self._waiting[id_] = str(method)
        self._keep(message, method)
        return True

    def daemon_sends(self, line: bytes) -> None:
        """Note a message of the daemon."""
        if (answer := _ANSWER.match(line)) is not None:
            self._waiting.pop(json.loads(answer[1]), None)
        elif (message := _read(line)) is not None and (id_ := _id_of(message)) is not None:
            if "method" in message:
                self._asked.add(id_)
            else:
                self._waiting.pop(id_, None)

    def is_request(self, line: bytes) -> bool:
        """Whether the client waits for an answer to `line`."""
        message = _read(line)
        return message is not None and "method" in message and _id_of(message) is not None

    def give_up(self, reason: str) -> list[Message]:
        """What the client is told when nobody will answer it any more: an error for each request that waits."""
        answers = [_error(id_, _told(reason, method)) for id_, method in self._waiting.items()]
        answers += [{"method": "notifications/cancelled", "params": {"requestId": id_}} for id_ in self._asked]
        self._waiting.clear()
        self._asked.clear()
        return answers

    def beginning(self, name: str) -> list[Message]:
        """What a new daemon is told first, with ids that begin with `name`."""
        if self._hello is None or _id_of(self._hello) in self._waiting:  # it is the message that is sent next
            return []
        told: list[Message] = [{**self._hello, "id": f"{name} 0"}]
        if self._is_initialized:
            told.append({"method": "notifications/initialized"})
        if self._level is not None:
            told.append({"id": f"{name} 1", "method": "logging/setLevel", "params": self._level})
        for at, params in enumerate(self._subscribed.values(), 2):
            told.append({"id": f"{name} {at}", "method": "resources/subscribe", "params": params})
        return told

    def changes(self) -> list[Message]:
        """What a client with a session is told after it got a new daemon: that one may list something else."""
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
    """The message on `line`; None where there is none, which the daemon will say."""
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


def _told(reason: str, method: str) -> str:
    unknown = " Whether the call was carried out is not known: check before you repeat it."
    return f"{reason}{unknown if method == 'tools/call' else ''}"
