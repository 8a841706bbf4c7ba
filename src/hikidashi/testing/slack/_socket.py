"""Slack's Socket Mode: tickets, hello, envelopes with their acknowledgements, retries, disconnects."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast
from urllib.parse import parse_qs, urlsplit

from ._websocket import Connection, WebSocketServer

__all__ = ["Delivery", "DisconnectReason", "SocketMode"]

DisconnectReason = Literal["refresh_requested", "warning", "link_disabled", "too_many_websockets"]


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One envelope that carried an event to the app."""

    envelope_id: str
    payload: dict[str, Any]
    retry_attempt: int = 0
    retry_reason: str = ""
    acknowledged: bool = False

    @property
    def event_id(self) -> str:
        """The event, the same in every retry."""
        return self.payload["event_id"]

    def wire(self) -> str:
        """The envelope as it is sent."""
        return json.dumps(
            {
                "envelope_id": self.envelope_id,
                "payload": self.payload,
                "type": "events_api",
                "accepts_response_payload": False,
                "retry_attempt": self.retry_attempt,
                "retry_reason": self.retry_reason,
            },
            ensure_ascii=False,
        )


class SocketMode:
    """The websockets of one app.

    An event goes to one of the connected clients, as with Slack, or waits for the next client. Events that were not
    acknowledged before their connection was lost are sent again.
    """

    def __init__(self, *, app_id: str, on_change: Callable[[], None]) -> None:
        self._app_id = app_id
        self._on_change = on_change
        self._lock = threading.RLock()
        self._tickets: set[str] = set()
        self._connections: list[Connection] = []
        self._waiting: list[Delivery] = []
        self._sent_over: dict[str, Connection] = {}
        self._deliveries: dict[str, Delivery] = {}
        self.opened = 0
        """How many connections there ever were."""
        self._server = WebSocketServer(
            admits=self._admits, opened=self._opened, received=self._received, closed=self._closed
        )

    def start(self) -> None:
        """Start listening."""
        self._server.start()

    def stop(self) -> None:
        """Close every connection, and stop listening."""
        self._server.stop()

    @property
    def connected(self) -> int:
        """How many clients are connected now."""
        with self._lock:
            return len(self._connections)

    @property
    def deliveries(self) -> list[Delivery]:
        """Every envelope that was sent, oldest first."""
        with self._lock:
            return list(self._deliveries.values())

    def ticket(self) -> str:
        """A websocket address for one connection."""
        ticket = uuid.uuid4().hex
        with self._lock:
            self._tickets.add(ticket)
        return f"{self._server.url}/link/?ticket={ticket}&app_id={self._app_id}"

    def deliver(self, payload: dict[str, Any], *, retry_attempt: int = 0, retry_reason: str = "") -> Delivery:
        """Send an event to the app, or keep it until the app is connected."""
        delivery = Delivery(
            envelope_id=str(uuid.uuid4()), payload=payload, retry_attempt=retry_attempt, retry_reason=retry_reason
        )
        with self._lock:
            self._send(delivery)
        return delivery

    def ask_to_leave(self, reason: DisconnectReason) -> None:
        """Announce the end of every connection, as Slack does every few hours."""
        for connection in self._all():
            connection.send(json.dumps({"type": "disconnect", "reason": reason, "debug_info": {"host": "loopback"}}))

    def close_all(self, code: int = 1001) -> None:
        """Close every connection with a close frame."""
        for connection in self._all():
            connection.close(code)

    def cut_all(self) -> None:
        """Close every connection without a close frame."""
        for connection in self._all():
            connection.cut()

    def _all(self) -> list[Connection]:
        with self._lock:
            return list(self._connections)

    def _admits(self, path: str) -> bool:
        ticket = parse_qs(urlsplit(path).query).get("ticket", [""])[0]
        with self._lock:
            if ticket not in self._tickets:
                return False
            self._tickets.remove(ticket)
            return True

    def _opened(self, connection: Connection) -> None:
        with self._lock:
            self._connections.append(connection)
            self.opened += 1
            hello = {
                "type": "hello",
                "num_connections": len(self._connections),
                "debug_info": {"host": "loopback", "approximate_connection_time": 18060},
                "connection_info": {"app_id": self._app_id},
            }
            connection.send(json.dumps(hello))
            waiting, self._waiting = self._waiting, []
            for delivery in waiting:
                self._send(delivery)
        self._on_change()

    def _received(self, connection: Connection, text: str) -> None:
        message: object = json.loads(text)
        envelope = cast("dict[str, Any]", message).get("envelope_id") if isinstance(message, dict) else None
        with self._lock:
            delivery = self._deliveries.get(str(envelope))
            if delivery is not None:
                self._deliveries[delivery.envelope_id] = replace(delivery, acknowledged=True)
        self._on_change()

    def _closed(self, connection: Connection) -> None:
        with self._lock:
            self._connections.remove(connection)
            lost = [
                self._deliveries[envelope]
                for envelope, carrier in self._sent_over.items()
                if carrier is connection and not self._deliveries[envelope].acknowledged
            ]
            for delivery in lost:
                del self._sent_over[delivery.envelope_id]
                again = replace(
                    delivery,
                    envelope_id=str(uuid.uuid4()),
                    retry_attempt=delivery.retry_attempt + 1,
                    retry_reason="timeout",
                )
                self._send(again)
        self._on_change()

    def _send(self, delivery: Delivery) -> None:
        if not self._connections:
            self._waiting.append(delivery)
            return
        connection = self._connections[-1]
        self._deliveries[delivery.envelope_id] = delivery
        self._sent_over[delivery.envelope_id] = connection
        connection.send(delivery.wire())
