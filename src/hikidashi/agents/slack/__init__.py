"""The Slack bot: Socket Mode, threads, live updates, mrkdwn."""

from .bot import Identity, SlackBot, SlackError

__all__ = ["Identity", "SlackBot", "SlackError"]
