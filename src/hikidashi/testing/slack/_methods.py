"""The methods of Slack's Web API that a bot needs, on a `Workspace`; refusals carry the codes Slack documents."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .state import SlackMessage, Workspace

__all__ = ["ALL_SCOPES", "Bot", "Method", "Refusal", "methods_of"]

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


Method = Callable[[dict[str, Any]], dict[str, Any]]


def methods_of(
    workspace: Workspace,
    bot: Bot,
    *,
    posted: Callable[[SlackMessage], None],
    edited: Callable[[SlackMessage, SlackMessage], None],
) -> dict[str, Method]:
    """Every method that a bot token may call, by name; `posted` and `edited` are called with the bot's messages."""
    api = _WebAPI(workspace, bot, posted, edited)
    return {
        "auth.test": api.auth_test,
        "chat.delete": api.chat_delete,
        "chat.postMessage": api.chat_post_message,
        "chat.update": api.chat_update,
        "conversations.history": api.conversations_history,
        "conversations.replies": api.conversations_replies,
        "reactions.add": api.reactions_add,
        "reactions.remove": api.reactions_remove,
        "users.info": api.users_info,
    }


@dataclass(frozen=True)
class _WebAPI:
    workspace: Workspace
    bot: Bot
    posted: Callable[[SlackMessage], None]
    edited: Callable[[SlackMessage, SlackMessage], None]

    def auth_test(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {
            "url": "https://loopback.slack.com/",
            "team": self.bot.team,
            "user": self.bot.name,
            "team_id": self.bot.team_id,
            "user_id": self.bot.user_id,
            "bot_id": self.bot.bot_id,
            "is_enterprise_install": False,
        }

    def chat_post_message(self, arguments: dict[str, Any]) -> dict[str, Any]:
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
        self.posted(message)
        return {"channel": channel, "ts": message.ts, "message": message.wire()}

    def chat_update(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._needs("chat:write")
        message = self._own_message(arguments, "cant_update_message")
        text = _text(arguments)
        if len(text) > _LONGEST_UPDATE:
            raise Refusal("msg_too_long")
        changed = self.workspace.edit(message, text)
        self.edited(message, changed)
        return {"channel": changed.channel, "ts": changed.ts, "text": text, "message": changed.wire()}

    def chat_delete(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._needs("chat:write")
        message = self._own_message(arguments, "cant_delete_message")
        self.workspace.delete(message)
        return {"channel": message.channel, "ts": message.ts}

    def conversations_history(self, arguments: dict[str, Any]) -> dict[str, Any]:
        channel = self._readable_channel(arguments)
        messages = [one for one in self.workspace.in_channel(channel) if one.thread_ts in (None, one.ts)]
        return _page(messages[::-1], arguments, default_limit=100)

    def conversations_replies(self, arguments: dict[str, Any]) -> dict[str, Any]:
        channel = self._readable_channel(arguments)
        messages = self.workspace.thread(channel, arguments.get("ts", ""))
        if not messages:
            raise Refusal("thread_not_found")
        return _page(messages, arguments, default_limit=1000)

    def reactions_add(self, arguments: dict[str, Any]) -> dict[str, Any]:
        message, name = self._reaction(arguments)
        if (name, self.bot.user_id) in message.reactions:
            raise Refusal("already_reacted")
        self.workspace.react(message, name, self.bot.user_id)
        return {}

    def reactions_remove(self, arguments: dict[str, Any]) -> dict[str, Any]:
        message, name = self._reaction(arguments)
        if (name, self.bot.user_id) not in message.reactions:
            raise Refusal("no_reaction")
        self.workspace.unreact(message, name, self.bot.user_id)
        return {}

    def users_info(self, arguments: dict[str, Any]) -> dict[str, Any]:
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
