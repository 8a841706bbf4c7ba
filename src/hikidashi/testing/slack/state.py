"""The state of the workspace of a `SlackServer`: channels, threads, messages, edits and reactions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["SlackMessage", "Workspace"]


@dataclass(frozen=True, kw_only=True)
class SlackMessage:
    """The current state of a message."""

    channel: str
    ts: str
    """Its timestamp, which is also its id in the channel."""
    user: str
    text: str
    thread_ts: str | None = None
    """The first message of its thread; None for a message that is in none and began none."""
    bot_id: str | None = None
    subtype: str | None = None
    earlier: tuple[str, ...] = ()
    """The texts it had before it was edited, oldest first."""
    reactions: tuple[tuple[str, str], ...] = ()
    """Names of reactions and the users who added them, oldest first."""

    @property
    def history(self) -> tuple[str, ...]:
        """Every text it ever had, oldest first."""
        return (*self.earlier, self.text)

    def wire(self) -> dict[str, Any]:
        """The message as the Web API writes it."""
        written: dict[str, Any] = {"type": "message", "user": self.user, "ts": self.ts, "text": self.text}
        optional = {"thread_ts": self.thread_ts, "bot_id": self.bot_id, "subtype": self.subtype}
        written |= {name: value for name, value in optional.items() if value is not None}
        if self.earlier:
            written["edited"] = {"user": self.user, "ts": self.ts}
        if self.reactions:
            names = dict.fromkeys(name for name, _ in self.reactions)
            givers = {name: [user for given, user in self.reactions if given == name] for name in names}
            written["reactions"] = [
                {"name": name, "users": users, "count": len(users)} for name, users in givers.items()
            ]
        return written


class Workspace:
    """The messages of a workspace; thread-safe, and notifies waiters of changes."""

    def __init__(self, channels: Mapping[str, str], users: Mapping[str, str]) -> None:
        self.channels = dict(channels)
        """Name of each channel by its id; ids of direct messages begin with D."""
        self.users = dict(users)
        """Name of each person by id."""
        self.changed = threading.Condition()
        self._messages: dict[tuple[str, str], SlackMessage] = {}
        self._clock = 0
        self.ever_reacted: list[tuple[str, str, str]] = []
        """Channel, message and name of every reaction that was ever added, including removed ones."""

    def post(
        self,
        channel: str,
        user: str,
        text: str,
        *,
        thread_ts: str | None = None,
        bot_id: str | None = None,
        subtype: str | None = None,
    ) -> SlackMessage:
        """A new message."""
        with self.changed:
            message = SlackMessage(
                channel=channel,
                ts=self._now(),
                user=user,
                text=text,
                thread_ts=thread_ts,
                bot_id=bot_id,
                subtype=subtype,
            )
            parent = self._messages.get((channel, thread_ts or ""))
            if parent is not None and parent.thread_ts is None:
                self._keep(replace(parent, thread_ts=parent.ts))
            self._keep(message)
            return message

    def find(self, channel: str, ts: str) -> SlackMessage | None:
        """The message, if it exists."""
        with self.changed:
            return self._messages.get((channel, ts))

    def edit(self, message: SlackMessage, text: str) -> SlackMessage:
        """The same message with another text."""
        return self._update(message, lambda now: replace(now, text=text, earlier=now.history))

    def delete(self, message: SlackMessage) -> None:
        """Delete the message."""
        with self.changed:
            del self._messages[message.channel, message.ts]
            self.changed.notify_all()

    def react(self, message: SlackMessage, name: str, user: str) -> None:
        """Add a reaction to the message."""
        with self.changed:
            self.ever_reacted.append((message.channel, message.ts, name))
        self._update(message, lambda now: replace(now, reactions=(*now.reactions, (name, user))))

    def unreact(self, message: SlackMessage, name: str, user: str) -> None:
        """Remove a reaction."""
        self._update(
            message, lambda now: replace(now, reactions=tuple(one for one in now.reactions if one != (name, user)))
        )

    def in_channel(self, channel: str) -> list[SlackMessage]:
        """Every message of the channel, those in threads included, oldest first."""
        with self.changed:
            return [message for (place, _), message in sorted(self._messages.items()) if place == channel]

    def thread(self, channel: str, ts: str) -> list[SlackMessage]:
        """The message `ts` and its replies, oldest first."""
        return [message for message in self.in_channel(channel) if ts in (message.ts, message.thread_ts)]

    def wait(self, condition: Callable[[], object], seconds: float) -> bool:
        """Whether `condition` came true within `seconds`; looked at after each change."""
        with self.changed:
            return bool(self.changed.wait_for(condition, seconds))

    def notify(self) -> None:
        """Notify waiters."""
        with self.changed:
            self.changed.notify_all()

    def _update(self, message: SlackMessage, change: Callable[[SlackMessage], SlackMessage]) -> SlackMessage:
        with self.changed:
            return self._keep(change(self._messages[message.channel, message.ts]))

    def _keep(self, message: SlackMessage) -> SlackMessage:
        self._messages[message.channel, message.ts] = message
        self.changed.notify_all()
        return message

    def _now(self) -> str:
        """A new timestamp."""
        self._clock = max(self._clock + 1, time.time_ns() // 1000)
        return f"{self._clock // 1_000_000}.{self._clock % 1_000_000:06}"
