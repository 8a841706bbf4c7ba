"""`hikidashi slack`: the bot in Slack."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hikidashi.errors import ConfigError
from hikidashi.texts import Language

if TYPE_CHECKING:
    from hikidashi.apps.responder import Responder
    from hikidashi.apps.slack.bot import SlackBot
    from hikidashi.config import Config

EXAMPLES = """\b
Set up, once:
  1. api.slack.com/apps: Create New App, From a manifest, and paste
     what `hikidashi slack --manifest` prints.
  2. Basic Information, App-Level Tokens: one with connections:write.
     It begins with xapp- and goes into SLACK_APP_TOKEN.
  3. Install App: the bot token begins with xoxb- and goes into
     SLACK_BOT_TOKEN.

\b
What the app needs, as the manifest says it:
  Scopes  app_mentions:read channels:history chat:write groups:history
          im:history mpim:history reactions:write users:read
  Events  app_mention message.im
  Socket Mode on

\b
Examples:
  hikidashi slack --manifest             the Slack app, ready to paste
  hikidashi slack --check                do the tokens work
  hikidashi slack --config config.yaml   answer until Ctrl-C
"""


def slack(
    *,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Model, tools and tokens.", show_default="config.yaml, if there")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Connect, print the identity of the bot, and end.")] = False,
    manifest: Annotated[bool, typer.Option("--manifest", help="Print the manifest of the Slack app.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
    lang: Annotated[Language | None, typer.Option(help="Language of the bot.", show_default="from the config")] = None,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time for current answers after Ctrl-C.", min=0)
    ] = 20.0,
) -> None:
    """Answer mentions and direct messages in Slack, in their threads.

    Tokens come from the section `slack` of the config, or from SLACK_BOT_TOKEN and SLACK_APP_TOKEN. The log goes
    to stderr. Each question is answered once, also after a restart; answers that a killed bot left unfinished are
    completed at the next start, or closed with a note. Ctrl-C or SIGTERM ends it with exit code 0 after the current
    answers; a second one ends it at once.
    Exit code 1 means that it could not start: the last line says why.
    """
    if manifest:
        import yaml

        from hikidashi.apps.slack.manifest import app_manifest

        content = app_manifest()
        typer.echo(json.dumps(content, indent=2) if as_json else yaml.safe_dump(content, sort_keys=False), nl=as_json)
        return
    from hikidashi.apps.factory import first_problem, make_responder
    from hikidashi.apps.slack.bot import SlackBot
    from hikidashi.common.files import state_folder
    from hikidashi.config import SlackConfig

    from .log import logged_to_stderr
    from .settings import config_for

    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # stdout and stderr are read by programs
    read = config_for(config)
    section = read.slack or SlackConfig()
    bot_token = _token(section.bot_token, "bot_token", "xoxb-", read)
    app_token = _token(section.app_token, "app_token", "xapp-", read)
    spoken: Language = lang or read.agent.language
    if problem := first_problem(read, language=spoken):
        raise problem  # better than a bot that connects and then fails every question
    with logged_to_stderr(secrets=read.secrets):
        responder = make_responder(read)
        bot = SlackBot(
            responder,
            bot_token=bot_token,
            app_token=app_token,
            base_url=section.base_url,
            language=spoken,
            seen_file=state_folder() / "slack-seen.sqlite",
        )
        asyncio.run(_serve(bot, responder, spoken, check_only=check, grace=grace))


async def _serve(bot: SlackBot, responder: Responder, language: Language, *, check_only: bool, grace: float) -> None:
    from rich.text import Text

    from hikidashi.texts import texts

    from .output import stdout

    words, console = texts("slack", language), stdout()
    try:
        identity = await bot.start()
        tools = ", ".join(responder.tool_names) or words["no_tools"]
        for key in ("connected", "invite", "how_to_ask", "tools", *([] if check_only else ["ends"])):
            line = words[key].format(name=identity.name, team=identity.team, tools=tools)
            console.print(Text(line), soft_wrap=True)
        if not check_only:
            await bot.run(grace=grace)
    finally:
        await bot.aclose(grace=0)
        await responder.aclose()


def _token(configured: str | None, key: str, start: str, config: Config) -> str:
    variable = f"SLACK_{key.upper()}"
    token = configured or os.environ.get(variable)
    if not token:
        reason = f"is missing. Set {variable} to the token that begins with {start}; `hikidashi slack --help` says how."
        raise ConfigError(config.path or "config", reason, f"slack.{key}")
    return token
