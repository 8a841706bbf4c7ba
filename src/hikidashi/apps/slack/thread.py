"""Read a thread as a conversation for a model."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from ...common.json import as_list, as_object
from ...errors import SlackError
from ..responder import Message
from .api import Identity, SlackAPI
from .mrkdwn import markdown_of, text_of
from .questions import Asked, SlackQuestion

logger = logging.getLogger("hikidashi")

WAITING = ":hourglass_flowing_sand:"
"""Marks the status line at the end of an unfinished answer."""

_PAGE = 200
_NEVER_KNOWN = frozenset({"missing_scope", "user_not_found", "user_not_visible"})
_MENTION = re.compile(r"<@([A-Z0-9]+)(?:\|[^<>]*)?>")
# The rest of an answer by a killed bot.
_UNFINISHED = re.compile(rf"\s*{WAITING}[^\n]*\Z")
_SYSTEM_SUBTYPES = re.compile(r"(?:channel|group)_.*|bot_(?:add|remove)|pinned_item|reminder_add|tombstone")


@dataclass(frozen=True)
class Thread:
    """A conversation that ends with the question."""

    messages: list[Message]
    unreadable: SlackError | None = None
    """Why the earlier messages are missing."""


@dataclass(frozen=True, kw_only=True)
class Left:
    """What a killed bot left of an answer."""

    question: SlackQuestion | None
    """None if the question was deleted, or edited into something else."""
    posted: str | None
    """The message of the answer."""
    text: str = ""
    """Its text, without the status line."""
    unfinished: bool = False
    """Whether it still has a status line."""


class ThreadReader:
    """Reads threads, and the names of the people in them.

    Args:
        api: Slack's Web API.
        me: The identity of the bot.
        longest: The most messages of a thread: its first and the newest ones.
    """

    def __init__(self, api: SlackAPI, me: Identity, *, longest: int = 200) -> None:
        self._api = api
        self._me = me
        self._longest = longest
        self._names: dict[str, str] = {me.user_id: me.name}
        self._asking: dict[str, asyncio.Task[None]] = {}

    async def read(self, question: SlackQuestion, *, without: str | None = None) -> Thread:
        """The thread up to `question`, which is last; `without` is an unfinished answer to leave out."""
        asked = {"user": question.user, "text": question.text, "ts": question.ts}
        unreadable: SlackError | None = None
        earlier: list[dict[str, Any]] = []
        if not question.begins_thread:
            try:
                earlier = [one for one in await self._earlier(question) if one.get("ts") != without]
            except SlackError as error:
                logger.warning("Slack: a thread cannot be read, only its last message is answered. %s", error)
                unreadable = error
        messages = [*earlier, asked]
        await self._learn_names(messages)
        return Thread(_merged([self._message(one) for one in messages]), unreadable)

    async def left(self, asked: Asked) -> Left:
        """What another bot left of the answer to a question.

        Raises:
            SlackError: the thread cannot be read.
        """
        question: SlackQuestion | None = None
        posted: dict[str, Any] | None = None
        async for message in self._messages(asked.channel, asked.thread_ts):
            ts = str(message.get("ts", ""))
            if ts == asked.ts:
                question = self._question(message, asked)
            elif asked.posted is not None:
                posted = message if ts == asked.posted else posted
            elif posted is None and self._is_mine(message) and _time(ts) > _time(asked.ts):
                # It was killed between posting and recording the message.
                posted = message if _UNFINISHED.search(str(message.get("text") or "")) else None
        if posted is None:
            return Left(question=question, posted=None)
        written = str(posted.get("text") or "")
        text = _UNFINISHED.sub("", written)
        return Left(question=question, posted=str(posted["ts"]), text=text, unfinished=text != written)

    def _question(self, message: dict[str, Any], asked: Asked) -> SlackQuestion | None:
        user = str(message.get("user") or "")
        if not user or self._is_mine(message):
            return None
        text = str(message.get("text") or "")
        return SlackQuestion(channel=asked.channel, ts=asked.ts, thread_ts=asked.thread_ts, user=user, text=text)

    async def _earlier(self, question: SlackQuestion) -> list[dict[str, Any]]:
        first: dict[str, Any] | None = None
        newest: deque[dict[str, Any]] = deque(maxlen=self._longest - 1)
        async for message in self._messages(question.channel, question.thread_ts):
            if not self._belongs(message, question):
                continue
            if first is None:
                first = message
            else:
                newest.append(message)
        return [first, *newest] if first is not None else []

    async def _messages(self, channel: str, thread_ts: str) -> AsyncGenerator[dict[str, Any]]:
        cursor = ""
        while True:
            page = await self._api.call(
                "conversations.replies",
                channel=channel,
                ts=thread_ts,
                limit=_PAGE,
                **({"cursor": cursor} if cursor else {}),
            )
            for message in page.get("messages", []):
                yield message
            cursor = str(as_object(page.get("response_metadata")).get("next_cursor") or "")
            if not cursor:
                return

    def _belongs(self, message: dict[str, Any], question: SlackQuestion) -> bool:
        """Leave out later questions; an answer of the bot may be newer than the question after it."""
        ts = str(message.get("ts", ""))
        if ts == question.ts or _SYSTEM_SUBTYPES.fullmatch(message.get("subtype") or ""):
            return False
        return _time(ts) < _time(question.ts) or self._is_mine(message)

    def _is_mine(self, message: dict[str, Any]) -> bool:
        return message.get("user") == self._me.user_id or message.get("bot_id") == self._me.bot_id

    def _message(self, message: dict[str, Any]) -> Message:
        written = str(message.get("text") or "")
        if self._is_mine(message):
            return Message(role="assistant", text=markdown_of(_UNFINISHED.sub("", written)))
        called = re.compile(rf"^\s*<@{re.escape(self._me.user_id)}(?:\|[^<>]*)?>[\s,:、，：]*")
        text = text_of(called.sub("", written), self._names)
        attached = as_list(message.get("files"))
        files = " ".join(f"[{file.get('name') or 'file'}]" for file in attached)
        return Message(role="user", text=f"{text} {files}".strip(), author=self._author(message))

    def _author(self, message: dict[str, Any]) -> str | None:
        user = message.get("user")
        if user:
            return self._names.get(user, user)
        return message.get("username") or as_object(message.get("bot_profile")).get("name")

    async def _learn_names(self, messages: list[dict[str, Any]]) -> None:
        speakers = {str(one["user"]) for one in messages if one.get("user")}
        mentioned = {user for one in messages for user in _MENTION.findall(str(one.get("text") or ""))}
        asked = [self._asked_for(user) for user in speakers | mentioned if user not in self._names]
        if asked:
            await asyncio.wait(asked)

    def _asked_for(self, user: str) -> asyncio.Task[None]:
        """One request for all threads that need the same name."""
        if user not in self._asking:
            self._asking[user] = asyncio.create_task(self._learn_name(user))
            self._asking[user].add_done_callback(lambda _: self._asking.pop(user))
        return self._asking[user]

    async def _learn_name(self, user: str) -> None:
        try:
            answer = await self._api.call("users.info", user=user)
        except SlackError as error:
            logger.warning("Slack: the name of %s stays unknown. %s", user, error)
            if error.code in _NEVER_KNOWN:
                self._names[user] = user
            return
        person = as_object(answer.get("user"))
        shown = as_object(person.get("profile")).get("display_name")
        self._names[user] = shown or person.get("real_name") or person.get("name") or user


def _time(ts: str) -> tuple[int, int]:
    seconds, _, rest = ts.partition(".")
    return int(seconds or 0), int(rest or 0)


def _merged(messages: list[Message]) -> list[Message]:
    """Join the parts of a long answer; messages without text are dropped, except the question."""
    merged: list[Message] = []
    for at, message in enumerate(messages):
        if not message.text and at < len(messages) - 1:
            continue
        if merged and message.role == merged[-1].role == "assistant":
            merged[-1] = Message(role="assistant", text=f"{merged[-1].text}\n\n{message.text}")
        else:
            merged.append(message)
    return merged
