"""What answers people: responders and ready agents, the chat in a terminal, the bot in Slack."""

from __future__ import annotations
