"""Answer questions in their Slack threads, in a message that grows with the answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import SlackError
from ..citations import Citations, CitedPage, FoundSources
from ..responder import AnswerEvent, AnswerFailed, Message, Responder, TextDelta, ToolCalled, ToolReturned
from .api import SlackAPI
from .mrkdwn import escape, split_message, to_mrkdwn
from .questions import Asked, Questions, SlackQuestion
from .thread import WAITING, Left, Thread, ThreadReader

logger = logging.getLogger("hikidashi")

_HARMLESS = frozenset({"already_reacted", "message_not_found", "no_reaction"})
# Errors that a retry would not fix.
_FINAL = frozenset({"channel_not_found", "is_archived", "not_in_channel", "restricted_action", "thread_not_found"})
_LONGEST_ABOUT = 100
_LATEST_SECONDS = 60 * 60.0
_MOST_ATTEMPTS = 3


@dataclass
class _Draft:
    """The answer so far."""

    words: Mapping[str, str]
    text: str = ""
    status: str = ""
    trouble: str = ""
    tools: list[str] = field(default_factory=list[str])
    found: FoundSources = field(default_factory=FoundSources)

    def take(self, event: AnswerEvent) -> None:
        self.found.take(event)
        match event:
            case TextDelta():
                self.text += event.text
                self.status = ""
            case ToolCalled():
                self.tools.append(event.name)
                about = _about(event.arguments)
                sentence = self.words["tool_with"] if about else self.words["tool"]
                self.status = sentence.format(name=_code(event.name), about=escape(about))
                if self.text and not self.text.endswith("\n"):
                    self.text += "\n\n"  # text after a tool call is a new paragraph
            case ToolReturned():
                self.status = "" if event.ok else self.words["tool_failed"].format(name=_code(event.name))
            case AnswerFailed():  # pragma: no branch - there is no other
                self.trouble = event.message

    def so_far(self) -> str:
        status = f"{WAITING} {self.status or self.words['thinking']}"
        text = Citations(self.found).cited(self.text).strip()
        return "\n\n".join(part for part in (to_mrkdwn(text), status) if part)

    def whole(self, notes: list[str]) -> str:
        citations = Citations(self.found)
        text = citations.cited(self.text).strip()
        parts = [to_mrkdwn(text), self._list_of(citations.sources), self._warning()]
        shown = [part for part in parts if part.strip()] or [self.words["no_answer"]]
        return "\n\n".join([*shown, *(f":information_source: {note}" for note in notes)])

    def _warning(self) -> str:
        return f":warning: {escape(self.trouble)}" if self.trouble else ""

    def _list_of(self, sources: list[CitedPage]) -> str:
        if not sources:
            return ""
        lines = (f"[{one.number}] {f'[{one.title}]({one.url})' if one.title else one.url}" for one in sources)
        return to_mrkdwn("\n".join([f"**{self.words['sources']}**", *lines]))


class Answerer:
    """Answers questions, each in its thread.

    Args:
        responder: Answers the conversations.
        api: Slack's Web API.
        reader: Reads the threads.
        words: The texts of the bot itself.
        reaction: The reaction on a question while it is answered.
        pause: Seconds between two updates of any message: Slack's limit is for the whole app.
        timeout: Seconds that an answer may take.
        questions: The state of each question.
    """

    def __init__(
        self,
        responder: Responder,
        api: SlackAPI,
        reader: ThreadReader,
        words: Mapping[str, str],
        *,
        reaction: str,
        pause: float,
        timeout: float,
        questions: Questions,
    ) -> None:
        self._questions = questions
        self._responder = responder
        self._api = api
        self._reader = reader
        self._words = words
        self._reaction = reaction
        self._pause = pause
        self._timeout = timeout
        self._warned: set[str] = set()
        self._under_way = 0

    async def answer(self, question: SlackQuestion, asked: Asked, *, after: asyncio.Task[None] | None = None) -> None:
        """Answer `question` after `after`, an earlier answer in the same thread, is done.

        Errors are not raised. When it is cancelled, the thread says that the answer was interrupted.
        """
        if asked.attempts > 1:
            await self.resume(asked, after=after)
        else:
            await self._settled(asked, self._answer(question, asked, after))

    async def resume(self, asked: Asked, *, after: asyncio.Task[None] | None = None) -> None:
        """Answer a question that a killed bot left unfinished, or close it with a note.

        It is answered if it was asked within the last hour and has no complete answer yet. A question that several
        bots have claimed is closed: it may be what made them crash.
        """
        await self._settled(asked, self._resume(asked, after))

    async def _settled(self, asked: Asked, work: Coroutine[Any, Any, None]) -> None:
        """Run `work`; if it leaves nothing in the thread, release the question."""
        self._under_way += 1
        settled = False
        try:
            await work
            settled = True
        except SlackError as error:
            logger.error("Slack: %s in %s gets no answer. %s", asked.ts, asked.channel, error)
            settled = error.code in _FINAL
        except asyncio.CancelledError:
            settled = True
            raise
        except Exception:
            logger.exception("Slack: %s in %s gets no answer.", asked.ts, asked.channel)
        finally:
            self._under_way -= 1
            (self._questions.done if settled else self._questions.give_back)(asked)
            await self._react("reactions.remove", asked)

    async def _resume(self, asked: Asked, after: asyncio.Task[None] | None) -> None:
        if after is not None:
            await asyncio.wait([after])
        left = await self._left(asked)
        if asked.finishing and not left.unfinished:
            logger.info("Slack: %s in %s was answered before the bot ended.", asked.ts, asked.channel)
            return
        too_old = time.time() - asked.at > _LATEST_SECONDS
        if left.question is None or too_old or asked.attempts > _MOST_ATTEMPTS:
            await self._close(asked, left)
            return
        logger.info("Slack: %s in %s is answered after a restart.", asked.ts, asked.channel)
        await self._answer(left.question, replace(asked, posted=left.posted), None)

    async def _left(self, asked: Asked) -> Left:
        try:
            return await self._reader.left(asked)
        except SlackError as error:
            if error.code not in _FINAL | {"missing_scope"}:
                raise
            logger.warning("Slack: %s in %s cannot be read again. %s", asked.ts, asked.channel, error)
            return Left(question=None, posted=asked.posted, unfinished=asked.posted is not None)

    async def _close(self, asked: Asked, left: Left) -> None:
        """Post that there will be no answer, unless nothing was started and the question was deleted."""
        if left.posted is None and left.question is None:
            return
        live = LiveMessage(self._api, asked.channel, asked.thread_ts, pause=self._pause_now, posted=left.posted)
        note = f":warning: {escape(self._words['interrupted'])}"
        await live.finish("\n\n".join(part for part in (left.text.strip(), note) if part))
        logger.warning("Slack: %s in %s was left unanswered, and says so now.", asked.ts, asked.channel)

    async def _answer(self, question: SlackQuestion, asked: Asked, after: asyncio.Task[None] | None) -> None:
        began = time.monotonic()
        live = LiveMessage(self._api, question.channel, question.thread_ts, pause=self._pause_now, posted=asked.posted)
        draft = _Draft(self._words)
        try:
            await self._react("reactions.add", asked)
            if after is not None:
                await asyncio.wait([after])
            thread = await self._reader.read(question, without=asked.posted)
            if question.begins_thread and not thread.messages[-1].text:
                draft.text = self._words["nothing_asked"]
            else:
                self._questions.posted(asked, await live.open(draft.so_far()))
                await self._run(thread.messages, draft, live)
        except asyncio.CancelledError:
            draft.trouble = self._words["stopped"]
            await live.finish(draft.whole([]))
            logger.warning("Slack: the answer to %s in %s was cancelled.", question.ts, question.channel)
            raise
        self._questions.finishing(asked)
        finishing = asyncio.create_task(live.finish(draft.whole(self._notes(thread))))
        try:
            count = await asyncio.shield(finishing)
        except asyncio.CancelledError:  # the answer is complete, so it is written despite the cancellation
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
                draft.trouble = self._words["timed_out"].format(seconds=self._timeout)
            else:
                logger.exception("Slack: the responder failed.")
                draft.trouble = self._words["failed"]

    def _pause_now(self) -> float:
        return self._pause * max(1, self._under_way)

    def _notes(self, thread: Thread) -> list[str]:
        if thread.unreadable is None:
            return []
        return [self._words["history_unreadable"].format(remedy=escape(thread.unreadable.remedy)).strip()]

    async def _react(self, method: str, asked: Asked) -> None:
        try:
            await self._api.call(method, channel=asked.channel, timestamp=asked.ts, name=self._reaction)
        except SlackError as error:
            if error.code not in _HARMLESS and error.code not in self._warned:
                self._warned.add(error.code)
                logger.warning("Slack: reactions to questions cannot be set. %s", error)


def _about(arguments: dict[str, Any]) -> str:
    """A short description of a call: its first text argument."""
    first = next((value for value in arguments.values() if isinstance(value, str) and value.strip()), "")
    line = " ".join(first.split())
    return line if len(line) <= _LONGEST_ABOUT else f"{line[:_LONGEST_ABOUT]}…"


def _code(name: str) -> str:
    return escape(name.replace("`", ""))


_GONE = frozenset({"cant_update_message", "edit_window_closed", "message_not_found"})


class LiveMessage:
    """One answer in a thread: posted early, updated as it grows, and complete at the end.

    Updates that come faster than Slack allows are skipped: only the newest text is sent.

    Args:
        api: Slack's Web API.
        channel: The channel of the thread.
        thread_ts: The thread of the answer.
        pause: Returns the seconds between two updates.
        posted: An unfinished message of a killed bot, which is reused.
    """

    def __init__(
        self,
        api: SlackAPI,
        channel: str,
        thread_ts: str,
        *,
        pause: Callable[[], float],
        posted: str | None = None,
    ) -> None:
        self._api = api
        self._channel = channel
        self._thread_ts = thread_ts
        self._pause = pause
        self._ts = posted
        self._opening: asyncio.Task[str] | None = None
        self._shown = ""
        self._newest: Callable[[], str] = str
        self._changed = asyncio.Event()
        self._ending = asyncio.Event()
        self._following: asyncio.Task[None] | None = None

    async def open(self, mrkdwn: str) -> str:
        """Post the message, or reuse `posted`; returns its `ts`.

        Raises:
            SlackError: Slack refused it.
        """
        self._opening = asyncio.create_task(self._replace(mrkdwn))
        self._ts = await asyncio.shield(self._opening)
        self._shown = mrkdwn
        self._following = asyncio.create_task(self._follow())
        return self._ts

    def show(self, newest: Callable[[], str]) -> None:
        """Show the text that `newest` returns when it can be sent; of a long text, the end is shown."""
        self._newest = newest
        self._changed.set()

    async def finish(self, mrkdwn: str) -> int:
        """Write the complete answer; returns the number of messages.

        Raises:
            SlackError: Slack refused it.
        """
        await self._stop_following()
        if self._ts is None and self._opening is not None:  # the task that opened it was cancelled
            self._ts = await self._opening
        first, *further = split_message(mrkdwn)
        await self._replace(first)
        for part in further:
            await self._post(part)
        return 1 + len(further)

    async def _replace(self, mrkdwn: str) -> str:
        if self._ts is not None:
            try:
                await self._api.call("chat.update", channel=self._channel, ts=self._ts, text=mrkdwn)
            except SlackError as error:
                if error.code not in _GONE:
                    raise
                logger.info("Slack: the message of an answer was deleted, a new one is posted.")
            else:
                return self._ts
        self._ts = await self._post(mrkdwn)
        return self._ts

    async def _post(self, mrkdwn: str) -> str:
        posted = await self._api.call(
            "chat.postMessage",
            channel=self._channel,
            thread_ts=self._thread_ts,
            text=mrkdwn,
            unfurl_links=False,
            unfurl_media=False,
        )
        return str(posted["ts"])

    async def _follow(self) -> None:
        while True:
            await self._changed.wait()
            if self._ending.is_set():
                return
            if not self._api.wait_of("chat.update"):
                self._changed.clear()
                await self._update(split_message(self._newest())[-1])
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), max(self._pause(), self._api.wait_of("chat.update")))

    async def _update(self, mrkdwn: str) -> None:
        if mrkdwn == self._shown:
            return
        try:
            await self._api.attempt("chat.update", channel=self._channel, ts=self._ts, text=mrkdwn)
        except SlackError as error:
            # The last update has the whole text, so others may fail.
            logger.debug("Slack: an intermediate update was skipped. %s", error)
            self._changed.set()
            if error.code in _GONE:
                self._ending.set()
        else:
            self._shown = mrkdwn

    async def _stop_following(self) -> None:
        """Wait for an update in flight: a cancelled one could arrive after the last one."""
        self._ending.set()
        self._changed.set()
        if self._following is not None:
            await self._following
            self._following = None
