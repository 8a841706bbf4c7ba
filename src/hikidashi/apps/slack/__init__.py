"""The Slack bot: Socket Mode, threads, live updates, mrkdwn."""

from __future__ import annotations
