"""A message in a thread that is updated as the answer grows, as often as Slack allows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from ...errors import SlackError
from ._api import SlackAPI
from ._split import split_message

__all__ = ["LiveMessage"]

logger = logging.getLogger("hikidashi")

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
