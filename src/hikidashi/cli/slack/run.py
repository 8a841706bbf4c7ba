"""`hikidashi slack`: run the bot."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from rich.text import Text

from hikidashi.apps.factory import make_responder
from hikidashi.apps.responder import Responder
from hikidashi.apps.slack.bot import Identity, SlackBot
from hikidashi.common.files import state_folder
from hikidashi.config import Config, SlackConfig
from hikidashi.errors import ConfigError

from ..chat.missing import first_problem
from ..log import logged_to_stderr
from ..output import Language, stdout
from ..settings import config_for

__all__ = ["run_slack"]

_WORDS: dict[Language, tuple[str, ...]] = {
    "ja": (
        "Slack に @{name} として接続しました（{team}）。",
        "チャンネルに招く: /invite @{name}",
        "尋ねる: @{name} に続けて質問を書くか、ダイレクトメッセージを送ります。",
        "ツール: {tools}",
        "Ctrl-C で終わります。",
    ),
    "en": (
        "Connected to Slack as @{name} in {team}.",
        "Invite it to a channel: /invite @{name}",
        "Ask it: write @{name} and your question, or send it a direct message.",
        "Tools: {tools}",
        "Ctrl-C ends it.",
    ),
}
_NO_TOOLS: dict[Language, str] = {"ja": "なし", "en": "none"}


def run_slack(*, config_path: Path | None, language: Language | None, check_only: bool, grace: float) -> None:
    """Run the bot until SIGINT or SIGTERM; with `check_only`, until it is connected.

    Raises:
        ConfigError: The config cannot be used, has no tokens, or the model lacks its key or login.
        SlackError: Slack refused a token, or cannot be reached.
    """
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # stdout and stderr are read by programs
    config = config_for(config_path)
    slack = config.slack or SlackConfig()
    bot_token = _token(slack.bot_token, "bot_token", "xoxb-", config)
    app_token = _token(slack.app_token, "app_token", "xapp-", config)
    spoken: Language = language or config.agent.language
    if problem := first_problem(config, language=spoken):
        raise problem  # better than a bot that connects and then fails every question
    with logged_to_stderr(secrets=config.secrets):
        responder = make_responder(config)
        bot = SlackBot(
            responder,
            bot_token=bot_token,
            app_token=app_token,
            base_url=slack.base_url,
            language=spoken,
            seen_file=state_folder() / "slack-seen.sqlite",
        )
        asyncio.run(_serve(bot, responder, spoken, check_only=check_only, grace=grace))


async def _serve(bot: SlackBot, responder: Responder, language: Language, *, check_only: bool, grace: float) -> None:
    try:
        identity = await bot.start()
        _greet(identity, responder.tool_names, language, check_only=check_only)
        if not check_only:
            await bot.run(grace=grace)
    finally:
        await bot.aclose(grace=0)
        await responder.aclose()


def _greet(identity: Identity, tools: list[str], language: Language, *, check_only: bool) -> None:
    console = stdout()
    lines = _WORDS[language][:-1] if check_only else _WORDS[language]
    shown = ", ".join(tools) or _NO_TOOLS[language]
    for line in lines:
        console.print(Text(line.format(name=identity.name, team=identity.team, tools=shown)), soft_wrap=True)


def _token(configured: str | None, key: str, start: str, config: Config) -> str:
    variable = f"SLACK_{key.upper()}"
    token = configured or os.environ.get(variable)
    if not token:
        reason = f"is missing. Set {variable} to the token that begins with {start}; `hikidashi slack --help` says how."
        raise ConfigError(config.path or "config", reason, f"slack.{key}")
    return token
