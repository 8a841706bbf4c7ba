"""The workspace of a `SlackServer`: channels, threads, messages, reactions, and the Web API that works on them."""

from __future__ import annotations

import base64
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

ALL_SCOPES = frozenset(
    {
        "app_mentions:read",
        "channels:history",
        "chat:write",
        "groups:history",
        "im:history",
        "mpim:history",
        "reactions:write",
        "users:read",
    }
)
_LONGEST_POST = 40_000
_LONGEST_UPDATE = 4_000
_HISTORY_SCOPES = {"D": "im:history", "G": "groups:history"}


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
    """The messages of a workspace; thread-safe, and notifies waiters of changes.

    Args:
        channels: Name of each channel by its id; ids of direct messages begin with D.
        users: Name of each person by id.
        mention: How a message mentions the bot.
        events: The events that the app subscribes to.
        emit: Sends an event to the app.
    """

    def __init__(
        self,
        channels: Mapping[str, str],
        users: Mapping[str, str],
        *,
        mention: str,
        events: frozenset[str],
        emit: Callable[[dict[str, Any]], object],
    ) -> None:
        self.channels = dict(channels)
        self.users = dict(users)
        self.changed = threading.Condition()
        self._mention = mention
        self._events = events
        self._emit = emit
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
        """A new message; the app gets the events it subscribed to."""
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
        event = {**message.wire(), "channel": channel, "event_ts": message.ts}
        # Slack sends no app_mention for direct messages.
        if not channel.startswith("D") and self._mention in text and "app_mention" in self._events:
            self._emit({**event, "type": "app_mention"})
        self._emit_message({**event, "channel_type": _kind_of(channel)})
        return message

    def find(self, channel: str, ts: str) -> SlackMessage | None:
        """The message, if it exists."""
        with self.changed:
            return self._messages.get((channel, ts))

    def edit(self, message: SlackMessage, text: str) -> SlackMessage:
        """The same message with another text; the app gets the event if it subscribed to it."""
        changed = self._update(message, lambda now: replace(now, text=text, earlier=now.history))
        event = {
            "type": "message",
            "subtype": "message_changed",
            "hidden": True,
            "channel": changed.channel,
            "channel_type": _kind_of(changed.channel),
            "ts": changed.ts,
            "message": changed.wire(),
            "previous_message": message.wire(),
        }
        self._emit_message(event)
        return changed

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

    def _emit_message(self, event: dict[str, Any]) -> None:
        if ("message.im" if event["channel_type"] == "im" else "message.channels") in self._events:
            self._emit(event)

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


def _kind_of(channel: str) -> str:
    return "im" if channel.startswith("D") else "channel"


class Refusal(Exception):  # noqa: N818 - Slack answers with it, nothing failed
    """`{"ok": false, "error": code}`, with further fields where Slack sends some."""

    def __init__(self, code: str, **fields: Any) -> None:
        super().__init__(code)
        self.body: dict[str, Any] = {"ok": False, "error": code, **fields}


@dataclass(frozen=True, kw_only=True)
class Bot:
    """The bot that the token belongs to."""

    user_id: str = "U0BOT"
    bot_id: str = "B0BOT"
    name: str = "hikidashi"
    team: str = "Loopback"
    team_id: str = "T0LOOP"
    scopes: frozenset[str] = field(default=ALL_SCOPES)


