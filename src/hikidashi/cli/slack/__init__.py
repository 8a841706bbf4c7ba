"""`hikidashi slack`: the bot in Slack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hikidashi.texts import Language

__all__ = ["EXAMPLES", "slack"]

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
        from .manifest import print_manifest

        print_manifest(as_json=as_json)
        return
    from .run import run_slack

    run_slack(config_path=config, language=lang, check_only=check, grace=grace)
