"""A Slack workspace on loopback: Web API and Socket Mode. Offers `SlackServer`."""

from .server import SlackCall, SlackServer

__all__ = ["SlackCall", "SlackServer"]
