"""The Slack bot: Socket Mode, threads, live updates, mrkdwn. Offers `SlackBot`."""

from .bot import Identity, SlackBot, SlackError

__all__ = ["Identity", "SlackBot", "SlackError"]
