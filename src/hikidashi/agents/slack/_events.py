"""Find questions to the bot among Slack's events; other events are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Question", "question_in"]

# Other subtypes are edits, joins, topics and so on.
_SUBTYPES_OF_PEOPLE = frozenset({None, "file_share", "me_message", "thread_broadcast"})


@dataclass(frozen=True, kw_only=True)
class Question:
    """A message that the bot answers."""

    channel: str
    ts: str
    thread_ts: str
    """The first message of the thread of the answer; the question's own `ts` if it starts one."""
    user: str
    text: str

    @property
    def begins_thread(self) -> bool:
        """Whether the question is the first message of its thread."""
        return self.ts == self.thread_ts


def question_in(event: Mapping[str, Any], bot_user_id: str) -> Question | None:
    """The question in an event: a mention of the bot, or a direct message, by a person and not an edit."""
    if event.get("subtype") not in _SUBTYPES_OF_PEOPLE or "edited" in event or event.get("hidden"):
        return None
    user, channel, ts = event.get("user"), event.get("channel"), event.get("ts")
    if event.get("bot_id") or not user or user == bot_user_id or not channel or not ts:
        return None
    text = str(event.get("text") or "")
    called = event.get("type") == "app_mention" or event.get("channel_type") == "im" or f"<@{bot_user_id}" in text
    if not called:
        return None
    return Question(channel=channel, ts=ts, thread_ts=event.get("thread_ts") or ts, user=user, text=text)
