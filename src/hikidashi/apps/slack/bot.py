"""A bot in Slack (Socket Mode) that answers mentions and direct messages in their threads, with any `Responder`."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import SlackError
from ...texts import Language, texts
from ..responder import Responder
from .answer import Answerer
from .api import Identity, SlackAPI, SlackSocket
from .questions import Asked, Questions, question_in
from .thread import ThreadReader

logger = logging.getLogger("hikidashi")

_FAREWELL_SECONDS = 10.0


class SlackBot:
    """A bot that answers mentions and direct messages in their threads.

        async with SlackBot(responder, bot_token="xoxb-...", app_token="xapp-...") as bot:
            await bot.run()

    Each question is answered once, however often Slack delivers it, with the messages of its thread as context. Threads
    are answered concurrently, questions in one thread one after the other. The caller closes the responder.

    Args:
        responder: Answers the conversations.
        bot_token: Starts with `xoxb-`.
        app_token: Starts with `xapp-`, with the scope `connections:write`.
        base_url: Another address of the Web API, for tests and proxies.
        language: The language of the bot's own texts.
        reaction: The reaction on a question while it is answered.
        update_seconds: Seconds between updates of a growing answer; Slack allows about 50 updates a minute per app.
        answer_seconds: How long an answer may take.
        ping_seconds: How often the connection is checked.
        seen_file: A file with the state of each question, without its text, so that questions are answered once
            across restarts, and answers that a killed bot left unfinished are completed or closed with a note. None
            keeps the state in memory. Bots may share the file.
    """

    def __init__(
        self,
        responder: Responder,
        *,
        bot_token: str,
        app_token: str,
        base_url: str | None = None,
        language: Language = "ja",
        reaction: str = "thinking_face",
        update_seconds: float = 1.2,
        answer_seconds: float = 600.0,
        ping_seconds: float = 10.0,
        seen_file: Path | None = None,
    ) -> None:
        if bot_token.startswith("xapp-") or app_token.startswith(("xoxb-", "xoxp-")):
            raise SlackError("auth.test", "not_allowed_token_type")
        self._responder = responder
        self._bot_token = bot_token
        self._app_token = app_token
        self._base_url = base_url
        self._words = texts("slack", language)
        self._reaction = reaction
        self._update_seconds = update_seconds
        self._answer_seconds = answer_seconds
        self._ping_seconds = ping_seconds
        self._questions = Questions(seen_file)
        self._answers: set[asyncio.Task[None]] = set()
        self._last_in_thread: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._identity: Identity | None = None
        self._api: SlackAPI | None = None
        self._answerer: Answerer | None = None
        self._socket: SlackSocket | None = None

    @property
    def identity(self) -> Identity:
        """The identity of the bot, once it is connected."""
        if self._identity is None:
            raise RuntimeError("The bot is not connected. Call `start()` first.")
        return self._identity

    async def start(self) -> Identity:
        """Connect and listen; returns the identity of the bot.

        Raises:
            SlackError: A token is wrong, or Slack cannot be reached.
        """
        self._api = SlackAPI(self._bot_token, base_url=self._base_url, secrets=[self._app_token])
        try:
            self._identity = await self._own_identity(self._api)
            reader = ThreadReader(self._api, self._identity)
            self._answerer = Answerer(
                self._responder,
                self._api,
                reader,
                self._words,
                reaction=self._reaction,
                pause=self._update_seconds,
                timeout=self._answer_seconds,
                questions=self._questions,
            )
            self._socket = SlackSocket(
                self._api, self._app_token, self._identity, on_event=self._on_event, ping_seconds=self._ping_seconds
            )
            await self._socket.connect()
            for asked in self._questions.take_unfinished(self._name_in_file):
                self._begin(asked, self._answerer.resume)
        except BaseException:
            await self.aclose(grace=0)
            raise
        logger.info("Slack: connected as @%s in %s.", self._identity.name, self._identity.team)
        return self._identity

    async def run(self, *, grace: float = 20.0) -> None:
        """Run until SIGINT or SIGTERM, then `aclose(grace=grace)`; a second signal ends it at once."""
        if self._socket is None:
            await self.start()
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        hurry = asyncio.Event()

        def asked_to_stop() -> None:
            (hurry if stop.is_set() else stop).set()

        undo = _on_signals(loop, asked_to_stop)
        try:
            await stop.wait()
            if self._answers:
                logger.info("Slack: stopping when %d answers are finished, within %g s.", len(self._answers), grace)
            closing = asyncio.create_task(self.aclose(grace=grace))
            hurrying = asyncio.create_task(hurry.wait())
            await asyncio.wait([closing, hurrying], return_when=asyncio.FIRST_COMPLETED)
            hurrying.cancel()
            if not closing.done():
                self._cancel_answers()
            await closing
        finally:
            undo()

    async def aclose(self, *, grace: float = 20.0) -> None:
        """Disconnect; may be called twice.

        No new questions are taken. Current answers get `grace` seconds; those unfinished then say so in their thread.
        """
        if self._socket is not None:
            await self._socket.aclose()
            self._socket = None
        if self._answers and grace:
            await asyncio.wait(self._answers, timeout=grace)
        self._cancel_answers()
        if self._answers:
            await asyncio.wait(self._answers, timeout=_FAREWELL_SECONDS)
        self._questions.close()
        if self._api is not None:
            await self._api.aclose()
            self._api = None

    async def __aenter__(self) -> SlackBot:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def _own_identity(self, api: SlackAPI) -> Identity:
        answer = await api.call("auth.test")
        return Identity(
            user_id=str(answer["user_id"]),
            bot_id=str(answer.get("bot_id") or ""),
            name=str(answer.get("user") or ""),
            team=str(answer.get("team") or ""),
            team_id=str(answer.get("team_id") or ""),
        )

    @property
    def _name_in_file(self) -> str:
        """Identifies this bot in the file, which other bots may share."""
        return f"{self.identity.team_id} {self.identity.user_id}"

    def _on_event(self, body: dict[str, Any]) -> None:
        question = question_in(body["event"], self.identity.user_id)
        answerer = self._answerer
        if question is None or answerer is None:
            return
        # Not by the id of the event: a mention can arrive as app_mention and as message, with different ids.
        asked = self._questions.take(self._name_in_file, question)
        if asked is None:
            logger.info("Slack: %s in %s was delivered again.", question.ts, question.channel)
            return
        logger.info("Slack: %s asks in %s (%s).", question.user, question.channel, question.ts)
        self._begin(asked, partial(answerer.answer, question))

    def _begin(self, asked: Asked, answer: Callable[..., Coroutine[Any, Any, None]]) -> None:
        thread = (asked.channel, asked.thread_ts)
        task = asyncio.create_task(answer(asked, after=self._last_in_thread.get(thread)))
        self._answers.add(task)
        self._last_in_thread[thread] = task

        def forget(done: asyncio.Task[None]) -> None:
            self._answers.discard(done)
            if self._last_in_thread.get(thread) is done:
                del self._last_in_thread[thread]

        task.add_done_callback(forget)

    def _cancel_answers(self) -> None:
        for task in list(self._answers):
            task.cancel()


def _on_signals(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> Callable[[], None]:
    """Call `call` on SIGINT and SIGTERM, until the returned function is called."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, call)

    def undo() -> None:
        for number in numbers:
            loop.remove_signal_handler(number)

    return undo
