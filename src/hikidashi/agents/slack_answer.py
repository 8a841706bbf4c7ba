"""From a question in Slack to its answer in the thread."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from ..errors import SlackError
from .conversation import AnswerEvent, AnswerFailed, Message, Responder, TextDelta, ToolCalled, ToolReturned
from .slack_api import SlackAPI
from .slack_events import Question
from .slack_live import LiveMessage
from .slack_mrkdwn import escape, to_mrkdwn
from .slack_thread import Thread, ThreadReader
from .slack_words import WAITING, Words

__all__ = ["Answerer"]

logger = logging.getLogger("hikidashi")

_HARMLESS = frozenset({"already_reacted", "message_not_found", "no_reaction"})
_LONGEST_ABOUT = 100


@dataclass
class _Draft:
    """An answer as far as it has come."""

    words: Words
    text: str = ""
    status: str = ""
    trouble: str = ""
    tools: list[str] = field(default_factory=list[str])

    def take(self, event: AnswerEvent) -> None:
        match event:
            case TextDelta():
                self.text += event.text
                self.status = ""
            case ToolCalled():
                self.tools.append(event.name)
                about = _about(event.arguments)
                sentence = self.words.tool_with if about else self.words.tool
                self.status = sentence.format(name=_code(event.name), about=escape(about))
                if self.text and not self.text.endswith("\n"):
                    self.text += "\n\n"  # what comes after the tool is a paragraph of its own
            case ToolReturned():
                self.status = "" if event.ok else self.words.tool_failed.format(name=_code(event.name))
            case AnswerFailed():  # pragma: no branch - there is no other
                self.trouble = event.message

    def so_far(self) -> str:
        status = f"{WAITING} {self.status or self.words.thinking}"
        return "\n\n".join(part for part in (to_mrkdwn(self.text.strip()), status) if part)

    def whole(self, notes: list[str]) -> str:
        parts = [to_mrkdwn(self.text.strip()), f":warning: {escape(self.trouble)}" if self.trouble else ""]
        said = [part for part in parts if part.strip()] or [self.words.no_answer]
        return "\n\n".join([*said, *(f":information_source: {note}" for note in notes)])


class Answerer:
    """Answers questions, each in its thread.

    Args:
        responder: What answers.
        api: Slack.
        reader: Reads the threads.
        words: What the bot itself says.
        reaction: The reaction a question has while its answer is on the way.
        pause: Seconds between two updates, of whichever message: Slack counts those of the whole app.
        timeout: Seconds that an answer may take.
    """

    def __init__(
        self,
        responder: Responder,
        api: SlackAPI,
        reader: ThreadReader,
        words: Words,
        *,
        reaction: str,
        pause: float,
        timeout: float,
    ) -> None:
        self._responder = responder
        self._api = api
        self._reader = reader
        self._words = words
        self._reaction = reaction
        self._pause = pause
        self._timeout = timeout
        self._warned: set[str] = set()
        self._under_way = 0

    async def answer(self, question: Question, *, after: asyncio.Task[None] | None = None) -> None:
        """Answers `question` once `after`, an earlier answer in the same thread, is done.

        Never raises but when it is cancelled; the thread then says that the answer ends here.
        """
        self._under_way += 1
        try:
            await self._answer(question, after)
        except SlackError as error:
            logger.error("Slack: %s in %s gets no answer. %s", question.ts, question.channel, error)
        except Exception:
            logger.exception("Slack: %s in %s gets no answer.", question.ts, question.channel)
        finally:
            self._under_way -= 1
            await self._react("reactions.remove", question)

    async def _answer(self, question: Question, after: asyncio.Task[None] | None) -> None:
        began = time.monotonic()
        live = LiveMessage(self._api, question.channel, question.thread_ts, pause=self._pause_now)
        draft = _Draft(self._words)
        try:
            await self._react("reactions.add", question)
            if after is not None:
                await asyncio.wait([after])
            thread = await self._reader.read(question)
            if question.begins_thread and not thread.messages[-1].text:
                draft.text = self._words.nothing_asked
            else:
                await live.open(draft.so_far())
                await self._run(thread.messages, draft, live)
        except asyncio.CancelledError:
            draft.trouble = self._words.stopped
            await live.finish(draft.whole([]))
            logger.warning("Slack: the answer to %s in %s was broken off.", question.ts, question.channel)
            raise
        finishing = asyncio.create_task(live.finish(draft.whole(self._notes(thread))))
        try:
            count = await asyncio.shield(finishing)
        except asyncio.CancelledError:  # the answer is there, so it is not broken off now
            count = await finishing
        logger.info(
            "Slack: answered %s in %s: messages=%d tools=%s seconds=%.1f%s",
            question.ts,
            question.channel,
            count,
            ",".join(draft.tools) or "none",
            time.monotonic() - began,
            " failed" if draft.trouble else "",
        )

    async def _run(self, messages: list[Message], draft: _Draft, live: LiveMessage) -> None:
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit, aclosing(self._responder.stream(messages)) as events:
                async for event in events:
                    draft.take(event)
                    live.show(draft.so_far)
        except Exception as error:
            if isinstance(error, TimeoutError) and limit.expired():
                logger.warning("Slack: no answer within %g s.", self._timeout)
                draft.trouble = self._words.timed_out.format(seconds=self._timeout)
            else:
                logger.exception("Slack: the responder failed.")
                draft.trouble = self._words.failed

    def _pause_now(self) -> float:
        return self._pause * max(1, self._under_way)

    def _notes(self, thread: Thread) -> list[str]:
        if thread.unreadable is None:
            return []
        return [self._words.history_unreadable.format(remedy=escape(thread.unreadable.remedy)).strip()]

    async def _react(self, method: str, question: Question) -> None:
        try:
            await self._api.call(method, channel=question.channel, timestamp=question.ts, name=self._reaction)
        except SlackError as error:
            if error.code not in _HARMLESS and error.code not in self._warned:
                self._warned.add(error.code)
                logger.warning("Slack: questions get no reaction while they are answered. %s", error)


def _about(arguments: dict[str, Any]) -> str:
    """What a call is about, in a few words: its first text argument."""
    first = next((value for value in arguments.values() if isinstance(value, str) and value.strip()), "")
    line = " ".join(first.split())
    return line if len(line) <= _LONGEST_ABOUT else f"{line[:_LONGEST_ABOUT]}…"


def _code(name: str) -> str:
    return escape(name.replace("`", ""))