class WebAPI:
    """The methods of Slack's Web API that a bot token may call; refusals carry the codes Slack documents."""

    def __init__(self, workspace: Workspace, bot: Bot) -> None:
        self.workspace = workspace
        self.bot = bot
        self._methods = {
            "auth.test": self._auth_test,
            "chat.delete": self._chat_delete,
            "chat.postMessage": self._chat_post_message,
            "chat.update": self._chat_update,
            "conversations.history": self._conversations_history,
            "conversations.replies": self._conversations_replies,
            "reactions.add": self._reactions_add,
            "reactions.remove": self._reactions_remove,
            "users.info": self._users_info,
        }

    def __contains__(self, method: str) -> bool:
        return method in self._methods

    def call(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of `method`.

        Raises:
            Refusal: Slack would refuse the call.
        """
        return self._methods[method](arguments)

    def _auth_test(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {
            "url": "https://loopback.slack.com/",
            "team": self.bot.team,
            "user": self.bot.name,
            "team_id": self.bot.team_id,
            "user_id": self.bot.user_id,
            "bot_id": self.bot.bot_id,
            "is_enterprise_install": False,
        }

    def _chat_post_message(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._needs("chat:write")
        channel = self._channel(arguments)
        text = _text(arguments)
        message = self.workspace.post(
            channel,
            self.bot.user_id,
            text[:_LONGEST_POST],
            thread_ts=arguments.get("thread_ts"),
            bot_id=self.bot.bot_id,
        )
        return {"channel": channel, "ts": message.ts, "message": message.wire()}

    def _chat_update(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._needs("chat:write")
        message = self._own_message(arguments, "cant_update_message")
        text = _text(arguments)
        if len(text) > _LONGEST_UPDATE:
            raise Refusal("msg_too_long")
        changed = self.workspace.edit(message, text)
        return {"channel": changed.channel, "ts": changed.ts, "text": text, "message": changed.wire()}

    def _chat_delete(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._needs("chat:write")
        message = self._own_message(arguments, "cant_delete_message")
        self.workspace.delete(message)
        return {"channel": message.channel, "ts": message.ts}

    def _conversations_history(self, arguments: dict[str, Any]) -> dict[str, Any]:
        channel = self._readable_channel(arguments)
        messages = [one for one in self.workspace.in_channel(channel) if one.thread_ts in (None, one.ts)]
        return _page(messages[::-1], arguments, default_limit=100)

    def _conversations_replies(self, arguments: dict[str, Any]) -> dict[str, Any]:
        channel = self._readable_channel(arguments)
        messages = self.workspace.thread(channel, arguments.get("ts", ""))
        if not messages:
            raise Refusal("thread_not_found")
        return _page(messages, arguments, default_limit=1000)

    def _reactions_add(self, arguments: dict[str, Any]) -> dict[str, Any]:
        message, name = self._reaction(arguments)
        if (name, self.bot.user_id) in message.reactions:
            raise Refusal("already_reacted")
        self.workspace.react(message, name, self.bot.user_id)
        return {}

    def _reactions_remove(self, arguments: dict[str, Any]) -> dict[str, Any]:
        message, name = self._reaction(arguments)
        if (name, self.bot.user_id) not in message.reactions:
            raise Refusal("no_reaction")
        self.workspace.unreact(message, name, self.bot.user_id)
        return {}

    def _users_info(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._needs("users:read")
        user = arguments.get("user", "")
        if user == self.bot.user_id:
            name, is_bot = self.bot.name, True
        elif user in self.workspace.users:
            name, is_bot = self.workspace.users[user], False
        else:
            raise Refusal("user_not_found")
        profile = {"real_name": name, "display_name": name}
        return {"user": {"id": user, "name": name, "real_name": name, "is_bot": is_bot, "profile": profile}}

    def _needs(self, scope: str) -> None:
        if scope not in self.bot.scopes:
            raise Refusal("missing_scope", needed=scope, provided=",".join(sorted(self.bot.scopes)))

    def _channel(self, arguments: dict[str, Any]) -> str:
        channel = arguments.get("channel", "")
        if channel not in self.workspace.channels:
            raise Refusal("channel_not_found")
        return channel

    def _readable_channel(self, arguments: dict[str, Any]) -> str:
        channel = self._channel(arguments)
        self._needs(_HISTORY_SCOPES.get(channel[0], "channels:history"))
        return channel

    def _message(self, arguments: dict[str, Any], ts: str) -> SlackMessage:
        message = self.workspace.find(self._channel(arguments), arguments.get(ts, ""))
        if message is None:
            raise Refusal("message_not_found")
        return message

    def _own_message(self, arguments: dict[str, Any], refusal: str) -> SlackMessage:
        message = self._message(arguments, "ts")
        if message.user != self.bot.user_id:
            raise Refusal(refusal)
        return message

    def _reaction(self, arguments: dict[str, Any]) -> tuple[SlackMessage, str]:
        self._needs("reactions:write")
        name = arguments.get("name", "")
        if not re.fullmatch(r"[a-z0-9_+'-]+", name):
            raise Refusal("invalid_name")
        return self._message(arguments, "timestamp"), name


def _text(arguments: dict[str, Any]) -> str:
    text = arguments.get("text") or ""
    if not text.strip():
        raise Refusal("no_text")
    return text


def _page(messages: list[SlackMessage], arguments: dict[str, Any], *, default_limit: int) -> dict[str, Any]:
    limit = min(int(arguments.get("limit") or default_limit), 1000)
    start = _place(arguments.get("cursor") or "")
    page, rest = messages[start : start + limit], messages[start + limit :]
    cursor = base64.b64encode(f"next:{start + limit}".encode()).decode() if rest else ""
    return {
        "messages": [message.wire() for message in page],
        "has_more": bool(rest),
        "response_metadata": {"next_cursor": cursor},
    }


def _place(cursor: str) -> int:
    if not cursor:
        return 0
    try:
        return int(base64.b64decode(cursor, validate=True).decode().removeprefix("next:"))
    except ValueError:
        raise Refusal("invalid_cursor") from None
