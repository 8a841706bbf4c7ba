"""The Slack bot: Socket Mode, threads, live updates, mrkdwn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...common.lazy import lazy

if TYPE_CHECKING:
    from .bot import Identity, SlackBot, SlackError

__all__ = ["Identity", "SlackBot", "SlackError"]

# The manifest is printed without the packages of the bot.
__getattr__, __dir__ = lazy(__name__, dict.fromkeys(__all__, ".bot"), __all__)
